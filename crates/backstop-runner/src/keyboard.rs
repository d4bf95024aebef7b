//! The keyboard of the terminal that shows the run, while somebody is asked something.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Reads single keys. The terminal is as it was again when this is dropped.
pub struct Keyboard {
    terminal: AsyncFd<OwnedFd>,
    before: Termios,
}

impl Keyboard {
    /// Whether there is a terminal to read from.
    pub fn is_there() -> bool {
        rustix::termios::isatty(rustix::stdio::stdin())
    }

    /// Opens the terminal behind standard input; none if there is none, or it can't be had. What
    /// was typed before anybody was asked is no answer and is thrown away.
    pub fn open() -> Option<Self> {
        let name = rustix::termios::ttyname(rustix::stdio::stdin(), Vec::new()).ok()?;
        // Opened anew: what is set on a descriptor that is shared with the shell stays with it.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(name, flags, Mode::empty()).ok()?;
        let before = rustix::termios::tcgetattr(&terminal).ok()?;
        let terminal = watched(terminal).ok()?;
        let keyboard = Self { terminal, before };
        keyboard.listen().ok()?;
        Some(keyboard)
    }

    /// Takes single keys without showing them. Ctrl-C and Ctrl-Z keep their meaning.
    pub fn listen(&self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(rustix::termios::tcsetattr(self.terminal.get_ref(), OptionalActions::Flush, &modes)?)
    }

    /// Gives the terminal back.
    pub fn rest(&self) {
        let terminal = self.terminal.get_ref();
        let _gone = rustix::termios::tcsetattr(terminal, OptionalActions::Now, &self.before);
    }

    /// What is typed next. A terminal that is gone types nothing any more.
    pub async fn typed(&mut self) -> Vec<u8> {
        let mut bytes = [0; 256];
        let read = self
            .terminal
            .async_io(Interest::READABLE, |terminal| Ok(rustix::io::read(terminal, &mut bytes)?));
        match read.await {
            Ok(length @ 1..) => bytes[..length].to_vec(),
            Ok(0) | Err(_) => std::future::pending().await,
        }
    }
}

#[expect(unsafe_code, reason = "the runtime wants to be told that a descriptor keeps its number")]
fn watched(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor stays open, under the same number, until it is dropped, and it is
    // dropped only after the runtime has let it go.
    Ok(unsafe { AsyncFd::register_with_interest(terminal, Interest::READABLE) }?)
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.rest();
    }
}

impl fmt::Debug for Keyboard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keyboard").finish_non_exhaustive()
    }
}
