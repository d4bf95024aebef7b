//! One iteration as people are told of it when it has ended.

use std::collections::BTreeSet;

use backstop_core::event::{IterationFinished, ProgressKind, TestCounts, VerificationOutcome};
use backstop_core::state::Statistics;
use rustix::process::Signal;

use super::figures::{counted, dollars, percent, rounded};

/// What was seen in the iteration that runs.
#[derive(Debug)]
pub struct Iteration {
    tests_before: Option<TestCounts>,
    pub tests: Option<TestCounts>,
    pub progress: BTreeSet<ProgressKind>,
    pub verification: Option<VerificationOutcome>,
    pub drift: Option<f64>,
    before: Option<Statistics>,
}

impl Iteration {
    pub fn begin(tests: Option<TestCounts>, before: Option<Statistics>) -> Self {
        Self {
            tests_before: tests,
            tests: None,
            progress: BTreeSet::new(),
            verification: None,
            drift: None,
            before,
        }
    }

    /// What is worth telling, a few words each.
    pub fn told(&self, now: Option<&Statistics>) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.tests.map(|tests| told_tests(tests, self.tests_before)));
        parts.extend(self.verification.map(|outcome| verified(outcome).to_owned()));
        parts.extend(self.drift.map(|score| format!("drift {}", percent(score))));
        if !self.progress.is_empty() {
            let kinds: Vec<_> = self.progress.iter().map(|kind| kind_name(*kind)).collect();
            parts.push(format!("progress: {}", kinds.join(", ")));
        }
        if let (Some(before), Some(now)) = (&self.before, now) {
            parts.extend(units(before, now));
            parts.extend(spent(before, now));
        }
        parts
    }
}

/// `exit 0`, `ended by SIGSEGV`, `timed out`.
pub fn outcome(end: &IterationFinished) -> String {
    match (end.timed_out, end.exit_code, end.signal) {
        (true, _, _) => "timed out".to_owned(),
        (_, _, Some(signal)) => format!("ended by {}", signal_name(signal)),
        (_, Some(code), None) => format!("exit {code}"),
        (_, None, None) => "ended".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = SIGNALS.iter().find(|(known, _)| known.as_raw() == signal);
    name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

fn told_tests(now: TestCounts, before: Option<TestCounts>) -> String {
    let was = before.filter(|before| before.failed != now.failed);
    let was = was.map_or(String::new(), |before| format!(" (was {})", before.failed));
    format!("tests {} passed, {} failed{was}", now.passed, now.failed)
}

/// How a verification ended, in words.
pub const fn verified(outcome: VerificationOutcome) -> &'static str {
    match outcome {
        VerificationOutcome::Passed => "verification passed",
        VerificationOutcome::Failed => "verification failed",
        VerificationOutcome::TimedOut => "verification timed out",
    }
}

const fn kind_name(kind: ProgressKind) -> &'static str {
    match kind {
        ProgressKind::Task => "task",
        ProgressKind::PullRequest => "pull request",
        ProgressKind::Issue => "issue",
        ProgressKind::Commit => "commit",
        ProgressKind::Tree => "tree",
        ProgressKind::Tests => "tests",
        ProgressKind::Marker => "marker",
        ProgressKind::Other => "other",
    }
}

fn units(before: &Statistics, now: &Statistics) -> Option<String> {
    let ended = |of: &Statistics| of.units_approved + of.units_rejected + of.units_failed;
    let bad = |of: &Statistics| of.units_rejected + of.units_failed;
    let (all, bad) =
        (ended(now).saturating_sub(ended(before)), bad(now).saturating_sub(bad(before)));
    (all > 0).then(|| match bad {
        0 => counted(all, "unit", "units"),
        bad => format!("{}, {bad} of them bad", counted(all, "unit", "units")),
    })
}

/// What the iteration cost: money where it is known, else tokens.
fn spent(before: &Statistics, now: &Statistics) -> Option<String> {
    let tokens = now.tokens.saturating_sub(before.tokens);
    let cost = now.cost_usd - before.cost_usd;
    if cost > 0.0 {
        let is_part = now.unpriced_iterations > before.unpriced_iterations;
        Some(format!("{}{}", if is_part { "at least " } else { "" }, dollars(cost)))
    } else {
        (tokens > 0).then(|| format!("{} tokens", rounded(tokens)))
    }
}

/// Those that end programs.
const SIGNALS: [(Signal, &str); 15] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
];
