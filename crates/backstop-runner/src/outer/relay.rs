//! What the outer process does all its life: pass signals on, wait, and clean up.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::termios::{OptionalActions, Termios};

use super::control::{Lines, Message};
use crate::capture::WITHOUT_BLOCK;
use crate::footprint;
use crate::signals::ignores_hangups;
use crate::tree::control_group::ControlGroup;
use crate::tree::process::{self, Process};
use crate::tree::{Containment, orphans, signalling};

/// The outer process, from the fork to its end.
#[derive(Debug)]
pub struct Relay {
    inner: Pid,
    control: Option<UnixStream>,
    lines: Lines,
    run: Option<RunId>,
    control_group: Option<ControlGroup>,
    suspended: bool,
    /// A signal that is waited for comes also where it is ignored.
    ignores_hangups: bool,
    passed_on: Vec<Signal>,
    end: Option<End>,
    /// How the terminal was set before the inner process could change it.
    terminal: Option<Termios>,
    has_block: bool,
    /// The command that resumes a run.
    resume: String,
}

/// How the inner process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Exited(i32),
    /// By a signal, if it has a name.
    Died(Option<Signal>),
}

/// The signals that the outer process waits for instead of being interrupted by them.
pub fn signals() -> SigSet {
    PASSED_ON.iter().copied().chain([Signal::SIGTSTP, Signal::SIGCHLD]).collect()
}

impl Relay {
    pub fn new(inner: Pid, control: UnixStream, resume: &str) -> Self {
        Self {
            inner,
            control: Some(control),
            lines: Lines::default(),
            run: None,
            control_group: None,
            suspended: false,
            ignores_hangups: ignores_hangups(),
            passed_on: Vec::new(),
            end: None,
            terminal: rustix::termios::tcgetattr(rustix::stdio::stdin()).ok(),
            has_block: false,
            resume: resume.to_owned(),
        }
    }

    /// Waits for the inner process, ends what it left behind, and ends as it did.
    pub fn run(mut self) -> ! {
        let end = match self.wait() {
            Ok(end) => end,
            Err(error) => {
                // Nobody would pass signals on: better no run than one that can't be stopped.
                complain(&format!("the process around the supervisor failed: {error}"));
                let _gone = kill(self.inner, Signal::SIGKILL);
                self.wait_blindly()
            }
        };
        self.clean_up(end);
        if matches!(end, End::Died(_)) {
            self.restore_terminal();
        }
        std::process::exit(self.exit_code(end))
    }

    /// A supervisor that died while it asked something has left the terminal without echo, and one
    /// that died beside its live block has left that, with the rows above it all that scrolls.
    fn restore_terminal(&self) {
        if self.has_block {
            // Where nobody reads, there is nobody to be shown less.
            let _closed = io::stderr().write_all(&[WITHOUT_BLOCK, WRAPS_WITH_CURSOR].concat());
        }
        let stdin = rustix::stdio::stdin();
        // Who is not in the foreground would be stopped by the attempt, and need not be seen.
        let in_foreground =
            rustix::termios::tcgetpgrp(stdin).ok() == Some(rustix::process::getpgrp());
        if let Some(terminal) = self.terminal.as_ref().filter(|_| in_foreground) {
            let now = OptionalActions::Now;
            let _gone = rustix::termios::tcsetattr(stdin, now, terminal);
        }
    }

    fn wait(&mut self) -> io::Result<End> {
        if Containment::limit() >= Containment::Subreaper {
            process::become_subreaper()?;
        }
        let signals =
            SignalFd::with_flags(&signals(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        // From here on it mostly waits. Where its memory can't be given back, it stays.
        let _refused = footprint::shed_code();
        loop {
            self.collect()?;
            if let Some(end) = self.end {
                // What it said last may still be unread.
                while self.control.is_some() && self.listen()? {}
                return Ok(end);
            }
            self.wait_for_something(&signals)?;
            while let Some(signal) = signals.read_signal()? {
                let number = i32::try_from(signal.ssi_signo).unwrap_or_default();
                self.handle(Signal::try_from(number)?)?;
            }
        }
    }

    fn wait_for_something(&mut self, signals: &SignalFd) -> io::Result<()> {
        let mut sources = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if let Some(control) = &self.control {
            sources.push(PollFd::new(control.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut sources, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if sources.get(1).and_then(PollFd::any).unwrap_or(false) {
            self.listen()?;
        }
        Ok(())
    }

    fn handle(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            Signal::SIGCHLD => {}
            Signal::SIGTSTP => self.suspend()?,
            Signal::SIGHUP if self.ignores_hangups => {}
            other => self.pass_on(other),
        }
        Ok(())
    }

    /// Ctrl-Z: the tree stops first, then this process, and with it the shell's job.
    fn suspend(&mut self) -> io::Result<()> {
        self.suspended = false;
        self.pass_on(Signal::SIGTSTP);
        let deadline = Instant::now() + TIME_TO_SUSPEND;
        while !self.suspended
            && let Some(control) = &self.control
        {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut source = [PollFd::new(control.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            match poll(&mut source, timeout) {
                Ok(0) => break,
                Ok(_) => {
                    self.listen()?;
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Goes on here when somebody sends SIGCONT, which is then passed on like any other.
        Ok(raise(Signal::SIGSTOP)?)
    }

    fn pass_on(&mut self, signal: Signal) {
        if self.end.is_none() {
            // Not collected yet, so the number is still its own.
            let _ended = kill(self.inner, signal);
            if !self.passed_on.contains(&signal) {
                self.passed_on.push(signal);
            }
        }
    }

    /// Takes in what the inner process says. False when it will say nothing more.
    fn listen(&mut self) -> io::Result<bool> {
        let Some(control) = &mut self.control else { return Ok(false) };
        let mut piece = [0; 4096];
        let length = match control.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            // It ended with something unread, as far as a reset can be told from an end.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => return Err(error),
        };
        if length == 0 {
            self.control = None;
        }
        for message in self.lines.take_in(&piece[..length]) {
            match message {
                Message::Run(run) => self.run = Some(run),
                Message::ControlGroup(path) => {
                    self.control_group = self.run.and_then(|run| ControlGroup::of_run(run, path));
                }
                Message::Suspended => self.suspended = true,
                Message::Block(is_shown) => self.has_block = is_shown,
            }
        }
        Ok(length > 0)
    }

    /// Collects whoever has ended: the inner process, and orphans that came to us.
    fn collect(&mut self) -> io::Result<()> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.inner => {
                    self.end = Some(End::Exited(code));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.inner => {
                    self.end = Some(End::Died(Some(signal)));
                }
                Ok(WaitStatus::StillAlive) => return Ok(()),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => {
                    self.end.get_or_insert(End::Died(None));
                    return Ok(());
                }
                // One that ended by a signal without a name was collected all the same.
                Err(Errno::EINVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_blindly(&self) -> End {
        loop {
            match waitpid(self.inner, None) {
                Ok(WaitStatus::Exited(_, code)) => return End::Exited(code),
                Ok(WaitStatus::Signaled(_, signal, _)) => return End::Died(Some(signal)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return End::Died(None),
            }
        }
    }

    /// Ends everything that is left. Nobody supervises it, so there is no grace.
    fn clean_up(&self, end: End) {
        let start = Instant::now();
        let mut empty = 0;
        while empty < 2 && start.elapsed() < TIME_TO_DIE {
            if let Some(group) = &self.control_group {
                let _too_old_or_gone = group.kill();
            }
            while matches!(
                waitpid(None, Some(WaitPidFlag::WNOHANG)),
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINVAL)
            ) {}
            let left = process::descendants();
            left.iter().for_each(|process| signalling::to_process(process, Signal::SIGKILL));
            let grouped = self.control_group.iter().any(|group| !group.members().is_empty());
            if left.is_empty() && !grouped {
                empty += 1;
            } else {
                empty = 0;
                thread::sleep(BETWEEN_LOOKS);
            }
        }
        if let (End::Died(_), Some(run)) = (end, self.run) {
            // What got away from us carries the run's name and the supervisor's number.
            if let Ok(supervisor) = u32::try_from(self.inner.as_raw()) {
                orphans::end_those_of(supervisor, run);
            }
        }
        let left: Vec<Process> = process::descendants();
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().map(|process| process.name.as_str()).collect();
            complain(&format!("these processes can't be ended: {}", names.join(", ")));
        }
        if let Some(group) = &self.control_group {
            group.remove();
        }
    }

    fn exit_code(&self, end: End) -> i32 {
        let signal = match end {
            End::Exited(code) => return code,
            End::Died(signal) => signal,
        };
        let by = signal.map_or("a signal", Signal::as_str);
        match (self.run, signal) {
            // Interrupted before there was a run, it ends as any program would.
            (None, Some(signal)) if self.passed_on.contains(&signal) => {
                let _mask = SigSet::all().thread_unblock();
                let _ends_us = raise(signal);
                128 + signal as i32
            }
            (None, _) => {
                complain(&format!("the supervisor died ({by}) before the run began"));
                INTERNAL
            }
            (Some(run), _) => {
                complain(&format!(
                    "the supervisor died ({by}); what it ran was ended, nothing that was recorded \
                     is lost; go on with `{} {run}`",
                    self.resume
                ));
                INTERNAL
            }
        }
    }
}

fn complain(what: &str) {
    // Where nobody reads, there is nobody to tell.
    let _closed = writeln!(io::stderr(), "backstop: {what}");
}

/// What a block and its child may have switched off.
const WRAPS_WITH_CURSOR: &[u8] = b"\x1b[?7h\x1b[?25h";

const PASSED_ON: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
];

/// How long the inner process may take to stop its tree before the outer one stops anyway.
const TIME_TO_SUSPEND: Duration = Duration::from_secs(2);

const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Who is there so long after SIGKILL can't be ended.
const TIME_TO_DIE: Duration = Duration::from_secs(5);

/// As `sysexits.h` has it: our own fault.
const INTERNAL: i32 = 70;
