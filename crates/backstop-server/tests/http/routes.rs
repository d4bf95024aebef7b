//! What each route answers, with and without sense in the question.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use crate::support::{Server, connect, read_answer, request};
use backstop_core::id::RunId;
use backstop_runner::view::Seen;
use backstop_store::audit::{JsonText, NewAuditRow};
use backstop_store::testing::{FailingStore, Failure, FailureKind};
use serde_json::{Value as Json, json};

const ASKING: &str = r#"{"rule":[{"when":{"type":"consecutive_fails","count":1},"then":"hold","reason":"stalled"}]}"#;

fn begin(server: &Server, body: &Json) -> String {
    let answer = server.post("/v1/runs", &body.to_string());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

fn statuses(server: &Server, method: &str, cases: &[(&str, &str, u16)]) {
    for (path, body, status) in cases {
        let answer = server.ask(method, path, &[("content-type", "application/json")], body);
        assert_eq!(answer.status, *status, "{method} {path} {body}: {answer:?}");
        if *status >= 400 {
            assert!(!answer.code().is_empty());
        }
    }
}

#[test]
fn runs_are_begun_listed_and_shown() {
    let server = Server::start();
    let labels = |team: &str| json!({ "labels": { "team": team }, "command": ["make", "x"] });
    let mut runs: Vec<_> =
        (0..5).map(|n| begin(&server, &labels(if n < 2 { "blue" } else { "red" }))).collect();
    runs.reverse();
    let (mut seen, mut path) = (Vec::new(), "/v1/runs?limit=2".to_owned());
    loop {
        let page = server.get(&path).json();
        let names = page["runs"].as_array().unwrap().iter();
        seen.extend(names.map(|run| run["run_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/runs?limit=2&cursor={cursor}");
    }
    assert_eq!(seen.len(), 5);
    assert_eq!(
        seen.iter().collect::<std::collections::BTreeSet<_>>(),
        runs.iter().collect::<std::collections::BTreeSet<_>>()
    );
    let count = |query: &str| {
        let page = server.get(&format!("/v1/runs?{query}"));
        page.json()["runs"].as_array().unwrap_or_else(|| panic!("{page:?}")).len()
    };
    assert_eq!(count("label=team=blue"), 2);
    assert_eq!(count("label=team=blue&label=team2=x"), 0);
    assert_eq!(count("status=running&status=held"), 5);
    assert_eq!(count("status=held"), 0);
    assert_eq!(count(&format!("prefix={}", runs[0])), 1);
    assert_eq!(count("cwd=/nowhere"), 0);
    // The same object as the command shows.
    let id: RunId = runs[0].parse().unwrap();
    let shown = server.get(&format!("/v1/runs/{id}")).json();
    let seen = server.wait(Seen::look(&*server.store, &server.home, id)).unwrap().to_json(None);
    let steady = |object: &Json| (object["run_id"].clone(), object["facts"]["units"].clone());
    assert_eq!(steady(&shown), steady(&seen));
    assert_eq!(
        shown.as_object().unwrap().keys().collect::<Vec<_>>(),
        seen.as_object().unwrap().keys().collect::<Vec<_>>()
    );
    statuses(
        &server,
        "GET",
        &[
            ("/v1/runs?limit=0", "", 400),
            ("/v1/runs?limit=1000000", "", 400),
            ("/v1/runs?status=asleep", "", 400),
            ("/v1/runs?label=x", "", 400),
            ("/v1/runs?cursor=x", "", 400),
            ("/v1/runs?prefix=%00", "", 400),
            ("/v1/runs?sort=up", "", 400),
            ("/v1/runs/latest", "", 200),
            ("/v1/runs/zzzzzzzzzzzzz", "", 404),
            ("/v1/runs/1", "", 409),
            ("/v1/runs/%FF", "", 400),
            ("/v1/runs/latest?x=1", "", 400),
            ("/", "", 404),
        ],
    );
    statuses(
        &server,
        "POST",
        &[
            ("/v1/runs", "", 201),
            ("/v1/runs", "{}", 201),
            ("/v1/runs", r#"{"total_units":3}"#, 201),
            ("/v1/runs", "[]", 400),
            ("/v1/runs", r#"{"labels":{"":"x"}}"#, 400),
            ("/v1/runs", r#"{"labels":[]}"#, 400),
            ("/v1/runs", r#"{"total_units":-1}"#, 400),
            ("/v1/runs", r#"{"command":"make"}"#, 400),
            ("/v1/runs", r#"{"command":["a\u0000"]}"#, 400),
            ("/v1/runs", r#"{"cwd":"/"}"#, 400),
            ("/v1/runs", r#"{"policy":{"notify":{"command":["x"]}}}"#, 403),
            ("/v1/runs", r#"{"policy":{"nonsense":1}}"#, 400),
            ("/v1/runs", r#"{"policy_hash":"x"}"#, 400),
            (
                "/v1/runs",
                r#"{"policy_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}"#,
                404,
            ),
        ],
    );
}

#[test]
fn runs_are_stopped_released_and_answered() {
    let server = Server::start();
    let policy: Json = serde_json::from_str(ASKING).unwrap();
    let run = begin(&server, &json!({ "policy": policy }));
    let at = |what: &str| format!("/v1/runs/{run}/{what}");
    let failed = r#"{"type":"unit","id":"a","status":"failed"}"#;
    statuses(
        &server,
        "POST",
        &[
            (&at("release"), "", 409),
            (&at("answer"), r#"{"answer":"continue"}"#, 409),
            (&at("answer"), r#"{"answer":"fix"}"#, 422),
            (&at("answer"), r#"{"answer":"maybe"}"#, 400),
            (&at("answer"), "", 400),
            (&at("answer"), "{}", 400),
            (&at("answer"), r#"{"answer":"go"}"#, 409),
            (&at("events"), failed, 200),
            (&at("release"), r#"{"why":"agreed","by":"ann"}"#, 200),
            (&at("release"), r#"{"why":1}"#, 400),
            (&at("stop"), r#"{"now":"yes"}"#, 400),
            (&at("stop"), r#"{"now":true,"by":"ann\n"}"#, 400),
            (&at("stop"), r#"{"now":true,"by":"ann"}"#, 200),
            (&at("stop"), "", 409),
            ("/v1/runs/zzzzzzzzzzzzz/stop", "", 404),
        ],
    );
    let journal = server.get(&at("events")).body;
    for part in ["\"released\"", "agreed", "\"signal\"", "ann"] {
        assert!(journal.contains(part), "{part}: {journal}");
    }
}

#[test]
fn one_switch_halts_what_it_covers() {
    let server = Server::start();
    let (blue, red) =
        (json!({ "labels": { "team": "blue" } }), json!({ "labels": { "team": "red" } }));
    let (first, second) = (begin(&server, &blue), begin(&server, &red));
    let order = server.post("/v1/halt", r#"{"labels":{"team":"blue"},"why":"too dear"}"#);
    assert_eq!(order.status, 201, "{order:?}");
    assert_eq!(server.get("/v1/halt").json().as_array().unwrap().len(), 1);
    let progress = r#"{"type":"progress","kind":"other"}"#;
    let verdict = |run: &str| {
        server.post(&format!("/v1/runs/{run}/events"), progress).json()["verdict"].clone()
    };
    assert_eq!(verdict(&second), "continue");
    assert_eq!(server.post("/v1/runs", &blue.to_string()).status, 409);
    let halted = verdict(&first);
    assert!(halted == "kill" || halted == "stop", "{halted}");
    statuses(
        &server,
        "POST",
        &[("/v1/halt", r#"{"labels":1}"#, 400), ("/v1/release", r#"{"all":true}"#, 400)],
    );
    assert_eq!(server.post("/v1/release", r#"{"labels":{}}"#).json()["released"], 0);
    assert_eq!(server.post("/v1/release", "").json()["released"], 1);
    assert_eq!(server.post("/v1/runs", &blue.to_string()).status, 201);
}

#[test]
fn policies_are_stored_and_put_in_force() {
    let server = Server::start();
    let put = |kind: &str, text: &str| {
        server.ask("POST", "/v1/policies", &[("content-type", kind)], text)
    };
    let one = put("application/toml", "[limits]\niterations = 7\n");
    assert_eq!(one.status, 201, "{one:?}");
    let hash = one.json()["hash"].as_str().unwrap().to_owned();
    let same = put("application/json", r#"{"limits":{"iterations":7}}"#);
    assert_eq!((same.status, same.json()), (200, one.json()), "who put it first, and when");
    assert_eq!(put("Application/YAML; charset=utf-8", "limits: {iterations: 8}").status, 201);
    let refused =
        put("application/toml", "[verify]\ncommand = \"rm -rf /\"\n[notify]\ncommand = [\"x\"]\n");
    assert_eq!((refused.status, refused.code().as_str()), (403, "NOT_DATA_ONLY"));
    assert_eq!(refused.json()["findings"].as_array().unwrap().len(), 2);
    assert_eq!(put("application/toml", "[limit]\n").status, 400);
    let nul = r#"{"lawbookVersion":"a\u0000b","stopRules":{}}"#;
    assert_eq!(put("application/json", nul).status, 400);
    assert_eq!(server.post("/v1/runs", &format!(r#"{{"policy":{nul}}}"#)).status, 400);
    assert_eq!(server.get("/v1/policies?cursor=%ff").json()["detail"], "`cursor` is not UTF-8");
    assert_eq!(put("text/plain", "").status, 415);
    let listed = server.get("/v1/policies").json();
    assert_eq!(listed["policies"].as_array().unwrap().len(), 2);
    let page = server.get("/v1/policies?limit=1").json();
    let next = page["next_cursor"].as_str().unwrap();
    let rest = server.get(&format!("/v1/policies?cursor={next}")).json();
    assert_eq!(rest["policies"].as_array().unwrap().len(), 1);
    let whole = server.get(&format!("/v1/policies/{hash}")).json();
    assert_eq!(whole["source"], "[limits]\niterations = 7\n");
    let active = |scope: &str, hash: &str| {
        let body = json!({ "policy_hash": hash }).to_string();
        let path = format!("/v1/policies/active/{scope}");
        server.ask("PUT", &path, &[("content-type", "application/json")], &body)
    };
    assert_eq!(active("global", &hash).status, 200);
    assert_eq!(active("repo:Me%2FApp", &hash).json()["scope"], "repo:me/app");
    for nowhere in ["galaxy", "repo:a%20b%2Fapp", "repo:me%2F..", "repo:me%2Fapp%2Fmore"] {
        assert_eq!(active(nowhere, &hash).status, 400, "{nowhere}");
    }
    assert_eq!(active("global", &format!("sha256:{}", "0".repeat(64))).status, 404);
    // It counts at once, for questions and for new runs.
    let decided = server.post("/v1/decide", r#"{"facts":{"iterations":7}}"#).json();
    assert_eq!(
        (&decided["reason"], &decided["policy_hash"]),
        (&json!("max_iterations"), &json!(hash))
    );
    assert_eq!(server.post("/v1/runs", "").json()["policy_hash"], hash.as_str());
    let by_hash = json!({ "policy_hash": hash, "facts": { "iterations": 6 } });
    assert_eq!(server.post("/v1/decide", &by_hash.to_string()).json()["verdict"], "continue");
    assert_eq!(server.get("/v1/policies/active").json().as_array().unwrap().len(), 2);
    statuses(
        &server,
        "DELETE",
        &[
            ("/v1/policies/active/global", "", 204),
            ("/v1/policies/active/global", "", 404),
            ("/v1/policies/active/x", "", 400),
        ],
    );
    assert_eq!(
        server.post("/v1/decide", r#"{"facts":{"iterations":7}}"#).json()["verdict"],
        "continue"
    );
    assert_eq!(server.get("/v1/policies/history").json().as_array().unwrap().len(), 3);
    assert_eq!(server.get("/v1/policies/history?scope=global").json().as_array().unwrap().len(), 2);
    let whole = server.get("/v1/policies/history");
    assert_eq!(whole.header("backstop-next-cursor"), None);
    let first = server.get("/v1/policies/history?limit=2");
    let cursor = first.header("backstop-next-cursor").unwrap();
    // What is put in force meanwhile does not shift the pages.
    assert_eq!(active("label:team=late", &hash).status, 200);
    let second = server.get(&format!("/v1/policies/history?limit=2&cursor={cursor}"));
    assert_eq!(second.header("backstop-next-cursor"), None);
    let pages = [first.json(), second.json()].map(|page| page.as_array().unwrap().clone());
    assert_eq!(serde_json::Value::from(pages.concat()), whole.json());
    statuses(
        &server,
        "GET",
        &[
            ("/v1/policies/sha256:00", "", 404),
            ("/v1/policies?cursor=x", "", 400),
            ("/v1/policies/history?scope=x", "", 400),
            ("/v1/policies/active?x=1", "", 400),
        ],
    );
}

#[test]
fn the_audit_is_read_and_counted() {
    let server = Server::start();
    let row = |number: u64, reason: &str, run: Option<RunId>| NewAuditRow {
        resource_owner: Some("me".to_owned()),
        resource_repo: Some("app".to_owned()),
        pr_number: Some(number),
        request_id: format!("r{number}"),
        decision: "HOLD".to_owned(),
        reason_code: Some(reason.to_owned()),
        reasons: JsonText::of(&["why"]),
        recommended_next_step: "WAIT".to_owned(),
        created_at: backstop_runner::clock::wall_time(),
        actor: "a test".to_owned(),
        run,
        ..NewAuditRow::default()
    };
    // The first figures are where counting begins.
    assert_eq!(server.get("/metrics").status, 200);
    let run = RunId::new(1, 1);
    let rows: Vec<_> = (1..=5).map(|n| row(n, "stalled", (n > 3).then_some(run))).collect();
    server.wait(server.store.audit_append(&rows)).unwrap();
    let numbers = |query: &str| {
        let page = server.get(&format!("/v1/audit?{query}")).json();
        let rows = page["rows"].as_array().unwrap_or_else(|| panic!("{page}"));
        (
            rows.iter().map(|row| row["number"].as_u64().unwrap()).collect::<Vec<_>>(),
            page["next_cursor"].clone(),
        )
    };
    assert_eq!(numbers("limit=2"), (vec![5, 4], json!("4")));
    for name in ["stalled", "STALLED", "Stagnation", "no-progress"] {
        let query = format!("limit=2&reason_code={name}");
        assert_eq!(numbers(&query), (vec![5, 4], json!("4")), "{name}");
    }
    assert_eq!(numbers("reason_code=stall"), (vec![], Json::Null));
    assert_eq!(numbers("limit=2&cursor=4"), (vec![3, 2], json!("2")));
    assert_eq!(numbers("order=oldest&cursor=3").0, [4, 5]);
    for repository in ["owner=ME&repo=App", "repo=Me/App", "owner=me&repo=me%2Fapp"] {
        assert_eq!(numbers(&format!("{repository}&pr_number=2")).0, [2], "{repository}");
    }
    assert_eq!(numbers("decision=hold").0.len(), 5);
    assert_eq!(numbers(&format!("run={run}")).0, [5, 4]);
    assert!(numbers("decision=KILL").0.is_empty());
    assert_eq!(server.get("/v1/audit/3").json()["request_id"], "r3");
    assert_eq!(server.get("/v1/analytics").json()[0]["decision_count"], 5);
    let figures = server.get("/metrics").body;
    assert!(
        figures.contains(r#"backstop_halts_total{reason="stalled",family="resource_limit"} 2"#),
        "{figures}"
    );
    assert!(figures.contains("backstop_audit_rows 5"), "{figures}");
    statuses(
        &server,
        "GET",
        &[
            ("/v1/audit/6", "", 404),
            ("/v1/audit/0", "", 404),
            ("/v1/audit/x", "", 404),
            ("/v1/audit/99999999999999999999999", "", 404),
            ("/v1/audit?order=up", "", 400),
            ("/v1/audit?run=x", "", 400),
            ("/v1/audit?pr_number=-1", "", 400),
            ("/v1/audit?owner=you&repo=me/app", "", 400),
            ("/v1/audit?repo=me/app/more", "", 400),
            ("/v1/audit?repo=/app", "", 400),
            ("/v1/audit?repo=me/", "", 400),
            ("/v1/audit?cursor=18446744073709551615", "", 400),
            ("/v1/analytics?x=1", "", 400),
        ],
    );
}

#[test]
fn figures_name_routes_and_never_paths() {
    let server = Server::start();
    server.get("/v1/runs/zzzzzzzzzzzzz");
    server.get("/secret-path");
    server.post("/v1/decide", "{}");
    let figures = server.get("/metrics");
    assert!(figures.header("content-type").unwrap().starts_with("text/plain"));
    for part in [
        r#"backstop_http_requests_total{method="GET",route="/v1/runs/{id}",status="404"} 1"#,
        r#"backstop_decisions_total{verdict="continue",reason=""} 1"#,
        r#"backstop_runs{status="running"} 0"#,
        "backstop_http_request_seconds_bucket",
    ] {
        assert!(figures.body.contains(part), "{part}: {}", figures.body);
    }
    assert!(!figures.body.contains("zzzz") && !figures.body.contains("secret"), "{}", figures.body);
}

#[test]
fn the_reasons_are_those_of_the_registry() {
    let server = Server::start();
    let reasons = server.get("/v1/reasons").json();
    assert_eq!(reasons.as_array().unwrap().len(), backstop_core::reason::all().len());
    assert_eq!(reasons[0]["code"], "completed");
}

#[test]
fn tokens_that_make_no_sense_are_refused() {
    let server = Server::start();
    statuses(
        &server,
        "POST",
        &[
            ("/v1/tokens", "{}", 400),
            ("/v1/tokens", r#"{"name":"a","scopes":[]}"#, 400),
            ("/v1/tokens", r#"{"name":"a","scopes":["root"]}"#, 400),
            ("/v1/tokens", r#"{"name":"a","scopes":["read","read"]}"#, 400),
            ("/v1/tokens", r#"{"name":"","scopes":["read"]}"#, 400),
            (
                "/v1/tokens",
                r#"{"name":"a","scopes":["read"],"expires_at":"2020-01-01T00:00:00Z"}"#,
                422,
            ),
        ],
    );
    assert_eq!(server.get("/v1/tokens").json(), json!([]));
    assert_eq!(server.ask("DELETE", "/v1/tokens/x", &[], "").status, 404);
}

#[test]
fn what_the_document_allows_is_taken_and_nothing_more() {
    let server = Server::start();
    let labelled = |length| json!({ "labels": { "k": "ä".repeat(length) } }).to_string();
    let named = |length| format!("/v1/audit?request_id={}", "x".repeat(length));
    statuses(
        &server,
        "POST",
        &[
            ("/v1/runs", &labelled(500), 201),
            ("/v1/runs", &labelled(501), 400),
            ("/v1/runs", r#"{"labels":{"k=k":"v"}}"#, 400),
            ("/v1/policies", "", 400),
            ("/v1/policies", " \n", 400),
            ("/v1/policies", "{}", 201),
        ],
    );
    statuses(&server, "GET", &[(&named(256), "", 200), (&named(257), "", 400)]);
}

/// Who was told that it is done is not answered by what was before.
#[test]
fn an_order_and_a_policy_count_for_the_very_next_question() {
    let server = Server::start();
    let ask = |attempts: u32| {
        let path = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop";
        let counts = format!("&currentJobAttempts={attempts}&totalPrAttempts={attempts}");
        server.get(&format!("{path}{counts}")).json()["decision"].clone()
    };
    let store = |most: u32| {
        let text = json!({ "stopRules": { "maxRerunsPerJob": most } }).to_string();
        let stored = server.post("/v1/policies", &text).json();
        json!({ "policy_hash": stored["hash"] }).to_string()
    };
    let (strict, mild) = (store(1), store(3));
    let scope = "/v1/policies/active/repo:acme%2Fshop";
    let json_type = [("content-type", "application/json")];
    let put = |policy: &str| assert_eq!(server.ask("PUT", scope, &json_type, policy).status, 200);
    for _ in 0..5 {
        assert_eq!(ask(0), "CONTINUE");
        assert_eq!(server.post("/v1/halt", "{}").status, 201);
        assert_eq!(ask(0), "HOLD");
        assert_eq!(server.post("/v1/release", "{}").status, 200);
        assert_eq!(ask(0), "CONTINUE");
        put(&mild);
        assert_eq!(ask(2), "CONTINUE");
        put(&strict);
        assert_eq!(ask(2), "HOLD");
    }
}

/// What is said of a halt or a failure may be copied from a log with a secret in it.
#[test]
fn secrets_are_not_written_down() {
    let server = Server::start();
    let secret = format!("ghp_{}", "Ab3".repeat(12));
    let run =
        json!({ "labels": { "key": secret }, "command": ["deploy", "--api-key", "w1thheld"] });
    let run = begin(&server, &run);
    let halt = json!({
        "labels": { "key": secret }, "why": format!("it leaked {secret}"), "by": secret,
    });
    assert_eq!(server.post("/v1/halt", &halt.to_string()).json()["runs"], json!([run]));
    let path = format!(
        "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop&currentJobAttempts=0\
         &totalPrAttempts=0&requestId={secret}&failureClass={secret}&previousFailureSignals={secret}"
    );
    assert_eq!(server.get(&path).json()["requestId"], secret, "who asked gets it back");
    for path in
        ["/v1/audit", "/v1/halt", "/v1/runs?include=origin", "/v1/runs/latest?include=inside"]
    {
        let answer = server.get(path);
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("[redacted]"), "{path}: {}", answer.body);
        assert!(!answer.body.contains(&secret) && !answer.body.contains("w1thheld"), "{path}");
    }
    let origin = &server.get("/v1/runs?include=origin").json()["runs"][0]["origin"];
    assert_eq!(origin["command"], json!(["deploy", "--api-key", "[redacted]"]));
    assert_eq!(origin["cwd"], "/", "whoever reports is somewhere else");
}

#[test]
fn a_store_that_fails_is_no_fault_of_the_request() {
    let failure = Failure { call: 2, kind: FailureKind::Read, lasting: true };
    let failing = |store| Arc::new(FailingStore::new(store, Some(failure))) as Arc<_>;
    let server = Server::with(|_| {}, failing);
    for path in
        ["/v1/runs", "/v1/runs/latest", "/v1/policies", "/v1/audit", "/v1/halt", "/v1/tokens"]
    {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.code().as_str()), (503, "STORE_UNAVAILABLE"), "{path}");
        assert!(answer.header("retry-after").is_some());
        assert!(!answer.body.contains("disk"), "the cause is the log's: {answer:?}");
    }
}

#[test]
fn what_has_begun_is_answered_before_the_end() {
    let mut server = Server::with(|options| options.limits.requests = 1, |store| store);
    let headers = [("content-type", "application/json"), ("content-length", "2")];
    let begin = || {
        let mut stream = connect(server.address);
        stream.write_all(request("POST", "/v1/decide", &headers, "{").as_bytes()).unwrap();
        stream
    };
    let mut stream = begin();
    // It is known to have begun once there is no room for another.
    let begun = std::time::Instant::now();
    while server.get("/v1/reasons").status != 503 {
        assert!(begun.elapsed().as_secs() < 30, "it does not begin");
        // The question may have come while this one had the only room.
        stream.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
        if stream.peek(&mut [0]).is_ok() {
            stream = begin();
        }
    }
    stream.set_read_timeout(None).unwrap();
    let running = server.running.take().unwrap();
    let ended = server.runtime.spawn(running.shutdown());
    let begun = std::time::Instant::now();
    while std::net::TcpStream::connect(server.address).is_ok() {
        assert!(begun.elapsed().as_secs() < 9, "it still takes connections");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stream.write_all(b"}").unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    server.wait(ended).unwrap();
}

#[test]
fn labels_of_a_run_find_its_policy() {
    let server = Server::start();
    let stored = server.post("/v1/policies", r#"{"limits":{"iterations":3}}"#).json();
    let body = json!({ "policy_hash": stored["hash"] }).to_string();
    let path = "/v1/policies/active/label:team=blue";
    assert_eq!(server.ask("PUT", path, &[("content-type", "application/json")], &body).status, 200);
    let labels = BTreeMap::from([("team", "blue")]);
    let begun = server.post("/v1/runs", &json!({ "labels": labels }).to_string()).json();
    assert_eq!(begun["policy_hash"], stored["hash"]);
    assert_ne!(server.post("/v1/runs", "").json()["policy_hash"], stored["hash"]);
}
