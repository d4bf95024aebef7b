//! `backstop policy check`: what is wrong with a policy, and what will surprise.

use std::io::Write as _;

use backstop_core::diagnostic::{Diagnostic, Severity};
use backstop_core::document::line_column;
use serde_json::{Value as Json, json};

use super::surroundings;
use crate::args::PolicySource;
use crate::diagnostics;
use crate::error::Error;
use crate::exit_code;
use crate::input::{self, Refused};
use crate::terminal::Terminal;

pub fn run(
    source: &PolicySource,
    strict: bool,
    json: bool,
    terminal: &mut Terminal,
) -> Result<u8, Error> {
    let checked = Checked::new(source)?;
    let refused =
        checked.findings.iter().any(|finding| strict || finding.severity == Severity::Error);
    if json {
        let text =
            serde_json::to_string_pretty(&checked.as_json()).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else {
        checked.show(refused, terminal)?;
    }
    Ok(if refused { exit_code::CONFIGURATION } else { exit_code::OK })
}

/// A policy file and everything that was found in it.
struct Checked {
    name: String,
    text: String,
    findings: Vec<Diagnostic>,
    notes: Vec<String>,
    /// What the policy is, where it can be used.
    hash: Option<String>,
    rules: usize,
}

impl Checked {
    fn new(source: &PolicySource) -> Result<Self, Error> {
        Ok(match input::policy(source.name().as_deref())? {
            Err(Refused { name, text, findings }) => {
                Self { name, text, findings, notes: Vec::new(), hash: None, rules: 0 }
            }
            Ok(source) => {
                let mut findings = source.loaded.lints();
                findings.extend(surroundings::lints(&source.loaded.policy, &source.name));
                Self {
                    findings,
                    notes: source.loaded.notes,
                    hash: Some(source.loaded.policy.hash()),
                    rules: source.loaded.policy.rules.len(),
                    name: source.name,
                    text: source.text.unwrap_or_default(),
                }
            }
        })
    }

    fn show(&self, refused: bool, terminal: &mut Terminal) -> Result<(), Error> {
        if !self.findings.is_empty() {
            let colour = terminal.colours_errors();
            terminal.remark(&diagnostics::render(&self.findings, &self.name, &self.text, colour));
            terminal.remark(&diagnostics::summary(&self.findings, &self.name));
        }
        for note in &self.notes {
            terminal.remark(&format!("note: {}: {note}", self.name));
        }
        if let Some(hash) = self.hash.as_ref().filter(|_| !refused) {
            let rules = if self.rules == 1 { "rule" } else { "rules" };
            writeln!(terminal.out, "ok: {} has {} {rules}, {hash}", self.name, self.rules)?;
        }
        Ok(())
    }

    fn as_json(&self) -> Json {
        let of = |severity: Severity| -> Vec<Json> {
            let wanted = self.findings.iter().filter(|finding| finding.severity == severity);
            wanted.map(|finding| self.finding_as_json(finding)).collect()
        };
        json!({
            "file": self.name,
            "errors": of(Severity::Error),
            "warnings": of(Severity::Lint),
            "notes": self.notes,
            "policy_hash": self.hash,
        })
    }

    fn finding_as_json(&self, finding: &Diagnostic) -> Json {
        let place = |offset: usize| {
            let (line, column) = line_column(&self.text, offset);
            json!({ "line": line, "column": column })
        };
        json!({
            "message": finding.message,
            "start": finding.span.as_ref().map(|span| place(span.start)),
            "end": finding.span.as_ref().map(|span| place(span.end)),
            "label": finding.label,
            "hint": finding.hint,
        })
    }
}
