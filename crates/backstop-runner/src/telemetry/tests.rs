//! Real connections to a real port.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;

use super::*;
use crate::socket::{Reply, Source, What};

/// A receiver whose dispatcher notes what it gets.
struct Fixture {
    address: SocketAddr,
    secret: String,
    heard: Arc<Mutex<Vec<What>>>,
    durable: watch::Sender<u64>,
    closing: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Fixture {
    fn new() -> Self {
        let (durable, stored) = watch::channel(u64::MAX);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        let (ready, started) = std::sync::mpsc::channel();
        let (closing, close) = tokio::sync::oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let (requests, mut asked) = mpsc::channel::<Request>(16);
                let durable: Durable = Arc::new(move |seq| {
                    let mut stored = stored.clone();
                    Box::pin(async move {
                        let waited = stored.wait_for(|stored| *stored >= seq).await;
                        waited.map(drop).map_err(|_| "the disk is full".to_owned())
                    })
                });
                tokio::spawn(async move {
                    while let Some(Request { from, what, reply }) = asked.recv().await {
                        assert_eq!(from, Source::Child);
                        notes.lock().unwrap().push(what);
                        let _ = reply.send(Reply::done(Some(1)));
                    }
                });
                let receiver = Receiver::start(Inlet { requests, durable }).await.unwrap();
                let told = receiver.environment().into_iter();
                let mut told = told.filter(|(name, _)| name == "OTEL_EXPORTER_OTLP_HEADERS");
                let header = told.next().unwrap().1.into_string().unwrap();
                let secret = header.strip_prefix("x-backstop-token=").unwrap().to_owned();
                ready.send((receiver.address(), secret)).unwrap();
                let _ = close.await;
                receiver.finish(Duration::from_secs(5)).await;
            });
        });
        let (address, secret) = started.recv().unwrap();
        Self { address, secret, heard, durable, closing: Some(closing), thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A head with the secret, to which more lines can be added.
    fn head(&self, line: &str, more: &str) -> String {
        let secret = &self.secret;
        format!("{line} HTTP/1.1\r\nHost: x\r\nx-backstop-token: {secret}\r\n{more}\r\n")
    }

    fn post(&self, path: &str, body: &str) -> String {
        let more = format!(
            "Content-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\n",
            body.len()
        );
        self.say(&format!("{}{body}", self.head(&format!("POST {path}"), &more)))
    }

    /// Sends this and answers with all that comes back.
    fn say(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        // Who is refused before everything was read may see the connection reset after the answer.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.closing.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const LOGS: &str = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"claude_code.api_request"},"attributes":[{"key":"cost_usd","value":{"doubleValue":0.5}}]}]}]}]}"#;

#[test]
fn an_export_is_handed_on_and_acknowledged() {
    let fixture = Fixture::new();
    let answer = fixture.post("/v1/logs", LOGS);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("{\"partialSuccess\":{}}"), "{answer}");
    assert!(matches!(&fixture.heard.lock().unwrap()[..], [What::Telemetry(_)]));
    for path in ["/v1/metrics", "/v1/traces"] {
        let answer = fixture.post(path, "{}");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    assert_eq!(fixture.heard(), 1, "what holds nothing troubles nobody");
}

#[test]
fn chunks_are_put_together_and_a_connection_serves_many() {
    let fixture = Fixture::new();
    let chunked = |last: &str| {
        let more = format!(
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: {last}\r\n"
        );
        let (one, two) = LOGS.split_at(30);
        let head = fixture.head("POST /v1/logs", &more);
        format!("{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len())
    };
    let answers = fixture.say(&format!("{}{}", chunked("keep-alive"), chunked("close")));
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert_eq!(fixture.heard(), 2);
}

#[test]
fn everything_else_is_refused_with_a_reason() {
    let fixture = Fixture::new();
    let json = "Content-Type: application/json\r\nConnection: close\r\n";
    let protobuf =
        "Content-Type: application/x-protobuf\r\nContent-Length: 0\r\nConnection: close\r\n";
    let gzip = format!("Content-Encoding: gzip\r\nContent-Length: 0\r\n{json}");
    let large = format!("Content-Length: {}\r\n{json}", exchange::MOST_BYTES + 1);
    let wrong = fixture.head("POST /v1/logs", json).replace(&fixture.secret, &"0".repeat(32));
    for (request, status, words) in [
        (fixture.head("GET /v1/logs", json), "405 Method Not Allowed", "only POST"),
        (fixture.head("POST /v1/profiles", json), "404 Not Found", "/v1/metrics, /v1/logs"),
        (fixture.head("POST /v1/logs", protobuf), "415 Unsupported", "PROTOCOL=http/json"),
        (fixture.head("POST /v1/logs", &gzip), "415 Unsupported", "COMPRESSION=none"),
        (fixture.head("POST /v1/logs", &large), "413 Payload Too Large", "16 MiB at most"),
        (wrong, "401 Unauthorized", "x-backstop-token"),
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "401", "token"),
        ("nonsense\r\n\r\n".to_owned(), "400 Bad Request", ""),
    ] {
        let answer = fixture.say(&request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}\n{answer}");
        assert!(answer.contains(words), "{request}\n{answer}");
    }
    let answer = fixture.post("/v1/logs", "[]");
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{answer}");
    assert!(answer.contains("not an object"), "{answer}");
    assert_eq!(fixture.heard(), 0);
}

#[test]
fn chunks_without_end_are_cut_off() {
    let fixture = Fixture::new();
    let more = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let mut stream = fixture.connect();
    stream.write_all(fixture.head("POST /v1/logs", more).as_bytes()).unwrap();
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    // The connection is closed as soon as there is too much.
    let taken = (0..64).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(taken < 64, "all of it was taken");
    assert_eq!(fixture.heard(), 0);
}

#[test]
fn an_export_is_acknowledged_only_once_it_is_on_disk() {
    let fixture = Fixture::new();
    fixture.durable.send_replace(0);
    let mut stream = fixture.connect();
    let more = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        LOGS.len()
    );
    let request = format!("{}{LOGS}", fixture.head("POST /v1/logs", &more));
    stream.write_all(request.as_bytes()).unwrap();
    while fixture.heard() == 0 {
        std::thread::yield_now();
    }
    stream.set_nonblocking(true).unwrap();
    assert!(stream.read(&mut [0; 16]).is_err(), "it was answered too early");
    fixture.durable.send_replace(1);
    stream.set_nonblocking(false).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[test]
fn there_is_room_for_so_many() {
    let fixture = Fixture::new();
    let _held: Vec<TcpStream> = (0..MOST_CONNECTIONS).map(|_| fixture.connect()).collect();
    let answer = fixture.post("/v1/logs", LOGS);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(fixture.heard(), 0);
}
