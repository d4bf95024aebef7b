//! Filling a reason's texts with what is known of a run.

use std::fmt::Display;

/// What is known of a run, by placeholder name.
///
/// A template holds `{name}` or `{name|words to say instead}`. Braces around anything else are
/// ordinary text, so that a user's own diagnosis may quote JSON. Values are put in as they are and
/// not searched again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    known: Vec<(&'static str, String)>,
}

impl Values {
    /// The placeholders that built-in texts use.
    ///
    /// - `run`: the run's id.
    /// - `value`, `threshold`: what was measured and its limit, as people read them: `50`,
    ///   `37.5%`, `8h`, `$20`. `stalled` has two meters, so there a count names its unit:
    ///   `3 iterations`.
    /// - `raised`: a limit to offer for `--raise`, and what else must be raised with it.
    /// - `iterations`: how many have finished.
    /// - `detail`: what the world said (an error, files, what is needed), without a full stop.
    /// - `until`: when a wait ends, as it follows a verb: `at 12:05`.
    /// - `help`: what the reason comes from or what helps, in a sentence without a full stop, where
    ///   the run tells more than the reason alone.
    pub const NAMES: &'static [&'static str] =
        &["run", "value", "threshold", "raised", "iterations", "detail", "until", "help"];

    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value; a later one of the same name wins. Blank text counts as missing.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.known.push((name, value.to_string()));
        self
    }

    /// Fills a sentence: what is missing is said to be unknown.
    pub fn fill_prose(&self, template: &str) -> String {
        self.fill(template, |name| format!("({} unknown)", name.replace('_', " ")))
    }

    /// Fills a command: what is missing is left to the reader in capitals, as in a synopsis.
    pub fn fill_command(&self, template: &str) -> String {
        self.fill(template, str::to_uppercase)
    }

    fn fill(&self, template: &str, missing: impl Fn(&str) -> String) -> String {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            match placeholder(after) {
                Some(Placeholder { name, instead, rest: remainder }) => {
                    match (self.get(name), instead) {
                        (Some(value), _) => filled.push_str(value),
                        (None, Some(words)) => filled.push_str(words),
                        (None, None) => filled.push_str(&missing(name)),
                    }
                    rest = remainder;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.known
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.trim().is_empty())
    }
}

/// A placeholder as it stands in a template, and the text behind it.
struct Placeholder<'a> {
    name: &'a str,
    instead: Option<&'a str>,
    rest: &'a str,
}

/// Reads a placeholder whose opening brace has just been passed.
fn placeholder(text: &str) -> Option<Placeholder<'_>> {
    let (inside, rest) = text.split_once('}')?;
    if inside.contains('{') {
        // Else the words to say instead could open a placeholder that is never filled.
        return None;
    }
    let (name, instead) = match inside.split_once('|') {
        Some((name, instead)) => (name, Some(instead)),
        None => (inside, None),
    };
    let is_name = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some(Placeholder { name, instead, rest })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::reason::all;

    #[rstest]
    #[case("", "", "")]
    #[case("{value} of {threshold}", "9 of (threshold unknown)", "9 of THRESHOLD")]
    #[case("{threshold|its limit}", "its limit", "its limit")]
    #[case("{value|nothing}", "9", "9")]
    #[case("{blank|instead}", "instead", "instead")]
    #[case("{threshold|}!", "!", "!")]
    #[case("{first_seen}", "(first seen unknown)", "FIRST_SEEN")]
    #[case("{\"a\": {value}}", "{\"a\": 9}", "{\"a\": 9}")]
    #[case(
        "{} {Value} {1} {a b} {value",
        "{} {Value} {1} {a b} {value",
        "{} {Value} {1} {a b} {value"
    )]
    #[case("{{value}}", "{9}", "{9}")]
    #[case("{other|{value}}", "{other|9}", "{other|9}")]
    #[case("{looks}", "{value}", "{value}")]
    #[case("é{value}é", "é9é", "é9é")]
    fn fills(#[case] template: &str, #[case] prose: &str, #[case] command: &str) {
        let values = Values::new()
            .with("value", 8)
            .with("value", 9)
            .with("blank", "  ")
            .with("looks", "{value}");
        assert_eq!(values.fill_prose(template), prose);
        assert_eq!(values.fill_command(template), command);
    }

    #[test]
    fn built_in_texts_use_known_names_and_read_well_without_values() {
        for reason in all() {
            for template in std::iter::once(&reason.diagnosis).chain(reason.next_commands) {
                for after in template.split('{').skip(1) {
                    let found = placeholder(after).expect("a built-in brace is a placeholder");
                    assert!(Values::NAMES.contains(&found.name), "{}: {}", reason.code, found.name);
                }
            }
            let plain = reason.diagnosis_with(&Values::new());
            assert!(!plain.contains("unknown)"), "{}: {plain}", reason.code);
            let filled =
                Values::NAMES.iter().fold(Values::new(), |values, name| values.with(name, "X"));
            for text in [plain, reason.diagnosis_with(&filled)] {
                assert!(!text.contains(['{', '}', '|']), "{}: {text}", reason.code);
                assert!(!text.contains("  "), "{}: {text}", reason.code);
            }
        }
    }

    proptest! {
        #[test]
        fn no_known_placeholder_survives(template in "([a-z |]|\\{|\\}|\\{value\\}|\\{run\\|x\\}|é){0,30}") {
            let values = Values::new().with("value", "V").with("run", "R");
            for text in [values.fill_prose(&template), values.fill_command(&template)] {
                let survives = text.contains("{value}") || text.contains("{run|x}");
                prop_assert!(!survives, "{}", text);
            }
        }

        #[test]
        fn text_without_braces_is_unchanged(template in "[^{]{0,60}") {
            prop_assert_eq!(Values::new().fill_prose(&template), template);
        }
    }
}
