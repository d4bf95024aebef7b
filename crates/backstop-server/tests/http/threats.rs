//! What a policy or a client might try: nothing of it is done, stored or let pass, and the next
//! request is answered.

use std::collections::BTreeSet;
use std::net::TcpStream;

use crate::support::{Answer, Server, connect};
use backstop_core::policy;
use backstop_store::access::Scope;
use rstest::rstest;
use serde_json::{Value as Json, json};

/// Sends a policy by every way in which one can come, and returns the answers.
fn by_every_way(server: &Server, policy: &Json) -> Vec<Answer> {
    let inline = json!({ "policy": policy }).to_string();
    vec![
        server.post("/v1/policies", &policy.to_string()),
        server.ask(
            "POST",
            "/v1/policies",
            &[("content-type", "application/yaml")],
            &policy.to_string(),
        ),
        server.post("/v1/decide", &inline),
        server.post("/v1/runs", &inline),
    ]
}

fn nothing_is_stored(server: &Server) {
    assert_eq!(server.get("/v1/policies").json()["policies"], json!([]));
    assert_eq!(server.get("/v1/runs").json()["runs"], json!([]));
}

fn rule(when: &Json) -> Json {
    json!({ "rule": [{ "when": when, "then": "stop" }] })
}

/// Each names a program, an address, or a variable of the environment.
fn more_than_data() -> Vec<Json> {
    let script = json!({ "type": "custom_script", "script": "./x.sh" });
    vec![
        rule(&script),
        rule(&json!({ "type": "all", "conditions": [{ "type": "not", "condition": script }] })),
        rule(&json!({ "type": "any", "conditions": [script] })),
        json!({ "verify": { "command": "make" } }),
        json!({ "verify": { "tiers": [{ "command": "make" }] } }),
        json!({ "review": { "command": "./review.sh" } }),
        json!({ "drift": { "command": "./score.sh" } }),
        json!({ "notify": { "command": ["notify-send"] } }),
        json!({ "notify": { "webhook": "http://169.254.169.254/latest/meta-data" } }),
        json!({ "notify": { "webhook": "https://example.org/x" } }),
        json!({ "notify": { "webhook": "https://example.org/x", "secret_env": "AWS_SECRET" } }),
    ]
}

#[test]
fn a_policy_from_the_network_runs_nothing_and_tells_nobody() {
    let server = Server::start();
    for policy in more_than_data() {
        for answer in by_every_way(&server, &policy) {
            let told = (answer.status, answer.code());
            assert_eq!(told, (403, "NOT_DATA_ONLY".to_owned()), "{policy}: {answer:?}");
        }
    }
    nothing_is_stored(&server);
}

#[test]
fn a_policy_that_was_refused_is_on_record() {
    let server = Server::start();
    let policy = json!({ "verify": { "command": "make" } });
    by_every_way(&server, &policy);
    let rows = server.get("/v1/audit?decision=REFUSED").json();
    let rows = rows["rows"].as_array().cloned().unwrap_or_default();
    // All ways but the one that remembers nothing.
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        assert_eq!(row["reason_code"], "NOT_DATA_ONLY");
        assert_eq!(row["actor"], "local");
        assert!(row["reasons"].to_string().contains("verify"), "{row}");
    }
}

/// Paths that lead out of the run's directory, or would on some system or after some decoding.
const TRAVERSALS: &[&str] = &[
    "/etc/passwd",
    "//etc/passwd",
    "../secret",
    "../../../../etc/passwd",
    "a/../../secret",
    "a/b/../../../secret",
    "./../secret",
    "..",
    "a/..",
    "~/.ssh/id_ed25519",
    "~root/.ssh/id_ed25519",
    "/proc/self/environ",
    "/dev/fd/0",
    "./a/./../../b",
    "/./etc/passwd",
    "...//../x",
];

#[rstest]
#[case::file_created("file_created")]
#[case::file_contains("file_contains")]
#[case::stdin("stdin")]
#[case::requirements("requirements")]
#[case::tasks("tasks")]
#[case::review("review")]
#[case::report("report")]
fn a_policy_from_the_network_sees_no_file_of_others(#[case] place: &str) {
    let server = Server::start();
    for path in TRAVERSALS {
        let created =
            |outside: bool| json!({ "type": "file_created", "path": path, "outside": outside });
        let contains = |outside: bool| json!({ "type": "file_contains", "path": path, "content": "x", "outside": outside });
        let policies = match place {
            "file_created" => vec![rule(&created(true)), rule(&created(false))],
            "file_contains" => vec![rule(&contains(true)), rule(&contains(false))],
            "stdin" => vec![json!({ "loop": { "stdin": path } })],
            "requirements" => vec![json!({ "work": { "requirements": path } })],
            "tasks" => vec![
                json!({ "progress": { "tasks": path } }),
                json!({ "progress": { "tasks": ["PLAN.md", path] } }),
            ],
            "review" => vec![json!({ "review": { "file": path } })],
            _ => vec![json!({ "verify": { "report": format!("junit:{path}") } })],
        };
        for policy in policies {
            for answer in by_every_way(&server, &policy) {
                assert!([400, 403].contains(&answer.status), "{policy}: {answer:?}");
            }
        }
    }
    nothing_is_stored(&server);
}

/// Whoever adds a setting that names a program, a file or an address has to say here that it was
/// thought of.
#[test]
fn every_setting_that_could_reach_out_is_known() {
    fn collect(schema: &Json, found: &mut BTreeSet<String>) {
        match schema {
            Json::Object(fields) => {
                if let Some(Json::Object(properties)) = fields.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                fields.values().for_each(|value| collect(value, found));
            }
            Json::Array(items) => items.iter().for_each(|item| collect(item, found)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    collect(&policy::schema(), &mut names);
    assert!(names.len() > 50, "{names:?}");
    let suspicious = [
        "command",
        "exec",
        "script",
        "path",
        "file",
        "url",
        "hook",
        "env",
        "stdin",
        "report",
        "tasks",
        "requirements",
    ];
    let found: Vec<_> = names
        .iter()
        .filter(|name| suspicious.iter().any(|word| name.contains(word)))
        .map(String::as_str)
        .collect();
    assert_eq!(found, KNOWN);
}

const KNOWN: &[&str] = &[
    "command",
    "env",
    "file",
    "files",
    "hooks",
    "lockfiles",
    "min_tasks",
    "path",
    "report",
    "requirements",
    "script",
    "secret_env",
    "stdin",
    "tasks",
    "webhook",
];

#[rstest]
#[case::nested_counts("((((a{1,100}){1,100}){1,100}){1,100}){1,100}")]
#[case::backtracking("(x+x+)+y")]
#[case::backtracking_alternatives("^(a|a|aa)*$")]
#[case::classes(r"(\p{L}{1,1000}){1,1000}")]
#[case::deep(
    "((((((((((((((((((((((((((((((a*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)*)"
)]
fn a_pattern_that_would_take_for_ever_does_not(#[case] pattern: &str) {
    let server = Server::start();
    let events = json!([
        { "type": "iteration_started", "iteration": 1 },
        { "type": "iteration_finished", "exit_code": 0 },
    ]);
    let when = json!({ "type": "output_pattern", "pattern": pattern });
    let signals = "x".repeat(10_000);
    let expression = format!("failure_class.matches(r{})", json!(pattern));
    for policy in [rule(&when), rule(&json!({ "type": "expr", "cel": expression }))] {
        let facts = json!({ "failure_class": signals });
        for input in [json!({ "events": events }), json!({ "facts": facts })] {
            let mut question = input;
            question["policy"] = policy.clone();
            let answer = server.post("/v1/decide", &question.to_string());
            assert!([200, 400].contains(&answer.status), "{policy}: {answer:?}");
        }
    }
    assert_eq!(server.get("/healthz").status, 200);
}

/// Nobody can have more worked out at once than a moment allows.
#[rstest]
#[case::as_many_as_there_may_be(32, 200)]
#[case::too_many(33, 403)]
fn expressions_that_would_take_for_ever_do_not(#[case] count: usize, #[case] status: u16) {
    let server = Server::start();
    let bomb = ["failure_signals.all(a, a != 'x')"; 20].join(" && ");
    let rules: Vec<_> = (0..count)
        .map(|number| {
            let cel = format!("{number} >= 0 && {bomb}");
            json!({ "when": { "type": "expr", "cel": cel }, "then": "stop" })
        })
        .collect();
    let signals: Vec<_> = (0..60_000).map(|number| format!("s{number}")).collect();
    let body =
        json!({ "policy": { "rule": rules }, "facts": { "failure_signals": signals } }).to_string();
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            (0..2).map(|_| scope.spawn(|| server.post("/v1/decide", &body))).collect();
        // As many as there are threads are busy, and others are answered meanwhile.
        assert_eq!(server.get("/v1/reasons").status, 200);
        for one in asked {
            let answer = one.join().unwrap();
            assert_eq!(answer.status, status, "{}", answer.body);
        }
    });
}

#[test]
fn a_token_in_the_address_is_refused_and_shown_nowhere() {
    let server = Server::start();
    let token = server.token(&[Scope::Admin]);
    for name in ["access_token", "token", "authorization", "api_key"] {
        let answer = server.get(&format!("/v1/runs?{name}={token}"));
        assert_eq!(answer.status, 401);
        assert!(!answer.body.contains(&token));
    }
    let bearer = format!("Bearer {token}");
    let known = [("authorization", bearer.as_str())];
    // Not even beside a good one, and then it is not told again either.
    let both = server.ask("GET", &format!("/v1/runs?token={token}"), &known, "");
    assert_eq!(both.status, 400);
    server.ask("GET", &format!("/v1/runs/{token}"), &known, "");
    server.ask("GET", &format!("/{token}"), &known, "");
    let figures = server.ask("GET", "/metrics", &known, "");
    assert_eq!(figures.status, 200);
    for answer in [both, figures, server.ask("GET", "/v1/tokens", &known, "")] {
        assert!(!answer.body.contains(&token), "{answer:?}");
    }
}

#[test]
fn forms_of_other_pages_change_nothing() {
    let server = Server::start();
    // What a page can send without being asked first: three types, and no headers of its own.
    for kind in
        ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]
    {
        for path in ["/v1/halt", "/v1/runs", "/v1/policies", "/v1/tokens", "/v1/release"] {
            let body = r#"{"name":"a","scopes":["admin"],"a":"="}"#;
            let bare = server.ask("POST", path, &[("content-type", kind)], body);
            assert_eq!(bare.status, 415, "{path} {kind}");
            let headers = [("content-type", kind), ("origin", "https://evil.example")];
            assert_eq!(server.ask("POST", path, &headers, body).status, 403, "{path} {kind}");
        }
    }
    // Without a body a type need not be said: the origin is what gives it away.
    for headers in [[("origin", "null")], [("sec-fetch-site", "cross-site")]] {
        assert_eq!(server.ask("POST", "/v1/halt", &headers, "").status, 403);
    }
    assert_eq!(server.get("/v1/halt").json(), json!([]));
    assert_eq!(server.get("/v1/tokens").json(), json!([]));
    nothing_is_stored(&server);
}

#[test]
fn idle_connections_keep_nobody_out() {
    let server = Server::start();
    let idle: Vec<TcpStream> = (0..300).map(|_| connect(server.address)).collect();
    assert_eq!(server.get("/v1/runs").status, 200);
    assert_eq!(idle.len(), 300);
}

#[test]
fn who_may_only_report_operates_nothing() {
    let server = Server::start();
    let bearer = format!("Bearer {}", server.token(&[Scope::Report]));
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    let begun = server.ask("POST", "/v1/runs", &headers, "{}");
    let run = begun.json()["run_id"].as_str().unwrap().to_owned();
    for (path, body) in [
        (format!("/v1/runs/{run}/stop"), "{}"),
        (format!("/v1/runs/{run}/release"), "{}"),
        (format!("/v1/runs/{run}/answer"), r#"{"answer":"continue"}"#),
        ("/v1/halt".to_owned(), "{}"),
        ("/v1/release".to_owned(), "{}"),
        ("/v1/policies".to_owned(), "{}"),
        ("/v1/tokens".to_owned(), r#"{"name":"a","scopes":["admin"]}"#),
        (
            format!("/v1/runs/{run}/events"),
            r#"{"type":"raised","limit":"max_iterations","value":1000,"by":"me"}"#,
        ),
        (format!("/v1/runs/{run}/events"), r#"{"type":"released","by":"me"}"#),
        (format!("/v1/runs/{run}/events"), r#"{"type":"signal","kind":"stop","by":"me"}"#),
    ] {
        let answer = server.ask("POST", &path, &headers, body);
        assert_eq!(answer.status, 403, "{path} {body}: {answer:?}");
    }
    let id = run.parse().unwrap();
    let events = server.wait(server.store.event_list(id, 0, 99)).unwrap();
    // What was tried there is on record, and nothing else has come of it.
    let tried = events.iter().filter(|event| event.body.contains("\"what\":\"refused\"")).count();
    assert_eq!((events.len(), tried), (4, 3), "{events:?}");
}
