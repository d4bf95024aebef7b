//! Sorts failures of jobs by what a tail of their log says: may another run help, or not?
//!
//! Only what is probably flaky or came from the machinery around the work is worth another run.
//! Patterns are matched in linear time, over a bounded tail.

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use crate::document::sha256_hex;
use crate::field::choices;
use crate::normalise::{Style, normalise};

mod patterns;

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A test that may pass the next time: a time-out, a race, a tool that says so itself.
    FlakyProbable,
    /// A network, a registry, a machine: nothing of the work's own.
    InfraTransient,
    Unknown,
    /// The text can't be read by its compiler or interpreter.
    SyntaxError,
    LintError,
    /// A compiler, linker or type checker refused the work.
    BuildDeterministic,
}

choices! {
    Class {
        "flaky probable" => FlakyProbable,
        "infra transient" => InfraTransient,
        "unknown" => Unknown,
        "syntax error" => SyntaxError,
        "lint error" => LintError,
        "build deterministic" => BuildDeterministic,
    }
}

impl Class {
    /// Whether another run may end differently.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::FlakyProbable | Self::InfraTransient)
    }
}

/// Patterns of one's own, tried before those that are built in; the first that is found counts.
#[derive(Clone, Debug, Default)]
pub struct OwnPatterns {
    patterns: Option<RegexSet>,
    classes: Vec<Class>,
}

impl OwnPatterns {
    /// Makes patterns ready. The policy has checked each; together they may still be too large.
    ///
    /// # Errors
    /// Why they can't be used.
    pub fn new<'a>(list: impl IntoIterator<Item = (&'a str, Class)>) -> Result<Self, regex::Error> {
        let (patterns, classes): (Vec<&str>, Vec<Class>) = list.into_iter().unzip();
        Ok(Self { patterns: Some(set(&patterns)?), classes })
    }

    fn first(&self, text: &str) -> Option<Class> {
        let found = self.patterns.as_ref()?.matches(text).into_iter().next()?;
        self.classes.get(found).copied()
    }
}

/// The class of a failure, from the name of the step that failed and the last part of the log.
pub fn classify(step_name: &str, log_tail: &str, own: &OwnPatterns) -> Class {
    let tail = readable_tail(log_tail);
    own.first(&tail)
        .or_else(|| built_in(&tail))
        .or_else(|| by_step(step_name))
        .unwrap_or(Class::Unknown)
}

/// What a failure looks like, as 32 hexadecimal digits: the step and the lines that look like
/// errors, without times, numbers, addresses and folders, so that the same failure looks the same.
pub fn signal(step_name: &str, log_tail: &str) -> String {
    let mut seen = normalise(bounded(step_name, LONGEST_STEP).as_bytes(), Style::Masked);
    seen.push(b'\n');
    seen.extend(normalise(readable_tail(log_tail).as_bytes(), Style::Error));
    let hash = sha256_hex(&String::from_utf8_lossy(&seen));
    hash.trim_start_matches("sha256:").chars().take(32).collect()
}

/// Compiles patterns as all of these are: lines by lines, in any case, and never too large.
pub(crate) fn set(patterns: &[&str]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns)
        .case_insensitive(true)
        .multi_line(true)
        .size_limit(LARGEST_SET)
        .build()
}

/// The last part of a log, without colours and without the time that stands before each line.
fn readable_tail(log: &str) -> String {
    let tail = last(log, LONGEST_TAIL);
    let mut readable = String::with_capacity(tail.len());
    for line in tail.lines() {
        let line = without_time(line);
        let mut rest = line;
        while let Some(escape) = rest.find('\u{1b}') {
            readable.push_str(&rest[..escape]);
            rest = after_escape(&rest[escape + 1..]);
        }
        readable.push_str(rest);
        readable.push('\n');
    }
    readable
}

/// GitHub writes `2026-05-04T10:00:00.1234567Z ` before each line.
fn without_time(line: &str) -> &str {
    let line = line.trim_start_matches('\u{feff}');
    match line.split_once(' ') {
        Some((time, rest))
            if (20..=35).contains(&time.len())
                && time.as_bytes()[0].is_ascii_digit()
                && time.as_bytes()[10] == b'T'
                && time.ends_with('Z') =>
        {
            rest
        }
        _ => line,
    }
}

/// What follows a control sequence such as `[1;31m`; anything else is left as it is.
fn after_escape(text: &str) -> &str {
    let Some(sequence) = text.strip_prefix('[') else { return text };
    match sequence.find(|character: char| !matches!(character, '0'..='?')) {
        Some(end) => sequence[end..].get(1..).unwrap_or(&sequence[end..]),
        None => "",
    }
}

fn built_in(tail: &str) -> Option<Class> {
    let found = BUILT_IN.as_ref()?.matches(tail).into_iter().next()?;
    patterns::TABLE.get(found).map(|(_, class)| *class)
}

/// None only if the table were broken, which its tests would notice.
static BUILT_IN: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns: Vec<&str> = patterns::TABLE.iter().map(|(pattern, _)| *pattern).collect();
    set(&patterns).ok()
});

/// What a step's name tells where its log tells nothing.
fn by_step(name: &str) -> Option<Class> {
    let name = bounded(name, LONGEST_STEP).to_lowercase();
    let is_word = |word: &str| {
        name.split(|character: char| !character.is_ascii_alphanumeric()).any(|part| part == word)
    };
    if patterns::STEPS_OF_THE_MACHINERY.iter().any(|step| name.trim() == *step) {
        Some(Class::InfraTransient)
    } else if patterns::WORDS_OF_LINTERS.iter().any(|word| is_word(word)) {
        Some(Class::LintError)
    } else {
        None
    }
}

/// The last bytes of a text, from a whole line where there is one.
fn last(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut start = text.len() - most;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = &text[start..];
    tail.split_once('\n').map_or(tail, |(_, whole)| whole)
}

fn bounded(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// How much of a log is looked at. Those who fetch logs need no more.
pub const LONGEST_TAIL: usize = 64 << 10;
const LONGEST_STEP: usize = 256;
const LARGEST_SET: usize = 8 << 20;

#[cfg(test)]
mod tests;
