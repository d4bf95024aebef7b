//! Nobody can take more than their share.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::time::Duration;

use backstop_server::github::WebhookSecret;

use crate::support::{Answer, Server, connect, read_answer, read_head, request};

const JSON: (&str, &str) = ("content-type", "application/json");

fn with_limits(change: impl FnOnce(&mut backstop_server::Limits)) -> Server {
    Server::with(|options| change(&mut options.limits), |store| store)
}

#[test]
fn a_body_that_is_too_large_is_refused_whether_it_says_so_or_not() {
    let server = with_limits(|limits| limits.body_bytes = 1_000);
    let large = format!(r#"{{"facts":{{"failure_class":"{}"}}}}"#, "x".repeat(2_000));
    let answer = server.post("/v1/decide", &large);
    assert_eq!((answer.status, answer.code().as_str()), (413, "TOO_LARGE"));
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let headers = [JSON, ("transfer-encoding", "chunked")];
    assert_eq!(server.ask("POST", "/v1/decide", &headers, &chunked).status, 413);
    assert_eq!(server.post("/v1/decide", "{}").status, 200);
}

/// Most clients send all of a body before they read the answer.
#[test]
fn who_is_refused_before_the_body_is_read_still_gets_the_answer() {
    let server = Server::start();
    let large = " ".repeat(8 << 20);
    for _ in 0..3 {
        assert_eq!(server.post("/v1/decide", &large).status, 413);
    }
    assert_eq!(
        server.ask("POST", "/v1/decide", &[JSON, ("host", "evil.example")], &large).status,
        421
    );
    assert_eq!(server.post("/nowhere", &large).status, 404);
    let token = server.post("/v1/tokens", r#"{"name":"ann","scopes":["admin"]}"#);
    assert_eq!(token.status, 201);
    assert_eq!(server.post("/v1/decide", &large).status, 401);
}

#[test]
fn a_delivery_may_be_as_large_as_github_sends_them() {
    let server = Server::with(
        |options| {
            options.github.secret = WebhookSecret::new("a secret");
            options.limits.body_bytes = 1_000;
        },
        |store| store,
    );
    let sized = |length: usize| format!("{{\"x\":\"{}\"}}", "x".repeat(length));
    let deliver = |body: &str| server.post("/webhooks/github", body);
    // It is read, and then not believed.
    let answer = deliver(&sized(3 << 20));
    assert_eq!((answer.status, answer.code().as_str()), (401, "INVALID_SIGNATURE"));
    let announced = [JSON, ("content-length", "26214401")];
    let answer = server.ask("POST", "/webhooks/github", &announced, "{");
    assert_eq!((answer.status, answer.code().as_str()), (413, "TOO_LARGE"));
    // What does not say how large it is may only be as large as other bodies.
    let large = sized(2_000);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let headers = [JSON, ("transfer-encoding", "chunked")];
    assert_eq!(server.ask("POST", "/webhooks/github", &headers, &chunked).status, 413);
    assert_eq!(server.post("/v1/decide", &large).status, 413);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = with_limits(|limits| limits.body_time = Duration::from_millis(100));
    let mut stream = connect(server.address);
    let headers = [JSON, ("content-length", "100")];
    stream.write_all(request("POST", "/v1/decide", &headers, "{").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 408);
}

/// Who was let in gets an answer, also at the end of the service.
#[test]
fn at_the_end_there_is_time_for_every_request_that_was_let_in() {
    let limits = backstop_server::Limits::default();
    let longest = limits.header_time + limits.body_time + limits.request_time;
    assert!(limits.shutdown_time >= longest, "{limits:?}");
}

/// A balancer may have opened a connection that it asks by later.
#[test]
fn at_the_end_who_is_connected_and_has_not_asked_yet_is_told_so() {
    let begun = std::time::Instant::now();
    // On a busy machine the time for a first question may be over before it is asked.
    while readiness_at_the_end().is_none_or(|answer| answer.status != 503) {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is told");
    }
}

fn readiness_at_the_end() -> Option<Answer> {
    let mut server = Server::start();
    let mut unused = connect(server.address);
    // They are accepted one after the other.
    let mut used = connect(server.address);
    let again = [("connection", "keep-alive")];
    used.write_all(request("GET", "/readyz", &again, "").as_bytes()).expect("it listens");
    assert_eq!(read_answer(&mut used).expect("an answer").status, 200);
    let running = server.running.take().expect("it runs");
    let ended = server.runtime.spawn(running.shutdown());
    assert_eq!(used.read(&mut [0]).expect("an end"), 0, "it is told by that");
    let answer = match unused.write_all(request("GET", "/readyz", &again, "").as_bytes()) {
        Ok(()) => read_answer(&mut unused),
        Err(_closed) => None,
    };
    server.wait(ended).expect("it ends");
    assert!(TcpStream::connect(server.address).is_err(), "nobody is let in any more");
    answer
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let server = with_limits(|limits| limits.header_time = Duration::from_millis(100));
    let mut stream = connect(server.address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: local").unwrap();
    let mut rest = Vec::new();
    // It ends, with an answer or without one.
    stream.read_to_end(&mut rest).unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&rest));
    // Others are answered as ever, if theirs comes in time, which it may not on a busy machine.
    let ask = || {
        let mut stream = connect(server.address);
        stream.write_all(request("GET", "/healthz", &[], "").as_bytes()).ok()?;
        read_answer(&mut stream)
    };
    let begun = std::time::Instant::now();
    while ask().is_none_or(|answer| answer.status != 200) {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is answered");
    }
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Server::start();
    for (length, status) in [(100_000, 431), (33_000, 431), (32_000, 200)] {
        let long = "x".repeat(length);
        let answer = server.ask("GET", "/healthz", &[("x-long", &long)], "");
        assert_eq!(answer.status, status, "{length}");
    }
    let many: Vec<_> = (0..200).map(|_| ("x-many", "1")).collect();
    assert_eq!(server.ask("GET", "/healthz", &many, "").status, 431);
    let answer = server.ask("GET", "/healthz", &many[..70], "");
    assert_eq!((answer.status, answer.code().as_str()), (431, "TOO_LARGE"), "in words");
    assert_eq!(server.ask("GET", "/healthz", &many[..60], "").status, 200);
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back() {
    let server = with_limits(|limits| limits.requests_per_second = NonZeroU32::new(3));
    let answers: Vec<_> = (0..20).map(|_| server.get("/v1/reasons")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("a refusal");
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(answers[0].status, 200);
    // Whether it is alive may be asked at any time.
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn more_requests_than_can_be_worked_on_are_refused() {
    let server = with_limits(|limits| {
        limits.requests = 1;
        limits.body_time = Duration::from_secs(60);
    });
    // This one is worked on until its body has come.
    let begin = || {
        let mut slow = connect(server.address);
        let headers = [JSON, ("content-length", "2")];
        slow.write_all(request("POST", "/v1/decide", &headers, "{").as_bytes()).unwrap();
        slow
    };
    let mut slow = begin();
    let begun = std::time::Instant::now();
    let refused = loop {
        let answer = server.get("/v1/reasons");
        if answer.status == 503 {
            break answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is turned away");
        // It may have come while the other one was worked on, and been turned away itself.
        if has_an_answer(&slow) {
            slow = begin();
        }
    };
    assert!(refused.header("retry-after").is_some());
    slow.write_all(b"}").unwrap();
    assert_eq!(read_answer(&mut slow).unwrap().status, 200);
    assert_eq!(server.get("/v1/reasons").status, 200);
}

fn has_an_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a stream");
    let has_one = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).expect("a stream");
    has_one
}

#[test]
fn more_streams_than_there_is_room_for_are_refused() {
    let server = with_limits(|limits| limits.live_streams = 1);
    let run = server.post("/v1/runs", "").json()["run_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/runs/{run}/events");
    let headers = [("accept", "text/event-stream")];
    let mut first = connect(server.address);
    first.write_all(request("GET", &path, &headers, "").as_bytes()).unwrap();
    assert!(read_head(&mut first).unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(server.ask("GET", &path, &headers, "").status, 503);
    drop(first);
    let begun = std::time::Instant::now();
    loop {
        let mut next = connect(server.address);
        next.write_all(request("GET", &path, &headers, "").as_bytes()).unwrap();
        if read_head(&mut next).unwrap().starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "the place stays taken");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_compressed_body_is_not_unpacked() {
    let server = Server::start();
    let headers = [JSON, ("content-encoding", "gzip")];
    assert_eq!(server.ask("POST", "/v1/decide", &headers, "{}").status, 415);
}
