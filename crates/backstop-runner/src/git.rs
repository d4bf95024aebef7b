//! A git repository, asked without touching what is the user's: index, work tree, branches, hooks.
//!
//! Everything is done by the `git` program, with the variables and settings out of the way that
//! would let it do something else. The state of the work tree is hashed through an index of our own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;

mod blob;
pub(crate) mod changes;
mod hidden;
pub(crate) mod look;
mod patch;
mod status;

pub(crate) use blob::{FileStamp, hexadecimal};

/// The repository that a directory belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    cwd: PathBuf,
    index: PathBuf,
    /// The top of the work tree.
    top: PathBuf,
    /// The directory as it is seen from the top, without links.
    prefix: PathBuf,
}

/// What HEAD points at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) commit: String,
    pub(crate) tree: String,
}

/// Where the state of the work tree is put together.
#[derive(Debug)]
pub(crate) struct Workbench {
    index: PathBuf,
    /// The user's index when ours was copied from it.
    copied: Option<Stamp>,
}

/// The state of the work tree as a tree object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkTree {
    pub(crate) tree: String,
    /// Why some files are not in it.
    pub(crate) incomplete: Option<String>,
}

/// Why git could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git can't be run: {0}")]
    NotStarted(String),
    #[error("`git {command}` took longer than {}s", TIME_OUT.as_secs())]
    TimedOut { command: String },
    #[error("`git {command}` failed: {message}")]
    Failed { command: String, message: String },
    #[error("`git {command}` listed more than {} MiB", LONGEST_LIST >> 21)]
    TooMuch { command: String },
    #[error("`git {command}` printed what it never did before")]
    Unreadable { command: &'static str },
    #[error("the index of the repository can't be copied: {0}")]
    Index(String),
}

impl Repository {
    /// The repository around a directory; none where no parent has a `.git`.
    pub(crate) async fn find(cwd: &Path, tree: &Tree) -> Result<Option<Self>, GitError> {
        if !cwd.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
            return Ok(None);
        }
        let mut this = Self {
            cwd: cwd.to_owned(),
            index: PathBuf::new(),
            top: cwd.to_owned(),
            prefix: PathBuf::new(),
        };
        let paths = ["--git-path", "index", "--show-cdup"];
        let words = ["rev-parse", "--is-inside-work-tree"].into_iter().chain(paths);
        let answer = this.ask(tree, &words.collect::<Vec<_>>(), &[]).await?;
        let mut lines = answer.lines();
        if lines.next() != Some("true") {
            return Ok(None);
        }
        // Git answers relative to the directory that it runs in.
        this.index = cwd.join(lines.next().unwrap_or_default());
        let levels = lines.next().unwrap_or_default().matches("../").count();
        let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        if let Some(top) = real.ancestors().nth(levels) {
            this.prefix = real.strip_prefix(top).map(Path::to_owned).unwrap_or_default();
            this.top = top.to_owned();
        }
        Ok(Some(this))
    }

    /// The top of the work tree.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    fn index_stamp(&self) -> Option<Stamp> {
        Stamp::of(&self.index).ok()
    }

    /// A path from the top of the work tree as it is seen from the directory.
    pub(crate) fn seen_from_here(&self, path: &[u8]) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let own: Vec<&[u8]> = self.prefix.iter().map(OsStrExt::as_bytes).collect();
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let common = own.iter().zip(&parts).take_while(|(one, two)| one == two).count();
        let up = std::iter::repeat_n(&b".."[..], own.len() - common);
        up.chain(parts[common..].iter().copied()).collect::<Vec<_>>().join(&b'/')
    }

    /// None where nothing has been committed yet.
    pub(crate) async fn head(&self, tree: &Tree) -> Result<Option<Head>, GitError> {
        match self.ask(tree, &["rev-parse", "HEAD", "HEAD^{tree}"], &[]).await {
            Ok(answer) => Ok(answer
                .split_once('\n')
                .map(|(commit, tree)| Head { commit: commit.to_owned(), tree: tree.to_owned() })),
            // A branch without a commit looks like a broken one until the branch is asked for.
            Err(error) => match self.ask(tree, &["symbolic-ref", "-q", "HEAD"], &[]).await {
                Ok(_) => Ok(None),
                Err(_) => Err(error),
            },
        }
    }

    /// The first lines of the commits that `to` has and `from` has not, the newest first.
    pub(crate) async fn new_commits(
        &self,
        tree: &Tree,
        from: Option<&Head>,
        to: &Head,
    ) -> Result<Vec<String>, GitError> {
        let range = match from {
            Some(from) => format!("{}..{}", from.commit, to.commit),
            None => to.commit.clone(),
        };
        let answer = self.ask(tree, &["log", "-n", "20", "--format=%s", &range, "--"], &[]).await?;
        // A commit without a message is a commit as well: its line is empty.
        Ok(answer.split_terminator('\n').map(str::to_owned).collect())
    }

    /// What is in the work tree now: tracked or not, but not what is ignored. Of a sub-module it is
    /// the commit that is checked out there.
    pub(crate) async fn work_tree(
        &self,
        tree: &Tree,
        bench: &mut Workbench,
    ) -> Result<WorkTree, GitError> {
        self.copy_index(bench).await?;
        let env = bench.variables();
        let mut words = vec!["add", "--all", "--ignore-errors"];
        let added = self.run(tree, &words, &env).await;
        let incomplete = if added.is_success() {
            None
        } else {
            match failure(&words, &added) {
                // Some file could not be read; all others are in.
                GitError::Failed { message, .. } => Some(message),
                other => return Err(other),
            }
        };
        words = vec!["write-tree"];
        let tree = self.ask(tree, &words, &env).await?;
        Ok(WorkTree { tree, incomplete })
    }

    /// Runs git and gives what it printed, without the last line's end.
    pub(crate) async fn ask(
        &self,
        tree: &Tree,
        words: &[&str],
        env: &[(OsString, Option<OsString>)],
    ) -> Result<String, GitError> {
        let outcome = self.run(tree, words, env).await;
        if !outcome.is_success() {
            return Err(failure(words, &outcome));
        }
        let text = String::from_utf8_lossy(&outcome.stdout);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// As [`Self::ask`], where paths are taken from the top and mean what they say.
    pub(crate) async fn ask_at_top(&self, tree: &Tree, words: &[&str]) -> Result<String, GitError> {
        let at_top = Self { cwd: self.top.clone(), ..self.clone() };
        let literal = ("GIT_LITERAL_PATHSPECS".into(), Some("1".into()));
        at_top.ask(tree, words, &[literal]).await
    }

    /// Runs git and gives all that it printed: a list that is not whole is none.
    pub(crate) async fn list(
        &self,
        tree: &Tree,
        words: &[&str],
        env: &[(OsString, Option<OsString>)],
    ) -> Result<Vec<u8>, GitError> {
        let outcome = self.run(tree, words, env).await;
        if !outcome.is_success() {
            return Err(failure(words, &outcome));
        }
        if outcome.truncated {
            let command = words.first().copied().unwrap_or_default().to_owned();
            return Err(GitError::TooMuch { command });
        }
        Ok(outcome.stdout)
    }

    async fn run(
        &self,
        tree: &Tree,
        words: &[&str],
        env: &[(OsString, Option<OsString>)],
    ) -> SideOutcome {
        self.command(words, env).run(tree, pending()).await
    }

    fn command(&self, words: &[&str], env: &[(OsString, Option<OsString>)]) -> SideCommand {
        let settings = QUIET.iter().flat_map(|setting| ["-c", setting]);
        let words = ["git", "--no-pager"].into_iter().chain(settings).chain(words.iter().copied());
        let mut command =
            SideCommand::new(Invocation::Program(words.map(OsString::from).collect()), &self.cwd);
        command.timeout = TIME_OUT;
        command.output_cap = LONGEST_LIST;
        command.env = scrubbed(std::env::vars_os().map(|(name, _)| name));
        command.env.extend_from_slice(env);
        command
    }

    /// Starts from the user's index, so that only what changed since is read. Ours is used again
    /// for as long as theirs stays: what we added to it need not be read twice.
    async fn copy_index(&self, bench: &mut Workbench) -> Result<(), GitError> {
        let (from, to) = (self.index.clone(), bench.index.clone());
        let known = bench.copied.clone();
        let copied = tokio::task::spawn_blocking(move || {
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            copy_if_changed(&from, &to, known.as_ref())
        });
        match copied.await {
            Ok(Ok(stamp)) => {
                bench.copied = Some(stamp);
                Ok(())
            }
            Ok(Err(error)) => Err(GitError::Index(error.to_string())),
            Err(panicked) => Err(GitError::Index(panicked.to_string())),
        }
    }
}

impl Workbench {
    /// For looking only.
    pub(crate) fn for_looking(folder: &Path) -> Self {
        Self { index: folder.join("index"), copied: None }
    }

    /// For keeping.
    pub(crate) fn for_keeping(repository: &Repository, name: &str) -> Self {
        let index = repository.index.with_file_name(format!("backstop-{name}-index"));
        Self { index, copied: None }
    }

    /// Removes the index.
    pub(crate) async fn tidy(self) {
        let removed = tokio::task::spawn_blocking(move || fs::remove_file(self.index));
        // What stays behind is in the way of nobody: it is removed or replaced the next time.
        drop(removed.await);
    }

    fn variables(&self) -> Vec<(OsString, Option<OsString>)> {
        vec![("GIT_INDEX_FILE".into(), Some(self.index.as_os_str().to_owned()))]
    }
}

/// What tells one version of an index from another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    Missing,
    Present { modified: SystemTime, bytes: u64, inode: u64 },
}

impl Stamp {
    fn of(index: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        match fs::metadata(index) {
            Ok(metadata) => {
                let (bytes, inode) = (metadata.len(), metadata.ino());
                Ok(Self::Present { modified: metadata.modified()?, bytes, inode })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }
}

fn copy_if_changed(from: &Path, to: &Path, known: Option<&Stamp>) -> io::Result<Stamp> {
    let stamp = Stamp::of(from)?;
    if known == Some(&stamp) && to.exists() {
        return Ok(stamp);
    }
    remove_if_there(to)?;
    remove_if_there(&to.with_extension("lock"))?;
    if let Stamp::Present { modified, .. } = stamp {
        fs::copy(from, to)?;
        // Git distrusts entries as young as the index. A younger copy would be trusted too much.
        File::options().write(true).open(to)?.set_modified(modified)?;
    }
    Ok(stamp)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Takes the variables away that would lead git elsewhere.
fn scrubbed(names: impl Iterator<Item = OsString>) -> Vec<(OsString, Option<OsString>)> {
    let git = names.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_"));
    let set = |name: &str, value: &str| (OsString::from(name), Some(OsString::from(value)));
    git.map(|name| (name, None))
        .chain([
            set("GIT_OPTIONAL_LOCKS", "0"),
            set("GIT_TERMINAL_PROMPT", "0"),
            set("LC_ALL", "C"),
        ])
        .collect()
}

fn failure(words: &[&str], outcome: &SideOutcome) -> GitError {
    let command = words.first().copied().unwrap_or_default().to_owned();
    if let Some(why) = &outcome.not_started {
        return GitError::NotStarted(why.clone());
    }
    if outcome.timed_out {
        return GitError::TimedOut { command };
    }
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let line =
        stderr.lines().find(|line| line.starts_with("error: ") || line.starts_with("fatal: "));
    let line = line.or_else(|| stderr.lines().next()).unwrap_or("it gave no reason");
    let message = line.trim_start_matches("error: ").trim_start_matches("fatal: ").to_owned();
    GitError::Failed { command, message }
}

/// Long enough for any repository that can be measured twice per iteration.
const TIME_OUT: Duration = Duration::from_secs(60);

/// Of each stream, beginning and end: a million long paths.
const LONGEST_LIST: usize = 256 << 20;

/// Nothing of the user's runs, and nothing but what was asked for is written.
const QUIET: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "color.ui=false",
    "advice.addEmbeddedRepo=false",
    "core.untrackedCache=true",
    "status.showUntrackedFiles=all",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_lead_git_elsewhere_are_taken_away() {
        let names = ["GIT_DIR", "HOME", "GIT_INDEX_FILE", "NOT_GIT_DIR"].map(OsString::from);
        let changed = scrubbed(names.into_iter());
        let removed: Vec<_> = changed.iter().filter(|(_, value)| value.is_none()).collect();
        let removed: Vec<_> = removed.iter().map(|(name, _)| name.as_os_str()).collect();
        assert_eq!(removed, ["GIT_DIR", "GIT_INDEX_FILE"]);
    }

    #[test]
    fn an_index_is_copied_with_its_age_and_only_when_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("index"), folder.path().join("copy"));
        assert_eq!(copy_if_changed(&from, &to, None).unwrap(), Stamp::Missing);
        assert!(!to.exists());
        fs::write(&from, "theirs").unwrap();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&from).unwrap().set_modified(long_ago).unwrap();
        let stamp = copy_if_changed(&from, &to, Some(&Stamp::Missing)).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"theirs");
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), long_ago);
        fs::write(&to, "ours, with more in it").unwrap();
        assert_eq!(copy_if_changed(&from, &to, Some(&stamp)).unwrap(), stamp);
        assert_eq!(fs::read(&to).unwrap(), b"ours, with more in it");
        fs::write(&from, "newer").unwrap();
        assert_ne!(copy_if_changed(&from, &to, Some(&stamp)).unwrap(), stamp);
        assert_eq!(fs::read(&to).unwrap(), b"newer");
    }
}
