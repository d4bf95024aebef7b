//! Whether a process is one of those that are supervised.

use backstop_core::id::RunId;
use backstop_store::{Store, StoreError};

use crate::tree::{RUN_VARIABLE, process};

/// The run that a process belongs to: it, or one of those that it came from, was started with the
/// run's name in its environment. What clears its own environment is found by its parents'.
pub fn is_supervised(pid: u32) -> Option<RunId> {
    runs(pid).next()
}

/// Every run that a process belongs to, the nearest first: a run may have been started in another.
pub fn runs(pid: u32) -> impl Iterator<Item = RunId> {
    process::ancestry(pid)
        .into_iter()
        .filter_map(|process| process::variable(process.pid, RUN_VARIABLE)?.parse().ok())
}

/// The supervised run that a process belongs to. A script may keep the name of a run there that has
/// no supervisor; that is none.
///
/// # Errors
/// The store can't be read.
pub async fn supervisor_of(store: &dyn Store, pid: u32) -> Result<Option<RunId>, StoreError> {
    for run in runs(pid) {
        if store.run_fetch(run).await?.is_none_or(|known| known.supervised) {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_clears_its_environment_is_still_known_by_its_parent() {
        let run = RunId::new(9, 9);
        // The shell stays, because it has something to do after the inner command.
        let mut shell = Command::new("sh")
            .args(["-c", "env -i sh -c 'echo $$; read line; :'; :"])
            .env(RUN_VARIABLE, run.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut pid).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        assert_eq!(process::variable(pid, RUN_VARIABLE), None);
        assert_eq!(is_supervised(pid), Some(run));
        assert_eq!(is_supervised(shell.id()), Some(run));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(is_supervised(pid), None);
    }
}
