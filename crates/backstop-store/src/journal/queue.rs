//! What was handed to a journal and is not settled, and when the next commit is due.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Entry;
use crate::StoreError;

/// What the handles and the writer share. It is told the time.
#[derive(Debug, Default)]
pub struct Queue {
    gathered: Entry,
    /// When the oldest of what is gathered came.
    since: Option<Instant>,
    /// How many entries were ever handed over, and the last event of all.
    handed_over: Durable,
    durable: Durable,
    /// Handed over and not on disk yet, what is being written included.
    pending: Load,
    waiting: Vec<(Goal, Answer)>,
    /// Until when the writer sleeps if it is not woken; none while it is awake.
    pub sleeps: Option<Sleep>,
    pub failure: Option<Arc<StoreError>>,
    pub closed: bool,
}

pub type Answer = oneshot::Sender<Result<(), Arc<StoreError>>>;

/// What somebody waits for.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    Entry(u64),
    Event(u64),
}

/// How far the disk is, or what was handed over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Durable {
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

/// How long the writer sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    Until(Instant),
    UntilWoken,
}

/// What the writer has to do now.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "made and taken apart once a commit, never kept")]
pub enum Next {
    Sleep(Sleep),
    Write(Entry, Written),
    End,
}

/// What a commit is about to put on disk.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    last: Durable,
    load: Load,
}

impl Queue {
    pub fn push(&mut self, mut entry: Entry, now: Instant) {
        if self.failure.is_some() {
            return;
        }
        let load = Load::of(&entry);
        self.pending.events += load.events;
        self.pending.bytes += load.bytes;
        self.handed_over.entries += 1;
        self.handed_over.seq = entry.events.last().map_or(self.handed_over.seq, |event| event.seq);
        self.since.get_or_insert(now);
        self.gathered.events.append(&mut entry.events);
        self.gathered.decisions.append(&mut entry.decisions);
        self.gathered.audit.append(&mut entry.audit);
        // Only the last state counts.
        self.gathered.snapshot = entry.snapshot.or(self.gathered.snapshot.take());
        self.gathered.update = entry.update.or(self.gathered.update.take());
    }

    pub fn has_room(&self) -> bool {
        self.pending.events <= MOST_EVENTS && self.pending.bytes <= MOST_BYTES
    }

    /// All that was handed over so far.
    pub fn everything(&self) -> Goal {
        Goal::Entry(self.handed_over.entries)
    }

    /// What became of a goal, if that is known already.
    pub fn outcome(&self, goal: Goal) -> Option<Result<(), Arc<StoreError>>> {
        let is_reached = self.durable.has_reached(goal);
        match &self.failure {
            // An event that is on disk stays there, whatever failed afterwards. What else was
            // handed over since then is lost.
            Some(failure) if !(is_reached && matches!(goal, Goal::Event(_))) => {
                Some(Err(Arc::clone(failure)))
            }
            _ => is_reached.then_some(Ok(())),
        }
    }

    /// Tells somebody later what became of a goal.
    pub fn wait(&mut self, goal: Goal, answer: Answer) {
        self.waiting.push((goal, answer));
    }

    /// Whether a writer that sleeps has to know of what has changed.
    pub fn must_wake(&self) -> bool {
        let Some(sleeps) = self.sleeps else { return false };
        if self.closed || self.failure.is_some() {
            return true;
        }
        self.due().is_some_and(|due| match sleeps {
            Sleep::UntilWoken => true,
            Sleep::Until(until) => due < until,
        })
    }

    /// What the writer has to do now.
    pub fn next(&mut self, now: Instant) -> Next {
        if self.failure.is_some() {
            return Next::End;
        }
        match self.due() {
            Some(due) if due <= now => {
                self.since = None;
                let entry = mem::take(&mut self.gathered);
                let load = Load::of(&entry);
                Next::Write(entry, Written { last: self.handed_over, load })
            }
            Some(due) => Next::Sleep(Sleep::Until(due)),
            None if self.closed => Next::End,
            None => Next::Sleep(Sleep::UntilWoken),
        }
    }

    /// When what is gathered has to be written; none while there is nothing.
    fn due(&self) -> Option<Instant> {
        let since = self.since?;
        if self.closed || !self.has_room() {
            return Some(since);
        }
        // Somebody who waits for an event that is yet to come is in no hurry.
        let is_urgent = |(goal, _): &(Goal, Answer)| {
            self.handed_over.has_reached(*goal) && !self.durable.has_reached(*goal)
        };
        let is_awaited = self.waiting.iter().any(is_urgent);
        Some(if is_awaited { since } else { since + LONGEST_DELAY })
    }

    /// Takes note of what became of a commit, and says whether it has failed.
    pub fn settle(&mut self, written: Written, result: Result<(), StoreError>) -> bool {
        match result {
            Ok(()) => {
                self.durable = written.last;
                self.pending.events -= written.load.events;
                self.pending.bytes -= written.load.bytes;
            }
            Err(error) => {
                self.failure = Some(Arc::new(error));
                self.gathered = Entry::default();
            }
        }
        self.failure.is_some()
    }

    /// Tells everybody whose goal is reached, and all others if it can't be any more.
    pub fn release(&mut self) {
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

/// How long something may wait for company where nobody waits for it.
const LONGEST_DELAY: Duration = Duration::from_millis(50);

/// More than this is not gathered if the producers ask for room.
const MOST_EVENTS: usize = 8_192;
const MOST_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;

    /// A queue in which events are numbered, and the time that it is told.
    struct Bench {
        queue: Queue,
        now: Instant,
        seq: u64,
        answers: Vec<oneshot::Receiver<Result<(), Arc<StoreError>>>>,
    }

    impl Bench {
        fn new() -> Self {
            Self { queue: Queue::default(), now: Instant::now(), seq: 0, answers: Vec::new() }
        }

        fn hand_over(&mut self) {
            self.seq += 1;
            let entry = Entry { events: vec![sample::event(self.seq)], ..Entry::default() };
            self.queue.push(entry, self.now);
        }

        /// Hands over an event, and waits for it.
        fn report(&mut self) {
            self.hand_over();
            let (sender, answer) = oneshot::channel();
            self.queue.wait(Goal::Event(self.seq), sender);
            self.answers.push(answer);
        }

        /// Commits what is due, and says how many events that were.
        fn commit(&mut self) -> usize {
            let Next::Write(entry, written) = self.queue.next(self.now) else {
                panic!("nothing is due")
            };
            assert!(!self.queue.settle(written, Ok(())));
            self.queue.release();
            entry.events.len()
        }

        fn sleeps(&mut self) -> Sleep {
            match self.queue.next(self.now) {
                Next::Sleep(sleep) => {
                    self.queue.sleeps = Some(sleep);
                    sleep
                }
                other => panic!("it does not sleep: {other:?}"),
            }
        }
    }

    #[test]
    fn what_nobody_waits_for_is_written_after_a_while() {
        let mut bench = Bench::new();
        assert_eq!(bench.sleeps(), Sleep::UntilWoken);
        bench.hand_over();
        assert!(bench.queue.must_wake(), "somebody has to know when the while is over");
        let due = bench.now + LONGEST_DELAY;
        assert_eq!(bench.sleeps(), Sleep::Until(due));
        bench.now = due;
        assert_eq!(bench.commit(), 1);
    }

    #[test]
    fn what_somebody_waits_for_is_written_at_once() {
        let mut bench = Bench::new();
        for _ in 0..3 {
            bench.sleeps();
            bench.report();
            assert!(bench.queue.must_wake());
            assert_eq!(bench.commit(), 1);
            assert!(bench.answers.pop().is_some_and(|mut answer| answer.try_recv().is_ok()));
        }
    }

    #[test]
    fn what_gathers_while_the_disk_is_busy_is_written_together() {
        let mut bench = Bench::new();
        bench.report();
        let Next::Write(_, written) = bench.queue.next(bench.now) else { panic!("nothing is due") };
        (0..5).for_each(|_| bench.report());
        assert!(!bench.queue.settle(written, Ok(())));
        bench.queue.release();
        assert_eq!(bench.commit(), 5);
    }

    #[test]
    fn an_end_waits_for_nothing() {
        let mut bench = Bench::new();
        bench.hand_over();
        bench.sleeps();
        bench.queue.closed = true;
        assert!(bench.queue.must_wake());
        assert_eq!(bench.commit(), 1);
        assert!(matches!(bench.queue.next(bench.now), Next::End));
    }
}
