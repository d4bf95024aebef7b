//! What whoever goes on with a run looks at again: an iteration whose end nobody saw, or files that
//! halted the run and stand as they were.

use std::collections::BTreeSet;
use std::io;

use backstop_core::policy::GuardSettings;
use backstop_store::RunFolder;
use serde::{Deserialize, Serialize};

use super::beginning::{Beginning, Place};
use super::{Violation, out_of_scope};
use crate::git::Repository;

/// What an iteration began with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Standing {
    beginning: Beginning,
    /// The files that violated a guard: what else has changed since is not the iteration's doing.
    /// None where nobody saw its end, so that everything counts.
    violating: Option<BTreeSet<Vec<u8>>>,
}

impl Standing {
    pub(crate) fn new(beginning: Beginning) -> Self {
        Self { beginning, violating: None }
    }

    /// # Errors
    /// It is there and can't be read.
    pub(crate) fn read(folder: &RunFolder) -> io::Result<Option<Self>> {
        match std::fs::read(folder.iteration_beginning()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// # Errors
    /// The disk refuses.
    pub(crate) fn keep(&self, folder: &RunFolder) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        folder.write_whole(&folder.iteration_beginning(), &bytes)
    }

    /// From here on only these files are looked at.
    pub(crate) fn narrow(&mut self, violations: &[Violation]) {
        self.violating = Some(violations.iter().map(|found| found.file.path.clone()).collect());
    }

    /// The commit that it began with.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.beginning.commit()
    }

    /// What of it violates a guard now, and the repository that it is in.
    ///
    /// # Errors
    /// Nobody can tell, and why.
    pub(crate) async fn violations(
        &self,
        place: Place<'_>,
        settings: &GuardSettings,
    ) -> Result<(Vec<Violation>, Option<Repository>), String> {
        let (mut changed, repository) = place.changed_since(&self.beginning).await?;
        if let Some(violating) = &self.violating {
            changed.retain(|file| violating.contains(&file.path));
        }
        Ok((out_of_scope(settings, changed), repository))
    }
}
