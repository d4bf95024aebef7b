//! Stop decisions over HTTP: what is answered, by which policy, and what the audit keeps of it.

mod stand_in;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use backstop_core::document::Syntax;
use backstop_core::policy::{Policy, Preset};
use backstop_core::time::Timestamp;
use backstop_server::rerun::{NAMELESS, NotMadeAgain, remake};
use backstop_store::testing::{FailingStore, Failure, FailureKind};
use backstop_store::{FailureSignal, HaltOrder, PullRequest};
use rstest::rstest;
use serde_json::json;
use stand_in::TestService;

const FINE: &str = "currentJobAttempts=0&totalPrAttempts=0";

#[rstest]
#[case::nothing_speaks_against(FINE, "CONTINUE", "", "PROMPT", "all_checks_passed")]
#[case::class(
    "currentJobAttempts=9&totalPrAttempts=9&failureClass=Lint%20Error:%20x",
    "HOLD",
    "NON_RETRIABLE",
    "FIX_REQUIRED",
    "blockOnFailureClasses"
)]
#[case::job(
    "currentJobAttempts=2&totalPrAttempts=9",
    "HOLD",
    "MAX_ATTEMPTS",
    "MANUAL_REVIEW",
    "maxRerunsPerJob"
)]
#[case::total(
    "currentJobAttempts=1&totalPrAttempts=5",
    "HOLD",
    "MAX_TOTAL_RERUNS",
    "MANUAL_REVIEW",
    "maxTotalRerunsPerPr"
)]
#[case::signals(
    "currentJobAttempts=1&totalPrAttempts=1&previousFailureSignals=a,,b,b,",
    "HOLD",
    "NO_SIGNAL_CHANGE",
    "MANUAL_REVIEW",
    "noSignalChangeThreshold"
)]
#[case::cooldown(
    "currentJobAttempts=1&totalPrAttempts=1&lastChangedAt=2200-01-01T00:00:00Z",
    "HOLD",
    "COOLDOWN_ACTIVE",
    "WAIT",
    "cooldownMinutes"
)]
#[case::waited_long(
    "currentJobAttempts=1&totalPrAttempts=1&firstFailureAt=2020-01-01T00:00:00%2B02:00",
    "KILL",
    "TIMEOUT",
    "MANUAL_REVIEW",
    "maxWaitMinutesForGreen"
)]
#[tokio::test]
async fn the_preset_decides_where_no_policy_is_in_force(
    #[case] query: &str,
    #[case] decision: &str,
    #[case] reason: &str,
    #[case] next: &str,
    #[case] rule: &str,
) {
    let test = TestService::start().await;
    let reply = test.ask(&format!("{query}&runId=42&requestId=r-1")).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    let answer = reply.json();
    assert_eq!(
        (reply.word("decision"), reply.word("reasonCode"), reply.word("recommendedNextStep")),
        (decision.to_owned(), reason.to_owned(), next.to_owned()),
    );
    assert_eq!(answer["evidence"]["appliedRules"], json!([rule]));
    assert_eq!(answer["target"], json!({"prNumber": 7, "runId": 42}));
    assert_eq!(answer["schemaVersion"], "1.0");
    assert_eq!(answer["deploymentEnv"], "staging");
    assert_eq!(answer["lawbookHash"], Policy::preset(Preset::Rerun).hash());
    assert_eq!(answer["evidence"]["thresholds"]["maxWaitMinutesForGreen"], 60);
    assert_eq!(
        (reply.word("requestId").as_str(), &reply.headers["x-request-id"]),
        ("r-1", &"r-1".parse().unwrap())
    );

    let rows = test.audit().await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0].row;
    assert_eq!(row.decision, decision);
    assert_eq!(row.reason_code.as_deref().unwrap_or_default(), reason);
    assert_eq!(row.recommended_next_step, next);
    assert_eq!(row.applied_rules.value(), json!([rule]));
    assert_eq!(row.reasons.value(), answer["reasons"]);
    assert_eq!(
        (row.resource_owner.as_deref(), row.resource_repo.as_deref()),
        (Some("acme"), Some("shop"))
    );
    assert_eq!((row.pr_number, row.workflow_run_id), (Some(7), Some(42)));
    assert_eq!((row.request_id.as_str(), row.actor.as_str()), ("r-1", NAMELESS));
    assert_eq!(row.lawbook_hash.as_deref(), answer["lawbookHash"].as_str());
    assert_eq!(row.created_at.to_string(), answer["metadata"]["evaluatedAt"].as_str().unwrap());
    assert_eq!(row.evidence.value()["thresholds"], answer["evidence"]["thresholds"]);

    let again = remake(&rows[0], Some(&Policy::preset(Preset::Rerun))).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), reply.text);
    let other = Policy::preset(Preset::Ralph);
    assert!(matches!(remake(&rows[0], Some(&other)), Err(NotMadeAgain::Policy { number: 1, .. })));
    assert!(matches!(remake(&rows[0], None), Err(NotMadeAgain::Policy { .. })));
}

#[tokio::test]
async fn the_narrowest_policy_in_force_decides() {
    let test = TestService::start().await;
    let global = r#"{"lawbookVersion": "v1.10", "stopRules": {"maxRerunsPerJob": 4}}"#;
    test.put_in_force("global", global, Syntax::Json).await;
    let own = "label = \"ours\"\n[[rule]]\nname = \"third\"\nreason = \"condition_met\"\nthen = \"stop\"\n\
               when = { type = \"job_attempts\", count = 3 }\n";
    test.put_in_force("repo:acme/shop", own, Syntax::Toml).await;

    let reply = test.ask("currentJobAttempts=3&totalPrAttempts=3").await;
    assert_eq!(
        (reply.word("decision"), reply.word("reasonCode")),
        ("KILL".into(), "LAWBOOK_BLOCK".into())
    );
    assert_eq!(reply.json()["metadata"]["lawbookVersion"], "ours");

    let elsewhere = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=other&";
    let reply = test.get(&format!("{elsewhere}currentJobAttempts=3&totalPrAttempts=3")).await;
    assert_eq!(reply.word("decision"), "CONTINUE");
    assert_eq!(reply.json()["metadata"]["lawbookVersion"], "v1.10");
    // The names of repositories are the same in any case.
    let shouted = "/api/github/prs/7/checks/stop-decision?owner=ACME&repo=Shop&";
    let reply = test.get(&format!("{shouted}currentJobAttempts=3&totalPrAttempts=3")).await;
    assert_eq!(reply.word("decision"), "KILL");
}

#[rstest]
#[case::lawbook_without_stop_rules(r#"{"lawbookVersion": "v2"}"#)]
#[case::policy_for_loops(r#"{"preset": "ralph"}"#)]
#[tokio::test]
async fn a_policy_that_says_nothing_of_reruns_leaves_them_to_the_preset(#[case] document: &str) {
    let test = TestService::start().await;
    test.put_in_force("global", document, Syntax::Json).await;
    let reply = test.ask("currentJobAttempts=2&totalPrAttempts=2").await;
    assert_eq!(
        (reply.word("decision"), reply.word("reasonCode")),
        ("HOLD".into(), "MAX_ATTEMPTS".into())
    );
}

#[rstest]
#[case::not_a_policy("sha256:1", r#"{"rule": [{"when": {"type": "no_such"}, "then": "stop"}]}"#)]
#[case::another_hash("sha256:2", r#"{"rule": []}"#)]
#[tokio::test]
async fn a_policy_that_cannot_be_loaded_holds(#[case] hash: &str, #[case] json: &str) {
    let test = TestService::start().await;
    test.put_stored("global", hash, json).await;
    let reply = test.ask(FINE).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_held(&reply, "the policy in force can't be had");
    let rows = test.audit().await;
    assert_eq!(
        (rows.len(), rows[0].row.decision.as_str(), &rows[0].row.lawbook_hash),
        (1, "HOLD", &None)
    );
    assert_eq!(serde_json::to_string(&remake(&rows[0], None).unwrap()).unwrap(), reply.text);
}

/// Whichever call of the store fails, the answer is HOLD and says why.
#[rstest]
#[tokio::test]
async fn a_store_that_fails_holds(
    #[values(1, 2, 3, 4, 5)] call: u64,
    #[values(true, false)] lasting: bool,
    #[values(FailureKind::Full, FailureKind::Write, FailureKind::Read)] kind: FailureKind,
) {
    // The service's own first look at the audit comes before.
    let failure = Some(Failure { call: call + 1, kind, lasting });
    let mut failing = None;
    let test = TestService::with(|store| {
        let store = Arc::new(FailingStore::new(store, failure));
        failing = Some(Arc::clone(&store));
        store
    })
    .await;
    while failing.as_ref().unwrap().calls() == 0 {
        tokio::task::yield_now().await;
    }
    let reply = test.ask(FINE).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_held(&reply, "No decision can be made");
    if lasting {
        assert_eq!(test.audit().await, []);
    } else {
        // What can be recorded is, if need be behind the answer.
        test.service.finish().await;
        let rows = test.audit().await;
        let told = rows.iter().map(|row| (row.row.decision.as_str(), row.row.reasons.value()));
        assert_eq!(told.collect::<Vec<_>>(), [("HOLD", reply.json()["reasons"].clone())]);
        assert_eq!(test.ask(FINE).await.word("decision"), "CONTINUE");
    }
}

#[rstest]
#[case::everything(&[], true)]
#[case::this_repository(&[("repo", "Acme/shop")], true)]
#[case::another_repository(&[("repo", "acme/other")], false)]
#[case::a_team(&[("team", "blue")], false)]
#[case::this_repository_and_a_team(&[("repo", "acme/shop"), ("team", "blue")], false)]
#[tokio::test]
async fn a_halt_order_holds_what_it_covers(#[case] labels: &[(&str, &str)], #[case] covered: bool) {
    let test = TestService::start().await;
    let labels: BTreeMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let order = HaltOrder {
        number: 0,
        labels,
        why: Some("the registry burns".to_owned()),
        by: "ops".to_owned(),
        at: Timestamp::default(),
    };
    test.store.halt_order(&order).await.unwrap();
    let reply = test.ask(FINE).await;
    match covered {
        true => assert_held(
            &reply,
            "halt order by ops is in force since 1970-01-01T00:00:00Z (the registry burns)",
        ),
        false => assert_eq!(reply.word("decision"), "CONTINUE"),
    }
    let rows = test.audit().await;
    let again = remake(&rows[0], Some(&Policy::preset(Preset::Rerun))).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), reply.text);
}

#[tokio::test]
async fn remembered_failures_of_the_job_that_failed_last_count() {
    let test = TestService::start().await;
    for (job, run, attempt, hash) in
        [("build", 1, 1, "x"), ("test", 1, 1, "a"), ("build", 1, 2, "y"), ("test", 2, 1, "a")]
    {
        test.store
            .signal_put(&FailureSignal {
                pull_request: PullRequest::new("acme", "shop", 7),
                job: job.to_owned(),
                workflow_run_id: run,
                attempt,
                hash: hash.to_owned(),
                class: None,
                at: Timestamp::default(),
                is_outdated: false,
            })
            .await
            .unwrap();
    }
    let decided = async |more: &str| test.ask(&format!("{FINE}&{more}")).await.word("reasonCode");
    // `test` failed twice in the same way, `build` in two ways.
    assert_eq!(decided("").await, "NO_SIGNAL_CHANGE");
    // A run names the job; what counts is how that one failed in all runs of the pull request.
    assert_eq!(decided("runId=1").await, "", "`build` failed there last");
    assert_eq!(decided("runId=2").await, "NO_SIGNAL_CHANGE");
    assert_eq!(decided("runId=3").await, "", "nothing is known of it");
    assert_eq!(decided("previousFailureSignals=").await, "");
    assert_eq!(decided("previousFailureSignals=,%20,").await, "");
    assert_eq!(decided("previousFailureSignals=q,q").await, "NO_SIGNAL_CHANGE");
    let evidence = test.audit().await[0].row.evidence.value();
    assert_eq!(
        (&evidence["facts"]["failure_signals"], &evidence["signals"]),
        (&json!(["a", "a"]), &json!("remembered"))
    );
}

#[tokio::test]
async fn a_request_has_an_id() {
    let test = TestService::start().await;
    let ask = async |header: Option<&str>, query: &str| {
        let uri =
            format!("/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop&{FINE}{query}");
        let mut request = Request::get(uri);
        if let Some(header) = header {
            request = request.header("x-request-id", header);
        }
        let reply = test.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.headers["x-request-id"], reply.word("requestId").as_str());
        reply.word("requestId")
    };
    assert_eq!(ask(Some("from-header"), "").await, "from-header");
    assert_eq!(ask(Some("from-header"), "&requestId=from-query").await, "from-query");
    let (one, other) = (ask(None, "").await, ask(Some("two words"), "").await);
    assert!(one.starts_with("req-") && other.starts_with("req-") && one != other, "{one} {other}");
}

fn assert_held(reply: &stand_in::Reply, why: &str) {
    let answer = reply.json();
    assert_eq!(
        (&answer["decision"], &answer["reasonCode"], &answer["recommendedNextStep"]),
        (&json!("HOLD"), &json!("LAWBOOK_BLOCK"), &json!("MANUAL_REVIEW")),
    );
    let told = answer["reasons"][0].as_str().expect("a reason");
    assert!(told.contains(why), "{told}");
}
