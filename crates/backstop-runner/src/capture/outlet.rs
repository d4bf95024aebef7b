//! A file that output is shown in. Somebody else may close it; the run goes on.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::worker::rounded_up;

/// Where bytes are written until it fails, and never again after that.
#[derive(Debug)]
pub(super) struct Outlet {
    file: Option<OwnedFd>,
    hurry: Hurry,
}

/// Whether output may still wait for those who are to take it: a terminal that was stopped by
/// Ctrl-S, a reader that sleeps. Once it may not, what they don't take at once is not shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Hurry(Arc<AtomicBool>);

impl Hurry {
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Outlet {
    pub fn new(file: Option<OwnedFd>, hurry: Hurry) -> Self {
        Self { file: file.map(unblocked), hurry }
    }

    /// Waits until all bytes are taken, until nobody is there to take them, or until nothing may
    /// wait any more.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(file) = &self.file
            && write_all(file.as_fd(), bytes, &self.hurry).is_err()
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

/// The same place opened anew, so that a write never blocks there. The one that we were given is
/// shared with programs that would not understand an answer of "later".
fn unblocked(file: OwnedFd) -> OwnedFd {
    let kind = fstat(&file).map(|status| FileType::from_raw_mode(status.st_mode));
    if !matches!(kind, Ok(FileType::CharacterDevice | FileType::Fifo)) {
        return file;
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Another user's terminal can't be opened, and is written to as it is.
    open(path, flags, Mode::empty()).unwrap_or(file)
}

fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8], hurry: &Hurry) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if hurry.has_begun() => return Ok(()),
            Err(Errno::AGAIN) => {
                let mut ready = [PollFd::from_borrowed_fd(file, PollFlags::OUT)];
                let period: Timespec = rounded_up(LOOK_AGAIN);
                match poll(&mut ready, Some(&period)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// How soon it is noticed that nothing may wait any more.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
