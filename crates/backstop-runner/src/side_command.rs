//! Commands that backstop itself runs beside the loop: scripts, the verification, git.
//!
//! Each has a process group of its own, nothing to read unless it is told something, a time-out and
//! a cap on what is kept of its output. However it ends, that is an outcome and not an error.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::Future;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use backstop_core::policy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};

use crate::tree::{Child, Exit, Signal, Tree};

mod kept_output;

use kept_output::KeptOutput;

/// A command to run beside the loop.
#[derive(Clone, Debug)]
pub struct SideCommand {
    pub invocation: Invocation,
    pub cwd: PathBuf,
    /// Variables that are set, or removed, on top of this process's own.
    pub env: Vec<(OsString, Option<OsString>)>,
    pub timeout: Duration,
    /// How many bytes are kept of each stream: its beginning and its end.
    pub output_cap: usize,
    /// Standard error is kept with standard output, in the order in which they came.
    pub merge_streams: bool,
    /// What it finds on its standard input; nothing if this is empty.
    pub input: Vec<u8>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// A text for `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<OsString>),
}

impl From<&policy::Command> for Invocation {
    fn from(command: &policy::Command) -> Self {
        match command {
            policy::Command::Shell(text) => Self::Shell(text.clone()),
            policy::Command::Program(words) => {
                Self::Program(words.iter().map(OsString::from).collect())
            }
        }
    }
}

/// How a side command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideOutcome {
    /// None where it never ran, or where nobody could tell.
    pub exit: Option<Exit>,
    /// Why it could not be started.
    pub not_started: Option<String>,
    pub timed_out: bool,
    pub cancelled: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Some output was not kept.
    pub truncated: bool,
}

impl SideOutcome {
    /// It ended by itself, with 0.
    pub fn is_success(&self) -> bool {
        !self.timed_out && !self.cancelled && self.exit.is_some_and(|exit| exit.code == Some(0))
    }
}

impl SideCommand {
    pub fn new(invocation: Invocation, cwd: &Path) -> Self {
        Self {
            invocation,
            cwd: cwd.to_owned(),
            env: Vec::new(),
            timeout: Duration::from_secs(60),
            output_cap: 64 << 10,
            merge_streams: false,
            input: Vec::new(),
        }
    }

    /// Runs it to its end, to its time-out, or until `cancel` is ready. Then it is told to end, and
    /// a second later made to. Given up half-way, its group is killed at once.
    pub async fn run(&self, tree: &Tree, cancel: impl Future<Output = ()>) -> SideOutcome {
        match self.start(tree) {
            Ok(running) => running.watch(self.timeout, cancel).await,
            Err(error) => {
                SideOutcome { not_started: Some(self.refusal(&error)), ..SideOutcome::default() }
            }
        }
    }

    fn start(&self, tree: &Tree) -> io::Result<Running> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = if self.merge_streams {
            (None, stdout_writer.try_clone()?)
        } else {
            let (reader, writer) = io::pipe()?;
            (Some(reader), writer)
        };
        let (stdin, input) = Input::new(&self.input)?;
        let mut command = self.command();
        command.current_dir(&self.cwd).stdin(stdin).stdout(stdout_writer).stderr(stderr_writer);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Watched before the start: a failure here leaves no process behind.
        let stdout = Stream::new(stdout, self.output_cap)?;
        let stderr = stderr.map(|stderr| Stream::new(stderr, self.output_cap)).transpose()?;
        let child = tree.spawn(&mut command)?;
        Ok(Running { child: KilledOnDrop { child, ended: false }, input, stdout, stderr })
    }

    fn command(&self) -> Command {
        match &self.invocation {
            Invocation::Shell(text) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(text);
                command
            }
            Invocation::Program(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().cloned().unwrap_or_default());
                command.args(words);
                command
            }
        }
    }

    fn refusal(&self, error: &io::Error) -> String {
        if !self.cwd.is_dir() {
            return format!("the working directory `{}` does not exist", self.cwd.display());
        }
        let name = match &self.invocation {
            Invocation::Shell(_) => "/bin/sh".into(),
            Invocation::Program(words) => {
                words.first().map(|word| word.to_string_lossy()).unwrap_or_default()
            }
        };
        match error.kind() {
            io::ErrorKind::NotFound => format!("`{name}` was not found"),
            io::ErrorKind::PermissionDenied => {
                format!("`{name}` may not be executed; try `chmod +x`")
            }
            _ => format!("`{name}` can't be started: {error}"),
        }
    }
}

/// A side command that has been started.
struct Running {
    child: KilledOnDrop,
    input: Option<Input>,
    stdout: Stream,
    stderr: Option<Stream>,
}

impl Running {
    async fn watch(mut self, timeout: Duration, cancel: impl Future<Output = ()>) -> SideOutcome {
        let mut outcome = SideOutcome::default();
        let mut cancel = pin!(cancel);
        let mut deadline = Instant::now() + timeout;
        let exit = loop {
            let is_ending = outcome.timed_out || outcome.cancelled;
            tokio::select! {
                biased;
                exit = self.child.child.wait() => break exit.ok(),
                () = sleep_until(deadline) => {
                    if is_ending {
                        self.child.child.signal(Signal::SIGKILL);
                        // Sent again and again: whoever joined the group meanwhile gets it too.
                        deadline = Instant::now() + BETWEEN_KILLS;
                    } else {
                        outcome.timed_out = true;
                        self.child.child.signal(Signal::SIGTERM);
                        deadline = Instant::now() + GRACE;
                    }
                }
                () = &mut cancel, if !is_ending => {
                    outcome.cancelled = true;
                    self.child.child.signal(Signal::SIGTERM);
                    deadline = Instant::now() + GRACE;
                }
                () = feed_optional(self.input.as_mut()), if self.input.is_some() => self.input = None,
                () = self.stdout.read(), if self.stdout.is_open() => {}
                () = read_optional(self.stderr.as_mut()),
                    if self.stderr.as_ref().is_some_and(Stream::is_open) => {}
            }
        };
        self.child.ended = true;
        outcome.exit = exit;
        // What it wrote is in the pipe by now. Whoever holds the pipe open is not waited for.
        self.stdout.drain();
        outcome.truncated = self.stdout.kept.is_truncated();
        outcome.stdout = self.stdout.kept.into_bytes();
        if let Some(mut stderr) = self.stderr {
            stderr.drain();
            outcome.truncated |= stderr.kept.is_truncated();
            outcome.stderr = stderr.kept.into_bytes();
        }
        outcome
    }
}

/// A child that does not outlive the interest in it.
struct KilledOnDrop {
    child: Child,
    ended: bool,
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        if !self.ended {
            self.child.signal(Signal::SIGKILL);
        }
    }
}

/// One stream of a side command's output.
struct Stream {
    pipe: Option<Receiver>,
    buffer: Box<[u8]>,
    kept: KeptOutput,
}

impl Stream {
    fn new(pipe: PipeReader, cap: usize) -> io::Result<Self> {
        let pipe = Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        Ok(Self {
            pipe: Some(pipe),
            buffer: vec![0; CHUNK].into_boxed_slice(),
            kept: KeptOutput::new(cap),
        })
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes in the next piece; at the end, closes.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => self.kept.push(&self.buffer[..count]),
        }
    }

    /// Takes in what is there, without waiting, and at most what a pipe can hold: one who is left
    /// over and writes without end must not keep us here.
    fn drain(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut left = LARGEST_PIPE;
        while left > 0 {
            match pipe.try_read(&mut self.buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    self.kept.push(&self.buffer[..count]);
                    left = left.saturating_sub(count);
                }
            }
        }
    }
}

/// What is still to be written to a side command's standard input.
struct Input {
    pipe: Sender,
    left: VecDeque<u8>,
}

impl Input {
    /// Both ends, where there is anything to write.
    fn new(text: &[u8]) -> io::Result<(Stdio, Option<Self>)> {
        if text.is_empty() {
            return Ok((Stdio::null(), None));
        }
        let (reader, writer) = io::pipe()?;
        let pipe = Sender::from_owned_fd(OwnedFd::from(writer))?;
        Ok((Stdio::from(reader), Some(Self { pipe, left: VecDeque::from(text.to_vec()) })))
    }

    /// Writes all of it, as fast as it is taken. May be given up and called again. Whoever does not
    /// read it does not want it.
    async fn feed(&mut self) {
        while !self.left.is_empty() && self.pipe.write_buf(&mut self.left).await.is_ok() {}
    }
}

async fn feed_optional(input: Option<&mut Input>) {
    if let Some(input) = input {
        input.feed().await;
    }
}

async fn read_optional(stream: Option<&mut Stream>) {
    if let Some(stream) = stream {
        stream.read().await;
    }
}

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
const BETWEEN_KILLS: Duration = Duration::from_millis(100);
const CHUNK: usize = 64 << 10;
/// The most that the system lets a pipe hold without privileges.
const LARGEST_PIPE: usize = 1 << 20;
