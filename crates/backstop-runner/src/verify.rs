//! The verification: commands that tell whether the work is good, cheap ones first.

mod results;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use backstop_adapters::report::TestReport;
use backstop_core::event::{TestCounts, Verification, VerificationOutcome};
use backstop_core::policy::{VerifySettings, VerifyTier};

use results::Results;

use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;

/// What a verification showed.
#[derive(Debug)]
pub struct Verified {
    pub verification: Verification,
    /// What the tests of all tiers said, if there were any.
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
    let mut cancel = std::pin::pin!(cancel);
    let mut course = Course::new(settings);
    while let Some(tier) = course.next_tier() {
        let ended = run(&tier, tree, cwd, env, &mut cancel).await?;
        course.take(ended);
    }
    Some(course.conclude())
}

/// A verification under way: its commands run one after the other, until one does not pass.
#[derive(Debug)]
pub struct Course {
    left: std::vec::IntoIter<VerifyTier>,
    is_alone: bool,
    ended: Vec<TierEnded>,
    tests: Option<TestReport>,
}

/// How one command of a verification ended.
#[derive(Debug)]
pub struct TierEnded {
    pub title: String,
    pub outcome: VerificationOutcome,
    pub took: Duration,
    /// What it said last, or why it could not be run.
    pub said: String,
    pub tests: Option<TestReport>,
}

impl Course {
    pub fn new(settings: &VerifySettings) -> Self {
        let stages = settings.stages();
        let is_alone = stages.len() == 1;
        Self { left: stages.into_iter(), is_alone, ended: Vec::new(), tests: None }
    }

    /// The command that comes next, if the last one passed.
    pub fn next_tier(&mut self) -> Option<VerifyTier> {
        let goes_on =
            self.ended.last().is_none_or(|last| last.outcome == VerificationOutcome::Passed);
        if goes_on { self.left.next() } else { None }
    }

    /// Takes in how it ended. Answers with a line for people, where there are several.
    pub fn take(&mut self, mut ended: TierEnded) -> Option<String> {
        match (&mut self.tests, ended.tests.take()) {
            (Some(whole), Some(report)) => whole.merge(report),
            (whole @ None, report) => *whole = report,
            (Some(_), None) => {}
        }
        let told = (!self.is_alone).then(|| format!("verification: {}", ended.in_words()));
        self.ended.push(ended);
        told
    }

    pub fn conclude(self) -> Verified {
        let outcome = self.ended.last().map_or(VerificationOutcome::Passed, |last| last.outcome);
        let mut detail = String::new();
        if !self.is_alone {
            let told: Vec<_> = self.ended.iter().map(TierEnded::in_words).collect();
            detail = told.join(", ");
        }
        let said = self.ended.last().map_or("", |last| last.said.as_str());
        // What several commands say that all passed is of no use to anybody.
        if !said.is_empty() && (self.is_alone || outcome != VerificationOutcome::Passed) {
            let gap = if detail.is_empty() { "" } else { ":\n" };
            let _ = write!(detail, "{gap}{said}");
        }
        let detail = (!detail.is_empty()).then_some(detail);
        Verified { verification: Verification { outcome, detail }, tests: self.tests }
    }
}

impl TierEnded {
    /// `lint passed in 1.2s`.
    fn in_words(&self) -> String {
        let title: String = self.title.chars().take(LONGEST_TITLE).collect();
        let took = self.took.as_secs_f64();
        format!(
            "{title} {} {took:.1}s",
            match self.outcome {
                VerificationOutcome::Passed => "passed in",
                VerificationOutcome::Failed => "failed after",
                VerificationOutcome::TimedOut => "timed out after",
            }
        )
    }
}

/// Runs one command of a verification. None where it was cancelled.
pub async fn run(
    tier: &VerifyTier,
    tree: &Tree,
    cwd: &Path,
    env: &[(OsString, OsString)],
    cancel: impl Future<Output = ()>,
) -> Option<TierEnded> {
    let report = tier.report.as_ref().map(|report| report.0.as_str());
    let results = Results::expect(report, cwd).await;
    let started = Instant::now();
    let mut command = SideCommand::new(Invocation::from(&tier.command), cwd);
    command.env = env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    command.timeout = tier.timeout.map_or(VerifySettings::DEFAULT_TIMEOUT, |timeout| timeout.0);
    command.merge_streams = true;
    command.output_cap = MOST_OUTPUT;
    let ended = command.run(tree, cancel).await;
    if ended.cancelled {
        return None;
    }
    let tests = results.find(&ended.stdout).await;
    let mut said = detail(&ended);
    let outcome = if ended.timed_out {
        VerificationOutcome::TimedOut
    } else if !ended.is_success() {
        VerificationOutcome::Failed
    } else if let Some(but) = contradiction(&ended, report, tests.as_ref()) {
        said = match said.is_empty() {
            true => format!("it exited with 0, but {but}"),
            false => format!("it exited with 0, but {but}:\n{said}"),
        };
        VerificationOutcome::Failed
    } else {
        said = in_short(&said, tests.as_ref());
        VerificationOutcome::Passed
    };
    Some(TierEnded { title: tier.title(), outcome, took: started.elapsed(), said, tests })
}

/// What its tests say against a command that exited with 0: a pipe, a wrapper or `|| true` loses the
/// status of the tests, and what they printed is the better witness.
fn contradiction(
    ended: &SideOutcome,
    report: Option<&str>,
    tests: Option<&TestReport>,
) -> Option<String> {
    match (tests, report) {
        (Some(tests), _) if tests.succeeded() => None,
        // Only a part of its output is known, so that the rest of the report may have been fine.
        (Some(tests), _) if ended.truncated && tests.counts().failed == 0 => None,
        // Whoever deletes all tests has proved nothing.
        (Some(tests), _) if tests.is_empty() => Some("no test ran".to_owned()),
        (Some(tests), _) => Some(match (tests.counts().failed, &tests.broken) {
            (0, Some(broken)) => format!("its tests are no proof ({broken})"),
            (failed, _) => format!("{failed} of its tests failed"),
        }),
        (None, None | Some("auto")) => None,
        (None, Some(report)) => Some(format!("there is no test report from it at `{report}`")),
    }
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

/// What is worth keeping of a command that passed: its figures, else its last line.
fn in_short(said: &str, tests: Option<&TestReport>) -> String {
    if let Some(tests) = tests {
        let TestCounts { passed, skipped, .. } = tests.counts_at_last();
        return match skipped {
            0 => format!("{passed} passed"),
            skipped => format!("{passed} passed, {skipped} skipped"),
        };
    }
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    match last.char_indices().nth(LONGEST_TITLE) {
        Some((cut, _)) => format!("{}…", &last[..cut]),
        None => last.to_owned(),
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
/// Enough for a stop card and for the next prompt.
const DETAIL_CHARACTERS: usize = 500;
const LONGEST_TITLE: usize = 60;

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
