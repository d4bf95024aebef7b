//! A file that output is shown in. Somebody else may close it; the run goes on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::fstat;
use rustix::io::Errno;

/// Where bytes are written until it fails, and never again after that.
#[derive(Debug)]
pub(super) struct Outlet {
    file: Option<OwnedFd>,
}

impl Outlet {
    pub fn new(file: Option<OwnedFd>) -> Self {
        Self { file }
    }

    /// Waits until all bytes are taken, or until nobody is there to take them.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(file) = &self.file
            && write_all(file.as_fd(), bytes).is_err()
        {
            self.file = None;
        }
    }

    /// Whether both end in the same place, a terminal for one. Files that are opened twice count:
    /// what they show is one text.
    pub fn is_same_as(&self, other: BorrowedFd<'_>) -> bool {
        self.file.as_ref().is_some_and(|file| is_same(file.as_fd(), other))
    }

    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

fn is_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let identity = |file| fstat(file).map(|status| (status.st_dev, status.st_ino)).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Our terminal is shared with programs that may have made it non-blocking.
            Err(Errno::AGAIN) => {
                let mut ready = [PollFd::from_borrowed_fd(file, PollFlags::OUT)];
                match poll(&mut ready, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
