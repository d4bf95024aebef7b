//! The log's file, made longer before it is needed.
//!
//! A commit that makes the file longer waits about twice as long for the disk as one that writes over
//! what is there, since the file system has its own books to keep then.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnection;

/// Has this connection look after the log's length whenever it commits. It holds the write lock
/// then, so nobody else appends meanwhile, and it is on a thread of its own, where nobody minds.
pub async fn keep_room(
    connection: &mut SqliteConnection,
    database: &Path,
) -> Result<(), sqlx::Error> {
    let mut log = Log::new(database);
    connection.lock_handle().await?.set_commit_hook(move || {
        // What can't be done costs a little time and nothing else.
        log.look_after().ok();
        true
    });
    Ok(())
}

/// The log of one database.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// Once there is one. SQLite locks other files, so closing this one lets go of nothing.
    file: Option<File>,
    /// Its length at the last look.
    length: u64,
}

impl Log {
    pub fn new(database: &Path) -> Self {
        let mut path = database.to_owned().into_os_string();
        path.push("-wal");
        Self { path: path.into(), file: None, length: 0 }
    }

    /// If a small write has made the file longer since the last look, the next ones would as well.
    /// Large ones hardly notice, and who writes little need not pay for it.
    pub fn look_after(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().write(true).open(&self.path)?),
        };
        // Its times are not asked for, as in every look.
        let length = file.seek(SeekFrom::End(0))?;
        let grown = length.saturating_sub(self.length);
        self.length = length;
        if length >= LEAST && (1..=SMALL_WRITE).contains(&grown) {
            self.length = lengthen(file, length)?;
        }
        Ok(())
    }
}

/// Adds zeros, in which SQLite sees the log's end.
fn lengthen(file: &File, length: u64) -> io::Result<u64> {
    let mut blocks = (length..length + ADDED).step_by(ZEROS.len());
    match blocks.try_for_each(|place| file.write_all_at(&ZEROS, place)) {
        Ok(()) => Ok(length + ADDED),
        Err(error) => {
            // The last of the disk belongs to what must be kept.
            file.set_len(length)?;
            Err(error)
        }
    }
}

/// A log that is shorter than this belongs to somebody who writes little.
const LEAST: u64 = 64 << 10;
/// What a write adds at most for which it is worth it.
const SMALL_WRITE: u64 = 64 << 10;
const ADDED: u64 = 1 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
