//! What a dead supervisor left running, for `resume` and `doctor`.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use backstop_store::Holder;

use super::control_group::ControlGroup;
use super::process::{self, Process};
use super::sweep::{Leftover, Swept};
use super::{RUN_VARIABLE, SUPERVISOR_VARIABLE, Signal, signalling};

pub use super::identity::{Life, life};

/// Processes of a run, found by their environment and by the run's control group; neither this
/// process nor those that it came from.
pub fn find(run: RunId, holder: Option<&Holder>) -> Vec<Leftover> {
    let group = control_group(run, holder);
    processes(run, None, group.as_ref()).iter().map(Leftover::from).collect()
}

/// Ends what a dead supervisor left running: politely, and after `grace` for certain. It waits, so
/// it is called before a runtime or from a thread of its own.
pub fn end(run: RunId, holder: Option<&Holder>, grace: Duration) -> Swept {
    end_all(run, None, control_group(run, holder).as_ref(), grace)
}

/// Ends at once what one supervisor of a run left running. Another may have taken the run over, and
/// what that one runs is not touched.
pub fn end_those_of(supervisor: u32, run: RunId) {
    end_all(run, Some(supervisor), None, Duration::ZERO);
}

fn end_all(
    run: RunId,
    supervisor: Option<u32>,
    group: Option<&ControlGroup>,
    grace: Duration,
) -> Swept {
    let mut met: BTreeMap<(u32, u64), Leftover> = BTreeMap::new();
    let mut killed = BTreeSet::new();
    let mut unkillable = Vec::new();
    let start = Instant::now();
    let mut empty = 0;
    while empty < 2 {
        let left = processes(run, supervisor, group);
        if left.is_empty() {
            empty += 1;
            continue;
        }
        empty = 0;
        if start.elapsed() > grace + TIME_TO_DIE {
            unkillable = left.iter().map(Leftover::from).collect();
            break;
        }
        let time_is_up = start.elapsed() >= grace;
        // A group within a group could hold us too: then each by itself.
        if time_is_up
            && let Some(group) = group
            && !group.members().contains(&std::process::id())
        {
            let _too_old = group.kill();
        }
        for process in &left {
            let identity = (process.pid, process.start_ticks);
            let is_new = met.insert(identity, process.into()).is_none();
            if time_is_up {
                killed.insert(identity);
                signalling::to_process(process, Signal::SIGKILL);
            } else if is_new {
                signalling::to_process(process, Signal::SIGTERM);
            }
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    if let Some(group) = group {
        group.remove();
    }
    Swept { found: met.into_values().collect(), killed: killed.len(), unkillable }
}

fn processes(run: RunId, supervisor: Option<u32>, group: Option<&ControlGroup>) -> Vec<Process> {
    let members: BTreeSet<u32> =
        group.map(ControlGroup::members).unwrap_or_default().into_iter().collect();
    let own: BTreeSet<u32> =
        process::ancestry(std::process::id()).iter().map(|process| process.pid).collect();
    let mut found: BTreeMap<u32, Process> = BTreeMap::new();
    for process in process::all() {
        let is_of_the_run = members.contains(&process.pid) || is_of(process.pid, run, supervisor);
        if is_of_the_run && !own.contains(&process.pid) {
            // Those that it started may have cleared their environment.
            let below = process::below(process.pid, &|pid| own.contains(&pid));
            found.extend(below.into_iter().chain([process]).map(|one| (one.pid, one)));
        }
    }
    found.into_values().filter(|process| !process.has_ended()).collect()
}

fn is_of(pid: u32, run: RunId, supervisor: Option<u32>) -> bool {
    let says = |name: &str, value: &str| process::variable(pid, name).as_deref() == Some(value);
    says(RUN_VARIABLE, run.as_str())
        && supervisor.is_none_or(|number| says(SUPERVISOR_VARIABLE, &number.to_string()))
}

fn control_group(run: RunId, holder: Option<&Holder>) -> Option<ControlGroup> {
    ControlGroup::recorded(run, holder?.cgroup.as_deref()?)
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Who is there so long after SIGKILL can't be ended.
const TIME_TO_DIE: Duration = Duration::from_secs(5);
