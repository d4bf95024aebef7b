//! One pass over the output for all plain texts, be they patterns themselves or parts of some.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, OverlappingState};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::packed::Searcher;
use aho_corasick::{Input, MatchKind, Span};
use memchr::memmem::Finder;

/// Texts, each with the number of the pattern that it stands for.
#[derive(Debug)]
pub(super) struct Sieve {
    needles: Vec<(usize, Box<[u8]>)>,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Nothing,
    One(Finder<'static>),
    /// By vectors: the fastest way for some dozens.
    Some(Searcher),
    Many(Box<NFA>),
}

impl Sieve {
    pub fn new(needles: Vec<(usize, Box<[u8]>)>) -> Self {
        let texts = || needles.iter().map(|(_, text)| text);
        let search = match needles.as_slice() {
            [] => Search::Nothing,
            [(_, only)] => Search::One(Finder::new(only).into_owned()),
            some if some.len() <= SOME
                && let Some(searcher) = Searcher::new(texts()) =>
            {
                Search::Some(searcher)
            }
            _ => NFA::builder()
                .match_kind(MatchKind::Standard)
                .build(texts())
                .map_or(Search::Nothing, |automaton| Search::Many(Box::new(automaton))),
        };
        Self { needles, search }
    }

    pub fn longest(&self) -> usize {
        self.needles.iter().map(|(_, text)| text.len()).max().unwrap_or(0)
    }

    /// The numbers of which a text stands there, each with the first place.
    pub fn sift(&self, bytes: &[u8], from: usize) -> BTreeMap<usize, Range<usize>> {
        let mut found = BTreeMap::new();
        let mut note = |needle: usize, place| {
            found.entry(self.needles[needle].0).or_insert(place);
        };
        match &self.search {
            Search::Nothing => {}
            Search::One(finder) => {
                if let Some(offset) = finder.find(&bytes[from..]) {
                    note(0, from + offset..from + offset + finder.needle().len());
                }
            }
            Search::Some(searcher) => {
                let mut from = from;
                while let Some(first) = searcher.find_in(bytes, Span::from(from..bytes.len())) {
                    // It names one of them, and others may begin at the same place or inside.
                    let start = first.start();
                    for (needle, (_, text)) in self.needles.iter().enumerate() {
                        if bytes[start..].starts_with(text) {
                            note(needle, start..start + text.len());
                        }
                    }
                    from = start + 1;
                }
            }
            Search::Many(automaton) => {
                let input = Input::new(&bytes[from..]);
                let mut state = OverlappingState::start();
                // Refused only for anchored searches and other kinds of automata.
                while automaton.try_find_overlapping(&input, &mut state).is_ok()
                    && let Some(one) = state.get_match()
                {
                    note(one.pattern().as_usize(), from + one.start()..from + one.end());
                }
            }
        }
        found
    }
}

/// Up to so many, vectors are faster than an automaton.
const SOME: usize = 48;
