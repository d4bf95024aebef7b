//! Reports to runs that nobody supervises. Those that come while the disk is busy share a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::thread;

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use tokio::sync::{Mutex, oneshot};

use super::append::{Append, of_append};
use super::appender::Appender;
use super::fault::Fault;
use super::writer::Writer;
use super::{audit, events};
use crate::StoreError;
use crate::lease::LeaseRecord;
use crate::record::{Decide, Run, Snapshot, StoredPolicy, Unsupervised};
use crate::row::FromRow;

/// The way to the thread that appends for whoever comes. It is started for the first who does, and
/// ends with the store. It is none of the runtime's, since those may all be taken by callers who
/// wait for it.
#[derive(Debug, Default)]
pub struct Arrivals {
    worker: StdMutex<Option<Sender<Handed>>>,
}

/// What somebody wants to append to a run, as it makes it from what is there.
struct Arrival {
    run: RunId,
    decide: Decide,
    now: Timestamp,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

/// With what it is written by, so that the thread has the store only while it works.
type Handed = (Arc<Mutex<Writer>>, Arrival);

impl Arrivals {
    /// Appends for whoever comes. When this returns, it is on disk.
    pub async fn append(
        &self,
        writer: &Arc<Mutex<Writer>>,
        run: RunId,
        decide: Decide,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (answer, written) = oneshot::channel();
        self.hand_over((Arc::clone(writer), Arrival { run, decide, now, answer }))?;
        let ended = |_| Err(StoreError::Write("what was to be appended was given up".to_owned()));
        written.await.unwrap_or_else(ended)
    }

    fn hand_over(&self, arrival: Handed) -> Result<(), StoreError> {
        // Nothing panics while it is held, so what it guards is whole.
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival = match &*worker {
            Some(known) => match known.send(arrival) {
                Ok(()) => return Ok(()),
                // A bug has ended it; who waited then was told.
                Err(mpsc::SendError(arrival)) => arrival,
            },
            None => arrival,
        };
        let (sender, arrivals) = mpsc::channel();
        let started = thread::Builder::new().name(THREAD.to_owned());
        started
            .spawn(move || work_off(&arrivals))
            .map_err(|error| StoreError::Write(format!("no thread can be started: {error}")))?;
        let gone = |_| StoreError::Write("what was to be appended was given up".to_owned());
        worker.insert(sender).send(arrival).map_err(gone)
    }
}

/// Appends for all who come, until nobody can any more.
fn work_off(arrivals: &Receiver<Handed>) {
    while let Ok((writer, first)) = arrivals.recv() {
        let mut group = vec![first];
        group.extend(arrivals.try_iter().take(TOGETHER - 1).map(|(_, arrival)| arrival));
        append_all(&mut writer.blocking_lock(), group);
    }
}

/// Appends for a group by one transaction: what is refused to one is no matter of the others.
fn append_all(writer: &mut Writer, group: Vec<Arrival>) {
    let (mut wishes, mut answers) = (Vec::new(), Vec::new());
    for Arrival { run, decide, now, answer } in group {
        wishes.push(StdMutex::new(Some((run, decide, now))));
        answers.push((run, answer));
    }
    writer.count_pages(PAGES_OF_A_REPORT * wishes.len() as u64);
    let appended = writer.append(|appender| {
        appender.transaction(|| {
            let results = wishes.iter().map(|wish| {
                // A transaction that could not begin has left the wishes as they are.
                match wish.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    Some(wish) => match appender.part(|| fulfil(appender, wish)) {
                        Err(Trouble::Fault(fault))
                            if fault.spoils_transaction() || appender.has_undone_all() =>
                        {
                            Err(fault)
                        }
                        result => Ok(result),
                    },
                    None => Err(Fault::of_repetition()),
                }
            });
            results.collect::<Result<Vec<_>, _>>()
        })
    });
    match appended {
        Ok(results) => {
            for ((run, answer), result) in answers.into_iter().zip(results) {
                // Who asked may have gone; what was asked for stands.
                answer.send(result.map_err(|trouble| trouble.of_write(run))).ok();
            }
        }
        Err(fault) => {
            for (run, answer) in answers {
                answer.send(Err(fault.clone().of_write_for(run))).ok();
            }
        }
    }
}

/// Why nothing was appended.
enum Trouble {
    Fault(Fault),
    Refusal(StoreError),
}

impl Trouble {
    fn of_write(self, run: RunId) -> StoreError {
        match self {
            Self::Fault(fault) => fault.of_write_for(run),
            Self::Refusal(error) => error,
        }
    }
}

impl<E: Into<Fault>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

fn fulfil(
    appender: &Appender,
    (run, decide, now): (RunId, Decide, Timestamp),
) -> Result<(), Trouble> {
    let lease = "SELECT * FROM leases WHERE run = ?1 AND released = 0";
    if let Some(record) = one::<LeaseRecord>(appender, lease, run.as_str())? {
        if record.expires_at > now {
            return Err(Trouble::Refusal(record.refusal()));
        }
        // Should its holder wake up, it must not go on where somebody else has written.
        let release = "UPDATE leases SET released = 1 WHERE run = ?1";
        appender.execute(release, |statement| statement.raw_bind_parameter(1, run.as_str()))?;
    }
    let current = read(appender, run)?.ok_or(Trouble::Refusal(StoreError::NoRun(run)))?;
    // A bug of the caller's must not take the others of the group with it.
    let Ok(batch) = catch_unwind(AssertUnwindSafe(|| decide(current))) else {
        let what = format!("what was to be appended to run {run} could not be made");
        return Err(Trouble::Refusal(StoreError::Write(what)));
    };
    let append = Append::new(None, &batch).map_err(Trouble::Refusal)?;
    append.execute(appender).map_err(|fault| match fault.is_of_receipt() {
        true => Trouble::Refusal(of_append(fault, &batch)),
        false => Trouble::Fault(fault),
    })?;
    if !batch.audit.is_empty() {
        audit::insert(appender, &batch.audit)?;
    }
    Ok(())
}

fn read(appender: &Appender, run: RunId) -> Result<Option<Unsupervised>, Fault> {
    let known: Option<Run> = one(appender, "SELECT * FROM runs WHERE id = ?1", run.as_str())?;
    let Some(known) = known else { return Ok(None) };
    let policy = "SELECT * FROM policies WHERE hash = ?1";
    let policy: Option<StoredPolicy> = one(appender, policy, &known.policy_hash)?;
    let policy =
        policy.ok_or_else(|| Fault::of_damage(format!("the policy of run {run} is missing")))?;
    let snapshot = "SELECT seq, facts, checksum FROM snapshots WHERE run = ?1";
    let snapshot: Option<Snapshot> = one(appender, snapshot, run.as_str())?;
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let events = events::list_all(appender.connection(), run, after)?;
    Ok(Some(Unsupervised { run: known, policy, snapshot, events }))
}

fn one<T: FromRow>(
    appender: &Appender,
    select: &'static str,
    key: &str,
) -> Result<Option<T>, Fault> {
    let mut statement = appender.connection().prepare_cached(select)?;
    let mut rows = statement.query((key,))?;
    Ok(rows.next()?.map(T::from_row).transpose()?)
}

/// Those of its event, of the facts after it and of the run.
const PAGES_OF_A_REPORT: u64 = 4;
const THREAD: &str = "arrivals";
/// How many are written together at most: all of them wait for the last one.
const TOGETHER: usize = 64;

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::lease::Lease;
    use crate::record::{Batch, Writer as BatchWriter};
    use crate::testing::sample;
    use crate::{Home, SqliteStore, Store as _};

    fn first_event(given: &Unsupervised) -> Batch {
        let nobody = Lease { run: given.run.id, epoch: 0 };
        Batch { writer: BatchWriter::Unsupervised, ..sample::events(&nobody, [1]) }
    }

    #[tokio::test]
    async fn a_group_of_which_sqlite_gives_up_one_is_given_up_whole() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&Home::new(directory.path())).await.unwrap();
        store.policy_put(&sample::policy()).await.unwrap();
        for number in 0..3 {
            store.run_create(&sample::run(number)).await.unwrap();
        }
        let interrupts = Arc::new(AtomicBool::new(false));
        let interrupted = Arc::clone(&interrupts);
        let mut writer = Arc::clone(&store.writer).lock_owned().await;
        let answers = tokio::task::spawn_blocking(move || {
            let watched = writer.append(|appender| {
                let interrupted = Arc::clone(&interrupted);
                let handler = move || interrupted.swap(false, Ordering::SeqCst);
                Ok(appender.connection().progress_handler(1, Some(handler))?)
            });
            watched.unwrap();
            let (mut group, mut answers) = (Vec::new(), Vec::new());
            for number in 0..3 {
                let interrupts = Arc::clone(&interrupts);
                let decide = move |given: Unsupervised| {
                    // The append that follows is cut off, and with it all that came before.
                    interrupts.store(number == 1, Ordering::SeqCst);
                    first_event(&given)
                };
                let (answer, written) = oneshot::channel();
                let (run, decide) = (sample::run_id(number), Box::new(decide));
                group.push(Arrival { run, decide, now: Timestamp::from_nanos(0), answer });
                answers.push(written);
            }
            append_all(&mut writer, group);
            answers
        });
        for (answer, number) in answers.await.unwrap().into_iter().zip(0..) {
            assert!(answer.await.unwrap().is_err(), "run {number} was said to be written");
            let kept = store.event_list(sample::run_id(number), 0, 9).await.unwrap();
            assert_eq!(kept, [], "run {number} was said not to be written");
        }
    }
}
