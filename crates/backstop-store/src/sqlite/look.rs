//! Looks at a file without asking for its times.
//!
//! A file system that was asked when a file was changed tells the next change from the one before,
//! and so has the time of each to write down: a commit then waits for the disk twice.

use std::io;
use std::path::Path;

/// Which file is there, and how long it is.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What no other file has at the same time.
    identity: [u64; 3],
    pub length: u64,
}

impl Look {
    #[cfg(target_os = "linux")]
    pub fn at(path: &Path) -> io::Result<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO | StatxFlags::SIZE)?;
        let (major, minor) = (found.stx_dev_major.into(), found.stx_dev_minor.into());
        Ok(Self { identity: [major, minor, found.stx_ino], length: found.stx_size })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn at(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let found = std::fs::metadata(path)?;
        Ok(Self { identity: [found.dev(), 0, found.ino()], length: found.len() })
    }

    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}
