//! What is piped in, read before there is a run.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

/// Why what is piped in could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has not ended in time.
    #[error("standard input has not ended within {}", backstop_core::time::in_words(*.0))]
    Late(Duration),
    /// Somebody wants this process to end. By the number of the signal.
    #[error("nothing was started: a signal came while standard input was read")]
    Signalled(i32),
}

/// What is piped in, to its end; none where standard input is a terminal or nothing.
///
/// A pipe that nobody closes would be waited for in silence, so after a while `waiting` is called. It
/// is waited for no longer than `most`, and not when a signal wants this process to end.
///
/// # Errors
/// It can't be read, is longer than any prompt, or has not ended in time.
pub fn read(most: Option<Duration>, waiting: impl FnOnce()) -> Result<Option<Vec<u8>>, Unread> {
    let stdin = io::stdin();
    let kind = rustix::fs::fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if !matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket)) {
        return Ok(None);
    }
    let signals = signals::Held::new()?;
    let began = Instant::now();
    let (mut bytes, mut waiting) = (Vec::new(), Some(waiting));
    loop {
        let waited = began.elapsed();
        if let Some(most) = most.filter(|most| waited >= *most) {
            return Err(Unread::Late(most));
        }
        let patience = PATIENCE.min(most.map_or(PATIENCE, |most| most.saturating_sub(waited)));
        let mut polled = vec![PollFd::new(&stdin, PollFlags::IN)];
        polled.extend(signals.file().map(|file| PollFd::new(file, PollFlags::IN)));
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut polled, patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if let Some(number) = signals.next()? {
            return Err(Unread::Signalled(number));
        }
        if polled[0].revents().is_empty() {
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            continue;
        }
        drop(polled);
        // Only what is there already: to wait is for the poll.
        let start = bytes.len();
        bytes.resize(start + READ_BUFFER, 0);
        let count = rustix::io::read(&stdin, &mut bytes[start..]).map_err(io::Error::from)?;
        bytes.truncate(start + count);
        if count == 0 {
            return Ok(Some(bytes));
        }
        if bytes.len() > MOST_PIPED {
            let text = "more than 64 MiB are piped in; name a file by --stdin";
            return Err(io::Error::other(text).into());
        }
    }
}

/// Signals that end a process, held back while this exists and told instead. No thread is needed, and
/// there must not be one before the process becomes two.
#[cfg(target_os = "linux")]
mod signals {
    use std::io;

    use nix::sys::signal::{SigSet, SigmaskHow, Signal};
    use nix::sys::signalfd::{SfdFlags, SignalFd};

    use crate::signals::ignores_hangups;

    pub(super) struct Held {
        before: SigSet,
        file: SignalFd,
    }

    impl Held {
        pub(super) fn new() -> io::Result<Self> {
            let hangup = Some(Signal::SIGHUP).filter(|_| !ignores_hangups());
            let ending = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT];
            let mask: SigSet = ending.into_iter().chain(hangup).collect();
            let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
            let file = SignalFd::with_flags(&mask, flags)?;
            let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
            Ok(Self { before, file })
        }

        pub(super) fn file(&self) -> Option<&SignalFd> {
            Some(&self.file)
        }

        pub(super) fn next(&self) -> io::Result<Option<i32>> {
            let told = self.file.read_signal()?;
            Ok(told.and_then(|told| i32::try_from(told.ssi_signo).ok()))
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let _as_it_was = self.before.thread_set_mask();
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod signals {
    use std::fs::File;
    use std::io;

    /// They end the process as they always do.
    pub(super) struct Held;

    impl Held {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn file(&self) -> Option<&File> {
            None
        }

        pub(super) fn next(&self) -> io::Result<Option<i32>> {
            Ok(None)
        }
    }
}

/// How long a pipe may stay silent before somebody is told that it is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// A prompt is shorter. What never ends must not fill the memory.
const MOST_PIPED: usize = 64 << 20;
const READ_BUFFER: usize = 64 * 1024;
