//! Progress that git shows: commits, and states of the work tree not seen before in this run.

use std::path::Path;
use std::time::{Duration, Instant};

use backstop_core::event::{Progress, ProgressKind};
use xxhash_rust::xxh3::Xxh3;

use super::seen::Seen;
use crate::git::changes::{Change, Moves};
use crate::git::look::{Look, Looking};
use crate::git::{GitError, Head, Repository};
use crate::tree::Tree;

/// A repository, and what it looked like when the iteration began and when it ended.
#[derive(Debug)]
pub(crate) struct GitStates {
    looking: Looking,
    /// Progress is made of it; else it is looked at for others.
    counts: bool,
    before: Option<Look>,
    now: Option<Look>,
    looked_at: Option<Instant>,
    /// The commit that states are told by, and how HEAD differs from it.
    base: Option<Base>,
    trouble: Option<GitError>,
    has_warned: bool,
    is_too_slow: bool,
}

#[derive(Debug)]
struct Base {
    commit: Option<String>,
    head: Option<Head>,
    moves: Moves,
}

impl GitStates {
    pub(super) fn new(repository: Repository, folder: &Path, counts: bool) -> Self {
        Self {
            looking: Looking::new(repository, folder),
            counts,
            before: None,
            now: None,
            looked_at: None,
            base: None,
            trouble: None,
            has_warned: false,
            is_too_slow: false,
        }
    }

    /// Goes on from what was looked at under other settings.
    pub(super) fn go_on_from(&mut self, earlier: Self) {
        *self = Self { counts: self.counts, ..earlier };
    }

    pub(super) async fn baseline(
        &mut self,
        tree: &Tree,
        seen: &mut Seen,
        is_undisturbed: bool,
        warnings: &mut Vec<String>,
    ) {
        let is_fresh = self.looked_at.is_some_and(|looked| looked.elapsed() < FRESH);
        if !(is_undisturbed && is_fresh && self.now.is_some()) {
            self.look(tree, warnings).await;
        }
        let Some(now) = self.now.take() else { return };
        if let Some(state) = self.state(&now, tree, seen, warnings).await {
            if let Some(head) = &now.head {
                seen.is_new(COMMITTED, &head.tree);
            }
            seen.is_new(WORK_TREE, &state);
        }
        self.now = Some(now);
    }

    pub(super) async fn measure(
        &mut self,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Vec<Progress> {
        let before = self.now.take();
        self.look(tree, warnings).await;
        let now = self.now.take();
        let made = match (&before, &now) {
            (Some(before), Some(now)) => self.moved_on(before, now, tree, seen, warnings).await,
            _ => Vec::new(),
        };
        (self.before, self.now) = (before, now);
        made
    }

    /// How the work has moved on in an iteration that is not over: it is still measured against
    /// what was there when it began.
    pub(super) async fn glance(
        &mut self,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Vec<Progress> {
        let Some(before) = self.now.clone().filter(|_| !self.is_too_slow) else {
            return Vec::new();
        };
        match self.looking.look(tree).await {
            Ok(now) => self.moved_on(&before, &now, tree, seen, warnings).await,
            // Whoever measures it at its end says so.
            Err(_) => Vec::new(),
        }
    }

    async fn moved_on(
        &mut self,
        before: &Look,
        now: &Look,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Vec<Progress> {
        let mut made = Vec::new();
        let Some(state) = self.state(now, tree, seen, warnings).await else { return made };
        // Committing what lay about changes no file and is progress all the same. An empty commit
        // and a revert are not: the committed tree has been there before.
        if let Some(head) = &now.head
            && before.head.as_ref() != Some(head)
            && seen.is_new(COMMITTED, &head.tree)
        {
            let repository = &self.looking.repository;
            match repository.new_commits(tree, before.head.as_ref(), head).await {
                Ok(subjects) => made.extend(subjects.into_iter().next().map(|subject| Progress {
                    kind: ProgressKind::Commit,
                    note: (!subject.is_empty()).then_some(subject),
                })),
                Err(error) => self.warn(&error, warnings),
            }
        }
        if seen.is_new(WORK_TREE, &state) {
            made.push(Progress { kind: ProgressKind::Tree, note: None });
        }
        made
    }

    /// The last look, for those who guard: what is there, or why nobody knows.
    pub(crate) fn last_look(&self) -> Result<Option<&Look>, &GitError> {
        match &self.trouble {
            Some(trouble) => Err(trouble),
            None => Ok(self.now.as_ref()),
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.looking.repository
    }

    /// The commit at the beginning of the iteration that was measured last.
    pub(crate) fn commit_before(&self) -> Option<&str> {
        self.before.as_ref().and_then(Look::commit)
    }

    /// What changed in the iteration that was measured last; none where nobody looked at its
    /// beginning.
    pub(crate) async fn changes(&self, tree: &Tree) -> Result<Option<Vec<Change>>, GitError> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        let (Some(before), Some(now)) = (&self.before, &self.now) else { return Ok(None) };
        self.looking.repository.changes(tree, before, now).await.map(Some)
    }

    async fn look(&mut self, tree: &Tree, warnings: &mut Vec<String>) {
        self.now = None;
        if self.is_too_slow {
            return;
        }
        self.trouble = None;
        match self.looking.look(tree).await {
            Ok(look) => {
                self.now = Some(look);
                self.looked_at = Some(Instant::now());
            }
            Err(error) => {
                self.warn(&error, warnings);
                self.is_too_slow = matches!(error, GitError::TimedOut { .. });
                self.trouble = Some(error);
            }
        }
    }

    /// The state of the work tree in a word: what is in the files, whether it was committed or not.
    async fn state(
        &mut self,
        now: &Look,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Option<String> {
        if !self.counts {
            return None;
        }
        let head = now.head.clone();
        if self.base.as_ref().is_none_or(|base| base.head != head) {
            let commit = match &self.base {
                Some(base) => base.commit.clone(),
                None => first_commit(seen, head.as_ref()),
            };
            let moves = self.looking.repository.moves(tree, commit.as_deref(), head.as_ref());
            match moves.await {
                Ok(moves) => self.base = Some(Base { commit, head, moves }),
                Err(error) => {
                    self.warn(&error, warnings);
                    return None;
                }
            }
        }
        self.base.as_ref().map(|base| state(now, &base.moves))
    }

    fn warn(&mut self, error: &GitError, warnings: &mut Vec<String>) {
        if self.counts && !self.has_warned {
            self.has_warned = true;
            warnings.push(format!("progress from git is not measured: {error}"));
        }
    }
}

/// The commit that the run's states are told by: that of its first look, also when it is resumed.
fn first_commit(seen: &mut Seen, head: Option<&Head>) -> Option<String> {
    let known = seen.all(BASE).next().map(str::to_owned);
    let commit = known.unwrap_or_else(|| {
        let commit = head.map_or(NO_COMMIT, |head| &head.commit).to_owned();
        seen.is_new(BASE, &commit);
        commit
    });
    (commit != NO_COMMIT).then_some(commit)
}

/// Everything in which the work tree differs from the commit that states are told by.
fn state(now: &Look, moves: &Moves) -> String {
    let mut paths: Vec<&Vec<u8>> = now.entries.keys().chain(moves.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut hash = Xxh3::new();
    for path in paths {
        let (entry, moved) = (now.entries.get(path), moves.get(path));
        let first = moved
            .map_or_else(|| entry.and_then(|entry| entry.head.as_ref()), |moved| moved.0.as_ref());
        let work = entry
            .map_or_else(|| moved.and_then(|moved| moved.1.as_ref()), |entry| entry.work.as_ref());
        if first == work {
            continue;
        }
        let (mode, id) = work.map_or((0, ""), |object| (object.mode, object.id.as_str()));
        for part in [path.as_slice(), &mode.to_le_bytes(), id.as_bytes()] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    format!("{:032x}", hash.digest128())
}

const COMMITTED: &str = "committed";
const WORK_TREE: &str = "files_of_work_tree";
const BASE: &str = "base";
const NO_COMMIT: &str = "none";
/// For so long, what was seen at the end of an iteration is what the next one begins with.
const FRESH: Duration = Duration::from_millis(500);
