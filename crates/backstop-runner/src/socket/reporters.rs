//! Whether all that reporters have sent was heard: who reports and ends at once has done its part.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Those who report to a run.
#[derive(Clone, Debug, Default)]
pub struct Reporters {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    listener: Option<OwnedFd>,
    connected: Vec<Arc<Connected>>,
}

#[derive(Debug)]
struct Connected {
    stream: OwnedFd,
    /// Something of it was read and is not answered yet.
    is_busy: AtomicBool,
}

impl Reporters {
    /// Whether anybody has sent something, or hung up, and that was not taken notice of.
    pub fn have_unheard(&self) -> bool {
        let open = self.open();
        let mut polled: Vec<PollFd<'_>> = open
            .listener
            .iter()
            .map(AsFd::as_fd)
            .chain(open.connected.iter().map(|reporter| reporter.stream.as_fd()))
            .map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::IN | PollFlags::RDHUP))
            .collect();
        let is_busy = |reporter: &Arc<Connected>| reporter.is_busy.load(Ordering::Relaxed);
        open.connected.iter().any(is_busy)
            || poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Here they come in.
    pub(super) fn listen(&self, listener: BorrowedFd<'_>) {
        self.open().listener = listener.try_clone_to_owned().ok();
    }

    /// One has come in. Where there are no more descriptors, nobody looks after it.
    pub(super) fn enter(&self, stream: BorrowedFd<'_>) -> Option<Entered> {
        let stream = stream.try_clone_to_owned().ok()?;
        let reporter = Arc::new(Connected { stream, is_busy: AtomicBool::new(false) });
        self.open().connected.push(Arc::clone(&reporter));
        Some(Entered { all: self.clone(), reporter })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Nothing panics while it is held, so what it guards is whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reporter, as long as it is connected.
#[derive(Debug)]
pub(super) struct Entered {
    all: Reporters,
    reporter: Arc<Connected>,
}

impl Entered {
    pub(super) fn is_busy(&self, is_busy: bool) {
        self.reporter.is_busy.store(is_busy, Ordering::Relaxed);
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.all.open().connected.retain(|other| !Arc::ptr_eq(other, &self.reporter));
    }
}
