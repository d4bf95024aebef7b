//! What is kept of a long text.

use std::borrow::Cow;

/// The head, the tail and the size of a text, so that a journal stays small and two long results
/// can still be compared.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if text.len() <= HEAD + TAIL {
        return Cow::Borrowed(text);
    }
    let head = &text[..text.floor_char_boundary(HEAD)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL)..];
    Cow::Owned(format!("{head}\n[… {} bytes in all …]\n{tail}", text.len()))
}

const HEAD: usize = 4 * 1024;
const TAIL: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_kept_whole() {
        assert_eq!(excerpt(&"é".repeat(4096)), "é".repeat(4096));
    }

    #[test]
    fn long_text_keeps_its_ends_and_tells_its_size() {
        let text = format!("begin{}end", "é".repeat(10_000));
        let kept = excerpt(&text);
        assert!(kept.starts_with("begin") && kept.ends_with("end"));
        assert!(kept.contains("20008 bytes in all"));
        assert!(kept.len() < 8300);
    }
}
