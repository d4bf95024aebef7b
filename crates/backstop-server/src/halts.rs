//! Follows the audit, where every machine writes down which runs were halted or held.

use backstop_store::StoreError;
use backstop_store::audit::AuditFilter;
use tokio::sync::Mutex;

use crate::service::Service;

/// How far the audit has been read.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// None before the first look: what was there before the service is not counted.
    last: Mutex<Option<u64>>,
}

/// Counts the halts since the last look.
pub(crate) async fn follow(service: &Service) -> Result<(), StoreError> {
    let mut last = service.halts.last.lock().await;
    let Some(mut after) = *last else {
        *last = Some(service.store.audit_head().await?.map_or(0, |head| head.number));
        return Ok(());
    };
    loop {
        let filter = AuditFilter { cursor: Some(after), limit: PAGE, ..AuditFilter::default() };
        let rows = service.store.audit_list(&filter).await?;
        for row in &rows {
            after = row.number;
            if row.row.run.is_some() {
                service.metrics.halted(row.row.reason_code.as_deref());
            }
        }
        *last = Some(after);
        if rows.len() < PAGE as usize {
            return Ok(());
        }
    }
}

const PAGE: u32 = 500;
