//! `backstop run --dry-run`: what would happen, without doing it.

use std::io::Write as _;

use backstop_core::policy::{Explained, explain};
use backstop_core::reason::Family;
use backstop_runner::launch::Stdin;

use super::Prepared;
use crate::error::Error;
use crate::exit_code;
use crate::report::command_line;
use crate::sanitise::{harmless, visible};
use crate::terminal::Terminal;

/// Prints the effective policy as a document, with what would happen as comments around it, so
/// that the output can be kept as a policy.
pub fn show(prepared: &Prepared, terminal: &mut Terminal) -> Result<u8, Error> {
    let launch = &prepared.launch;
    let out = &mut terminal.out;
    // A line break in somebody's name would end the comment.
    let shown = |text: &str| text.chars().map(visible).collect::<String>();
    writeln!(out, "# would run: {}", shown(&command_line(&launch.command)))?;
    writeln!(out, "# in: {}", shown(&launch.cwd.to_string_lossy()))?;
    writeln!(out, "# policy: {}", shown(&prepared.pinned.name))?;
    let stdin = match &launch.stdin {
        Stdin::Nothing => "nothing".to_owned(),
        Stdin::File(path) => shown(&path.to_string_lossy()),
        Stdin::Kept => "what was piped in".to_owned(),
    };
    writeln!(out, "# standard input: {stdin}")?;
    if launch.once {
        writeln!(out, "# once: a single iteration")?;
    }
    if launch.telemetry {
        writeln!(out, "# telemetry: what the command exports is counted")?;
    }
    if launch.attended {
        writeln!(out, "# attended: asks before each iteration")?;
    }
    for note in &prepared.notes {
        writeln!(out, "# note: {}", harmless(note))?;
    }
    writeln!(out, "# ends, in the order in which rules win:")?;
    let policy = &prepared.pinned.policy;
    // Where nothing is guarded, no guard is violated.
    let is_idle = |rule: &Explained| {
        let family = policy.reason(&rule.reason).family();
        rule.implied && family == Some(Family::Constraint) && policy.settings.guards.is_none()
    };
    for rule in explain(policy).into_iter().filter(|rule| !is_idle(rule)) {
        let line = format!("{} ({}) {}", rule.verdict, rule.reason, rule.when);
        writeln!(out, "#   {}", harmless(&line))?;
    }
    writeln!(out, "# hash: {}\n", policy.hash())?;
    write!(out, "{}", policy.to_toml())?;
    Ok(exit_code::OK)
}
