//! Text from outside, made harmless before it reaches a terminal.

use unicode_width::UnicodeWidthChar as _;

/// The text on one line, without characters that would move the cursor or turn the direction.
pub fn harmless(text: &str) -> String {
    text.chars().map(|character| if character == '\n' { ' ' } else { visible(character) }).collect()
}

/// The character, or a stand-in for one that a terminal would obey instead of showing it.
pub fn visible(character: char) -> char {
    let is_harmful = character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        );
    if is_harmful || character.width().is_none() { '\u{fffd}' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_are_shown_not_obeyed() {
        assert_eq!(harmless("a\x1b[31mb\nc\u{202e}d\x07"), "a\u{fffd}[31mb c\u{fffd}d\u{fffd}");
        assert_eq!(harmless("größer 大"), "größer 大");
    }
}
