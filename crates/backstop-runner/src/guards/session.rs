//! Guards of a session that nobody supervises: the hooks of its agent check them.
//!
//! Each hook is a process of its own, so what the files were when the turn began is kept in the
//! run's folder, and so is which violations were told.

use std::io;
use std::path::{Path, PathBuf};

use backstop_core::event::{EventKind, GuardKind, Note, Noted};
use backstop_core::policy::{GuardSettings, Policy};
use backstop_store::{Run, RunFolder, Store};
use serde::{Deserialize, Serialize};

use super::beginning::{Beginning, Now, Place};
use super::claims::{self, Claims};
use super::protected::Protected;
use super::revert::Sources;
use super::{Violation, events, out_of_scope, protected_files, protected_globs, remembered};
use crate::git::Repository;
use crate::tree::Tree;

/// The guards of one session.
#[derive(Debug)]
pub struct SessionGuards<'a> {
    run: &'a Run,
    settings: GuardSettings,
    folder: RunFolder,
    tree: Tree,
}

/// What a check found.
#[derive(Debug, Default, PartialEq)]
pub struct Checked {
    /// To be journalled.
    pub events: Vec<EventKind>,
    /// Why it could not be checked: nobody knows what was done.
    pub unchecked: Option<String>,
    /// What the agent's user should know beside that.
    pub notices: Vec<String>,
}

/// What a turn is compared with.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    beginning: Beginning,
    /// Violations that are in the journal already.
    told: Vec<(GuardKind, Vec<u8>)>,
}

impl<'a> SessionGuards<'a> {
    /// None where the policy guards nothing.
    pub fn new(policy: &Policy, run: &'a Run, folder: RunFolder) -> Option<Self> {
        let settings = policy.settings.guards.clone()?;
        Some(Self { run, settings, folder, tree: Tree::of_groups(run.id) })
    }

    /// When the run begins: does another run claim the same files, what are the protected ones, and
    /// what is there already? In a session that begins, too, the work tree has to be clean.
    pub async fn begin(&self, store: &dyn Store, is_first: bool) -> Checked {
        let mut checked = Checked::default();
        if self.settings.denies_collisions() {
            let own = Claims::of(self.cwd(), Some(&self.settings));
            match claims::shared(store, self.run.id, true, &own).await {
                Ok(shared) => {
                    let claims =
                        shared.iter().map(|claim| (GuardKind::Collision, claim.as_bytes()));
                    checked.violated(claims);
                }
                Err(error) => checked.fail(format!("other runs: {error}")),
            }
        }
        let globs = protected_globs(&self.settings);
        if !globs.is_empty() {
            let begun = self.protected().begin(globs, self.settings.reverts()).await;
            if let Err(error) = begun {
                checked.fail(format!("protected files: {error}"));
            }
        }
        match self.turn_begins().await {
            Ok(Now { beginning: Beginning::Git(look), repository: Some(repository) })
                if is_first && self.settings.requires_clean() =>
            {
                let dirty = look.entries.keys().map(|path| repository.seen_from_here(path));
                let dirty: Vec<_> = dirty.collect();
                checked.violated(dirty.iter().map(|path| (GuardKind::Dirty, path.as_slice())));
            }
            Ok(_) => {}
            Err(why) => checked.fail(why),
        }
        checked
    }

    /// When a turn begins: what is there now is none of its doing.
    ///
    /// # Errors
    /// Nobody could look, or write it down.
    pub async fn begin_turn(&self) -> Result<(), String> {
        self.turn_begins().await.map(drop)
    }

    /// What the turn has changed by now, and whether it was allowed to. What was told is not told
    /// again.
    pub async fn check(&self, iteration: u64) -> Checked {
        let mut checked = Checked::default();
        let mut kept = match self.read() {
            Ok(kept) => kept,
            Err(error) => {
                checked.fail(format!("what the turn began with can't be read: {error}"));
                // The next look has something to compare with.
                let _failed = self.turn_begins().await;
                return checked;
            }
        };
        let (mut violations, repository) = match self.out_of_scope(&kept.beginning).await {
            Ok(found) => found,
            Err(why) => {
                checked.fail(format!("what changed: {why}"));
                (Vec::new(), None)
            }
        };
        let mut protected = self.protected();
        let globs = protected_globs(&self.settings);
        let mut spoilt = Vec::new();
        if !globs.is_empty() {
            match protected.changed(globs, self.settings.reverts()).await {
                Ok(changed) => spoilt = changed,
                Err(error) => checked.fail(format!("protected files: {error}")),
            }
        }
        // What is protected is told as that, and once.
        violations.retain(|violation| !spoilt.contains(&violation.file.path));
        let is_new = |kind: GuardKind, path: &[u8]| {
            !kept.told.iter().any(|(known, name)| *known == kind && name == path)
        };
        violations.retain(|violation| is_new(violation.kind, &violation.file.path));
        spoilt.retain(|path| is_new(GuardKind::Protected, path));
        if violations.is_empty() && spoilt.is_empty() {
            return checked;
        }
        if self.settings.reverts() {
            let commit = kept.beginning.commit();
            let sources = Sources {
                run: self.run.id,
                iteration,
                cwd: self.cwd(),
                folder: &self.folder,
                tree: &self.tree,
                repository: repository.as_ref().map(|repository| (repository, commit)),
                protected: &protected,
            };
            checked.put_back(&sources, &violations, &spoilt).await;
        }
        let files = violations.iter().map(|found| (found.kind, found.file.path.as_slice()));
        let files: Vec<_> = files.chain(protected_files(&spoilt)).collect();
        kept.told.extend(files.iter().map(|(kind, path)| (*kind, path.to_vec())));
        checked.violated(files);
        if let Err(error) = self.write(&kept) {
            checked.notices.push(format!("what was told can't be kept: {error}"));
        }
        checked
    }

    async fn turn_begins(&self) -> Result<Now, String> {
        let now = self.look().await?;
        let kept = Kept { beginning: now.beginning, told: Vec::new() };
        let written = self.write(&kept);
        written.map_err(|error| format!("what the turn begins with can't be kept: {error}"))?;
        Ok(Now { beginning: kept.beginning, repository: now.repository })
    }

    async fn look(&self) -> Result<Now, String> {
        if !self.settings.watches_changes() && !self.settings.requires_clean() {
            return Ok(Now { beginning: Beginning::Unwatched, repository: None });
        }
        self.place(&self.remembered()).look(None).await
    }

    /// The changes since the beginning that a guard forbids, and the repository that they are in.
    async fn out_of_scope(
        &self,
        beginning: &Beginning,
    ) -> Result<(Vec<Violation>, Option<Repository>), String> {
        if !self.settings.watches_changes() {
            return Ok((Vec::new(), None));
        }
        let remembered = self.remembered();
        let (changed, repository) = self.place(&remembered).changed_since(beginning).await?;
        Ok((out_of_scope(&self.settings, changed), repository))
    }

    fn remembered(&self) -> PathBuf {
        remembered(&self.folder)
    }

    fn place<'p>(&'p self, remembered: &'p Path) -> Place<'p> {
        Place { cwd: self.cwd(), tree: &self.tree, remembered }
    }

    fn protected(&self) -> Protected {
        Protected::new(self.cwd(), self.folder.clone())
    }

    fn cwd(&self) -> &Path {
        Path::new(&self.run.cwd)
    }

    fn read(&self) -> io::Result<Kept> {
        let bytes = std::fs::read(self.folder.iteration_beginning())?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        self.folder.create()?;
        let bytes = serde_json::to_vec(kept).map_err(io::Error::other)?;
        self.folder.write_whole(&self.folder.iteration_beginning(), &bytes)
    }
}

impl Checked {
    fn violated<'f>(&mut self, files: impl IntoIterator<Item = (GuardKind, &'f [u8])>) {
        self.events.extend(events(files).into_iter().map(EventKind::from));
    }

    fn fail(&mut self, why: String) {
        self.events.push(Noted { what: Note::Unguarded, detail: why.clone() }.into());
        self.unchecked = Some(why);
    }

    async fn put_back(
        &mut self,
        sources: &Sources<'_>,
        violations: &[Violation],
        spoilt: &[Vec<u8>],
    ) {
        match sources.put_back(violations, spoilt).await {
            Ok((reverted, kept)) => {
                let told = reverted.told(kept.as_deref());
                let noted = told.map(|detail| Noted { what: Note::Reverted, detail });
                self.events.extend(noted.map(EventKind::from));
                let left = reverted.left.into_iter();
                self.notices.extend(left.map(|left| format!("not put back: {left}")));
            }
            Err(error) => self
                .notices
                .push(format!("nothing was put back, since it could not be kept: {error}")),
        }
    }
}
