//! What is kept of a long text.

use std::borrow::Cow;

use backstop_core::normalise::{self, Style};

/// The head, the tail and the size of a text, so that a journal stays small and two long results
/// can still be compared.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    parts(text).map_or(Cow::Borrowed(text), |(head, _, tail)| {
        Cow::Owned(format!("{head}\n[… {} bytes in all …]\n{tail}", text.len()))
    })
}

/// As [`excerpt`], with a key of what is left out: what an agent writes is something else wherever it
/// differs.
pub(crate) fn distinct_excerpt(text: &str) -> Cow<'_, str> {
    parts(text).map_or(Cow::Borrowed(text), |(head, middle, tail)| {
        let key = normalise::key(middle.as_bytes(), Style::Action);
        Cow::Owned(format!("{head}\n[… {} bytes in all, #{key} …]\n{tail}", text.len()))
    })
}

/// The head, the middle and the tail of a text that is too long.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let length = text.len();
    (length > HEAD + TAIL).then(|| {
        let (rest, tail) = text.split_at(text.ceil_char_boundary(length - TAIL));
        let (head, middle) = rest.split_at(text.floor_char_boundary(HEAD));
        (head, middle, tail)
    })
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

    #[test]
    fn a_distinct_one_tells_what_differs_in_the_middle() {
        let text = |middle: &str| format!("{}\n{middle}\n{}", "a ".repeat(4096), "z ".repeat(4096));
        let key = |middle: &str| {
            let kept = distinct_excerpt(&text(middle)).into_owned();
            assert!(kept.len() < 8300);
            normalise::key(kept.as_bytes(), Style::Action)
        };
        assert_eq!(key("x = 1; at 12:30:00"), key("x = 1; at 12:31:00"), "times are noise");
        assert_ne!(key("x = 1; at 12:30:00"), key("x = 2; at 12:30:00"));
        assert_eq!(excerpt(&text("x = 1")), excerpt(&text("x = 2")));
        assert_eq!(distinct_excerpt("short"), "short");
    }
}
