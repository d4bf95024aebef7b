//! Runs put into a store as a supervisor would have left them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backstop_core::document::{Syntax, canonical_json};
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_runner::journalled::{self, new_event};
use backstop_runner::tree::identity;
use backstop_store::{
    Batch, Holder, Home, Lease, Location, Run, RunUpdate, Store, StoredPolicy, Writer,
};
use tokio::runtime::Runtime;

use super::Test;

/// Three iterations without progress end the run.
pub const POLICY: &str = "[limits]\niterations = 50\ncost_usd = 20\n\n[[rule]]\nwhen = { type = \"no_progress\", iterations = 3 }\nthen = \"stop\"\n";

/// A store in a test's folder.
pub struct Planted {
    pub store: Arc<dyn Store>,
    pub home: Home,
    pub runtime: Runtime,
    cwd: PathBuf,
}

/// How much of a halt has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    None,
    /// The journal says so, and nothing else.
    Journal,
    Whole,
}

impl Planted {
    pub fn new(test: &Test) -> Self {
        let home = Home::new(test.path().join(".local/state/backstop"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("possible in a test");
        let store = runtime.block_on(backstop_store::open(&Location::Embedded(home.clone())));
        let cwd = test.path().canonicalize().expect("possible in a test");
        Self { store: store.expect("a store"), home, runtime, cwd }
    }

    /// A run that began three hours ago, took these events half a minute apart, and was then left.
    pub fn run(&self, id: &str, events: &[&str], halt: Halt) -> RunId {
        let (lease, mut engine, mut seq) = self.begun(id, &dead(), "./agent.sh", &[]);
        let run = lease.run;
        let started = wall_time().minus(Duration::from_secs(3 * 3600));
        let mut batch = self.batch(&lease);
        for line in events {
            seq += 1;
            let at = started.plus(Duration::from_secs(30 * seq));
            let mut event = Event::from_json(line.as_bytes()).expect("an event").at(at);
            event.active_ms = Some(30_000 * seq);
            event.seq = Some(seq);
            engine.handle_event(&event, at);
            batch.events.push(new_event(&event));
        }
        let now = engine.moment(Timestamp::from_nanos(i64::MIN));
        let decision = engine.poll_decision(now);
        if halt != Halt::None {
            let status = RunStatus::after(decision.verdict);
            let state = RunState::halted(run, status, &decision, &engine);
            let decided = journalled::decided(&decision, engine.policy());
            let halted = format!(
                r#"{{"type":"halted","reason":"{}","status":"{status}","message":"{}"}}"#,
                decision.reason.as_deref().unwrap_or(""),
                decision.message
            );
            for mut event in [
                Event::new(decided),
                Event::from_json(halted.as_bytes()).expect("possible in a test"),
            ] {
                seq += 1;
                event = event.at(now.at).active_ms(30_000 * events.len() as u64);
                event.seq = Some(seq);
                batch.events.push(new_event(&event));
            }
            batch.decisions.push(journalled::record(&decision, seq - 1));
            batch.update = (halt == Halt::Whole).then(|| RunUpdate {
                at: now.at,
                status,
                state: serde_json::to_value(&state).expect("possible in a test"),
                policy_hash: state.policy_hash.clone(),
            });
        }
        self.wait(self.store.append(&batch)).expect("appended");
        if halt != Halt::None {
            self.wait(self.store.lease_release(&lease)).expect("released");
        }
        run
    }

    /// A run that somebody supervises from now on.
    pub fn begun(
        &self,
        id: &str,
        holder: &Holder,
        command: &str,
        labels: &[(&str, &str)],
    ) -> (Lease, Engine, u64) {
        let id: RunId = id.parse().expect("a name");
        let policy = Policy::load(POLICY.as_bytes(), Syntax::Toml).expect("a policy").policy;
        let began = wall_time().minus(Duration::from_secs(3 * 3600));
        let stored = StoredPolicy {
            hash: policy.hash(),
            label: None,
            json: canonical_json(&policy.to_json()),
            source: None,
            source_name: "p.toml".to_owned(),
            put_by: "ann".to_owned(),
            put_at: began,
        };
        let engine = Engine::new(policy);
        let run = Run {
            id,
            created_at: began,
            updated_at: began,
            cwd: self.cwd.to_string_lossy().into_owned(),
            command: vec![command.to_owned()],
            labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            policy_hash: stored.hash.clone(),
            status: RunStatus::Running,
            state: serde_json::to_value(RunState::going_on(id, RunStatus::Running, &engine))
                .expect("possible in a test"),
            launch: serde_json::Value::Null,
            supervised: true,
            pruned: false,
        };
        self.wait(self.store.policy_put(&stored)).expect("stored");
        self.wait(self.store.run_create(&run)).expect("created");
        let lease = self.wait(self.store.lease_acquire(id, holder, Duration::from_secs(60), None));
        (lease.expect("a lease"), engine, 0)
    }

    pub fn batch(&self, lease: &Lease) -> Batch {
        Batch::new(lease.run, Writer::Supervisor(lease.clone()))
    }

    pub fn fetch(&self, run: RunId) -> Run {
        self.wait(self.store.run_fetch(run)).expect("readable").expect("there")
    }

    /// Puts bytes into the log of an iteration.
    pub fn log(&self, run: RunId, iteration: u64, bytes: &[u8]) {
        let folder = self.home.run(run).output();
        std::fs::create_dir_all(&folder).expect("possible in a test");
        std::fs::write(folder.join(format!("{iteration:06}.log")), bytes)
            .expect("possible in a test");
    }

    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

/// A supervisor of this machine that went with an earlier boot.
pub fn dead() -> Holder {
    Holder { boot_id: "before".to_owned(), ..identity::holder(None) }
}

/// Iterations that come to nothing, each for a dollar.
pub fn idle_iterations(count: u64) -> Vec<String> {
    let mut events = vec![r#"{"type":"run_started"}"#.to_owned()];
    for number in 1..=count {
        events.push(format!(r#"{{"type":"iteration_started","iteration":{number}}}"#));
        events.push(r#"{"type":"usage","input_tokens":1000,"cost_usd":1}"#.to_owned());
        events.push(format!(
            r#"{{"type":"iteration_finished","iteration":{number},"exit_code":0,"duration_ms":9}}"#
        ));
    }
    events
}
