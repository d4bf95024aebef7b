//! `backstop halt --all` and `backstop release --all`: the one switch.

use std::collections::BTreeMap;
use std::io::Write as _;

use backstop_core::state::RunStatus;
use backstop_runner::clock::wall_time;
use backstop_runner::{secrets, unsupervised};
use backstop_store::{HaltOrder, RunFilter};

use super::operate::refuse_if_supervised;
use crate::args::{HaltArguments, ReleaseArguments};
use crate::error::Error;
use crate::exit_code;
use crate::report::command_line;
use crate::shown_commands::complete;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(arguments: &HaltArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "halt")?;
    let redactor = secrets::of_environment();
    let order = HaltOrder {
        number: 0,
        labels: secrets::labels(&redactor, arguments.label.iter().cloned().collect()),
        why: arguments.why.as_ref().map(|why| redactor.text(why).into_owned()),
        by: caller(),
        at: wall_time(),
    };
    let mut reached = opened.wait(order.going_on(&*opened.store))?;
    let order = opened.wait(opened.store.halt_order(&order))?;
    opened.wait_for_services();
    reached.extend(opened.wait(order.going_on(&*opened.store))?);
    let reached: Vec<_> = reached.iter().rev().collect();
    write!(terminal.out, "{}", complete(&ordered(&reached, &order.labels)))?;
    Ok(exit_code::OK)
}

/// What is said of an order to halt: whom it reaches. Supervisors hear of it within a second, scripts
/// when they report next.
pub fn ordered(runs: &[impl std::fmt::Display], labels: &BTreeMap<String, String>) -> String {
    let what = if runs.len() == 1 { "run is" } else { "runs are" };
    let names: String = runs.iter().map(|run| format!("  {run}\n")).collect();
    let count = runs.len();
    if labels.is_empty() {
        return format!(
            "{count} {what} told to stop; nothing starts until `backstop release --all`\n{names}"
        );
    }
    let pairs: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let typed = |pair: &String| format!(" --label {}", command_line(std::slice::from_ref(pair)));
    let given: String = pairs.iter().map(typed).collect();
    format!(
        "{count} {what} told to stop; nothing with {} starts until\n\
         `backstop release --all{given}`\n{names}",
        pairs.join(", ")
    )
}

/// Takes back the orders to halt, and lets go what is held.
pub fn release(arguments: &ReleaseArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "release")?;
    let labels: BTreeMap<_, _> = arguments.label.iter().cloned().collect();
    let labels = secrets::labels(&secrets::of_environment(), labels);
    let only = (!labels.is_empty()).then_some(&labels);
    let taken_back = opened.wait(opened.store.halt_release(only, &caller(), wall_time()))?;
    opened.wait_for_services();
    let held = RunFilter { statuses: vec![RunStatus::Held], labels, ..RunFilter::default() };
    let mut released = 0;
    for run in opened.wait(opened.store.run_list(&held))? {
        let why = arguments.why.clone();
        let done = unsupervised::release(&*opened.store, &opened.home, run.id, caller(), why);
        match opened.wait(done) {
            Ok(_) => released += 1,
            Err(error) => terminal.remark(&format!("warning: {error}")),
        }
    }
    writeln!(terminal.out, "{}", self::taken_back(taken_back, released))?;
    Ok(exit_code::OK)
}

/// What is said of orders that were taken back.
pub fn taken_back(orders: u64, runs: u64) -> String {
    format!(
        "{orders} {} to halt taken back, {runs} held {} released",
        if orders == 1 { "order" } else { "orders" },
        if runs == 1 { "run" } else { "runs" }
    )
}
