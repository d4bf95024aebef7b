//! What changed between two looks at a repository: files that somebody found changed already, and
//! left as they were, did not.

use std::collections::{BTreeMap, BTreeSet};

use super::look::{Entry, Look};
use super::status::{Object, object};
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
}

/// The two versions of a file that differ between two commits.
pub(crate) type Moves = BTreeMap<Vec<u8>, (Option<Object>, Option<Object>)>;

impl Repository {
    /// What differs between two commits; without one, everything does.
    pub(crate) async fn moves(
        &self,
        tree: &Tree,
        from: Option<&str>,
        to: Option<&Head>,
    ) -> Result<Moves, GitError> {
        let to = to.map(|head| head.commit.as_str());
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
pub(crate) fn changes(before: &Look, now: &Look, moves: &Moves) -> Vec<Change> {
    let paths: BTreeSet<&Vec<u8>> =
        before.entries.keys().chain(now.entries.keys()).chain(moves.keys()).collect();
    let mut changes = Vec::new();
    for path in paths {
        let (known, found) = (before.entries.get(path), now.entries.get(path));
        let moved = moves.get(path);
        let committed =
            |here: Option<&Entry>, there: Option<&Entry>, side: Option<&Option<Object>>| {
                // What did not move between the commits is the same in both.
                here.map(|entry| entry.head.clone())
                    .or_else(|| side.cloned())
                    .unwrap_or_else(|| there.and_then(|entry| entry.head.clone()))
            };
        let old = whole(known, committed(known, found, moved.map(|moved| &moved.0)));
        let new = whole(found, committed(found, known, moved.map(|moved| &moved.1)));
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
            is_repository: old.is_repository || new.is_repository,
        });
    }
    changes
}

fn whole(entry: Option<&Entry>, committed: Option<Object>) -> Entry {
    entry.cloned().unwrap_or_else(|| Entry {
        is_repository: committed.as_ref().is_some_and(|object| object.mode == 0o16_0000),
        head: committed.clone(),
        index: committed.clone(),
        work: committed,
    })
}

const DIFFER: &[&str] =
    &["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"];
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
