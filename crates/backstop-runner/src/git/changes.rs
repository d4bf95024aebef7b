//! What changed between two looks at a repository: files that somebody found changed already, and
//! left as they were, did not.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::look::{Entry, Look};
use super::status::{Object, REPOSITORY, object};
use super::{GitError, Head, Repository};
use crate::tree::Tree;

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// From the top of the work tree.
    pub(crate) path: Vec<u8>,
    /// What was in the work tree before.
    pub(crate) before: Option<Object>,
    /// It was as it was committed, so that git can give it back.
    pub(crate) was_committed: bool,
    /// Git knows it by now.
    pub(crate) is_tracked: bool,
    pub(crate) is_repository: bool,
    /// It is in a repository within this one, of whose versions git does not know here.
    pub(crate) is_within: bool,
}

/// The two versions of a file that differ between two commits.
pub(crate) type Moves = BTreeMap<Vec<u8>, (Option<Object>, Option<Object>)>;

impl Repository {
    /// The files that are not what they were between two looks, also those that were committed
    /// meanwhile, here or in a repository within.
    pub(crate) async fn changes(
        &self,
        tree: &Tree,
        before: &Look,
        now: &Look,
    ) -> Result<Vec<Change>, GitError> {
        let mut moves = self.moves(tree, before.commit(), now.head.as_ref()).await?;
        self.add_moves_within(tree, before, now, &mut moves).await?;
        Ok(changes(before, now, &moves))
    }

    /// A commit in a repository within is one version there: what it changed is told by that one.
    async fn add_moves_within(
        &self,
        tree: &Tree,
        before: &Look,
        now: &Look,
        moves: &mut Moves,
    ) -> Result<(), GitError> {
        let commit = before.commit();
        let mut open: Vec<Vec<u8>> = paths(before, now, moves).into_iter().cloned().collect();
        while let Some(path) = open.pop() {
            let (old, new) = versions(&path, before, now, moves);
            let (from, to) = (commit_within(&old), commit_within(&new));
            let folder = self.top().join(OsStr::from_bytes(&path));
            if from == to || folder.join(".git").symlink_metadata().is_err() {
                continue;
            }
            let Some(within) = Self::find(&folder, tree).await? else { continue };
            // Another work tree of this very repository begins with what is committed here.
            let is_own = from.is_none() && self.shares_history_with(&within, tree).await?;
            let from = if is_own { commit } else { from };
            // A repository that was made anew, or tidied after its commits were rewritten, does not
            // know where it was: then everything in it is new.
            let from = match from {
                Some(commit) if within.knows(tree, commit).await => Some(commit),
                _ => None,
            };
            for (name, versions) in within.moves_between(tree, from, to).await? {
                let name = [&path[..], b"/", &name].concat();
                open.push(name.clone());
                moves.insert(name, versions);
            }
        }
        Ok(())
    }

    async fn shares_history_with(&self, other: &Self, tree: &Tree) -> Result<bool, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        Ok(self.ask(tree, &words, &[]).await? == other.ask(tree, &words, &[]).await?)
    }

    async fn knows(&self, tree: &Tree, commit: &str) -> bool {
        let commit = format!("{commit}^{{commit}}");
        self.ask(tree, &["cat-file", "-e", &commit], &[]).await.is_ok()
    }

    /// What differs between two commits; without one, everything does.
    pub(crate) async fn moves(
        &self,
        tree: &Tree,
        from: Option<&str>,
        to: Option<&Head>,
    ) -> Result<Moves, GitError> {
        self.moves_between(tree, from, to.map(|head| head.commit.as_str())).await
    }

    async fn moves_between(
        &self,
        tree: &Tree,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Moves, GitError> {
        if from == to {
            return Ok(Moves::new());
        }
        let nothing = match from.or(to).map(str::len) {
            Some(64) => EMPTY_TREE_SHA256,
            _ => EMPTY_TREE,
        };
        let words = [DIFFER, &[from.unwrap_or(nothing), to.unwrap_or(nothing)]].concat();
        let listed = self.list(tree, &words, &[]).await?;
        moves(&listed).ok_or(GitError::Unreadable { command: "diff-tree" })
    }
}

/// `:100644 100644 <id> <id> M`, a zero byte, the path, a zero byte.
fn moves(listed: &[u8]) -> Option<Moves> {
    let mut moves = Moves::new();
    let mut fields = listed.split(|byte| *byte == 0);
    while let Some(line) = fields.next().filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).ok()?.strip_prefix(':')?;
        let words: Vec<&str> = line.split(' ').collect();
        let [old_mode, new_mode, old, new, _] = words[..] else { return None };
        let versions = (object(old_mode, old)?, object(new_mode, new)?);
        moves.insert(fields.next()?.to_vec(), versions);
    }
    Some(moves)
}

/// The files that are not what they were. A version that was there before, committed, staged or in
/// the work tree, may be committed or staged without being a change.
fn changes(before: &Look, now: &Look, moves: &Moves) -> Vec<Change> {
    let mut changes = Vec::new();
    // Paths come in order, so that a repository comes before what is in it.
    let mut repositories: Vec<&[u8]> = Vec::new();
    for path in paths(before, now, moves) {
        let (old, new) = versions(path, before, now, moves);
        let is_repository = old.is_repository || new.is_repository;
        let is_within = repositories.iter().any(|folder| is_in(path, folder));
        if is_repository {
            repositories.push(path);
        }
        let was_there = |version: &Option<Object>| {
            *version == old.head || *version == old.index || *version == old.work
        };
        if new.work == old.work && was_there(&new.head) && was_there(&new.index) {
            continue;
        }
        changes.push(Change {
            path: path.clone(),
            was_committed: old.head == old.work,
            before: old.work,
            is_tracked: new.head.is_some() || new.index.is_some(),
            is_repository,
            is_within,
        });
    }
    changes
}

/// All that may have changed.
fn paths<'a>(before: &'a Look, now: &'a Look, moves: &'a Moves) -> BTreeSet<&'a Vec<u8>> {
    before.entries.keys().chain(now.entries.keys()).chain(moves.keys()).collect()
}

/// A file as it was and as it is.
fn versions(path: &Vec<u8>, before: &Look, now: &Look, moves: &Moves) -> (Entry, Entry) {
    let (known, found) = (before.entries.get(path), now.entries.get(path));
    let moved = moves.get(path);
    let committed = |here: Option<&Entry>, there: Option<&Entry>, side: Option<&Option<Object>>| {
        // What did not move between the commits is the same in both.
        here.map(|entry| entry.head.clone())
            .or_else(|| side.cloned())
            .unwrap_or_else(|| there.and_then(|entry| entry.head.clone()))
    };
    let old = whole(known, committed(known, found, moved.map(|moved| &moved.0)));
    let new = whole(found, committed(found, known, moved.map(|moved| &moved.1)));
    (old, new)
}

fn is_in(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

/// The commit that is checked out in a repository within; none where there is none, or no such
/// repository.
fn commit_within(entry: &Entry) -> Option<&str> {
    let version = entry.work.as_ref().filter(|version| version.mode == REPOSITORY)?;
    Some(version.id.as_str()).filter(|commit| !commit.is_empty())
}

fn whole(entry: Option<&Entry>, committed: Option<Object>) -> Entry {
    entry.cloned().unwrap_or_else(|| Entry {
        is_repository: committed.as_ref().is_some_and(|object| object.mode == REPOSITORY),
        head: committed.clone(),
        index: committed.clone(),
        work: committed,
    })
}

const DIFFER: &[&str] =
    &["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"];
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
