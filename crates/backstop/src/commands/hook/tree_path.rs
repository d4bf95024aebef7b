//! Where in the work tree a file is that an agent names.

use std::path::{Component, Path, PathBuf};

/// The path from the top of the tree, with `/` between its parts; none for what is outside of it.
///
/// Links are followed as far as there is anything, so that no detour leads past a guard.
pub fn within(root: &Path, cwd: &Path, named: &str) -> Option<String> {
    let path = resolved(&flat(&cwd.join(named)));
    let root = resolved(&flat(root));
    let inside = path.strip_prefix(&root).ok()?;
    let parts: Vec<_> =
        inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
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
        let from = |cwd: &str, named: &str| within(root, &root.join(cwd), named);
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
}
