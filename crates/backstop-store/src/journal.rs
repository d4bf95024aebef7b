//! The one writer of a supervised run.
//!
//! Whoever has something to keep hands it over and goes on. What gathers while the disk is busy is
//! written together: one commit, one wait for the disk, however many are waiting for it.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout_at};

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
        tokio::task::spawn_blocking(move || runtime.block_on(write(store, lease, of_writer)));
        tokio::spawn(tell(Arc::clone(&shared)));
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// Hands something over. It is written after all that came before it, at most 50 ms later.
    /// This never waits; who produces much calls [`Self::room`] now and then.
    pub fn append(&self, entry: Entry) {
        self.shared().queue().push(entry);
        self.shared().work.notify_one();
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
        self.wait(|queue| Goal::Entry(queue.entries)).await
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
        let reached = {
            let mut queue = self.shared().queue();
            let goal = goal(&queue);
            let is_reached = queue.durable.has_reached(goal);
            // An event that is on disk stays there, whatever failed afterwards. What else was handed
            // over since then is lost.
            if let Some(failure) = &queue.failure
                && !(is_reached && matches!(goal, Goal::Event(_)))
            {
                return Err(Arc::clone(failure));
            }
            if is_reached {
                return Ok(());
            }
            let (sender, reached) = oneshot::channel();
            queue.waiting.push((goal, sender));
            reached
        };
        self.shared().work.notify_one();
        reached.await.unwrap_or_else(|_| Err(Arc::new(ended())))
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
        self.shared.queue().closed = true;
        self.shared.work.notify_one();
    }
}

/// What the handles and the writer have in common.
#[derive(Debug, Default)]
struct Shared {
    /// Held for a moment only, never across a wait.
    queue: Mutex<Queue>,
    /// There is something to do for the writer.
    work: Notify,
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
}

#[derive(Debug, Default)]
struct Queue {
    gathered: Entry,
    /// When the oldest of what is gathered came.
    since: Option<Instant>,
    /// How many entries were ever handed over, and the last event of all.
    entries: u64,
    last_seq: u64,
    durable: Durable,
    /// Handed over and not on disk yet, what is being written included.
    pending: Load,
    waiting: Vec<(Goal, Answer)>,
    failure: Option<Arc<StoreError>>,
    closed: bool,
}

type Answer = oneshot::Sender<Result<(), Arc<StoreError>>>;

/// What somebody waits for.
#[derive(Clone, Copy, Debug)]
enum Goal {
    Entry(u64),
    Event(u64),
}

/// How far the disk is.
#[derive(Clone, Copy, Debug, Default)]
struct Durable {
    entries: u64,
    seq: u64,
}

impl Durable {
    fn has_reached(self, goal: Goal) -> bool {
        match goal {
            Goal::Entry(number) => number <= self.entries,
            Goal::Event(seq) => seq <= self.seq,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Load {
    events: usize,
    bytes: usize,
}

impl Load {
    fn of(entry: &Entry) -> Self {
        let events = entry.events.iter().map(|event| event.body.len()).sum::<usize>();
        let decisions = entry.decisions.iter().map(|decision| decision.body.len()).sum::<usize>();
        let snapshot = entry.snapshot.as_ref().map_or(0, |snapshot| snapshot.facts.len());
        Self { events: entry.events.len(), bytes: events + decisions + snapshot }
    }
}

impl Queue {
    fn push(&mut self, mut entry: Entry) {
        if self.failure.is_some() {
            return;
        }
        let load = Load::of(&entry);
        self.pending.events += load.events;
        self.pending.bytes += load.bytes;
        self.entries += 1;
        self.last_seq = entry.events.last().map_or(self.last_seq, |event| event.seq);
        self.since.get_or_insert_with(Instant::now);
        self.gathered.events.append(&mut entry.events);
        self.gathered.decisions.append(&mut entry.decisions);
        self.gathered.audit.append(&mut entry.audit);
        // Only the last state counts.
        self.gathered.snapshot = entry.snapshot.or(self.gathered.snapshot.take());
        self.gathered.update = entry.update.or(self.gathered.update.take());
    }

    fn has_room(&self) -> bool {
        self.pending.events <= MOST_EVENTS && self.pending.bytes <= MOST_BYTES
    }

    /// What the writer has to do now.
    fn next(&mut self) -> Next {
        if self.failure.is_some() {
            return Next::End;
        }
        let Some(since) = self.since else {
            return if self.closed { Next::End } else { Next::Wait(None) };
        };
        let last = Durable { entries: self.entries, seq: self.last_seq };
        // Somebody who waits for an event that is yet to come is in no hurry.
        let urgent = self.waiting.iter().any(|(goal, _)| last.has_reached(*goal));
        if !urgent && !self.closed && self.has_room() && since.elapsed() < LONGEST_DELAY {
            return Next::Wait(Some(since + LONGEST_DELAY));
        }
        self.since = None;
        Next::Write(mem::take(&mut self.gathered), last)
    }

    /// Takes note of what became of a commit, and says whether it has failed.
    fn settle(&mut self, last: Durable, load: Load, result: Result<(), StoreError>) -> bool {
        match result {
            Ok(()) => {
                self.durable = last;
                self.pending.events -= load.events;
                self.pending.bytes -= load.bytes;
            }
            Err(error) => {
                self.failure = Some(Arc::new(error));
                self.gathered = Entry::default();
            }
        }
        self.failure.is_some()
    }

    /// Tells everybody whose goal is reached, and all others if it can't be any more.
    fn release(&mut self) {
        let (durable, failure) = (self.durable, &self.failure);
        let is_settled =
            |(goal, _): &mut (Goal, Answer)| durable.has_reached(*goal) || failure.is_some();
        for (goal, answer) in self.waiting.extract_if(.., is_settled) {
            let told = match failure {
                Some(failure) if !durable.has_reached(goal) => Err(Arc::clone(failure)),
                _ => Ok(()),
            };
            // Who no longer waits need not be told.
            answer.send(told).ok();
        }
    }
}

#[expect(clippy::large_enum_variant, reason = "made and taken apart once a commit, never kept")]
enum Next {
    /// Until there is work, or until a time.
    Wait(Option<Instant>),
    Write(Entry, Durable),
    End,
}

/// Nobody waits for a writer that is no more, or for one who tells what it wrote, whatever ended
/// either: the other ends too.
struct Attended(Arc<Shared>);

impl Drop for Attended {
    fn drop(&mut self) {
        {
            let mut queue = self.0.queue();
            queue.failure.get_or_insert_with(|| Arc::new(ended()));
            queue.release();
        }
        self.0.work.notify_one();
        self.0.settled.notify_one();
        self.0.written.notify_waiters();
    }
}

fn ended() -> StoreError {
    StoreError::Write("the journal's writer has ended".to_owned())
}

/// The writer's thread.
async fn write(store: Arc<dyn Store>, lease: Lease, shared: Arc<Shared>) {
    let _attended = Attended(Arc::clone(&shared));
    loop {
        let next = shared.queue().next();
        match next {
            Next::End => return,
            Next::Wait(None) => shared.work.notified().await,
            Next::Wait(Some(until)) => {
                // Time is up, or there is more work: either way it is looked at above.
                timeout_at(until, shared.work.notified()).await.ok();
            }
            Next::Write(entry, last) => {
                let load = Load::of(&entry);
                let result = store.append(&batch(&lease, entry)).await;
                let has_failed = shared.queue().settle(last, load, result);
                shared.commits.fetch_add(u64::from(!has_failed), Ordering::Relaxed);
                shared.settled.notify_one();
                shared.written.notify_waiters();
                if has_failed {
                    return;
                }
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

/// How long something may wait for company.
const LONGEST_DELAY: Duration = Duration::from_millis(50);

/// More than this is not gathered if the producers ask for room.
const MOST_EVENTS: usize = 8_192;
const MOST_BYTES: usize = 8 << 20;
