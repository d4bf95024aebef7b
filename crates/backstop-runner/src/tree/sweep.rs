//! Ending what children left behind, and collecting it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::Signal;
use super::owned::Owned;
use super::process::{self, Process};
use super::signalling;

/// A process that belongs to no living child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub pid: u32,
    pub name: String,
}

impl fmt::Display for Leftover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name, self.pid)
    }
}

impl From<&Process> for Leftover {
    fn from(process: &Process) -> Self {
        Self { pid: process.pid, name: process.name.clone() }
    }
}

/// What a sweep found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Everything that was found alive.
    pub found: Vec<Leftover>,
    /// How many of them did not end by themselves within the grace.
    pub killed: usize,
    /// Those whom even SIGKILL did not end: they wait inside the kernel.
    pub unkillable: Vec<Leftover>,
}

/// Descendants that are alive and belong to no living child. Where orphans do not come back to us,
/// those in a group that a child left behind.
pub fn leftovers(owned: &Owned) -> Vec<Process> {
    reap(owned);
    let mut found = if owned.adopts_orphans() {
        // One call tells that there is nobody, as nearly always.
        if waitid(Id::All, LOOK) == Err(Errno::ECHILD) {
            return Vec::new();
        }
        process::below(std::process::id(), &|pid| owned.contains(pid))
    } else {
        let groups = owned.abandoned_groups(signalling::group_is_left);
        if groups.is_empty() {
            return Vec::new();
        }
        process::all().filter(|process| groups.contains(&process.group)).collect()
    };
    found.retain(|process| !process.has_ended());
    found
}

/// Ends all leftovers: SIGTERM, then after `grace` SIGKILL until nothing is found twice in a row.
pub async fn sweep(owned: &Owned, grace: Duration) -> Swept {
    let mut sweep = Sweep::default();
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        let left = leftovers(owned);
        if left.is_empty() || start.elapsed() >= grace {
            break;
        }
        for process in &left {
            if sweep.meet(process) {
                signalling::to_process(process, Signal::SIGTERM);
            }
        }
        tokio::time::sleep(pause.min(grace.saturating_sub(start.elapsed()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    sweep.kill(owned).await;
    sweep.swept
}

#[derive(Debug, Default)]
struct Sweep {
    swept: Swept,
    met: BTreeMap<(u32, u64), Met>,
}

#[derive(Debug, Default)]
struct Met {
    killed_at: Option<Instant>,
}

impl Sweep {
    /// Remembers a leftover; true for one that was not known.
    fn meet(&mut self, process: &Process) -> bool {
        let is_new = !self.met.contains_key(&(process.pid, process.start_ticks));
        if is_new {
            self.met.insert((process.pid, process.start_ticks), Met::default());
            // Whoever hops from process to process is not worth a list of all of them.
            if self.swept.found.len() < MOST_NAMES {
                self.swept.found.push(process.into());
            }
        }
        is_new
    }

    /// Kills in bursts without a pause: who forks and ends faster than that is overtaken, because
    /// each of its processes becomes our child at once.
    async fn kill(&mut self, owned: &Owned) {
        let mut empty = 0;
        let mut pause = SHORTEST_PAUSE;
        while empty < 2 {
            let burst = Instant::now();
            while empty < 2 && burst.elapsed() < BURST {
                let left = leftovers(owned);
                if left.is_empty() {
                    empty += 1;
                    continue;
                }
                empty = 0;
                if left.iter().all(|process| self.is_unkillable(process)) {
                    self.swept.unkillable = left.iter().map(Leftover::from).collect();
                    return;
                }
                // A group as a whole first: no fork slips through.
                for group in owned.abandoned_groups(signalling::group_is_left) {
                    signalling::to_group(group, Signal::SIGKILL);
                }
                for process in &left {
                    self.kill_one(process);
                }
                if left.iter().all(|process| self.was_killed_before(process, burst)) {
                    // Nothing new: they need time to end, not more signals.
                    break;
                }
            }
            if empty < 2 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    fn kill_one(&mut self, process: &Process) {
        self.meet(process);
        signalling::to_process(process, Signal::SIGKILL);
        if let Some(met) = self.met.get_mut(&(process.pid, process.start_ticks))
            && met.killed_at.is_none()
        {
            met.killed_at = Some(Instant::now());
            self.swept.killed += 1;
        }
    }

    fn was_killed_before(&self, process: &Process, moment: Instant) -> bool {
        self.killed_at(process).is_some_and(|at| at < moment)
    }

    fn is_unkillable(&self, process: &Process) -> bool {
        self.killed_at(process).is_some_and(|at| at.elapsed() >= TIME_TO_DIE)
    }

    fn killed_at(&self, process: &Process) -> Option<Instant> {
        self.met.get(&(process.pid, process.start_ticks)).and_then(|met| met.killed_at)
    }
}

/// Collects orphans that have ended, never a child that somebody waits for.
pub fn reap(owned: &Owned) {
    if !owned.adopts_orphans() {
        owned.abandoned_groups(signalling::group_is_left).into_iter().for_each(collect_group);
        return;
    }
    loop {
        let ended = match waitid(Id::All, LOOK) {
            Ok(status) => match status.pid() {
                Some(pid) => u32::try_from(pid.as_raw()).ok(),
                None => return,
            },
            Err(Errno::ECHILD) => return,
            // It ended by a signal without a name.
            Err(_) => None,
        };
        match ended {
            Some(pid) if !owned.contains(pid) => collect(pid),
            // A child that is about to be waited for hides the others from this look.
            _ => {
                let children = process::children(std::process::id());
                children.into_iter().filter(|pid| !owned.contains(*pid)).for_each(collect);
                return;
            }
        }
    }
}

fn collect(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be alive still, or not be ours: then there is nothing to collect.
        let _status = rustix::process::waitid(WaitId::Pid(pid), COLLECT);
    }
}

/// Collects children of ours in a group that nobody waits for any more.
fn collect_group(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        while let Ok(Some(_ended)) = rustix::process::waitid(WaitId::Pgid(Some(group)), COLLECT) {}
    }
}

const LOOK: WaitPidFlag =
    WaitPidFlag::WEXITED.union(WaitPidFlag::WNOHANG).union(WaitPidFlag::WNOWAIT);
const COLLECT: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG);

const SHORTEST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// How long killing goes on without letting anybody else have a turn.
const BURST: Duration = Duration::from_millis(5);

/// Who is there so long after SIGKILL can't be ended.
const TIME_TO_DIE: Duration = Duration::from_secs(5);

const MOST_NAMES: usize = 100;
