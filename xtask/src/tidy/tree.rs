//! The text files of a repository, read once for all checks.

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::workspace::Workspace;

/// Paths from the root, with `/`, and the texts of those that are text.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    pub fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for path in workspace.files()? {
            let bytes = std::fs::read(workspace.root().join(&path))
                .with_context(|| format!("cannot read `{path}`"))?;
            files.insert(path, String::from_utf8(bytes).ok());
        }
        Ok(Self { files })
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether a file, or a folder with a file in it, has this path.
    pub fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(key, _)| key.starts_with(&folder))
    }

    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    pub fn texts_with_extension<'a>(
        &'a self,
        extension: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts().filter(move |(path, _)| {
            path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
        })
    }
}

#[cfg(test)]
impl Tree {
    /// A repository with these files, for the tests of the checks.
    pub fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let files = files.map(|(path, text)| (path.to_owned(), Some(text.to_owned())));
        Self { files: files.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_held_by_their_files() {
        let tree = Tree::of([("docs/guide/a.md", ""), ("docs-old", "")]);
        assert!(tree.holds("docs") && tree.holds("docs/guide") && tree.holds("docs/guide/a.md"));
        assert!(!tree.holds("doc") && !tree.holds("docs/a.md") && !tree.holds("docs-old/x"));
    }
}
