//! The handle by which the dispatcher speaks to the thread that moves output.

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use backstop_adapters::Exit;

use super::outlet::Hurry;
use super::worker::Worker;
use super::{BadPattern, Captured, Setup, Wanted};

/// The thread that moves output. Nothing here waits for it but [`Pump::stop`].
#[derive(Debug)]
pub struct Pump {
    commands: Sender<Command>,
    wake: PipeWriter,
    shared: Arc<Shared>,
    /// Hears when the thread has ended; it never says anything.
    ended: Receiver<()>,
}

/// What the thread is told, in order.
#[derive(Debug)]
pub(super) enum Command {
    Begin { iteration: u64, streams: [OwnedFd; 2] },
    Finish(Option<Exit>),
    Print(String),
    LookFor(Box<Wanted>),
    LeaveScreen(oneshot::Sender<()>),
    EnterScreen,
    Resized,
    Stop,
}

/// What both sides see.
#[derive(Debug)]
pub(super) struct Shared {
    started: Instant,
    /// Milliseconds from `started` to the last output.
    last_output: AtomicU64,
    /// The thread has output in its hands. It may have to wait for a terminal, and then the child
    /// waits too and is not idle.
    is_moving: AtomicBool,
    hurry: Hurry,
    /// The newest block, until the thread takes it. Older ones need never be drawn.
    block: Mutex<Option<Vec<String>>>,
}

/// The pump can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error("cannot start the thread that reads output")]
    Thread(#[from] io::Error),
}

impl Pump {
    /// Starts the thread. If the receiver of `events` lags behind, the child has to wait.
    pub fn start(
        setup: Setup,
        events: tokio::sync::mpsc::Sender<Captured>,
    ) -> Result<Self, StartError> {
        let (commands, orders) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let (woken, wake) = io::pipe()?;
        rustix::io::ioctl_fionbio(&woken, true).map_err(io::Error::from)?;
        rustix::io::ioctl_fionbio(&wake, true).map_err(io::Error::from)?;
        let shared = Arc::new(Shared::new());
        let worker = Worker::new(setup, orders, woken, Arc::clone(&shared), events)?;
        std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            // Dropped when the thread ends, however it does.
            let _ends: Sender<()> = ends;
            worker.run();
        })?;
        Ok(Self { commands, wake, shared, ended })
    }

    /// An iteration's process has been started; these are the ends of its pipes that we read.
    pub fn begin(&self, iteration: u64, stdout: OwnedFd, stderr: OwnedFd) {
        self.shared.note_output();
        self.tell(Command::Begin { iteration, streams: [stdout, stderr] });
    }

    /// The main process has ended. What is in the pipes is still read; then they are closed, even
    /// if somebody else holds them. Where both have ended already, this need not be said, unless
    /// somebody wants to know how the agent ended.
    pub fn finish(&self, exit: Option<Exit>) {
        self.tell(Command::Finish(exit));
    }

    /// Another policy looks for other things from now on.
    pub fn look_for(&self, wanted: Wanted) {
        self.tell(Command::LookFor(Box::new(wanted)));
    }

    /// Shows lines of our own behind all output that was read up to now.
    pub fn print(&self, text: String) {
        if !text.is_empty() {
            self.tell(Command::Print(text));
        }
    }

    /// Shows these lines as the live block, or none.
    pub fn show(&self, block: Vec<String>) {
        *self.shared.block.lock().unwrap_or_else(PoisonError::into_inner) = Some(block);
        self.wake();
    }

    /// Takes the block away, as before a stop by Ctrl-Z. The answer comes when it is done; a
    /// terminal that does not move may keep it for long.
    pub fn leave_screen(&self) -> oneshot::Receiver<()> {
        let (done, answer) = oneshot::channel();
        self.tell(Command::LeaveScreen(done));
        answer
    }

    pub fn enter_screen(&self) {
        self.tell(Command::EnterScreen);
    }

    /// The terminal has another size.
    pub fn resized(&self) {
        self.tell(Command::Resized);
    }

    /// Terminals and readers are no longer waited for: what they don't take at once is kept in the
    /// log, and not shown.
    pub fn hurry(&self) {
        self.shared.hurry.begin();
    }

    /// How long the child has said nothing.
    pub fn quiet_for(&self) -> Duration {
        self.shared.quiet_for()
    }

    /// Shows what is left, takes the block away and ends the thread. Answers whether that was done
    /// in time; if not, a terminal or reader that takes nothing holds the thread, and it is left.
    pub fn stop(self, patience: Duration) -> bool {
        self.end(patience)
    }

    fn end(&self, patience: Duration) -> bool {
        self.tell(Command::Stop);
        self.ended.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Disconnected)
    }

    fn tell(&self, command: Command) {
        // Without a receiver the thread has ended, and there is nobody to do it.
        if self.commands.send(command).is_ok() {
            self.wake();
        }
    }

    fn wake(&self) {
        // A full pipe wakes as well.
        let _ = (&self.wake).write(&[1]);
    }
}

/// Also when the dispatcher panics, the terminal is put right.
impl Drop for Pump {
    fn drop(&mut self) {
        self.end(LAST_PATIENCE);
    }
}

impl Shared {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            last_output: AtomicU64::new(0),
            is_moving: AtomicBool::new(false),
            hurry: Hurry::default(),
            block: Mutex::new(None),
        }
    }

    /// There is output, or it begins to be waited for.
    pub fn note_output(&self) {
        let elapsed = self.started.elapsed().as_millis();
        self.last_output.store(elapsed.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn hurry(&self) -> &Hurry {
        &self.hurry
    }

    pub fn set_moving(&self, is_moving: bool) {
        self.is_moving.store(is_moving, Ordering::Relaxed);
    }

    pub fn take_block(&self) -> Option<Vec<String>> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn quiet_for(&self) -> Duration {
        if self.is_moving.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        let last = Duration::from_millis(self.last_output.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }
}

const LAST_PATIENCE: Duration = Duration::from_secs(1);
