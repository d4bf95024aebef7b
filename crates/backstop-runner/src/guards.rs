//! Guards: what the work must not touch.
//!
//! What changed is told by the look at the work tree that progress is measured with; what is
//! protected is compared with what it was when the run began, file by file. A guard that can't be
//! checked is never taken for one that holds.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use backstop_core::event::{Guard, GuardKind};
use backstop_core::glob::Glob;
use backstop_core::policy::GuardSettings;
use backstop_store::RunFolder;

use crate::git::changes::Change;
use crate::progress::{ProgressSources, Witness};

pub(crate) mod beginning;
pub(crate) mod claims;
pub(crate) mod protected;
pub(crate) mod revert;
pub mod session;
pub(crate) mod standing;
mod walk;

use protected::Protected;

/// What a run knows of its guards between two checks.
#[derive(Debug)]
pub(crate) struct Guards {
    pub(crate) protected: Protected,
    /// Protected files that are not what they were when the run began.
    pub(crate) spoilt: BTreeSet<Vec<u8>>,
    /// Why the last check could not be made.
    pub(crate) unchecked: Option<String>,
    /// Why nobody can tell what changes.
    pub(crate) blind: Option<String>,
    /// The last check was cut short, because the run was to end.
    pub(crate) is_cut_short: bool,
    /// Files were put back since the last look.
    pub(crate) has_reverted: bool,
}

impl Guards {
    pub(crate) fn new(protected: Protected) -> Self {
        Self {
            protected,
            spoilt: BTreeSet::new(),
            unchecked: None,
            blind: None,
            is_cut_short: false,
            has_reverted: false,
        }
    }

    /// What the last check found is no news of this one's.
    pub(crate) fn begin_check(&mut self) {
        self.unchecked = None;
        self.is_cut_short = false;
    }
}

/// A file that changed, as seen from the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: Vec<u8>,
    /// What git knows of it; none outside a repository.
    pub(crate) change: Option<Change>,
}

/// A file that may not have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) kind: GuardKind,
    pub(crate) file: Changed,
}

/// What changed in the iteration that was measured last.
///
/// # Errors
/// Nobody can tell, and why.
pub(crate) async fn changed(progress: &ProgressSources) -> Result<Vec<Changed>, String> {
    match progress.witness() {
        Some(Witness::Git(git)) => {
            let changes = git.changes(progress.tree()).await.map_err(|error| error.to_string())?;
            let changes = changes.ok_or("nobody saw the files when the iteration began")?;
            let seen = |change: Change| Changed {
                path: git.repository().seen_from_here(&change.path),
                change: Some(change),
            };
            Ok(changes.into_iter().map(seen).collect())
        }
        Some(Witness::Files(files)) => {
            let paths = files.changes().ok_or("there are too many files outside a repository")?;
            let seen = |path: PathBuf| Changed {
                path: path.as_os_str().as_bytes().to_vec(),
                change: None,
            };
            Ok(paths.into_iter().map(seen).collect())
        }
        None => Err("nobody looks at the files".to_owned()),
    }
}

/// The changes that a guard forbids. What is protected is not among them: it is told by its content.
pub(crate) fn out_of_scope(settings: &GuardSettings, mut changed: Vec<Changed>) -> Vec<Violation> {
    // Of a repository within, whose changes are known, its commit tells nothing more.
    let holders: BTreeSet<Vec<u8>> = (changed.iter())
        .filter(|file| file.change.as_ref().is_some_and(|change| change.is_within))
        .flat_map(|file| folders_of(&file.path))
        .collect();
    changed.retain(|file| {
        let is_repository = file.change.as_ref().is_some_and(|change| change.is_repository);
        !(is_repository && holders.contains(&file.path))
    });
    let violation = |file: Changed| {
        // A repository within is a folder to those who write globs.
        let as_folder = file.change.as_ref().filter(|change| change.is_repository);
        let inside = as_folder.map(|_| [&file.path[..], b"/."].concat());
        let of_path = settings.out_of_scope(&file.path)?;
        let kind = match inside {
            Some(inside) => settings.out_of_scope(&inside)?.kind,
            None => of_path.kind,
        };
        Some(Violation { kind, file })
    };
    changed.into_iter().filter_map(violation).collect()
}

/// All folders that a path is in.
fn folders_of(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    ends.map(|end| path[..end].to_vec())
}

/// Where a look from outside the loop remembers which files need not be read again.
pub(crate) fn remembered(folder: &RunFolder) -> PathBuf {
    folder.seen_trees().with_extension("git")
}

/// What may not be changed, because it judges the work.
pub(crate) fn protected_globs(settings: &GuardSettings) -> &[Glob] {
    settings.protect.as_ref().map_or(&[], |globs| &globs.0)
}

pub(crate) fn protected_files(paths: &[Vec<u8>]) -> impl Iterator<Item = (GuardKind, &[u8])> {
    paths.iter().map(|path| (GuardKind::Protected, path.as_slice()))
}

/// What is journalled of violated guards: an event a kind, its files sorted.
pub(crate) fn events<'a>(files: impl IntoIterator<Item = (GuardKind, &'a [u8])>) -> Vec<Guard> {
    let mut of_kinds = KINDS.map(|kind| (kind, BTreeSet::new()));
    for (kind, path) in files {
        if let Some((_, names)) = of_kinds.iter_mut().find(|(known, _)| *known == kind) {
            names.insert(path);
        }
    }
    let violated = of_kinds.into_iter().filter(|(_, names)| !names.is_empty());
    let event = |(kind, names): (GuardKind, BTreeSet<&[u8]>)| {
        let names = names.into_iter().take(MOST_FILES);
        Guard {
            kind,
            files: names.map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
        }
    };
    violated.map(event).collect()
}

const KINDS: [GuardKind; 5] = [
    GuardKind::Scope,
    GuardKind::Protected,
    GuardKind::Lockfile,
    GuardKind::Dirty,
    GuardKind::Collision,
];
const MOST_FILES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_sorted_each_once_and_not_without_end() {
        let names: Vec<Vec<u8>> = (0..150).rev().map(|n| format!("{n:03}").into_bytes()).collect();
        let files = names.iter().chain(&names).map(|name| (GuardKind::Scope, name.as_slice()));
        let odd: &[u8] = b"a\xffb";
        let events = events(files.chain([(GuardKind::Lockfile, odd)]));
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].files.len(), 100);
        assert_eq!(events[0].files[..2], ["000", "001"]);
        assert_eq!(
            events[1],
            Guard { kind: GuardKind::Lockfile, files: vec!["a\u{fffd}b".into()] }
        );
    }
}
