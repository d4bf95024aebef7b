//! What others ask of the supervisor by signals, as a stream for the dispatcher.

use std::io;

use tokio::net::UnixStream;
use tokio::signal::unix::{self, SignalKind};

use crate::outer;

/// Something that was asked for from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
    /// The terminal was closed.
    Hangup,
    Quit,
    /// Ctrl-Z. To be answered with [`Signals::confirm_suspended`] when the tree is stopped.
    Suspend,
    Continue,
    /// The terminal has another size.
    Resize,
    /// The outer process has died: nobody passes signals on any more.
    OuterDied,
}

/// The stream of signals. While it exists none of them ends this process.
#[derive(Debug)]
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// None where hang-ups are ignored.
    hangup: Option<unix::Signal>,
    quit: unix::Signal,
    suspend: unix::Signal,
    carry_on: unix::Signal,
    resize: unix::Signal,
    /// Passed on by the outer process, without a meaning here, or told as well by the write that
    /// makes a file too large; they must not end us. What is started has its own again: a handler
    /// does not outlive the start of a program, as it would if they were ignored.
    _meaningless: [unix::Signal; 3],
    /// None once the outer process has died, or if there never was one.
    outer: Option<UnixStream>,
}

impl Signals {
    /// Begins to listen. Inside a runtime.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        let outer = match outer::channel()? {
            Some(channel) => {
                channel.set_nonblocking(true)?;
                Some(UnixStream::from_std(channel)?)
            }
            None => None,
        };
        Ok(Self {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hangup: match ignores_hangups() {
                true => None,
                false => Some(unix::signal(SignalKind::hangup())?),
            },
            quit: unix::signal(SignalKind::quit())?,
            suspend: unix::signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGTSTP as i32))?,
            carry_on: unix::signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGCONT as i32))?,
            resize: unix::signal(SignalKind::window_change())?,
            _meaningless: [
                unix::signal(SignalKind::user_defined1())?,
                unix::signal(SignalKind::user_defined2())?,
                unix::signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32))?,
            ],
            outer,
        })
    }

    /// The next signal. Can be given up and called again without losing one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = hang_up(self.hangup.as_mut()) => Signal::Hangup,
            _ = self.quit.recv() => Signal::Quit,
            _ = self.suspend.recv() => Signal::Suspend,
            _ = self.carry_on.recv() => Signal::Continue,
            _ = self.resize.recv() => Signal::Resize,
            () = end_of(self.outer.as_ref()), if self.outer.is_some() => {
                self.outer = None;
                Signal::OuterDied
            }
        }
    }

    /// Says that the tree is stopped, whereupon the outer process stops and the shell goes on.
    pub fn confirm_suspended(&mut self) {
        outer::confirm_suspended();
    }
}

/// Whether whoever started this process wants it to outlive its terminal, as `nohup` does. What it
/// starts shall, too.
pub(crate) fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (nix::sys::signal::Signal::SIGHUP as u64 - 1)) != 0)
}

async fn hang_up(hangup: Option<&mut unix::Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Waits until the other side has gone. It never says anything.
async fn end_of(channel: Option<&UnixStream>) {
    let Some(channel) = channel else { return };
    loop {
        if channel.readable().await.is_err() {
            return;
        }
        match channel.try_read(&mut [0; 64]) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
