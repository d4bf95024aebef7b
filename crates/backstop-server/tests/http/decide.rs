//! Stateless decisions.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::sync::Arc;

use crate::support::Server;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::facts::{Facts, GivenFacts};
use backstop_core::policy::{Policy, Preset};
use backstop_store::testing::{FailingStore, Failure, FailureKind};
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
        let failure = Failure { call: 1, kind, lasting: true };
        let failing = |store| Arc::new(FailingStore::new(store, Some(failure))) as Arc<_>;
        let server = Server::with(|_| {}, failing);
        for body in [r#"{"facts":{}}"#, r#"{"policy_hash":"sha256:00"}"#, "{}"] {
            let answer = server.post("/v1/decide", body);
            assert_eq!(answer.status, 200, "{answer:?}");
            let decision = answer.json();
            assert_eq!(decision["verdict"], "hold");
            assert_eq!(decision["reason"], "policy_block");
        }
        assert_eq!(server.get("/readyz").status, 503);
        assert_eq!(server.get("/healthz").status, 200);
    }
}
