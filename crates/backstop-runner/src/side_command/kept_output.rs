//! The beginning and the end of an output, in a fixed amount of memory.

use std::collections::VecDeque;

/// What is kept of one stream.
#[derive(Debug)]
pub(super) struct KeptOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_cap: usize,
    tail_cap: usize,
    left_out: u64,
}

impl KeptOutput {
    pub(super) fn new(cap: usize) -> Self {
        let head_cap = cap / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_cap,
            tail_cap: cap - head_cap,
            left_out: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_cap - self.head.len()));
        self.head.extend_from_slice(first);
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_cap);
        self.left_out += surplus as u64;
        let from_tail = surplus.min(self.tail.len());
        self.tail.drain(..from_tail);
        self.tail.extend(&rest[surplus - from_tail..]);
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.left_out > 0
    }

    /// What was kept. Where something is missing, a line says how much.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.left_out > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.left_out).as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_beginning_and_the_end_are_kept_however_it_comes(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..12),
            cap in 0_usize..64,
        ) {
            let mut kept = KeptOutput::new(cap);
            for piece in &pieces {
                kept.push(piece);
            }
            let whole = pieces.concat();
            let expected = if whole.len() <= cap {
                whole
            } else {
                let (head, tail) = (cap / 2, cap - cap / 2);
                let note = format!("\n[{} bytes left out]\n", whole.len() - cap);
                [&whole[..head], note.as_bytes(), &whole[whole.len() - tail..]].concat()
            };
            prop_assert_eq!(kept.into_bytes(), expected);
        }
    }
}
