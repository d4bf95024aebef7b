//! What is in a file, as git would name it, read again only when the file may have changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::status::Object;
use crate::regular_file;

/// Versions by the paths of the files that have them.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    known: BTreeMap<Vec<u8>, (FileStamp, Option<Object>)>,
}

/// What the file system tells of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    bytes: u64,
    mode: u32,
    inode: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            mode: metadata.mode(),
            inode: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// A later change shows: the last one is so long ago that the next one gets another time. The
    /// time of change, unlike that of modification, can't be set by whoever changes the file.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let changed = u64::try_from(self.changed.0).unwrap_or_default();
        Duration::from_secs(changed).saturating_add(CLOCK_STEP) < now
    }
}

impl Blobs {
    /// The versions of these files. What is none any more is forgotten.
    pub(super) fn look(
        &mut self,
        top: &Path,
        paths: Vec<Vec<u8>>,
        id_length: usize,
    ) -> BTreeMap<Vec<u8>, Option<Object>> {
        let now = SystemTime::now();
        let mut known = BTreeMap::new();
        let mut found = BTreeMap::new();
        for path in paths {
            let file = top.join(std::ffi::OsStr::from_bytes(&path));
            let Ok(metadata) = file.symlink_metadata() else {
                found.insert(path, None);
                continue;
            };
            let stamp = FileStamp::of(&metadata);
            let object = match self.known.get(&path) {
                Some((before, object)) if *before == stamp => object.clone(),
                _ => Some(object(&file, &metadata, id_length)),
            };
            if stamp.is_settled(now) {
                known.insert(path.clone(), (stamp, object.clone()));
            }
            found.insert(path, object);
        }
        self.known = known;
        found
    }
}

/// The version that is in a file now. One that can't be read is known by its times alone.
fn object(path: &Path, metadata: &Metadata, id_length: usize) -> Object {
    let mode = if metadata.is_symlink() {
        0o12_0000
    } else if metadata.mode() & 0o100 != 0 {
        0o10_0755
    } else {
        0o10_0644
    };
    let id = if id_length == SHA_256 {
        read_into::<Sha256>(path, metadata)
    } else {
        read_into::<Sha1>(path, metadata)
    };
    let id = id.unwrap_or_else(|_| format!("unread {:?}", FileStamp::of(metadata)));
    Object { mode, id }
}

fn read_into<D: Digest>(path: &Path, metadata: &Metadata) -> io::Result<String> {
    let mut digest = D::new();
    if metadata.is_symlink() {
        let target = fs::read_link(path)?;
        digest.update(format!("blob {}\0", target.as_os_str().len()));
        digest.update(target.as_os_str().as_bytes());
        return Ok(hexadecimal(&digest.finalize()));
    }
    let mut file = regular_file::open(path)?;
    digest.update(format!("blob {}\0", metadata.len()));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hexadecimal(&digest.finalize()));
        }
        digest.update(&buffer[..count]);
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const SHA_256: usize = 64;
/// File systems keep times in steps; within one, two versions look equally old.
const CLOCK_STEP: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_git_names_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1\n").unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        let paths = vec![b"a".to_vec(), b"link".to_vec(), b"gone".to_vec()];
        let found = Blobs::default().look(folder.path(), paths.clone(), 40);
        // As `git hash-object` says.
        let id = |path: &[u8]| found[path].as_ref().map(|object| object.id.as_str());
        assert_eq!(id(b"a"), Some("d00491fd7e5bb6fa28c517a0bb32b8b506539d4d"));
        assert_eq!(id(b"link"), Some("2e65efe2a145dda7ee51d1741299f848e5bf752e"));
        assert_eq!(id(b"gone"), None);
        let long = Blobs::default().look(folder.path(), paths, 64);
        assert_eq!(long[&b"a"[..]].as_ref().map(|object| object.id.len()), Some(64));
    }

    #[test]
    fn an_edit_within_the_same_tick_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut blobs = Blobs::default();
        let mut seen = std::collections::BTreeSet::new();
        for version in 0..50 {
            fs::write(&path, format!("{version:02}")).unwrap();
            let found = blobs.look(folder.path(), vec![b"a".to_vec()], 40);
            seen.insert(found[&b"a"[..]].clone().map(|object| object.id));
        }
        assert_eq!(seen.len(), 50);
    }
}
