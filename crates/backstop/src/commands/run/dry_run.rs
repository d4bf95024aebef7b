//! `backstop run --dry-run`: what would happen, without doing it.

use std::io::Write as _;

use backstop_core::policy::explain;
use backstop_runner::launch::Stdin;

use super::Prepared;
use crate::error::Error;
use crate::exit_code;
use crate::sanitise::harmless;
use crate::terminal::Terminal;

/// Prints the effective policy as a document, with what would happen as comments around it, so
/// that the output can be kept as a policy.
pub fn show(prepared: &Prepared, terminal: &mut Terminal) -> Result<u8, Error> {
    let launch = &prepared.launch;
    let command: Vec<String> = launch.command.iter().map(|word| harmless(word)).collect();
    let out = &mut terminal.out;
    writeln!(out, "# would run: {}", command.join(" "))?;
    writeln!(out, "# in: {}", launch.cwd.display())?;
    writeln!(out, "# policy: {}", prepared.pinned.name)?;
    let stdin = match &launch.stdin {
        Stdin::Nothing => "nothing".to_owned(),
        Stdin::File(path) => path.display().to_string(),
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
        writeln!(out, "# note: {note}")?;
    }
    writeln!(out, "# ends, in the order in which rules win:")?;
    for rule in explain(&prepared.pinned.policy) {
        let line = format!("{} ({}) {}", rule.verdict, rule.reason, rule.when);
        writeln!(out, "#   {}", harmless(&line))?;
    }
    writeln!(out, "# hash: {}\n", prepared.pinned.policy.hash())?;
    write!(out, "{}", prepared.pinned.policy.to_toml())?;
    Ok(exit_code::OK)
}
