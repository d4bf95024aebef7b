//! Markdown in lines of 80 columns that mean the same as one long line.

/// An entry of a list.
pub(super) fn item(text: &str) -> String {
    fold(text, "- ", "  ")
}

/// The text in lines, the first behind `lead` and the others behind `indent`. Words that would
/// begin a list or a heading at the start of a line stay with the word before them.
pub(super) fn fold(text: &str, lead: &str, indent: &str) -> String {
    let mut folded = lead.to_owned();
    let mut width = lead.chars().count();
    let mut is_first = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if is_first {
            folded.push_str(word);
        } else if width + 1 + length > WIDTH && !begins_something(word) {
            folded.push('\n');
            folded.push_str(indent);
            folded.push_str(word);
            width = indent.chars().count();
        } else {
            folded.push(' ');
            folded.push_str(word);
            width += 1;
        }
        width += length;
        is_first = false;
    }
    folded.truncate(folded.trim_end().len());
    folded.push('\n');
    folded
}

/// Whether a line that begins with this word would be no ordinary text.
fn begins_something(word: &str) -> bool {
    let is_number = word.trim_end_matches(['.', ')']).bytes().all(|byte| byte.is_ascii_digit());
    word.starts_with(['-', '+', '#', '=', '>', '|', '~', ':'])
        || word.starts_with("```")
        || is_number
}

const WIDTH: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_are_hung_below_each_other() {
        let text = item(&"word ".repeat(40));
        assert!(text.starts_with("- word") && text.ends_with("word\n"));
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
    }

    #[test]
    fn no_word_becomes_a_list_or_a_heading() {
        for word in ["-", "--flag", "#", "12.", "3)", "+", "=", "```"] {
            let text = fold(&format!("{} {word} end", "x".repeat(79)), "", "");
            assert_eq!(text.lines().next(), Some(&*format!("{} {word}", "x".repeat(79))), "{word}");
        }
    }

    #[test]
    fn nothing_is_one_empty_line() {
        assert_eq!(fold("", "", ""), "\n");
        assert_eq!(item(""), "-\n");
    }
}
