//! Server and client together, with a dispatcher that only plays its part.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backstop_core::event::Event;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::*;

/// A server whose dispatcher notes what it is asked and answers with numbers.
struct Fixture {
    runtime: Background,
    server: Option<Server>,
    place: Place,
    heard: Arc<Mutex<Vec<(Source, What)>>>,
    durable: watch::Sender<u64>,
    journalled: broadcast::Sender<Arc<str>>,
    _folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| false)
    }

    fn with(is_supervised: fn(u32) -> bool) -> Self {
        let runtime = Background::new();
        let folder = tempfile::tempdir().unwrap();
        let place = Place::at(folder.path().join("backstop/RUN")).unwrap();
        let (requests, mut asked) = mpsc::channel::<Request>(16);
        // Everything is durable at once, unless a test holds it back.
        let (durable, stored) = watch::channel(u64::MAX);
        let (journalled, _) = broadcast::channel(64);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let settings = Settings {
            place: place.clone(),
            requests,
            durable: Arc::new(move |seq| {
                let mut stored = stored.clone();
                Box::pin(async move {
                    let waited = stored.wait_for(|stored| *stored >= seq).await;
                    waited.map(drop).map_err(|_| "the disk is full".to_owned())
                })
            }),
            journalled: journalled.clone(),
            is_supervised: Arc::new(is_supervised),
        };
        let notes = Arc::clone(&heard);
        let numbers = AtomicU64::new(0);
        runtime.handle.spawn(async move {
            while let Some(Request { from, what, reply }) = asked.recv().await {
                let stores = matches!(what, What::Event(_));
                notes.lock().unwrap().push((from, what));
                let seq = stores.then(|| numbers.fetch_add(1, Ordering::SeqCst) + 1);
                let line = json!({ "verdict": "continue", "seq": seq }).to_string();
                let _ = reply.send(Reply { line, durable: seq });
            }
        });
        let server = {
            let _inside = runtime.handle.enter();
            Some(Server::start(settings).unwrap())
        };
        Self { runtime, server, place, heard, durable, journalled, _folder: folder }
    }

    fn reporter(&self) -> Client {
        Client::report_to(&self.place.report()).unwrap()
    }

    fn operator(&self) -> Client {
        Client::operate_at(&self.place.operate()).unwrap()
    }

    fn heard(&self) -> Vec<(Source, What)> {
        self.heard.lock().unwrap().clone()
    }
}

/// A runtime that a thread of its own drives, so that tests may wait as clients do.
struct Background {
    handle: Handle,
    _until_dropped: oneshot::Sender<()>,
}

impl Background {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        let (sender, dropped) = oneshot::channel::<()>();
        std::thread::spawn(move || runtime.block_on(dropped));
        Self { handle, _until_dropped: sender }
    }
}

fn unit(id: &str) -> Event {
    Event::from_json(format!(r#"{{"type":"unit","id":"{id}","status":"failed"}}"#).as_bytes())
        .unwrap()
}

#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_event_is_handed_on_and_answered_with_the_decision() {
    let fixture = Fixture::new();
    let mut client = fixture.reporter();
    let answer = client.event(&unit("f1")).unwrap();
    assert_eq!((answer.verdict(), answer.seq()), (Some("continue"), Some(1)));
    assert_eq!(client.event(&unit("f2")).unwrap().seq(), Some(2));
    assert_eq!(client.decision().unwrap().seq(), None);
    let heard = fixture.heard();
    assert_eq!(heard[0], (Source::Child, What::Event(Box::new(unit("f1")))));
    assert_eq!(heard[2], (Source::Child, What::Decision));
}

#[test]
fn who_reports_and_goes_away_is_heard_to_the_end() {
    let fixture = Fixture::new();
    let lines = (0..50).map(|n| format!("{}\n", unit(&n.to_string()).to_json()));
    let mut leaving = UnixStream::connect(fixture.place.report()).unwrap();
    leaving.write_all(lines.collect::<String>().as_bytes()).unwrap();
    drop(leaving);
    until("all of it", || fixture.heard().len() == 50);
}

#[test]
fn orders_come_from_the_operator() {
    let fixture = Fixture::new();
    let order = Order::Stop { now: true, by: "ann".to_owned() };
    fixture.operator().order(&order).unwrap();
    fixture.operator().event(&unit("f1")).unwrap();
    let heard = fixture.heard();
    assert_eq!(heard[0], (Source::Operator, What::Order(order)));
    assert_eq!(heard[1], (Source::Operator, What::Event(Box::new(unit("f1")))));
}

#[test]
fn what_a_child_may_not_send_is_refused_and_recorded() {
    let fixture = Fixture::new();
    let mut client = fixture.reporter();
    let refused = client.ask(r#"{"type":"raised","limit":"iterations","value":900}"#);
    assert!(matches!(refused, Err(ClientError::Refused(message)) if message.contains("`raised`")));
    assert!(matches!(&fixture.heard()[..], [(Source::Child, What::Refused(_))]));
    // Nonsense is answered, not recorded; and the connection lives on.
    assert!(matches!(client.ask("hello"), Err(ClientError::Refused(_))));
    assert!(matches!(client.ask(r#"{"do":"stop"}"#), Err(ClientError::Refused(_))));
    assert_eq!(fixture.heard().len(), 1);
    client.event(&unit("f1")).unwrap();
}

#[test]
fn a_supervised_process_can_not_operate() {
    let fixture = Fixture::with(|_| true);
    let refused = fixture.operator().order(&Order::Pause { by: String::new() });
    assert!(matches!(refused, Err(ClientError::Refused(_))), "{refused:?}");
    assert!(matches!(&fixture.heard()[..], [(Source::Operator, What::Refused(_))]));
    fixture.reporter().event(&unit("f1")).unwrap();
}

#[test]
fn nothing_is_acknowledged_before_it_is_stored_and_others_need_not_wait_for_it() {
    let fixture = Fixture::new();
    fixture.durable.send_replace(0);
    let socket = fixture.place.report();
    let reporters: Vec<_> = (0..8)
        .map(|number| {
            let socket = socket.clone();
            std::thread::spawn(move || {
                Client::report_to(&socket).unwrap().event(&unit(&format!("f{number}"))).unwrap()
            })
        })
        .collect();
    // All eight have been judged while none is stored.
    until("that all were heard", || fixture.heard().len() == 8);
    assert!(reporters.iter().all(|reporter| !reporter.is_finished()));
    fixture.durable.send_replace(8);
    let mut numbers: Vec<_> =
        reporters.into_iter().map(|reporter| reporter.join().unwrap().seq().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

#[test]
fn what_could_not_be_stored_is_not_acknowledged() {
    let mut fixture = Fixture::new();
    fixture.durable.send_replace(0);
    let mut client = fixture.reporter();
    let waiting = std::thread::spawn(move || client.event(&unit("f1")));
    until("that it was heard", || fixture.heard().len() == 1);
    fixture.durable = watch::channel(0).0;
    let answer = waiting.join().unwrap();
    assert!(matches!(answer, Err(ClientError::Refused(cause)) if cause.contains("disk is full")));
}

#[test]
fn clients_that_hang_or_die_harm_nobody() {
    let fixture = Fixture::new();
    let path = fixture.place.report();
    let _hanging: Vec<_> = (0..20).map(|_| half_a_line(&path)).collect();
    for _ in 0..20 {
        drop(half_a_line(&path));
    }
    let answer = fixture.reporter().event(&unit("f1")).unwrap();
    assert_eq!(answer.seq(), Some(1));
}

/// A client that asks and asks, and reads the answers when there is no more room for them.
#[test]
fn answers_that_nobody_reads_yet_wait() {
    let fixture = Fixture::new();
    let stream = UnixStream::connect(fixture.place.report()).unwrap();
    let mut asking = stream.try_clone().unwrap();
    let asked = std::thread::spawn(move || {
        (0..QUESTIONS).for_each(|_| asking.write_all(b"{\"ask\":\"decision\"}\n").unwrap());
    });
    let heard = std::cell::Cell::new((0, 0));
    until("the server to wait", || {
        let (before, times) = heard.get();
        let now = fixture.heard().len();
        heard.set((now, if now == before { times + 1 } else { 0 }));
        now > 0 && heard.get().1 > 20
    });
    assert!(fixture.heard().len() < QUESTIONS && !asked.is_finished());
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let answers = std::io::BufRead::lines(std::io::BufReader::new(stream)).take(QUESTIONS);
    assert!(answers.map(Result::unwrap).all(|line| line.contains("continue")));
    asked.join().unwrap();
    assert_eq!(fixture.heard().len(), QUESTIONS);
}

const QUESTIONS: usize = 20_000;

fn half_a_line(path: &Path) -> UnixStream {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(br#"{"type":"un"#).unwrap();
    stream
}

#[test]
fn too_many_connections_are_turned_away_and_the_operator_still_gets_in() {
    let fixture = Fixture::new();
    let path = fixture.place.report();
    let hanging: Vec<_> = (0..256).map(|_| half_a_line(&path)).collect();
    let mut late = Client::report_to(&path).unwrap();
    let refused = late.event(&unit("f1"));
    let words = "too many connections";
    assert!(matches!(&refused, Err(ClientError::Refused(m)) if m.contains(words)), "{refused:?}");
    fixture.operator().order(&Order::Status).unwrap();
    drop(hanging);
    until("that there is room again", || {
        Client::report_to(&path).is_ok_and(|mut client| client.event(&unit("f1")).is_ok())
    });
}

#[test]
fn a_line_without_an_end_is_cut_off() {
    let fixture = Fixture::new();
    let mut stream = UnixStream::connect(fixture.place.report()).unwrap();
    let chunk = vec![b'a'; 64 * 1024];
    let mut sent = 0;
    while sent <= 1 << 20 && stream.write_all(&chunk).is_ok() {
        sent += chunk.len();
    }
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.contains("1 MiB at most"), "{answer}");
    assert!(fixture.heard().is_empty());
}

#[test]
fn a_watcher_sees_every_event_until_the_run_ends() {
    let mut fixture = Fixture::new();
    let watching = fixture.operator().watch().unwrap();
    fixture.journalled.send(r#"{"type":"iteration_started"}"#.into()).unwrap();
    fixture.journalled.send(r#"{"type":"halted"}"#.into()).unwrap();
    let server = fixture.server.take().unwrap();
    fixture.runtime.handle.block_on(server.finish(Duration::from_secs(30)));
    let lines: Vec<_> = watching.map(Result::unwrap).collect();
    assert_eq!(lines, [r#"{"type":"iteration_started"}"#, r#"{"type":"halted"}"#]);
}

#[test]
fn a_watcher_that_is_too_slow_is_dropped() {
    let fixture = Fixture::new();
    let watching = fixture.operator().watch().unwrap();
    let line: Arc<str> = "x".repeat(1 << 16).into();
    // Nobody reads, and still nobody waits: more than the channel and the socket hold.
    for _ in 0..1000 {
        let _ = fixture.journalled.send(Arc::clone(&line));
    }
    let last = watching.map(Result::unwrap).last().unwrap();
    assert!(last.contains("too slow to watch"), "{}", &last[..80.min(last.len())]);
}

#[test]
fn sockets_are_replaced_when_stale_and_removed_at_the_end() {
    let mut fixture = Fixture::new();
    let left = fixture._folder.path().join("backstop/OTHER");
    let place = Place::at(&left).unwrap();
    drop(std::os::unix::net::UnixListener::bind(place.report()).unwrap());
    assert!(place.report().exists());
    let settings = settings_for(&place);
    let server = {
        let _inside = fixture.runtime.handle.enter();
        Server::start(settings).unwrap()
    };
    assert!(Client::report_to(&place.report()).is_ok());
    drop(server);
    assert!(!left.exists());
    fixture.server = None;
    assert!(!fixture.place.path().exists());
}

#[test]
fn a_server_that_was_replaced_leaves_the_others_sockets_alone() {
    let fixture = Fixture::new();
    let newer = {
        let _inside = fixture.runtime.handle.enter();
        Server::start(settings_for(&fixture.place)).unwrap()
    };
    let place = fixture.place.clone();
    let folder = fixture._folder.path().to_owned();
    drop(fixture.server);
    assert!(place.report().exists() && place.operate().exists(), "{}", folder.display());
    drop(newer);
}

fn settings_for(place: &Place) -> Settings {
    Settings {
        place: place.clone(),
        requests: mpsc::channel(1).0,
        durable: Arc::new(|_| Box::pin(async { Ok(()) })),
        journalled: broadcast::channel(1).0,
        is_supervised: Arc::new(|_| false),
    }
}

#[test]
fn whoever_asks_as_the_run_ends_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::at(folder.path().join("backstop/RUN")).unwrap();
    let runtime = Background::new();
    let _inside = runtime.handle.enter();
    // Its dispatcher is gone already.
    let _server = Server::start(settings_for(&place)).unwrap();
    let path: PathBuf = place.report();
    let answer = Client::report_to(&path).unwrap().event(&unit("f1"));
    assert!(matches!(answer, Err(ClientError::Refused(cause)) if cause.contains("ending")));
}
