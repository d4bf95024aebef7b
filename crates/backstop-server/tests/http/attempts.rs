//! What the supervised side may not report: it is refused, and the attempt is on record in the run.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::time::{Duration, Instant};

use crate::events::{TWO_FAILS, begin, failed};
use crate::support::{Answer, Server};
use backstop_server::ServeOptions;
use backstop_store::access::Scope;
use rstest::rstest;
use serde_json::{Value as Json, json};

const REPORT: &[Scope] = &[Scope::Report];

fn report(server: &Server, run: &str, token: &str, body: &Json) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer), ("content-type", "application/json")];
    server.ask("POST", &format!("/v1/runs/{run}/events"), &headers, &body.to_string())
}

/// What stands in a journal behind its beginning.
fn journal(server: &Server, run: &str) -> Vec<Json> {
    let events = server.wait(server.store.event_list(run.parse().unwrap(), 1, 99)).unwrap();
    events.iter().map(|event| serde_json::from_str(&event.body).unwrap()).collect()
}

/// Holds attempts to a time, since nobody answers them here.
fn soon(options: &mut ServeOptions) {
    options.limits.decision_time = Duration::from_millis(300);
}

#[rstest]
#[case(json!({"type": "usage", "input_tokens": 5}), Ok(()))]
#[case(json!({"type": "drift", "score": 0.5}), Ok(()))]
#[case(json!({"type": "usage", "input_tokens": 5, "basis": "final"}), Err("the scope `operate`"))]
#[case(json!({"type": "iteration_started", "iteration": 1}), Err("the scope `operate`"))]
#[case(json!({"type": "iteration_finished", "exit_code": 0}), Err("the scope `operate`"))]
#[case(json!({"type": "matched", "pattern": "DONE"}), Err("the scope `operate`"))]
#[case(json!({"type": "verification", "outcome": "passed"}), Err("the scope `operate`"))]
#[case(json!({"type": "suspended", "ms": 0}), Err("the scope `operate`"))]
#[case(json!({"type": "halted"}), Err("can't send `halted` events"))]
fn a_token_to_report_tells_of_work_and_of_nothing_else(
    #[case] event: Json,
    #[case] expected: Result<(), &str>,
) {
    let server = Server::start();
    let run = begin(&server, TWO_FAILS);
    let answer = report(&server, &run, &server.token(REPORT), &json!([failed("a"), event]));
    let Err(why) = expected else {
        assert_eq!((answer.status, journal(&server, &run).len()), (200, 2), "{answer:?}");
        return;
    };
    assert_eq!((answer.status, answer.json()["field"].as_str()), (403, Some("type")));
    assert!(answer.body.contains(why), "{answer:?}");
    // What stands beside it is not taken in either; the attempt is on record.
    let noted = journal(&server, &run);
    assert_eq!((noted.len(), &noted[0]["what"]), (1, &json!("refused")), "{noted:?}");
    let kind = event["type"].as_str().unwrap();
    assert!(noted[0]["detail"].as_str().unwrap().contains(kind), "{noted:?}");
    // Who operates the run may say what no supervisor is there to observe, and is no suspect.
    let operator = server.token(&[Scope::Report, Scope::Operate]);
    let told = report(&server, &run, &operator, &event).status == 200;
    assert_eq!((told, journal(&server, &run).len()), (kind != "halted", 1 + usize::from(told)));
}

#[test]
fn in_a_supervised_run_it_is_left_to_the_supervisor_to_refuse_and_note() {
    let server = Server::with(soon, |store| store);
    let run = begin(&server, TWO_FAILS);
    let holder = backstop_store::testing::sample::holder(1);
    let hour = Duration::from_secs(3600);
    let lease = server.store.lease_acquire(run.parse().unwrap(), &holder, hour, None);
    let lease = server.wait(lease).unwrap();
    let finished = json!([failed("a"), {"type": "iteration_finished", "exit_code": 0}]);
    let refused = report(&server, &run, &server.token(REPORT), &finished);
    assert_eq!(refused.status, 403, "whether or not anybody notes it: {refused:?}");
    let left = server.wait(server.store.inbox_list(&lease)).unwrap();
    let letters = left.iter().map(|left| serde_json::from_str::<Json>(&left.body).unwrap());
    let kinds: Vec<_> = letters.map(|letter| letter["request"]["event"]["type"].clone()).collect();
    assert_eq!(kinds, ["iteration_finished"]);
    assert_eq!(journal(&server, &run), [Json::Null; 0]);
}

#[test]
fn attempts_flood_no_journal_faster_than_reports() {
    let most = 2;
    let few = |options: &mut ServeOptions| {
        soon(options);
        options.limits.requests = most;
    };
    let server = Server::with(few, |store| store);
    let run = begin(&server, TWO_FAILS);
    let token = server.token(REPORT);
    // Tokens are looked up once before nothing can be written.
    let attempt = || report(&server, &run, &token, &json!({"type": "halted"}));
    assert_eq!(attempt().status, 403);
    let writes = server.block_writes(&run);
    for _ in 0..most {
        assert_eq!(attempt().status, 403);
    }
    let turned_away = attempt();
    assert_eq!((turned_away.status, turned_away.code().as_str()), (503, "BUSY"));
    server.wait(writes.end());
    let begun = Instant::now();
    while journal(&server, &run).len() < 1 + most {
        assert!(begun.elapsed() < Duration::from_secs(30), "an attempt is lost");
    }
    assert_eq!(journal(&server, &run).len(), 1 + most);
}
