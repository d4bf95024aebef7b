//! Sets of small numbers.

/// A set of numbers below a bound. A second level says which words hold any, so that the least of
/// thousands is found as fast as the least of ten.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    words: Vec<u64>,
    filled: Vec<u64>,
}

impl Marks {
    pub(super) fn new(bound: usize) -> Self {
        let words = bound.div_ceil(64);
        Self { words: vec![0; words], filled: vec![0; words.div_ceil(64)] }
    }

    /// Says whether the mark was not there yet.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        let fresh = !self.contains(number);
        self.set(number, true);
        fresh
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.words[number / 64] & (1 << (number % 64)) != 0
    }

    pub(super) fn set(&mut self, number: usize, marked: bool) {
        let place = number / 64;
        let word = with_bit(self.words[place], number % 64, marked);
        self.words[place] = word;
        self.filled[place / 64] = with_bit(self.filled[place / 64], place % 64, word != 0);
    }

    pub(super) fn least(&self) -> Option<usize> {
        let (group, filled) = self.filled.iter().enumerate().find(|(_, filled)| **filled != 0)?;
        let place = group * 64 + filled.trailing_zeros() as usize;
        Some(place * 64 + self.words[place].trailing_zeros() as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(position, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(position * 64 + bit)
            })
        })
    }
}

fn with_bit(word: u64, bit: usize, set: bool) -> u64 {
    if set { word | 1 << bit } else { word & !(1 << bit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_mark_is_found() {
        let mut marks = Marks::new(10_000);
        assert_eq!(marks.least(), None);
        assert!(marks.insert(9_999));
        assert_eq!(marks.least(), Some(9_999));
        marks.set(9_999, false);
        assert!(marks.insert(130) && marks.insert(70) && !marks.insert(70));
        assert_eq!(marks.least(), Some(70));
        assert_eq!(marks.iter().collect::<Vec<_>>(), [70, 130]);
        marks.set(70, false);
        assert_eq!(marks.least(), Some(130));
    }
}
