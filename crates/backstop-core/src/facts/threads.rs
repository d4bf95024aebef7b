//! What agents' threads have used in all: no fact by itself, but what a later launch goes on from.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::{Noted, ThreadTotal};

/// The latest threads, the one that was told last at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Threads(VecDeque<ThreadTotal>);

impl Threads {
    pub(crate) fn apply(&mut self, noted: &Noted) {
        let Some(total) = ThreadTotal::of(noted) else { return };
        if total.thread.len() > LONGEST_NAME {
            return;
        }
        self.0.retain(|known| known.thread != total.thread);
        if self.0.len() == MOST_THREADS {
            self.0.pop_front();
        }
        self.0.push_back(total);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ThreadTotal> {
        self.0.iter()
    }
}

/// As many as adapters remember from launch to launch.
const MOST_THREADS: usize = 64;
const LONGEST_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_total_of_each_thread_is_known_and_their_number_is_bounded() {
        let mut threads = Threads::default();
        let mut tell = |thread: &str, input_tokens| {
            let thread = thread.to_owned();
            let total = ThreadTotal { thread, input_tokens, ..ThreadTotal::default() };
            threads.apply(&total.note());
            let told = threads.iter().map(|total| (total.thread.clone(), total.input_tokens));
            told.collect::<Vec<_>>()
        };
        let named = |name: &str, input| (name.to_owned(), input);
        assert_eq!(tell("a", 10), [named("a", 10)]);
        assert_eq!(tell("b", 20), [named("a", 10), named("b", 20)]);
        assert_eq!(tell("a", 15), [named("b", 20), named("a", 15)]);
        assert_eq!(tell(&"c".repeat(LONGEST_NAME + 1), 1).len(), 2);
        for thread in 0..MOST_THREADS {
            tell(&thread.to_string(), 1);
        }
        assert_eq!(threads.iter().count(), MOST_THREADS);
        threads.apply(&Noted { detail: "{".to_owned(), ..ThreadTotal::default().note() });
        assert_eq!(threads.iter().count(), MOST_THREADS);
    }
}
