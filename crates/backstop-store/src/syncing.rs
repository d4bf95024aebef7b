//! What was written and is on its way to the disk.

use tokio::sync::oneshot;

use crate::StoreError;

/// Tells when something that was written is on disk. Whoever was told of it before may see it gone
/// after a power cut.
#[derive(Debug)]
#[must_use = "what was written is not on disk before this says so"]
pub struct Syncing(Option<oneshot::Receiver<Result<(), StoreError>>>);

impl Syncing {
    /// What was written was on disk at once.
    pub const fn done() -> Self {
        Self(None)
    }

    pub(crate) const fn told_by(outcome: oneshot::Receiver<Result<(), StoreError>>) -> Self {
        Self(Some(outcome))
    }

    /// Waits until it is there.
    ///
    /// # Errors
    /// It may not be, and nobody can know: it is not to be told of.
    pub async fn end(self) -> Result<(), StoreError> {
        let Some(outcome) = self.0 else { return Ok(()) };
        outcome.await.unwrap_or_else(|_| {
            Err(StoreError::Write("whoever waits for the disk has ended".to_owned()))
        })
    }
}
