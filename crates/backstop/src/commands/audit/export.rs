//! All rows, for other tools.

use std::io::Write as _;

use backstop_store::audit::{AuditFilter, AuditRow};

use crate::args::{AuditExportArguments, ExportForm};
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &AuditExportArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let mut after = arguments.after;
    let mut named = false;
    loop {
        let filter = AuditFilter { cursor: Some(after), limit: PAGE, ..AuditFilter::default() };
        let rows = opened.wait(opened.store.audit_list(&filter))?;
        for row in &rows {
            match arguments.format {
                ExportForm::Jsonl => writeln!(terminal.out, "{}", serde_json::json!(row))?,
                ExportForm::Csv => {
                    let object = cells(row);
                    if !std::mem::replace(&mut named, true) {
                        writeln!(
                            terminal.out,
                            "{}",
                            line(object.iter().map(|(name, _)| name.as_str()))
                        )?;
                    }
                    writeln!(
                        terminal.out,
                        "{}",
                        line(object.iter().map(|(_, value)| value.as_str()))
                    )?;
                }
            }
            after = row.number;
        }
        if rows.len() < PAGE as usize {
            return Ok(exit_code::OK);
        }
    }
}

/// Every column by its name, lists and evidence as the JSON that is stored.
fn cells(row: &AuditRow) -> Vec<(String, String)> {
    let stored = [
        ("reasons", row.row.reasons.as_str()),
        ("applied_rules", row.row.applied_rules.as_str()),
        ("evidence", row.row.evidence.as_str()),
    ];
    let object = serde_json::json!(row);
    let fields = object.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| {
            let stored = stored.iter().find(|(column, _)| column == name);
            let text = match (stored, value) {
                (Some((_, text)), _) => (*text).to_owned(),
                (None, serde_json::Value::Null) => String::new(),
                (None, serde_json::Value::String(text)) => text.clone(),
                (None, other) => other.to_string(),
            };
            (name.clone(), text)
        })
        .collect()
}

/// A line as RFC 4180 has it.
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    cells.map(quoted).collect::<Vec<_>>().join(",")
}

const PAGE: u32 = 1_000;
