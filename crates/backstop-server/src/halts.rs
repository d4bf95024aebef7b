//! Follows the audit, where every machine writes down which runs were halted or held.

use backstop_store::StoreError;
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
    let mut seen = service.halts.last.lock().await;
    let last = service.store.audit_head().await?.map_or(0, |head| head.number);
    if let Some(after) = *seen
        && after < last
    {
        for halts in service.store.audit_halts((after, last)).await? {
            service.metrics.halted(halts.reason_code.as_deref(), halts.count);
        }
    }
    *seen = Some(last);
    Ok(())
}
