//! Which store a name means.

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
        let path = match text.split_once("://") {
            None => text,
            Some(("sqlite", path)) => path,
            // What follows may hold a password.
            Some((scheme, _)) => {
                return Err(StoreError::Location {
                    place: format!("{scheme}://…"),
                    why: format!("this build has no engine for `{scheme}`; name a directory"),
                });
            }
        };
        if path.is_empty() {
            let why = "it names no directory".to_owned();
            return Err(StoreError::Location { place: text.to_owned(), why });
        }
        Ok(Self::Embedded(Home::new(path)))
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
    let store: Arc<dyn Store> = match location {
        Location::Embedded(home) => Arc::new(SqliteStore::open(home).await?),
    };
    #[cfg(feature = "testing")]
    let store = crate::testing::fail_as_the_environment_says(store);
    Ok(store)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_path_and_a_url_of_one_mean_a_directory() {
        for (text, path) in [
            ("/var/lib/b", "/var/lib/b"),
            ("state", "state"),
            ("sqlite:///var/lib/b", "/var/lib/b"),
            ("sqlite://state", "state"),
        ] {
            let location = Location::parse(text).unwrap();
            assert_eq!(location.home().root(), Path::new(path), "{text}");
        }
    }

    #[test]
    fn other_engines_are_refused_without_their_passwords() {
        let message = Location::parse("postgres://me:secret@host/db").unwrap_err().to_string();
        assert!(message.contains("postgres") && !message.contains("secret"), "{message}");
        for text in ["", "sqlite://"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
