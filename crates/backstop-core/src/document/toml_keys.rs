//! Where each key of a TOML text was first written.
//!
//! The parser says where a key is defined again but not where the first one is, so a text with
//! that fault is walked once more, noting the place of every key.

use crate::diagnostic::Span;
use std::collections::BTreeMap;
use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};

/// All keys of a text, each place numbered once however often it is written.
#[derive(Debug)]
pub(super) struct FirstKeys {
    places: Vec<Place>,
    /// From where a key is written to the place that it names.
    written: BTreeMap<usize, usize>,
}

impl FirstKeys {
    pub(super) fn new(text: &str) -> Self {
        let source = Source::new(text);
        let tokens = source.lex().into_vec();
        let mut events: Vec<Event> = Vec::new();
        parse_document(
            &tokens,
            &mut RecursionGuard::new(&mut events, MAX_NESTING),
            &mut (),
        );
        let mut walk = Walk::default();
        for event in &events {
            walk.step(&source, event);
        }
        Self {
            places: walk.places,
            written: walk.written,
        }
    }

    /// The name of the key written at `span`, and where the same key came first.
    pub(super) fn first_of(&self, span: &Span) -> Option<(&str, Span)> {
        let place = &self.places[*self.written.get(&span.start)?];
        (place.first != *span).then(|| (place.name.as_str(), place.first.clone()))
    }
}

#[derive(Debug)]
struct Place {
    name: String,
    first: Span,
}

struct Walk {
    places: Vec<Place>,
    written: BTreeMap<usize, usize>,
    children: BTreeMap<(usize, Segment), usize>,
    /// How many entries each `[[list]]` has so far.
    entries: BTreeMap<usize, usize>,
    /// The keys of a dotted key or header that is not complete yet.
    keys: Vec<(String, Span)>,
    /// The table that the last header opened.
    table: usize,
    /// The place that the next value fills.
    target: usize,
    /// Inline tables and lists that are open.
    open: Vec<Open>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Key(String),
    Index(usize),
}

struct Open {
    place: usize,
    /// The index of the next item, in a list.
    index: Option<usize>,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            places: vec![Place {
                name: String::new(),
                first: 0..0,
            }],
            written: BTreeMap::new(),
            children: BTreeMap::new(),
            entries: BTreeMap::new(),
            keys: Vec::new(),
            table: ROOT,
            target: ROOT,
            open: Vec::new(),
        }
    }
}

impl Walk {
    fn step(&mut self, source: &Source<'_>, event: &Event) {
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                self.keys.clear();
                self.open.clear();
            }
            EventKind::SimpleKey => {
                let mut name = String::new();
                if let Some(raw) = source.get(event) {
                    raw.decode_key(&mut name, &mut ());
                }
                self.keys
                    .push((name, event.span().start()..event.span().end()));
            }
            EventKind::StdTableClose => self.table = self.descend(ROOT),
            EventKind::ArrayTableClose => self.append_table(),
            EventKind::KeyValSep => {
                let inside = self.open.last().map_or(self.table, |open| open.place);
                self.target = self.descend(inside);
            }
            EventKind::ArrayOpen => self.open_value(Some(0)),
            EventKind::InlineTableOpen => self.open_value(None),
            EventKind::ArrayClose | EventKind::InlineTableClose => {
                self.open.pop();
            }
            EventKind::ValueSep => {
                if let Some(Open {
                    index: Some(index), ..
                }) = self.open.last_mut()
                {
                    *index += 1;
                }
            }
            EventKind::Newline if self.open.is_empty() => self.keys.clear(),
            _ => {}
        }
    }

    /// Follows the collected keys from a place down, and through lists of tables to their last
    /// entry.
    fn descend(&mut self, from: usize) -> usize {
        let mut place = from;
        for (name, span) in std::mem::take(&mut self.keys) {
            let key = self.child(place, Segment::Key(name.clone()), &name, &span);
            self.written.insert(span.start, key);
            place = match self.entries.get(&key) {
                Some(count) => self.child(key, Segment::Index(*count), &name, &span),
                None => key,
            };
        }
        place
    }

    fn append_table(&mut self) {
        let Some((name, span)) = self.keys.pop() else {
            return;
        };
        let parent = self.descend(ROOT);
        let list = self.child(parent, Segment::Key(name.clone()), &name, &span);
        self.written.insert(span.start, list);
        let count = self.entries.entry(list).or_default();
        *count += 1;
        let index = *count;
        self.table = self.child(list, Segment::Index(index), &name, &span);
    }

    fn open_value(&mut self, index: Option<usize>) {
        let place = match self.open.last() {
            Some(Open {
                place,
                index: Some(position),
            }) => {
                let (place, position) = (*place, *position);
                self.child(place, Segment::Index(position), "", &(0..0))
            }
            _ => self.target,
        };
        self.open.push(Open { place, index });
    }

    fn child(&mut self, parent: usize, segment: Segment, name: &str, span: &Span) -> usize {
        let next = self.places.len();
        let place = *self.children.entry((parent, segment)).or_insert(next);
        if place == next {
            self.places.push(Place {
                name: name.to_owned(),
                first: span.clone(),
            });
        }
        place
    }
}

const ROOT: usize = 0;

/// More than any text that gets here can have, as the parser refuses deeper ones before.
const MAX_NESTING: u32 = 80;
