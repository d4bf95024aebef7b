//! How much of a report is kept.

use std::borrow::Cow;

/// What is read of one report at most.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// Cases of one run at most. What comes beyond is counted, not kept.
pub(super) const MOST_CASES: usize = 500_000;

/// Bytes of a name. Parameters can make names of any length.
pub(super) const MOST_NAME: usize = 1024;

/// Bytes of a message.
pub(super) const MOST_TEXT: usize = 4096;

/// Bytes of all names and messages of one run. A title of many cases stands in the name of each, so
/// that they can be much longer than what was read.
const MOST_KEPT: usize = 64 << 20;

/// What is left of the bytes that may be kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Room(usize);

impl Room {
    /// Whether so many bytes may be kept, too.
    pub(super) fn takes(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

impl Default for Room {
    fn default() -> Self {
        Self(MOST_KEPT)
    }
}

/// The text, or its beginning where it is longer than `most` bytes.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let kept = &text[..text.floor_char_boundary(most - '…'.len_utf8())];
    Cow::Owned(format!("{kept}…"))
}

/// Adds to a text that is kept up to `most` bytes.
pub(super) fn append(kept: &mut String, text: &str, most: usize) {
    let room = most.saturating_sub(kept.len());
    kept.push_str(&text[..text.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut room = Room::default();
        assert!(room.takes(MOST_KEPT - 1));
        assert!(!room.takes(2));
        assert!(room.takes(1));
        assert!(!room.takes(1));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("größe", 7), "größe");
        assert_eq!(shortened("größe", 6), "gr…");
        let mut kept = "gr".to_owned();
        append(&mut kept, "öße", 5);
        assert_eq!(kept, "grö");
    }
}
