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
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if indent.width() + line.width() + 1 + word.width() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
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
    }
}
