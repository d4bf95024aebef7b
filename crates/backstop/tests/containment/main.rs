//! Nothing that a run started outlives it, however it ends, at every level of containment.
//!
//! Real processes, held together by the helper `contain` and made by the helper `misbehave`. That
//! they are gone is proven by looking for a variable in the environment of every process.

mod deaths;
mod held;
mod surroundings;
mod swept;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use backstop_runner::tree::process::{self, Process};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");
const ALL: [&str; 3] = ["group", "sub-reaper", "cgroup"];
/// Levels at which nothing escapes.
const TIGHT: [&str; 2] = ["sub-reaper", "cgroup"];

/// A supervisor that was started, with a marker that all that comes from it carries.
struct Contained {
    run: RunId,
    marker: String,
    outer: Child,
    stderr: BufReader<ChildStderr>,
}

/// Who is who, as the supervisor says at its start.
#[derive(Debug)]
struct Roles {
    inner: u32,
    level: String,
    cgroup: Option<String>,
}

impl Contained {
    fn start(level: &str, grace_ms: u32, misbehaviour: &[&str]) -> Self {
        let mut arguments = vec![MISBEHAVE];
        arguments.extend(misbehaviour);
        Self::start_program(level, grace_ms, &arguments, |_command| {})
    }

    fn start_program(
        level: &str,
        grace_ms: u32,
        program: &[&str],
        adjust: impl FnOnce(&mut Command),
    ) -> Self {
        let run = new_run();
        let marker = format!("{}-{run}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_contain"));
        command
            .arg(run.as_str())
            .arg(grace_ms.to_string())
            .args(program)
            .env(MARKER, &marker)
            .env("BACKSTOP_CONTAINMENT", level)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        adjust(&mut command);
        let mut outer = command.spawn().expect("the supervisor starts");
        let stderr = BufReader::new(outer.stderr.take().expect("a pipe"));
        Self { run, marker, outer, stderr }
    }

    fn roles(&mut self) -> Roles {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("text");
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        let ["inner", inner, "outer", outer, "level", level @ .., "cgroup", cgroup] = &words[..]
        else {
            panic!("not the first line: {line}");
        };
        assert_eq!(*outer, self.outer.id().to_string());
        Roles {
            inner: inner.parse().expect("a number"),
            level: level.join(" "),
            cgroup: (*cgroup != "-").then(|| (*cgroup).to_owned()),
        }
    }

    fn send(&self, signal: Signal) {
        send(self.outer.id(), signal);
    }

    /// Everything that came from it and lives, the supervisor's two processes included.
    fn living(&self) -> Vec<Process> {
        marked(&self.marker)
    }

    /// What it supervises, without its own two processes.
    fn supervised(&self) -> Vec<Process> {
        let mut living = self.living();
        living.retain(|process| process.name != "contain");
        living
    }

    fn wait_for_supervised(&self, number: usize) {
        eventually(&format!("{number} supervised processes"), || self.supervised().len() >= number);
    }

    /// Waits for its end and takes what it said.
    fn end(mut self) -> Ended {
        let status = self.outer.wait().expect("its end");
        // Whoever holds a pipe open would keep us from its end, so the living are counted first.
        let survivors = self.living();
        let mut stdout = String::new();
        let mut stderr = String::new();
        if survivors.is_empty() {
            let mut pipe = self.outer.stdout.take().expect("a pipe");
            pipe.read_to_string(&mut stdout).expect("text");
            self.stderr.read_to_string(&mut stderr).expect("text");
        }
        Ended { run: self.run, status, survivors, stdout, stderr }
    }
}

impl Drop for Contained {
    /// A test that failed leaves nothing behind.
    fn drop(&mut self) {
        while thread::panicking() && !self.living().is_empty() {
            for process in self.living() {
                send(process.pid, Signal::SIGKILL);
            }
        }
    }
}

struct Ended {
    run: RunId,
    status: ExitStatus,
    survivors: Vec<Process>,
    stdout: String,
    stderr: String,
}

impl Ended {
    #[track_caller]
    fn assert_clean(&self, code: i32) {
        assert_eq!(self.survivors, [], "survivors");
        assert_eq!(self.status.code(), Some(code), "{:?} {}", self.status, self.stderr);
    }
}

#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn marked(marker: &str) -> Vec<Process> {
    process::all()
        .filter(|process| !process.has_ended())
        .filter(|process| process::variable(process.pid, MARKER).as_deref() == Some(marker))
        .collect()
}

fn send(pid: u32, signal: Signal) {
    // It may have ended a moment ago.
    let _gone =
        kill(Pid::from_raw(i32::try_from(pid).expect("numbers of processes are small")), signal);
}

fn new_run() -> RunId {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    RunId::new(u64::from(std::process::id()) + 1_000_000, number)
}

/// How often each case is tried. More in `BACKSTOP_TEST_ROUNDS` finds what is rare.
fn rounds() -> u32 {
    std::env::var("BACKSTOP_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// Whether a control group is there.
fn exists(cgroup: Option<&String>) -> bool {
    cgroup.is_some_and(|path| fs::exists(path).expect("a path that can be looked at"))
}

const MARKER: &str = "CONTAINMENT_MARKER";
