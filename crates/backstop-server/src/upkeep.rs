//! What must be tidied from time to time, so that memory stays bounded.

use std::sync::Weak;
use std::time::Duration;

use backstop_store::StoreError;

use crate::halts;
use crate::service::Service;

/// Tidies up until the service is gone.
pub(crate) async fn tend(service: Weak<Service>) {
    let mut ticks = tokio::time::interval(BETWEEN);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(service) = service.upgrade() else { return };
        if service.closing.is_cancelled() {
            return;
        }
        let seen = attend(&service).await;
        service.metrics.tidy();
        service.rates.tidy();
        if halts::follow(&service).await.is_err() || seen.is_err() {
            service.metrics.store_failed();
        }
    }
}

/// Says that this service answers for the store.
pub(crate) async fn attend(service: &Service) -> Result<(), StoreError> {
    service.store.service_attend(&service.name, BELIEVED_FOR).await
}

const BETWEEN: Duration = Duration::from_secs(5);
/// How long runs count on somebody to see their questions here. One beat may be lost.
const BELIEVED_FOR: Duration = Duration::from_secs(15);
