//! What was told lately, so that it is not counted again.

use std::collections::{HashSet, VecDeque};

/// The identities of the last records. An exporter that got no answer sends them again.
#[derive(Debug, Default)]
pub(super) struct Recent {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Recent {
    /// Whether it was not told yet. From now on it was.
    pub fn is_new(&mut self, identity: u64) -> bool {
        if !self.known.insert(identity) {
            return false;
        }
        self.order.push_back(identity);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// More than an exporter holds back: batches have 512 records as a rule, queues 2,048.
const REMEMBERED: usize = 1 << 14;
