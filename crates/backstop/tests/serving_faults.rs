//! Two services on one database, one of which is frozen again and again: nothing that either has
//! acknowledged is lost, and the other one goes on.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backstop_store::testing::postgres;
use rustix::process::Signal;
use serde_json::Value as Json;

mod support;

use support::Test;
use support::looping::wait_for;
use support::serving::{JSON, Serving, ask};

#[test]
fn a_service_that_was_frozen_goes_on_where_it_was() {
    let Some(server) = postgres::shared() else { return };
    let database = server.database();
    let url = database.url();
    let (test, other) = (Test::new(), Test::new());
    let frozen = Serving::start(&test, &["--store", &url], &[]);
    let awake = Serving::start(&other, &["--store", &url], &[]);
    let policy = r#"{"policy":{"limits":{"iterations":1000000}}}"#;
    let run = awake.post("/v1/runs", policy).json()["run_id"].as_str().expect("a run").to_owned();

    let (end, flowing) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let (mut acknowledged, mut let_go_on) = (BTreeSet::new(), BTreeSet::new());
    std::thread::scope(|scope| {
        let clients: Vec<_> = [(&frozen, "frozen"), (&awake, "awake")]
            .into_iter()
            .zip(&flowing)
            .map(|((service, name), flowing)| {
                let (address, run, end) = (service.address, &run, &end);
                scope.spawn(move || client(address, name, run, end, flowing))
            })
            .collect();
        let count = |which: usize| flowing[which].load(Ordering::SeqCst);
        for _ in 0..4 {
            let (one, both) = (count(0), count(1));
            wait_for("both to go on", || count(0) >= one + 5 && count(1) >= both + 5);
            frozen.signal(Signal::STOP);
            // Where it was frozen in the middle of something the other one may have to wait, but
            // nobody is told what is not so.
            let (begun, before) = (Instant::now(), count(1));
            while count(1) < before + 10 && begun.elapsed() < Duration::from_secs(3) {
                std::thread::sleep(Duration::from_millis(10));
            }
            frozen.signal(Signal::CONT);
        }
        let (one, both) = (count(0), count(1));
        wait_for("both to go on at the end", || count(0) >= one + 5 && count(1) >= both + 5);
        end.store(true, Ordering::SeqCst);
        for client in clients {
            let (events, decisions) = client.join().expect("a client");
            acknowledged.extend(events);
            let_go_on.extend(decisions);
        }
    });

    let rows =
        database.query("SELECT request_id FROM stop_decision_audit WHERE decision = 'CONTINUE'");
    let rows = rows.expect("the audit");
    let kept: BTreeSet<_> = rows.lines().map(str::to_owned).collect();
    assert_eq!(kept.len(), rows.lines().count(), "a decision is on record twice");
    assert!(let_go_on.is_subset(&kept), "a decision is lost");
    let journal =
        database.query(&format!("SELECT body FROM events WHERE run = '{run}' ORDER BY seq"));
    let mut units = BTreeSet::new();
    for line in journal.expect("the journal").lines() {
        let event: Json = serde_json::from_str(line).expect("an event");
        if event["type"] == "unit" {
            let id = event["id"].as_str().expect("its name").to_owned();
            assert!(units.insert(id), "an event is there twice: {event}");
        }
    }
    assert!(acknowledged.is_subset(&units), "an event is lost");
    let verified = other.run(["audit", "verify", "--store", &url]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

/// Reports and asks in turn, and remembers what was acknowledged.
fn client(
    address: SocketAddr,
    name: &str,
    run: &str,
    end: &AtomicBool,
    flowing: &AtomicU64,
) -> (Vec<String>, Vec<String>) {
    let (mut events, mut decisions) = (Vec::new(), Vec::new());
    for round in 0_u64.. {
        if end.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("{name}-{round}");
        let body = format!(r#"{{"type":"unit","id":"{id}","status":"approved"}}"#);
        let headers = [JSON, ("idempotency-key", id.as_str())];
        let told = ask(address, "POST", &format!("/v1/runs/{run}/events"), &headers, &body);
        if told.is_some_and(|told| told.status == 200 && told.json().get("stored").is_none()) {
            events.push(id.clone());
        }
        let question = format!(
            "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop&currentJobAttempts=0\
             &totalPrAttempts=0&requestId={id}"
        );
        let told = ask(address, "GET", &question, &[], "");
        if told.is_some_and(|told| told.status == 200 && told.json()["decision"] == "CONTINUE") {
            decisions.push(id);
            flowing.fetch_add(1, Ordering::SeqCst);
        }
    }
    (events, decisions)
}
