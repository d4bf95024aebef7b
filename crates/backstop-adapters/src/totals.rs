//! Running totals, told as what was added.

use std::collections::VecDeque;

use backstop_core::event::ThreadTotal;

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

/// The totals of several threads, of which one goes on at a time.
#[derive(Debug, Default)]
pub struct Totals {
    thread: String,
    current: Total,
    /// A launch has begun and has told no total yet.
    is_new: bool,
    /// The latest of the others.
    others: VecDeque<(String, Total)>,
}

impl Totals {
    /// From here on it is this thread's total, which goes on where it was. A thread without a name
    /// is always a new one.
    pub(crate) fn turn_to(&mut self, thread: Option<&str>) {
        let thread = thread.unwrap_or_default();
        self.is_new = true;
        if thread == self.thread && !thread.is_empty() {
            return;
        }
        let known = self.others.iter().position(|(other, _)| other == thread);
        let next = known.and_then(|at| self.others.remove(at)).map(|(_, total)| total);
        let before = std::mem::replace(&mut self.current, next.unwrap_or_default());
        let name = std::mem::replace(&mut self.thread, thread.to_owned());
        if !name.is_empty() {
            if self.others.len() == REMEMBERED {
                self.others.pop_front();
            }
            self.others.push_back((name, before));
        }
    }

    /// What was added to the thread's total.
    pub(crate) fn advance(&mut self, now: Tokens) -> Tokens {
        // A thread that goes on uses something. One whose total is the same was begun anew, as where
        // a recording is played again.
        if std::mem::take(&mut self.is_new) && now == self.current.last {
            return now;
        }
        self.current.advance(now)
    }

    /// The thread's total as it was told last; none of a thread that has no name, which nothing goes
    /// on from.
    pub(crate) fn latest(&self) -> Option<ThreadTotal> {
        let Tokens { input, output, cache_read, cache_write } = self.current.last;
        (!self.thread.is_empty()).then(|| ThreadTotal {
            thread: self.thread.clone(),
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
        })
    }
}

const REMEMBERED: usize = 64;

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

    #[test]
    fn every_thread_has_its_own() {
        let mut totals = Totals::default();
        let at = |input| Tokens { input, ..Tokens::default() };
        let mut told = |thread, input| {
            totals.turn_to(thread);
            totals.advance(at(input)).input
        };
        assert_eq!(told(Some("a"), 100), 100);
        assert_eq!(told(Some("b"), 120), 120);
        assert_eq!(told(Some("a"), 130), 30);
        assert_eq!(told(None, 140), 140);
        assert_eq!(told(None, 150), 150);
        assert_eq!(told(Some("b"), 125), 5);
        assert_eq!(told(Some("b"), 125), 125, "it was begun anew");
    }
}
