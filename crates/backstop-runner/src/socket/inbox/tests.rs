//! Messages through a real store.

use backstop_core::document::{Syntax, canonical_json};
use backstop_core::policy::{Policy, Preset};
use backstop_core::state::RunStatus;
use backstop_store::{Holder, Home, Location, Run, StoredPolicy, open};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::{broadcast, mpsc};

use super::*;
use crate::socket::{Place, Reply, Request, What};
use crate::unsupervised::new_run_id;

struct Fixture {
    store: Arc<dyn Store>,
    lease: Lease,
    settings: Settings,
    requests: mpsc::Receiver<Request>,
    _folder: TempDir,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&Location::Embedded(Home::new(folder.path()))).await.unwrap();
    let now = wall_time();
    let policy = Policy::preset(Preset::Default);
    let stored = StoredPolicy {
        hash: policy.hash(),
        label: None,
        json: canonical_json(&policy.to_json()),
        source: None,
        source_name: "preset:default".to_owned(),
        put_by: "ann".to_owned(),
        put_at: now,
    };
    assert!(Policy::load(stored.json.as_bytes(), Syntax::Json).is_ok());
    store.policy_put(&stored).await.unwrap();
    let run = Run {
        id: new_run_id(now),
        created_at: now,
        updated_at: now,
        cwd: "/".to_owned(),
        command: Vec::new(),
        labels: Default::default(),
        policy_hash: stored.hash,
        status: RunStatus::Running,
        state: json!({}),
        launch: json!({}),
        supervised: true,
        pruned: false,
    };
    store.run_create(&run).await.unwrap();
    let holder = Holder {
        host: "here".to_owned(),
        boot_id: "1".to_owned(),
        pid: std::process::id(),
        outer_pid: 1,
        start_ticks: 1,
        outer_start_ticks: 1,
        cgroup: None,
        lease_ms: None,
    };
    let minute = Duration::from_secs(60);
    let lease = store.lease_acquire(run.id, &holder, minute, None).await.unwrap();
    let (sender, requests) = mpsc::channel(4);
    let settings = Settings {
        place: Place::at(folder.path().join("backstop/RUN")).unwrap(),
        requests: sender,
        durable: Arc::new(|_| Box::pin(async { Ok(()) })),
        journalled: broadcast::channel(1).0,
        is_supervised: Arc::new(|_| false),
    };
    Fixture { store, lease, settings, requests, _folder: folder }
}

impl Fixture {
    /// Answers requests as a dispatcher would, and notes them.
    fn answer_requests(&mut self) -> mpsc::UnboundedReceiver<What> {
        let (sender, heard) = mpsc::unbounded_channel();
        let mut requests = std::mem::replace(&mut self.requests, mpsc::channel(1).1);
        tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                let _ = sender.send(request.what);
                let _ = request.reply.send(Reply::done(Some(7)));
            }
        });
        heard
    }
}

#[tokio::test]
async fn a_message_is_answered_like_a_line_on_the_socket() {
    let mut fixture = fixture().await;
    let mut heard = fixture.answer_requests();
    let serving = serve(
        Arc::clone(&fixture.store),
        fixture.lease.clone(),
        BTreeMap::new(),
        fixture.settings.clone(),
    );
    let stop = Order::Stop { now: false, by: "ann".to_owned() };
    let asking = order(&*fixture.store, fixture.lease.run, &stop, Duration::from_secs(30));
    let answer = tokio::select! {
        answer = asking => answer.unwrap(),
        error = serving => panic!("{error}"),
    };
    assert_eq!(answer.seq(), Some(7));
    assert_eq!(heard.recv().await, Some(What::Order(stop)));
    // What was answered is not found again.
    let left = drain(&*fixture.store, &fixture.lease, &fixture.settings).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn an_event_that_nobody_may_leave_is_refused_and_recorded() {
    let mut fixture = fixture().await;
    let mut heard = fixture.answer_requests();
    let (store, run) = (&*fixture.store, fixture.lease.run);
    let proof = Event::from_json(br#"{"type":"verification","outcome":"passed"}"#).unwrap();
    let drained = async {
        while drain(store, &fixture.lease, &fixture.settings).await.unwrap() < 1 {
            tokio::task::yield_now().await;
        }
    };
    let asked = event(store, run, &proof, Duration::from_secs(30));
    let (answer, ()) = tokio::join!(asked, drained);
    assert!(matches!(&answer, Err(InboxError::Refused(why)) if why.contains("`verification`")));
    assert!(matches!(heard.try_recv(), Ok(What::Refused(_))));
}

#[tokio::test]
async fn a_message_that_nobody_waits_for_is_not_carried_out() {
    let mut fixture = fixture().await;
    let mut heard = fixture.answer_requests();
    let stop = Order::Stop { now: true, by: "ann".to_owned() };
    let none = order(&*fixture.store, fixture.lease.run, &stop, Duration::ZERO).await;
    assert!(matches!(none, Err(InboxError::NoAnswer(_))), "{none:?}");
    let drained = drain(&*fixture.store, &fixture.lease, &fixture.settings).await.unwrap();
    assert_eq!(drained, 1);
    assert!(heard.try_recv().is_err());
}

#[tokio::test]
async fn a_report_with_a_key_is_taken_in_by_a_supervisor_that_was_away() {
    let mut fixture = fixture().await;
    let mut heard = fixture.answer_requests();
    let reported = [Event::from_json(br#"{"type":"progress","kind":"other"}"#).unwrap()];
    let key = ReportKey { key: "k".to_owned(), digest: "d".to_owned() };
    let (store, run) = (&*fixture.store, fixture.lease.run);
    let late = events(store, run, &reported, Some(&key), Duration::ZERO).await;
    assert!(matches!(late, Err(InboxError::NoAnswer(_))), "{late:?}");
    assert_eq!(drain(store, &fixture.lease, &fixture.settings).await.unwrap(), 1);
    let again = events(store, run, &reported, Some(&key), Duration::ZERO).await.unwrap();
    assert_eq!(again.seq(), Some(7));
    assert!(heard.recv().await.is_some());
    assert_eq!(drain(store, &fixture.lease, &fixture.settings).await.unwrap(), 0);
}

#[tokio::test]
async fn what_may_not_be_reported_may_not_be_posted() {
    let mut fixture = fixture().await;
    let _heard = fixture.answer_requests();
    let halted = Event::from_json(br#"{"type":"halted"}"#).unwrap();
    let patience = Duration::from_secs(30);
    let asking = event(&*fixture.store, fixture.lease.run, &halted, patience);
    let serving = serve(
        Arc::clone(&fixture.store),
        fixture.lease.clone(),
        BTreeMap::new(),
        fixture.settings.clone(),
    );
    let answer = tokio::select! {
        answer = asking => answer,
        error = serving => panic!("{error}"),
    };
    assert!(matches!(answer, Err(InboxError::Refused(_))), "{answer:?}");
}
