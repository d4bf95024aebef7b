//! A store that is busy with one write until it is let go on.

use std::sync::{Arc, mpsc};

use backstop_core::id::RunId;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Batch, Store, StoreError, Writer};

/// Writes that wait. Needs a runtime with more threads than one, since one of them is kept.
#[derive(Debug)]
pub struct BlockedWrites {
    go_on: mpsc::Sender<()>,
    blocked: JoinHandle<Result<(), StoreError>>,
}

impl BlockedWrites {
    /// Has a store work on a run: nothing else is written by it from here on.
    ///
    /// # Panics
    /// There is no such run.
    pub async fn begin(store: Arc<dyn Store>, run: RunId) -> Self {
        let (go_on, waiting) = mpsc::channel::<()>();
        let (tell, begun) = oneshot::channel();
        let blocked = tokio::spawn(async move {
            let decide = move |_| {
                tell.send(()).ok();
                waiting.recv().ok();
                Batch::new(run, Writer::Unsupervised)
            };
            store.append_unsupervised(run, Box::new(decide)).await
        });
        begun.await.expect("the store knows the run");
        Self { go_on, blocked }
    }

    /// # Panics
    /// The write that kept the others waiting has failed.
    pub async fn end(self) {
        drop(self.go_on);
        self.blocked.await.expect("a write does not panic").expect("the store can be written");
    }
}
