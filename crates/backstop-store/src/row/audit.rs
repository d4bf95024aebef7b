//! Rows of the audit.

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;

use super::{Cells, FromRow, Unreadable, count, optional, owned, parsed};
use crate::audit::{AuditHead, AuditRow, Count, HaltCount, Hash, JsonText, NewAuditRow};

impl FromRow for AuditHead {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self { number: count(row, "number")?, hash: hash(row, "hash")? })
    }
}

impl FromRow for AuditRow {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            number: count(row, "number")?,
            row: NewAuditRow {
                resource_owner: optional(row, "resource_owner")?,
                resource_repo: optional(row, "resource_repo")?,
                pr_number: optional_count(row, "pr_number")?,
                workflow_run_id: optional_count(row, "workflow_run_id")?,
                request_id: owned(row, "request_id")?,
                decision: owned(row, "decision")?,
                reason_code: optional(row, "reason_code")?,
                reasons: JsonText::stored(owned(row, "reasons")?),
                recommended_next_step: owned(row, "recommended_next_step")?,
                failure_class: optional(row, "failure_class")?,
                current_job_attempts: optional_count(row, "current_job_attempts")?,
                total_pr_attempts: optional_count(row, "total_pr_attempts")?,
                lawbook_hash: optional(row, "lawbook_hash")?,
                lawbook_version: optional(row, "lawbook_version")?,
                applied_rules: JsonText::stored(owned(row, "applied_rules")?),
                evidence: JsonText::stored(owned(row, "evidence")?),
                created_at: written_time(row, "created_at")?,
                run: written_run(row, "run")?,
                run_seq: optional_count(row, "run_seq")?,
                actor: owned(row, "actor")?,
            },
            previous_hash: hash(row, "previous_hash")?,
            hash: hash(row, "hash")?,
        })
    }
}

impl FromRow for Count {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self {
            decision: owned(row, "decision")?,
            reason_code: optional(row, "reason_code")?,
            decision_count: count(row, "decision_count")?,
            last_occurred_at: written_time(row, "last_occurred_at")?,
        })
    }
}

impl FromRow for HaltCount {
    fn from_row(row: &impl Cells) -> Result<Self, Unreadable> {
        Ok(Self { reason_code: optional(row, "reason_code")?, count: count(row, "halts")? })
    }
}

pub fn hash(row: &impl Cells, column: &str) -> Result<Hash, Unreadable> {
    let stored = row.bytes(column)?;
    Hash::from_bytes(&stored).ok_or_else(|| Unreadable::of_content(column, &"not 32 bytes"))
}

/// To the microsecond, so that texts sort like times.
pub fn written(time: Timestamp) -> String {
    format!("{:.6}", time.to_jiff())
}

/// A time that is written in just this way: the same time in other words is a change too.
fn written_time(row: &impl Cells, column: &str) -> Result<Timestamp, Unreadable> {
    let time: Timestamp = parsed(row, column)?;
    let text = row.text(column)?;
    if written(time) == text { Ok(time) } else { Err(Unreadable::of_content(column, &text)) }
}

/// A run that is named in just this way: names are also understood in small letters and with
/// letters that look like digits.
fn written_run(row: &impl Cells, column: &str) -> Result<Option<RunId>, Unreadable> {
    let Some(text) = row.optional_text(column)? else { return Ok(None) };
    let run: RunId = parsed(row, column)?;
    if run.as_str() == text { Ok(Some(run)) } else { Err(Unreadable::of_content(column, &text)) }
}

fn optional_count(row: &impl Cells, column: &str) -> Result<Option<u64>, Unreadable> {
    let read = |number| u64::try_from(number).map_err(|_| Unreadable::of_content(column, &number));
    row.optional_number(column)?.map(read).transpose()
}
