//! The verification: a command that tells whether the work is good.

mod results;

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, SystemTime};

use backstop_adapters::report::TestReport;
use backstop_core::event::{Verification, VerificationOutcome};
use backstop_core::policy::VerifySettings;

use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;

/// What a verification showed.
#[derive(Debug)]
pub struct Verified {
    pub verification: Verification,
    /// What the tests said, if there were any.
    pub tests: Option<TestReport>,
}

/// Runs the verification. None where it was cancelled: then it says nothing.
pub async fn verify(
    settings: &VerifySettings,
    tree: &Tree,
    cwd: &Path,
    env: &[(OsString, OsString)],
    cancel: impl Future<Output = ()>,
) -> Option<Verified> {
    let began = SystemTime::now();
    let mut command = SideCommand::new(Invocation::from(&settings.command), cwd);
    command.env = env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    command.timeout = settings.timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.0);
    command.merge_streams = true;
    command.output_cap = MOST_OUTPUT;
    let outcome = command.run(tree, cancel).await;
    if outcome.cancelled {
        return None;
    }
    let tests = results::find(settings, &outcome.stdout, cwd, began).await;
    let verdict = if outcome.timed_out {
        VerificationOutcome::TimedOut
    } else if outcome.is_success() {
        VerificationOutcome::Passed
    } else {
        VerificationOutcome::Failed
    };
    let detail = detail(&outcome);
    let verification =
        Verification { outcome: verdict, detail: (!detail.is_empty()).then_some(detail) };
    Some(Verified { verification, tests })
}

/// Why it could not be started, else the end of what it printed, else how it ended.
fn detail(outcome: &SideOutcome) -> String {
    if let Some(why) = &outcome.not_started {
        return why.clone();
    }
    let printed = last_lines(&outcome.stdout, DETAIL_CHARACTERS);
    match outcome.exit {
        _ if !printed.is_empty() => printed,
        Some(exit) => match (exit.code, exit.signal) {
            (Some(0), _) => String::new(),
            (Some(code), _) => format!("it exited with {code} and printed nothing"),
            (None, Some(signal)) => format!("signal {signal} ended it"),
            (None, None) => String::new(),
        },
        None => String::new(),
    }
}

/// The last lines of an output that fit, whole ones where there are any.
pub(crate) fn last_lines(output: &[u8], characters: usize) -> String {
    let text = String::from_utf8_lossy(output);
    let text = text.trim();
    let Some((cut, _)) = text.char_indices().rev().nth(characters) else {
        return text.to_owned();
    };
    // The character at the cut is one too many; if it ends a line, the next one is whole.
    let kept = &text[cut..];
    match kept.split_once('\n') {
        Some((_, whole)) if !whole.trim().is_empty() => whole.trim_start_matches('\n').to_owned(),
        _ => kept.chars().skip(1).collect(),
    }
}

/// Test runners are talkative, and their summary comes last: both ends are kept.
const MOST_OUTPUT: usize = 8 << 20;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// Enough for a stop card and for the next prompt.
const DETAIL_CHARACTERS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_last_lines_are_kept_where_there_are_any() {
        assert_eq!(last_lines(b"one\ntwo\nthree\n", 9), "two\nthree");
        assert_eq!(last_lines(b"one\ntwo\nthree\n", 8), "three");
        assert_eq!(last_lines("äöüß".as_bytes(), 2), "üß");
        assert_eq!(last_lines(b" \n short \n", 50), "short");
    }
}
