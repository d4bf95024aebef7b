//! `backstop show`: one run, with every limit and the last decisions.

use std::fmt::Write as _;
use std::io::Write as _;

use backstop_adapters::TestHistory;
use backstop_core::id::RunId;
use backstop_core::state::RunState;
use backstop_core::time::Timestamp;
use backstop_runner::view;
use backstop_store::DecisionRecord;
use owo_colors::OwoColorize as _;

mod judgement;
mod test_history;

use super::look::Look;
use crate::args::{ShowArguments, StateForm};
use crate::error::Error;
use crate::exit_code;
use crate::report::{self, age, columns, hanging, shown_command};
use crate::sanitise::harmless;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &ShowArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    if arguments.events {
        return events(&opened, run.id, terminal);
    }
    let look = Look::at(&opened, run.id)?;
    let tests = view::test_history(&opened.home.run(run.id));
    match arguments.form {
        Some(StateForm::Pipeline) => {
            writeln!(terminal.out, "{:#}", RunState::pipeline_form(&look.state))?;
        }
        None if arguments.json => {
            let Look { state, interrupted, question, loaded, .. } = &look;
            let object =
                view::object(state, *interrupted, question.as_ref(), loaded, tests.as_ref());
            writeln!(terminal.out, "{object:#}")?;
        }
        None => {
            let decisions = opened.wait(opened.store.decision_list(run.id))?;
            write!(terminal.out, "{}", page(&look, tests.as_ref(), &decisions))?;
        }
    }
    Ok(exit_code::OK)
}

/// A run for people.
pub fn page(look: &Look, tests: Option<&TestHistory>, decisions: &[DecisionRecord]) -> String {
    let run = &look.run;
    let begun = format!("{} ({})", local_time(run.created_at), age(run.created_at, look.now));
    let mut text = format!(
        "{}  {}\n{}\n",
        run.id.bold(),
        shown_command(&run.command, 64),
        hanging("  ", &format!("{} · begun {begun}", harmless(&run.cwd))).trim_end(),
    );
    text.push_str(&labels(look));
    text.push('\n');
    text.push_str(&look.card().show(true));
    if run.pruned {
        text.push_str("\nIts journal was removed by age; only this is left.\n");
        return text;
    }
    text.push_str(&report::bars(&look.decision));
    text.push_str(&judgement::show(&look.loaded.engine.view()));
    text.push_str(&tests.map(test_history::show).unwrap_or_default());
    text.push_str(&last_decisions(decisions, LAST_DECISIONS));
    text
}

fn labels(look: &Look) -> String {
    let labels = &look.run.labels;
    if labels.is_empty() {
        return String::new();
    }
    let named = labels.iter().map(|(key, value)| format!("{key}={value}"));
    hanging("  ", &harmless(&named.collect::<Vec<_>>().join(" · ")))
}

/// The decisions that came last, one line each.
pub fn last_decisions(decisions: &[DecisionRecord], most: usize) -> String {
    let mut text = String::new();
    for record in &decisions[decisions.len().saturating_sub(most)..] {
        let body: serde_json::Value = serde_json::from_str(&record.body).unwrap_or_default();
        let lead = if text.is_empty() { "\nlast decisions\n" } else { "" };
        let message = harmless(body["message"].as_str().unwrap_or(""));
        let reason = harmless(record.reason.as_deref().unwrap_or(""));
        let at = zoned(record.at).strftime("%m-%d %H:%M:%S").to_string();
        let line = format!("  {at}  {}  {}  ", columns(&record.verdict, 8), columns(&reason, 16));
        let _ = write!(text, "{lead}{}", hanging(&line, &message));
    }
    text
}

/// A time to the second, in the machine's zone: `2026-05-04 10:00:00`.
pub fn local_time(at: Timestamp) -> String {
    zoned(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn zoned(at: Timestamp) -> jiff::Zoned {
    at.to_jiff().to_zoned(jiff::tz::TimeZone::system())
}

fn events(opened: &Opened, run: RunId, terminal: &mut Terminal) -> Result<u8, Error> {
    let mut after = 0;
    loop {
        let events = opened.wait(opened.store.event_list(run, after, PAGE))?;
        for event in &events {
            writeln!(terminal.out, "{}", event.body)?;
            after = event.seq;
        }
        if events.len() < PAGE as usize {
            return Ok(exit_code::OK);
        }
    }
}

const LAST_DECISIONS: usize = 5;
const PAGE: u32 = 10_000;
