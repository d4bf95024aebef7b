//! How deep into JSON a piece of text ends, without parsing it.

use memchr::memchr2;

/// Follows brackets and strings from one piece of text to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    depth: usize,
    in_string: bool,
    /// The last byte was a backslash in a string.
    escaped: bool,
}

impl Scan {
    /// Reads on, up to the bracket that closes the value: how many bytes that takes, or none if it
    /// does not end here.
    pub fn end_of_value(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                let found = memchr2(b'"', b'\\', &bytes[at..])?;
                at += found;
                if bytes[at] == b'"' {
                    self.in_string = false;
                } else {
                    self.escaped = true;
                }
            } else {
                match bytes[at] {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }

    /// A string never goes over the end of a line, so JSON that was cut off mostly ends in one.
    pub fn is_in_string(self) -> bool {
        self.in_string
    }
}
