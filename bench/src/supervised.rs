//! The program that is measured, started as a user starts it, and looked at from outside.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};

/// A program with a state directory and a working directory of its own.
#[derive(Debug)]
pub struct Backstop {
    program: PathBuf,
    place: PathBuf,
}

impl Backstop {
    /// Everything is kept below `place`, so its file system is the one that is measured.
    pub fn new(program: &Path, place: PathBuf) -> anyhow::Result<Self> {
        let program = program.canonicalize().context("there is no program to measure")?;
        let backstop = Self { program, place };
        fs::create_dir_all(backstop.work())?;
        Ok(backstop)
    }

    /// `backstop run` with options and a command; whatever it prints is dropped.
    pub fn run<O, C>(&self, options: &[O], command: &[C]) -> anyhow::Result<Command>
    where
        O: AsRef<OsStr>,
        C: AsRef<OsStr>,
    {
        let mut line = alone(self.program.as_os_str())?;
        line.arg("run").arg("--store").arg(self.store()).args(options).arg("--").args(command);
        line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.place_in(&mut line);
        Ok(line)
    }

    /// The program itself, in its working directory.
    pub fn command(&self) -> Command {
        let mut line = Command::new(&self.program);
        self.place_in(&mut line);
        line
    }

    fn place_in(&self, line: &mut Command) {
        line.current_dir(self.work());
        for (name, _) in std::env::vars_os() {
            // Whoever measures may be supervised too.
            if name.as_encoded_bytes().starts_with(b"BACKSTOP_") {
                line.env_remove(name);
            }
        }
    }

    /// Any other command on the same store.
    pub fn call(&self, verb: &str) -> Command {
        let mut line = Command::new(&self.program);
        line.arg(verb).arg("--store").arg(self.store()).current_dir(self.work());
        line
    }

    pub fn store(&self) -> PathBuf {
        self.place.join("store")
    }

    /// A file for what a child wants to tell.
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    pub fn work(&self) -> PathBuf {
        self.place.join("work")
    }
}

/// This program in one of its other parts.
pub fn part(name: &str) -> anyhow::Result<Vec<OsString>> {
    Ok(vec![std::env::current_exe()?.into(), name.into()])
}

/// A program in a session of its own. Linux shares the processors between sessions, and a
/// supervisor has one of its own: without this, others would get less of a busy machine.
pub fn alone(program: &OsStr) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("alone").arg(program);
    Ok(command)
}

/// This program in another part, in a session of its own.
pub fn part_alone(name: &str) -> anyhow::Result<Command> {
    let line = part(name)?;
    let mut command = alone(&line[0])?;
    command.args(&line[1..]).stdin(Stdio::null());
    Ok(command)
}

/// Goes on as another program in a new session.
pub fn become_alone(command: &[OsString]) -> anyhow::Result<()> {
    nix::unistd::setsid()?;
    let (program, arguments) = command.split_first().context("no program was given")?;
    Err(Command::new(program).args(arguments).exec()).context("cannot go on as another program")
}

/// Seconds until a command has ended with one of the exit codes.
pub fn time(command: &mut Command, codes: &[i32]) -> anyhow::Result<f64> {
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(
        status.code().is_some_and(|code| codes.contains(&code)),
        "{command:?} ended with {status}"
    );
    Ok(seconds)
}

/// The process that the outer one has forked: the supervisor.
pub fn inner(outer: &Child) -> anyhow::Result<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children", pid = outer.id());
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let children = fs::read_to_string(&path)?;
        if let Some(first) = children.split_whitespace().next() {
            return Ok(first.parse()?);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    bail!("there is no inner process")
}

/// A line of a file in `/proc/PID`, in MiB; none if the process is gone.
pub fn memory(pid: u32, file: &str, line: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let rest = text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'))?;
    let kilobytes: f64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Waits until a file has something to say.
pub fn told(path: &Path) -> anyhow::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return Ok(text),
            _ if Instant::now() > deadline => bail!("nothing was written to {path:?}"),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Nanoseconds of the wall clock, which all processes share.
pub fn clock() -> i64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(passed.as_nanos()).unwrap_or(i64::MAX)
}

const PATIENCE: Duration = Duration::from_secs(20);
