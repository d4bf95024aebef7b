//! Files that are called by more or less of their path.

use std::collections::BTreeSet;

/// The files that were named.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Backwards, so that those with the same end stand together.
    backwards: BTreeSet<String>,
}

impl Paths {
    pub(super) fn insert(&mut self, path: &str) {
        self.backwards.insert(backwards(path));
    }

    /// The file whose path ends so; what was asked for, if there is none.
    pub(super) fn ending_with(&self, end: &str) -> String {
        let reversed = backwards(end);
        if self.backwards.contains(&reversed) {
            return end.to_owned();
        }
        let below = reversed + "/";
        let found = self.backwards.range(below.clone()..).next();
        found.filter(|it| it.starts_with(&below)).map_or(end.to_owned(), |it| backwards(it))
    }
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a.test.js", "src/a.test.js")]
    #[case("one/index.test.js", "src/one/index.test.js")]
    #[case("src/a.test.js", "src/a.test.js")]
    #[case("top.test.js", "top.test.js")]
    #[case("est.js", "est.js")]
    #[case("zzz.test.js", "zzz.test.js")]
    #[case("größe.test.js", "src/größe.test.js")]
    fn a_file_is_known_by_the_end_of_its_path(#[case] end: &str, #[case] path: &str) {
        let mut paths = Paths::default();
        for path in [
            "src/a.test.js",
            "src/one/index.test.js",
            "src/two/index.test.js",
            "top.test.js",
            "src/top.test.js",
            "src/größe.test.js",
        ] {
            paths.insert(path);
        }
        assert_eq!(paths.ending_with(end), path);
    }
}
