//! Globs: which paths a text with wildcards names, and whether two of them can name the same path.
//!
//! `*` and `?` stay within a name, `**` crosses folders, `[a-z]` is one of some characters, `{a,b}`
//! one of some texts, and a backslash takes the meaning from what follows it. A name without
//! wildcards, or one that ends with `/`, stands for everything below it too. Paths are compared
//! whole and by case, from the top; they are bytes, since file names need not be text.

use std::cmp::Ordering;

use serde_json::{Value as Json, json};

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::field::{Field, Findings, Text};

mod automaton;
mod compile;

use automaton::Automaton;
pub use automaton::Reached;
use compile::compile;

/// A glob that was read.
#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    /// How many folders it leads up before it leads anywhere.
    ups: usize,
    automaton: Automaton,
}

/// Why a text is no glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GlobError(pub(crate) &'static str);

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    /// It can't name any path, or not the ones that its author means.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        Self::below(&[], text)
    }

    /// The glob as it reads from `folders` levels above: its paths begin with these names then.
    /// None if it leads further up than that.
    pub fn seen_from_above(&self, folders: &[&[u8]]) -> Option<Self> {
        let kept = folders.len().checked_sub(self.ups)?;
        let mut rest = self.text.as_str();
        while let Some(shorter) = rest.strip_prefix("../").or_else(|| rest.strip_prefix("./")) {
            rest = shorter;
        }
        if rest == ".." {
            rest = "**";
        }
        Self::below(&folders[..kept], rest).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names a path.
    pub fn is_match(&self, path: &[u8]) -> bool {
        self.automaton.accepts(&self.reach(&self.start(), path))
    }

    /// Whether it says by its own words that it leads out of the folder it is read in, at least so
    /// many levels.
    pub fn leads_up(&self, levels: usize) -> bool {
        self.ups >= levels
    }

    /// Whether some path is named by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.automaton.overlaps(&other.automaton)
    }

    /// Where a path begins, for those who walk folders: a part of a path is read once and not
    /// again for everything below it.
    pub fn start(&self) -> Reached {
        self.automaton.start()
    }

    /// How far another part of a path leads. Nothing below it is named if that [`is
    /// nowhere`](Reached::is_nowhere).
    pub fn reach(&self, from: &Reached, part: &[u8]) -> Reached {
        self.automaton.reach(from, part)
    }

    /// Whether what was read so far is named.
    pub fn accepts(&self, reached: &Reached) -> bool {
        self.automaton.accepts(reached)
    }

    fn below(folders: &[&[u8]], text: &str) -> Result<Self, GlobError> {
        let mut rest = text;
        let mut ups = 0;
        loop {
            if let Some(shorter) = rest.strip_prefix("./") {
                rest = shorter;
            } else if let Some(shorter) = rest.strip_prefix("../") {
                (rest, ups) = (shorter, ups + 1);
            } else {
                break;
            }
        }
        ups += usize::from(rest == "..");
        if rest == "." || (rest.is_empty() && !text.is_empty()) {
            rest = "**";
        }
        let automaton = compile(folders, ups, rest)?;
        Ok(Self { text: text.to_owned(), ups, automaton })
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

impl PartialOrd for Glob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Glob {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Field for Glob {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::read(node, key, findings)?;
        match Self::new(&text) {
            Ok(glob) => Some(glob),
            Err(GlobError(why)) => {
                let message = format!("`{key}` has a glob that can't be used: `{text}`");
                findings.push(Diagnostic::error(message, node.span.clone()).label(why));
                None
            }
        }
    }

    fn write(&self) -> Json {
        self.text.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

#[cfg(test)]
mod tests;
