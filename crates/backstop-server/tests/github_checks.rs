//! Deliveries about checks of other apps and their suites: what counts as one failure, what as the
//! next, and what no longer counts.

mod stand_in;

use std::sync::Arc;

use axum::http::StatusCode;
use backstop_server::github::{Github, WebhookSecret};
use backstop_store::testing::{FailingStore, Failure, FailureKind};
use backstop_store::{FailureSignal, PullRequest};
use rstest::rstest;
use serde_json::{Value as Json, json};
use stand_in::github::{HEAD, StandIn};
use stand_in::{Reply, SECRET, TestService, delivery, sign};
use tower::ServiceExt as _;

const FLAKY: &str = "read ECONNRESET";
const LINT: &str = "12 problems (12 errors, 0 warnings)";
const HOLD: &str = "HOLD";
const CONTINUE: &str = "CONTINUE";

/// What CircleCI tells of a check or a suite of pull request 7.
fn told(event: &str, of: &Json) -> String {
    let mut told = json!({
        "conclusion": "failure", "head_sha": HEAD, "app": {"slug": "circleci"},
        "pull_requests": [{"number": 7, "base": {"repo": {"id": 1}}}],
    });
    for (name, value) in of.as_object().expect("an object") {
        told[name] = value.clone();
    }
    json!({"action": "completed", event: told, "repository": {"id": 1, "full_name": "acme/shop"}})
        .to_string()
}

/// A check of suite 77 that ended at this minute; without words it has passed.
fn check(id: u64, name: &str, minute: u8, words: Option<&str>) -> String {
    let conclusion = if words.is_some() { "failure" } else { "success" };
    let of = json!({
        "id": id, "name": name, "completed_at": format!("2026-05-04T10:{minute:02}:00Z"),
        "check_suite": {"id": 77}, "conclusion": conclusion, "output": {"summary": words},
    });
    told("check_run", &of)
}

async fn deliver(test: &TestService, id: &str, body: &str) -> Reply {
    let event = if body.contains("\"check_run\"") { "check_run" } else { "check_suite" };
    test.deliver(event, id, body).await
}

async fn decided(test: &TestService, id: &str, body: &str) -> Json {
    let reply = deliver(test, id, body).await;
    assert_eq!(reply.word("status"), "decided", "{}", reply.text);
    reply.json()["decision"].clone()
}

fn verdict(decision: &Json) -> &str {
    decision["decision"].as_str().expect("a verdict")
}

fn attempts(decision: &Json) -> u64 {
    decision["evidence"]["attemptCounts"]["currentJobAttempts"].as_u64().expect("a number")
}

async fn signals(test: &TestService) -> Vec<FailureSignal> {
    let of = PullRequest::new("acme", "shop", 7);
    test.store.signal_list(&of, None, 100).await.expect("the store can be read")
}

#[tokio::test]
async fn a_failure_of_a_check_counts_once_however_often_it_is_told() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let mut counted = Vec::new();
    // The last one is another failure.
    for (delivery, id) in [("d-1", 9), ("d-2", 9), ("d-3", 9), ("d-4", 10)] {
        let body = check(id, "ci/lint", 0, Some(FLAKY));
        counted.push(attempts(&decided(&test, delivery, &body).await));
    }
    assert_eq!(counted, [0, 0, 0, 1]);
    assert_eq!(signals(&test).await.len(), 2);
}

/// Two services on one store, which both hear of everything twice at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn failures_that_are_told_at_the_same_time_are_told_apart() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let other = test.beside_it(&github);
    let told = (0..4).flat_map(|check| (0..4).map(move |copy| (check, copy)));
    let told = told.map(|(id, copy)| {
        let service = if copy % 2 == 0 { test.router.clone() } else { other.clone() };
        let body = check(id, "ci/lint", 0, Some(FLAKY));
        let name = format!("d-{id}-{copy}");
        let request = delivery("check_run", &name, &body, &sign(SECRET, &body));
        tokio::spawn(service.oneshot(request))
    });
    for reply in told.collect::<Vec<_>>() {
        let reply = reply.await.expect("it is answered").expect("it never fails");
        assert_eq!(reply.status(), StatusCode::OK);
    }
    let mut numbers: Vec<_> = signals(&test).await.iter().map(|one| one.attempt).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[rstest]
#[tokio::test]
async fn a_failure_counts_whenever_the_store_fails_meanwhile(
    #[values(FailureKind::Read, FailureKind::Write)] kind: FailureKind,
) {
    for call in 1..40 {
        let github = Github { secret: WebhookSecret::new(SECRET), client: None };
        let failure = Failure { call, kind, lasting: false };
        let test =
            TestService::knowing(github, |store| Arc::new(FailingStore::new(store, Some(failure))))
                .await;
        let mut counted = Vec::new();
        for id in [9, 10] {
            let body = check(id, "ci/lint", 0, Some(FLAKY));
            let mut reply = deliver(&test, &format!("d-{id}"), &body).await;
            if reply.word("status") != "decided" {
                reply = deliver(&test, &format!("d-{id}-again"), &body).await;
            }
            counted.push(attempts(&reply.json()["decision"]));
        }
        assert_eq!(counted, [0, 1], "{call}");
    }
}

#[tokio::test]
async fn the_end_of_a_suite_is_decided_by_what_failed_in_it() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    for id in [9, 10] {
        decided(&test, &format!("d-{id}"), &check(id, "ci/lint", 0, Some(LINT))).await;
    }
    let decision = decided(&test, "d-1", &told("check_suite", &json!({"id": 77}))).await;
    assert_eq!((verdict(&decision), &decision["reasonCode"]), (HOLD, &json!("NON_RETRIABLE")));
    assert_eq!(attempts(&decision), 1);
    // Nothing is known to have failed in another one.
    let decision = decided(&test, "d-2", &told("check_suite", &json!({"id": 78}))).await;
    assert_eq!((verdict(&decision), attempts(&decision)), (CONTINUE, 0), "{decision}");
}

#[rstest]
#[case::since("success", 5, CONTINUE)]
#[case::does_not_matter("neutral", 5, CONTINUE)]
#[case::is_left_out("skipped", 5, CONTINUE)]
#[case::before_and_told_late("success", 1, HOLD)]
#[case::given_up("cancelled", 5, HOLD)]
#[tokio::test]
async fn a_suite_is_not_held_for_a_check_that_has_passed_since(
    #[case] conclusion: &str,
    #[case] minute: u8,
    #[case] expected: &str,
) {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    // Twice, so that it is not its number of attempts either.
    for id in 1..4 {
        let body = check(id, "ci/lint", 2, Some(LINT));
        assert_eq!(verdict(&decided(&test, &format!("d-{id}"), &body).await), HOLD);
    }
    let passed =
        check(4, "ci/lint", minute, None).replace("\"success\"", &json!(conclusion).to_string());
    let status = deliver(&test, "d-4", &passed).await.word("status");
    assert_eq!(status, if conclusion == "cancelled" { "ignored" } else { "noted" });
    let flaky = check(5, "ci/unit", 4, Some(FLAKY));
    assert_eq!(verdict(&decided(&test, "d-5", &flaky).await), CONTINUE);
    let decision = decided(&test, "d-6", &told("check_suite", &json!({"id": 77}))).await;
    assert_eq!(verdict(&decision), expected, "{decision}");
    // When it fails again, that is the next time.
    let again = check(6, "ci/lint", 6, Some(LINT));
    assert_eq!(attempts(&decided(&test, "d-7", &again).await), 3);
}

#[tokio::test]
async fn checks_without_a_suite_have_none_in_common() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    for (id, summary) in [(9, FLAKY), (10, "read ETIMEDOUT")] {
        let of = json!({"id": id, "name": "ci/lint", "check_suite": null, "output": {"summary": summary}});
        let decision = decided(&test, &format!("d-{id}"), &told("check_run", &of)).await;
        assert_eq!((verdict(&decision), attempts(&decision)), (CONTINUE, 0), "{decision}");
    }
    let reply = deliver(&test, "d-1", &told("check_suite", &json!({}))).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::BAD_REQUEST, "INVALID_INPUT")
    );
}
