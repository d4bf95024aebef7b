//! Traces of requests, as a collector gets them.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::support::{Server, read_head};
use backstop_server::{ServeError, ServeOptions, serve};
use serde_json::{Value as Json, json};

/// Takes exports, and hands their spans on.
struct Collector {
    place: String,
    spans: Receiver<Json>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("http://{}", listener.local_addr().unwrap());
        let (sender, spans) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                while let Some(export) = read_export(&mut stream) {
                    let export: Json = serde_json::from_str(&export).unwrap();
                    let resource = &export["resourceSpans"][0]["resource"]["attributes"];
                    assert_eq!(attribute(resource, "service.name"), "backstop");
                    let listed = export["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
                    for span in listed.as_array().unwrap() {
                        sender.send(span.clone()).ok();
                    }
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
                }
            }
        });
        Self { place, spans }
    }

    fn next(&self) -> Json {
        self.spans.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

fn read_export(stream: &mut TcpStream) -> Option<String> {
    let head = read_head(stream)?.to_lowercase();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn attribute(attributes: &Json, key: &str) -> String {
    let found = attributes.as_array().unwrap().iter().find(|one| one["key"] == key);
    let value = found.map(|one| one["value"].clone()).unwrap_or_default();
    let value = value["stringValue"].as_str().or(value["intValue"].as_str());
    value.unwrap_or_default().to_owned()
}

fn traced(collector: &str) -> Server {
    Server::with(|options| options.otlp = Some(collector.to_owned()), |store| store)
}

#[test]
fn a_collector_is_told_of_every_request() {
    let collector = Collector::start();
    let server = traced(&collector.place);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers =
        [("content-type", "application/json"), ("traceparent", parent), ("x-request-id", "mine")];
    let body = r#"{"facts":{"iterations":100}}"#;
    assert_eq!(server.ask("POST", "/v1/decide", &headers, body).status, 200);
    let span = collector.next();
    assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    assert_eq!((&span["name"], &span["kind"]), (&json!("POST /v1/decide"), &json!(2)));
    let nanos = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos("startTimeUnixNano") < nanos("endTimeUnixNano"));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/decide"),
        ("http.response.status_code", "200"),
        ("backstop.request_id", "mine"),
        ("backstop.verdict", "stop"),
        ("backstop.reason", "max_iterations"),
    ] {
        assert_eq!(attribute(&span["attributes"], key), value, "{span}");
    }

    server.get("/v1/runs/secret-of-somebody");
    let span = collector.next();
    assert_eq!(span["name"], "GET /v1/runs/{id}");
    assert_eq!(attribute(&span["attributes"], "backstop.verdict"), "");
    assert!(!span.to_string().contains("secret-of-somebody"), "{span}");
    assert!(span.get("parentSpanId").is_none());

    let question = "/api/github/prs/7/checks/stop-decision?owner=a&repo=b&currentJobAttempts=9\
        &totalPrAttempts=9";
    server.get(question);
    let span = collector.next();
    assert_eq!(attribute(&span["attributes"], "backstop.verdict"), "hold");
    assert_eq!(attribute(&span["attributes"], "backstop.reason"), "max_attempts");
}

#[test]
fn who_began_a_trace_decides_whether_it_is_recorded() {
    let collector = Collector::start();
    let server = traced(&collector.place);
    let unwanted = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    server.ask("GET", "/healthz", &[("traceparent", unwanted)], "");
    server.get("/readyz");
    assert_eq!(collector.next()["name"], "GET /readyz");
}

#[test]
fn what_is_left_is_sent_at_the_end() {
    let collector = Collector::start();
    let mut server = traced(&collector.place);
    server.get("/healthz");
    server.shutdown();
    assert_eq!(collector.spans.try_recv().unwrap()["name"], "GET /healthz");
}

#[test]
fn a_collector_that_is_not_there_is_counted_and_holds_nobody_up() {
    // A place where nobody listens, and one where somebody does and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for place in ["127.0.0.1:1".parse().unwrap(), silent.local_addr().unwrap()] {
        let server = traced(&format!("http://{place}/"));
        for _ in 0..20 {
            assert_eq!(server.get("/healthz").status, 200);
        }
        let begun = std::time::Instant::now();
        loop {
            let figures = server.get("/metrics").body;
            let dropped =
                figures.lines().find_map(|line| line.strip_prefix("backstop_spans_dropped_total "));
            if dropped.is_some_and(|count| count.parse::<u64>().unwrap() >= 20) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{figures}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn what_is_no_collector_is_refused() {
    let server = Server::start();
    for place in ["", "collector", "ftp://collector", "http://", "http://a@b", "http://a/?x=1"] {
        let options = ServeOptions {
            otlp: Some(place.to_owned()),
            ..ServeOptions::new("127.0.0.1:0".parse().unwrap())
        };
        let store = std::sync::Arc::clone(&server.store);
        let refused = server.wait(serve(options, store, server.home.clone()));
        assert!(matches!(refused, Err(ServeError::Collector(_))), "{place}");
    }
}
