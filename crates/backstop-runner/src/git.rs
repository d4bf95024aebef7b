//! A git repository, asked without touching what is the user's: index, work tree, branches, hooks.
//!
//! Everything is done by the `git` program, with the variables and settings out of the way that
//! would let it do something else. The state of the work tree is hashed through an index of our own.

mod changes;

use std::ffi::OsString;
use std::fs::{self, File};
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;

/// The repository that a directory belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    cwd: PathBuf,
    index: PathBuf,
    objects: PathBuf,
}

/// What HEAD points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) commit: String,
    pub(crate) tree: String,
}

/// Where the state of the work tree is put together.
#[derive(Debug)]
pub(crate) struct Workbench {
    index: PathBuf,
    /// Where new objects go; none: into the repository.
    objects: Option<PathBuf>,
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
    #[error("the index of the repository can't be copied: {0}")]
    Index(String),
}

impl Repository {
    /// The repository around a directory; none where no parent has a `.git`.
    pub(crate) async fn find(cwd: &Path, tree: &Tree) -> Result<Option<Self>, GitError> {
        if !cwd.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
            return Ok(None);
        }
        let mut this = Self { cwd: cwd.to_owned(), index: PathBuf::new(), objects: PathBuf::new() };
        let paths = ["--git-path", "index", "--git-path", "objects"];
        let words = ["rev-parse", "--is-inside-work-tree"].into_iter().chain(paths);
        let answer = this.ask(tree, &words.collect::<Vec<_>>(), &[]).await?;
        let mut lines = answer.lines();
        if lines.next() != Some("true") {
            return Ok(None);
        }
        // Git answers relative to the directory that it runs in.
        this.index = cwd.join(lines.next().unwrap_or_default());
        this.objects = cwd.join(lines.next().unwrap_or_default());
        Ok(Some(this))
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
        let added = self.run(tree, &words, &env, bench.is_throw_away()).await;
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
        if bench.is_throw_away() {
            // Objects of earlier looks have been removed by now.
            words.push("--missing-ok");
        }
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
        let outcome = self.run(tree, words, env, false).await;
        if !outcome.is_success() {
            return Err(failure(words, &outcome));
        }
        let text = String::from_utf8_lossy(&outcome.stdout);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    async fn run(
        &self,
        tree: &Tree,
        words: &[&str],
        env: &[(OsString, Option<OsString>)],
        in_a_hurry: bool,
    ) -> SideOutcome {
        self.command(words, env, in_a_hurry).run(tree, pending()).await
    }

    fn command(
        &self,
        words: &[&str],
        env: &[(OsString, Option<OsString>)],
        in_a_hurry: bool,
    ) -> SideCommand {
        let hurry: &[&str] = if in_a_hurry { HURRY } else { &[] };
        let settings = QUIET.iter().chain(hurry).flat_map(|setting| ["-c", setting]);
        let words = ["git", "--no-pager"].into_iter().chain(settings).chain(words.iter().copied());
        let mut command =
            SideCommand::new(Invocation::Program(words.map(OsString::from).collect()), &self.cwd);
        command.timeout = TIME_OUT;
        command.env = scrubbed(std::env::vars_os().map(|(name, _)| name));
        command.env.extend_from_slice(env);
        command
    }

    /// Starts from the user's index, so that only what changed since is read. Ours is used again
    /// for as long as theirs stays: what we added to it need not be read twice.
    async fn copy_index(&self, bench: &mut Workbench) -> Result<(), GitError> {
        let (from, to) = (self.index.clone(), bench.index.clone());
        let (known, objects) = (bench.copied.clone(), bench.objects.clone());
        let repository_objects = self.objects.clone();
        let copied = tokio::task::spawn_blocking(move || {
            if let Some(objects) = objects {
                prepare_objects(&objects, &repository_objects)?;
            }
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
    /// For looking only: new objects go beside the index and are removed by [`Self::tidy`].
    pub(crate) fn for_looking(folder: &Path) -> Self {
        Self { index: folder.join("index"), objects: Some(folder.join("objects")), copied: None }
    }

    /// For keeping: new objects go into the repository.
    pub(crate) fn for_keeping(repository: &Repository, name: &str) -> Self {
        let index = repository.index.with_file_name(format!("backstop-{name}-index"));
        Self { index, objects: None, copied: None }
    }

    /// Removes the objects, and for good the index as well.
    pub(crate) async fn tidy(&mut self, for_good: bool) {
        let objects = self.objects.clone();
        let index = for_good.then(|| self.index.clone());
        let removed = tokio::task::spawn_blocking(move || {
            objects.map(fs::remove_dir_all).transpose()?;
            index.map(fs::remove_file).transpose()
        });
        // What stays behind is in the way of nobody: it is removed or replaced the next time.
        drop(removed.await);
    }

    fn is_throw_away(&self) -> bool {
        self.objects.is_some()
    }

    fn variables(&self) -> Vec<(OsString, Option<OsString>)> {
        let set = |name: &str, path: &Path| (name.into(), Some(path.as_os_str().to_owned()));
        let index = [set("GIT_INDEX_FILE", &self.index)].into_iter();
        index.chain(self.objects.iter().map(|path| set("GIT_OBJECT_DIRECTORY", path))).collect()
    }
}

/// What tells one version of an index from another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    Missing,
    Present { modified: SystemTime, bytes: u64, inode: u64 },
}

fn copy_if_changed(from: &Path, to: &Path, known: Option<&Stamp>) -> io::Result<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let (stamp, modified) = match fs::metadata(from) {
        Ok(metadata) => {
            let modified = metadata.modified()?;
            let (bytes, inode) = (metadata.len(), metadata.ino());
            (Stamp::Present { modified, bytes, inode }, modified)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (Stamp::Missing, SystemTime::UNIX_EPOCH)
        }
        Err(error) => return Err(error),
    };
    if known == Some(&stamp) && to.exists() {
        return Ok(stamp);
    }
    remove_if_there(to)?;
    remove_if_there(&to.with_extension("lock"))?;
    if stamp != Stamp::Missing {
        fs::copy(from, to)?;
        // Git distrusts entries as young as the index. A younger copy would be trusted too much.
        File::options().write(true).open(to)?.set_modified(modified)?;
    }
    Ok(stamp)
}

/// An object directory of our own that also finds what is in the repository's.
fn prepare_objects(objects: &Path, repository: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let info = objects.join("info");
    fs::create_dir_all(&info)?;
    let mut line = repository.canonicalize()?.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    fs::write(info.join("alternates"), line)
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

/// Nothing of the user's runs, and nothing but what was asked for is written.
const QUIET: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "color.ui=false",
    "advice.addEmbeddedRepo=false",
];

/// For objects that are removed right away.
const HURRY: &[&str] = &["core.compression=0", "core.looseCompression=0", "core.fsync=none"];

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
