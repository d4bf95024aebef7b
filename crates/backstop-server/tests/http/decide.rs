//! Stateless decisions.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::Arc;
use std::time::Duration;

use crate::support::Server;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::facts::{Facts, GivenFacts};
use backstop_core::policy::{Policy, Preset};
use backstop_server::ServeOptions;
use backstop_store::audit::AuditFilter;
use backstop_store::testing::{FailingStore, FailureKind};
use rstest::rstest;
use serde_json::json;

const NOW: &str = "2026-05-04T10:00:00Z";

/// What `backstop check --json` prints for these facts.
fn checked(policy: Policy, facts: &str) -> String {
    let given = GivenFacts::from_json(facts.as_bytes()).unwrap();
    let mut engine = Engine::with_facts(policy, Facts::from(given)).with_neutral_meters();
    engine.poll_decision(engine.moment(NOW.parse().unwrap())).to_json()
}

#[test]
fn the_answer_is_the_decision_to_the_byte() {
    let server = Server::start();
    let text = r#"{"limits":{"iterations":5},"rule":[{"when":{"type":"reject_rate","above":0.3},"then":"stop"}]}"#;
    let policy = || Policy::load(text.as_bytes(), Syntax::Json).unwrap().policy;
    for facts in [
        r#"{"iterations":2}"#,
        r#"{"iterations":5}"#,
        r#"{"iterations":2,"reject_rate":0.375,"units":{"attempted":8}}"#,
        r#"{"iterations":4}"#,
    ] {
        let body = format!(r#"{{"policy":{text},"facts":{facts},"now":"{NOW}"}}"#);
        let answer = server.post("/v1/decide", &body);
        assert_eq!((answer.status, answer.body), (200, checked(policy(), facts)));
    }
}

#[test]
fn without_a_policy_the_default_preset_decides() {
    let server = Server::start();
    let body = format!(r#"{{"facts":{{"iterations":100}},"now":"{NOW}"}}"#);
    let answer = server.post("/v1/decide", &body);
    let expected = checked(Policy::preset(Preset::Default), r#"{"iterations":100}"#);
    assert_eq!(answer.body, expected);
    assert_eq!(answer.json()["reason"], "max_iterations");
}

/// What the answer calls the limits of a policy that speaks of re-runs.
#[test]
fn without_a_policy_for_them_the_preset_decides_about_reruns() {
    let server = Server::start();
    let facts = r#""facts":{"job_attempts":2},"form":"rerun""#;
    let ask = |more: &str| server.post("/v1/decide", &format!("{{{more}{facts}}}")).json();
    let by_preset = |answer: serde_json::Value| {
        assert_eq!(answer["decision"], "HOLD", "{answer}");
        assert_eq!(answer["reasonCode"], "MAX_ATTEMPTS", "{answer}");
        assert_eq!(answer["evidence"]["thresholds"]["maxRerunsPerJob"], 2, "{answer}");
        assert_eq!(answer["lawbookHash"], Policy::preset(Preset::Rerun).hash());
    };
    by_preset(ask(""));
    // One that is in force for something else leaves them to it; one that is named does not.
    let stored = server.post("/v1/policies", r#"{"limits":{"iterations":5}}"#).json();
    let named = json!({ "policy_hash": stored["hash"] }).to_string();
    let content = [("content-type", "application/json")];
    let put = server.ask("PUT", "/v1/policies/active/global", &content, &named);
    assert_eq!(put.status, 200, "{put:?}");
    by_preset(ask(""));
    let answer = ask(&format!(r#""policy_hash":{},"#, stored["hash"]));
    assert_eq!(
        (&answer["decision"], &answer["lawbookHash"]),
        (&json!("CONTINUE"), &stored["hash"])
    );
}

#[test]
fn events_are_folded() {
    let server = Server::start();
    let policy = json!({ "rule": [
        { "when": { "type": "consecutive_fails", "count": 2 }, "then": "stop" }
    ] });
    let failed = |id: &str| json!({ "type": "unit", "id": id, "status": "failed" });
    let mut question = json!({ "policy": policy, "events": [failed("a")], "now": NOW });
    assert_eq!(server.post("/v1/decide", &question.to_string()).json()["verdict"], "continue");
    question["events"] = json!([failed("a"), failed("b")]);
    assert_eq!(server.post("/v1/decide", &question.to_string()).json()["verdict"], "stop");
    // Nothing stays of one question for the next.
    question["events"] = json!([failed("a")]);
    assert_eq!(server.post("/v1/decide", &question.to_string()).json()["verdict"], "continue");
}

#[test]
fn the_form_of_rerun_bots_can_be_asked_for() {
    let server = Server::start();
    let body = json!({
        "policy": { "stopRules": {} }, "facts": { "job_attempts": 2 }, "form": "rerun", "now": NOW,
    });
    let headers = [("content-type", "application/json"), ("x-request-id", "mine-1")];
    let answer = server.ask("POST", "/v1/decide", &headers, &body.to_string());
    let object = answer.json();
    assert_eq!(
        (&object["decision"], &object["reasonCode"]),
        (&json!("HOLD"), &json!("MAX_ATTEMPTS"))
    );
    assert_eq!(object["requestId"], "mine-1");
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
}

#[rstest]
#[case("", 400)]
#[case("{", 400)]
#[case("[]", 400)]
#[case("null", 400)]
#[case(r#"{"fact":{}}"#, 400)]
#[case(r#"{"facts":{"iteration":1}}"#, 400)]
#[case(r#"{"facts":{"iterations":-1}}"#, 400)]
#[case(r#"{"facts":[]}"#, 400)]
#[case(r#"{"facts":{},"facts":{}}"#, 400)]
#[case(r#"{"events":{}}"#, 400)]
#[case(r#"{"events":[{"type":"nonsense"}]}"#, 400)]
#[case(r#"{"now":"yesterday"}"#, 400)]
#[case(r#"{"form":"pipeline"}"#, 400)]
#[case(r#"{"policy":{"rules":[]}}"#, 400)]
#[case(r#"{"policy":"preset = 'ralph'"}"#, 400)]
#[case(r#"{"policy":{"verify":{"command":"make"}}}"#, 403)]
#[case(r#"{"policy":{},"policy_hash":"sha256:00"}"#, 400)]
#[case(r#"{"policy_hash":"sha256:00"}"#, 404)]
fn questions_that_make_no_sense_are_refused(#[case] body: &str, #[case] status: u16) {
    let server = Server::start();
    let answer = server.post("/v1/decide", body);
    assert_eq!(answer.status, status, "{answer:?}");
    assert!(!answer.code().is_empty());
}

#[test]
fn deep_json_is_refused() {
    let server = Server::start();
    let deep = format!(r#"{{"facts":{}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let answer = server.post("/v1/decide", &deep);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("nested deeper"), "{answer:?}");
}

#[test]
fn a_store_that_fails_holds_and_never_continues() {
    for kind in FailureKind::ALL {
        let failing = |store| {
            let store = FailingStore::new(store, None);
            store.fail_from_now_on(kind);
            Arc::new(store) as Arc<_>
        };
        let server = Server::with(|_| {}, failing);
        for body in [r#"{"facts":{}}"#, r#"{"policy_hash":"sha256:00"}"#, "{}"] {
            let answer = server.post("/v1/decide", body);
            assert_eq!(answer.status, 200, "{answer:?}");
            let decision = answer.json();
            assert_eq!(decision["verdict"], "hold");
            assert_eq!(decision["reason"], "policy_block");
        }
        // Whoever asks in another form is held in that form.
        let answer = server.post("/v1/decide", r#"{"facts":{},"form":"rerun","pr_number":7}"#);
        assert_eq!(answer.header("backstop-verdict"), Some("hold"), "{answer:?}");
        let held = answer.json();
        let told = (&held["decision"], &held["reasonCode"], &held["recommendedNextStep"]);
        assert_eq!(told, (&json!("HOLD"), &json!("LAWBOOK_BLOCK"), &json!("MANUAL_REVIEW")));
        assert_eq!(held["target"]["prNumber"], 7);
        assert_eq!(server.get("/readyz").status, 503);
        assert_eq!(server.get("/healthz").status, 200);
    }
}

/// A row may be on its way to the disk when the time is over; those behind it are not written at all.
/// How many holds wait to be recorded is bounded.
#[test]
fn what_was_answered_is_the_last_that_is_on_record_of_a_request() {
    let change = |options: &mut ServeOptions| {
        options.limits.decision_time = Duration::from_millis(300);
        options.limits.requests = 2;
    };
    let mut server = Server::with(change, |store| store);
    let run = server.post("/v1/runs", "{}").json()["run_id"].as_str().unwrap().to_owned();
    let ask = |id: &str| {
        let path = format!(
            "/api/github/prs/7/checks/stop-decision?owner=a&repo=b&currentJobAttempts=0\
             &totalPrAttempts=0&requestId={id}"
        );
        let answer = server.get(&path).json();
        assert_eq!(answer["requestId"], id);
        answer["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask("r-0"), "CONTINUE");
    let writes = server.block_writes(&run);
    assert_eq!(["r-1", "r-2", "r-3"].map(ask), ["HOLD"; 3]);
    server.wait(writes.end());
    // What goes on behind the answer is finished before the service ends.
    server.shutdown();
    let filter = AuditFilter { limit: 9, ..AuditFilter::default() };
    let rows = server.wait(server.store.audit_list(&filter)).unwrap();
    let told = rows.iter().map(|row| (row.row.request_id.as_str(), row.row.decision.as_str()));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("r-0", "CONTINUE"), ("r-1", "CONTINUE"), ("r-1", "HOLD"), ("r-2", "HOLD")]
    );
    let why = rows.last().unwrap().row.reasons.as_str();
    assert!(why.contains("can't be recorded in time"), "{why}");
}
