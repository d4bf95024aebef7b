//! What goes on behind answers, and is finished before the service ends.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Work that has begun. Who began it may go away.
#[derive(Debug, Default)]
pub(crate) struct Work(Mutex<JoinSet<()>>);

impl Work {
    /// Begins something. Its outcome can be waited for; there is none if it panicked.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (tell, outcome) = oneshot::channel();
        let mut begun = self.begun();
        // What has ended is not kept until the end of all.
        while begun.try_join_next().is_some() {}
        begun.spawn(async move {
            // Nobody may wait for it.
            tell.send(task.await).ok();
        });
        outcome
    }

    /// Waits until all is done, but no longer than this. Answers with how much is given up.
    pub(crate) async fn finish(&self, until: Instant) -> usize {
        let mut begun = std::mem::take(&mut *self.begun());
        let ended = async { while begun.join_next().await.is_some() {} };
        match timeout_at(until, ended).await {
            Ok(()) => 0,
            Err(_late) => begun.len(),
        }
    }

    fn begun(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
