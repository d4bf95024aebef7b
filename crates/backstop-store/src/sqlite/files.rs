//! The files of a database, watched from outside: SQLite goes on writing to files that were removed
//! or replaced under it, and what it writes then is lost when they are closed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::Fault;
use super::look::Look;

/// The database and its log, as they were when the store was opened.
#[derive(Clone, Debug)]
pub struct Files(Arc<[Known]>);

#[derive(Debug)]
struct Known {
    path: PathBuf,
    found: Look,
    /// Less than this is no such file any more.
    least_bytes: u64,
}

impl Files {
    /// Remembers which files a connection has opened. As long as one is open, nobody who keeps to
    /// SQLite's rules removes either.
    pub fn of(database: &Path) -> Self {
        let mut log = database.to_owned().into_os_string();
        log.push("-wal");
        let files = [(database.to_owned(), SMALLEST_PAGE), (log.into(), 0)];
        let known = files.into_iter().filter_map(|(path, least_bytes)| {
            Some(Known { found: Look::at(&path).ok()?, path, least_bytes })
        });
        Self(known.collect())
    }

    /// Makes sure that they are still there. They are not opened for it: closing one would drop
    /// the locks that other connections of this process hold on it.
    pub fn check(&self) -> Result<(), Fault> {
        self.0.iter().try_for_each(Known::check)
    }
}

impl Known {
    fn check(&self) -> Result<(), Fault> {
        let what = match Look::at(&self.path) {
            Ok(found) if !found.is_same_file(&self.found) => "was replaced by another file",
            Ok(found) if found.length < self.least_bytes => "was emptied",
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "was removed",
            // That it can't be looked at now says nothing about what will be written later.
            Err(error) => return Err(Fault::of_look(&self.path, &error)),
        };
        let path = self.path.display();
        Err(Fault::of_disk(format!(
            "`{path}` {what} while it was in use; put back what was there, and start backstop again"
        )))
    }
}

/// No database is smaller than a page, and no page smaller than this.
const SMALLEST_PAGE: u64 = 512;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_that_is_gone_was_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (place, aside) = (directory.path().join("state"), directory.path().join("aside"));
        fs::create_dir(&place).unwrap();
        let database = place.join("backstop.db");
        fs::write(&database, [0; 512]).unwrap();
        let files = Files::of(&database);
        files.check().unwrap();
        // It is there, but nobody can look at it for a while.
        fs::rename(&place, &aside).unwrap();
        fs::write(&place, "in its place").unwrap();
        assert!(!files.check().unwrap_err().is_of_disk());
        fs::remove_file(&place).unwrap();
        fs::rename(&aside, &place).unwrap();
        files.check().unwrap();
        fs::remove_file(&database).unwrap();
        assert!(files.check().unwrap_err().is_of_disk());
    }
}
