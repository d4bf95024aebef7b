//! The repository that the tasks work on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The root of a checkout.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The checkout that this program was built from.
    pub fn here() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: manifest.parent().unwrap_or(manifest).to_path_buf() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn read(&self, path: &str) -> anyhow::Result<String> {
        let full = self.root.join(path);
        std::fs::read_to_string(&full).with_context(|| format!("cannot read `{path}`"))
    }

    /// The files that git tracks or would track, as paths from the root with `/`, in order.
    ///
    /// A new file counts before it is added, so that a check does not pass only to fail after the
    /// commit; a deleted one does not.
    pub fn files(&self) -> anyhow::Result<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
            .current_dir(&self.root)
            .output()
            .context("cannot run `git ls-files`")?;
        if !output.status.success() {
            bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let listed = String::from_utf8(output.stdout).context("a file's name is not UTF-8")?;
        let mut files: Vec<String> = listed
            .split('\0')
            .filter(|path| !path.is_empty() && self.root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        Ok(files)
    }
}
