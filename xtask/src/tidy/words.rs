//! Words that no file may hold: notes to self, and paths of the machine that somebody worked on.

use super::Finding;
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // This folder has to name the words that it looks for.
    let texts = tree.texts().filter(|(path, _)| !path.starts_with("xtask/src/tidy"));
    for (path, text) in texts {
        let may_name_paths = path.ends_with(".rs") || path.starts_with(".ci/");
        for (index, line) in text.lines().enumerate() {
            for note in NOTES.iter().filter(|note| has_word(line, note)) {
                let what = format!("`{note}`: do it, or open an issue");
                findings.push(Finding::new(path, index + 1, what));
            }
            for part in PATHS.iter().filter(|part| line.contains(**part) && !may_name_paths) {
                let what = format!("`{part}` is a path of one machine only");
                findings.push(Finding::new(path, index + 1, what));
            }
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    // A name with a dot in it is a file's, such as a list of tasks that users have.
    line.split(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '.'))
        .any(|found| found.trim_end_matches('.') == word)
}

const NOTES: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];
const PATHS: [&str; 2] = ["/work/", "../shared"];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of([(path, text)])).len()
    }

    #[test]
    fn each_word_is_found_with_its_line() {
        for note in NOTES {
            let text = format!("first\n// {note}: later\n");
            let findings = check(&Tree::of([("src/lib.rs", &text)]));
            assert_eq!(findings.len(), 1, "{note}");
            assert_eq!(findings[0].line, 2, "{note}");
        }
        for part in PATHS {
            assert_eq!(count("README.md", &format!("see {part}spec.md")), 1, "{part}");
        }
    }

    #[test]
    fn a_part_of_a_word_is_no_word() {
        assert_eq!(count("a.sh", "mktemp XXXXXX; echo TODOS HACKED todo TODO.md"), 0);
    }

    #[test]
    fn code_and_ci_may_name_paths() {
        assert_eq!(count("src/lib.rs", "\"/work/x\""), 0);
        assert_eq!(count(".ci/run", "/work/x"), 0);
        assert_eq!(count("docs/a.md", "/work/x"), 1);
    }
}
