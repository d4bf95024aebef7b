//! Which store a name means.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Home, SqliteStore, Store, StoreError};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An embedded database in a state directory.
    Embedded(Home),
}

impl Location {
    /// What `--store` names: a state directory, or a URL.
    ///
    /// # Errors
    /// A URL of an engine that this build does not have.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if let Some(path) = text.strip_prefix("sqlite://") {
            return Ok(Self::Embedded(Home::new(PathBuf::from(path))));
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(StoreError::Location {
                place: format!("{scheme}://…"),
                why: format!("this build has no engine for `{scheme}`"),
            }),
            None => Ok(Self::Embedded(Home::new(Path::new(text)))),
        }
    }

    /// The directory with the runs' files.
    pub fn home(&self) -> &Home {
        match self {
            Self::Embedded(home) => home,
        }
    }
}

/// Opens a store. When this returns, it can be written.
///
/// # Errors
/// A place that can't be written, a store that is damaged, foreign or from a newer version.
pub async fn open(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::Embedded(home) => Ok(Arc::new(SqliteStore::open(home).await?)),
    }
}
