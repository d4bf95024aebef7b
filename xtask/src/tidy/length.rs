//! No Rust file grows past what a reader can hold, unless it is a table.

use super::Finding;
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with_extension("rs") {
        let lines = text.lines().count();
        let excused = EXCUSED.iter().any(|(excused, _reason)| *excused == path);
        if lines > LIMIT && !excused {
            let what = format!("{lines} lines: past {LIMIT}, move the second thing it owns out");
            findings.push(Finding::new(path, LIMIT + 1, what));
        }
    }
    findings
}

const LIMIT: usize = 600;

/// Files that may be longer, and why.
const EXCUSED: &[(&str, &str)] =
    &[("crates/backstop-core/src/reason/registry.rs", "a table: one like entry per reason")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_inclusive() {
        let fits = "\n".repeat(LIMIT);
        let too_long = "\n".repeat(LIMIT + 1);
        let tree = Tree::of([("a.rs", &fits), ("b.rs", &too_long), ("c.md", &too_long)]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("b.rs", LIMIT + 1));
    }

    #[test]
    fn tables_are_excused_with_a_reason() {
        for (path, reason) in EXCUSED {
            assert!(!reason.is_empty(), "{path}");
            assert_eq!(check(&Tree::of([(path, &"\n".repeat(LIMIT + 1))])), []);
        }
    }
}
