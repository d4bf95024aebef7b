//! The process around the supervisor.
//!
//! `run` and `resume` are two processes. The *outer* one is whom the user sees and the shell waits
//! for: it passes signals on and waits. The *inner* one does the work, in a session of its own, so
//! that nothing it starts has a terminal to be stopped by. If the inner one dies, the outer one
//! ends everything that it ran; if the outer one dies, the inner one learns of it and halts.

use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use backstop_core::id::RunId;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::tree::control_group::ControlGroup;

mod control;
mod detach;
mod fork;
#[cfg(target_os = "linux")]
mod relay;

pub use detach::{Detached, Herald, Outcome, detach};

use control::Message;

/// Becomes two processes, and returns in the inner one. The outer one never comes back from here:
/// it ends with the inner one's exit code. Should the inner one die, it names the command that resumes
/// the run.
///
/// Where there are no sub-reapers there is no outer process either.
///
/// # Errors
/// This process has threads already, or the system refuses another process.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "nobody would name it"))]
pub fn enter(resume: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    split(resume)?;
    Ok(())
}

/// The outer process, if there is one.
pub fn pid() -> Option<u32> {
    OUTER.get().map(|outer| outer.pid)
}

/// Whether there is an outer process and it lives. Who loses a parent gets another, but only a
/// while after the dead one's end of the channel was closed.
pub(crate) fn is_alive() -> bool {
    let Some(outer) = OUTER.get() else { return false };
    // It never says anything, so there is something to read at the end only.
    let mut end = [PollFd::new(outer.control.as_fd(), PollFlags::POLLIN)];
    let is_open = poll(&mut end, PollTimeout::ZERO) == Ok(0);
    is_open && std::os::unix::process::parent_id() == outer.pid
}

/// Tells the outer process what to look after. Should it have died, the signals say so.
pub(crate) fn announce(run: RunId, group: Option<&ControlGroup>) {
    tell(&Message::Run(run));
    if let Some(group) = group {
        tell(&Message::ControlGroup(group.path().to_owned()));
    }
}

/// Tells the outer process that the tree is stopped, so that it can stop too.
pub(crate) fn confirm_suspended() {
    tell(&Message::Suspended);
}

/// Tells the outer process whether the terminal has a live block, which it takes away should this
/// process die.
pub(crate) fn announce_block(is_shown: bool) {
    tell(&Message::Block(is_shown));
}

/// The channel whose end means that the outer process has died.
pub(crate) fn channel() -> io::Result<Option<UnixStream>> {
    OUTER.get().map(|outer| outer.control.try_clone()).transpose()
}

/// The inner process's hold on the outer one. A process has one, or none.
static OUTER: OnceLock<Outer> = OnceLock::new();

#[derive(Debug)]
struct Outer {
    pid: u32,
    control: UnixStream,
}

#[cfg(target_os = "linux")]
fn split(resume: &str) -> io::Result<()> {
    use nix::sys::signal::SigmaskHow;
    use nix::unistd::ForkResult;

    let (outer_end, inner_end) = UnixStream::pair()?;
    let outer_pid = std::process::id();
    // Blocked before there are two: what arrives in between is passed on later.
    let mask_before = relay::signals().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    match fork::fork() {
        Ok(ForkResult::Child) => {
            drop(outer_end);
            mask_before.thread_set_mask()?;
            nix::unistd::setsid()?;
            // The first one stays: who is inside can't enter again.
            OUTER.get_or_init(|| Outer { pid: outer_pid, control: inner_end });
            Ok(())
        }
        Ok(ForkResult::Parent { child }) => {
            drop(inner_end);
            relay::Relay::new(child, outer_end, resume).run()
        }
        Err(error) => {
            mask_before.thread_set_mask()?;
            Err(error)
        }
    }
}

fn tell(message: &Message) {
    if let Some(outer) = OUTER.get() {
        let _dead = (&outer.control).write_all(message.line().as_bytes());
    }
}
