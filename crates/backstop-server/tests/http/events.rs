//! Reports to runs, and their journals.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Server, connect, read_head, request};
use backstop_core::document::Syntax;
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_runner::launch::Launch;
use backstop_runner::unsupervised::{self, PinnedPolicy};
use backstop_store::access::Scope;
use backstop_store::testing::{FailingStore, Failure, FailureKind};
use rstest::rstest;
use serde_json::{Value as Json, json};

pub const TWO_FAILS: &str =
    r#"{"rule":[{"when":{"type":"consecutive_fails","count":2},"then":"stop"}]}"#;

pub fn begin(server: &Server, policy: &str) -> String {
    let answer = server.post("/v1/runs", &format!(r#"{{"policy":{policy}}}"#));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

pub fn failed(id: &str) -> Json {
    json!({ "type": "unit", "id": id, "status": "failed" })
}

fn journal(server: &Server, run: &str) -> Vec<Json> {
    let page = server.get(&format!("/v1/runs/{run}/events?limit=5000")).json();
    page["events"].as_array().unwrap().clone()
}

#[test]
fn a_report_is_answered_with_the_decision() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let path = format!("/v1/runs/{run}/events");
    let first = server.post(&path, &failed("a").to_string()).json();
    assert_eq!((&first["verdict"], &first["seq"]), (&json!("continue"), &json!(2)));
    let second = server.post(&path, &json!([failed("b")]).to_string()).json();
    assert_eq!((&second["verdict"], &second["exit_code"]), (&json!("stop"), &json!(41)));
    // A halted run is answered with what halted it.
    let third = server.post(&path, &json!({ "events": [failed("c")] }).to_string()).json();
    assert_eq!(third["reason"], "consecutive_fails");
    let shown = server.get(&format!("/v1/runs/{run}")).json();
    assert_eq!(shown["run_status"], "stopped");
    assert_eq!(shown["facts"]["units"]["failed"], 3);
}

#[rstest]
#[case("", 400)]
#[case("[]", 400)]
#[case("3", 400)]
#[case("{}", 400)]
#[case(r#"{"events":[]}"#, 400)]
#[case(r#"{"events":{}}"#, 400)]
#[case(r#"{"events":[],"type":"unit"}"#, 400)]
#[case(r#"[{"type":"unit","id":"a","status":"failed"},{"type":"unit"}]"#, 400)]
#[case(r#"{"type":"usage","input_tokens":-1}"#, 400)]
#[case(r#"{"type":"raised","limit":"iterations","value":9}"#, 403)]
fn what_is_no_report_is_refused_and_nothing_is_added(#[case] body: &str, #[case] status: u16) {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let answer = server.post(&format!("/v1/runs/{run}/events"), body);
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(journal(&server, &run).len(), 1);
}

#[test]
fn the_same_report_again_gets_the_same_answer_and_adds_nothing() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let path = format!("/v1/runs/{run}/events");
    let send = |key: &str, body: &Json| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        server.ask("POST", &path, &headers, &body.to_string())
    };
    // Many at once: one is taken in.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..8).map(|_| scope.spawn(|| send("k1", &failed("a")))).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let bodies: BTreeSet<_> = answers.iter().map(|answer| answer.body.clone()).collect();
    assert_eq!(bodies.len(), 1, "{answers:?}");
    assert_eq!(journal(&server, &run).len(), 2);
    let halting = send("k2", &failed("b")).body;
    let after = send("k3", &failed("c")).body;
    let length = journal(&server, &run).len();
    assert_eq!(send("k2", &failed("b")).body, halting);
    assert_eq!(send("k3", &failed("c")).body, after);
    assert_eq!(journal(&server, &run).len(), length);
    assert_eq!(send("k3", &failed("d")).status, 422);
    for key in [&*"x".repeat(256), "a b", "a\tb"] {
        assert_eq!(send(key, &failed("d")).status, 400, "{key}");
    }
    // Of two keys nobody can tell which is meant.
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "k4"),
        ("idempotency-key", "k5"),
    ];
    let answer = server.ask("POST", &path, &headers, &failed("e").to_string());
    assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_INPUT"));
    assert_eq!(journal(&server, &run).len(), length);
}

/// Reads numbers of events from a stream until one is reached.
fn follow(server: &Server, run: &str, after: Option<u64>, until: u64) -> Vec<u64> {
    let last = after.map(|after| after.to_string());
    let mut headers = vec![("accept", "text/event-stream")];
    headers.extend(last.as_deref().map(|last| ("last-event-id", last)));
    let mut stream = connect(server.address);
    let path = format!("/v1/runs/{run}/events");
    stream.write_all(request("GET", &path, &headers, "").as_bytes()).unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    numbers(stream, until)
}

fn numbers(stream: TcpStream, until: u64) -> Vec<u64> {
    let mut found = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("id: ") {
            found.push(number.parse().unwrap());
            if found.last() == Some(&until) {
                break;
            }
        }
    }
    found
}

#[test]
fn a_stream_tells_everything_once_also_to_one_who_comes_back() {
    let server = Server::start();
    let run = begin(&server, r#"{"limits":{"iterations":50}}"#);
    let path = format!("/v1/runs/{run}/events");
    let total = 60;
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| follow(&server, &run, None, total));
        let parts = scope.spawn(|| {
            let mut seen = follow(&server, &run, None, 20);
            while seen.last() != Some(&total) {
                let last = *seen.last().unwrap();
                seen.extend(follow(&server, &run, Some(last), (last + 13).min(total)));
            }
            seen
        });
        for number in 2..=total {
            let event = json!({ "type": "progress", "kind": "other", "note": number.to_string() });
            assert_eq!(server.post(&path, &event.to_string()).status, 200);
        }
        let expected: Vec<u64> = (1..=total).collect();
        assert_eq!(whole.join().unwrap(), expected);
        assert_eq!(parts.join().unwrap(), expected);
    });
}

#[test]
fn a_journal_is_read_page_by_page() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let path = format!("/v1/runs/{run}/events");
    let events: Vec<_> = (0..9).map(|_| json!({ "type": "progress", "kind": "other" })).collect();
    assert_eq!(server.post(&path, &json!(events).to_string()).status, 200);
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = server.get(&format!("{path}?after={after}&limit=4")).json();
        let events = page["events"].as_array().unwrap();
        if events.is_empty() {
            break;
        }
        seen.extend(events.iter().map(|event| event["seq"].as_u64().unwrap()));
        after = page["last"].as_u64().unwrap();
    }
    assert_eq!(seen, (1..=10).collect::<Vec<_>>());
    for query in ["limit=0", "limit=5001", "after=-1", "after=x", "more=1", "limit=1&limit=2"] {
        assert_eq!(server.get(&format!("{path}?{query}")).status, 400, "{query}");
    }
    let many = [("last-event-id", "1"), ("last-event-id", "2")];
    assert_eq!(server.ask("GET", &path, &many, "").status, 400);
    for last in ["x", "-1", "+1", "1.5", "9007199254740992", "18446744073709551615", ""] {
        let answer = server.ask("GET", &path, &[("last-event-id", last)], "");
        assert_eq!(answer.status, 400, "{last}");
    }
    let page = server.ask("GET", &path, &[("last-event-id", "4")], "").json();
    assert_eq!(page["events"][0]["seq"], 1, "only a stream is taken up where it ended");
}

#[test]
fn a_key_that_is_a_secret_is_not_kept() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let report = |unit: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let body = failed(unit).to_string();
        server.ask("POST", &format!("/v1/runs/{run}/events"), &headers, &body)
    };
    let first = report("a");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(report("a").body, first.body, "it still counts once");
    let other = report("b");
    assert_eq!((other.status, other.code().as_str()), (422, "KEY_USED"));
    assert!(!other.body.contains(key), "{other:?}");
    let run = run.parse().unwrap();
    assert_eq!(server.wait(server.store.receipt_fetch(run, key)).unwrap(), None);
}

#[test]
fn a_stream_is_for_who_takes_one() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    for (accept, kind) in [
        ("text/event-stream", "text/event-stream"),
        ("Text/Event-Stream; q=0.5, */*", "text/event-stream"),
        ("application/json;q=0.1,text/event-stream", "text/event-stream"),
        ("text/event-stream;q=0", "application/json"),
        ("text/event-stream; Q=0.000, */*", "application/json"),
        ("text/event-streams", "application/json"),
        ("*/*", "application/json"),
    ] {
        let mut stream = connect(server.address);
        let path = format!("/v1/runs/{run}/events");
        stream.write_all(request("GET", &path, &[("accept", accept)], "").as_bytes()).unwrap();
        let head = read_head(&mut stream).unwrap().to_lowercase();
        assert!(head.contains(&format!("content-type: {kind}")), "{accept}: {head}");
    }
}

#[test]
fn a_stream_ends_when_the_service_does() {
    let mut server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let mut stream = connect(server.address);
    let path = format!("/v1/runs/{run}/events");
    stream
        .write_all(request("GET", &path, &[("accept", "text/event-stream")], "").as_bytes())
        .unwrap();
    read_head(&mut stream).unwrap();
    let mut sent = Vec::new();
    while !sent.ends_with(b"id: 1") && !sent.ends_with(b"id:1") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        sent.push(byte[0]);
    }
    let begun = Instant::now();
    server.shutdown();
    assert!(begun.elapsed() < Duration::from_secs(9), "it was not waited for until the end");
    // What was sent can be read, and then it is over.
    assert_eq!(numbers(stream, u64::MAX), [0; 0]);
}

#[test]
fn a_stream_ends_with_the_token_that_it_was_asked_with() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let admin = format!("Bearer {}", server.token(&[Scope::Admin, Scope::Report]));
    let reader = format!("Bearer {}", server.token(&[Scope::Read]));
    let ask = |method: &str, path: &str, body: &str| {
        let headers = [("authorization", admin.as_str()), ("content-type", "application/json")];
        let answer = server.ask(method, path, &headers, body);
        assert!(answer.status < 300, "{answer:?}");
        answer
    };
    let mut stream = connect(server.address);
    let path = format!("/v1/runs/{run}/events");
    let headers = [("accept", "text/event-stream"), ("authorization", reader.as_str())];
    stream.write_all(request("GET", &path, &headers, "").as_bytes()).unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    // It tells of what comes as long as the token is good.
    ask("POST", &path, &failed("a").to_string());
    assert_eq!(numbers(stream.try_clone().unwrap(), 2).last(), Some(&2));
    let tokens = ask("GET", "/v1/tokens", "").json();
    let is_reader = |token: &&Json| token["scopes"] == json!(["read"]);
    let id = tokens.as_array().unwrap().iter().find(is_reader).unwrap()["id"].clone();
    ask("DELETE", &format!("/v1/tokens/{}", id.as_str().unwrap()), "");
    ask("POST", &path, &failed("b").to_string());
    assert_eq!(numbers(stream, u64::MAX), [0; 0]);
}

#[rstest]
fn a_store_that_fails_is_a_hold_and_never_goes_on(
    #[values(FailureKind::Write, FailureKind::ReadOnly)] kind: FailureKind,
) {
    // However many calls go well before.
    for call in 1..12 {
        let failure = Failure { call, kind, lasting: true };
        let inner = Server::start();
        let run = begin(&inner, TWO_FAILS);
        let store = Arc::clone(&inner.store);
        let failing = move |_| Arc::new(FailingStore::new(store, Some(failure))) as Arc<_>;
        let server = Server::with(|_| {}, failing);
        let answer = server.post(&format!("/v1/runs/{run}/events"), &failed("a").to_string());
        assert_eq!(answer.status, 200, "{call}: {answer:?}");
        let decision = answer.json();
        let events = journal(&inner, &run).len();
        match decision.get("stored") {
            None => assert_eq!((&decision["verdict"], events), (&json!("continue"), 2), "{call}"),
            Some(stored) => {
                assert_eq!(decision["reason"], "policy_block", "{call}: {decision}");
                assert!(stored.is_null() || events == 1, "{call}: {decision}, and it is stored");
                // Nothing came late: the store has refused, and without a key a second report counts.
                let message = decision["message"].as_str().unwrap();
                let expected = match stored.is_null() {
                    true => ["Held: the store failed, ", "look into the journal before"],
                    false => ["Held: the store can't be used, ", "nothing was taken in"],
                };
                assert!(expected.iter().all(|words| message.contains(words)), "{call}: {message}");
                assert!(kind == FailureKind::Write || !stored.is_null(), "{call}: {message}");
            }
        }
        let status = server.post(&format!("/v1/runs/{run}/stop"), "").status;
        assert!([200, 409, 503].contains(&status), "{call}: {status}");
    }
}

/// What was stored is answered with the decision, whatever becomes of what follows from it.
#[test]
fn a_report_that_is_stored_is_never_said_not_to_be() {
    const ONE_FAIL: &str =
        r#"{"rule":[{"when":{"type":"consecutive_fails","count":1},"then":"stop"}]}"#;
    for call in 1..24 {
        let failure = Failure { call, kind: FailureKind::Read, lasting: true };
        let inner = Server::start();
        let run = begin(&inner, ONE_FAIL);
        let store = Arc::clone(&inner.store);
        let failing = move |_| Arc::new(FailingStore::new(store, Some(failure))) as Arc<_>;
        let server = Server::with(|_| {}, failing);
        let answer = server.post(&format!("/v1/runs/{run}/events"), &failed("a").to_string());
        let decision = answer.json();
        let is_stored = journal(&inner, &run).len() > 1;
        match decision.get("stored") {
            None => assert!(is_stored && decision["verdict"] == "stop", "{call}: {answer:?}"),
            Some(stored) => assert!(stored.is_null() || !is_stored, "{call}: {answer:?}"),
        }
    }
}

/// Begins a run by a policy that no client may give.
fn begin_here(server: &Server, policy: &str) -> RunId {
    let policy = Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy;
    let (name, put_by) = ("here".to_owned(), "a test".to_owned());
    let pinned = PinnedPolicy { policy, text: None, name, put_by };
    let launch = Launch { cwd: server.home.root().to_owned(), ..Launch::default() };
    server.wait(unsupervised::begin(&*server.store, &server.home, &pinned, &launch)).unwrap()
}

#[test]
fn who_reports_does_not_wait_until_others_are_told() {
    let mut server = Server::start();
    let run = begin_here(
        &server,
        "[notify]\ncommand = \"until test -e told-to; do sleep 0.02; done; touch told\"\n\
         [[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\nthen = \"stop\"\n",
    );
    let answer = server.post(&format!("/v1/runs/{run}/events"), &failed("a").to_string());
    assert_eq!(answer.json()["verdict"], "stop", "{answer:?}");
    assert_eq!(answer.header("backstop-run-halted"), Some("stopped"), "{answer:?}");
    // It is finished before the service ends.
    std::fs::write(server.home.root().join("told-to"), "").unwrap();
    server.shutdown();
    assert!(server.home.root().join("told").exists());
    assert!(server.home.run(run).report_markdown().exists());
}

#[test]
fn reports_that_go_on_behind_their_answers_are_no_more_than_requests() {
    let most = 3;
    let server = Server::with(
        |options| {
            options.limits.requests = most;
            options.limits.decision_time = Duration::from_secs(1);
        },
        |store| store,
    );
    let run = begin(&server, r#"{"limits":{"iterations":50}}"#);
    let path = format!("/v1/runs/{run}/events");
    let writes = server.block_writes(&run);
    let send = |number: usize| {
        let key = format!("k{number}");
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        server.ask("POST", &path, &headers, &failed(&key).to_string())
    };
    for number in 0..most {
        let held = send(number).json();
        assert_eq!(held["verdict"], "hold", "{held}");
        assert_eq!(held.get("stored"), Some(&Json::Null), "nobody can know: {held}");
        let message = held["message"].as_str().unwrap();
        assert!(message.starts_with("Held: no answer came in time, "), "{message}");
        assert!(message.contains("the same `Idempotency-Key`"), "{message}");
    }
    let refused = send(most);
    assert_eq!((refused.status, refused.code().as_str()), (503, "BUSY"), "{refused:?}");
    server.wait(writes.end());
    // All of them are taken in, and asking again adds nothing.
    let begun = Instant::now();
    for number in 0..most {
        while send(number).json()["verdict"] != "continue" {
            assert!(begun.elapsed() < Duration::from_secs(30), "it is never taken in");
        }
    }
    assert_eq!(journal(&server, &run).len(), 1 + most);
}

/// A supervisor may take longer to find a report than a store to take one in.
#[test]
fn a_supervisor_has_more_time_than_the_store() {
    let time = Duration::from_secs(1);
    let server = Server::with(|options| options.limits.decision_time = time, |store| store);
    let run = begin(&server, TWO_FAILS);
    let holder = backstop_store::testing::sample::holder(1);
    let hour = Duration::from_secs(3600);
    let leased = server.store.lease_acquire(run.parse().unwrap(), &holder, hour, None);
    let lease = server.wait(leased).unwrap();
    let store = Arc::clone(&server.store);
    server.runtime.spawn(async move {
        let messages = loop {
            let messages = store.inbox_list(&lease).await.unwrap();
            if !messages.is_empty() {
                break messages;
            }
            tokio::time::sleep(time / 100).await;
        };
        tokio::time::sleep(2 * time).await;
        let answer = json!({ "verdict": "continue", "message": "", "seq": 2 }).to_string();
        store.inbox_answer(messages[0].number, &answer).await.unwrap();
    });
    let answer = server.post(&format!("/v1/runs/{run}/events"), &failed("a").to_string());
    assert_eq!(answer.json()["verdict"], "continue", "{answer:?}");
}

#[test]
fn a_supervised_run_is_reached_by_its_inbox() {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let id = run.parse().unwrap();
    let holder = backstop_store::testing::sample::holder(1);
    let leased = server.store.lease_acquire(id, &holder, Duration::from_secs(600), None);
    let lease = server.wait(leased).unwrap();
    let store = Arc::clone(&server.store);
    // A supervisor that answers everything once.
    let supervisor = server.runtime.spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 3 {
            for message in store.inbox_list(&lease).await.unwrap() {
                let letter: Json = serde_json::from_str(&message.body).unwrap();
                seen.push(letter["request"].clone());
                let answer = json!({ "verdict": "continue", "message": "", "seq": seen.len() });
                store.inbox_answer(message.number, &answer.to_string()).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        seen
    });
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let path = format!("/v1/runs/{run}/events");
    let body = json!([failed("a"), failed("b")]).to_string();
    let first = server.ask("POST", &path, &headers, &body);
    assert_eq!(first.json()["seq"], 2, "{first:?}");
    let again = server.ask("POST", &path, &headers, &body);
    assert_eq!(again.body, first.body);
    // Nothing of another report under the same key is left there.
    let other = json!([failed("a"), failed("b"), failed("c")]).to_string();
    let other = server.ask("POST", &path, &headers, &other);
    assert_eq!((other.status, other.code().as_str()), (422, "KEY_USED"));
    let stopped = server.post(&format!("/v1/runs/{run}/stop"), r#"{"now":true,"by":"ann"}"#);
    assert_eq!(stopped.json()["supervised"], true, "{stopped:?}");
    let seen = server.wait(supervisor).unwrap();
    assert_eq!(seen[2], json!({ "do": "stop", "now": true, "by": "ann" }));
    let event = Event::from_json(seen[0]["event"].to_string().as_bytes()).unwrap();
    assert_eq!(event.kind.type_name(), "unit");
    // What only a supervisor observes is not taken.
    let observed = server.post(&path, r#"{"type":"iteration_finished","exit_code":0}"#);
    assert_eq!(observed.status, 403, "{observed:?}");
}
