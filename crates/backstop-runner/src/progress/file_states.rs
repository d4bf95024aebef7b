//! Progress without git: a state of the files under the working directory not seen before.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstop_core::event::{Progress, ProgressKind};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::seen::Seen;
use crate::regular_file;

/// The files under a directory, and what they looked like when the iteration began.
#[derive(Debug)]
pub(crate) struct FileStates {
    root: PathBuf,
    /// When the iteration began.
    before: Known,
    known: Known,
    is_partial: bool,
    baseline: Option<String>,
    has_warned: bool,
}

/// Files by their path, as they were last looked at.
type Known = BTreeMap<PathBuf, FileState>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    bytes: u64,
    modified: (i64, i64),
    inode: u64,
    executable: bool,
    /// None where a file is too large, or can't be read: then its time decides.
    content: Option<u128>,
    /// It was old enough that a later change shows in its time.
    is_settled: bool,
}

impl FileState {
    fn is_same(&self, other: &Self) -> bool {
        let is_alike = (self.bytes, self.executable) == (other.bytes, other.executable);
        is_alike
            && match (self.content, other.content) {
                (None, None) => self.modified == other.modified,
                (one, two) => one == two,
            }
    }
}

/// One look at all files.
struct Look {
    known: Known,
    state: String,
    is_partial: bool,
}

impl FileStates {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            before: Known::new(),
            known: Known::new(),
            is_partial: false,
            baseline: None,
            has_warned: false,
        }
    }

    pub(super) async fn baseline(&mut self, seen: &mut Seen, warnings: &mut Vec<String>) {
        self.baseline = self.look(warnings).await;
        if let Some(state) = &self.baseline {
            seen.is_new(FILES, state);
        }
    }

    pub(super) async fn measure(
        &mut self,
        seen: &mut Seen,
        warnings: &mut Vec<String>,
    ) -> Option<Progress> {
        self.before.clone_from(&self.known);
        let now = self.look(warnings).await?;
        let before = self.baseline.replace(now.clone())?;
        let moved_on = now != before && seen.is_new(FILES, &now);
        moved_on.then_some(Progress { kind: ProgressKind::Tree, note: None })
    }

    /// Whether the work has moved on in an iteration that is not over: it is still measured against
    /// what was there when it began.
    pub(super) async fn glance(&self, seen: &mut Seen) -> Option<Progress> {
        let (root, known) = (self.root.clone(), self.known.clone());
        let looked = tokio::task::spawn_blocking(move || look(&root, &known, MOST_FILES)).await;
        let now = looked.ok()?.state;
        let moved_on = self.baseline.as_ref().is_some_and(|before| *before != now);
        let moved_on = moved_on && seen.is_new(FILES, &now);
        moved_on.then_some(Progress { kind: ProgressKind::Tree, note: None })
    }

    /// The files that changed in the iteration that was measured last; none where there are more
    /// than can be looked at.
    pub(crate) fn changes(&self) -> Option<Vec<PathBuf>> {
        if self.is_partial {
            return None;
        }
        Some(changes(&self.root, &self.before, &self.known))
    }

    /// What was seen last; none where there are more files than can be looked at.
    pub(crate) fn last_look(&self) -> Option<KeptFiles> {
        (!self.is_partial).then(|| KeptFiles::of(self.known.clone()))
    }

    async fn look(&mut self, warnings: &mut Vec<String>) -> Option<String> {
        let (root, known) = (self.root.clone(), std::mem::take(&mut self.known));
        let looked = tokio::task::spawn_blocking(move || look(&root, &known, MOST_FILES)).await;
        let look = looked.ok()?;
        self.known = look.known;
        self.is_partial = look.is_partial;
        if look.is_partial && !std::mem::replace(&mut self.has_warned, true) {
            warnings.push(format!(
                "`{}` has more than {MOST_FILES} files; progress is read from the first ones only",
                self.root.display()
            ));
        }
        Some(look.state)
    }
}

/// All files at one time, for another process to compare with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptFiles(Vec<(Vec<u8>, FileState)>);

impl KeptFiles {
    /// Looks at all files; none where there are more than can be looked at. What has not changed
    /// since the earlier look is not read again.
    pub(crate) async fn look(root: &Path, earlier: Option<&Self>) -> Option<Self> {
        let (root, known) = (root.to_owned(), earlier.map(Self::known).unwrap_or_default());
        let looked = tokio::task::spawn_blocking(move || look(&root, &known, MOST_FILES));
        let look = looked.await.ok().filter(|look| !look.is_partial)?;
        Some(Self::of(look.known))
    }

    fn of(known: Known) -> Self {
        let kept = |(path, state): (PathBuf, FileState)| (path.into_os_string().into_vec(), state);
        Self(known.into_iter().map(kept).collect())
    }

    /// The files that are not what they were, as seen from the directory.
    pub(crate) fn changed_since(&self, root: &Path, earlier: &Self) -> Vec<PathBuf> {
        changes(root, &earlier.known(), &self.known())
    }

    fn known(&self) -> Known {
        let known = |(path, state): &(Vec<u8>, FileState)| {
            (PathBuf::from(OsString::from_vec(path.clone())), state.clone())
        };
        self.0.iter().map(known).collect()
    }
}

fn changes(root: &Path, before: &Known, now: &Known) -> Vec<PathBuf> {
    let is_changed = |path: &&PathBuf| match (before.get(*path), now.get(*path)) {
        (Some(before), Some(now)) => !before.is_same(now),
        _ => true,
    };
    let changed: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).filter(is_changed).collect();
    let inside = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_owned();
    changed.into_iter().map(inside).collect()
}

fn look(root: &Path, known: &Known, most: usize) -> Look {
    let (files, is_partial) = walk(root, most);
    let started = SystemTime::now();
    let mut now = Known::new();
    let mut hash = Xxh3::new();
    for (path, metadata) in files {
        let state = file_state(&path, &metadata, known.get(&path), started);
        let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
        hash.update(&(name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(&[u8::from(state.executable), u8::from(state.content.is_some())]);
        hash.update(&state.bytes.to_le_bytes());
        match state.content {
            Some(content) => hash.update(&content.to_le_bytes()),
            None => {
                hash.update(&state.modified.0.to_le_bytes());
                hash.update(&state.modified.1.to_le_bytes());
            }
        }
        now.insert(path, state);
    }
    Look { known: now, state: format!("{:032x}", hash.digest128()), is_partial }
}

/// All files in the order of their paths, folder by folder, up to so many.
fn walk(root: &Path, most: usize) -> (Vec<(PathBuf, Metadata)>, bool) {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = match fs::read_dir(&folder) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            // Gone by now, or not for us to see.
            Err(_) => continue,
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut inner = Vec::new();
        for entry in entries {
            // Links are not followed: where one points to is its content.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                if !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                    inner.push(entry.path());
                }
            } else if files.len() == most {
                return (files, true);
            } else {
                files.push((entry.path(), metadata));
            }
        }
        folders.extend(inner.into_iter().rev());
    }
    (files, false)
}

fn file_state(
    path: &Path,
    metadata: &Metadata,
    known: Option<&FileState>,
    started: SystemTime,
) -> FileState {
    let settled_before = started.checked_sub(CLOCK_STEP).unwrap_or(started);
    let mut state = FileState {
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        inode: metadata.ino(),
        executable: metadata.mode() & 0o111 != 0,
        content: None,
        is_settled: metadata.modified().is_ok_and(|modified| modified < settled_before),
    };
    state.content = match known {
        Some(known)
            if known.is_settled
                && (known.bytes, known.modified, known.inode)
                    == (state.bytes, state.modified, state.inode) =>
        {
            known.content
        }
        _ => content(path, metadata).ok().flatten(),
    };
    state
}

fn content(path: &Path, metadata: &Metadata) -> io::Result<Option<u128>> {
    if metadata.is_symlink() {
        return Ok(Some(xxh3_128(fs::read_link(path)?.as_os_str().as_bytes())));
    }
    if !metadata.is_file() || metadata.len() > LARGEST_READ {
        return Ok(None);
    }
    Ok(Some(xxh3_128(&regular_file::read_up_to(path, LARGEST_READ)?)))
}

const FILES: &str = "files";
/// What is made from the work, or is git's own.
const SKIPPED: &[&str] = &[".git", "node_modules", "target"];
const MOST_FILES: usize = 50_000;
const LARGEST_READ: u64 = 1 << 20;
/// File systems keep times in steps; within one, two versions look equally old.
const CLOCK_STEP: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn state(root: &Path) -> String {
        look(root, &Known::new(), MOST_FILES).state
    }

    #[test]
    fn content_names_and_modes_make_the_state_and_times_do_not() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "one").unwrap();
        let first = state(folder.path());
        fs::write(&file, "two").unwrap();
        assert_ne!(state(folder.path()), first);
        fs::write(&file, "one").unwrap();
        assert_eq!(state(folder.path()), first);
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_ne!(state(folder.path()), first);
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        fs::rename(&file, folder.path().join("b")).unwrap();
        assert_ne!(state(folder.path()), first);
    }

    #[test]
    fn what_is_made_from_the_work_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        let first = state(folder.path());
        for skipped in SKIPPED {
            fs::create_dir_all(folder.path().join("deep").join(skipped)).unwrap();
            fs::write(folder.path().join("deep").join(skipped).join("file"), "x").unwrap();
        }
        assert_eq!(state(folder.path()), first);
    }

    #[test]
    fn a_file_too_large_to_read_is_told_by_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let file = fs::File::create(&path).unwrap();
        file.set_len(LARGEST_READ + 1).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let first = state(folder.path());
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        assert_ne!(state(folder.path()), first);
    }

    #[test]
    fn only_so_many_files_are_read_and_that_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert!(!look(folder.path(), &Known::new(), 3).is_partial);
        let part = look(folder.path(), &Known::new(), 2);
        assert!(part.is_partial && part.known.len() == 2);
    }

    #[test]
    fn a_known_file_is_read_again_unless_it_is_old_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        let write = |text: &str, modified| {
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        };
        write("one", long_ago);
        let first = look(folder.path(), &Known::new(), MOST_FILES);
        write("two", long_ago);
        // Same size, same time: this is what makes looking cheap.
        assert_eq!(look(folder.path(), &first.known, MOST_FILES).state, first.state);
        let just_now = SystemTime::now();
        write("one", just_now);
        let young = look(folder.path(), &first.known, MOST_FILES);
        assert_eq!(young.state, first.state);
        write("two", just_now);
        assert_ne!(look(folder.path(), &young.known, MOST_FILES).state, first.state);
    }
}
