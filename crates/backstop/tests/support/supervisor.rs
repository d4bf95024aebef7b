//! A run whose supervisor the test plays: it holds the lease, listens, and notes what it is asked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backstop_core::document::Syntax;
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::RunStatus;
use backstop_runner::ancestry;
use backstop_runner::clock::wall_time;
use backstop_runner::socket::{Place, Reply, Request, Server, Settings, What, inbox};
use backstop_runner::unsupervised::{PinnedPolicy, new_run_id};
use backstop_store::{Holder, Home, Location, Run, open};
use serde_json::json;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{broadcast, mpsc, oneshot};

/// A supervisor without a loop.
pub struct Supervisor {
    pub run: RunId,
    pub report: PathBuf,
    heard: Arc<Mutex<Vec<What>>>,
    server: Option<Server>,
    _ends_the_thread: oneshot::Sender<()>,
}

impl Supervisor {
    /// Supervises a new run in the store below `home`, with sockets below `runtime_directory`;
    /// without one it has only its inbox. Events are answered with `answer`.
    pub fn start(
        home: &Path,
        runtime_directory: Option<&Path>,
        policy: &str,
        answer: &'static str,
    ) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let handle = runtime.handle().clone();
        let (sender, dropped) = oneshot::channel::<()>();
        std::thread::spawn(move || runtime.block_on(dropped));
        let run = new_run_id(wall_time());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (requests, asked) = mpsc::channel(16);
        handle.spawn(answer_all(asked, Arc::clone(&heard), answer));
        let place = runtime_directory.map(|path| path.join("backstop").join(run.as_str()));
        let hidden = home.with_file_name("elsewhere").join(run.as_str());
        let place = Place::at(place.unwrap_or(hidden)).expect("a place");
        let settings = Settings {
            place: place.clone(),
            requests,
            durable: Arc::new(|_| Box::pin(async { Ok(()) })),
            journalled: broadcast::channel(16).0,
            is_supervised: Arc::new(move |pid| ancestry::runs(pid).any(|known| known == run)),
        };
        let server = runtime_directory.map(|_| {
            let _inside = handle.enter();
            Server::start(settings.clone()).expect("a server")
        });
        supervise(&handle, Home::new(home), run, policy, settings);
        Self { run, report: place.report(), heard, server, _ends_the_thread: sender }
    }

    /// What was asked so far.
    pub fn heard(&self) -> Vec<What> {
        self.heard.lock().expect("nobody panicked").clone()
    }

    /// Closes the sockets; the inbox stays.
    pub fn close(&mut self) {
        self.server = None;
    }
}

async fn answer_all(
    mut asked: mpsc::Receiver<Request>,
    heard: Arc<Mutex<Vec<What>>>,
    answer: &'static str,
) {
    while let Some(Request { what, reply, .. }) = asked.recv().await {
        let is_event = matches!(what, What::Event(_));
        heard.lock().expect("nobody panicked").push(what);
        let line = if is_event { answer.to_owned() } else { json!({ "done": true }).to_string() };
        let _ = reply.send(Reply { line, durable: None });
    }
}

/// Creates the run, takes its lease and serves its inbox.
fn supervise(handle: &Handle, home: Home, run: RunId, policy: &str, settings: Settings) {
    let policy = Policy::load(policy.as_bytes(), Syntax::Toml).expect("a policy").policy;
    let pinned =
        PinnedPolicy { policy, text: None, name: "p.toml".to_owned(), put_by: "ann".to_owned() };
    let (sender, ready) = std::sync::mpsc::channel();
    handle.spawn(async move {
        let store = open(&Location::Embedded(home)).await.expect("a store");
        let now = wall_time();
        let stored = pinned.stored(now);
        store.policy_put(&stored).await.expect("kept");
        let record = Run {
            id: run,
            created_at: now,
            updated_at: now,
            cwd: "/".to_owned(),
            command: vec!["true".to_owned()],
            labels: Default::default(),
            policy_hash: stored.hash,
            status: RunStatus::Running,
            state: json!({}),
            launch: json!({}),
            supervised: true,
            pruned: false,
        };
        store.run_create(&record).await.expect("created");
        let holder = Holder {
            host: "here".to_owned(),
            boot_id: "1".to_owned(),
            pid: std::process::id(),
            outer_pid: std::process::id(),
            start_ticks: 1,
            outer_start_ticks: 1,
            cgroup: None,
            lease_ms: None,
        };
        let hour = Duration::from_secs(3600);
        let lease = store.lease_acquire(run, &holder, hour, None).await.expect("a lease");
        let _ = sender.send(());
        inbox::serve(store, lease, std::collections::BTreeMap::new(), settings).await;
    });
    ready.recv().expect("the run is there");
}
