//! Who supervises: enough to tell later, and from another process, whether it still lives.

use std::fs;

use backstop_store::Holder;

use super::control_group::ControlGroup;
use super::process::Process;
use crate::outer;

/// This process, as others can recognise it.
pub fn holder(control_group: Option<&ControlGroup>) -> Holder {
    let pid = std::process::id();
    let outer_pid = outer::pid().unwrap_or(pid);
    Holder {
        host: host(),
        boot_id: boot_id(),
        pid,
        outer_pid,
        start_ticks: start_ticks(pid),
        outer_start_ticks: start_ticks(outer_pid),
        cgroup: control_group.map(|group| group.path().display().to_string()),
        lease_ms: None,
    }
}

/// Whether a supervisor lives, as far as this process can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Alive,
    Dead,
    /// It ran on another machine: only its lease can tell.
    Elsewhere,
}

/// Whether a supervisor lives.
pub fn life(holder: &Holder) -> Life {
    let (here, there) = (boot_id(), holder.boot_id.as_str());
    let boot = |id: &str| id.split(NAMESPACE).next().map(str::to_owned);
    if holder.host != host() {
        Life::Elsewhere
    } else if boot(&here) != boot(there) {
        Life::Dead
    } else if here != there {
        // In another container of this machine, where numbers mean others than here.
        Life::Elsewhere
    } else if is_alive(holder.pid, holder.start_ticks) {
        Life::Alive
    } else {
        Life::Dead
    }
}

/// Whether the process around a supervisor of this machine is gone, so that it ends its run.
pub fn is_orphaned(holder: &Holder) -> bool {
    holder.outer_pid != holder.pid && !is_alive(holder.outer_pid, holder.outer_start_ticks)
}

/// Whether that very process is there, and not another with its number.
pub fn is_alive(pid: u32, start_ticks: u64) -> bool {
    Process::read(pid)
        .is_some_and(|process| process.start_ticks == start_ticks && !process.has_ended())
}

pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Names the time since the machine was started and the namespace that we are in: the numbers of
/// processes mean nothing beyond them.
pub fn boot_id() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}{NAMESPACE}{}", boot.trim(), namespace.display())
}

fn start_ticks(pid: u32) -> u64 {
    Process::read(pid).map_or(0, |process| process.start_ticks)
}

const NAMESPACE: &str = " in ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_lives_until_its_process_its_boot_or_its_number_is_another() {
        let own = holder(None);
        assert_eq!(life(&own), Life::Alive);
        let other_start = Holder { start_ticks: own.start_ticks + 1, ..own.clone() };
        assert_eq!(life(&other_start), Life::Dead);
        let other_boot = Holder { boot_id: "before".to_owned(), ..own.clone() };
        assert_eq!(life(&other_boot), Life::Dead);
        let boot = own.boot_id.split(NAMESPACE).next().unwrap();
        let other_container = Holder { boot_id: format!("{boot} in pid:[1]"), ..own.clone() };
        assert_eq!(life(&other_container), Life::Elsewhere);
        let other_host = Holder { host: "elsewhere".to_owned(), ..own };
        assert_eq!(life(&other_host), Life::Elsewhere);
    }
}
