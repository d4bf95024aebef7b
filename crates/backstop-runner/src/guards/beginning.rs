//! What the files were when an iteration or a turn began, kept for another process to compare with.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Changed;
use crate::git::Repository;
use crate::git::changes::Change;
use crate::git::look::{Look, Looking};
use crate::progress::file_states::KeptFiles;
use crate::progress::{ProgressSources, Witness};
use crate::tree::Tree;

/// The files at one time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Beginning {
    Git(Look),
    /// Outside a repository.
    Files(KeptFiles),
    /// No guard asks what changes.
    Unwatched,
}

/// Where files are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) tree: &'a Tree,
    /// Where is remembered which files need not be read again.
    pub(crate) remembered: &'a Path,
}

/// The files as they are now.
pub(crate) struct Now {
    pub(crate) beginning: Beginning,
    pub(crate) repository: Option<Repository>,
}

impl Beginning {
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Self::Git(look) => look.commit(),
            Self::Files(_) | Self::Unwatched => None,
        }
    }

    /// What those saw last who measure progress; none where they saw nothing.
    pub(crate) fn last_seen(progress: &ProgressSources) -> Option<Self> {
        match progress.witness()? {
            Witness::Git(git) => Some(Self::Git(git.last_look().ok()??.clone())),
            Witness::Files(files) => files.last_look().map(Self::Files),
        }
    }
}

impl Place<'_> {
    /// # Errors
    /// Nobody can look, and why.
    pub(crate) async fn look(&self, earlier: Option<&KeptFiles>) -> Result<Now, String> {
        let found = Repository::find(self.cwd, self.tree).await;
        let Some(repository) = found.map_err(|error| error.to_string())? else {
            let files = KeptFiles::look(self.cwd, earlier).await;
            let files = files.ok_or("there are too many files outside a repository")?;
            return Ok(Now { beginning: Beginning::Files(files), repository: None });
        };
        let mut looking = Looking::new(repository, self.remembered);
        let look = looking.look(self.tree).await.map_err(|error| error.to_string())?;
        let repository = Some(looking.repository);
        Ok(Now { beginning: Beginning::Git(look), repository })
    }

    /// What is not as it was, and the repository that it is in.
    ///
    /// # Errors
    /// Nobody can tell, and why.
    pub(crate) async fn changed_since(
        &self,
        beginning: &Beginning,
    ) -> Result<(Vec<Changed>, Option<Repository>), String> {
        let earlier = match beginning {
            Beginning::Files(files) => Some(files),
            _ => None,
        };
        let Now { beginning: now, repository } = self.look(earlier).await?;
        let changed = match (beginning, &now, &repository) {
            (Beginning::Git(before), Beginning::Git(now), Some(repository)) => {
                let changes = repository.changes(self.tree, before, now).await;
                let changes = changes.map_err(|error| error.to_string())?;
                let seen = |change: Change| Changed {
                    path: repository.seen_from_here(&change.path),
                    change: Some(change),
                };
                changes.into_iter().map(seen).collect()
            }
            (Beginning::Files(before), Beginning::Files(now), _) => {
                let paths = now.changed_since(self.cwd, before).into_iter();
                let seen = |path: PathBuf| Changed {
                    path: path.into_os_string().into_encoded_bytes(),
                    change: None,
                };
                paths.map(seen).collect()
            }
            _ => return Err("a repository came or went while nobody looked".to_owned()),
        };
        Ok((changed, repository))
    }
}
