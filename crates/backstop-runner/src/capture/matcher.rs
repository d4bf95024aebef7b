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
