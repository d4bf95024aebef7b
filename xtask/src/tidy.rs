//! `cargo xtask tidy`: the rules of the house that no compiler knows, as ordinary checks.

mod fence;
mod length;
mod manifest;
mod markdown;
mod source;
mod tokens;
mod tree;
mod words;

use std::fmt;

use anyhow::bail;

use crate::workspace::Workspace;
use tree::Tree;

/// Runs all checks over the files of the repository and reports everything found.
pub fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let findings = check(&Tree::read(workspace)?);
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    bail!("tidy found {} problem(s)", findings.len());
}

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings.dedup();
    findings
}

/// A place in a file and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// The number of the line in which a byte of the text lies, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    fence::configuration,
    fence::calls,
    length::check,
    manifest::core_dependencies,
    manifest::lints,
    markdown::check,
    source::check,
    words::check,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let findings = check(&Tree::read(&Workspace::here()).unwrap());
        let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
    }

    #[test]
    fn a_finding_is_shown_as_a_place_that_editors_open() {
        assert_eq!(Finding::new("a/b.rs", 3, "bad").to_string(), "a/b.rs:3: bad");
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!([0, 1, 2, 3].map(|offset| line_of("a\nb\n", offset)), [1, 1, 2, 2]);
    }
}
