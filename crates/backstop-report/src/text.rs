//! Text from outside, made harmless before it reaches a terminal or a page.

/// The text on one line, without characters that would move the cursor or turn the direction.
pub fn harmless(text: &str) -> String {
    text.chars().map(|character| if character == '\n' { ' ' } else { visible(character) }).collect()
}

/// The character, or a stand-in for one that would be obeyed instead of shown.
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
    if is_harmful { '\u{fffd}' } else { character }
}

/// The text, cut to so many characters, with dots where something is missing.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_are_shown_not_obeyed() {
        assert_eq!(harmless("a\x1b[31mb\nc\u{202e}d\x07"), "a\u{fffd}[31mb c\u{fffd}d\u{fffd}");
        assert_eq!(harmless("größer 大"), "größer 大");
    }

    #[test]
    fn what_is_cut_ends_in_dots() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("a b", 2), "a…");
        assert_eq!(cut("", 0), "");
    }
}
