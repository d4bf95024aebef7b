//! One line of a file, cut to the width of a terminal and made harmless.

use backstop_core::diagnostic::Span;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A line as it is shown.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) shown: String,
    /// The offset in the text at which the line ends.
    pub(super) end: usize,
    /// For each character that is shown: where it is in the text and where in `shown`.
    characters: Vec<(Range<usize>, Range<usize>)>,
    /// The part of `shown` that stands for the text, without the dots around it.
    visible: Range<usize>,
    /// How many columns can be underlined without pushing the label over the edge.
    underline: usize,
}

impl Line {
    /// The line in which `span` starts, cut so that the span and then the label behind it fit.
    ///
    /// `gutter` columns are taken by what stands before the line. The span must fit the text.
    pub(super) fn around(text: &str, span: &Span, label: &str, gutter: usize) -> Self {
        let start = text[..span.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let end = text[span.start..]
            .find('\n')
            .map_or(text.len(), |newline| span.start + newline);
        let content_end = start + text[start..end].trim_end_matches('\r').len();
        let content_end = content_end.max(span.start);
        // Lines can be megabytes long; nothing farther away than this can be shown.
        let near = text
            .floor_char_boundary(span.start.saturating_sub(REACH))
            .max(start);
        let far = text.ceil_char_boundary(span.start + REACH).min(content_end);
        let cells: Vec<Cell> = text[near..far]
            .char_indices()
            .map(|(offset, character)| Cell::new(near + offset, character))
            .collect();
        let columns = |from: usize, to: usize| -> usize {
            cells
                .iter()
                .filter(|cell| from <= cell.at.start && cell.at.start < to)
                .map(|cell| cell.width)
                .sum()
        };
        let room = WIDTH.saturating_sub(gutter);
        let before = columns(near, span.start);
        let underlined = columns(span.start, span.end).clamp(1, room / 2);
        let label_width = if label.is_empty() {
            0
        } else {
            1 + label.width()
        };
        let wanted = before + underlined + label_width.max(DOTS.len());
        let total = columns(near, far);
        // Columns to drop on the left, leaving a little of what comes before the span.
        let mut left = 0;
        if wanted > room || near > start {
            let context = before.min(CONTEXT);
            left = (wanted + DOTS.len())
                .saturating_sub(room)
                .min(before - context);
        }
        let dots_before = left > 0 || near > start;
        let mut available = room - if dots_before { DOTS.len() } else { 0 };
        let dots_after = total - left > available || far < content_end;
        let taken = before - left + label_width;
        let underline = available.saturating_sub(taken).max(1);
        available -= if dots_after { DOTS.len() } else { 0 };
        let mut line = Self {
            shown: if dots_before {
                DOTS.to_owned()
            } else {
                String::new()
            },
            end,
            characters: Vec::new(),
            visible: 0..0,
            underline,
        };
        line.visible.start = line.shown.len();
        let mut column = 0;
        for cell in cells {
            let inside = column >= left && column + cell.width <= left + available;
            column += cell.width;
            if inside {
                let from = line.shown.len();
                line.shown.push_str(&cell.shown);
                line.characters.push((cell.at, from..line.shown.len()));
            }
        }
        line.visible.end = line.shown.len();
        if dots_after {
            line.shown.push_str(DOTS);
        }
        line
    }

    /// Whether the start of `span` is among what is shown.
    pub(super) fn shows(&self, span: &Span) -> bool {
        self.characters
            .iter()
            .any(|(at, _)| at.contains(&span.start))
    }

    /// Where in `shown` the part of `span` stands that is on this line.
    pub(super) fn place(&self, span: &Span) -> Range<usize> {
        let start = self
            .characters
            .iter()
            .find(|(at, _)| at.end > span.start)
            .map_or(self.visible.end, |(_, shown)| shown.start);
        let mut columns = 0;
        let end = self
            .characters
            .iter()
            .filter(|(at, _)| span.start < at.end && at.start < span.end)
            .take_while(|(_, shown)| {
                columns += self.shown[shown.clone()].width();
                columns <= self.underline
            })
            .last()
            .map_or(start, |(_, shown)| shown.end);
        start..end.max(start)
    }
}

/// A character of the text as it is shown.
struct Cell {
    at: Range<usize>,
    shown: String,
    width: usize,
}

impl Cell {
    fn new(offset: usize, character: char) -> Self {
        let shown = match character {
            // Takes no place at the start of a file, and is a fault elsewhere.
            '\u{feff}' if offset == 0 => String::new(),
            '\t' => "    ".to_owned(),
            other => visible(other).to_string(),
        };
        Self {
            at: offset..offset + character.len_utf8(),
            width: shown.width(),
            shown,
        }
    }
}

/// The text on one line, without characters that would move the cursor or turn the direction.
pub(super) fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character == '\n' {
                ' '
            } else {
                visible(character)
            }
        })
        .collect()
}

/// `span` cut to the text and widened to whole characters; a place after the last line's end
/// becomes that line's end.
pub(super) fn fit(text: &str, span: &Span) -> Span {
    let written = text.trim_end_matches(['\n', '\r']).len();
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let start = if start == text.len() { written } else { start };
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}

fn visible(character: char) -> char {
    let is_harmful = character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        );
    if is_harmful || character.width().is_none() {
        '\u{fffd}'
    } else {
        character
    }
}

/// How wide the terminal is taken to be.
const WIDTH: usize = 80;

/// How much of what comes before a span is kept if it can be.
const CONTEXT: usize = 16;

/// How many bytes to either side are looked at.
const REACH: usize = 400;

const DOTS: &str = "...";
