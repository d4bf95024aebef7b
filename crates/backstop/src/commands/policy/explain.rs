//! `backstop policy explain`: every rule in plain words, in the order in which it would win.

use std::io::Write as _;

use backstop_core::policy::{self, Explained, Order, Policy};
use backstop_core::verdict::Verdict;
use owo_colors::OwoColorize as _;

use crate::error::Error;
use crate::exit_code;
use crate::input::Source;
use crate::report::{columns, folded};
use crate::sanitise::harmless;
use crate::terminal::Terminal;

pub fn run(source: &Source, json: bool, terminal: &mut Terminal) -> Result<u8, Error> {
    let policy = &source.loaded.policy;
    let rules = policy::explain(policy);
    if json {
        let text = serde_json::to_string_pretty(&rules).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
        return Ok(exit_code::OK);
    }
    writeln!(terminal.out, "{} · {}", source.name.bold(), who_wins(policy))?;
    writeln!(terminal.out)?;
    for rule in &rules {
        write!(terminal.out, "{}", row(rule))?;
    }
    if rules.iter().any(|rule| rule.implied) {
        let note = "* follows from the settings; a rule with the same reason replaces it";
        writeln!(terminal.out, "\n  {note}")?;
    }
    Ok(exit_code::OK)
}

/// The verdict, when it is reached, and the reason with its exit code.
fn row(rule: &Explained) -> String {
    let mut when = rule.when.clone();
    if let Some(name) = rule.name.as_ref().filter(|name| **name != rule.reason) {
        when.push_str(&format!(" (rule `{name}`)"));
    }
    if let Some(unknown) = rule.on_unknown {
        when.push_str(&format!("; if that can't be told: {unknown}"));
    }
    if rule.shadow {
        when.push_str("; only watched, never acted on");
    }
    let exit = match rule.verdict {
        Verdict::Continue | Verdict::Warn | Verdict::Complete => "exit 0".to_owned(),
        _ => format!("exit {}", rule.exit_code),
    };
    let mark = if rule.implied { " *" } else { "" };
    let mut text = String::new();
    for (position, line) in folded(&harmless(&when), WHEN).iter().enumerate() {
        let row = if position == 0 {
            let verdict = columns(rule.verdict.as_str(), VERDICT);
            let reason = columns(&rule.reason, REASON);
            format!("  {verdict}  {}  {reason}  {exit}{mark}", columns(line, WHEN))
        } else {
            format!("  {}  {line}", " ".repeat(VERDICT))
        };
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn who_wins(policy: &Policy) -> &'static str {
    match policy.order {
        Order::Severity if !policy.stop_on_first => "the most severe verdict wins, then priority",
        _ => "the highest priority wins",
    }
}

/// The longest verdict.
const VERDICT: usize = 8;
/// What is left beside the other columns.
const WHEN: usize = 34;
/// The longest reason of the registry.
const REASON: usize = 20;
