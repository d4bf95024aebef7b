//! Lines by which the child reports: `::backstop {…}` on its standard output.

use memchr::memmem::Finder;

use super::window::View;

/// Finds such lines. Text between them is searched, not read line by line.
#[derive(Debug)]
pub(super) struct DirectiveScanner {
    prefix: Finder<'static>,
    place: Place,
    /// What has been read of the line that we are in.
    json: Vec<u8>,
}

/// What a line said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Directive(Vec<u8>),
    Oversized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text,
    Directive,
    /// In the rest of a line that was given up.
    Oversized,
}

impl DirectiveScanner {
    pub fn new() -> Self {
        Self { prefix: Finder::new(PREFIX), place: Place::Text, json: Vec::new() }
    }

    pub fn begin(&mut self) {
        self.place = Place::Text;
        self.json = Vec::new();
    }

    pub fn scan(&mut self, view: &View<'_>, mut found: impl FnMut(Line)) {
        let mut from = view.fresh;
        if self.place == Place::Text {
            // The line may have begun in what was seen before.
            from = from.saturating_sub(PREFIX.len() - 1);
        }
        while from < view.bytes.len() {
            from = match self.place {
                Place::Text => self.next_directive(view, from),
                Place::Directive | Place::Oversized => self.rest_of_line(view, from, &mut found),
            };
        }
        if view.ended && self.place == Place::Directive {
            self.complete(&mut found);
        }
    }

    /// The place behind the next prefix, or the end.
    fn next_directive(&mut self, view: &View<'_>, mut from: usize) -> usize {
        while let Some(offset) = self.prefix.find(&view.bytes[from..]) {
            let start = from + offset;
            from = start + PREFIX.len();
            if start == 0 || view.bytes[start - 1] == b'\n' {
                self.place = Place::Directive;
                return from;
            }
        }
        view.bytes.len()
    }

    /// The place behind the line's end, or the end.
    fn rest_of_line(
        &mut self,
        view: &View<'_>,
        from: usize,
        found: &mut impl FnMut(Line),
    ) -> usize {
        let newline = memchr::memchr(b'\n', &view.bytes[from..]).map(|offset| from + offset);
        let end = newline.unwrap_or(view.bytes.len());
        if self.place == Place::Directive {
            if self.json.len() + (end - from) <= LONGEST {
                self.json.extend_from_slice(&view.bytes[from..end]);
            } else {
                self.json = Vec::new();
                self.place = Place::Oversized;
                found(Line::Oversized);
            }
        }
        match newline {
            None => end,
            Some(_) => {
                if self.place == Place::Directive {
                    self.complete(found);
                }
                self.place = Place::Text;
                end + 1
            }
        }
    }

    fn complete(&mut self, found: &mut impl FnMut(Line)) {
        let mut json = std::mem::take(&mut self.json);
        if json.last() == Some(&b'\r') {
            json.pop();
        }
        self.place = Place::Text;
        found(Line::Directive(json));
    }
}

const PREFIX: &[u8] = b"::backstop ";
const LONGEST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::window::Window;
    use super::*;

    fn scanned<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
        let mut scanner = DirectiveScanner::new();
        let mut window = Window::new();
        let mut lines = Vec::new();
        for chunk in chunks {
            window.feed(chunk, |view| scanner.scan(&view, |line| lines.push(line)));
        }
        scanner.scan(&window.last_view(), |line| lines.push(line));
        lines
    }

    /// The same, line by line over the whole.
    fn reference(stream: &[u8]) -> Vec<Line> {
        stream
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.strip_prefix(PREFIX))
            .map(|json| json.strip_suffix(b"\r").unwrap_or(json))
            .map(|json| Line::Directive(json.to_vec()))
            .collect()
    }

    fn directive(json: &str) -> Line {
        Line::Directive(json.as_bytes().to_vec())
    }

    #[test]
    fn only_lines_that_begin_so() {
        let text = b"::backstop {1}\nx ::backstop {2}\n ::backstop {3}\n::backstop{4}\n\
            ::backstop {5}\r\n::::backstop {6}\n\r::backstop {7}\n::backstop {8} ::backstop {9}";
        let expected = ["{1}", "{5}", "{8} ::backstop {9}"].map(directive);
        assert_eq!(scanned([text.as_slice()]), expected);
    }

    #[test]
    fn a_line_that_never_ends_is_given_up() {
        let mut text = PREFIX.to_vec();
        text.resize(PREFIX.len() + LONGEST, b'x');
        let Line::Directive(longest) = &scanned([text.as_slice()])[0] else { panic!("refused") };
        assert_eq!(longest.len(), LONGEST);
        text.resize(5 * LONGEST, b'x');
        text.extend_from_slice(b"\n::backstop {}\n");
        assert_eq!(scanned([text.as_slice()]), [Line::Oversized, directive("{}")]);
        assert_eq!(scanned(text.chunks(999)), [Line::Oversized, directive("{}")]);
    }

    #[test]
    fn a_line_is_cut_anywhere() {
        let text = b"one\n::backstop {\"a\":1}\r\n::backstop {}\nx::backstop {}\n::backstop 3";
        let expected = reference(text);
        assert_eq!(expected.len(), 3);
        for at in 0..=text.len() {
            let (before, after) = text.split_at(at);
            assert_eq!(scanned([before, after]), expected, "cut at {at}");
        }
        assert_eq!(scanned(text.chunks(1)), expected);
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("::backstop "), Just("::back"), Just("stop "), Just("\n"), Just("\r\n"),
                    Just("{}"), Just(":"), Just("x")
                ],
                0..40,
            ),
            sizes in proptest::collection::vec(1usize..20, 1..60),
        ) {
            let stream = parts.concat().into_bytes();
            let mut rest = stream.as_slice();
            let mut chunks = Vec::new();
            for size in sizes.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at(size.min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(scanned(chunks), reference(&stream));
        }
    }
}
