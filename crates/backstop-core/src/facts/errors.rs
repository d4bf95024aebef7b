//! Errors and how iterations ended.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::{ErrorCategory, ErrorSeen, IterationFinished};
use crate::time::Timestamp;

/// Errors of the run, and how its iterations ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Errors {
    /// Iterations that ended, and those of them that ended in error.
    pub(crate) iterations_ended: u64,
    pub(crate) iterations_errored: u64,
    pub(crate) consecutive: u64,
    pub(crate) last: Option<LastError>,
    /// The last iteration ended in error.
    pub(crate) now: bool,
    /// What went wrong in the current or just-ended iteration, newest last.
    pub(crate) recent: VecDeque<(ErrorCategory, String)>,
    /// The last critical error that nobody has acknowledged.
    pub(crate) critical: Option<String>,
    /// The last error has not been followed by a success.
    open: bool,
    /// How many of the recent errors came since the last iteration began or ended.
    fresh: usize,
    /// backstop itself ended this iteration, so that its bad exit says nothing.
    pub(crate) ended_on_purpose: bool,
    /// The iteration was to end: if a signal has ended it, and not its time, that was on purpose.
    /// It may also have finished by itself, as it may after a `stop`.
    #[serde(default)]
    pub(crate) told_to_end: bool,
}

/// The latest error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastError {
    pub(crate) category: ErrorCategory,
    pub(crate) message: String,
    pub(crate) signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<Timestamp>,
}

impl Errors {
    pub(crate) fn apply(&mut self, error: &ErrorSeen) {
        self.consecutive = self.consecutive.saturating_add(1);
        self.open = true;
        self.fresh = (self.fresh + 1).min(RECENT_ERRORS);
        if self.recent.len() == RECENT_ERRORS {
            self.recent.pop_front();
        }
        let message = shortened(&error.message);
        self.recent.push_back((error.category, message.to_owned()));
        if error.category == ErrorCategory::Critical {
            self.critical = Some(message.to_owned());
        }
        self.last = Some(LastError {
            category: error.category,
            message: message.to_owned(),
            signature: error.signature.as_deref().map(shortened).map(str::to_owned),
            retry_at: error.retry_at,
        });
    }

    pub(crate) fn success(&mut self) {
        self.consecutive = 0;
        self.open = false;
    }

    /// The last iteration ended in an error of the kind that passes by itself.
    pub(crate) fn now_transient(&self) -> bool {
        let last = self.last.as_ref().map(|last| last.category);
        self.now && last == Some(ErrorCategory::Transient)
    }

    /// A person has seen the errors so far.
    pub(crate) fn acknowledged(&mut self) {
        self.success();
        self.recent.clear();
        self.critical = None;
    }

    pub(crate) fn iteration_started(&mut self) {
        self.recent.clear();
        self.open = false;
        self.fresh = 0;
        self.ended_on_purpose = false;
        self.told_to_end = false;
    }

    /// Takes in the end of an iteration. `is_limited`: by a provider, which says nothing about the
    /// work.
    ///
    /// Answers with the error that the exit itself is, where nothing else reported one.
    pub(crate) fn iteration_finished(
        &mut self,
        end: &IterationFinished,
        is_limited: bool,
    ) -> Option<ErrorSeen> {
        let was_ended = self.told_to_end && end.signal.is_some() && !end.timed_out;
        let on_purpose = self.ended_on_purpose || was_ended;
        let excused = is_limited || on_purpose;
        let bad_exit =
            end.timed_out || end.signal.is_some() || end.exit_code.is_some_and(|code| code != 0);
        let reported = self.fresh > 0;
        // Not every reporter says when an iteration starts; then the end of the one before counts.
        self.recent.drain(..self.recent.len().saturating_sub(self.fresh));
        let made = (bad_exit && !reported && !excused).then(|| exit_as_error(end));
        if let Some(error) = &made {
            self.apply(error);
        }
        if !bad_exit && !reported && !is_limited {
            self.success();
        }
        self.now = !excused && (bad_exit || self.open);
        self.iterations_ended = self.iterations_ended.saturating_add(1);
        self.iterations_errored = self.iterations_errored.saturating_add(u64::from(self.now));
        self.fresh = 0;
        self.ended_on_purpose = false;
        self.told_to_end = false;
        made
    }
}

fn exit_as_error(end: &IterationFinished) -> ErrorSeen {
    let message = match (end.timed_out, end.signal, end.exit_code) {
        (true, _, _) => "timed out".to_owned(),
        (_, Some(signal), _) => format!("killed by signal {signal}"),
        (_, _, code) => format!("exit status {}", code.unwrap_or_default()),
    };
    ErrorSeen { category: ErrorCategory::Recoverable, message, signature: None, retry_at: None }
}

/// The beginning of a text, cut at a character, so that the facts stay small.
pub(crate) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

const RECENT_ERRORS: usize = 16;
const LONGEST_TEXT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str) -> ErrorSeen {
        ErrorSeen {
            category: ErrorCategory::Transient,
            message: message.into(),
            signature: None,
            retry_at: None,
        }
    }

    fn exit(code: i32) -> IterationFinished {
        IterationFinished { exit_code: Some(code), ..IterationFinished::default() }
    }

    #[test]
    fn a_bad_exit_without_an_error_makes_one() {
        let mut errors = Errors::default();
        errors.iteration_started();
        let made = errors.iteration_finished(&exit(3), false).unwrap();
        assert_eq!(
            (made.message.as_str(), made.category),
            ("exit status 3", ErrorCategory::Recoverable)
        );
        assert_eq!((errors.consecutive, errors.now, errors.iterations_errored), (1, true, 1));
    }

    #[test]
    fn a_reported_error_is_not_counted_again_by_the_exit() {
        let mut errors = Errors::default();
        errors.apply(&error("boom"));
        assert_eq!(errors.iteration_finished(&exit(1), false), None);
        assert_eq!(errors.consecutive, 1);
    }

    #[test]
    fn a_clean_exit_with_an_open_error_is_an_error() {
        let mut errors = Errors::default();
        errors.apply(&error("boom"));
        errors.iteration_finished(&exit(0), false);
        assert_eq!((errors.now, errors.consecutive), (true, 1));
        errors.iteration_started();
        errors.apply(&error("boom"));
        errors.success();
        errors.iteration_finished(&exit(0), false);
        assert_eq!((errors.now, errors.consecutive), (false, 0));
    }

    #[test]
    fn what_backstop_ended_itself_is_no_error() {
        let mut errors = Errors::default();
        errors.iteration_started();
        errors.ended_on_purpose = true;
        let killed = IterationFinished { signal: Some(15), ..IterationFinished::default() };
        assert_eq!(errors.iteration_finished(&killed, false), None);
        assert_eq!((errors.now, errors.consecutive, errors.iterations_ended), (false, 0, 1));
    }

    #[test]
    fn messages_are_cut_at_a_character() {
        let mut errors = Errors::default();
        errors.apply(&error(&"é".repeat(4096)));
        assert_eq!(errors.last.unwrap().message.len(), 4096);
        for number in 0..100 {
            errors.last = None;
            errors.apply(&error(&number.to_string()));
        }
        assert_eq!(errors.recent.len(), RECENT_ERRORS);
        assert_eq!(errors.recent.back().unwrap().1, "99");
    }
}
