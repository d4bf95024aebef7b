//! The one place where this process becomes two.

use std::fs;
use std::io;

use nix::unistd::ForkResult;

/// Becomes two processes. What is written but not yet out is written first, so that it does not
/// come out twice.
///
/// # Errors
/// This process has threads: the copy would have their locks, but not them.
pub fn fork() -> io::Result<ForkResult> {
    // Without a list of threads the promise is the caller's alone.
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        let why = format!("can't become two processes with {threads} threads");
        return Err(io::Error::other(why));
    }
    io::Write::flush(&mut io::stdout())?;
    fork_alone()
}

#[expect(unsafe_code, reason = "there is no safe way to become two processes")]
fn fork_alone() -> io::Result<ForkResult> {
    // SAFETY: after a fork only calls that are safe in a signal handler may be made in the child of
    // a process with threads. There is one thread, as was just looked up, so no lock is held by
    // anybody else and the child may do whatever the parent may.
    Ok(unsafe { nix::unistd::fork() }?)
}
