//! Which store a name means.

use std::fmt;
use std::sync::Arc;

use crate::{Home, PostgresStore, ServerUrl, SqliteStore, Store, StoreError};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An embedded database in a state directory.
    Embedded(Home),
    /// A database on a server, for many machines. The runs' files stay on the machine that runs
    /// them, in the user's own state directory.
    Server { url: ServerUrl, home: Home },
}

impl Location {
    /// What `--store` names: a state directory, or a URL.
    ///
    /// # Errors
    /// A URL that can't be read, or of an engine that this build does not have; a server where there
    /// is no home directory for the runs' files.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let path = match text.split_once("://") {
            None => text,
            Some(("sqlite", path)) => path,
            Some(("postgres" | "postgresql", _)) => {
                let url = ServerUrl::parse(text)?;
                let home = Home::of_user().ok_or_else(|| StoreError::Location {
                    place: url.to_string(),
                    why: "there is no home directory for the runs' files; set `XDG_STATE_HOME`"
                        .to_owned(),
                })?;
                return Ok(Self::Server { url, home });
            }
            // What follows may hold a password.
            Some((scheme, _)) => {
                return Err(StoreError::Location {
                    place: format!("{scheme}://…"),
                    why: format!(
                        "there is no engine for `{scheme}`; name a directory or a URL that begins \
                         with `postgres://`"
                    ),
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
            Self::Embedded(home) | Self::Server { home, .. } => home,
        }
    }
}

/// Opens a store. When this returns, it can be written.
///
/// # Errors
/// A place that can't be reached or written, a store that is damaged, foreign or from a newer
/// version.
pub async fn open(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    let store: Arc<dyn Store> = match location {
        Location::Embedded(home) => Arc::new(SqliteStore::open(home).await?),
        Location::Server { url, .. } => Arc::new(PostgresStore::open(url).await?),
    };
    #[cfg(feature = "testing")]
    let store = crate::testing::fail_as_the_environment_says(store);
    Ok(store)
}

/// Opens a store that is there already: for whoever only reads, a name that was mistyped must not
/// become a new store in which nothing is wrong.
///
/// # Errors
/// There is none, or as for [`open`].
pub async fn open_existing(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    let is_there = match location {
        Location::Embedded(home) => home.database().exists(),
        Location::Server { url, .. } => PostgresStore::is_there(url).await?,
    };
    if is_there { open(location).await } else { Err(StoreError::Missing(location.to_string())) }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(home) => home.root().display().fmt(f),
            Self::Server { url, .. } => url.fmt(f),
        }
    }
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
    fn a_server_is_shown_without_its_password() {
        for text in ["postgres://me:secret@host/db", "postgresql://me:secret@host:5432/db?sslkey=x"]
        {
            let url = ServerUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), "postgres://me@host:5432/db");
            assert_eq!(format!("{url:?}"), "\"postgres://me@host:5432/db\"");
        }
        for text in ["postgres://me:secret@host:port/db", "postgres://me:secret@[::/db"] {
            let message = ServerUrl::parse(text).unwrap_err().to_string();
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn other_engines_are_refused_without_their_passwords() {
        let message = Location::parse("mysql://me:secret@host/db").unwrap_err().to_string();
        assert!(message.contains("mysql") && !message.contains("secret"), "{message}");
        for text in ["", "sqlite://"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
