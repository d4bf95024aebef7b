//! Plain texts to be looked for, few or many.

use std::ops::{ControlFlow, Range};

use aho_corasick::automaton::{Automaton as _, OverlappingState};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Input, MatchKind};
use memchr::memmem::Finder;

use super::window::View;

/// Texts with numbers. Each is found once and then left out, until all are looked for anew.
#[derive(Debug)]
pub(super) struct Literals {
    texts: Vec<(usize, Box<[u8]>)>,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// A pass for each: for a few, the fastest way there is.
    Each(Vec<(usize, Finder<'static>)>),
    /// One pass for all of them.
    Together { numbers: Vec<usize>, automaton: Box<NFA>, longest: usize },
}

impl Literals {
    pub fn new(texts: Vec<(usize, Box<[u8]>)>) -> Self {
        Self { texts, search: Search::Each(Vec::new()) }
    }

    /// Looks from now on for those whose number is wanted.
    pub fn look_for(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let wanted = || self.texts.iter().filter(|(number, _)| is_wanted(*number));
        if wanted().count() > FEW
            && let Ok(automaton) =
                NFA::builder().match_kind(MatchKind::Standard).build(wanted().map(|(_, text)| text))
        {
            self.search = Search::Together {
                numbers: wanted().map(|(number, _)| *number).collect(),
                automaton: Box::new(automaton),
                longest: wanted().map(|(_, text)| text.len()).max().unwrap_or(0),
            };
            return;
        }
        let finders = wanted().map(|(number, text)| (*number, Finder::new(text).into_owned()));
        self.search = Search::Each(finders.collect());
    }

    /// Says which texts stand there, and where. One that is found may be named again by the same
    /// call, and by later ones until `look_for` leaves it out.
    pub fn find(&self, view: &View<'_>, mut found: impl FnMut(usize, Range<usize>)) {
        match &self.search {
            Search::Each(finders) => {
                for (number, finder) in finders {
                    let length = finder.needle().len();
                    let from = (view.fresh + 1).saturating_sub(length.max(1));
                    if let Some(offset) = finder.find(&view.bytes[from..]) {
                        found(*number, from + offset..from + offset + length);
                    }
                }
            }
            Search::Together { numbers, automaton, longest } => {
                let from = (view.fresh + 1).saturating_sub((*longest).max(1));
                let _ = every_match(automaton, &view.bytes[from..], |pattern, place| {
                    found(numbers[pattern], from + place.start..from + place.end);
                });
            }
        }
    }
}

fn every_match(
    automaton: &NFA,
    bytes: &[u8],
    mut found: impl FnMut(usize, Range<usize>),
) -> ControlFlow<()> {
    let input = Input::new(bytes);
    let mut state = OverlappingState::start();
    loop {
        // Refused only for anchored searches and other kinds of automata.
        if automaton.try_find_overlapping(&input, &mut state).is_err() {
            return ControlFlow::Break(());
        }
        let Some(matched) = state.get_match() else { return ControlFlow::Continue(()) };
        found(matched.pattern().as_usize(), matched.range());
    }
}

/// So many are faster one after the other than together.
const FEW: usize = 16;
