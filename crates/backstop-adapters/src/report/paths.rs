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

    /// The file whose path ends so; what was asked for, if there is none. Nothing where several end
    /// so: any of them may be meant.
    pub(super) fn ending_with(&self, end: &str) -> Option<String> {
        let reversed = backwards(end);
        if self.backwards.contains(&reversed) {
            return Some(end.to_owned());
        }
        let below = reversed + "/";
        let mut found =
            self.backwards.range(below.clone()..).take_while(|it| it.starts_with(&below));
        match (found.next(), found.next()) {
            (None, _) => Some(end.to_owned()),
            (Some(path), None) => Some(backwards(path)),
            (Some(_), Some(_)) => None,
        }
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
    #[case::of_several("index.test.js", "")]
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
        assert_eq!(paths.ending_with(end).as_deref(), Some(path).filter(|path| !path.is_empty()));
    }
}
