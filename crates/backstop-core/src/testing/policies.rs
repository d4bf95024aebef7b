//! Policies in the native form.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use super::conditions::{duration, leaf, nested, put};
use crate::document::Syntax;
use crate::policy::Policy;

/// A policy of a few rules, with settings that decisions depend on.
pub fn policy() -> impl Strategy<Value = Policy> {
    policy_document().prop_map(|document| loaded(&document))
}

/// A policy of rules on these conditions alone, each as a user writes it.
pub fn policy_of(when: impl Strategy<Value = Json> + 'static) -> impl Strategy<Value = Policy> {
    let rule = (when, verdict()).prop_map(|(when, then)| json!({ "when": when, "then": then }));
    prop::collection::vec(rule, 1..6)
        .prop_map(|rules| loaded(&json!({ "rule": rules, "limits": { "unlimited": true } })))
}

/// A policy as a document writes it.
pub fn policy_document() -> impl Strategy<Value = Json> {
    (
        prop::collection::vec(rule(), 0..7),
        prop::option::weighted(0.25, presets()),
        prop::option::weighted(0.3, select(vec!["severity", "priority"])),
        prop::option::weighted(0.1, Just(true)),
        prop::option::weighted(0.4, limits()),
        prop::option::weighted(0.3, counted()),
        prop::option::weighted(0.3, 1_u64..4),
        prop::option::weighted(0.2, Just("v1")),
    )
        .prop_map(|(rules, preset, order, first, limits, counted, recoveries, label)| {
            let mut document = json!({ "rule": rules, "reason": [{
                "code": OWN_REASON, "title": "Ours", "exit_code": 61, "diagnosis": "",
            }] });
            put(&mut document, "preset", preset);
            put(&mut document, "order", order);
            put(&mut document, "stop_on_first", first);
            put(&mut document, "limits", limits);
            put(&mut document, "label", label);
            put(&mut document, "progress", counted.map(|kinds| json!({ "count": kinds })));
            put(&mut document, "recover", recoveries.map(|most| json!({ "context_max": most })));
            document
        })
}

fn loaded(document: &Json) -> Policy {
    let loaded = Policy::load(document.to_string().as_bytes(), Syntax::Json);
    loaded.expect("the generator writes only policies that can be read").policy
}

fn rule() -> impl Strategy<Value = Json> {
    let reasons = vec!["stalled", "error", "max_iterations", "token_limit", OWN_REASON];
    (
        prop_oneof![3 => leaf(), 2 => nested(leaf())],
        verdict(),
        prop::option::weighted(0.2, select(reasons)),
        prop::option::weighted(0.3, select(vec![-5, 0, 20, 75, 80])),
        prop::option::weighted(0.1, Just("because")),
        prop::option::weighted(0.3, select(vec!["hold", "ignore", "fire"])),
        prop::option::weighted(0.15, Just(true)),
    )
        .prop_map(|(when, then, reason, priority, message, on_unknown, shadow)| {
            let mut rule = json!({ "when": when, "then": then });
            put(&mut rule, "reason", reason);
            put(&mut rule, "priority", priority);
            put(&mut rule, "message", message);
            put(&mut rule, "on_unknown", on_unknown);
            put(&mut rule, "shadow", shadow);
            rule
        })
}

fn verdict() -> impl Strategy<Value = &'static str> {
    select(vec![
        "warn", "retry", "recover", "recover", "ask", "hold", "stop", "stop", "kill", "fail",
        "complete",
    ])
}

fn presets() -> impl Strategy<Value = Json> {
    let names = vec!["default", "ralph", "pipeline", "rerun", "moderator"];
    prop_oneof![
        3 => select(names.clone()).prop_map(|name| json!(name)),
        1 => prop::collection::vec(select(names), 1..3).prop_map(|names| json!(names)),
    ]
}

fn limits() -> impl Strategy<Value = Json> {
    (
        prop::option::of(1_u64..5),
        prop::option::of(duration()),
        prop::option::of(1_u64..30),
        prop::option::of(select(vec![0.1, 0.5, 1.0])),
        prop::option::of(select(vec!["hold", "allow"])),
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(iterations, duration, tokens, cost, unmetered, unlimited)| {
            let mut limits = json!({});
            put(&mut limits, "iterations", iterations);
            put(&mut limits, "duration", duration);
            put(&mut limits, "tokens", tokens);
            put(&mut limits, "cost_usd", cost);
            put(&mut limits, "unmetered", unmetered);
            put(&mut limits, "unlimited", unlimited);
            limits
        })
}

fn counted() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(vec!["commit", "tree", "tests", "task", "other"]), 0..4)
}

/// The code of a reason that every generated policy declares.
const OWN_REASON: &str = "said_no";
