//! Processes that are hard to find or hard to end.

use std::env;
use std::io;
use std::process::{Command as Program, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{SigSet, Signal, raise};

/// How to be hard to end.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Starts processes that start processes, and waits for them.
    Tree {
        #[arg(long, default_value_t = 3)]
        depth: u32,
        #[arg(long, default_value_t = 2)]
        width: u32,
        /// Ends at once and leaves the others running.
        #[arg(long)]
        abandon: bool,
    },
    /// Starts a process in a session of its own, whose parent ends, and ends.
    Daemonize {
        /// The daemon ignores SIGTERM, too.
        #[arg(long)]
        ignore_term: bool,
        /// Stays, instead of ending once the daemon is started.
        #[arg(long)]
        stay: bool,
    },
    /// Calls `setsid` and then sleeps; a helper of others.
    Setsid {
        #[arg(long)]
        ignore_term: bool,
    },
    /// Starts a process that calls `setsid` and waits for it.
    SetsidChild,
    /// Starts itself anew and ends, over and over: its number is always another.
    Forkhop {
        /// Every process has a session of its own.
        #[arg(long)]
        setsid: bool,
        /// When to end by itself, in milliseconds since 1970.
        #[arg(long, hide = true)]
        until: Option<u128>,
    },
    /// Sleeps on when it gets SIGTERM, SIGINT or SIGHUP; its children too.
    IgnoreTerm {
        /// So many children do the same.
        #[arg(long, default_value_t = 0)]
        children: u32,
    },
    /// Stops itself, as with Ctrl-Z.
    StopSelf,
    /// Leaves so many orphans that end at once and whom nobody but the sub-reaper can collect,
    /// and then sleeps.
    Zombies { number: u32 },
    /// Ends, but a process that it started keeps standard output open.
    HoldPipe,
    /// Starts a process that ends at once; a helper of others.
    #[command(hide = true)]
    Orphan,
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        match self {
            Self::Tree { depth, width, abandon } => tree(depth, width, abandon)?,
            Self::Daemonize { ignore_term, stay } => {
                let mut daemon = itself()?;
                daemon.arg("setsid");
                if ignore_term {
                    daemon.arg("--ignore-term");
                }
                daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
                if stay {
                    linger();
                }
            }
            Self::Setsid { ignore_term } => {
                // Fails only for a leader of a group, which then is its session's leader, or may be.
                let _leader = rustix::process::setsid();
                if ignore_term {
                    ignore_endings()?;
                }
                linger();
            }
            Self::SetsidChild => {
                itself()?.arg("setsid").spawn()?.wait()?;
            }
            Self::Forkhop { setsid, until } => hop(setsid, until)?,
            Self::IgnoreTerm { children } => {
                ignore_endings()?;
                for _child in 0..children {
                    itself()?.arg("ignore-term").spawn()?;
                }
                linger();
            }
            Self::StopSelf => {
                raise(Signal::SIGSTOP)?;
                linger();
            }
            Self::Zombies { number } => {
                for _orphan in 0..number {
                    itself()?.arg("orphan").spawn()?.wait()?;
                }
                linger();
            }
            Self::HoldPipe => {
                itself()?.arg("sleep").arg(LIFE.as_secs().to_string()).spawn()?;
            }
            Self::Orphan => {
                itself()?.args(["exit", "0"]).spawn()?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How long whatever is left behind lives at most.
pub const LIFE: Duration = Duration::from_secs(120);

/// Stays, as long as anything of this program may.
pub fn linger() {
    thread::sleep(LIFE);
}

/// This program again.
pub fn itself() -> io::Result<Program> {
    env::current_exe().map(Program::new)
}

/// Blocked signals are never delivered, and children are born with them blocked.
pub fn ignore_endings() -> io::Result<()> {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    Ok(signals.thread_block()?)
}

fn tree(depth: u32, width: u32, abandon: bool) -> io::Result<()> {
    if depth == 0 {
        linger();
        return Ok(());
    }
    let mut children = Vec::new();
    for _child in 0..width {
        let mut child = itself()?;
        child.arg("tree").args(["--depth", &(depth - 1).to_string()]);
        children.push(child.args(["--width", &width.to_string()]).spawn()?);
    }
    if !abandon {
        for mut child in children {
            child.wait()?;
        }
    }
    Ok(())
}

fn hop(setsid: bool, until: Option<u128>) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let until = until.unwrap_or_else(|| (now + HOPPING).as_millis());
    if now.as_millis() >= until {
        return Ok(());
    }
    if setsid {
        // It leads no group unless it was started as a leader; then the next one will do it.
        let _leader = rustix::process::setsid();
    }
    let mut next = itself()?;
    next.args(["forkhop", "--until", &until.to_string()]);
    if setsid {
        next.arg("--setsid");
    }
    next.spawn().map(|_left_behind| ())
}

/// How long hopping goes on if nobody ends it.
const HOPPING: Duration = Duration::from_secs(60);
