//! Whether the work moved on: what git, task lists, files and tests show of it.
//!
//! An iteration is measured against what was there when it began, and a state that was seen before
//! in this run is none: neither what others left behind nor an edit and its revert are progress.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use backstop_core::event::{EventKind, Progress, ProgressKind, Tests};
use backstop_core::policy::ProgressSettings;

use crate::git::{GitError, Repository};
use crate::tree::Tree;

pub(crate) mod file_states;
pub(crate) mod git_states;
mod seen;
mod task_lists;
mod test_record;

pub(crate) use file_states::FileStates;
pub(crate) use git_states::GitStates;
use seen::Seen;
use task_lists::TaskLists;

/// What is looked at to tell whether the work moved on.
#[derive(Debug)]
pub struct ProgressSources {
    tree: Rc<Tree>,
    seen: Seen,
    git: Option<GitStates>,
    files: Option<FileStates>,
    tasks: Option<TaskLists>,
    counts_tests: bool,
    /// Files are looked at for guards alone.
    files_count: bool,
    warnings: Vec<String>,
    /// What tests said while nobody was there to compare it; none for who is there.
    untold_tests: Option<Vec<Tests>>,
}

/// Who can tell the guards what changed.
#[derive(Debug)]
pub(crate) enum Witness<'a> {
    Git(&'a GitStates),
    /// Outside a repository.
    Files(&'a FileStates),
}

impl ProgressSources {
    /// Finds out what there is to look at. What was seen is kept in `seen_file`, and an index of
    /// our own beside it, so that a resumed run knows it too.
    ///
    /// Without a repository, files are looked at if the settings say so, or if they don't say and
    /// `is_read`: some rule wants to know of progress.
    pub async fn begin(
        settings: Option<&ProgressSettings>,
        is_read: bool,
        cwd: &Path,
        seen_file: PathBuf,
        tree: Rc<Tree>,
    ) -> Self {
        let wants_git = settings.and_then(|settings| settings.git);
        let wants_files = settings.and_then(|settings| settings.files);
        let tasks = settings.and_then(|settings| settings.tasks.as_ref());
        let mut warnings = Vec::new();
        let workbench = seen_file.with_extension("git");
        let mut git = None;
        if wants_git != Some(false) {
            match Repository::find(cwd, &tree).await {
                Ok(Some(repository)) => git = Some(GitStates::new(repository, &workbench, true)),
                Ok(None) if wants_git == Some(true) => warnings.push(format!(
                    "`[progress] git` is on, but `{}` is in no repository",
                    cwd.display()
                )),
                Ok(None) => {}
                Err(error) => warnings.push(format!("progress from git is not measured: {error}")),
            }
        }
        let looks_at_files = git.is_none() && wants_files.unwrap_or(is_read);
        let (seen, trouble) = Seen::load(seen_file).await;
        warnings.extend(trouble);
        Self {
            tree,
            seen,
            git,
            files: looks_at_files.then(|| FileStates::new(cwd)),
            tasks: tasks.map(|paths| TaskLists::new(paths.0.iter().map(|path| cwd.join(&path.0)))),
            counts_tests: settings.and_then(|settings| settings.tests) != Some(false),
            files_count: true,
            warnings,
            untold_tests: None,
        }
    }

    /// Stands in for those who look while they are busy. It sees nothing, and keeps what tests say.
    pub(crate) fn away(tree: Rc<Tree>) -> Self {
        Self {
            tree,
            seen: Seen::nothing(),
            git: None,
            files: None,
            tasks: None,
            counts_tests: false,
            files_count: false,
            warnings: Vec::new(),
            untold_tests: Some(Vec::new()),
        }
    }

    /// What tests said meanwhile.
    pub(crate) fn untold_tests(self) -> Vec<Tests> {
        self.untold_tests.unwrap_or_default()
    }

    /// Looks for guards too, whatever counts as progress.
    ///
    /// # Errors
    /// There is a repository, and git can't tell anything about it.
    pub(crate) async fn and_for_guards(
        mut self,
        cwd: &Path,
        seen_file: &Path,
    ) -> Result<Self, (Self, GitError)> {
        if self.git.is_some() {
            return Ok(self);
        }
        match Repository::find(cwd, &self.tree).await {
            Ok(Some(repository)) => {
                let workbench = seen_file.with_extension("git");
                self.git = Some(GitStates::new(repository, &workbench, false));
            }
            Ok(None) if self.files.is_none() => {
                self.files = Some(FileStates::new(cwd));
                self.files_count = false;
            }
            Ok(None) => {}
            Err(error) => return Err((self, error)),
        }
        Ok(self)
    }

    /// Goes on from what was looked at under other settings.
    pub(crate) fn go_on_from(&mut self, earlier: Self) {
        if let (Some(git), Some(earlier)) = (&mut self.git, earlier.git) {
            git.go_on_from(earlier);
        }
        if let (Some(files), Some(earlier)) = (&mut self.files, earlier.files) {
            *files = earlier;
        }
    }

    pub(crate) fn witness(&self) -> Option<Witness<'_>> {
        let files = || self.files.as_ref().map(Witness::Files);
        self.git.as_ref().map(Witness::Git).or_else(files)
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Before an iteration: what is there now is none of its doing. Gives the task list if it is
    /// not what was last told.
    pub async fn baseline(&mut self) -> Vec<EventKind> {
        self.baseline_after(false).await
    }

    /// As [`Self::baseline`]. Where nothing but backstop was at work since the last iteration was
    /// measured, what was seen then is what is there now.
    pub(crate) async fn baseline_after(&mut self, is_undisturbed: bool) -> Vec<EventKind> {
        if let Some(git) = &mut self.git {
            git.baseline(&self.tree, &mut self.seen, is_undisturbed, &mut self.warnings).await;
        }
        if let Some(files) = &mut self.files {
            files.baseline(&mut self.seen, &mut self.warnings).await;
        }
        self.finish(Vec::new()).await
    }

    /// After an iteration: how the work moved on in it, and the task list if that changed.
    pub async fn measure(&mut self) -> Vec<EventKind> {
        let mut events = Vec::new();
        if let Some(git) = &mut self.git {
            let made = git.measure(&self.tree, &mut self.seen, &mut self.warnings).await;
            events.extend(made.into_iter().map(EventKind::from));
        }
        if let Some(files) = &mut self.files {
            let made = files.measure(&mut self.seen, &mut self.warnings).await;
            events.extend(made.filter(|_| self.files_count).map(EventKind::from));
        }
        self.finish(events).await
    }

    /// In the middle of an iteration: how the work has moved on so far.
    pub(crate) async fn glance(&mut self) -> Vec<EventKind> {
        let mut events = Vec::new();
        if let Some(git) = &mut self.git {
            let made = git.glance(&self.tree, &mut self.seen, &mut self.warnings).await;
            events.extend(made.into_iter().map(EventKind::from));
        }
        if let Some(files) = self.files.as_ref().filter(|_| self.files_count) {
            events.extend(files.glance(&mut self.seen).await.map(EventKind::from));
        }
        self.finish(events).await
    }

    /// Takes a test run in: are more tests passing or fewer failing than ever before in this run,
    /// or are some of them new?
    pub fn tests(&mut self, tests: &Tests) -> Option<Progress> {
        if let Some(untold) = self.untold_tests.as_mut().filter(|kept| kept.len() < MOST_UNTOLD) {
            untold.push(tests.clone());
        }
        if self.counts_tests { test_record::take_in(&mut self.seen, tests) } else { None }
    }

    /// The text of the first open box of the task lists.
    pub fn current_task(&self) -> Option<&str> {
        self.tasks.as_ref().and_then(TaskLists::current)
    }

    /// What could not be looked at and why, each once.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    async fn finish(&mut self, mut events: Vec<EventKind>) -> Vec<EventKind> {
        if let Some(tasks) = &mut self.tasks {
            let (changed, trouble) = tasks.look().await;
            events.extend(changed.map(EventKind::from));
            self.warnings.extend(trouble);
        }
        self.warnings.extend(self.seen.save().await);
        events
    }
}

/// More test runs than this do not end while somebody looks at files.
const MOST_UNTOLD: usize = 100;

/// A marker in the output, as an event.
pub fn marker(word: &str) -> Progress {
    Progress { kind: ProgressKind::Marker, note: Some(word.to_owned()) }
}
