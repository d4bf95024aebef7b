//! Patterns in the output, found across the borders of what was read.
//!
//! A match must not depend on where the stream was cut. Searches begin a little before the fresh
//! bytes and see what stands before their start, so that `^` and `\b` are not fooled by the cut.
//! And a match at the very end counts only if no byte that may still follow could undo it, as
//! with `$` and `\b`; otherwise it has to wait for them, or for the stream's end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, Look};

use super::sieve::Sieve;
use super::window::{CERTAINTY, LONGEST_MATCH, View, line_around};
use super::{Pattern, Wanted};

/// All patterns and progress words of a run.
#[derive(Debug)]
pub(super) struct Matcher {
    targets: Vec<Target>,
    /// The literals that are looked for, and the gates of expressions.
    sieve: Sieve,
    /// How far before the fresh bytes the sieve begins.
    reach: usize,
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
    search: Search,
}

#[derive(Debug)]
enum Name {
    Pattern(Pattern),
    Marker(String),
}

#[derive(Debug)]
enum Search {
    Literal(Box<[u8]>),
    Expression(Box<Expression>),
}

impl Matcher {
    pub fn new(wanted: Wanted) -> Result<Self, BadPattern> {
        let patterns = wanted.patterns.into_iter().map(Name::Pattern);
        let markers = wanted.markers.into_iter().filter(|word| !word.is_empty());
        let names = patterns.chain(markers.map(Name::Marker));
        let targets = names.map(Target::new).collect::<Result<_, _>>()?;
        let mut matcher = Self { targets, sieve: Sieve::new(Vec::new()), reach: 0 };
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
        let has_fresh = view.fresh < view.bytes.len();
        let sifted = if has_fresh {
            self.sieve.sift(view.bytes, view.fresh.saturating_sub(self.reach))
        } else {
            BTreeMap::new()
        };
        let mut is_stale = false;
        for (number, target) in self.targets.iter_mut().enumerate() {
            if !target.is_wanted {
                continue;
            }
            let place = match &mut target.search {
                Search::Literal(_) => sifted.get(&number).cloned(),
                Search::Expression(expression) => {
                    let is_open = sifted.contains_key(&number);
                    if has_fresh && expression.has_gate() && !is_open {
                        continue;
                    }
                    let place = expression.find(view);
                    is_stale |= is_open && place.is_none() && expression.was_in_vain();
                    place
                }
            };
            if let Some(place) = place {
                target.is_wanted = false;
                is_stale = true;
                report(target.name.found(view, place));
            }
        }
        if is_stale {
            self.prepare();
        }
    }

    fn prepare(&mut self) {
        let mut needles = Vec::new();
        self.reach = 0;
        for (number, target) in self.targets.iter().enumerate().filter(|(_, one)| one.is_wanted) {
            match &target.search {
                Search::Literal(text) => needles.push((number, text.clone())),
                Search::Expression(expression) if expression.has_gate() => {
                    let texts = expression.gate.texts.iter();
                    needles.extend(texts.map(|text| (number, text.clone())));
                    self.reach = self.reach.max(expression.gate.reach);
                }
                Search::Expression(_) => {}
            }
        }
        self.sieve = Sieve::new(needles);
        self.reach = self.reach.max(self.sieve.longest().saturating_sub(1));
    }
}

impl Target {
    fn new(name: Name) -> Result<Self, BadPattern> {
        let search = match &name {
            Name::Pattern(pattern) if pattern.is_regex => {
                Search::Expression(Box::new(Expression::new(&pattern.text)?))
            }
            Name::Pattern(Pattern { text, .. }) | Name::Marker(text) => {
                Search::Literal(text.as_bytes().into())
            }
        };
        Ok(Self { name, is_wanted: true, search })
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
    gate: Gate,
    /// How often the gate was open for nothing.
    in_vain: u32,
}

/// Texts of which each match contains one: without them there is nothing to search.
#[derive(Debug, Default)]
struct Gate {
    texts: Vec<Box<[u8]>>,
    /// How far before the fresh bytes one that belongs to a new match may begin.
    reach: usize,
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
        let gate = hir.as_ref().map(|hir| Gate::new(hir, reach)).unwrap_or_default();
        Ok(Self { regex, reach, looks_ahead, gate, in_vain: 0 })
    }

    fn has_gate(&self) -> bool {
        !self.gate.texts.is_empty() && self.in_vain < MOST_IN_VAIN
    }

    /// The gate was open, and there was no match. Answers whether the gate is given up for it.
    fn was_in_vain(&mut self) -> bool {
        self.in_vain += 1;
        self.in_vain == MOST_IN_VAIN
    }

    fn find(&self, view: &View<'_>) -> Option<Range<usize>> {
        let nothing_new = view.fresh == view.bytes.len();
        // At the end only what had to wait is looked at again, and never a stream without a byte.
        if nothing_new && (!self.looks_ahead || view.bytes.is_empty()) {
            return None;
        }
        let from = view.fresh.saturating_sub(self.reach);
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

impl Gate {
    /// A few texts that are rare enough, if each match begins or ends with one of them.
    fn new(hir: &Hir, reach_of_match: usize) -> Self {
        let texts = |kind| -> Vec<Box<[u8]>> {
            let found = Extractor::new().kind(kind).limit_total(LARGEST_GATE).extract(hir);
            let texts = found.literals().unwrap_or_default().iter();
            let texts: BTreeSet<_> = texts.map(|text| rarest_end(text.as_bytes())).collect();
            texts.into_iter().map(Box::from).collect()
        };
        // What ends a match stands near the fresh bytes, however long the match is. To look for
        // its beginning too far back would cost more than it spares.
        let endings = texts(ExtractKind::Suffix);
        let longest = endings.iter().map(|text| text.len()).max().unwrap_or(0);
        let endings = Self { texts: endings, reach: longest + CERTAINTY };
        let beginnings = Self { texts: texts(ExtractKind::Prefix), reach: reach_of_match };
        [endings, beginnings]
            .into_iter()
            .filter(|gate| gate.reach <= LONGEST_REACH && gate.texts.len() <= LARGEST_GATE)
            .max_by_key(Self::shortest)
            .filter(|gate| gate.shortest() >= SHORTEST_TEXT)
            .unwrap_or_default()
    }

    fn shortest(&self) -> usize {
        self.texts.iter().map(|text| text.len()).min().unwrap_or(0)
    }
}

/// The end of the text that begins with its rarest bytes: vectors look at the first four.
fn rarest_end(text: &[u8]) -> &[u8] {
    let commonness = |byte: &u8| match byte {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'l' | b'd' | b'c' | b'u' => 3,
        b'a'..=b'z' => 2,
        _ => 1,
    };
    let starts = 0..=text.len().saturating_sub(SHORTEST_TEXT);
    let best = starts
        .min_by_key(|start| text[*start..].iter().take(SHORTEST_TEXT).map(commonness).sum::<u32>());
    &text[best.unwrap_or(0)..]
}

const LARGEST_GATE: usize = 16;
const SHORTEST_TEXT: usize = 4;
const LONGEST_REACH: usize = 4 << 10;
/// A gate that is open so often does not spare anything.
const MOST_IN_VAIN: u32 = 8;
/// As in policies: enough for any pattern written by hand.
const LARGEST_REGEX: usize = 10 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::window::Window;
    use super::*;

    fn pattern(text: &str, is_regex: bool) -> Pattern {
        Pattern {
            key: text.to_owned(),
            text: text.to_owned(),
            is_regex,
            since_run: false,
            unless_agent: false,
        }
    }

    fn matcher(patterns: Vec<Pattern>) -> Matcher {
        Matcher::new(Wanted { patterns, ..Wanted::default() }).unwrap()
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
        for all in [0..500, 0..20] {
            let texts = all.map(|number| format!("word{}", number * 25 % 501));
            let mut texts: Vec<_> = texts.chain(["ord".to_owned(), "wor".to_owned()]).collect();
            texts.sort();
            let mut matcher = matcher(texts.iter().map(|text| pattern(text, false)).collect());
            let stream = "word475 word124, word250 wor word475 word1 word4";
            let expected: Vec<_> = texts.iter().filter(|text| stream.contains(*text)).collect();
            assert!(expected.len() > 4);
            for step in [1, 3, 100] {
                let found_now: Vec<_> = found(&mut matcher, stream.as_bytes().chunks(step));
                assert_eq!(found_now.iter().collect::<Vec<_>>(), expected);
                assert!(found(&mut matcher, stream.as_bytes().chunks(step)).is_empty());
                matcher.begin();
            }
        }
    }

    #[test]
    fn silence_matches_nothing() {
        assert!(!found_in("^$", true, &[]));
        assert!(found_in("(?m)^$", true, &[b"\n"]));
    }

    const EXPRESSIONS: [&str; 25] = [
        r"\b[ab]+caba\b",
        r"b+ abab$",
        r"(?s)c.*abab\b",
        "abab$",
        r"\babca",
        r"[ab]{2}caba",
        r"abab\b",
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
            // What matches only over more than a window may be found or not.
            let too_long = |text: &&str| {
                let expression = Regex::new(text).unwrap();
                let mut found = expression.find_iter(&stream).peekable();
                found.peek().is_some() && found.all(|found| found.len() > LONGEST_MATCH)
            };
            let expressions: Vec<_> =
                EXPRESSIONS.into_iter().filter(|text| !too_long(text)).collect();
            let patterns = expressions.iter().map(|text| pattern(text, true));
            let patterns = patterns.chain(LITERALS.map(|text| pattern(text, false)));
            let mut expected: Vec<_> = expressions
                .iter()
                .copied()
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
