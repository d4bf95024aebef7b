//! Long observations: the head, the tail, and how long the whole was.

use super::recognise::CUT;
use super::sink::Sink;

/// Passes the first [`PART`] bytes on, keeps the last [`PART`] in a ring, and at the end gives the
/// tail out, behind a marker if bytes between them were left out.
pub(super) struct Cut<S> {
    sink: S,
    tail: [u8; TAIL],
    total: usize,
}

impl<S: Sink> Cut<S> {
    pub fn new(sink: S) -> Self {
        Self { sink, tail: [0; TAIL], total: 0 }
    }

    pub fn finish(mut self) -> S {
        let mut rest = self.total.saturating_sub(PART);
        if rest > TAIL {
            // The marker begins and ends with a word character and has a blank in it: whatever
            // stands next to it was no noise before, and must not become noise by the cut. It has
            // no digits, so that masking leaves it alone.
            let size = self.total.ilog2().saturating_sub(PART.ilog2()).min(25) as u8;
            self.sink.extend(CUT);
            self.sink.push(b'a' + size);
            self.sink.extend(b">_");
            rest = PART;
        }
        let start = (self.total - rest) % TAIL;
        let first = rest.min(TAIL - start);
        self.sink.extend(&self.tail[start..start + first]);
        self.sink.extend(&self.tail[..rest - first]);
        self.sink
    }
}

impl<S: Sink> Sink for Cut<S> {
    fn push(&mut self, byte: u8) {
        if self.total < PART {
            self.sink.push(byte);
        } else {
            self.tail[self.total % TAIL] = byte;
        }
        self.total += 1;
    }

    fn extend(&mut self, bytes: &[u8]) {
        let (head, after) = bytes.split_at(bytes.len().min(PART.saturating_sub(self.total)));
        self.sink.extend(head);
        // What would be written over at once need not be written.
        let kept = &after[after.len().saturating_sub(TAIL)..];
        self.total += bytes.len();
        let start = (self.total - kept.len()) % TAIL;
        let (before_end, from_begin) = kept.split_at(kept.len().min(TAIL - start));
        self.tail[start..start + before_end.len()].copy_from_slice(before_end);
        self.tail[..from_begin.len()].copy_from_slice(from_begin);
    }
}

/// Whether the text is so short that nothing is cut, however much the class tokens lengthen it:
/// the worst is a digit that becomes a token of six bytes.
pub(super) fn is_surely_whole(text: &[u8]) -> bool {
    text.len() <= (PART + TAIL) / 6
        || (text.len() <= PART + TAIL && text.len() + count_of_digits(text) * 5 <= PART + TAIL)
}

fn count_of_digits(text: &[u8]) -> usize {
    // A sum that fits into a byte can be made of many bytes at once.
    let count =
        |chunk: &[u8]| chunk.iter().fold(0_u8, |sum, byte| sum + u8::from(byte.is_ascii_digit()));
    text.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(count(chunk))).sum()
}

const PART: usize = 4096;
/// Longer than a part by more than the marker, so that a text that was cut is not cut again.
const TAIL: usize = PART + 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(length: usize) -> Vec<u8> {
        let mut cut = Cut::new(Vec::new());
        for index in 0..length {
            cut.push(b'a' + (index % 26) as u8);
        }
        cut.finish()
    }

    #[test]
    fn text_up_to_the_bound_is_whole() {
        let whole: Vec<u8> = (0..PART + TAIL).map(|index| b'a' + (index % 26) as u8).collect();
        assert_eq!(cut(PART + TAIL), whole);
        assert_eq!(cut(PART - 1), whole[..PART - 1]);
    }

    #[test]
    fn bytes_at_once_are_bytes_one_by_one() {
        for length in [PART - 1, PART + TAIL, PART + TAIL + 1, 3 * TAIL, 5 * TAIL + 7] {
            for step in [1, 7, 1000, TAIL - 1, TAIL + 1, length] {
                let bytes: Vec<u8> = (0..length).map(|index| b'a' + (index % 26) as u8).collect();
                let mut at_once = Cut::new(Vec::new());
                bytes.chunks(step).for_each(|chunk| at_once.extend(chunk));
                assert_eq!(at_once.finish(), cut(length), "{length} bytes, {step} at once");
            }
        }
    }

    #[test]
    fn longer_text_is_head_marker_tail() {
        let length = PART + TAIL + 1;
        let bytes = cut(length);
        assert_eq!(&bytes[PART..PART + 9], b"_<cut b>_");
        assert_eq!(bytes.len(), 2 * PART + 9);
        assert_eq!(bytes.last(), Some(&(b'a' + ((length - 1) % 26) as u8)));
    }
}
