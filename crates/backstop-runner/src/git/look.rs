//! One look at a repository, for everybody who wants to know what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::blob::Blobs;
use super::hidden;
pub(crate) use super::status::Object;
use super::status::{self, Line, REPOSITORY, Work};
use super::{GitError, Head, Repository, Stamp, Workbench};
use crate::tree::Tree;

/// What was committed last, and how the work tree differs from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) head: Option<Head>,
    /// By paths from the top of the work tree; those that are left out are as they were committed.
    #[serde(with = "pairs")]
    pub(crate) entries: BTreeMap<Vec<u8>, Entry>,
}

impl Look {
    pub(crate) fn commit(&self) -> Option<&str> {
        self.head.as_ref().map(|head| head.commit.as_str())
    }
}

/// Paths are bytes, and keys in JSON are not.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Entry;

    pub fn serialize<S: Serializer>(
        entries: &BTreeMap<Vec<u8>, Entry>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(entries)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Vec<u8>, Entry>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The versions of a file that is not everywhere as it was committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) head: Option<Object>,
    pub(crate) index: Option<Object>,
    pub(crate) work: Option<Object>,
    /// A repository within the repository: its version is the commit that is checked out.
    pub(crate) is_repository: bool,
}

/// Looks at a repository, and remembers what it need not read again.
#[derive(Debug)]
pub(crate) struct Looking {
    pub(crate) repository: Repository,
    bench: Workbench,
    /// The user's index at the last look.
    index: Option<Stamp>,
    blobs: Blobs,
    /// At the last look.
    head: Option<Head>,
    /// The index that was searched for hidden files, and whether it has any.
    hides: Option<(Stamp, bool)>,
    /// What was hidden at the first look: a sparse work tree, or what a person does not want to see.
    hidden_before: Option<BTreeSet<Vec<u8>>>,
}

impl Looking {
    pub(crate) fn new(repository: Repository, folder: &Path) -> Self {
        let bench = Workbench::for_looking(folder);
        Self {
            repository,
            bench,
            index: None,
            blobs: Blobs::default(),
            head: None,
            hides: None,
            hidden_before: None,
        }
    }

    /// What is there now: tracked or not, staged or not, but not what is ignored.
    pub(crate) async fn look(&mut self, tree: &Tree) -> Result<Look, GitError> {
        let env = self.index_to_use().await?;
        let listed = self.repository.list(tree, STATUS, &env).await?;
        let mut lines = status::read(&listed)?;
        let head = self.head_of(status::commit(&listed), tree).await?;
        let top = self.repository.top.clone();
        let id_length = head.as_ref().map_or(40, |head| head.commit.len());
        let hidden = self.hidden(tree, id_length).await?;
        let before = self
            .hidden_before
            .get_or_insert_with(|| hidden.iter().map(|line| line.path.clone()).collect());
        uncover(&mut lines, &hidden, before);
        let mut entries = settle(&mut self.blobs, &top, lines, id_length).await?;
        for line in &hidden {
            // Most of what is hidden is as it was committed.
            let is_same = |entry: &Entry| entry.work == entry.index && entry.index == entry.head;
            if entries.get(&line.path).is_some_and(is_same) {
                entries.remove(&line.path);
            }
        }
        inner(tree, &top, &mut entries, DEEPEST).await?;
        Ok(Look { head, entries })
    }

    /// What HEAD points at, by the commit that the status names: its tree is asked for when it is
    /// another one than before.
    async fn head_of(
        &mut self,
        commit: Option<&str>,
        tree: &Tree,
    ) -> Result<Option<Head>, GitError> {
        let is_known = |head: &&Head| Some(head.commit.as_str()) == commit;
        if let Some(head) = self.head.as_ref().filter(is_known) {
            return Ok(Some(head.clone()));
        }
        self.head = self.repository.head(tree).await?;
        Ok(self.head.clone())
    }

    /// The files that git was told not to look at.
    async fn hidden(&mut self, tree: &Tree, id_length: usize) -> Result<Vec<Line>, GitError> {
        let Some(stamp) = self.repository.index_stamp() else { return Ok(Vec::new()) };
        let hides = match &self.hides {
            Some((known, hides)) if *known == stamp => *hides,
            _ => {
                let index = self.repository.index.clone();
                let search = move || hidden::hides(&std::fs::read(index).ok()?, id_length / 2);
                let found = tokio::task::spawn_blocking(search).await.ok().flatten();
                found.unwrap_or(true)
            }
        };
        self.hides = Some((stamp, hides));
        if !hides {
            return Ok(Vec::new());
        }
        hidden::read(&self.repository.list(tree, hidden::LIST, &[]).await?)
    }

    /// An index of our own keeps what was found out about files and folders, so that the next look
    /// takes half the time. To write it costs as much as that saves: while somebody else keeps
    /// writing theirs, theirs is read.
    async fn index_to_use(&mut self) -> Result<Vec<(OsString, Option<OsString>)>, GitError> {
        let stamp = self.repository.index_stamp();
        let is_known = stamp.is_some() && stamp == self.index;
        self.index = stamp;
        if !is_known {
            return Ok(Vec::new());
        }
        self.repository.copy_index(&mut self.bench).await?;
        let mut env = self.bench.variables();
        env.push(("GIT_OPTIONAL_LOCKS".into(), Some("1".into())));
        Ok(env)
    }
}

/// Has files that were hidden meanwhile read, whatever the status says of them.
fn uncover(lines: &mut Vec<Line>, hidden: &[Line], before: &BTreeSet<Vec<u8>>) {
    if hidden.is_empty() {
        return;
    }
    let known: BTreeMap<_, _> =
        lines.iter().enumerate().map(|(place, line)| (line.path.clone(), place)).collect();
    for line in hidden.iter().filter(|line| !line.is_repository && !before.contains(&line.path)) {
        match known.get(&line.path) {
            Some(place) => lines[*place].work = Work::Other,
            None => lines.push(line.clone()),
        }
    }
}

/// Reads the files whose content only they can tell.
async fn settle(
    blobs: &mut Blobs,
    top: &Path,
    lines: Vec<Line>,
    id_length: usize,
) -> Result<BTreeMap<Vec<u8>, Entry>, GitError> {
    let unread = |line: &&Line| line.work == Work::Other && !line.is_repository;
    let paths: Vec<Vec<u8>> = lines.iter().filter(unread).map(|line| line.path.clone()).collect();
    let (mut taken, folder) = (std::mem::take(blobs), top.to_owned());
    let looked = tokio::task::spawn_blocking(move || {
        let found = taken.look(&folder, paths, id_length);
        (taken, found)
    });
    let looked = looked.await.map_err(|panicked| GitError::NotStarted(panicked.to_string()))?;
    let mut found = looked.1;
    *blobs = looked.0;
    let mut entries = BTreeMap::new();
    for line in lines {
        let work = match line.work {
            Work::AsInIndex => line.index.clone(),
            Work::Missing => None,
            Work::Other => found.remove(&line.path).flatten(),
        };
        enter(&mut entries, line, work);
    }
    Ok(entries)
}

/// What is untracked can also be known as deleted, if it was taken out of the index only.
fn enter(entries: &mut BTreeMap<Vec<u8>, Entry>, line: Line, work: Option<Object>) {
    let Line { path, head, index, is_repository, .. } = line;
    match entries.get_mut(&path) {
        Some(known) => known.work = known.work.take().or(work),
        None => drop(entries.insert(path, Entry { head, index, work, is_repository })),
    }
}

/// Looks into the repositories within this one whose files are not as they were committed there.
async fn inner(
    tree: &Tree,
    top: &Path,
    entries: &mut BTreeMap<Vec<u8>, Entry>,
    depth: usize,
) -> Result<(), GitError> {
    let repositories: Vec<Vec<u8>> = entries
        .iter()
        .filter(|(_, entry)| entry.is_repository)
        .map(|(path, _)| path.clone())
        .collect();
    for path in repositories {
        let folder = top.join(OsStr::from_bytes(&path));
        let found = match Repository::find(&folder, tree).await? {
            Some(found) if folder.join(".git").symlink_metadata().is_ok() => found,
            // It was removed.
            _ => continue,
        };
        let head = found.head(tree).await?;
        let commit = head.as_ref().map(|head| head.commit.clone()).unwrap_or_default();
        if let Some(entry) = entries.get_mut(&path) {
            entry.work = Some(Object { mode: REPOSITORY, id: commit.clone() });
        }
        if depth == 0 {
            continue;
        }
        let lines = status::read(&found.list(tree, STATUS, &[]).await?)?;
        let id_length = commit.len().max(40);
        let mut below = settle(&mut Blobs::default(), &folder, lines, id_length).await?;
        Box::pin(inner(tree, &folder, &mut below, depth - 1)).await?;
        entries.extend(
            below.into_iter().map(|(name, entry)| ([&path[..], b"/", &name].concat(), entry)),
        );
    }
    Ok(())
}

const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    // How far others are would have the history walked.
    "--no-ahead-behind",
    "--no-renames",
    "--ignore-submodules=none",
];

/// Repositories within repositories.
const DEEPEST: usize = 4;
