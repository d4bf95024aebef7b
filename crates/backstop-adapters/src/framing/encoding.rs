//! From the bytes of a stream to UTF-8.

use std::borrow::Cow;

/// The whole of a text as UTF-8, without a mark in front of it.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (encoding, mark) = sniff(bytes);
    if encoding == Encoding::Utf8 {
        return Cow::Borrowed(&bytes[mark..]);
    }
    let mut decoder = Decoder::default();
    let mut text = Vec::with_capacity(bytes.len());
    let mut pass = |part: &[u8]| text.extend_from_slice(part);
    decoder.push(bytes, &mut pass);
    decoder.finish(&mut pass);
    Cow::Owned(text)
}

/// Finds out how the stream is encoded, and turns UTF-16 into UTF-8. Anything else passes as it is.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// Unknown until the first bytes have come.
    encoding: Option<Encoding>,
    /// The bytes that cannot be judged yet: of the beginning, or half a unit of UTF-16.
    kept: Vec<u8>,
    /// The first half of a pair of surrogates.
    high: Option<u16>,
    decoded: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16(Order),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8], pass: &mut impl FnMut(&[u8])) {
        match self.encoding {
            Some(Encoding::Utf8) => pass(bytes),
            Some(Encoding::Utf16(order)) => self.decode(bytes, order, pass),
            None => {
                self.kept.extend_from_slice(bytes);
                if self.kept.len() >= TELLING {
                    self.begin(pass);
                }
            }
        }
    }

    pub fn finish(&mut self, pass: &mut impl FnMut(&[u8])) {
        if self.encoding.is_none() {
            self.begin(pass);
        }
        if self.high.is_some() || !self.kept.is_empty() {
            pass("\u{fffd}".as_bytes());
        }
    }

    fn begin(&mut self, pass: &mut impl FnMut(&[u8])) {
        let kept = std::mem::take(&mut self.kept);
        let (encoding, mark) = sniff(&kept);
        self.encoding = Some(encoding);
        self.push(&kept[mark..], pass);
    }

    fn decode(&mut self, bytes: &[u8], order: Order, pass: &mut impl FnMut(&[u8])) {
        let mut rest = bytes;
        if let (Some(&first), Some((&second, after))) = (self.kept.first(), rest.split_first()) {
            self.kept.clear();
            self.unit([first, second], order);
            rest = after;
        }
        let (units, half) = rest.as_chunks::<2>();
        for unit in units {
            self.unit(*unit, order);
            if self.decoded.len() >= DECODED_AT_ONCE {
                pass(self.decoded.as_bytes());
                self.decoded.clear();
            }
        }
        self.kept.extend_from_slice(half);
        pass(self.decoded.as_bytes());
        self.decoded.clear();
    }

    fn unit(&mut self, bytes: [u8; 2], order: Order) {
        let unit = match order {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        };
        let high = self.high.take();
        if (0xd800..0xdc00).contains(&unit) {
            if high.is_some() {
                self.decoded.push(char::REPLACEMENT_CHARACTER);
            }
            self.high = Some(unit);
        } else {
            let units = high.into_iter().chain([unit]);
            let characters = char::decode_utf16(units);
            self.decoded.extend(characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }
}

/// The encoding, and how long the mark is that says so. Without a mark, text whose first two
/// characters are ASCII is obvious.
fn sniff(bytes: &[u8]) -> (Encoding, usize) {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
        [0xff, 0xfe, ..] => (Encoding::Utf16(Order::Little), 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16(Order::Big), 2),
        [1..=0x7f, 0, 1..=0x7f, 0, ..] => (Encoding::Utf16(Order::Little), 0),
        [0, 1..=0x7f, 0, 1..=0x7f, ..] => (Encoding::Utf16(Order::Big), 0),
        _ => (Encoding::Utf8, 0),
    }
}

/// How many bytes [`sniff`] wants to see.
const TELLING: usize = 4;
const DECODED_AT_ONCE: usize = 64 * 1024;
