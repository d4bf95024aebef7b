//! What noise looks like. Everything here reads a short look-ahead from its first byte.

mod time;

/// The bytes ahead, at most as many as the look-ahead has.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub bytes: &'a [u8],
    /// Nothing follows after these.
    pub complete: bool,
}

impl Text<'_> {
    fn at(&self, index: usize) -> Option<u8> {
        self.bytes.get(index).copied()
    }

    fn has(&self, index: usize, expected: u8) -> bool {
        self.at(index) == Some(expected)
    }

    /// Noise may end before `index`: no word goes on there.
    fn ends(&self, index: usize) -> bool {
        match self.at(index) {
            Some(byte) => !is_word(byte),
            None => self.complete,
        }
    }

    /// The place after the word, which is given in lower case.
    fn word(&self, index: usize, word: &[u8]) -> Option<usize> {
        let end = index + word.len();
        self.bytes.get(index..end)?.eq_ignore_ascii_case(word).then_some(end)
    }

    /// The place after a run of digits, which must have a length in the range.
    fn digits(&self, index: usize, least: usize, most: usize) -> Option<usize> {
        let run = self.bytes.get(index..)?.iter().take(most + 1);
        let length = run.take_while(|byte| byte.is_ascii_digit()).count();
        (least..=most).contains(&length).then_some(index + length)
    }

    /// As [`Text::digits`], and their value must be in the range too.
    fn number(&self, index: usize, length: (usize, usize), value: (u32, u32)) -> Option<usize> {
        let end = self.digits(index, length.0, length.1)?;
        let number = self.bytes[index..end]
            .iter()
            .fold(0_u32, |sum, byte| sum.saturating_mul(10).saturating_add(u32::from(byte - b'0')));
        (value.0..=value.1).contains(&number).then_some(end)
    }

    /// The place after a decimal number.
    fn decimal(&self, index: usize) -> Option<usize> {
        let end = self.digits(index, 1, 12)?;
        let fraction = if self.has(end, b'.') { self.digits(end + 1, 1, 12) } else { None };
        Some(fraction.unwrap_or(end))
    }
}

/// Noise: the first `keep` of `length` bytes stay, the others become the class token.
pub(super) struct Found {
    pub keep: usize,
    pub length: usize,
    pub class: &'static [u8],
}

/// The noise that begins here. `last` is the byte written before it.
pub(super) fn noise(text: Text<'_>, last: Option<u8>) -> Option<Found> {
    let whole = |class| move |length| Found { keep: 0, length, class };
    match text.at(0)? {
        b'0'..=b'9' => {
            let within_number = last == Some(b'.');
            let within_place = last == Some(b':');
            (!within_number && !within_place)
                .then(|| time::stamp(text))
                .flatten()
                .map(whole(b"<time>"))
                .or_else(|| address_port(text))
                .or_else(|| hexadecimal(text))
                .or_else(|| {
                    if within_number {
                        return None;
                    }
                    time::duration(text)
                        .map(whole(b"<dur>"))
                        .or_else(|| percentage(text).map(whole(b"<pct>")))
                })
        }
        // The first letter rules most words out: of a hash, a weekday or month, or a label.
        b'p' | b'P' | b'l' | b'L' => labelled(text),
        b'a'..=b'f' | b'A'..=b'F' => {
            hexadecimal(text).or_else(|| time::named_stamp(text).map(whole(b"<time>")))
        }
        b'j' | b'J' | b'm' | b'M' | b'n' | b'N' | b'o' | b'O' | b's' | b'S' | b't' | b'T'
        | b'w' | b'W' => time::named_stamp(text).map(whole(b"<time>")),
        _ => None,
    }
}

/// The length of the prefix of a temporary path; all path bytes after it belong to it.
pub(super) fn temporary_path(text: Text<'_>, last: Option<u8>) -> Option<usize> {
    const PREFIXES: [&[u8]; 5] =
        [b"/tmp/", b"/var/tmp/", b"/var/folders/", b"/private/tmp/", b"/private/var/folders/"];
    if !text.has(0, b'/') || last.is_some_and(|byte| matches!(byte, b'.' | b'-' | b'~' | b'/')) {
        return None;
    }
    PREFIXES
        .iter()
        .find(|prefix| text.bytes.starts_with(prefix))
        .map(|prefix| prefix.len())
        .filter(|&length| text.at(length).is_some_and(is_temporary_path_byte))
        // What stood behind the prefix was cut away, and was no path.
        .filter(|&length| !text.bytes[length..].starts_with(CUT))
}

/// The length of a folder's name with its slash, if something of the path follows it.
pub(super) fn folder(text: Text<'_>) -> Option<usize> {
    let is_name = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-' | b'+' | b'@' | b'~');
    let slash = text.bytes.iter().position(|&byte| !is_name(byte))?;
    let next = text.at(slash + 1)?;
    (text.has(slash, b'/') && (is_name(next) || next == b'/')).then_some(slash + 1)
}

/// How many digits the port at `index` has.
pub(super) fn port_digits(text: Text<'_>, index: usize) -> Option<usize> {
    let end = text.digits(index, 1, 5)?;
    text.ends(end).then_some(end - index)
}

/// A letter, a digit, an underscore, or a part of a character beyond ASCII.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

pub(super) fn is_temporary_path_byte(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'/' | b'.' | b'-' | b'+' | b'@' | b'~' | b'%' | b'#' | b'*')
}

/// UUIDs, addresses, hashes.
fn hexadecimal(text: Text<'_>) -> Option<Found> {
    let run = |index: usize| {
        let rest = text.bytes.get(index..).unwrap_or_default();
        rest.iter().take(LONGEST_HASH + 1).take_while(|byte| byte.is_ascii_hexdigit()).count()
    };
    let found =
        |length: usize, class| text.ends(length).then_some(Found { keep: 0, length, class });
    if let Some(prefix) = text.word(0, b"0x") {
        let digits = run(prefix);
        return (6..=16).contains(&digits).then(|| found(prefix + digits, b"<addr>")).flatten();
    }
    let length = run(0);
    let has_digit = |end: usize| text.bytes[..end].iter().any(u8::is_ascii_digit);
    if length == 8 {
        let mut end = 8;
        let groups = [4, 4, 4, 12].into_iter().all(|group| {
            let fits = text.has(end, b'-') && run(end + 1) == group;
            end += 1 + group;
            fits
        });
        if groups && has_digit(end) && text.ends(end) {
            return found(end, b"<uuid>");
        }
    }
    let has_letter = text.bytes[..length].iter().any(u8::is_ascii_alphabetic);
    ((7..=LONGEST_HASH).contains(&length) && has_letter && has_digit(length))
        .then(|| found(length, b"<hex>"))
        .flatten()
}

/// `127.0.0.1:8080`
fn address_port(text: Text<'_>) -> Option<Found> {
    let mut end = text.digits(0, 1, 3)?;
    for _ in 0..3 {
        if !text.has(end, b'.') {
            return None;
        }
        end = text.digits(end + 1, 1, 3)?;
    }
    if !text.has(end, b':') {
        return None;
    }
    let keep = end + 1;
    let digits = port_digits(text, keep)?;
    Some(Found { keep, length: keep + digits, class: b"<port>" })
}

fn percentage(text: Text<'_>) -> Option<usize> {
    let number = text.decimal(0)?;
    let sign = number + usize::from(text.has(number, b' '));
    // Whatever follows the sign: it is no word character, so noise may begin right after it.
    text.has(sign, b'%').then_some(sign + 1)
}

/// A number behind the word that says what it is: `pid 123`, `port=8080`, `localhost:8080`.
fn labelled(text: Text<'_>) -> Option<Found> {
    if let Some(host) = text.word(0, b"localhost:") {
        let digits = port_digits(text, host)?;
        return Some(Found { keep: host, length: host + digits, class: b"<port>" });
    }
    let (label, most, class): (_, _, &'static [u8]) =
        if let Some(end) = text.word(0, b"pid").or_else(|| text.word(0, b"ppid")) {
            (end, 10, b"<pid>")
        } else {
            (text.word(0, b"port")?, 5, b"<port>")
        };
    let is_separator = |byte: u8| b" =:#[(\"'".contains(&byte);
    let separators =
        (0..3).take_while(|&index| text.at(label + index).is_some_and(is_separator)).count();
    if separators == 0 {
        return None;
    }
    let keep = label + separators;
    let end = text.digits(keep, 1, most)?;
    text.ends(end).then_some(Found { keep, length: end, class })
}

const LONGEST_HASH: usize = 128;

/// How the mark of a cut begins.
pub(super) const CUT: &[u8] = b"_<cut ";
