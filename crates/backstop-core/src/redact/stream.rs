//! Bytes that come in pieces: a secret may lie across a border.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::known::ENDS_IN_ESCAPE;
use super::{REDACTED, Redactor, known_regex};

/// Redacts what comes in pieces. Only what may be the beginning of a secret is held back: a last word
/// that looks like one, an escape, the beginning of a value, or a private key that has not ended.
#[derive(Debug)]
pub struct Stream {
    redactor: Redactor,
    held: Vec<u8>,
    /// The byte before what is held, unless that was a secret.
    before: Option<u8>,
    /// Inside a private key: so much of it was left out.
    inside_key: Option<usize>,
}

impl Stream {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new(), before: None, inside_key: None }
    }

    /// Takes in a piece, and gives away what is known to be harmless.
    pub fn push(&mut self, bytes: &[u8], give: &mut dyn FnMut(&[u8])) {
        if self.held.is_empty() {
            let kept = self.pass(bytes, false, give);
            self.held.extend_from_slice(&bytes[kept..]);
            return;
        }
        let mut whole = std::mem::take(&mut self.held);
        whole.extend_from_slice(bytes);
        let kept = self.pass(&whole, false, give);
        whole.drain(..kept);
        self.held = whole;
    }

    /// Nothing more comes.
    pub fn finish(&mut self, give: &mut dyn FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        self.pass(&held, true, give);
        self.inside_key = None;
    }

    /// Gives away what can be; answers with where the rest begins.
    fn pass(&mut self, bytes: &[u8], is_end: bool, give: &mut dyn FnMut(&[u8])) -> usize {
        let mut from = 0;
        loop {
            if let Some(left_out) = self.inside_key {
                let Some(end) = self.leave_key(bytes, from, left_out, is_end) else {
                    return bytes.len();
                };
                from = end;
                if self.inside_key.is_some() {
                    return from;
                }
            }
            let key = KEY.find_at(bytes, from).map(|found| found.start());
            let until = key.unwrap_or(bytes.len());
            let safe = match (key, is_end) {
                (Some(at), _) => at,
                (None, true) => bytes.len(),
                (None, false) => from + self.safe(&bytes[from..]),
            };
            from = self.clean(&bytes[..until], from, safe, give);
            let Some(at) = key else { return from };
            match header(&bytes[at..]) {
                Header::Key => {
                    give(REDACTED.as_bytes());
                    self.before = None;
                    self.inside_key = Some(0);
                    from = at;
                }
                Header::Unfinished if !is_end => return at,
                _ => {
                    from = at + KEY_BEGINS.len();
                    self.give(&bytes[at..from], give);
                }
            }
        }
    }

    /// Where a private key ends, in what is there of it; everything before is left out.
    fn leave_key(
        &mut self,
        bytes: &[u8],
        from: usize,
        left_out: usize,
        is_end: bool,
    ) -> Option<usize> {
        let rest = &bytes[from..];
        let ends = find(rest, KEY_ENDS).and_then(|at| {
            let tail = at + KEY_ENDS.len();
            find(&rest[tail..], DASHES).map(|dashes| from + tail + dashes + DASHES.len())
        });
        if let Some(end) = ends {
            self.inside_key = None;
            return Some(end);
        }
        let left_out = left_out + rest.len();
        // No key is that long: somebody only spoke of one.
        if left_out > LONGEST_KEY {
            self.inside_key = None;
            return Some(bytes.len());
        }
        // The mark of the end may lie across the border.
        let kept = if is_end { 0 } else { rest.len().min(KEY_ENDS.len() + LONGEST_HEADER) };
        self.inside_key = Some(left_out - kept);
        if kept == 0 { None } else { Some(bytes.len() - kept) }
    }

    /// Gives away everything up to a safe place without its secrets; answers with how far it got.
    fn clean(
        &mut self,
        bytes: &[u8],
        mut from: usize,
        safe: usize,
        give: &mut dyn FnMut(&[u8]),
    ) -> usize {
        if self.redactor.may_find(&bytes[from..]) {
            let known = Redactor::known(&bytes[from..]);
            while let Some((start, end)) = self.redactor.find(&bytes[from..], self.before, known) {
                if from + start >= safe {
                    break;
                }
                give(&bytes[from..from + start]);
                give(REDACTED.as_bytes());
                self.before = None;
                from += end;
            }
        }
        let end = safe.max(from);
        self.give(&bytes[from..end], give);
        end
    }

    fn give(&mut self, bytes: &[u8], give: &mut dyn FnMut(&[u8])) {
        if let Some(last) = bytes.last() {
            self.before = Some(*last);
            give(bytes);
        }
    }

    /// Up to where no secret can begin that ends after these bytes.
    fn safe(&self, bytes: &[u8]) -> usize {
        let begun = overlap(bytes, KEY_BEGINS).max(self.redactor.begun(bytes));
        let last = word(&bytes[..bytes.len() - begun]);
        let mut safe = last;
        // A scheme and its blank belong to what follows.
        while SCHEMES.iter().any(|scheme| bytes[..safe].ends_with(scheme)) {
            safe = word(&bytes[..safe - 1]);
        }
        if begun == 0 && safe == last && !self.redactor.may_begin(&bytes[last..]) {
            return bytes.len() - escape(bytes);
        }
        // A word that never ends is no secret, or one that is long enough to be found in part.
        safe.max(bytes.len().saturating_sub(LONGEST_WORD))
    }
}

/// How many of the last bytes are an escape or the beginning of one: what comes next may only be known
/// for a token's first letter together with it.
fn escape(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(LONGEST_ESCAPE)..];
    ESCAPE_AT_END.find(tail).map_or(0, |found| found.len())
}

/// Where the last word begins.
fn word(bytes: &[u8]) -> usize {
    bytes.iter().rposition(u8::is_ascii_whitespace).map_or(0, |blank| blank + 1)
}

enum Header {
    Key,
    Unfinished,
    Other,
}

/// What begins with `-----BEGIN `.
fn header(bytes: &[u8]) -> Header {
    let rest = &bytes[KEY_BEGINS.len()..bytes.len().min(KEY_BEGINS.len() + LONGEST_HEADER)];
    match find(rest, DASHES) {
        Some(end) if rest[..end].ends_with(b"PRIVATE KEY") => Header::Key,
        Some(_) => Header::Other,
        None if rest.len() < LONGEST_HEADER && !rest.contains(&b'\n') => Header::Unfinished,
        None => Header::Other,
    }
}

/// How many of the last bytes are the beginning of this.
pub(super) fn overlap(bytes: &[u8], whole: &[u8]) -> usize {
    (1..whole.len().min(bytes.len() + 1))
        .rev()
        .find(|length| bytes.ends_with(&whole[..*length]))
        .unwrap_or(0)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // The first byte is rare enough that looking for it first costs nothing.
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == wanted[0]) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

static ESCAPE_AT_END: LazyLock<Regex> = LazyLock::new(|| known_regex(ENDS_IN_ESCAPE));
static KEY: LazyLock<Regex> = LazyLock::new(|| known_regex("-----BEGIN "));

const SCHEMES: [&[u8]; 4] = [b"Bearer ", b"bearer ", b"Basic ", b"basic "];
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_ENDS: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
const LONGEST_ESCAPE: usize = 40;
const LONGEST_HEADER: usize = 48;
const LONGEST_KEY: usize = 64 << 10;
const LONGEST_WORD: usize = 4 << 10;
