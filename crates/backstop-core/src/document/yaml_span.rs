//! Where a YAML literal really starts and ends.
//!
//! The parser's spans take in anchors and tags, leave out the `|` of a block scalar, and may run
//! on into the white space behind a quoted key.

use crate::diagnostic::Span;
use saphyr_parser::ScalarStyle;

/// The literal alone, from the span of its event; `previous_end` is where the event before ended.
pub(super) fn scalar(text: &str, span: &Span, style: ScalarStyle, previous_end: usize) -> Span {
    let start = skip_properties(text, span, false);
    match style {
        ScalarStyle::Plain => start..span.end,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            start..quoted_end(text, start, span.end)
        }
        ScalarStyle::Literal | ScalarStyle::Folded => {
            let is_header = |at: usize| text[at..].starts_with(['|', '>']);
            let start = if is_header(start) {
                start
            } else {
                let between = previous_end.min(span.start)..span.end;
                let header = skip_properties(text, &between, true);
                if is_header(header) {
                    header
                } else {
                    span.start
                }
            };
            start..start + text[start..span.end].trim_end().len()
        }
    }
}

/// The offset behind anchors, tags, comments and white space, and behind the characters that
/// introduce a value if `indicators` is set.
pub(super) fn skip_properties(text: &str, span: &Span, indicators: bool) -> usize {
    let mut at = span.start;
    while at < span.end {
        let rest = &text[at..span.end];
        at += match rest.as_bytes()[0] {
            b' ' | b'\t' | b'\r' | b'\n' => 1,
            b':' | b'-' | b'?' | b',' if indicators => 1,
            b'&' | b'!' => rest.find([' ', '\t', '\r', '\n']).unwrap_or(rest.len()),
            b'#' => rest.find('\n').unwrap_or(rest.len()),
            _ => break,
        };
    }
    at
}

fn quoted_end(text: &str, start: usize, limit: usize) -> usize {
    let bytes = &text.as_bytes()[start..limit];
    let Some(quote) = bytes.first() else {
        return limit;
    };
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if *quote == b'"' => at += 2,
            b'\'' if *quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if byte == *quote => return start + at + 1,
            _ => at += 1,
        }
    }
    limit
}
