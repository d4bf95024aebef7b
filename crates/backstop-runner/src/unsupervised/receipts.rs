//! What is kept of a report, so that the same one again gets the same answer.

use backstop_core::id::RunId;
use backstop_store::{Receipt, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Outcome, ReportKey, UnsupervisedError, halting_decision};
use crate::socket::Answer;

/// As it lies in the store.
#[derive(Serialize, Deserialize)]
struct Kept {
    digest: String,
    answer: Json,
    /// The run had halted with this exit code, so the answer was the decision that halted it.
    halted: Option<u8>,
}

/// The receipt of a report that leads to this.
pub(super) fn of(key: ReportKey, outcome: &Outcome) -> Receipt {
    let kept = Kept {
        digest: key.digest,
        answer: serde_json::from_str(&outcome.answer.to_line()).unwrap_or_default(),
        halted: outcome.halted_before(),
    };
    let answer = serde_json::to_string(&kept).expect("a receipt has only string keys");
    Receipt { key: key.key, answer }
}

/// What was answered to the report with this key.
pub(super) async fn answer(
    store: &dyn Store,
    run: RunId,
    key: String,
    digest: &str,
) -> Result<Answer, UnsupervisedError> {
    let unreadable = || StoreError::Damaged(format!("the receipt `{key}` can't be read"));
    let text = store.receipt_fetch(run, &key).await?.ok_or_else(unreadable)?;
    let kept: Kept = serde_json::from_str(&text).map_err(|_| unreadable())?;
    if kept.digest != digest {
        return Err(UnsupervisedError::KeyUsed { run });
    }
    let answer = Answer::read(&kept.answer.to_string()).ok_or_else(unreadable)?;
    if let Some(exit_code) = kept.halted
        && let Some(halting) = halting_decision(store, run, answer.seq(), exit_code).await?
    {
        return Ok(halting);
    }
    Ok(answer)
}
