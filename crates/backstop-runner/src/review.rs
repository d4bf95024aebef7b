//! The review: somebody other than the agent says what they think of the work.

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use backstop_adapters::review::Said;
use backstop_core::policy::{Command, ReviewSettings};

use crate::regular_file;
use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;
use crate::verify::last_lines;

/// Has a command review the work. None where it was cancelled; an error says why nobody knows what
/// it thinks.
pub async fn ask(
    command: &Command,
    settings: &ReviewSettings,
    tree: &Tree,
    cwd: &Path,
    env: &[(OsString, OsString)],
    cancel: impl Future<Output = ()>,
) -> Option<Result<Said, String>> {
    let mut command = SideCommand::new(Invocation::from(command), cwd);
    command.env = env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    command.timeout = settings.time_limit();
    command.output_cap = MOST_OUTPUT;
    let outcome = command.run(tree, cancel).await;
    if outcome.cancelled { None } else { Some(read(&outcome)) }
}

/// What a reviewer that has ended said. One that was cut short has not finished its sentence.
fn read(outcome: &SideOutcome) -> Result<Said, String> {
    if let Some(why) = &outcome.not_started {
        return Err(why.clone());
    }
    if outcome.timed_out {
        return Err("it took too long".to_owned());
    }
    if let Some(said) = Said::read(&outcome.stdout) {
        return Ok(said);
    }
    let ended = match outcome.exit.map(|exit| (exit.code, exit.signal)) {
        Some((Some(0), _)) => "it said neither APPROVED, CHANGES REQUESTED nor REJECTED".to_owned(),
        Some((Some(code), _)) => format!("it exited with {code} and gave no verdict"),
        Some((None, Some(signal))) => format!("signal {signal} ended it"),
        _ => "it did not end by itself".to_owned(),
    };
    let error = last_lines(&outcome.stderr, LONGEST_ERROR);
    Err(if error.is_empty() { ended } else { format!("{ended}: {error}") })
}

/// A file in which a reviewer says what they think, and what was last seen of it.
#[derive(Debug)]
pub struct ReviewFile {
    path: PathBuf,
    memory: PathBuf,
}

impl ReviewFile {
    /// `memory` is where it is remembered what was seen, over the end of this process.
    pub fn new(path: PathBuf, memory: PathBuf) -> Self {
        Self { path, memory }
    }

    /// What is there now is of another time.
    pub fn overlook(&self) {
        self.remember(&self.stamp());
    }

    /// What the file says, if it was written since the last look; nothing before the first one.
    pub fn look(&self) -> Option<Result<Said, String>> {
        let stamp = self.stamp();
        let known = fs::read_to_string(&self.memory).ok();
        if known.as_deref() == Some(stamp.as_str()) {
            return None;
        }
        self.remember(&stamp);
        let is_of_this_file = known.is_some_and(|known| known.starts_with(&self.name()));
        if !is_of_this_file || stamp.ends_with(MISSING) {
            return None;
        }
        let said = regular_file::read_up_to(&self.path, MOST_OUTPUT as u64);
        Some(match said {
            Ok(bytes) => Said::read(&bytes).ok_or_else(|| {
                "it says neither APPROVED, CHANGES REQUESTED nor REJECTED".to_owned()
            }),
            Err(error) => Err(format!("it can't be read: {error}")),
        })
    }

    fn name(&self) -> String {
        format!("{}\n", self.path.display())
    }

    /// The file's name, and what tells one version of it from another.
    fn stamp(&self) -> String {
        let version = match fs::metadata(&self.path) {
            Ok(data) => {
                format!("{} {} {}.{}", data.ino(), data.len(), data.mtime(), data.mtime_nsec())
            }
            Err(_) => MISSING.to_owned(),
        };
        format!("{}{version}", self.name())
    }

    /// Without a memory every look is the first, and says nothing: no approval comes of it.
    fn remember(&self, stamp: &str) {
        if fs::write(&self.memory, stamp).is_err() {
            drop(fs::remove_file(&self.memory));
        }
    }
}

const MISSING: &str = "missing";
const MOST_OUTPUT: usize = 1 << 20;
const LONGEST_ERROR: usize = 300;

#[cfg(test)]
mod tests {
    use backstop_core::event::ReviewOutcome;

    use super::*;
    use crate::tree::Exit;

    #[test]
    fn a_file_speaks_once_each_time_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            || ReviewFile::new(folder.path().join("REVIEW.md"), folder.path().join("memory"));
        let write = |text: &str| fs::write(folder.path().join("REVIEW.md"), text).unwrap();
        write("APPROVED");
        assert_eq!(file().look(), None, "it is older than the first look");
        write("REJECTED: no\n- worse");
        write("REJECTED\n- worse");
        let said = file().look().unwrap().unwrap();
        assert_eq!(said.outcome, ReviewOutcome::Rejected);
        assert_eq!(file().look(), None, "it was not written since");
        write("hm");
        assert!(file().look().unwrap().unwrap_err().contains("neither APPROVED"));
        fs::remove_file(folder.path().join("REVIEW.md")).unwrap();
        assert_eq!(file().look(), None);
        write("APPROVED");
        assert_eq!(file().look().unwrap().unwrap().outcome, ReviewOutcome::Approved);
        write("APPROVED!");
        file().overlook();
        assert_eq!(file().look(), None);
    }

    #[test]
    fn another_file_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| ReviewFile::new(folder.path().join(name), folder.path().join("m"));
        file("a").overlook();
        fs::write(folder.path().join("b"), "APPROVED").unwrap();
        assert_eq!(file("b").look(), None);
    }

    #[test]
    fn only_a_verdict_is_a_review() {
        for (code, stdout, stderr, expected) in [
            // A verdict counts, whatever the exit.
            (3, "APPROVED", "", Ok(ReviewOutcome::Approved)),
            (0, "fine", "", Err("it said neither APPROVED, CHANGES REQUESTED nor REJECTED")),
            (2, "", "no key\n", Err("it exited with 2 and gave no verdict: no key")),
        ] {
            let outcome = SideOutcome {
                exit: Some(Exit { code: Some(code), signal: None }),
                stdout: stdout.into(),
                stderr: stderr.into(),
                ..SideOutcome::default()
            };
            let said = read(&outcome).map(|said| said.outcome);
            assert_eq!(said, expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn what_was_cut_short_is_no_review() {
        let outcome =
            SideOutcome { timed_out: true, stdout: b"APPROVED".into(), ..SideOutcome::default() };
        assert_eq!(read(&outcome).unwrap_err(), "it took too long");
    }
}
