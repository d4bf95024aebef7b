//! Whether a line states a verdict.

use backstop_core::event::ReviewOutcome;

/// A verdict that stands in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) outcome: ReviewOutcome,
    /// It was called a verdict, as in `Outcome: approved`.
    pub(super) announced: bool,
    /// What else the line says.
    pub(super) rest: String,
}

/// The verdict of a line. It must be all that the line is about: a sentence in which the word
/// occurs, a quotation or a list item states nothing.
pub(super) fn stated(line: &str) -> Option<Stated> {
    let indent = line.len() - line.trim_start().len();
    if indent >= CODE_INDENT || line.trim_start().starts_with(['>', '`', '"', '\'', '|']) {
        return None;
    }
    let line = undecorated(line);
    let (announced, line) = match announced(line) {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (outcome, rest) = outcome(line)?;
    let rest = undecorated(rest);
    let rest = match rest.chars().next() {
        None => "",
        Some(':' | '.' | '!' | '-' | '–' | '—' | '(' | ',') => rest
            .trim_start_matches(|character: char| !character.is_alphanumeric() && character != '(')
            .trim(),
        // `Approved changes are listed below` is about something else.
        Some(_) => return None,
    };
    if is_taken_back(rest, outcome) {
        return None;
    }
    Some(Stated { outcome, announced, rest: rest.to_owned() })
}

/// Reads the name of an outcome on its own, in any of its spellings.
pub(super) fn named(text: &str) -> Option<ReviewOutcome> {
    let (outcome, rest) = outcome(text.trim())?;
    rest.trim_matches(['.', '!']).is_empty().then_some(outcome)
}

/// What follows `Outcome:` and the like.
fn announced(line: &str) -> Option<&str> {
    let (title, rest) = line.split_once([':', '=']).or_else(|| line.split_once(" - "))?;
    let title = undecorated(title).to_lowercase();
    let last = title.split_whitespace().next_back()?;
    let is_short = title.split_whitespace().count() <= MOST_TITLE_WORDS;
    (is_short && TITLES.contains(&last)).then(|| undecorated(rest))
}

/// The outcome that a text begins with, and what follows it.
fn outcome(text: &str) -> Option<(ReviewOutcome, &str)> {
    SPELLINGS.iter().find_map(|(spelling, outcome)| {
        let head = text.get(..spelling.len())?;
        let plain = head.to_ascii_lowercase().replace(['_', '-'], " ");
        let rest = &text[spelling.len()..];
        let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        (plain == *spelling && ends).then_some((*outcome, rest))
    })
}

/// `Approved: no`, `Approved, but …`.
fn is_taken_back(rest: &str, outcome: ReviewOutcome) -> bool {
    let mut words = rest
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase);
    let first = words.next().unwrap_or_default();
    let denies = ["no", "not", "false", "none", "0"].contains(&first.as_str());
    let limits = |word: &String| CONDITIONS.contains(&word.as_str());
    denies
        || outcome == ReviewOutcome::Approved && (limits(&first) || words.any(|word| limits(&word)))
}

/// Without the marks of headings and emphasis, and without pictures.
fn undecorated(text: &str) -> &str {
    text.trim_matches(|character: char| {
        character.is_whitespace()
            || matches!(character, '#' | '*' | '_' | '~')
            || !character.is_ascii() && !character.is_alphanumeric() && !is_dash(character)
    })
}

fn is_dash(character: char) -> bool {
    matches!(character, '–' | '—' | '“' | '”' | '„' | '«' | '»' | '‘' | '’')
}

const SPELLINGS: [(&str, ReviewOutcome); 9] = [
    ("approved", ReviewOutcome::Approved),
    ("approve", ReviewOutcome::Approved),
    ("changes requested", ReviewOutcome::ChangesRequested),
    ("requested changes", ReviewOutcome::ChangesRequested),
    ("request changes", ReviewOutcome::ChangesRequested),
    ("requests changes", ReviewOutcome::ChangesRequested),
    ("needs changes", ReviewOutcome::ChangesRequested),
    ("rejected", ReviewOutcome::Rejected),
    ("reject", ReviewOutcome::Rejected),
];

const TITLES: [&str; 7] =
    ["outcome", "verdict", "decision", "review", "result", "status", "conclusion"];
const MOST_TITLE_WORDS: usize = 3;

/// An approval under a condition is none yet.
const CONDITIONS: [&str; 9] =
    ["but", "if", "once", "unless", "except", "provided", "pending", "however", "after"];

/// A line that is indented so far is code.
const CODE_INDENT: usize = 4;
