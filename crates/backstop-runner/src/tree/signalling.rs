//! Sending signals, to nobody but those who are meant.

use std::collections::BTreeSet;

use nix::sys::signal::killpg;
use nix::unistd::{Pid, getpgrp};

use super::Signal;
use super::owned::Owned;
use super::process::{self, Process};

/// Sends a signal to a process group that was made for a child, and after a signal that is to end
/// it lets it go on, because whoever is stopped does not see the signal.
pub fn to_group(group: u32, signal: Signal) {
    let Some(group) = group_of_others(group) else { return };
    // Whoever has ended in the meantime needs no signal.
    let _gone = killpg(group, signal);
    if ends(signal) {
        let _gone = killpg(group, Signal::SIGCONT);
    }
}

/// Sends a signal to a process, unless its number has become another's.
pub fn to_process(process: &Process, signal: Signal) {
    if process.has_ended() || process.pid <= 1 || process.pid == std::process::id() {
        return;
    }
    let _gone = send(process, signal);
    if ends(signal) {
        let _gone = send(process, Signal::SIGCONT);
    }
}

/// Whether a group has members, ended and uncollected ones included.
pub fn group_is_left(group: u32) -> bool {
    group_of_others(group).is_some_and(|group| killpg(group, None).is_ok())
}

/// Sends a signal to everything below this process, but for the spared children, those that stand
/// aside, and what is below them. Groups of children come first, each at once, so that no fork
/// slips through.
pub fn to_tree(owned: &Owned, signal: Signal, spare: &BTreeSet<u32>) {
    let spare: BTreeSet<u32> = spare.union(&owned.aside()).copied().collect();
    let mut groups = owned.children();
    groups.extend(owned.abandoned_groups(group_is_left));
    groups.retain(|group| !spare.contains(group));
    for group in &groups {
        to_group(*group, signal);
    }
    if !owned.adopts_orphans() {
        return;
    }
    // Those who left their groups, one by one; again for those whom they start meanwhile.
    let mut reached = BTreeSet::new();
    for _look in 0..LOOKS {
        let before = reached.len();
        for process in process::below(std::process::id(), &|pid| spare.contains(&pid)) {
            if !groups.contains(&process.group)
                && reached.insert((process.pid, process.start_ticks))
            {
                to_process(&process, signal);
            }
        }
        if reached.len() == before {
            break;
        }
    }
}

#[cfg(target_os = "linux")]
fn send(process: &Process, signal: Signal) -> std::io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let pid = i32::try_from(process.pid).ok().and_then(rustix::process::Pid::from_raw);
    let signal = rustix::process::Signal::from_named_raw(signal as i32);
    let (Some(pid), Some(signal)) = (pid, signal) else { return Ok(()) };
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    // The handle is one process for good; whether it is the right one can be told now.
    if process.is_same() {
        pidfd_send_signal(handle, signal)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn send(process: &Process, signal: Signal) -> std::io::Result<()> {
    let pid = i32::try_from(process.pid).map_err(std::io::Error::other)?;
    Ok(nix::sys::signal::kill(Pid::from_raw(pid), signal)?)
}

/// A group that a signal may be sent to. The numbers 0 and 1 and our own mean ourselves or
/// everybody.
fn group_of_others(group: u32) -> Option<Pid> {
    let group = i32::try_from(group).ok().map(Pid::from_raw)?;
    (group.as_raw() > 1 && group != getpgrp()).then_some(group)
}

fn ends(signal: Signal) -> bool {
    !matches!(
        signal,
        Signal::SIGSTOP
            | Signal::SIGTSTP
            | Signal::SIGTTIN
            | Signal::SIGTTOU
            | Signal::SIGCONT
            | Signal::SIGCHLD
            | Signal::SIGWINCH
            | Signal::SIGURG
            | Signal::SIGKILL
    )
}

/// How often the tree is looked over for those who were started during the last look.
const LOOKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_everybody_nor_ourselves_are_a_target() {
        let own = u32::try_from(getpgrp().as_raw()).unwrap();
        for group in [0, 1, own, u32::MAX] {
            assert_eq!(group_of_others(group), None, "{group}");
            assert!(!group_is_left(group), "{group}");
        }
        assert!(group_of_others(own + 1).is_some());
    }

    #[test]
    fn a_process_with_a_number_that_was_used_again_gets_no_signal() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut process = Process::read(sleeper.id()).unwrap();
        process.start_ticks += 1;
        to_process(&process, Signal::SIGKILL);
        assert!(sleeper.try_wait().unwrap().is_none());
        process.start_ticks -= 1;
        to_process(&process, Signal::SIGKILL);
        assert!(!sleeper.wait().unwrap().success());
    }
}
