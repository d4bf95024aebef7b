//! The states that a run has been in, kept in a file so that a resumed run knows them.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What has been seen in this run: a set of lines that only grows.
#[derive(Debug)]
pub(super) struct Seen {
    file: PathBuf,
    lines: BTreeSet<String>,
    unsaved: String,
    has_warned: bool,
}

impl Seen {
    /// Reads what an earlier part of the run has seen; also says what went wrong.
    pub(super) async fn load(file: PathBuf) -> (Self, Option<String>) {
        let path = file.clone();
        let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
        let (text, trouble) = match read.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
        {
            Ok(bytes) => (String::from_utf8_lossy(&bytes).into_owned(), None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), None),
            Err(error) => (
                String::new(),
                Some(format!(
                    "what was seen before can't be read from `{}`: {error}",
                    file.display()
                )),
            ),
        };
        // A crash can leave half a line at the end. It equals nothing, so it does no harm, but
        // what comes next must stand on a line of its own.
        let unsaved = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }.to_owned();
        let lines = text.lines().map(str::to_owned).collect();
        (Self { file, lines, unsaved, has_warned: false }, trouble)
    }

    /// Nothing, kept nowhere.
    pub(super) fn nothing() -> Self {
        Self {
            file: PathBuf::new(),
            lines: BTreeSet::new(),
            unsaved: String::new(),
            has_warned: false,
        }
    }

    /// Whether this is the first time.
    pub(super) fn is_new(&mut self, kind: &str, state: &str) -> bool {
        let line = format!("{kind} {state}");
        if self.lines.contains(&line) {
            return false;
        }
        self.unsaved.push_str(&line);
        self.unsaved.push('\n');
        self.lines.insert(line)
    }

    /// What was seen of a kind.
    pub(super) fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        let of_kind = move |line: &&String| line.starts_with(kind);
        self.lines
            .range(kind.to_owned()..)
            .take_while(of_kind)
            .filter_map(move |line| line.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' ')))
    }

    /// Writes down what is new; says once if that is impossible.
    pub(super) async fn save(&mut self) -> Option<String> {
        if self.unsaved.is_empty() {
            return None;
        }
        let (path, text) = (self.file.clone(), self.unsaved.clone());
        let written = tokio::task::spawn_blocking(move || append(&path, &text)).await;
        match written.unwrap_or_else(|panicked| Err(io::Error::other(panicked))) {
            Ok(()) => {
                self.unsaved.clear();
                None
            }
            Err(_) if self.has_warned => None,
            Err(error) => {
                self.has_warned = true;
                Some(format!(
                    "what was seen can't be written to `{}`, so a resumed run may take an old \
                     state for progress: {error}",
                    self.file.display()
                ))
            }
        }
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::progress) fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn what_was_seen_is_known_after_a_resume_even_behind_half_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/seen");
        on_a_runtime(async {
            let (mut seen, trouble) = Seen::load(file.clone()).await;
            assert_eq!(trouble, None);
            assert!(seen.is_new("tree", "abc") && !seen.is_new("tree", "abc"));
            assert_eq!(seen.save().await, None);
            append(&file, "tree de").unwrap();
            let (mut seen, _) = Seen::load(file.clone()).await;
            assert!(!seen.is_new("tree", "abc") && seen.is_new("tree", "def"));
            assert!(seen.is_new("treetop", "abc"));
            seen.save().await;
            let (mut seen, _) = Seen::load(file).await;
            assert!(!seen.is_new("tree", "def"));
            assert_eq!(seen.all("tree").collect::<Vec<_>>(), ["abc", "de", "def"]);
        });
    }

    #[test]
    fn a_file_that_can_not_be_written_is_told_once() {
        on_a_runtime(async {
            let (mut seen, _) = Seen::load("/proc/no/such/file".into()).await;
            seen.is_new("tree", "abc");
            assert!(seen.save().await.is_some_and(|warning| warning.contains("/proc/no")));
            seen.is_new("tree", "def");
            assert_eq!(seen.save().await, None);
        });
    }
}
