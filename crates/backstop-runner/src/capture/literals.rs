//! Plain texts to be looked for, few or many.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, OverlappingState};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::packed::Searcher;
use aho_corasick::{Input, MatchKind, Span};
use memchr::memmem::Finder;

use super::window::View;

/// Texts with numbers. Each is found once and then left out, until all are looked for anew.
#[derive(Debug)]
pub(super) struct Literals {
    texts: Vec<(usize, Box<[u8]>)>,
    /// Places in `texts` of those that are looked for, in the order in which the search has them.
    sought: Vec<usize>,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Nothing,
    One(Finder<'static>),
    /// By vectors: the fastest way for some dozens, but it finds no texts inside each other.
    Some(Searcher),
    Many(Box<NFA>),
}

impl Literals {
    pub fn new(texts: Vec<(usize, Box<[u8]>)>) -> Self {
        Self { texts, sought: Vec::new(), search: Search::Nothing }
    }

    /// Looks from now on for those whose number is wanted.
    pub fn look_for(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let texts = self.texts.iter().enumerate();
        self.sought = texts.filter(|(_, text)| is_wanted(text.0)).map(|(place, _)| place).collect();
        self.prepare();
    }

    /// Says which texts stand there, and where.
    pub fn find(&mut self, view: &View<'_>, mut found: impl FnMut(usize, Range<usize>)) {
        let longest = self.sought.iter().map(|place| self.texts[*place].1.len()).max();
        // So far back that at least one byte of a match is fresh.
        let mut from = (view.fresh + 1).saturating_sub(longest.unwrap_or(0).max(1));
        loop {
            let first = match &self.search {
                Search::Nothing => None,
                Search::One(finder) => finder
                    .find(&view.bytes[from..])
                    .map(|offset| (0, from + offset..from + offset + finder.needle().len())),
                Search::Some(searcher) => searcher
                    .find_in(view.bytes, Span::from(from..view.bytes.len()))
                    .map(|first| (first.pattern().as_usize(), first.range())),
                Search::Many(automaton) => {
                    let all = every_match(automaton, &view.bytes[from..]);
                    for (pattern, place) in &all {
                        let number = self.texts[self.sought[*pattern]].0;
                        found(number, from + place.start..from + place.end);
                    }
                    if !all.is_empty() {
                        let mut pattern = 0..;
                        self.sought.retain(|_| {
                            !pattern.next().is_some_and(|pattern| all.contains_key(&pattern))
                        });
                        self.prepare();
                    }
                    return;
                }
            };
            let Some((pattern, place)) = first else { return };
            // Without this one, others may begin at the same place or inside it.
            from = place.start;
            found(self.texts[self.sought.remove(pattern)].0, place);
            self.prepare();
        }
    }

    fn prepare(&mut self) {
        let texts = || self.sought.iter().map(|place| &self.texts[*place].1);
        self.search = match self.sought.as_slice() {
            [] => Search::Nothing,
            [only] => Search::One(Finder::new(&self.texts[*only].1).into_owned()),
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
    }
}

/// For each text that is there, its first place.
fn every_match(automaton: &NFA, bytes: &[u8]) -> BTreeMap<usize, Range<usize>> {
    let input = Input::new(bytes);
    let mut state = OverlappingState::start();
    let mut places = BTreeMap::new();
    // Refused only for anchored searches and other kinds of automata.
    while automaton.try_find_overlapping(&input, &mut state).is_ok()
        && let Some(found) = state.get_match()
    {
        places.entry(found.pattern().as_usize()).or_insert(found.range());
    }
    places
}

/// Up to so many, vectors are faster than an automaton.
const SOME: usize = 32;
