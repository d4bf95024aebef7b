//! PostgreSQL, in all the ways in which a server of others can fail.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::time::{Duration, Instant};

use backstop_store::testing::postgres::{self, Database, Server as Postgres};
use backstop_store::{Home, Location, ServerUrl};

use crate::load::Load;
use crate::support::Server;

fn serve(database: &Database<'_>) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let url = ServerUrl::parse(&database.url()).unwrap();
    let location = Location::Server { url, home: Home::new(folder.path()) };
    Server::at(&location, folder, |_| {}, |store| store)
}

/// The service says by itself how it is.
fn becomes_ready(server: &Server, status: u16) {
    let begun = Instant::now();
    while server.get("/readyz").status != status {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_database_that_is_killed_and_comes_back_loses_nothing() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.database();
    let server = serve(&database);
    let load = Load::start(&server);
    load.flows(20);
    postgres.kill();
    load.is_held(1);
    becomes_ready(&server, 503);
    assert_eq!(server.get("/healthz").status, 200);
    postgres.restart().unwrap();
    load.flows(20);
    // In order, this time, and back before anybody has lost patience.
    postgres.stop();
    postgres.restart().unwrap();
    load.flows(20);
    becomes_ready(&server, 200);
    load.end_and_check(&server, &serve(&database).store);
}

#[test]
fn a_database_that_can_only_be_read_lets_nobody_go_on() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.database();
    let server = serve(&database);
    let load = Load::start(&server);
    for _ in 0..2 {
        load.flows(10);
        postgres.set_read_only(true);
        // Connections that were open before learn of it with their next transaction.
        becomes_ready(&server, 503);
        load.is_held(5);
        assert_eq!(server.get("/v1/runs").status, 200, "it can still be read");
        postgres.set_read_only(false);
    }
    load.flows(10);
    becomes_ready(&server, 200);
    load.end_and_check(&server, &server.store);
}

#[test]
fn connections_that_are_cut_lose_nothing() {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let server = serve(&database);
    let load = Load::start(&server);
    for _ in 0..6 {
        load.flows(5);
        database.cut_connections();
    }
    load.flows(5);
    load.end_and_check(&server, &server.store);
}

/// Whoever waits for a decision has it in time, also from a database that is reached and does nothing.
#[test]
fn a_database_that_does_not_answer_holds_everybody_in_time() {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let server = serve(&database);
    let run = server.post("/v1/runs", "{}").json();
    let events = format!("/v1/runs/{}/events", run["run_id"].as_str().unwrap());
    for more in [", tokens", ""] {
        let lock = format!(
            "BEGIN; LOCK TABLE stop_decision_audit, policy_activations, runs{more} \
             IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)"
        );
        let lock = lock.as_str();
        let is_locked = "SELECT count(*) FROM pg_locks JOIN pg_database ON datname = \
             current_database() AND database = pg_database.oid \
             WHERE mode = 'AccessExclusiveLock' AND granted";
        let (held, decided, reported, took) = std::thread::scope(|scope| {
            let locking = scope.spawn(|| database.query(lock));
            while database.query(is_locked).unwrap().trim() == "0" {
                std::thread::sleep(Duration::from_millis(20));
            }
            let begun = Instant::now();
            let held = server.get(QUESTION);
            let decided = server.post("/v1/decide", "{}");
            let reported = server.post(&events, r#"{"type":"progress","kind":"other"}"#);
            let took = begun.elapsed();
            database.cut_connections();
            locking.join().unwrap().unwrap_err();
            (held.json(), decided.json(), reported.json(), took)
        });
        assert_eq!(held["decision"], "HOLD", "{held}");
        assert_eq!(decided["verdict"], "hold", "{decided}");
        assert_eq!((&reported["verdict"], &reported["stored"]), (&"hold".into(), &false.into()));
        // Clients wait for five seconds, each.
        assert!(took < 3 * Duration::from_secs(5), "{took:?}");
        becomes_ready(&server, 200);
    }
}

#[test]
fn what_one_service_has_changed_counts_for_the_others() {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let (one, other) = (serve(&database), serve(&database));
    for _ in 0..2 {
        assert_eq!(other.get(QUESTION).json()["decision"], "CONTINUE");
        assert_eq!(one.post("/v1/halt", "").status, 201);
        assert_eq!(other.get(QUESTION).json()["decision"], "HOLD");
        assert_eq!(one.post("/v1/release", "").status, 200);
    }
    assert_eq!(other.get(QUESTION).json()["decision"], "CONTINUE");
    assert_eq!(one.post("/v1/tokens", r#"{"name":"ann","scopes":["admin"]}"#).status, 201);
    assert_eq!(other.get(QUESTION).status, 401);
}

const QUESTION: &str = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
    &currentJobAttempts=0&totalPrAttempts=0";

#[test]
fn two_services_on_one_database_count_the_same() {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let (one, other) = (serve(&database), serve(&database));
    let run = one.post("/v1/runs", r#"{"policy":{"limits":{"iterations":8}}}"#).json();
    let path = format!("/v1/runs/{}/events", run["run_id"].as_str().unwrap());
    let finished = r#"{"type":"iteration_finished","exit_code":0}"#;
    let verdicts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = [&one, &other, &one, &other]
            .into_iter()
            .map(|server| {
                let path = &path;
                scope.spawn(move || [0; 2].map(|_| server.post(path, finished).json()))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Eight reports, of which one, and no matter whose, is told that it was the last.
    let told = |word: &str| verdicts.iter().filter(|told| told["verdict"] == word).count();
    assert_eq!((told("continue"), told("stop")), (7, 1), "{verdicts:?}");
    for server in [&one, &other] {
        assert_eq!(server.post(&path, finished).json()["reason"], "max_iterations");
    }
}
