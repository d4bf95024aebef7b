//! Questions about files: is it there, does it contain a text?

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use backstop_core::condition::{FileContains, FileCreated};
use memchr::memmem::Finder;

use super::Answer;
use super::file_watch::FileWatch;
use super::resolved_path::ResolvedPath;
use crate::regular_file;

/// A file, and what it should contain.
#[derive(Debug)]
pub(super) struct FileQuestion {
    pub(super) path: PathBuf,
    outside: bool,
    /// None: it only has to be there.
    content: Option<Vec<u8>>,
}

impl FileQuestion {
    pub(super) fn created(file: &FileCreated) -> Self {
        Self { path: PathBuf::from(&file.path.0), outside: file.outside, content: None }
    }

    pub(super) fn contains(file: &FileContains) -> Self {
        let content = Some(file.content.0.clone().into_bytes());
        Self { path: PathBuf::from(&file.path.0), outside: file.outside, content }
    }

    /// Looks now, with the watch in place before: whatever changes after the look is noticed.
    pub(super) fn look(
        &self,
        cwd: &Path,
        watch: Option<(&FileWatch, usize)>,
        is_over: &AtomicBool,
    ) -> Answer {
        self.try_look(cwd, watch, is_over).unwrap_or_else(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Answer::plain(false),
            _ => Answer::unknown(error.to_string()),
        })
    }

    fn try_look(
        &self,
        cwd: &Path,
        watch: Option<(&FileWatch, usize)>,
        is_over: &AtomicBool,
    ) -> io::Result<Answer> {
        let start = cwd.canonicalize()?;
        let mut followed = ResolvedPath::follow(&start, &self.path)?;
        if let Some((watch, question)) = watch {
            // Directories may appear while the watch is put in place. If they never come to rest,
            // the last look is right all the same, and the next change is noticed one step later.
            for _ in 0..MOST_REARMS {
                watch.arm(question, &followed);
                let again = ResolvedPath::follow(&start, &self.path)?;
                if again == followed {
                    break;
                }
                followed = again;
            }
        }
        if !self.outside && !followed.path.starts_with(&start) {
            return Ok(Answer::unknown(
                "it leads out of the working directory; say `outside = true` if that is meant",
            ));
        }
        match &self.content {
            None => fs::metadata(&followed.path).map(|_| Answer::plain(true)),
            Some(content) => {
                let file = regular_file::open(&followed.path)?;
                contains(file, content, is_over).map(Answer::plain)
            }
        }
    }
}

/// Whether a file contains a text anywhere, in memory that does not grow with the file.
fn contains(mut file: File, text: &[u8], is_over: &AtomicBool) -> io::Result<bool> {
    let finder = Finder::new(text);
    // What stands across the border of two chunks is found in the second, with the first one's end.
    let overlap = text.len().saturating_sub(1);
    let mut buffer = vec![0; CHUNK.max(text.len() * 2)];
    let mut filled = 0;
    loop {
        if is_over.load(Ordering::Relaxed) {
            return Err(io::Error::other("the run is over"));
        }
        let count = match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        filled += count;
        if finder.find(&buffer[..filled]).is_some() {
            return Ok(true);
        }
        let kept = overlap.min(filled);
        buffer.copy_within(filled - kept..filled, 0);
        filled = kept;
    }
}

const CHUNK: usize = 256 << 10;
const MOST_REARMS: usize = 8;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn file_of(pieces: &[&[u8]]) -> File {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        pieces.iter().for_each(|piece| file.write_all(piece).unwrap());
        file.reopen().unwrap()
    }

    #[test]
    fn a_text_across_the_border_of_two_chunks_is_found() {
        for shift in 0..=8 {
            let file = file_of(&[&vec![b'a'; CHUNK - shift], b"needle", &[b'b'; 100]]);
            assert!(contains(file, b"needle", &AtomicBool::new(false)).unwrap(), "{shift}");
        }
        let file = file_of(&[&vec![b'a'; CHUNK - 3], b"need", b"-le"]);
        assert!(!contains(file, b"needle", &AtomicBool::new(false)).unwrap());
    }

    #[test]
    fn reading_ends_with_the_run() {
        let file = file_of(&[b"needle"]);
        assert!(contains(file, b"needle", &AtomicBool::new(true)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_finds_what_a_search_in_memory_finds(
            hay in proptest::collection::vec(0_u8..3, 0..200),
            needle in proptest::collection::vec(0_u8..3, 1..6),
        ) {
            let found = hay.windows(needle.len()).any(|window| window == needle);
            let file = file_of(&[&hay]);
            prop_assert_eq!(contains(file, &needle, &AtomicBool::new(false)).unwrap(), found);
        }
    }
}
