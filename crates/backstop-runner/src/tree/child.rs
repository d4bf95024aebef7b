//! A process that was started here: waited for by its handle, not by its number.

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use rustix::process::{WaitIdOptions, WaitIdStatus, waitid};

use super::owned::Owned;
use super::{Signal, signalling};

/// A process that was started here, with its group.
///
/// Dropped before it has ended, it becomes a leftover like any other: a sweep ends it.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    exit: Option<Exit>,
    ending: Ending,
    pipes: Pipes,
    owned: Arc<Owned>,
}

#[derive(Debug)]
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }
}

impl Child {
    /// Starts a program whose process group the command says to be its own.
    pub(super) fn start(command: &mut Command, owned: &Arc<Owned>) -> io::Result<Self> {
        let mut started = command.spawn()?;
        let pid = started.id();
        owned.add(pid);
        let pipes = Pipes {
            stdin: started.stdin.take(),
            stdout: started.stdout.take(),
            stderr: started.stderr.take(),
        };
        match Ending::of(pid) {
            Ok(ending) => Ok(Self { pid, exit: None, ending, pipes, owned: Arc::clone(owned) }),
            Err(error) => {
                // Without a handle it could not be waited for, so it must not run either.
                signalling::to_group(pid, Signal::SIGKILL);
                let collected = started.wait();
                owned.remove(pid, signalling::group_is_left(pid));
                collected.and(Err(error))
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until it has ended. Can be given up and called again; the answer stays the same.
    ///
    /// # Errors
    /// The system can't tell, which means that somebody else has collected it.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        loop {
            if let Some(exit) = self.exit {
                return Ok(exit);
            }
            self.ending.reached().await?;
            self.try_wait()?;
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system can't tell, which means that somebody else has collected it.
    pub fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none()
            && let Some(status) =
                waitid(self.ending.id(), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?
        {
            self.exit = Some(Exit::from(&status));
            self.owned.remove(self.pid, signalling::group_is_left(self.pid));
        }
        Ok(self.exit)
    }

    /// Sends a signal to it and its group, and lets it go on if it is stopped and the signal is to
    /// end it. Does nothing once it has been waited for: its number may be another's by then.
    pub fn signal(&self, signal: Signal) {
        if self.exit.is_none() {
            signalling::to_group(self.pid, signal);
        }
    }

    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.pipes.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.pipes.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.pipes.stderr.take()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.owned.remove(self.pid, true);
        }
    }
}

impl From<&WaitIdStatus> for Exit {
    fn from(status: &WaitIdStatus) -> Self {
        Self { code: status.exit_status(), signal: status.terminating_signal() }
    }
}

#[cfg(target_os = "linux")]
use by_handle::Ending;
#[cfg(not(target_os = "linux"))]
use by_number::Ending;

#[cfg(target_os = "linux")]
mod by_handle {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use rustix::process::{Pid, PidfdFlags, WaitId, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A process's end, as a descriptor that becomes readable.
    #[derive(Debug)]
    pub struct Ending {
        handle: Arc<OwnedFd>,
        /// None until somebody waits, so that a process can be started outside a runtime.
        watch: Option<AsyncFd<Arc<OwnedFd>>>,
    }

    impl Ending {
        /// Of a child that has not been waited for, whose number is therefore still its own.
        pub fn of(pid: u32) -> io::Result<Self> {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
            let handle = Arc::new(pidfd_open(pid, PidfdFlags::empty())?);
            Ok(Self { handle, watch: None })
        }

        pub async fn reached(&mut self) -> io::Result<()> {
            let watch = match &mut self.watch {
                Some(watch) => watch,
                none => none.insert(watched(Arc::clone(&self.handle))?),
            };
            watch.readable().await.map(|_stays_readable| ())
        }

        pub fn id(&self) -> WaitId<'_> {
            WaitId::PidFd(self.handle.as_fd())
        }
    }

    #[expect(unsafe_code, reason = "the runtime can't see that a descriptor stays open")]
    fn watched(handle: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
        // SAFETY: the descriptor is owned by what is handed over, is never replaced, and stays open
        // until the last owner has gone, which is at the earliest when the watch has.
        Ok(unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?)
    }
}

#[cfg(not(target_os = "linux"))]
mod by_number {
    use std::io;
    use std::time::Duration;

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    /// A process's end, looked for now and then: there is no handle to wait on.
    #[derive(Debug)]
    pub struct Ending(Pid);

    impl Ending {
        pub fn of(pid: u32) -> io::Result<Self> {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.map(Self).ok_or_else(|| io::ErrorKind::InvalidInput.into())
        }

        pub async fn reached(&mut self) -> io::Result<()> {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            while waitid(self.id(), look)?.is_none() {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            Ok(())
        }

        pub fn id(&self) -> WaitId<'_> {
            WaitId::Pid(self.0)
        }
    }

    const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
}
