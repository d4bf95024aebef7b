//! A run read back from a real store: from its whole journal, or from a snapshot and what came after.

use std::sync::Arc;

use backstop_core::document::canonical_json;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::policy::{Policy, Preset};
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_runner::journalled::new_event;
use backstop_runner::loading::load;
use backstop_store::{
    Batch, Home, Location, Run, Snapshot, Store, StoreError, StoredPolicy, Writer,
};

struct Journal {
    store: Arc<dyn Store>,
    run: RunId,
    engine: Engine,
    seq: u64,
    _folder: tempfile::TempDir,
}

impl Journal {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("possible in a test");
        let location = Location::Embedded(Home::new(folder.path()));
        let store = backstop_store::open(&location).await.expect("possible in a test");
        let policy = Policy::preset(Preset::Default);
        let run = RunId::new(1_780_000_000_000, 1);
        let now = wall_time();
        let stored = StoredPolicy {
            hash: policy.hash(),
            label: None,
            json: canonical_json(&policy.to_json()),
            source: None,
            source_name: "preset:default".to_owned(),
            put_by: "ann".to_owned(),
            put_at: now,
        };
        let engine = Engine::new(policy);
        store.policy_put(&stored).await.expect("possible in a test");
        let state = RunState::going_on(run, RunStatus::Running, &engine);
        let row = Run {
            id: run,
            created_at: now,
            updated_at: now,
            cwd: "/".to_owned(),
            command: Vec::new(),
            labels: Default::default(),
            policy_hash: stored.hash,
            status: RunStatus::Running,
            state: serde_json::to_value(state).expect("possible in a test"),
            launch: serde_json::Value::Null,
            supervised: false,
            pruned: false,
        };
        store.run_create(&row).await.expect("possible in a test");
        Self { store, run, engine, seq: 0, _folder: folder }
    }

    /// Appends so many units, every third of them rejected, perhaps with a snapshot.
    async fn append(&mut self, count: u64, with_snapshot: bool) {
        let mut events = Vec::new();
        for _ in 0..count {
            self.seq += 1;
            let status = if self.seq.is_multiple_of(3) { "rejected" } else { "approved" };
            let line =
                format!(r#"{{"type":"unit","id":"u{}","status":"{status}"}}"#, self.seq % 500);
            let mut event = Event::from_json(line.as_bytes()).expect("possible in a test");
            event.seq = Some(self.seq);
            event = event.at(Timestamp::from_nanos(
                i64::try_from(self.seq).expect("possible in a test") * 1_000_000,
            ));
            self.engine.handle_event(&event, Timestamp::default());
            events.push(new_event(&event));
        }
        let facts = serde_json::to_string(self.engine.facts()).expect("possible in a test");
        let snapshot = with_snapshot.then_some(Snapshot { seq: self.seq, facts });
        let run = self.run;
        let decide = move |_| Batch { events, snapshot, ..Batch::new(run, Writer::Unsupervised) };
        self.store.append_unsupervised(run, Box::new(decide)).await.expect("possible in a test");
    }
}

#[tokio::test]
async fn a_journal_of_any_length_gives_the_facts_that_it_tells() {
    let mut journal = Journal::new().await;
    // Beyond one page, onto the border of the second, and beyond it.
    for (count, total) in [(3, 3), (19_997, 20_000), (1, 20_001)] {
        journal.append(count, false).await;
        let loaded = load(&*journal.store, journal.run).await.unwrap();
        assert_eq!((loaded.last_seq, loaded.snapshot_seq), (total, 0));
        assert_eq!(loaded.engine.facts(), journal.engine.facts());
    }
}

#[tokio::test]
async fn a_snapshot_and_what_came_after_give_the_same() {
    let mut journal = Journal::new().await;
    journal.append(50, true).await;
    journal.append(7, false).await;
    let loaded = load(&*journal.store, journal.run).await.unwrap();
    assert_eq!((loaded.last_seq, loaded.snapshot_seq), (57, 50));
    assert_eq!(loaded.engine.facts(), journal.engine.facts());
    assert_eq!(loaded.engine.policy_hash(), journal.engine.policy_hash());
}

#[tokio::test]
async fn a_run_that_is_not_there_is_named() {
    let journal = Journal::new().await;
    let other = RunId::new(1_780_000_000_000, 2);
    let error = load(&*journal.store, other).await.unwrap_err();
    assert!(matches!(error, StoreError::NoRun(run) if run == other), "{error}");
}
