//! What is looked up is believed for a moment, so that not every request asks the store for it. Who
//! changes it waits for that moment, so that it counts everywhere once they are told that it is done.

use std::time::Duration;

use backstop_store::Store;

/// Waits until no service goes by what was so before: tokens, policies in force and orders to halt
/// that have just been changed. Nobody waits where no service attends, the named one aside: that one
/// has forgotten already.
pub async fn outlive(store: &dyn Store, forgotten_by: Option<&str>) {
    // Where it can't be told whether there is one, there may be one.
    if store.service_attends(forgotten_by).await.unwrap_or(true) {
        tokio::time::sleep(BELIEVED + BETWEEN_CLOCKS).await;
    }
}

/// How long something is believed, from before it was asked for.
pub(crate) const BELIEVED: Duration = Duration::from_millis(250);
/// Timers of others may be as much late.
const BETWEEN_CLOCKS: Duration = Duration::from_millis(20);
