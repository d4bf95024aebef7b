//! The review of a session: a reviewer has its say when the agent wants to stop.

use std::fs;

use serde_json::{Value as Json, json};

use crate::{Session, bash, stop, types};

const CLAIM: &str = "[[rule]]\nthen = \"complete\"\n\
    when = { type = \"output_pattern\", pattern = \"ALL DONE\", in = \"result\" }\n";
/// A reviewer who says what stands in a file.
const BY_COMMAND: &str = "[review]\n\
    command = \"echo $BACKSTOP_RUN_ID $BACKSTOP_ITERATION >> asked; cat verdict\"\n";

fn session(policy: &str, verdict: &str) -> Session {
    let session = Session::new("claude-code", policy);
    says(&session, verdict);
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    session
}

fn says(session: &Session, verdict: &str) {
    fs::write(session.work().join("verdict"), verdict).unwrap();
}

fn asked(session: &Session) -> usize {
    fs::read_to_string(session.work().join("asked")).unwrap_or_default().lines().count()
}

fn reviews(session: &Session) -> Vec<Json> {
    let events = session.runs().remove(0).1;
    let reviews = events.into_iter().filter(|event| event["type"] == "review");
    reviews.map(|review| review["outcome"].clone()).collect()
}

fn acts(session: &Session) {
    assert_eq!(session.says("PostToolUse", bash("edit", "ok")), None);
}

#[test]
fn changes_that_are_asked_for_send_the_agent_back_until_they_are_made() {
    let session =
        session(&format!("{BY_COMMAND}{CLAIM}"), "CHANGES REQUESTED\n- rename it\n- test it\n");
    acts(&session);
    let back = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert_eq!(back["decision"], "block", "{back}");
    let reason = back["reason"].as_str().unwrap();
    assert!(reason.contains("- rename it") && reason.contains("- test it"), "{reason}");
    acts(&session);
    says(&session, "APPROVED\n");
    let end = session.says("Stop", stop("ALL DONE", true)).unwrap();
    assert_eq!(end["continue"], false, "{end}");
    let runs = session.runs();
    assert_eq!(runs[0].0, "completed");
    assert_eq!(reviews(&session), ["changes_requested", "approved"]);
    let asked = fs::read_to_string(session.work().join("asked")).unwrap();
    let run = runs[0].1[0]["run"].as_str().unwrap();
    assert_eq!(asked, format!("{run} 1\n{run} 2\n"));
    let refused = runs[0].1.iter().filter(|event| event["what"] == "claim_refused");
    assert_eq!(refused.count(), 1, "{:?}", types(&runs[0].1));
}

#[test]
fn a_turn_is_reviewed_without_a_claim_too_unless_the_policy_says_otherwise() {
    let session_of =
        |when: &str| session(&format!("{BY_COMMAND}{when}"), "CHANGES REQUESTED\n- test it\n");
    let every = session_of("");
    // Nothing was done, so there is nothing to review.
    assert_eq!(every.says("Stop", stop("Which one?", false)), None);
    assert_eq!(asked(&every), 0);
    acts(&every);
    let back = every.says("Stop", stop("I changed it.", false)).unwrap();
    assert!(back["reason"].as_str().unwrap().contains("- test it"), "{back}");
    assert_eq!(asked(&every), 1);
    let complete = session_of("when = \"complete\"\n");
    acts(&complete);
    assert_eq!(complete.says("Stop", stop("I changed it.", false)), None);
    assert_eq!(asked(&complete), 0);
}

#[test]
fn reviews_that_go_round_in_circles_end_the_run() {
    let policy = format!("{BY_COMMAND}same_rounds = 2\n{CLAIM}");
    let session = session(&policy, "CHANGES REQUESTED\n- test it\n");
    acts(&session);
    assert_eq!(session.says("Stop", stop("ALL DONE", false)).unwrap()["decision"], "block");
    acts(&session);
    let end = session.says("Stop", stop("ALL DONE", true)).unwrap();
    assert_eq!(end["continue"], false, "{end}");
    assert!(end["stopReason"].as_str().unwrap().contains("review_loop_detected"), "{end}");
    assert_eq!(session.runs()[0].0, "stopped");
}

#[test]
fn a_rejection_ends_the_run() {
    let session = session(&format!("{BY_COMMAND}{CLAIM}"), "REJECTED\n");
    acts(&session);
    let end = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert_eq!(end["continue"], false, "{end}");
    assert!(end["stopReason"].as_str().unwrap().contains("review_rejected"), "{end}");
    assert_eq!(session.runs()[0].0, "failed");
}

#[test]
fn a_reviewer_who_says_nothing_has_approved_nothing() {
    let session = session(&format!("{BY_COMMAND}{CLAIM}"), "well, hm\n");
    acts(&session);
    let back = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert_eq!(back["decision"], "block", "{back}");
    assert!(back["reason"].as_str().unwrap().contains("gave no review"), "{back}");
    let runs = session.runs();
    assert_eq!(runs[0].0, "running");
    assert!(runs[0].1.iter().any(|event| event["what"] == "not_reviewed"), "{runs:?}");
}

#[test]
fn a_file_of_the_reviewer_counts_when_it_is_written_in_the_session() {
    let session = Session::new("claude-code", &format!("[review]\nfile = \"REVIEW.md\"\n{CLAIM}"));
    fs::write(session.work().join("REVIEW.md"), "APPROVED\n").unwrap();
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    acts(&session);
    let back = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert_eq!(back["decision"], "block", "what lay there is of another time: {back}");
    acts(&session);
    fs::write(session.work().join("REVIEW.md"), "This is fine.\n\nAPPROVED\n").unwrap();
    let end = session.says("Stop", stop("ALL DONE", true)).unwrap();
    assert_eq!(end["continue"], false, "{end}");
    assert_eq!(session.runs()[0].0, "completed");
}

#[test]
fn what_does_not_verify_is_not_reviewed() {
    let policy = format!("[verify]\ncommand = \"test -e good\"\n{BY_COMMAND}{CLAIM}");
    let session = session(&policy, "APPROVED\n");
    acts(&session);
    let back = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert!(back["reason"].as_str().unwrap().contains("verification"), "{back}");
    assert_eq!(asked(&session), 0);
}
