//! Patterns in the output, found across the borders of what was read.
//!
//! A match must not depend on where the stream was cut. Searches begin a little before the fresh
//! bytes and see what stands before their start, so that `^` and `\b` are not fooled by the cut.
//! And a match at the very end counts only if no byte that may still follow could undo it, as
//! with `$` and `\b`; otherwise it has to wait for them, or for the stream's end.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, Look};

use super::literals::Literals;
use super::window::{CERTAINTY, CONTEXT, LONGEST_MATCH, View, line_around};
use super::{Pattern, Setup};

/// All patterns and progress words of a run.
#[derive(Debug)]
pub(super) struct Matcher {
    targets: Vec<Target>,
    literals: Literals,
    expressions: Vec<(usize, Expression)>,
    /// A literal has been found since the search for them was prepared.
    is_stale: bool,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Pattern { key: String, text: String, excerpt: String },
    Marker { word: String },
}

/// A pattern can't be looked for.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a regular expression that output can be searched for")]
pub struct BadPattern {
    pub pattern: String,
    pub source: Box<regex::Error>,
}

#[derive(Debug)]
struct Target {
    name: Name,
    is_wanted: bool,
}

#[derive(Debug)]
enum Name {
    Pattern(Pattern),
    Marker(String),
}

impl Matcher {
    pub fn new(setup: &Setup) -> Result<Self, BadPattern> {
        let patterns = setup.patterns.iter().cloned().map(Name::Pattern);
        let markers = setup.markers.iter().filter(|word| !word.is_empty()).cloned();
        let names = patterns.chain(markers.map(Name::Marker));
        let targets: Vec<_> = names.map(|name| Target { name, is_wanted: true }).collect();
        let mut literals = Vec::new();
        let mut expressions = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            match &target.name {
                Name::Pattern(pattern) if pattern.is_regex => {
                    expressions.push((number, Expression::new(&pattern.text)?));
                }
                Name::Pattern(Pattern { text, .. }) | Name::Marker(text) => {
                    literals.push((number, text.as_bytes().into()));
                }
            }
        }
        let mut matcher =
            Self { targets, literals: Literals::new(literals), expressions, is_stale: false };
        matcher.prepare();
        Ok(matcher)
    }

    /// A new iteration: what may be found once in each is looked for again.
    pub fn begin(&mut self) {
        for target in &mut self.targets {
            target.is_wanted |= !matches!(&target.name, Name::Pattern(p) if p.since_run);
        }
        self.prepare();
    }

    pub fn look(&mut self, view: &View<'_>, mut report: impl FnMut(Found)) {
        let Self { targets, literals, expressions, is_stale } = self;
        if view.fresh < view.bytes.len() {
            literals.find(view, |number, place| {
                let target = &mut targets[number];
                if target.is_wanted {
                    target.is_wanted = false;
                    *is_stale = true;
                    report(target.name.found(view, place));
                }
            });
        }
        for (number, expression) in expressions {
            let target = &mut targets[*number];
            if target.is_wanted
                && let Some(place) = expression.find(view)
            {
                target.is_wanted = false;
                report(target.name.found(view, place));
            }
        }
        if self.is_stale {
            self.prepare();
        }
    }

    fn prepare(&mut self) {
        let targets = &self.targets;
        self.literals.look_for(|number| targets[number].is_wanted);
        self.is_stale = false;
    }
}

impl Name {
    fn found(&self, view: &View<'_>, place: Range<usize>) -> Found {
        match self {
            Self::Marker(word) => Found::Marker { word: word.clone() },
            Self::Pattern(Pattern { key, text, .. }) => Found::Pattern {
                key: key.clone(),
                text: text.clone(),
                excerpt: line_around(view.bytes, place),
            },
        }
    }
}

/// A regular expression and what it needs to know about its surroundings.
#[derive(Debug)]
struct Expression {
    regex: Regex,
    /// How far before the fresh bytes a match that ends in them may begin.
    reach: usize,
    /// What follows a match may undo it.
    looks_ahead: bool,
}

impl Expression {
    fn new(text: &str) -> Result<Self, BadPattern> {
        let refused = |error| BadPattern { pattern: text.to_owned(), source: Box::new(error) };
        let regex = RegexBuilder::new(text).size_limit(LARGEST_REGEX).build().map_err(refused)?;
        let hir = regex_syntax::ParserBuilder::new().utf8(false).build().parse(text).ok();
        let longest = hir.as_ref().and_then(|hir| hir.properties().maximum_len());
        let looks_ahead = hir.as_ref().is_none_or(looks_ahead);
        let margin = if looks_ahead { CERTAINTY } else { 0 };
        let reach = longest.unwrap_or(LONGEST_MATCH).min(LONGEST_MATCH) + margin;
        Ok(Self { regex, reach, looks_ahead })
    }

    fn find(&self, view: &View<'_>) -> Option<Range<usize>> {
        let nothing_new = view.fresh == view.bytes.len();
        // At the end only what had to wait is looked at again, and never a stream without a byte.
        if nothing_new && (!self.looks_ahead || view.bytes.is_empty()) {
            return None;
        }
        let earliest = if view.from_start { 0 } else { CONTEXT };
        let from = view.fresh.saturating_sub(self.reach).max(earliest);
        if !self.looks_ahead {
            return self.regex.find_at(view.bytes, from).map(|found| found.range());
        }
        let end = self.regex.shortest_match_at(view.bytes, from)?;
        let is_certain = view.ended || end + CERTAINTY <= view.bytes.len();
        is_certain.then(|| {
            let found = self.regex.find_at(view.bytes, from);
            found.map_or(end..end, |found| found.range())
        })
    }
}

fn looks_ahead(hir: &Hir) -> bool {
    let looks_back = [Look::Start, Look::StartLF];
    hir.properties().look_set().iter().any(|look| !looks_back.contains(&look))
}

/// As in policies: enough for any pattern written by hand.
const LARGEST_REGEX: usize = 10 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Sinks;
    use super::super::window::Window;
    use super::*;

    fn pattern(text: &str, is_regex: bool) -> Pattern {
        Pattern { key: text.to_owned(), text: text.to_owned(), is_regex, since_run: false }
    }

    fn matcher(patterns: Vec<Pattern>) -> Matcher {
        let (sinks, output_folder) = (Sinks::nowhere(), "nowhere".into());
        Matcher::new(&Setup { sinks, patterns, markers: vec![], output_folder, live: None })
            .unwrap()
    }

    /// The patterns that are found, in any order. Each is found at most once.
    fn found<'a>(matcher: &mut Matcher, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut window = Window::new();
        let mut texts = Vec::new();
        let mut note = |found| match found {
            Found::Pattern { text, .. } => texts.push(text),
            Found::Marker { .. } => panic!("no marker is looked for"),
        };
        for chunk in chunks {
            window.feed(chunk, |view| matcher.look(&view, &mut note));
        }
        matcher.look(&window.last_view(), &mut note);
        texts.sort();
        texts
    }

    fn found_in(text: &str, is_regex: bool, chunks: &[&[u8]]) -> bool {
        !found(&mut matcher(vec![pattern(text, is_regex)]), chunks.iter().copied()).is_empty()
    }

    #[test]
    fn a_cut_is_neither_a_beginning_nor_an_end() {
        for (text, chunks, expected) in [
            ("^b", ["a", "b"], false),
            ("^b", ["b", "a"], true),
            ("(?m)^b", ["a", "b"], false),
            ("(?m)^b", ["a\n", "b"], true),
            (r"\bdone\b", ["done", "r"], false),
            (r"\bdone\b", ["un", "done"], false),
            (r"\bdone\b", ["a ", "done"], true),
            (r"done\b.*", ["done", " and more"], true),
            ("a$", ["a", "b"], false),
            ("a$", ["b", "a"], true),
            ("a$", ["a", "\n"], false),
            ("(?m)a$", ["a", "\n"], true),
            (r"a\B", ["a", "b"], true),
            (r"a\B", ["a", " "], false),
            ("ab", ["a", "b"], true),
            ("a.*z", ["a b", "c z"], true),
            (r"(?mR)^b", ["a\r", "\nb"], true),
        ] {
            assert_eq!(found_in(text, true, &chunks.map(str::as_bytes)), expected, "{text:?}");
        }
        // The letter behind the cut, of which the first byte has come, makes it one word.
        assert!(!found_in(r"a\b", true, &[b"a\xc3", b"\xb6"]));
        assert!(!found_in(r"\bb", true, &[b"\xc3", b"\xb6b"]));
    }

    #[test]
    fn what_can_be_told_is_told_at_once() {
        let mut window = Window::new();
        let texts = ["DONE", r"(?m)^ALL DONE", "D.*E", r"DONE\b"];
        let mut matcher = matcher(texts.map(|text| pattern(text, true)).to_vec());
        let mut count = 0;
        window.feed(b"ALL DONE", |view| matcher.look(&view, |_| count += 1));
        // Only of the last one can nobody know.
        assert_eq!(count, 3);
        window.feed(b".\n..", |view| matcher.look(&view, |_| count += 1));
        assert_eq!(count, 4);
    }

    #[test]
    fn a_match_may_be_as_long_as_the_window() {
        let body = LONGEST_MATCH - 2;
        for before in [0, 1_000_000 - 7] {
            for step in [1_000, 100_000, usize::MAX] {
                let mut stream = vec![b'.'; before];
                stream.push(b'<');
                stream.resize(before + 1 + body, b'x');
                stream.push(b'>');
                stream.resize(stream.len() + 300_000, b'.');
                let chunks: Vec<_> = stream.chunks(step.min(stream.len())).collect();
                assert!(found_in("<x*>", true, &chunks), "{before} {step}");
                assert!(found_in(r"<\bx*\b>", true, &chunks), "{before} {step}");
                let literal = format!("<{}>", "x".repeat(body));
                assert!(found_in(&literal, false, &chunks), "{before} {step}");
            }
        }
    }

    #[test]
    fn many_literals_are_found_also_inside_each_other() {
        let texts: Vec<_> = (0..500).map(|number| format!("word{number}")).collect();
        let mut matcher = matcher(texts.iter().map(|text| pattern(text, false)).collect());
        let stream = "word499 word123, word7 word499";
        let expected = ["word1", "word12", "word123", "word4", "word49", "word499", "word7"];
        for step in [1, 3, 100] {
            assert_eq!(found(&mut matcher, stream.as_bytes().chunks(step)), expected);
            assert!(found(&mut matcher, stream.as_bytes().chunks(step)).is_empty());
            matcher.begin();
        }
    }

    #[test]
    fn silence_matches_nothing() {
        assert!(!found_in("^$", true, &[]));
        assert!(found_in("(?m)^$", true, &[b"\n"]));
    }

    const EXPRESSIONS: [&str; 18] = [
        "^ab",
        "(?m)^ab",
        "(?m)^ab$",
        r"\bab\b",
        "ab$",
        r"ab\z",
        r"\Aab",
        "a.*b",
        "a[^c]*c",
        "(?m)b$",
        r"\Bb",
        r"ö\b",
        "(?s)a.{0,20}c",
        "(?i)BÖ",
        r"(?-u:\xff)b",
        r"(?mR)^b$",
        "x*",
        r"\b{start}b\b{end}",
    ];
    const PARTS: [&[u8]; 10] =
        [b"a", b"b", b"ab", b"c", b" ", b"\n", b"\r\n", "ö".as_bytes(), b"\xff", b"B"];
    const LITERALS: [&str; 6] = ["ab", "abab", "b\na", "ö", "cab", " a b "];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn chunks_make_no_difference(
            // More than the window holds, so that it forgets and moves; or nothing.
            filler in prop_oneof![Just(0usize), 300_000usize..700_000],
            filling in prop_oneof![Just(b'.'), Just(b'\n'), Just(b'b'), Just(b' ')],
            parts in proptest::collection::vec(
                proptest::sample::select(PARTS.as_slice()),
                0..25,
            ),
            sizes in proptest::collection::vec(1usize..9, 1..20),
        ) {
            let mut stream = vec![filling; filler];
            stream.extend(parts.concat());
            let mut chunks = vec![&stream[..filler]];
            let mut rest = &stream[filler..];
            for size in sizes.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at(size.min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            let patterns = EXPRESSIONS.map(|text| pattern(text, true)).into_iter();
            let patterns = patterns.chain(LITERALS.map(|text| pattern(text, false)));
            let mut expected: Vec<_> = EXPRESSIONS
                .into_iter()
                .filter(|text| Regex::new(text).unwrap().is_match(&stream) && !stream.is_empty())
                .chain(LITERALS.into_iter().filter(|text| {
                    stream.windows(text.len()).any(|window| window == text.as_bytes())
                }))
                .map(str::to_owned)
                .collect();
            expected.sort();
            prop_assert_eq!(found(&mut matcher(patterns.collect()), chunks), expected);
        }
    }
}
