//! YAML 1.2, core schema. Merge keys (`<<`) are keys like any other.

use super::position::{CharacterOffsets, whole_characters};
use super::scalar::yaml_plain;
use super::source::{MAX_DEPTH, MAX_ERRORS, too_deep};
use super::tree::{Entry, Node, Table, Value};
use super::yaml_span;
use crate::diagnostic::{Diagnostic, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use std::collections::BTreeMap;

/// Reads the one document of a YAML text.
pub(super) fn parse(text: &str) -> Result<Node, Vec<Diagnostic>> {
    let mut builder = Builder {
        text,
        offsets: CharacterOffsets::new(text),
        previous_end: 0,
        documents: 0,
        frames: Vec::new(),
        root: None,
        anchors: BTreeMap::new(),
        spent: 0,
        diagnostics: Vec::new(),
    };
    for event in Parser::new_from_str(text) {
        let step = event
            .map_err(|error| Box::new(builder.syntax_error(&error)))
            .and_then(|(event, span)| builder.step(event, span));
        if let Err(fatal) = step {
            builder.diagnostics.push(*fatal);
            break;
        }
        if builder.diagnostics.len() > MAX_ERRORS {
            break;
        }
    }
    if !builder.diagnostics.is_empty() {
        return Err(builder.diagnostics);
    }
    Ok(match builder.root {
        Some(node) if !(node.value == Value::Null && node.span.is_empty()) => node,
        _ => Node {
            span: 0..text.len(),
            value: Value::Table(Table::default()),
        },
    })
}

struct Builder<'text> {
    text: &'text str,
    offsets: CharacterOffsets<'text>,
    previous_end: usize,
    documents: usize,
    frames: Vec<Frame>,
    root: Option<Node>,
    anchors: BTreeMap<usize, Node>,
    /// What copies for aliases have cost so far, in nodes.
    spent: usize,
    diagnostics: Vec<Diagnostic>,
}

/// A list or table that is not complete yet.
struct Frame {
    span: Span,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Table { table: Table, key: Key },
}

/// An error ends the reading: going on would make no sense.
type Step<T = ()> = Result<T, Box<Diagnostic>>;

enum Key {
    Awaited,
    Read(String, Span),
    /// Not a string: its value is read, and dropped.
    Refused,
}

impl Builder<'_> {
    /// Takes in one event.
    fn step(&mut self, event: Event<'_>, span: saphyr_parser::Span) -> Step {
        let start = self.offsets.byte(span.start.index());
        let span = start..self.offsets.byte(span.end.index()).max(start);
        let previous_end = std::mem::replace(&mut self.previous_end, span.end);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let error = Diagnostic::error("more than one document in the file", span);
                    return Err(Box::new(error.label("a second one starts here")));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let literal = yaml_span::scalar(self.text, &span, style, previous_end);
                let value = self.scalar(&text, style, tag.as_deref(), &span);
                self.accept(
                    Node {
                        span: literal,
                        value,
                    },
                    anchor,
                )
            }
            Event::Alias(anchor) => {
                let node = self.alias(anchor, span)?;
                self.accept(node, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), "seq", &span);
                self.open(span, anchor, Content::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), "map", &span);
                self.open(
                    span,
                    anchor,
                    Content::Table {
                        table: Table::default(),
                        key: Key::Awaited,
                    },
                )
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, span: Span, anchor: usize, content: Content) -> Step {
        let start = yaml_span::skip_properties(self.text, &span, false);
        if self.frames.len() >= MAX_DEPTH {
            return Err(Box::new(too_deep(whole_characters(
                self.text,
                start..start + 1,
            ))));
        }
        self.frames.push(Frame {
            span: start..span.end,
            anchor,
            content,
        });
        Ok(())
    }

    fn close(&mut self, end: &Span) -> Step {
        let Some(Frame {
            span,
            anchor,
            content,
        }) = self.frames.pop()
        else {
            return Ok(());
        };
        let (inner, value) = match content {
            Content::List(items) => (
                extent(&items, |item| &item.span, |item| &item.span),
                Value::List(items),
            ),
            Content::Table { table, .. } => {
                self.diagnostics.extend(table.duplicates());
                let inner = extent(
                    &table.entries,
                    |entry| &entry.key_span,
                    |entry| &entry.node.span,
                );
                (inner, Value::Table(table))
            }
        };
        // Only the bracketed forms have something to close them.
        let span = match inner {
            _ if !end.is_empty() => span.start..end.end,
            Some(inner) => inner,
            None => span,
        };
        self.accept(Node { span, value }, anchor)
    }

    /// Puts a complete node where it belongs.
    fn accept(&mut self, node: Node, anchor: usize) -> Step {
        if anchor != 0 {
            self.spend(&node, &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.frames.last_mut().map(|frame| &mut frame.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Table { table, key }) => match std::mem::replace(key, Key::Awaited) {
                Key::Read(name, key_span) => table.entries.push(Entry {
                    key: name,
                    key_span,
                    node,
                }),
                Key::Refused => {}
                Key::Awaited => {
                    *key = match node.value {
                        Value::String(name) => Key::Read(name, node.span),
                        other => {
                            self.diagnostics.push(key_refusal(&other, node.span));
                            Key::Refused
                        }
                    }
                }
            },
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Step<Node> {
        let Some(node) = self.anchors.get(&anchor) else {
            let error = Diagnostic::error("alias stands inside the value that it names", span);
            return Err(Box::new(error.label("would repeat without end")));
        };
        let node = Node {
            span: span.clone(),
            value: node.value.clone(),
        };
        if self.frames.len() + depth(&node) > MAX_DEPTH {
            return Err(Box::new(too_deep(span)));
        }
        self.spend(&node, &span)?;
        Ok(node)
    }

    fn spend(&mut self, node: &Node, span: &Span) -> Step {
        self.spent += cost(node);
        if self.spent > MAX_ALIAS_NODES {
            let message = format!("aliases repeat more than {MAX_ALIAS_NODES} values");
            let error = Diagnostic::error(message, span.clone());
            return Err(Box::new(
                error.hint("write out what is needed instead of nesting aliases"),
            ));
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Value {
        let Some(tag) = tag else {
            return match style {
                ScalarStyle::Plain => yaml_plain(text),
                _ => Value::String(text.to_owned()),
            };
        };
        let string = Value::String(text.to_owned());
        if is_non_specific(tag) {
            return string;
        }
        let wanted = if tag.is_yaml_core_schema() {
            tag.suffix.as_str()
        } else {
            ""
        };
        match (wanted, yaml_plain(text)) {
            ("str", _) => string,
            ("float", Value::Integer(integer)) => Value::Float(integer as f64),
            ("null", value @ Value::Null)
            | ("bool", value @ Value::Bool(_))
            | ("int", value @ Value::Integer(_))
            | ("float", value @ Value::Float(_)) => value,
            ("null" | "bool" | "int" | "float", _) => {
                let message = format!("`{text}` does not fit its tag `!!{wanted}`");
                self.diagnostics
                    .push(Diagnostic::error(message, span.clone()));
                string
            }
            _ => {
                self.diagnostics.push(tag_refusal(tag, span));
                string
            }
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, expected: &str, span: &Span) {
        if let Some(tag) = tag
            && !is_non_specific(tag)
            && !(tag.is_yaml_core_schema() && tag.suffix == expected)
        {
            self.diagnostics.push(tag_refusal(tag, span));
        }
    }

    fn syntax_error(&self, error: &ScanError) -> Diagnostic {
        let start = self.offsets.byte(error.marker().index());
        let span = match self.text[start..].chars().next() {
            None | Some('\n' | '\r') => start..start,
            Some(character) => start..start + character.len_utf8(),
        };
        match error.info() {
            "recursion limit exceeded" => too_deep(span),
            message => Diagnostic::error(message, span),
        }
    }
}

fn extent<Item>(
    items: &[Item],
    start: impl Fn(&Item) -> &Span,
    end: impl Fn(&Item) -> &Span,
) -> Option<Span> {
    let start = start(items.first()?).start;
    Some(start..end(items.last()?).end.max(start))
}

fn is_non_specific(tag: &Tag) -> bool {
    tag.handle.is_empty() && tag.suffix == "!"
}

fn tag_refusal(tag: &Tag, span: &Span) -> Diagnostic {
    let name = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        tag.to_string()
    };
    Diagnostic::error(format!("tag `{name}` is not supported here"), span.clone())
        .label("write the value without it")
}

fn key_refusal(key: &Value, span: Span) -> Diagnostic {
    let error = Diagnostic::error(format!("key is {}, not a string", key.kind()), span);
    match key {
        Value::List(_) | Value::Table(_) | Value::Null => error,
        _ => error.label("put it in quotes"),
    }
}

fn depth(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Table(table) => {
            1 + table
                .entries
                .iter()
                .map(|entry| depth(&entry.node))
                .max()
                .unwrap_or(0)
        }
        _ => 0,
    }
}

/// The price of a copy: a node each, and one more for every few bytes of text, so that a long
/// string cannot be multiplied for free.
fn cost(node: &Node) -> usize {
    1 + match &node.value {
        Value::String(text) => text.len() / BYTES_PER_NODE,
        Value::List(items) => items.iter().map(cost).sum(),
        Value::Table(table) => table
            .entries
            .iter()
            .map(|entry| entry.key.len() / BYTES_PER_NODE + cost(&entry.node))
            .sum(),
        _ => 0,
    }
}

/// How many values may come to be through anchors and aliases.
pub const MAX_ALIAS_NODES: usize = 1_000_000;

const BYTES_PER_NODE: usize = 16;
