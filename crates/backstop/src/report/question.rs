//! What a person is asked by a run that they look at from elsewhere.

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use backstop_runner::prompt::Choice;
use backstop_runner::view::OpenQuestion;
use owo_colors::Style;

use super::figures::painted;
use super::live::countdown;
use super::table::{cut, hanging};
use crate::sanitise::harmless;
use crate::shown_commands::complete;

/// The question and how it is answered, in 80 columns.
pub fn told(question: &OpenQuestion, run: RunId, now: Timestamp, colour: bool) -> String {
    let asked = hanging("? ", &harmless(&question.question));
    let asked = painted(asked.trim_end(), Style::new().yellow().bold(), colour);
    format!("{asked}\n{}", hanging("  ", &ways_out(question, run, now)))
}

/// The same for the live block: one line each, and what does not fit is left out.
pub fn lines(
    question: &OpenQuestion,
    run: RunId,
    now: Timestamp,
    columns: usize,
    colour: bool,
) -> [String; 2] {
    let asked = cut(&format!("? {}", harmless(&question.question)), columns);
    let how = cut(&format!("  {}", ways_out(question, run, now)), columns);
    [painted(&asked, Style::new().yellow().bold(), colour), how]
}

/// What can be answered and how, and how much time there is.
pub fn ways_out(question: &OpenQuestion, run: RunId, now: Timestamp) -> String {
    // What can be copied as it is comes first.
    let others = question.answers.iter().filter(|choice| **choice != Choice::Fix);
    let mut words: Vec<String> = others.map(ToString::to_string).collect();
    if question.answers.contains(&Choice::Fix) {
        words.insert(words.len().min(1), FIX.to_owned());
    }
    let last = words.pop().unwrap_or_default();
    let command = complete(&format!("backstop answer {run} "));
    let first = format!("{command}{}", words.join("`, `"));
    let time = match (question.left(now), question.on_timeout.as_deref()) {
        (Some(left), Some(then)) => format!(" · {} left, then it {then}s", countdown(left)),
        _ => String::new(),
    };
    format!("answer with `{}` or `{last}`{time}", first.trim_end())
}

const FIX: &str = "fix --note \"…\"";
