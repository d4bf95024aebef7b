//! Where in the work tree a file is that an agent names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The path from the run's folder, with `/` between its parts; none for what is neither in it nor
/// in its repository. What is in the repository, but beside the folder, begins with `..`.
///
/// Links are followed as far as there is anything, so that no detour leads past a guard.
pub fn within(root: &Path, cwd: &Path, named: &str) -> Option<Vec<u8>> {
    let path = resolved(&flat(&cwd.join(named)));
    let root = resolved(&flat(root));
    let mut levels = 0;
    let mut folder = root.as_path();
    while !path.starts_with(folder) {
        // The top of the repository is as far as a run can be said to work.
        if folder.join(".git").symlink_metadata().is_ok() || !is_in_repository(folder) {
            return None;
        }
        folder = folder.parent()?;
        levels += 1;
    }
    let inside = path.strip_prefix(folder).ok()?;
    let up = std::iter::repeat_n(OsStr::new(".."), levels);
    let parts: Vec<_> = up.chain(inside.iter()).map(OsStrExt::as_bytes).collect();
    (inside != Path::new("")).then(|| parts.join(&b'/'))
}

pub(super) fn is_in_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// The path without `.` and `..`.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                flat.pop();
            }
            other => flat.push(other),
        }
    }
    flat
}

/// The path with the links of all that exists of it followed.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return match path.strip_prefix(above) {
                Ok(rest) if rest.as_os_str().is_empty() => real,
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_from_the_top_of_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(root.join("tests")).unwrap();
        std::os::unix::fs::symlink(root.join("tests"), root.join("src/link")).unwrap();
        let from = |cwd: &str, named: &str| {
            within(root, &root.join(cwd), named).map(|path| String::from_utf8(path).unwrap())
        };
        assert_eq!(from("", "src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(from("src", "a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(from("src", "../tests/./x").as_deref(), Some("tests/x"));
        assert_eq!(from("", "src/link/new/x.rs").as_deref(), Some("tests/new/x.rs"));
        let absolute = root.join("src/b.rs");
        assert_eq!(from("tests", &absolute.to_string_lossy()).as_deref(), Some("src/b.rs"));
        assert_eq!(from("", "/etc/passwd"), None);
        assert_eq!(from("", "../beside"), None);
        assert_eq!(from("", "."), None);
    }

    #[test]
    fn what_is_beside_the_folder_but_in_the_repository_leads_up() {
        let folder = tempfile::tempdir().unwrap();
        let (top, root) = (folder.path().join("repo"), folder.path().join("repo/web/app"));
        std::fs::create_dir_all(&root).unwrap();
        let from =
            |named: &str| within(&root, &root, named).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(from("../a"), None, "there is no repository yet");
        std::fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(from("../a").as_deref(), Some("../a"));
        assert_eq!(from("../../b/c").as_deref(), Some("../../b/c"));
        assert_eq!(from("../app/x").as_deref(), Some("x"));
        assert_eq!(from("../../../beside"), None);
    }
}
