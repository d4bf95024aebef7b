//! Text that fits the width of a terminal.

use unicode_width::UnicodeWidthStr as _;

/// How wide reports are.
pub const WIDTH: usize = 80;

/// The text, cut to a number of columns, with dots where something is missing.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if kept.width() + unicode_width::UnicodeWidthChar::width(character).unwrap_or(0) + 1
            > columns
        {
            break;
        }
        kept.push(character);
    }
    format!("{}…", kept.trim_end())
}

/// The text, filled with blanks to a number of columns.
pub fn columns(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let blanks = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(blanks))
}

/// The text in lines that fit the width, each behind `indent`.
pub fn wrapped(text: &str, indent: &str) -> String {
    let lines = folded(text, WIDTH.saturating_sub(indent.width()));
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// The text in lines that fit the width, the first behind `lead` and the others below its text.
pub fn hanging(lead: &str, text: &str) -> String {
    let indent = " ".repeat(lead.width());
    format!("{lead}{}", wrapped(text, &indent).trim_start())
}

/// The text in lines of so many columns; a word that is longer than that is cut into pieces, unless it
/// is there to be copied.
pub fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        for (position, piece) in pieces(word, columns).into_iter().enumerate() {
            let last = lines.len() - 1;
            let line = &mut lines[last];
            if line.is_empty() {
                line.push_str(&piece);
            } else if position == 0 && line.width() + 1 + piece.width() <= columns {
                line.push(' ');
                line.push_str(&piece);
            } else {
                lines.push(piece);
            }
        }
    }
    lines
}

fn pieces(word: &str, columns: usize) -> Vec<String> {
    if word.starts_with("sha256:") {
        return vec![word.to_owned()];
    }
    let mut pieces = vec![String::new()];
    let mut taken = 0;
    for character in word.chars() {
        let width = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if taken > 0 && taken + width > columns {
            pieces.push(String::new());
            taken = 0;
        }
        taken += width;
        let last = pieces.len() - 1;
        pieces[last].push(character);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_ends_in_dots_and_fits() {
        assert_eq!(cut("retry rate", 10), "retry rate");
        assert_eq!(cut("retry rates", 10), "retry rat…");
        assert_eq!(cut("大大大大", 6), "大大…");
        assert_eq!(columns("ab", 4), "ab  ");
    }

    #[test]
    fn long_text_is_wrapped_behind_its_indent() {
        let text = wrapped(&"word ".repeat(30), "    ");
        assert!(text.lines().all(|line| line.width() <= WIDTH && line.starts_with("    word")));
        assert_eq!(text.lines().count(), 2);
        let hung = hanging("  ask  ", &"word ".repeat(30));
        assert!(hung.starts_with("  ask  word") && hung.lines().all(|line| line.width() <= WIDTH));
        assert!(hung.lines().skip(1).all(|line| line.starts_with("       word")), "{hung}");
    }

    #[test]
    fn a_word_that_is_too_long_is_cut_into_pieces() {
        assert_eq!(folded("ab 大大大 c", 4), ["ab", "大大", "大 c"]);
        assert_eq!(folded("", 4), [""]);
        let hash = format!("sha256:{}", "0".repeat(64));
        assert_eq!(folded(&format!("by {hash} here"), 20), ["by", &hash, "here"]);
    }
}
