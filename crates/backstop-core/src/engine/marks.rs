//! Sets of small numbers.

/// A set of numbers below a bound; asking for the least is a scan over words.
#[derive(Clone, Debug)]
pub(super) struct Marks(Vec<u64>);

impl Marks {
    pub(super) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    /// Says whether the mark was not there yet.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        let word = &mut self.0[number / 64];
        let bit = 1 << (number % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    pub(super) fn set(&mut self, number: usize, marked: bool) {
        let bit = 1 << (number % 64);
        let word = &mut self.0[number / 64];
        *word = if marked { *word | bit } else { *word & !bit };
    }

    pub(super) fn least(&self) -> Option<usize> {
        let (position, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        Some(position * 64 + word.trailing_zeros() as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(position, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(position * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_mark_is_found() {
        let mut marks = Marks::new(200);
        assert_eq!(marks.least(), None);
        assert!(marks.insert(130) && marks.insert(70) && !marks.insert(70));
        assert_eq!(marks.least(), Some(70));
        assert_eq!(marks.iter().collect::<Vec<_>>(), [70, 130]);
        marks.set(70, false);
        assert_eq!(marks.least(), Some(130));
    }
}
