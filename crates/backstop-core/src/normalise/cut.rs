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
        for index in self.total - rest..self.total {
            self.sink.push(self.tail[index % TAIL]);
        }
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
}

/// Whether the text is so short that nothing is cut, however much the class tokens lengthen it:
/// the worst is a digit that becomes a token of six bytes.
pub(super) fn is_surely_whole(text: &[u8]) -> bool {
    text.len() * 6 <= PART
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
    fn longer_text_is_head_marker_tail() {
        let length = PART + TAIL + 1;
        let bytes = cut(length);
        assert_eq!(&bytes[PART..PART + 9], b"_<cut b>_");
        assert_eq!(bytes.len(), 2 * PART + 9);
        assert_eq!(bytes.last(), Some(&(b'a' + ((length - 1) % 26) as u8)));
    }
}
