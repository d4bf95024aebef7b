use std::future::{pending, ready};

use backstop_core::document::Syntax;
use backstop_core::event::VerificationOutcome;
use backstop_core::policy::{Policy, VerifySettings};
use backstop_runner::verify::verify;

use crate::support::{on_a_runtime, tree};

fn settings(section: &str) -> VerifySettings {
    let text = format!("[verify]\n{section}");
    let loaded = Policy::load(text.as_bytes(), Syntax::Toml).unwrap();
    loaded.policy.settings.verify.unwrap()
}

fn outcome(section: &str) -> (VerificationOutcome, String) {
    let folder = tempfile::tempdir().unwrap();
    let env = [("COLOUR".into(), "red".into())];
    let verified = on_a_runtime(async {
        verify(&settings(section), &tree(), folder.path(), &env, pending()).await
    });
    let verified = verified.unwrap();
    let verified = verified.verification;
    (verified.outcome, verified.detail.unwrap_or_default())
}

#[test]
fn an_exit_of_0_passes_and_any_other_fails_with_the_end_of_its_output() {
    assert_eq!(outcome("command = 'true'"), (VerificationOutcome::Passed, String::new()));
    let failed = outcome("command = 'echo \"2 of 9 tests failed: $COLOUR\" >&2; exit 1'");
    assert_eq!(failed, (VerificationOutcome::Failed, "2 of 9 tests failed: red".to_owned()));
    let silent = outcome("command = ['sh', '-c', 'exit 4']");
    assert_eq!(silent.1, "it exited with 4 and printed nothing");
}

#[test]
fn one_that_takes_too_long_timed_out() {
    let slow = outcome("command = 'echo began; sleep 100'\ntimeout = '3s'");
    assert_eq!(slow, (VerificationOutcome::TimedOut, "began".to_owned()));
}

#[test]
fn one_that_can_not_be_started_failed_and_says_why() {
    let missing = outcome("command = ['no-such-program-anywhere']");
    assert_eq!(missing.0, VerificationOutcome::Failed);
    assert_eq!(missing.1, "`no-such-program-anywhere` was not found");
}

#[test]
fn a_cancelled_one_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings("command = 'sleep 100'");
    let verified =
        on_a_runtime(async { verify(&settings, &tree(), folder.path(), &[], ready(())).await });
    assert!(verified.is_none());
}
