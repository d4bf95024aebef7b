//! `backstop notify test`: whether those whom a policy names can be told.

use std::io::Write as _;

use backstop_runner::clock::wall_time;
use backstop_runner::notify::{Channel, Delivery, Message, Notifier};
use backstop_runner::tree::Tree;
use backstop_runner::{chance, notify};
use serde_json::{Value as Json, json};

use crate::args::{NotifyCommand, NotifyTestArguments};
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report::hanging;
use crate::sanitise::harmless;
use crate::store::here;
use crate::terminal::Terminal;

pub fn run(command: &NotifyCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    match command {
        NotifyCommand::Test(arguments) => test(arguments, terminal),
    }
}

fn test(arguments: &NotifyTestArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let source = input::usable_policy(arguments.policy.as_deref(), terminal.colours_errors())?;
    let settings = source.loaded.policy.settings.notify.as_ref();
    let run = chance::run_id();
    let cwd = here();
    let mut notifier = Notifier::new(settings, &cwd, &Tree::of_groups(run));
    if !notifier.has_channels() {
        return Err(Error::Policy(format!(
            "error: {} names nobody who is to be told\n\nhint: add `[notify]` with a `webhook` or a \
             `command`",
            source.name
        )));
    }
    let message = Message::test(format!("test-{run}"), &cwd, wall_time());
    let annotation = notifier.send_to_all(&message);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let deliveries = runtime.block_on(async {
        let mut deliveries = Vec::new();
        while notifier.is_busy() {
            deliveries.push(notifier.next().await);
        }
        deliveries
    });
    if let Some(annotation) = annotation.filter(|_| !arguments.json) {
        write!(terminal.err, "{annotation}")?;
    }
    show(deliveries, arguments.json, terminal)
}

fn show(mut deliveries: Vec<Delivery>, json: bool, terminal: &mut Terminal) -> Result<u8, Error> {
    deliveries.sort_by_key(|delivery| delivery.channel);
    let all = deliveries.iter().all(Delivery::is_delivered);
    if json {
        let channels: Vec<Json> = deliveries.iter().map(as_json).collect();
        writeln!(terminal.out, "{}", json!({ "delivered": all, "channels": channels }))?;
    } else {
        for delivery in &deliveries {
            write!(terminal.out, "{}", line(delivery))?;
        }
    }
    Ok(if all { exit_code::OK } else { exit_code::IO })
}

fn line(delivery: &Delivery) -> String {
    let (Ok(detail) | Err(detail)) = &delivery.outcome.result;
    let word = if delivery.is_delivered() { "delivered" } else { "failed" };
    let target = match delivery.channel {
        Channel::Github => "this Action".to_owned(),
        Channel::Webhook | Channel::Command => delivery.target.clone(),
    };
    let attempts = match delivery.outcome.attempts {
        0 | 1 => String::new(),
        many => format!(" ({many} attempts)"),
    };
    let text = format!("{word} to {target}{attempts}: {detail}");
    hanging(&format!("{:<9}", delivery.channel), &harmless(&text))
}

fn as_json(delivery: &Delivery) -> Json {
    let notify::Outcome { attempts, result } = &delivery.outcome;
    let (Ok(detail) | Err(detail)) = result;
    json!({
        "channel": delivery.channel.to_string(),
        "target": delivery.target,
        "delivered": result.is_ok(),
        "attempts": attempts,
        "detail": detail,
    })
}
