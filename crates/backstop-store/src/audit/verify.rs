//! Reading the chain from its first row to its last.

use serde::Serialize;

use super::chain::{Hash, ORIGIN, hash};
use super::checkpoint::Checkpoint;
use super::row::{AuditFilter, AuditHead, AuditRow};
use crate::{Store, StoreError};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many rows are there.
    pub rows: u64,
    /// The last one, as it was recomputed.
    pub head: Option<AuditHead>,
    /// The first thing that is wrong. What comes after it proves nothing.
    pub finding: Option<Finding>,
    /// How many rows an outside checkpoint vouches for.
    pub vouched: u64,
}

/// Something that cannot be if nobody has touched the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// The row does not have the hash of what it says.
    Changed { row: u64 },
    /// The row does not follow the one before it.
    Broken { row: u64 },
    /// A number is left out.
    Missing { row: u64 },
    /// There is a row before the first one, where no decision can have been written.
    Inserted { before: u64 },
    /// The row can't be read at all.
    Unreadable { row: u64, why: String },
    /// The chain is shorter than it was.
    CutOff { rows: u64, expected: u64 },
    /// The chain holds, but is not the one that the checkpoint saw.
    Rewritten { row: u64 },
}

impl Finding {
    /// What was found, in a sentence.
    pub fn in_words(&self) -> String {
        match self {
            Self::Changed { row } => format!("row {row} was changed"),
            Self::Broken { row } => format!(
                "row {row} does not follow the row before it: one of them was changed, swapped, \
                 removed or inserted"
            ),
            Self::Missing { row } => format!("row {row} was removed"),
            Self::Inserted { before } => format!("a row was inserted before row {before}"),
            Self::Unreadable { row, why } => format!("row {row} was changed: {why}"),
            Self::CutOff { rows, expected } => {
                format!("the end was cut off: {rows} rows are left of at least {expected}")
            }
            Self::Rewritten { row } => {
                format!("rows up to {row} were written anew: the checkpoint saw others")
            }
        }
    }
}

/// Reads the whole chain, and holds it against a checkpoint that was kept elsewhere. `see` is shown
/// every row that holds, in their order.
///
/// # Errors
/// The store can't be read.
pub async fn verify(
    store: &dyn Store,
    checkpoint: Option<&Checkpoint>,
    mut see: impl FnMut(&AuditRow),
) -> Result<Verified, StoreError> {
    let mut chain = Chain { last: AuditHead { number: 0, hash: ORIGIN }, seen: None };
    let expected = checkpoint.map(|checkpoint| checkpoint.head);
    let mut finding = if is_begun_before(store, FIRST).await? {
        Some(Finding::Inserted { before: FIRST })
    } else {
        followed(store, &mut chain, expected, &mut see).await?
    };
    let rows = chain.last.number;
    if finding.is_none()
        && let Some(expected) = expected
    {
        finding = match chain.seen {
            _ if rows < expected.number => {
                Some(Finding::CutOff { rows, expected: expected.number })
            }
            Some(hash) if hash != expected.hash => {
                Some(Finding::Rewritten { row: expected.number })
            }
            _ => None,
        };
    }
    let vouched = expected.filter(|_| finding.is_none()).map_or(0, |head| head.number);
    Ok(Verified { rows, head: Some(chain.last).filter(|head| head.number > 0), finding, vouched })
}

/// Reads on from where the chain is to its end, or to the first thing that is wrong.
async fn followed(
    store: &dyn Store,
    chain: &mut Chain,
    expected: Option<AuditHead>,
    see: &mut impl FnMut(&AuditRow),
) -> Result<Option<Finding>, StoreError> {
    loop {
        let rows = match page(store, chain.last.number, PAGE).await {
            Err(StoreError::Damaged(_)) => {
                return singly(store, chain, expected, see).await;
            }
            rows => rows?,
        };
        let finding = rows.iter().find_map(|row| {
            let finding = chain.follow(row, expected);
            if finding.is_none() {
                see(row);
            }
            finding
        });
        if finding.is_some() || rows.len() < PAGE as usize {
            return Ok(finding);
        }
    }
}

/// Row by row, to name the one that can't be read.
async fn singly(
    store: &dyn Store,
    chain: &mut Chain,
    expected: Option<AuditHead>,
    see: &mut impl FnMut(&AuditRow),
) -> Result<Option<Finding>, StoreError> {
    loop {
        match page(store, chain.last.number, 1).await {
            Err(StoreError::Damaged(why)) => {
                return Ok(Some(Finding::Unreadable { row: chain.last.number + 1, why }));
            }
            Err(error) => return Err(error),
            Ok(rows) => match rows.first() {
                None => return Ok(None),
                Some(row) => {
                    if let Some(finding) = chain.follow(row, expected) {
                        return Ok(Some(finding));
                    }
                    see(row);
                }
            },
        }
    }
}

/// Whether there is a row with a smaller number, readable or not.
async fn is_begun_before(store: &dyn Store, number: u64) -> Result<bool, StoreError> {
    let before = AuditFilter {
        cursor: Some(number),
        newest_first: true,
        limit: 1,
        ..AuditFilter::default()
    };
    match store.audit_list(&before).await {
        Err(StoreError::Damaged(_)) => Ok(true),
        rows => Ok(!rows?.is_empty()),
    }
}

async fn page(store: &dyn Store, after: u64, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
    store.audit_list(&AuditFilter { cursor: Some(after), limit, ..AuditFilter::default() }).await
}

struct Chain {
    last: AuditHead,
    /// The hash at the checkpoint's place.
    seen: Option<Hash>,
}

impl Chain {
    fn follow(&mut self, row: &AuditRow, expected: Option<AuditHead>) -> Option<Finding> {
        let next = self.last.number + 1;
        if row.number != next {
            return Some(Finding::Missing { row: next });
        }
        if row.previous_hash != self.last.hash {
            return Some(Finding::Broken { row: next });
        }
        let hash = hash(self.last.hash, next, &row.row);
        if hash != row.hash {
            return Some(Finding::Changed { row: next });
        }
        self.last = AuditHead { number: next, hash };
        if expected.is_some_and(|expected| expected.number == next) {
            self.seen = Some(hash);
        }
        None
    }
}

/// The number that every chain begins with.
const FIRST: u64 = 1;
const PAGE: u32 = 4_096;
