//! How far the work of an iteration has drifted from what was asked for.

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;

use backstop_core::drift::{Terms, score};
use backstop_core::policy::{Command, DriftSettings};

use crate::git::{GitError, Repository, Workbench};
use crate::regular_file;
use crate::side_command::{Invocation, SideCommand};
use crate::tree::Tree;
use crate::verify::last_lines;

/// The work as it was before an iteration.
#[derive(Debug)]
pub struct WorkBefore {
    repository: Repository,
    bench: Workbench,
    state: String,
}

impl WorkBefore {
    /// Looks at the work tree; none outside of a repository. What is needed for comparing goes into
    /// a folder of its own.
    ///
    /// # Errors
    /// Git can't be asked.
    pub async fn look(cwd: &Path, folder: &Path, tree: &Tree) -> Result<Option<Self>, GitError> {
        let Some(repository) = Repository::find(cwd, tree).await? else { return Ok(None) };
        // An index of an earlier look may name objects that are gone.
        Workbench::for_looking(folder).tidy().await;
        let mut bench = Workbench::for_looking(folder);
        drop(std::fs::create_dir_all(folder));
        let state = repository.work_tree(tree, &mut bench).await?.tree;
        Ok(Some(Self { repository, bench, state }))
    }

    /// The lines that have changed since, and the names of the files.
    ///
    /// # Errors
    /// Git can't be asked.
    pub async fn changes(mut self, tree: &Rc<Tree>) -> Result<String, GitError> {
        let now = self.repository.work_tree(tree, &mut self.bench).await?.tree;
        let changes = if now == self.state {
            Ok(String::new())
        } else {
            self.repository.patch(tree, &self.bench, &self.state, &now, MOST_READ).await
        };
        self.bench.tidy().await;
        changes.map(|changes| changed_lines(&changes))
    }
}

/// The score of what was done, by its words; none where there is nothing to compare.
///
/// # Errors
/// The requirements can't be read.
pub fn by_words(
    requirements: &Path,
    changes: &str,
    words: &str,
) -> Result<Option<f64>, std::io::Error> {
    let asked_for = regular_file::read_up_to(requirements, MOST_READ as u64)?;
    let mut done = Terms::of(changes);
    done.add(words);
    Ok(score(&Terms::of(&String::from_utf8_lossy(&asked_for)), &done))
}

/// The score that a command of the user's gives. None where it was cancelled; an error says why it
/// gave none.
pub async fn by_command(
    command: &Command,
    settings: &DriftSettings,
    tree: &Tree,
    cwd: &Path,
    env: &[(OsString, OsString)],
    cancel: impl Future<Output = ()>,
) -> Option<Result<f64, String>> {
    let mut command = SideCommand::new(Invocation::from(command), cwd);
    command.env = env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    command.timeout = settings.time_limit();
    let outcome = command.run(tree, cancel).await;
    if outcome.cancelled {
        return None;
    }
    let failure = if let Some(why) = &outcome.not_started {
        Some(why.clone())
    } else if outcome.timed_out {
        Some("it took too long".to_owned())
    } else if !outcome.is_success() {
        Some(format!("it failed: {}", last_lines(&outcome.stderr, LONGEST_ERROR)))
    } else {
        None
    };
    Some(failure.map_or_else(|| number(&outcome.stdout), Err))
}

/// The last line of what a command printed, as a number from 0 to 1.
fn number(output: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let number = line.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| {
        let said: String = line.chars().take(40).collect();
        format!("it must print a number from 0 to 1, and printed `{said}`")
    })
}

/// What was added and taken away, without what stands around it.
fn changed_lines(difference: &str) -> String {
    let mut text = String::with_capacity(difference.len());
    for line in difference.lines().filter(|line| line.starts_with(['+', '-'])) {
        text.push_str(&line[1..]);
        text.push('\n');
    }
    text
}

/// More than anybody asks for, or does in one iteration by hand.
const MOST_READ: usize = 1 << 20;
const LONGEST_ERROR: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_number_from_0_to_1() {
        for (printed, expected) in [
            ("0.25\n", Some(0.25)),
            ("comparing…\n 1 \n\n", Some(1.0)),
            ("0", Some(0.0)),
            ("1.01", None),
            ("-0.1", None),
            ("NaN", None),
            ("25%", None),
            ("", None),
        ] {
            assert_eq!(number(printed.as_bytes()).ok(), expected, "{printed}");
        }
    }

    #[test]
    fn only_what_changed_is_compared() {
        let difference = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@ fn other\n\
                          -old\n+new\n context\n";
        assert_eq!(changed_lines(difference), "-- a/a.rs\n++ b/a.rs\nold\nnew\n");
    }
}
