//! The one writer of a supervised run.
//!
//! Whoever has something to keep hands it over and goes on. What gathers while the disk is busy is
//! written together: one commit, one wait for the disk, however many are waiting for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, oneshot};

mod queue;

use self::queue::{Goal, Next, Queue, Sleep};
use crate::audit::NewAuditRow;
use crate::lease::Lease;
use crate::record::{Batch, DecisionRecord, NewEvent, RunUpdate, Snapshot, Writer};
use crate::{Store, StoreError};

/// A handle to the writer. When the last one goes, the writer keeps what it was given and ends.
///
/// The first failure is final: nothing is written after it, and everybody who waits or comes to
/// wait for what is not on disk is told of it.
#[derive(Clone, Debug)]
pub struct Journal {
    handle: Arc<Handle>,
}

/// What is kept together: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    pub events: Vec<NewEvent>,
    pub decisions: Vec<DecisionRecord>,
    pub snapshot: Option<Snapshot>,
    pub update: Option<RunUpdate>,
    pub audit: Vec<NewAuditRow>,
}

impl Journal {
    /// Starts the writer beside the tasks of the current runtime: on a thread of its own, so that
    /// the next commit begins when the last one ends, and not when those who waited for that have
    /// had their turn.
    pub fn start(store: Arc<dyn Store>, lease: Lease) -> Self {
        let shared = Arc::new(Shared::default());
        let (runtime, of_writer) = (Runtime::current(), Arc::clone(&shared));
        tokio::task::spawn_blocking(move || write(&runtime, &*store, &lease, &of_writer));
        tokio::spawn(tell(Arc::clone(&shared)));
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// Hands something over. It is written after all that came before it, at most 50 ms later.
    /// This never waits; who produces much calls [`Self::room`] now and then.
    pub fn append(&self, entry: Entry) {
        self.shared().change(|queue| queue.push(entry, Instant::now()));
    }

    /// Has everything written now, and returns when the event with this number is on disk. Waits
    /// for the event too, if it has not been handed over yet.
    ///
    /// # Errors
    /// The journal's first failure.
    pub async fn durable(&self, seq: u64) -> Result<(), Arc<StoreError>> {
        self.wait(|_| Goal::Event(seq)).await
    }

    /// Has everything written now, and returns when all that was handed over before is on disk.
    ///
    /// # Errors
    /// The journal's first failure.
    pub async fn flush(&self) -> Result<(), Arc<StoreError>> {
        self.wait(Queue::everything).await
    }

    /// Returns when there is room for more: at once, unless the disk is far behind.
    pub async fn room(&self) {
        loop {
            let written = self.shared().written.notified();
            let mut written = std::pin::pin!(written);
            // Before looking, so that no commit slips in between.
            written.as_mut().enable();
            {
                let queue = self.shared().queue();
                if queue.failure.is_some() || queue.has_room() {
                    return;
                }
            }
            written.await;
        }
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<Arc<StoreError>> {
        self.shared().queue().failure.clone()
    }

    /// Returns when the journal fails.
    pub async fn failed(&self) -> Arc<StoreError> {
        loop {
            let written = self.shared().written.notified();
            let mut written = std::pin::pin!(written);
            written.as_mut().enable();
            if let Some(failure) = self.failure() {
                return failure;
            }
            written.await;
        }
    }

    /// How many commits there were.
    pub fn commits(&self) -> u64 {
        self.shared().commits.load(Ordering::Relaxed)
    }

    async fn wait(&self, goal: impl FnOnce(&Queue) -> Goal) -> Result<(), Arc<StoreError>> {
        let (sender, reached) = oneshot::channel();
        let outcome = self.shared().change(|queue| {
            let goal = goal(queue);
            let outcome = queue.outcome(goal);
            if outcome.is_none() {
                queue.wait(goal, sender);
            }
            outcome
        });
        match outcome {
            Some(outcome) => outcome,
            None => reached.await.unwrap_or_else(|_| Err(Arc::new(ended()))),
        }
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }
}

/// Tells the writer when nobody is left.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.change(|queue| queue.closed = true);
    }
}

/// What the handles and the writer have in common.
#[derive(Debug, Default)]
struct Shared {
    /// Held for a moment only, never across a commit.
    queue: Mutex<Queue>,
    /// There is something to do for the writer.
    work: Condvar,
    /// A commit is done or has failed.
    written: Notify,
    /// The same for the one who tells all who waited: a thread wakes another once for all of them.
    settled: Notify,
    commits: AtomicU64,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while it is held, so what it guards is whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something, and wakes the writer if it has to know.
    fn change<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queue = self.queue();
        let changed = change(&mut queue);
        if queue.must_wake() {
            // Once is enough, and who wakes up wants the lock.
            queue.sleeps = None;
            drop(queue);
            self.work.notify_one();
        }
        changed
    }

    /// Lets the writer sleep.
    fn sleep<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        sleep: Sleep,
    ) -> MutexGuard<'a, Queue> {
        queue.sleeps = Some(sleep);
        let mut queue = match sleep {
            Sleep::UntilWoken => self.work.wait(queue).unwrap_or_else(PoisonError::into_inner),
            Sleep::Until(until) => {
                let time = until.saturating_duration_since(Instant::now());
                let woken = self.work.wait_timeout(queue, time);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        queue.sleeps = None;
        queue
    }
}

/// Nobody waits for a writer that is no more, or for one who tells what it wrote, whatever ended
/// either: the other ends too.
struct Attended(Arc<Shared>);

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.change(|queue| {
            queue.failure.get_or_insert_with(|| Arc::new(ended()));
            queue.release();
        });
        self.0.settled.notify_one();
        self.0.written.notify_waiters();
    }
}

fn ended() -> StoreError {
    StoreError::Write("the journal's writer has ended".to_owned())
}

/// The writer's thread.
fn write(runtime: &Runtime, store: &dyn Store, lease: &Lease, shared: &Arc<Shared>) {
    // Dropped after the lock, which it takes.
    let _attended = Attended(Arc::clone(shared));
    let mut queue = shared.queue();
    loop {
        match queue.next(Instant::now()) {
            Next::End => return,
            // Time is up, or there is more work: either way it is looked at above.
            Next::Sleep(sleep) => queue = shared.sleep(queue, sleep),
            Next::Write(entry, written) => {
                drop(queue);
                let result = runtime.block_on(store.append(&batch(lease, entry)));
                let has_failed = shared.queue().settle(written, result);
                shared.commits.fetch_add(u64::from(!has_failed), Ordering::Relaxed);
                shared.settled.notify_one();
                shared.written.notify_waiters();
                queue = shared.queue();
            }
        }
    }
}

/// Tells those who wait what became of a commit, until there will be none any more.
async fn tell(shared: Arc<Shared>) {
    let _attended = Attended(Arc::clone(&shared));
    loop {
        shared.settled.notified().await;
        let mut queue = shared.queue();
        queue.release();
        if queue.failure.is_some() {
            return;
        }
    }
}

fn batch(lease: &Lease, entry: Entry) -> Batch {
    Batch {
        events: entry.events,
        decisions: entry.decisions,
        snapshot: entry.snapshot,
        update: entry.update,
        audit: entry.audit,
        ..Batch::new(lease.run, Writer::Supervisor(lease.clone()))
    }
}
