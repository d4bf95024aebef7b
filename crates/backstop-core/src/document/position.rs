//! Offsets in bytes, in characters, and as line and column.

use crate::diagnostic::Span;

/// Line and column of a byte offset, both from 1, the column in characters.
///
/// An offset past the end means the end, one inside a character means its start, and a byte order
/// mark takes no column.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..floor(text, offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    let on_line = &before[line_start..];
    let on_line = if line == 1 {
        on_line.trim_start_matches('\u{feff}')
    } else {
        on_line
    };
    (line, 1 + on_line.chars().count())
}

/// `span` cut to a text of `length` bytes.
pub(super) fn clamp(length: usize, span: Span) -> Span {
    let start = span.start.min(length);
    start..span.end.clamp(start, length)
}

/// `span` cut to `text` and widened to whole characters.
pub(super) fn whole_characters(text: &str, span: Span) -> Span {
    let span = clamp(text.len(), span);
    floor(text, span.start)..text.ceil_char_boundary(span.end)
}

fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

/// Finds the byte offset of the n-th character in constant time, at a fraction of the text's size.
#[derive(Debug)]
pub(super) struct CharacterOffsets<'text> {
    text: &'text str,
    /// The byte offset of every [`STRIDE`]th character; empty where both counts agree.
    samples: Vec<usize>,
}

impl<'text> CharacterOffsets<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let samples = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices()
                .step_by(STRIDE)
                .map(|(offset, _)| offset)
                .collect()
        };
        Self { text, samples }
    }

    /// The byte offset of the character, or the end of the text if it has fewer.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.samples.is_empty() {
            return character.min(self.text.len());
        }
        let Some(sample) = self.samples.get(character / STRIDE) else {
            return self.text.len();
        };
        self.text[*sample..]
            .char_indices()
            .nth(character % STRIDE)
            .map_or(self.text.len(), |(offset, _)| sample + offset)
    }
}

const STRIDE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "ab\né日x\n";
        let table = [
            (0, (1, 1)),
            (2, (1, 3)),
            (3, (2, 1)),
            (4, (2, 1)),
            (5, (2, 2)),
            (8, (2, 3)),
            (9, (2, 4)),
            (10, (3, 1)),
            (99, (3, 1)),
        ];
        for (offset, expected) in table {
            assert_eq!(line_column(text, offset), expected, "offset {offset}");
        }
        assert_eq!(line_column("\u{feff}ab", 4), (1, 2));
        assert_eq!(line_column("", 0), (1, 1));
    }

    proptest! {
        #[test]
        fn character_offsets_agree_with_counting(text in "[a-é日😀\n]{0,300}") {
            let offsets = CharacterOffsets::new(&text);
            for (count, (byte, _)) in text.char_indices().enumerate() {
                prop_assert_eq!(offsets.byte(count), byte);
            }
            prop_assert_eq!(offsets.byte(text.chars().count()), text.len());
            prop_assert_eq!(offsets.byte(text.chars().count() + 70), text.len());
        }
    }
}
