//! Where a path leads to, step by step, also as far as it does not exist yet.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A path with all symbolic links followed, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    pub(super) path: PathBuf,
    /// The existing directories in which the next step was looked for, the last one last.
    pub(super) folders: Vec<PathBuf>,
    /// Everything whose coming, going or changing may lead elsewhere.
    pub(super) steps: BTreeSet<PathBuf>,
}

impl ResolvedPath {
    /// Follows a path from a directory whose own path has no links in it.
    ///
    /// # Errors
    /// Links lead in a circle.
    pub(super) fn follow(start: &Path, path: &Path) -> io::Result<Self> {
        let mut this = Self { path: start.to_owned(), folders: Vec::new(), steps: BTreeSet::new() };
        let mut left = VecDeque::new();
        put_before(&mut left, path);
        let (mut exists, mut links) = (true, 0);
        while let Some(step) = left.pop_front() {
            match step {
                Step::Root => (this.path, exists) = (PathBuf::from("/"), true),
                Step::Up => {
                    this.path.pop();
                }
                Step::Into(name) => {
                    if exists {
                        this.folders.push(this.path.clone());
                    }
                    let next = this.path.join(name);
                    this.steps.insert(next.clone());
                    let metadata = fs::symlink_metadata(&next);
                    if metadata.as_ref().is_ok_and(fs::Metadata::is_symlink) {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(io::Error::other("symbolic links lead in a circle"));
                        }
                        put_before(&mut left, &fs::read_link(&next)?);
                    } else {
                        exists = metadata.is_ok_and(|metadata| metadata.is_dir());
                        this.path = next;
                    }
                }
            }
        }
        Ok(this)
    }
}

enum Step {
    Root,
    Up,
    Into(OsString),
}

fn put_before(left: &mut VecDeque<Step>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::RootDir => left.push_front(Step::Root),
            Component::ParentDir => left.push_front(Step::Up),
            Component::Normal(name) => left.push_front(Step::Into(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

/// As many as the system itself follows.
const MOST_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_to_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../gone/deep", root.join("real/dangling")).unwrap();
        let followed = ResolvedPath::follow(&root, Path::new("link/./dangling/file")).unwrap();
        assert_eq!(followed.path, root.join("gone/deep/file"));
        assert_eq!(followed.folders, [root.clone(), root.clone(), root.join("real"), root.clone()]);
        assert!(followed.steps.contains(&root.join("link")));
        assert!(followed.steps.contains(&root.join("gone")));
    }

    #[test]
    fn a_circle_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(ResolvedPath::follow(folder.path(), Path::new("a/file")).is_err());
    }
}
