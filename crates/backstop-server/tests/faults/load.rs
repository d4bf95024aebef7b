//! Requests that come without a pause, and what was answered to them.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use backstop_store::Store;
use backstop_store::audit::{AuditFilter, verify};
use serde_json::Value as Json;

use crate::support::{Answer, Server, ask};

/// Asks for decisions and reports events until it is told to end.
pub struct Load {
    run: RunId,
    shared: Arc<Shared>,
    deciding: Vec<JoinHandle<Decided>>,
    reporting: Vec<JoinHandle<Reported>>,
}

struct Shared {
    address: SocketAddr,
    end: AtomicBool,
    /// Odd while the store can surely not be written.
    phase: AtomicU64,
    /// How many were let go on, and how many were held.
    gone_on: AtomicU64,
    held: AtomicU64,
    taken_in: AtomicU64,
    turned_away: AtomicU64,
}

#[derive(Default)]
struct Decided {
    asked: BTreeSet<String>,
    let_go_on: BTreeSet<String>,
}

#[derive(Default)]
struct Reported {
    acknowledged: BTreeSet<String>,
    /// The one that was on its way at the end.
    doubtful: Option<String>,
}

impl Load {
    pub fn start(server: &Server) -> Self {
        let policy = r#"{"policy":{"limits":{"iterations":1000000}}}"#;
        let begun = server.post("/v1/runs", policy).json();
        let run: RunId = begun["run_id"].as_str().unwrap().parse().unwrap();
        let shared = Arc::new(Shared {
            address: server.address,
            end: AtomicBool::new(false),
            phase: AtomicU64::new(0),
            gone_on: AtomicU64::new(0),
            held: AtomicU64::new(0),
            taken_in: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
        });
        let threads = |count: u32| (0..count).map(|number| (Arc::clone(&shared), number));
        let deciding =
            threads(2).map(|(shared, number)| thread::spawn(move || decide(&shared, number)));
        let deciding = deciding.collect();
        let reporting =
            threads(2).map(|(shared, number)| thread::spawn(move || report(&shared, run, number)));
        let reporting = reporting.collect();
        Self { run, shared, deciding, reporting }
    }

    /// Waits until that many more were let go on, and as many events taken in.
    pub fn flows(&self, count: u64) {
        self.grows(&[&self.shared.gone_on, &self.shared.taken_in], count);
    }

    /// From here to the end of this call the store can surely not be written: waits until that many
    /// were held and turned away.
    pub fn is_held(&self, count: u64) {
        self.shared.phase.fetch_add(1, Ordering::SeqCst);
        self.grows(&[&self.shared.held, &self.shared.turned_away], count);
        self.shared.phase.fetch_add(1, Ordering::SeqCst);
    }

    fn grows(&self, counters: &[&AtomicU64], count: u64) {
        let goals: Vec<_> =
            counters.iter().map(|counter| counter.load(Ordering::SeqCst) + count).collect();
        let begun = Instant::now();
        while counters.iter().zip(&goals).any(|(one, goal)| one.load(Ordering::SeqCst) < *goal) {
            let threads = self.deciding.iter().map(JoinHandle::is_finished);
            let threads = threads.chain(self.reporting.iter().map(JoinHandle::is_finished));
            assert!(!threads.into_iter().any(|ended| ended), "a client has failed");
            assert!(begun.elapsed() < Duration::from_secs(120), "nothing goes on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends, and compares what was answered with what is there.
    pub fn end_and_check(self, server: &Server, store: &Arc<dyn Store>) {
        self.shared.end.store(true, Ordering::SeqCst);
        let mut decided = Decided::default();
        for thread in self.deciding {
            let one = thread.join().unwrap();
            decided.asked.extend(one.asked);
            decided.let_go_on.extend(one.let_go_on);
        }
        let mut reported = Reported::default();
        let mut doubtful = BTreeSet::new();
        for thread in self.reporting {
            let one = thread.join().unwrap();
            reported.acknowledged.extend(one.acknowledged);
            doubtful.extend(one.doubtful);
        }

        let rows = server.wait(all_rows(store));
        let mut on_record: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (id, word) in rows {
            on_record.entry(id).or_default().push(word);
        }
        for (id, words) in &on_record {
            assert!(decided.asked.contains(id), "a decision is on record that nobody asked for");
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            // A decision that was not told, since it came too late or was not known to be recorded, is
            // followed by the hold that was.
            let is_told = match decided.let_go_on.contains(id) {
                true => words == ["CONTINUE"],
                false => matches!(words[..], ["HOLD"] | [_, "HOLD"]),
            };
            assert!(is_told, "{id} is on record as {words:?}");
        }
        let is_lost = |id: &&String| !on_record.contains_key(*id);
        assert_eq!(decided.let_go_on.iter().find(is_lost), None, "a decision is lost");
        assert_eq!(server.wait(verify(&**store, None, |_| {})).unwrap().finding, None);

        let events = server.wait(store.event_list(self.run, 0, u32::MAX)).unwrap();
        let mut units = BTreeSet::new();
        for event in &events {
            let body: Json = serde_json::from_str(&event.body).unwrap();
            if body["type"] == "unit" {
                let id = body["id"].as_str().unwrap().to_owned();
                assert!(units.insert(id), "an event is there twice: {body}");
            }
        }
        assert!(reported.acknowledged.is_subset(&units), "an event is lost");
        let known: BTreeSet<_> = reported.acknowledged.union(&doubtful).cloned().collect();
        assert!(units.is_subset(&known), "an event is there that nobody reported");
    }
}

async fn all_rows(store: &Arc<dyn Store>) -> Vec<(String, String)> {
    let filter = AuditFilter { limit: u32::MAX, ..AuditFilter::default() };
    let rows = store.audit_list(&filter).await.unwrap();
    rows.into_iter().map(|row| (row.row.request_id, row.row.decision)).collect()
}

fn decide(shared: &Shared, number: u32) -> Decided {
    let mut decided = Decided::default();
    for round in 0_u64.. {
        if shared.end.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("decision-{number}-{round}");
        let path = format!(
            "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop&currentJobAttempts=0\
             &totalPrAttempts=0&requestId={id}"
        );
        decided.asked.insert(id.clone());
        let (answer, is_down) = shared.ask("GET", &path, &[], "");
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.json();
        assert_eq!(told["requestId"], *id);
        match told["decision"].as_str().unwrap() {
            "CONTINUE" => {
                assert!(!is_down, "let go on without a record: {answer:?}");
                decided.let_go_on.insert(id);
                shared.gone_on.fetch_add(1, Ordering::SeqCst);
            }
            _ => {
                assert_eq!(told["decision"], "HOLD");
                assert_eq!(told["reasonCode"], "LAWBOOK_BLOCK");
                assert_eq!(told["recommendedNextStep"], "MANUAL_REVIEW");
                shared.held.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    decided
}

/// What was not acknowledged is reported again with its key, until it is.
fn report(shared: &Shared, run: RunId, number: u32) -> Reported {
    let mut reported = Reported::default();
    let path = format!("/v1/runs/{run}/events");
    for round in 0_u64.. {
        let id = format!("unit-{number}-{round}");
        let body = format!(r#"{{"type":"unit","id":"{id}","status":"approved"}}"#);
        let headers = [("content-type", "application/json"), ("idempotency-key", &id)];
        loop {
            if shared.end.load(Ordering::SeqCst) {
                reported.doubtful = Some(id);
                return reported;
            }
            let (answer, is_down) = shared.ask("POST", &path, &headers, &body);
            assert_eq!(answer.status, 200, "{answer:?}");
            let told = answer.json();
            if told.get("stored").is_some() {
                assert_eq!((told["verdict"].as_str(), told["reason"].as_str()), HELD);
                shared.turned_away.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            assert!(!is_down, "acknowledged without a record: {answer:?}");
            assert_eq!(told["verdict"], "continue", "{answer:?}");
            reported.acknowledged.insert(id);
            shared.taken_in.fetch_add(1, Ordering::SeqCst);
            break;
        }
    }
    reported
}

impl Shared {
    /// Asks, and tells whether the store was surely down from before the question to the answer.
    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (Answer, bool) {
        let before = self.phase.load(Ordering::SeqCst);
        let answer = ask(self.address, method, path, headers, body);
        let after = self.phase.load(Ordering::SeqCst);
        (answer, before == after && before % 2 == 1)
    }
}

const HELD: (Option<&str>, Option<&str>) = (Some("hold"), Some("policy_block"));
