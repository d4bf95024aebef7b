//! Text of others, shown and never obeyed.

use crate::text::visible;

/// The text as it may stand between tags and in an attribute. Control characters get the picture
/// that stands for them.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(picture(other)),
        }
    }
    safe
}

fn picture(character: char) -> char {
    match character {
        '\n' | '\t' => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        // No characters at all, and XML refuses them.
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        other => visible(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_open_a_tag_or_leave_an_attribute() {
        assert_eq!(
            escape(r#"<script>alert("x")</script> & 'y'"#),
            "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;"
        );
    }

    #[test]
    fn control_characters_can_be_seen() {
        assert_eq!(escape("a\x1b[31m\u{202e}b\x7f\0"), "a␛[31m\u{fffd}b␡␀");
    }
}
