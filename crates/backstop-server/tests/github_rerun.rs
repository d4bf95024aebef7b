//! The guarded re-run: nothing is touched before the decision allows it and is on record.

mod stand_in;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use backstop_core::document::Syntax;
use backstop_runner::clock::wall_time;
use backstop_server::ServeOptions;
use backstop_server::github::Github;
use backstop_store::testing::{BlockedWrites, FailingStore, Failure, FailureKind, sample};
use backstop_store::{FailureSignal, PullRequest};
use rstest::rstest;
use serde_json::{Value as Json, json};
use stand_in::TestService;
use stand_in::github::{HEAD, StandIn};

fn body(more: &Json) -> String {
    let mut body = json!({"owner": "acme", "repo": "shop", "prNumber": 7, "mode": "FAILED_ONLY"});
    for (key, value) in more.as_object().expect("an object") {
        body[key] = value.clone();
    }
    body.to_string()
}

async fn asked(test: &TestService, more: Json) -> Json {
    let reply = test.post("/v1/github/rerun", &body(&more)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    assert_eq!(reply.headers["x-request-id"], reply.word("requestId").as_str());
    reply.json()
}

#[tokio::test]
async fn failed_jobs_are_run_again() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET"), ("build", "success", "")]);
    let test = TestService::beside(&github).await;
    let answer = asked(&test, json!({"runId": 40, "requestId": "r-9"})).await;
    assert_eq!(
        (&answer["decision"], &answer["stopDecision"]),
        (&json!("RERUN_TRIGGERED"), &json!("CONTINUE"))
    );
    assert_eq!(
        answer["jobs"],
        json!([
            {"jobName": "build", "priorConclusion": "success", "action": "SKIP", "attemptNumber": 1, "reasonCode": "NOT_FAILED"},
            {"jobName": "unit", "priorConclusion": "failure", "action": "RERUN", "attemptNumber": 1, "reasonCode": null},
        ])
    );
    let metadata = &answer["metadata"];
    assert_eq!(
        (
            &metadata["totalJobs"],
            &metadata["rerunJobs"],
            &metadata["blockedJobs"],
            &metadata["skippedJobs"]
        ),
        (&json!(2), &json!(1), &json!(0), &json!(1)),
    );
    assert!(metadata["evaluatedAt"].is_string());
    assert_eq!(answer["target"], json!({"prNumber": 7, "runId": 40}));
    assert_eq!(github.orders(), ["POST /repos/acme/shop/actions/runs/40/rerun-failed-jobs"]);
    let rows = test.audit().await;
    assert_eq!(
        (rows.len(), rows[0].row.decision.as_str(), rows[0].row.request_id.as_str()),
        (1, "CONTINUE", "r-9")
    );
    // It runs now, so there is nothing to do.
    let answer = asked(&test, json!({"runId": 40})).await;
    assert_eq!(
        (&answer["decision"], &answer["jobs"][1]["reasonCode"]),
        (&json!("NOOP"), &json!("RUN_IN_PROGRESS"))
    );
    assert_eq!(github.orders().len(), 1);
}

#[rstest]
#[case::class(1, "error[E0308]: no", "NON_RETRIABLE")]
#[case::attempts(3, "ECONNRESET", "MAX_ATTEMPTS")]
#[tokio::test]
async fn a_hold_touches_no_job(#[case] attempt: u64, #[case] log: &str, #[case] reason: &str) {
    let github = StandIn::start().await;
    github.add_run(40, attempt, &[("unit", "failure", log), ("build", "success", "")]);
    let test = TestService::beside(&github).await;
    for mode in ["FAILED_ONLY", "ALL_JOBS"] {
        let answer = asked(&test, json!({"mode": mode, "maxAttempts": 5})).await;
        assert_eq!(
            (&answer["decision"], &answer["stopDecision"]),
            (&json!("BLOCKED"), &json!("HOLD"))
        );
        assert_eq!(
            (&answer["reasonCode"], &answer["jobs"][1]["reasonCode"]),
            (&json!(reason), &json!(reason))
        );
        assert_eq!(answer["jobs"][1]["action"], "BLOCKED");
    }
    assert_eq!(github.orders(), Vec::<String>::new());
    assert_eq!(test.audit().await.len(), 2);
}

#[rstest]
#[case::a_run(json!({"runId": 40}))]
#[case::all_of_the_head(json!({}))]
#[tokio::test]
async fn what_has_failed_for_too_long_is_not_run_again(#[case] which: Json) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    let of = PullRequest::new("acme", "shop", 7);
    let signal = FailureSignal {
        pull_request: of,
        job: "CI / unit".to_owned(),
        workflow_run_id: 40,
        attempt: 1,
        hash: "a1".to_owned(),
        class: Some("infra transient".to_owned()),
        at: wall_time().minus(Duration::from_secs(2 * 3600)),
        is_outdated: false,
    };
    test.store.signal_put(&signal).await.expect("the store can be written");
    let answer = asked(&test, which).await;
    assert_eq!(
        (&answer["decision"], &answer["stopDecision"], &answer["reasonCode"]),
        (&json!("BLOCKED"), &json!("KILL"), &json!("TIMEOUT"))
    );
    assert_eq!(github.orders(), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_failed_is_nothing_to_do() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "success", "")]);
    let test = TestService::beside(&github).await;
    assert_eq!(asked(&test, json!({})).await["decision"], "NOOP");
    assert_eq!(asked(&test, json!({"mode": "ALL_JOBS"})).await["decision"], "RERUN_TRIGGERED");
    assert_eq!(github.orders(), ["POST /repos/acme/shop/actions/runs/40/rerun"]);
}

/// What failed last in the pull request may be nothing that is run again here.
#[rstest]
#[case::a_run(json!({"runId": 40, "maxAttempts": 5}))]
#[case::all_of_the_head(json!({"maxAttempts": 5}))]
#[tokio::test]
async fn what_fails_in_the_same_way_again_is_held_whatever_else_failed_since(#[case] which: Json) {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let lawbook = r#"{"stopRules": {"maxRerunsPerJob": 3, "noSignalChangeThreshold": 2}}"#;
    test.put_in_force("global", lawbook, Syntax::Json).await;
    let of_repository = json!({"id": 1, "full_name": "acme/shop"});
    for attempt in [1, 2] {
        github.add_run(40, attempt, &[("unit", "failure", "ECONNRESET")]);
        let run = json!({
            "id": 40, "run_attempt": attempt, "status": "completed", "conclusion": "failure",
            "head_sha": HEAD, "pull_requests": [{"number": 7}],
        });
        let told = json!({"action": "completed", "workflow_run": run, "repository": of_repository});
        let told = test.deliver("workflow_run", &format!("d-{attempt}"), &told.to_string()).await;
        assert_eq!(told.word("status"), "decided", "{}", told.text);
    }
    let check = json!({
        "id": 9, "name": "ci/other", "completed_at": "2026-05-04T10:00:00Z", "head_sha": HEAD,
        "conclusion": "failure", "check_suite": {"id": 77}, "app": {"slug": "circleci"},
        "pull_requests": [{"number": 7}],
    });
    let told = json!({"action": "completed", "check_run": check, "repository": of_repository});
    let told = test.deliver("check_run", "d-3", &told.to_string()).await;
    assert_eq!(told.word("status"), "decided", "{}", told.text);
    let answer = asked(&test, which).await;
    assert_eq!(
        (&answer["stopDecision"], &answer["reasonCode"]),
        (&json!("HOLD"), &json!("NO_SIGNAL_CHANGE"))
    );
}

#[tokio::test]
async fn the_cap_of_the_request_counts_too() {
    let github = StandIn::start().await;
    github.add_run(40, 2, &[("unit", "failure", "ECONNRESET")]);
    github.add_run(41, 1, &[("other", "failure", "ETIMEDOUT")]);
    let test = TestService::beside(&github).await;
    let answer = asked(&test, json!({"maxAttempts": 1})).await;
    assert_eq!(answer["decision"], "RERUN_TRIGGERED");
    assert_eq!(
        answer["evidence"]["attemptCounts"],
        json!({"currentJobAttempts": 1, "totalPrAttempts": 1})
    );
    assert_eq!(
        (&answer["jobs"][0]["action"], &answer["jobs"][1]["action"]),
        (&json!("RERUN"), &json!("BLOCKED"))
    );
    assert_eq!(answer["jobs"][1]["reasonCode"], "MAX_ATTEMPTS");
    assert_eq!(github.orders(), ["POST /repos/acme/shop/actions/runs/41/rerun-failed-jobs"]);
}

#[rstest]
#[case(json!({"mode": "SOME"}), "SOME")]
#[case(json!({"maxAttempts": 0}), "maxAttempts")]
#[case(json!({"maxAttempts": 6}), "maxAttempts")]
#[case(json!({"prNumber": 0}), "prNumber")]
#[case(json!({"prNumber": -1}), "prNumber")]
#[case(json!({"runId": 0}), "runId")]
#[case(json!({"owner": "../x"}), "owner")]
#[case(json!({"repo": ""}), "repo")]
#[case(json!({"requestId": "a b"}), "requestId")]
#[case(json!({"force": true}), "force")]
#[case(json!({"runId": 66}), "runId")]
#[tokio::test]
async fn what_is_wrong_is_named_and_touches_nothing(#[case] more: Json, #[case] named: &str) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    github.add_run(66, 1, &[("unit", "failure", "ECONNRESET")]);
    if let Some(run) = github.world().runs.get_mut(&66) {
        run["head_sha"] = HEAD.replace('3', "4").into();
        run["pull_requests"] = json!([]);
    }
    let test = TestService::beside(&github).await;
    let reply = test.post("/v1/github/rerun", &body(&more)).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text);
    let told = reply.word("error");
    assert!(told.contains(named) || named == "prNumber" && told.contains("-1"), "{told}");
    assert!(reply.headers.contains_key("x-request-id"));
    assert!(github.orders().is_empty() && test.audit().await.is_empty());
}

#[tokio::test]
async fn a_field_that_is_missing_or_can_not_be_read_is_named() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    for name in ["owner", "repo", "prNumber", "mode"] {
        let mut request: Json = serde_json::from_str(&body(&json!({}))).unwrap();
        request.as_object_mut().unwrap().remove(name);
        let reply = test.post("/v1/github/rerun", &request.to_string()).await;
        assert_eq!((reply.status, reply.word("field")), (StatusCode::BAD_REQUEST, name.to_owned()));
    }
    for (more, name) in [
        (json!({"mode": "SOME"}), "mode"),
        (json!({"prNumber": 7.5}), "prNumber"),
        (json!({"runId": "40"}), "runId"),
        (json!({"force": true}), "force"),
    ] {
        let reply = test.post("/v1/github/rerun", &body(&more)).await;
        assert_eq!((reply.status, reply.word("field")), (StatusCode::BAD_REQUEST, name.to_owned()));
    }
    // However a whole number is written, it is one.
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    let written =
        r#"{"owner":"acme","repo":"shop","prNumber":7.0,"runId":4e1,"mode":"FAILED_ONLY"}"#;
    let reply = test.post("/v1/github/rerun", written).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
}

#[rstest]
#[case::nothing(None, StatusCode::UNSUPPORTED_MEDIA_TYPE)]
#[case::a_form(Some("text/plain"), StatusCode::UNSUPPORTED_MEDIA_TYPE)]
#[case::json(Some("Application/JSON; charset=utf-8"), StatusCode::OK)]
#[tokio::test]
async fn only_what_says_that_it_is_json_is_taken(
    #[case] kind: Option<&str>,
    #[case] status: StatusCode,
) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    let test = TestService::beside(&github).await;
    let mut request = Request::post("/v1/github/rerun");
    if let Some(kind) = kind {
        request = request.header("content-type", kind);
    }
    let request = request.body(Body::from(body(&json!({"runId": 40})))).expect("a request");
    let reply = test.send(request).await;
    assert_eq!(reply.status, status, "{}", reply.text);
    assert_eq!(github.orders().len(), usize::from(status == StatusCode::OK));
    assert!(reply.headers.contains_key("x-request-id"));
}

#[tokio::test]
async fn a_number_that_is_too_large_is_told_its_range() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    let reply = test.post("/v1/github/rerun", &body(&json!({"prNumber": 1_u64 << 60}))).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.word("error"), "prNumber must be from 1 to 9007199254740991");
}

#[tokio::test]
async fn without_a_token_nothing_is_run_again() {
    let test = TestService::start().await;
    let reply = test.post("/v1/github/rerun", &body(&json!({}))).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::CONFLICT, "NO_GITHUB_TOKEN")
    );
}

/// Whichever call of the store fails, no job is touched without a decision on record.
#[rstest]
#[tokio::test]
async fn a_store_that_fails_lets_nothing_run_unrecorded(
    #[values(1, 2, 3, 4, 5, 6, 7, 8)] call: u64,
    #[values(true, false)] lasting: bool,
) {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    let failure = Some(Failure { call, kind: FailureKind::Write, lasting });
    let known = Github { secret: None, client: Some(github.client()) };
    let test =
        TestService::knowing(known, |store| Arc::new(FailingStore::new(store, failure))).await;
    let reply = test.post("/v1/github/rerun", &body(&json!({"runId": 40}))).await;
    if reply.word("decision") == "RERUN_TRIGGERED" {
        // What failed was asked for once more.
        assert!(!lasting, "{}", reply.text);
        assert_eq!(test.audit().await[0].row.decision, "CONTINUE");
        return;
    }
    let held = reply.word("decision") == "BLOCKED" && reply.word("reasonCode") == "LAWBOOK_BLOCK";
    assert!(held, "{}", reply.text);
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.json()["target"], json!({"prNumber": 7, "runId": 40}));
    assert_eq!(github.orders(), Vec::<String>::new());
    if !lasting {
        test.service.finish().await;
        let rows = test.audit().await;
        let last = &rows.last().unwrap().row;
        assert_eq!((last.decision.as_str(), last.workflow_run_id), ("HOLD", Some(40)));
        assert_eq!(last.request_id, reply.word("requestId"));
        assert_eq!(last.reasons.value(), reply.json()["reasons"]);
    }
}

/// Whoever asked is told in time, and what becomes possible later runs nothing again.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_holds_in_time() {
    let github = StandIn::start().await;
    github.add_run(40, 1, &[("unit", "failure", "ECONNRESET")]);
    let known = Github { secret: None, client: Some(github.client()) };
    let mut options = ServeOptions { github: known, ..ServeOptions::default() };
    options.limits.decision_time = Duration::from_millis(300);
    let test = TestService::under(&options, |store| store).await;
    test.store.policy_put(&sample::policy()).await.unwrap();
    let run = sample::run(1);
    test.store.run_create(&run).await.unwrap();
    let writes = BlockedWrites::begin(Arc::clone(&test.store), run.id).await;
    let reply = test.post("/v1/github/rerun", &body(&json!({"runId": 40}))).await;
    let told = (reply.status, reply.word("decision"), reply.word("stopDecision"));
    assert_eq!(told, (StatusCode::OK, "BLOCKED".to_owned(), "HOLD".to_owned()), "{}", reply.text);
    writes.end().await;
    test.service.finish().await;
    let rows = test.audit().await;
    assert_eq!(rows.iter().map(|row| row.row.decision.as_str()).collect::<Vec<_>>(), ["HOLD"]);
    assert_eq!(github.orders(), Vec::<String>::new());
}

#[tokio::test]
async fn what_github_refuses_is_told() {
    let github = StandIn::start().await;
    let test = TestService::beside(&github).await;
    // What it does not know is the mistake of who asks.
    for (wrong, place) in
        [(json!({"runId": 12345}), "/runs/12345"), (json!({"prNumber": 8}), "/pulls/8")]
    {
        let reply = test.post("/v1/github/rerun", &body(&wrong)).await;
        assert_eq!(
            (reply.status, reply.word("code").as_str()),
            (StatusCode::NOT_FOUND, "NOT_FOUND")
        );
        let error = reply.word("error");
        assert!(error.contains("404") && error.contains(place), "{error}");
    }
    github.world().refusals.push_back((422, Vec::new()));
    let reply = test.post("/v1/github/rerun", &body(&json!({}))).await;
    assert_eq!(
        (reply.status, reply.word("code").as_str()),
        (StatusCode::BAD_GATEWAY, "GITHUB_FAULT")
    );
    assert!(reply.word("error").contains("422"), "{}", reply.text);
}
