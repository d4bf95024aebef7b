//! Progress that git shows: commits, and states of the work tree not seen before in this run.

use std::path::Path;

use backstop_core::event::{Progress, ProgressKind};

use super::seen::Seen;
use crate::git::{GitError, Head, Repository, Workbench};
use crate::tree::Tree;

/// A repository, and what it looked like when the iteration began.
#[derive(Debug)]
pub(super) struct GitStates {
    repository: Repository,
    bench: Workbench,
    baseline: Option<State>,
    has_warned: bool,
    is_too_slow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    head: Option<Head>,
    /// The work tree with all that is not ignored, as a tree object.
    work_tree: String,
}

impl GitStates {
    pub(super) fn new(repository: Repository, folder: &Path) -> Self {
        let bench = Workbench::for_looking(folder);
        Self { repository, bench, baseline: None, has_warned: false, is_too_slow: false }
    }

    pub(super) async fn baseline(
        &mut self,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) {
        self.baseline = self.look(tree, warnings).await;
        if let Some(state) = &self.baseline {
            if let Some(head) = &state.head {
                seen.is_new(COMMITTED, &head.tree);
            }
            seen.is_new(WORK_TREE, &state.work_tree);
        }
    }

    pub(super) async fn measure(
        &mut self,
        tree: &Tree,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Vec<Progress> {
        let Some(now) = self.look(tree, warnings).await else { return Vec::new() };
        let Some(before) = self.baseline.replace(now.clone()) else { return Vec::new() };
        let mut made = Vec::new();
        // Committing what lay about changes no file and is progress all the same. An empty commit
        // and a revert are not: the committed tree has been there before.
        if let Some(head) = &now.head
            && before.head.as_ref() != Some(head)
            && seen.is_new(COMMITTED, &head.tree)
        {
            match self.repository.new_commits(tree, before.head.as_ref(), head).await {
                Ok(subjects) => made.extend(subjects.into_iter().next().map(|subject| Progress {
                    kind: ProgressKind::Commit,
                    note: (!subject.is_empty()).then_some(subject),
                })),
                Err(error) => self.warn(&error, warnings),
            }
        }
        if now.work_tree != before.work_tree && seen.is_new(WORK_TREE, &now.work_tree) {
            made.push(Progress { kind: ProgressKind::Tree, note: None });
        }
        made
    }

    async fn look(&mut self, tree: &Tree, warnings: &mut Vec<String>) -> Option<State> {
        if self.is_too_slow {
            return None;
        }
        let looked = self.try_look(tree, warnings).await;
        self.bench.tidy(false).await;
        match looked {
            Ok(state) => Some(state),
            Err(error) => {
                self.warn(&error, warnings);
                self.is_too_slow = matches!(error, GitError::TimedOut { .. });
                None
            }
        }
    }

    async fn try_look(
        &mut self,
        tree: &Tree,
        warnings: &mut Vec<String>,
    ) -> Result<State, GitError> {
        let head = self.repository.head(tree).await?;
        let state = self.repository.work_tree(tree, &mut self.bench).await?;
        if let Some(why) = state.incomplete
            && !self.has_warned
        {
            self.has_warned = true;
            warnings.push(format!("progress from git leaves some files out: {why}"));
        }
        Ok(State { head, work_tree: state.tree })
    }

    fn warn(&mut self, error: &GitError, warnings: &mut Vec<String>) {
        if !self.has_warned {
            self.has_warned = true;
            warnings.push(format!("progress from git is not measured: {error}"));
        }
    }
}

const COMMITTED: &str = "committed";
const WORK_TREE: &str = "work_tree";
