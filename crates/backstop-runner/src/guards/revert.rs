//! Putting files back that violated a guard, and nothing else. What is taken away was kept before.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use backstop_core::id::RunId;
use backstop_store::RunFolder;

use super::protected::{Kind, Protected};
use super::{Changed, Violation};
use crate::git::{GitError, Repository};
use crate::keep;
use crate::tree::Tree;

/// What became of the files.
#[derive(Debug, Default)]
pub(crate) struct Reverted {
    /// As seen from the working directory.
    pub(crate) files: Vec<Vec<u8>>,
    /// Those that stay as they are, and why.
    pub(crate) left: Vec<String>,
}

/// What files are put back from, and where what they are now is kept.
pub(crate) struct Sources<'a> {
    pub(crate) run: RunId,
    pub(crate) iteration: u64,
    pub(crate) cwd: &'a Path,
    pub(crate) folder: &'a RunFolder,
    pub(crate) tree: &'a Tree,
    /// With the commit at the beginning; none outside a repository.
    pub(crate) repository: Option<(&'a Repository, Option<&'a str>)>,
    pub(crate) protected: &'a Protected,
}

impl Sources<'_> {
    /// Puts files back, once everything is kept. Gives the ref that keeps it, too.
    ///
    /// # Errors
    /// It could not be kept, so nothing was put back.
    pub(crate) async fn put_back(
        &self,
        violations: &[Violation],
        spoilt: &[Vec<u8>],
    ) -> Result<(Reverted, Option<String>), GitError> {
        let Self { run, iteration, cwd, tree, .. } = *self;
        let message = format!("{run}: before files were put back");
        let kept = keep::keep_before_revert(cwd, run, iteration, &message, tree).await?;
        let files: Vec<Changed> = violations.iter().map(|found| found.file.clone()).collect();
        let mut all = match self.repository {
            Some((repository, commit)) => {
                let list = self.folder.path().join("put-back");
                changed(repository, tree, commit, &files, &list).await
            }
            None => {
                let mut left = Reverted::default();
                let why = "there is no repository to put it back from";
                files.iter().for_each(|file| left.leave(&file.path, why));
                left
            }
        };
        // Last, since a new file may stand where a protected folder was.
        let last = protected(self.protected, spoilt, iteration).await;
        all.files.extend(last.files);
        all.left.extend(last.left);
        Ok((all, kept))
    }
}

impl Reverted {
    /// What was put back and where what was there is kept, in words; none if nothing was.
    pub(crate) fn told(&self, kept: Option<&str>) -> Option<String> {
        let names: Vec<_> =
            self.files.iter().map(|path| String::from_utf8_lossy(path)).take(MOST_NAMES).collect();
        let place = kept.map(|name| format!("; kept as {name}")).unwrap_or_default();
        (!names.is_empty()).then(|| format!("{}{place}", names.join(", ")))
    }

    fn leave(&mut self, path: &[u8], why: impl std::fmt::Display) {
        self.left.push(format!("`{}`: {why}", String::from_utf8_lossy(path)));
    }
}

/// Puts protected files back from the copies that were made when the run began. What is there now
/// goes to the run's folder first, since git does not keep what it ignores.
pub(crate) async fn protected(
    protected: &Protected,
    paths: &[Vec<u8>],
    iteration: u64,
) -> Reverted {
    let kept = protected.taken_away(iteration);
    let mut reverted = Reverted::default();
    let mut paths: Vec<&Vec<u8>> = paths.iter().collect();
    // What is new goes first: it may stand where a folder was.
    paths.sort_by_key(|path| protected.first(path).is_some());
    for path in paths {
        let file = protected.cwd().join(OsStr::from_bytes(path));
        let first = protected.first(path).map(|(print, copy)| (print.kind, copy));
        let kept = kept.join(flat(path));
        let work = tokio::task::spawn_blocking(move || {
            keep(&file, &kept)?;
            match first {
                Some((kind, copy)) => replace(&file, kind, &copy),
                None => remove(&file),
            }
        });
        match work.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked))) {
            Ok(()) => reverted.files.push(path.clone()),
            Err(error) => reverted.leave(path, error),
        }
    }
    reverted
}

/// Puts files back that git knows, or knows nothing of because they are new.
pub(crate) async fn changed(
    repository: &Repository,
    tree: &Tree,
    commit: Option<&str>,
    files: &[Changed],
    list: &Path,
) -> Reverted {
    let mut reverted = Reverted::default();
    let (mut by_git, mut new) = (Vec::new(), Vec::new());
    for file in files {
        match &file.change {
            Some(change) if change.is_repository || change.is_within => {
                reverted.leave(&file.path, "a repository of its own is not put back");
            }
            Some(change) if change.before.is_none() => new.push((file, change)),
            Some(change) if change.was_committed => by_git.push((file, change)),
            _ => reverted.leave(&file.path, "it had changes before that git does not know"),
        }
    }
    // What is in the index by now must leave it too; what is in neither is only removed.
    let staged = new.iter().filter(|(_, change)| change.is_tracked && commit.is_some());
    let paths: Vec<&[u8]> =
        by_git.iter().chain(staged).map(|(_, change)| change.path.as_slice()).collect();
    let restored = match commit {
        Some(commit) if !paths.is_empty() => restore(repository, tree, commit, &paths, list).await,
        _ => Ok(()),
    };
    for (file, change) in by_git.iter().chain(&new) {
        let path = repository.top().join(OsStr::from_bytes(&change.path));
        let done = match (&restored, &change.before) {
            (Err(error), Some(_)) => Err(io::Error::other(error.to_string())),
            (_, Some(_)) => Ok(()),
            (_, None) => remove(&path),
        };
        match done {
            Ok(()) => reverted.files.push(file.path.clone()),
            Err(error) => reverted.leave(&file.path, error),
        }
    }
    reverted
}

/// Takes files from a commit into index and work tree. Their names go by a file, each with a zero
/// byte at its end, and mean themselves.
async fn restore(
    repository: &Repository,
    tree: &Tree,
    commit: &str,
    paths: &[&[u8]],
    list: &Path,
) -> Result<(), GitError> {
    let names: Vec<u8> = paths.iter().flat_map(|path| [*path, b"\0"].concat()).collect();
    fs::write(list, names).map_err(|error| GitError::Index(error.to_string()))?;
    let source = format!("--source={commit}");
    let file = format!("--pathspec-from-file={}", list.display());
    let words = ["restore", &source, "--staged", "--worktree", &file, "--pathspec-file-nul"];
    let restored = repository.ask_at_top(tree, &words).await;
    // The list is of no use to anybody else.
    let _ = fs::remove_file(list);
    restored.map(drop)
}

/// Copies what is about to be replaced.
fn keep(file: &Path, kept: &Path) -> io::Result<()> {
    let Ok(metadata) = file.symlink_metadata() else { return Ok(()) };
    kept.parent().map_or(Ok(()), fs::create_dir_all)?;
    if metadata.is_symlink() {
        fs::write(kept, fs::read_link(file)?.as_os_str().as_bytes())
    } else if metadata.is_file() {
        fs::copy(file, kept).map(drop)
    } else {
        Err(io::Error::other("it is no file any more"))
    }
}

/// Puts a copy in the place of a file, so that whoever reads it finds the one or the other.
fn replace(file: &Path, kind: Kind, copy: &Path) -> io::Result<()> {
    clear_the_way(file)?;
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".backstop");
    let beside: PathBuf = file.with_file_name(name);
    match kind {
        Kind::Link => symlink(OsStr::from_bytes(&fs::read(copy)?), &beside)?,
        Kind::Plain | Kind::Executable => {
            // With the permissions that the file had when it was copied.
            fs::copy(copy, &beside)?;
        }
        Kind::Other => return Err(io::Error::other("it was no file")),
    }
    fs::rename(&beside, file).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Takes away a file that stands where a folder was. The state of the work was kept before.
fn clear_the_way(file: &Path) -> io::Result<()> {
    let in_the_way = file.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    match in_the_way {
        Some(folder) if !folder.is_dir() => fs::remove_file(folder),
        _ => Ok(()),
    }
}

/// Removes a file that was not there before, and the folders that it leaves empty.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for folder in file.ancestors().skip(1) {
        // Something else is in it.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// A path as the name of one file.
fn flat(path: &[u8]) -> PathBuf {
    let name: Vec<u8> = path.iter().map(|byte| if *byte == b'/' { b'%' } else { *byte }).collect();
    PathBuf::from(OsStr::from_bytes(&name))
}

const MOST_NAMES: usize = 100;
