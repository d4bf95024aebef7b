//! Waits for the disk beside the writer, which appends the next rows meanwhile. What was appended by
//! then is synced together.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::{io, thread};

use tokio::sync::oneshot;

use super::fault::Fault;
use super::log;
use crate::StoreError;
use crate::syncing::Syncing;

/// Syncs the log on a thread of its own, from its first use on.
#[derive(Debug)]
pub struct Syncer {
    log: PathBuf,
    waiting: Option<mpsc::Sender<Outcome>>,
    failure: Failure,
}

type Outcome = oneshot::Sender<Result<(), StoreError>>;
/// What the disk said when it failed. A second attempt would seem to succeed, whatever was lost.
type Failure = Arc<Mutex<Option<Fault>>>;

impl Syncer {
    pub fn new(database: &Path) -> Self {
        Self { log: log::path_of(database), waiting: None, failure: Failure::default() }
    }

    /// Gets ready. A failure of the disk is told once to each who had the file open when it
    /// happened, so this comes before what is to be synced is written.
    pub fn start(&mut self) -> Result<(), Fault> {
        if self.waiting.is_some() {
            return Ok(());
        }
        let file = File::open(&self.log).map_err(|error| Fault::of_look(&self.log, &error))?;
        let (sender, waiting) = mpsc::channel();
        let failure = Arc::clone(&self.failure);
        let thread = thread::Builder::new().name("backstop-sync".to_owned());
        thread
            .spawn(move || sync(&file, &waiting, &failure))
            .map_err(|error| Fault::of_look(&self.log, &error))?;
        self.waiting = Some(sender);
        Ok(())
    }

    /// Syncs what was written before this is called.
    pub fn sync(&self) -> Syncing {
        let (outcome, told) = oneshot::channel();
        if let Some(waiting) = &self.waiting {
            // If the thread has ended, the one who waits is told so.
            waiting.send(outcome).ok();
        }
        Syncing::told_by(told)
    }

    /// What the disk said when it failed.
    pub fn failure(&self) -> Option<Fault> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn sync(file: &File, waiting: &mpsc::Receiver<Outcome>, failure: &Failure) {
    while let Ok(first) = waiting.recv() {
        let together: Vec<Outcome> = std::iter::once(first).chain(waiting.try_iter()).collect();
        let mut failed = failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if failed.is_none() {
            failed = file.sync_data().err().map(|error| of_sync(&error));
            (*failure.lock().unwrap_or_else(PoisonError::into_inner)).clone_from(&failed);
        }
        for outcome in together {
            let result = failed.clone().map_or(Ok(()), |fault| Err(fault.of_write()));
            // Who appended may have gone away.
            outcome.send(result).ok();
        }
    }
}

fn of_sync(error: &io::Error) -> Fault {
    Fault::of_disk(format!("what was written can't be brought to the disk: {error}"))
}
