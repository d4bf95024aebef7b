//! Room on the disk that is kept for the last thing that a run has to say: that the disk is full.

use std::fs::File;
use std::io::{self, Write as _};

use backstop_store::{RunFolder, StoreError};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::dispatcher::RunError;

/// A file without a name: its room is free as soon as this is dropped, or its process dies.
#[derive(Debug)]
pub(crate) struct Reserve {
    _file: File,
}

impl Reserve {
    /// Takes the room, beside everything else that is kept of a run.
    ///
    /// # Errors
    /// There is none. What could not be recorded must not be started.
    pub(crate) fn take(folder: &RunFolder) -> Result<Self, RunError> {
        // Several may want to go on with one run at once: none may depend on a name of another's.
        let taken = folder.create().and_then(|()| {
            let file = tempfile::tempfile_in(folder.path())?;
            fill(&file).map(|()| Self { _file: file })
        });
        taken.map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                let why = format!("{source}, and a run needs {} KiB at least", SIZE >> 10);
                RunError::Store(StoreError::Full(why).into())
            }
            _ => RunError::Io { what: "reserve room for the run's record", source },
        })
    }
}

fn fill(mut file: &File) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, SIZE) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            (0..SIZE / BLOCK.len() as u64).try_for_each(|_| file.write_all(&BLOCK))
        }
        other => Ok(other?),
    }
}

/// Many times what a halt takes in the database's log.
const SIZE: u64 = 512 << 10;
static BLOCK: [u8; 64 << 10] = [0; 64 << 10];
