//! What tells tests of the same name apart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::bounded::MOST_CASES;

/// Where a test stands, beyond its name: the suite, the file, the browser. The same for all attempts at
/// it, and in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Origin(u64);

impl Origin {
    /// What is in it and is told so.
    pub(super) fn within(self, told: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.0, told).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// How many of each have been seen.
#[derive(Default)]
pub(super) struct Seen(HashMap<Origin, u64>);

impl Seen {
    /// The next one that is told so: the first, the second, …
    pub(super) fn next(&mut self, told: Origin) -> Origin {
        if self.0.len() >= MOST_CASES && !self.0.contains_key(&told) {
            return told;
        }
        let seen = self.0.entry(told).or_default();
        *seen += 1;
        told.within(*seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_lead_to_the_same_place_and_others_elsewhere() {
        let suite = Origin::default().within("suite");
        assert_eq!(suite, Origin::default().within("suite"));
        assert_ne!(suite, Origin::default().within("other"));
        assert_ne!(suite.within("file"), Origin::default().within("file"));
    }

    #[test]
    fn those_that_are_told_alike_are_counted() {
        let (mut first, mut second) = (Seen::default(), Seen::default());
        let suite = Origin::default().within("suite");
        assert_eq!(first.next(suite), second.next(suite));
        let again = first.next(suite);
        assert_ne!(again, second.next(suite.within("other")));
        assert_eq!(again, second.next(suite));
    }
}
