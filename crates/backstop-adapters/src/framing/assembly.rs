//! From lines to records.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::LONGEST_LINE;
use super::escapes::without_escapes;
use super::scan::Scan;
use super::stamp::after_stamp;
use crate::Record;

/// Puts values that take several lines together, and takes arrays apart.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Each line is a record of its own.
    #[default]
    Lines,
    /// Inside an object that began on an earlier line.
    Object(Partial),
    /// Inside an array that has given no record yet: its lines, each with its line end. An answer in
    /// plain words may be a list, too.
    List(Vec<u8>),
    /// Inside an array, between two elements.
    Array,
    /// Inside an element that began on an earlier line.
    Element(Partial),
}

/// The lines of a value that has not ended yet, each with its line end.
#[derive(Debug, Default)]
struct Partial {
    text: Vec<u8>,
    scan: Scan,
}

impl Assembly {
    #[inline]
    pub fn line(&mut self, line: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        // What nearly every line of nearly every stream is.
        if let (State::Lines, [b'{', b'"', .., b'}']) = (&self.state, line)
            && !holds_several(line)
        {
            emit(Record::Json(line));
        } else {
            self.unusual_line(line.strip_suffix(b"\r").unwrap_or(line), emit);
        }
    }

    pub fn is_amid(&self) -> bool {
        !matches!(self.state, State::Lines)
    }

    pub fn finish(&mut self, emit: &mut impl FnMut(Record<'_>)) {
        match std::mem::take(&mut self.state) {
            State::Object(partial) => give_up(&partial.text, emit),
            State::List(lines) => tell_lines(&lines, emit),
            State::Lines | State::Array | State::Element(_) => {}
        }
    }

    fn unusual_line(&mut self, line: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        let is_within = !matches!(self.state, State::Lines);
        let line = match after_stamp(line) {
            // Before text the time may be the agent's own.
            Some(rest) if is_within || begins_json(rest) => rest,
            _ => line,
        };
        // A value that is printed in colours has them on every line.
        if is_within && memchr::memchr(ESCAPE, line).is_some() {
            let plain = without_escapes(&String::from_utf8_lossy(line)).into_owned();
            return self.plain_line(plain.as_bytes(), emit);
        }
        self.plain_line(line, emit);
    }

    fn plain_line(&mut self, line: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        let holds_several = holds_several(line);
        let mut rest = line;
        loop {
            rest = match std::mem::take(&mut self.state) {
                State::Lines => self.outside(rest, holds_several, emit),
                State::List(lines) => self.in_list(lines, rest, emit),
                State::Array => self.between_elements(rest, emit),
                State::Object(partial) if interrupts(line) => {
                    give_up(&partial.text, emit);
                    rest
                }
                State::Element(_) if interrupts(line) => rest,
                State::Object(partial) => self.inside(partial, rest, State::Object, emit),
                State::Element(partial) => self.inside(partial, rest, State::Element, emit),
            };
            if rest.is_empty() {
                return;
            }
        }
    }

    /// A line, or the rest of one, that no value claims. Answers what is left of it.
    fn outside<'a>(
        &mut self,
        line: &'a [u8],
        holds_several: bool,
        emit: &mut impl FnMut(Record<'_>),
    ) -> &'a [u8] {
        let text = trimmed(line);
        match text {
            [b'{', after @ ..] if begins_object(after) => {
                if text.ends_with(b"}") && !holds_several {
                    emit(Record::Json(text));
                    return b"";
                }
                let mut scan = Scan::default();
                if let Some(end) = scan.end_of_value(text) {
                    emit(Record::Json(&text[..end]));
                    return worth_reading(&text[end..]);
                }
                if scan.is_in_string() || text.len() > LONGEST_FIRST_LINE || has_escape(text) {
                    self.text_or_json(text, emit);
                } else {
                    let mut partial = Partial { text: text.to_vec(), scan };
                    partial.text.push(b'\n');
                    self.state = State::Object(partial);
                }
                b""
            }
            [b'[', after @ ..] if begins_array(after) => {
                self.state = State::List(b"[\n".to_vec());
                after
            }
            // Blank lines in the agent's words are part of them.
            _ => {
                self.text_or_json(line, emit);
                b""
            }
        }
    }

    /// A line with a terminal sequence in it may be JSON without it; so may what follows a carriage
    /// return, with which progress bars and spinners overwrite themselves.
    fn text_or_json(&mut self, line: &[u8], emit: &mut impl FnMut(Record<'_>)) {
        for part in line.split(|byte| *byte == b'\r') {
            let decoded = String::from_utf8_lossy(part);
            let text = without_escapes(&decoded);
            let text = text.trim_start_matches('\u{feff}');
            let json = match after_stamp(text.as_bytes()) {
                Some(rest) if begins_json(rest) => trimmed(rest),
                _ => trimmed(text.as_bytes()),
            };
            // What is shorter now has nothing left that could be taken away.
            if begins_json(json) && json.len() < line.len() {
                self.plain_line(json, emit);
            } else if matches!(json, [b'{', after @ ..] if begins_object(after)) {
                emit(Record::Json(json));
            } else {
                emit(Record::Text(text));
            }
        }
    }

    /// Passes what is no record in an array. If it ends without one, its lines were words.
    fn in_list<'a>(
        &mut self,
        mut lines: Vec<u8>,
        line: &'a [u8],
        emit: &mut impl FnMut(Record<'_>),
    ) -> &'a [u8] {
        let mut rest = line;
        loop {
            rest = after_separators(rest);
            match rest {
                [] => {
                    lines.extend_from_slice(line);
                    lines.push(b'\n');
                    if lines.len() > LONGEST_LINE {
                        tell_lines(&lines, emit);
                    } else {
                        self.state = State::List(lines);
                    }
                    return b"";
                }
                [b'{', ..] => {
                    self.state = State::Array;
                    return rest;
                }
                [b']', after @ ..] => {
                    let behind = worth_reading(after);
                    lines.extend_from_slice(&line[..line.len() - after.len()]);
                    tell_lines(&lines, emit);
                    return behind;
                }
                _ => match after_scalar(rest) {
                    Some(after) => rest = after,
                    None => {
                        tell_lines(&lines, emit);
                        return line;
                    }
                },
            }
        }
    }

    fn between_elements<'a>(
        &mut self,
        line: &'a [u8],
        emit: &mut impl FnMut(Record<'_>),
    ) -> &'a [u8] {
        let rest = after_separators(line);
        match rest {
            [] => self.state = State::Array,
            [b']', after @ ..] => return worth_reading(after),
            [b'{', ..] => {
                let mut scan = Scan::default();
                if let Some(end) = scan.end_of_value(rest) {
                    emit(Record::Json(&rest[..end]));
                    self.state = State::Array;
                    return &rest[end..];
                }
                // An element that breaks inside a string was cut off, and the array with it.
                if !scan.is_in_string() {
                    let mut partial = Partial { text: rest.to_vec(), scan };
                    partial.text.push(b'\n');
                    self.state = State::Element(partial);
                }
                return b"";
            }
            _ => {
                // What is no record among them is passed over.
                if let Some(after) = after_scalar(rest) {
                    self.state = State::Array;
                    return after;
                }
                // No array of records after all, or it ends here unfinished.
                return rest;
            }
        }
        b""
    }

    fn inside<'a>(
        &mut self,
        mut partial: Partial,
        line: &'a [u8],
        same: fn(Partial) -> State,
        emit: &mut impl FnMut(Record<'_>),
    ) -> &'a [u8] {
        let element = matches!(same(Partial::default()), State::Element(_));
        if let Some(end) = partial.scan.end_of_value(line) {
            partial.text.extend_from_slice(&line[..end]);
            emit(Record::Json(&partial.text));
            if element {
                self.state = State::Array;
                return &line[end..];
            }
            return worth_reading(&line[end..]);
        }
        partial.text.extend_from_slice(line);
        partial.text.push(b'\n');
        if partial.scan.is_in_string() || partial.text.len() > LONGEST_LINE {
            if !element {
                give_up(&partial.text, emit);
            }
        } else {
            self.state = same(partial);
        }
        b""
    }
}

/// A value over several lines is indented. What stands at the very left can only close it: a new
/// record, or a line of text, means that its writer did not live to write the rest.
fn interrupts(line: &[u8]) -> bool {
    !matches!(line, [] | [b'}' | b']' | b'"' | b',' | b' ' | b'\t', ..])
}

/// It was no value after all: its first line may have been one that was cut off, the others are
/// text.
fn give_up(lines: &[u8], emit: &mut impl FnMut(Record<'_>)) {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    let (first, others) = match memchr::memchr(b'\n', lines) {
        Some(end) => (&lines[..end], Some(&lines[end + 1..])),
        None => (lines, None),
    };
    emit(Record::Json(first));
    if let Some(others) = others {
        tell_lines(others, emit);
    }
}

fn tell_lines(lines: &[u8], emit: &mut impl FnMut(Record<'_>)) {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    for line in lines.split(|byte| *byte == b'\n') {
        emit(Record::Text(&without_escapes(&String::from_utf8_lossy(line))));
    }
}

/// What follows white space and commas, which stand between the elements of an array.
fn after_separators(line: &[u8]) -> &[u8] {
    let skipped = line.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',');
    &line[skipped.count()..]
}

/// Whether one object seems to follow another on the same line. In a string, these bytes could only
/// stand at its end; whoever asks looks at brackets and strings then.
fn holds_several(line: &[u8]) -> bool {
    // Asked of every line, so nothing is made ready anew for each.
    static NEXT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"}{\""));
    static NEXT_APART: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"} {\""));
    NEXT.find(line).is_some() || NEXT_APART.find(line).is_some()
}

fn begins_json(text: &[u8]) -> bool {
    match text.trim_ascii_start() {
        [b'{', after @ ..] => begins_object(after),
        [b'[', after @ ..] => begins_array(after),
        _ => false,
    }
}

/// Whether what follows a brace can be JSON: text in braces is common.
fn begins_object(after: &[u8]) -> bool {
    matches!(after.trim_ascii_start().first(), None | Some(b'"' | b'}'))
}

/// Whether what follows a bracket can be an array of records: log lines begin with one, too.
fn begins_array(after: &[u8]) -> bool {
    matches!(after.trim_ascii_start().first(), None | Some(b'{'))
}

/// What follows a text, a number or a word of JSON, if that is an element of an array: no other line
/// ends with it or goes on with a comma or a bracket.
fn after_scalar(rest: &[u8]) -> Option<&[u8]> {
    let end = if let [b'"', text @ ..] = rest {
        let mut is_escaped = false;
        let end = text.iter().position(|byte| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        });
        end? + 2
    } else {
        let is_end = |byte: &u8| matches!(byte, b',' | b']') || byte.is_ascii_whitespace();
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        let is_scalar = serde_json::from_slice::<serde::de::IgnoredAny>(&rest[..end]).is_ok();
        if is_scalar { end } else { return None }
    };
    let after = &rest[end..];
    matches!(after.trim_ascii_start(), [] | [b',' | b']', ..]).then_some(after)
}

/// What follows a value on its line, unless that is blank or only resets a colour.
fn worth_reading(rest: &[u8]) -> &[u8] {
    let rest = trimmed(rest);
    // Only a short rest is looked at: a line may hold very many values.
    let blank = rest.len() <= LONGEST_RESET
        && without_escapes(&String::from_utf8_lossy(rest)).trim().is_empty();
    if blank { b"" } else { rest }
}

/// Without white space, and without the marks that begin files: they stay in what was appended.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut line = line.trim_ascii();
    while let Some(after) = line.strip_prefix(b"\xef\xbb\xbf") {
        line = after.trim_ascii_start();
    }
    line
}

fn has_escape(text: &[u8]) -> bool {
    memchr::memchr2(ESCAPE, b'\r', text).is_some()
}

const ESCAPE: u8 = 0x1b;
/// The first line of a pretty-printed object is short; a longer one is a record that was cut off.
const LONGEST_FIRST_LINE: usize = 4096;
const LONGEST_RESET: usize = 64;
