//! Moving everything from one store to another, whatever their engines.

use crate::audit::{AuditFilter, AuditRow, Finding, verify};
use crate::table::{RawRow, TABLES, Table};
use crate::{Store, StoreError};

/// What was copied: how many rows of which table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub tables: Vec<(&'static str, u64)>,
}

/// Why a store could not be copied. Where the copy differs, what is in the target is not to be used.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the target is not empty: there are {table} in it; name a new store")]
    NotEmpty { table: &'static str },
    #[error("the audit of the source does not hold: {}", finding.in_words())]
    Audit { finding: Finding },
    #[error(
        "the copy is not like the source: table {table} differs at row {row}; \
         was something written meanwhile?"
    )]
    Differs { table: &'static str, row: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Copies everything from one store to another, which must be empty, and compares them row by row
/// afterwards. Nobody may write either of them meanwhile. `progress` is told of each table how many
/// rows were copied so far.
///
/// # Errors
/// A target that is not empty, a source whose audit was tampered with, a copy that differs.
pub async fn copy(
    from: &dyn Store,
    to: &dyn Store,
    mut progress: impl FnMut(&'static str, u64) + Send,
) -> Result<Copied, CopyError> {
    for table in TABLES {
        if !to.rows_export(table, None, 1).await?.is_empty() {
            return Err(CopyError::NotEmpty { table: table.name });
        }
    }
    if to.audit_head().await?.is_some() {
        return Err(CopyError::NotEmpty { table: AUDIT });
    }
    // Before anything is written: what was tampered with is not spread.
    if let Some(finding) = verify(from, None, |_| {}).await?.finding {
        return Err(CopyError::Audit { finding });
    }
    let mut tables = Vec::with_capacity(TABLES.len() + 1);
    for table in TABLES {
        tables.push((table.name, copy_table(from, to, table, &mut progress).await?));
    }
    tables.push((AUDIT, copy_audit(from, to, &mut progress).await?));
    // Only now, since filling one table may fill another.
    for table in TABLES {
        compare_table(from, to, table).await?;
    }
    Ok(Copied { tables })
}

async fn copy_table(
    from: &dyn Store,
    to: &dyn Store,
    table: &'static Table,
    progress: &mut impl FnMut(&'static str, u64),
) -> Result<u64, CopyError> {
    let mut copied = 0;
    let mut last: Option<RawRow> = None;
    loop {
        let mut rows = from.rows_export(table, last.as_ref(), PAGE).await?;
        to.rows_import(table, &rows).await?;
        copied += rows.len() as u64;
        progress(table.name, copied);
        if rows.len() < PAGE as usize {
            return Ok(copied);
        }
        last = rows.pop();
    }
}

async fn compare_table(
    from: &dyn Store,
    to: &dyn Store,
    table: &'static Table,
) -> Result<(), CopyError> {
    let mut compared = 0;
    let mut last: Option<RawRow> = None;
    loop {
        let mut rows = from.rows_export(table, last.as_ref(), PAGE).await?;
        let copies = to.rows_export(table, last.as_ref(), PAGE).await?;
        let same = rows.iter().zip(&copies).take_while(|(row, copy)| row == copy).count();
        if same < rows.len().max(copies.len()) {
            return Err(CopyError::Differs { table: table.name, row: compared + same as u64 + 1 });
        }
        compared += rows.len() as u64;
        if rows.len() < PAGE as usize {
            return Ok(());
        }
        last = rows.pop();
    }
}

/// The chain is written anew from what its rows say, so that it comes out the same only if it held.
async fn copy_audit(
    from: &dyn Store,
    to: &dyn Store,
    progress: &mut impl FnMut(&'static str, u64),
) -> Result<u64, CopyError> {
    let mut copied = 0;
    loop {
        let rows = audit_page(from, copied).await?;
        let new: Vec<_> = rows.iter().map(|row| row.row.clone()).collect();
        to.audit_append(&new).await?;
        if let Some(at) = audit_page(to, copied).await?.iter().zip(&rows).position(|(a, b)| a != b)
        {
            return Err(CopyError::Differs { table: AUDIT, row: copied + at as u64 + 1 });
        }
        copied += rows.len() as u64;
        progress(AUDIT, copied);
        if rows.len() < PAGE as usize {
            break;
        }
    }
    if from.audit_head().await? != to.audit_head().await? {
        return Err(CopyError::Differs { table: AUDIT, row: copied + 1 });
    }
    Ok(copied)
}

async fn audit_page(store: &dyn Store, after: u64) -> Result<Vec<AuditRow>, StoreError> {
    let filter = AuditFilter { cursor: Some(after), limit: PAGE, ..AuditFilter::default() };
    store.audit_list(&filter).await
}

const AUDIT: &str = "stop_decision_audit";
const PAGE: u32 = 500;
