//! Where a run's sockets lie: a directory that nobody but its owner can enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use backstop_core::id::RunId;

/// The directory of one run's sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
}

/// Why there is no place for sockets.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("can't create `{}`: {source}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("`{}` belongs to somebody else or is open to others", path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is too long for the name of a socket", path.display())]
    TooLong { path: PathBuf },
}

impl Place {
    /// Where a run's sockets may lie, the best place first: the user's runtime directory, else one
    /// of our own in the temporary folder.
    pub fn candidates(run: RunId) -> Vec<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .map(|path| path.join("backstop"));
        let own = std::env::temp_dir().join(format!("backstop-{}", user()));
        runtime
            .into_iter()
            .chain([own])
            .map(|base| Self { path: base.join(run.as_str()) })
            .collect()
    }

    /// Makes the directory in the first place that will have it.
    pub fn create(run: RunId) -> Result<Self, PlaceError> {
        let mut refused = None;
        for candidate in Self::candidates(run) {
            match candidate.make() {
                Ok(()) => return Ok(candidate),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.expect("there is always the temporary folder to try"))
    }

    /// A directory that the caller chose.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, PlaceError> {
        let place = Self { path: path.into() };
        place.make().map(|()| place)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The child's socket: what `BACKSTOP_SOCKET` names.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.sock")
    }

    /// The operator's socket.
    pub fn operate(&self) -> PathBuf {
        self.path.join("operate.sock")
    }

    fn make(&self) -> Result<(), PlaceError> {
        if self.operate().as_os_str().len() > LONGEST_NAME {
            return Err(PlaceError::TooLong { path: self.operate() });
        }
        let base = self.path.parent().unwrap_or(Path::new("/"));
        for folder in [base, &self.path] {
            let made = DirBuilder::new().mode(0o700).create(folder);
            match made {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(PlaceError::Create { path: folder.to_owned(), source: error });
                }
                _ => check(folder)?,
            }
        }
        Ok(())
    }
}

/// Somebody else may have made it first, in a folder where everybody can.
fn check(folder: &Path) -> Result<(), PlaceError> {
    // The folder itself, not what a link leads to.
    let found = fs::symlink_metadata(folder)
        .map_err(|source| PlaceError::Create { path: folder.to_owned(), source })?;
    if found.is_dir() && found.uid() == user() && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(PlaceError::NotOurs { path: folder.to_owned() })
    }
}

pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What fits into a socket's address, with the byte that ends it, on every system that we know.
const LONGEST_NAME: usize = 103;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_place_is_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::at(folder.path().join("backstop/RUN")).unwrap();
        let mode = fs::metadata(place.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // Again, as a run that goes on does.
        Place::at(place.path()).unwrap();
    }

    #[test]
    fn a_directory_that_is_open_to_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("backstop");
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Place::at(base.join("RUN")), Err(PlaceError::NotOurs { .. })));
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        DirBuilder::new().mode(0o700).create(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("backstop")).unwrap();
        let asked = folder.path().join("backstop/RUN");
        assert!(matches!(Place::at(asked), Err(PlaceError::NotOurs { .. })));
    }

    #[test]
    fn a_name_that_no_socket_can_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("long".repeat(30)).join("RUN");
        assert!(matches!(Place::at(asked), Err(PlaceError::TooLong { .. })));
    }
}
