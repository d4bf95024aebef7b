//! `backstop policy explain`: every rule in plain words, in the order in which it would win.

use std::io::Write as _;

use backstop_core::policy::{self, Order, Policy};
use owo_colors::OwoColorize as _;

use crate::error::Error;
use crate::exit_code;
use crate::input::Source;
use crate::report::{columns, wrapped};
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
    for rule in &rules {
        let mut line = format!("{} → {} (exit {})", rule.when, rule.reason, rule.exit_code);
        if let Some(name) = &rule.name {
            line.push_str(&format!(", rule `{name}`"));
        }
        if let Some(unknown) = rule.on_unknown {
            line.push_str(&format!("; if that can't be told: {unknown}"));
        }
        if rule.implied {
            line.push_str("; implied by the settings");
        }
        if rule.shadow {
            line.push_str("; only watched, never acted on");
        }
        let text = wrapped(&harmless(&line), &" ".repeat(INDENT));
        write!(
            terminal.out,
            "  {} {}",
            columns(rule.verdict.as_str(), INDENT - 3),
            text.trim_start()
        )?;
    }
    Ok(exit_code::OK)
}

fn who_wins(policy: &Policy) -> &'static str {
    match policy.order {
        Order::Severity if !policy.stop_on_first => "the most severe verdict wins, then priority",
        _ => "the highest priority wins",
    }
}

const INDENT: usize = 12;
