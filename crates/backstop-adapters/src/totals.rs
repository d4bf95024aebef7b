//! Running totals, told as what was added.

/// Tokens by kind, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    fn minus(self, earlier: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(earlier.input)?,
            output: self.output.checked_sub(earlier.output)?,
            cache_read: self.cache_read.checked_sub(earlier.cache_read)?,
            cache_write: self.cache_write.checked_sub(earlier.cache_write)?,
        })
    }
}

/// A total that only grows, until it begins again.
#[derive(Debug, Default)]
pub(crate) struct Total {
    last: Tokens,
}

impl Total {
    /// What was added since the last time. A total that shrank has begun again.
    pub fn advance(&mut self, now: Tokens) -> Tokens {
        let added = now.minus(self.last).unwrap_or(now);
        self.last = now;
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_told_once_and_may_begin_again() {
        let mut total = Total::default();
        let at = |input, output| Tokens { input, output, ..Tokens::default() };
        assert_eq!(total.advance(at(100, 10)), at(100, 10));
        assert_eq!(total.advance(at(100, 10)), Tokens::default());
        assert_eq!(total.advance(at(150, 12)), at(50, 2));
        assert_eq!(total.advance(at(40, 20)), at(40, 20));
    }
}
