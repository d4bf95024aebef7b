//! Whether the decisions on record come out again, and by the policies that they name.

use std::collections::{BTreeMap, HashMap};

use backstop_core::rerun::Answer;
use backstop_runner::loading;
use backstop_server::rerun::{NotMadeAgain, Remaker};
use backstop_store::audit::{AuditFilter, AuditRow};

use crate::error::Error;
use crate::store::Opened;

/// The policies that rows of the audit name, each with the first row that does.
#[derive(Debug, Default)]
pub struct Named(BTreeMap<String, u64>);

impl Named {
    pub fn see(&mut self, row: &AuditRow) {
        if let Some(hash) = &row.row.lawbook_hash
            && !self.0.contains_key(hash)
        {
            self.0.insert(hash.clone(), row.number);
        }
    }

    /// The first row whose policy is not in the store any more, or another one, in a sentence.
    pub fn at_fault(&self, opened: &Opened) -> Result<Option<String>, Error> {
        let mut in_order: Vec<_> = self.0.iter().map(|(hash, row)| (row, hash)).collect();
        in_order.sort_unstable();
        for (row, hash) in in_order {
            let by = format!("row {row} was decided by the policy {hash}");
            let Some(stored) = opened.wait(opened.store.policy_fetch(hash))? else {
                return Ok(Some(format!("{by}, which is not in the store any more")));
            };
            if let Err(error) = loading::unchanged_policy(&stored) {
                return Ok(Some(format!("{by}, and {error}")));
            }
        }
        Ok(None)
    }
}

/// What came out when the answers about re-runs were made again.
#[derive(Debug, Default)]
pub struct Replayed {
    /// How many came out as they are on record.
    pub same: u64,
    /// The first that did not, in a sentence.
    pub fault: Option<String>,
}

/// Makes every answer about a re-run again, up to the first that does not come out the same.
pub fn replay(opened: &Opened) -> Result<Replayed, Error> {
    let mut remakers: HashMap<Option<String>, Remaker> = HashMap::new();
    let mut replayed = Replayed::default();
    let mut cursor = Some(0);
    loop {
        let filter = AuditFilter { cursor, limit: PAGE, ..AuditFilter::default() };
        let rows = opened.wait(opened.store.audit_list(&filter))?;
        for row in rows.iter().filter(|row| is_answer(row)) {
            let policy = &row.row.lawbook_hash;
            if !remakers.contains_key(policy) {
                if remakers.len() >= MOST_READY {
                    remakers.clear();
                }
                remakers.insert(policy.clone(), ready(opened, policy.as_deref())?);
            }
            let again = remakers[policy].remake(row);
            if let Some(difference) = difference(row, &again) {
                replayed.fault = Some(format!("row {}: {difference}", row.number));
                return Ok(replayed);
            }
            replayed.same += 1;
        }
        cursor = rows.last().map(|row| row.number);
        if rows.len() < PAGE as usize {
            return Ok(replayed);
        }
    }
}

/// Runs are replayed from their journals, and a policy that was refused has decided nothing.
fn is_answer(row: &AuditRow) -> bool {
    row.row.run.is_none() && row.row.pr_number.is_some()
}

fn ready(opened: &Opened, hash: Option<&str>) -> Result<Remaker, Error> {
    let stored = match hash {
        Some(hash) => opened.wait(opened.store.policy_fetch(hash))?,
        None => None,
    };
    let policy = stored.map(|stored| loading::unchanged_policy(&stored)).transpose()?;
    Ok(Remaker::new(policy.as_ref()))
}

/// What is not the same in an answer that was made again; none if it is.
pub fn difference(row: &AuditRow, again: &Result<Answer, NotMadeAgain>) -> Option<String> {
    let said = &row.row;
    match again {
        Ok(answer)
            if answer.decision == said.decision
                && answer.reason_code == said.reason_code.as_deref() =>
        {
            None
        }
        Ok(answer) => Some(format!(
            "{} {} comes out, which is not the same",
            answer.decision,
            answer.reason_code.unwrap_or_default()
        )),
        Err(why) => Some(why.to_string()),
    }
}

const PAGE: u32 = 4_096;
/// More policies than most ever have in force; each takes memory.
const MOST_READY: usize = 256;
