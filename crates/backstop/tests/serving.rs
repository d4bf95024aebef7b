//! `backstop serve` by the real binary: every flag, its log, its beginning and its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::process::Signal;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value as Json, json};
use sha2::Sha256;

mod support;

use support::Test;
use support::looping::wait_for;
use support::serving::{JSON, Serving, read_answer, request};

/// As much of GitHub as a failed run needs: the same job fails in the same way, each time.
struct StandIn {
    place: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = format!("http://{}", listener.local_addr().expect("its address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        std::thread::spawn({
            let asked = Arc::clone(&asked);
            move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    answer(stream, &asked);
                }
            }
        });
        Self { place, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("what was asked").clone()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
    let run = first.split_once("/actions/runs/").and_then(|(_, rest)| rest.split('/').next());
    let run: u64 = run.and_then(|run| run.parse().ok()).unwrap_or_default();
    let job = json!({
        "id": 1, "run_id": run, "run_attempt": 1, "name": "test", "status": "completed",
        "conclusion": "failure", "head_sha": "3484a3fb816e0859fd6e1cea078d76385ff50625",
        "steps": [{ "name": "cargo test", "conclusion": "failure" }],
    });
    let (status, body) = match first.split(' ').nth(1).unwrap_or_default() {
        path if path.contains("/jobs/1/logs") => ("200 OK", "assertion failed".to_owned()),
        path if path.contains("/jobs") => {
            ("200 OK", json!({ "total_count": 1, "jobs": [job] }).to_string())
        }
        path if path.contains("/actions/runs?") => {
            ("200 OK", json!({ "total_count": 0, "workflow_runs": [] }).to_string())
        }
        _ => ("404 Not Found", json!({ "message": "Not Found" }).to_string()),
    };
    asked.lock().expect("what was asked").push(first);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("it is sent");
}

fn signed(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body.as_bytes());
    let digits =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256={digits}")
}

const SECRET: &str = "It's a Secret to Everybody";

const QUESTION: &str = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
    &currentJobAttempts=0&totalPrAttempts=0";

#[test]
fn it_says_where_it_listens_and_answers() {
    let test = Test::new();
    let serving = Serving::start(&test, &[], &[]);
    assert_eq!(serving.said, format!("listening on http://{}", serving.address));
    assert_eq!(serving.get("/readyz").status, 200);
    assert_eq!(serving.get(QUESTION).json()["decision"], "CONTINUE");
    serving.signal(Signal::INT);
    assert_eq!(serving.ends(), Some(0));
    let listed = test.run(["audit", "ls", "--json"]).exits(0);
    assert!(listed.stdout.contains("CONTINUE"), "{}", listed.stdout);
}

#[test]
fn at_its_end_it_answers_what_it_has_begun() {
    let test = Test::new();
    let serving = Serving::start(&test, &[], &[]);
    let mut slow = TcpStream::connect(serving.address).expect("a connection");
    let body = r#"{"facts":{"iterations":100}}"#;
    let length = body.len().to_string();
    let headers = [JSON, ("content-length", length.as_str()), ("expect", "100-continue")];
    slow.write_all(request("POST", "/v1/decide", &headers, "").as_bytes()).expect("it is sent");
    // Who asks for the body has begun with the request.
    let mut asks = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    slow.read_exact(&mut asks).expect("a word to go on");
    assert_eq!(String::from_utf8_lossy(&asks), "HTTP/1.1 100 Continue\r\n\r\n");
    let (first, rest) = body.split_at(5);
    slow.write_all(first.as_bytes()).expect("it reads");
    serving.signal(Signal::TERM);
    let address = serving.address;
    wait_for("nobody else to be let in", || TcpStream::connect(address).is_err());
    slow.write_all(rest.as_bytes()).expect("it still reads");
    let answer = read_answer(&mut slow).expect("an answer");
    assert_eq!(answer.json()["reason"], "max_iterations", "{answer:?}");
    assert_eq!(serving.ends(), Some(0));
}

#[test]
fn at_its_end_it_answers_who_was_let_in_and_had_not_asked_yet() {
    loop {
        let test = Test::new();
        let serving = Serving::start(&test, &[], &[]);
        let mut silent = TcpStream::connect(serving.address).expect("a connection");
        // They are let in one after the other.
        assert_eq!(serving.get("/healthz").status, 200);
        let began = Instant::now();
        serving.signal(Signal::TERM);
        let address = serving.address;
        wait_for("nobody else to be let in", || TcpStream::connect(address).is_err());
        let sent = silent.write_all(request("GET", "/healthz", &[], "").as_bytes());
        // It waits for a second. Where this machine took longer, nothing has been shown.
        if began.elapsed() < Duration::from_millis(900) {
            sent.expect("it still reads");
            assert_eq!(read_answer(&mut silent).expect("an answer").status, 200);
            assert_eq!(serving.ends(), Some(0));
            return;
        }
    }
}

#[test]
fn told_to_end_twice_it_ends_at_once() {
    let test = Test::new();
    for (first, second) in [(Signal::TERM, Signal::TERM), (Signal::INT, Signal::INT)] {
        let serving = Serving::start(&test, &[], &[]);
        let mut slow = TcpStream::connect(serving.address).expect("a connection");
        let headers = [JSON, ("content-length", "100")];
        slow.write_all(request("POST", "/v1/decide", &headers, "{").as_bytes()).expect("sent");
        wait_for("the request to be begun", || serving.get("/healthz").status == 200);
        serving.signal(first);
        let address = serving.address;
        wait_for("nobody else to be let in", || TcpStream::connect(address).is_err());
        let begun = Instant::now();
        serving.signal(second);
        serving.logs("told to end a second time");
        assert_eq!(serving.ends(), Some(0));
        // The body that does not come would have been waited for.
        let body_time = backstop_server::Limits::default().body_time;
        assert!(begun.elapsed() < body_time, "{:?}", begun.elapsed());
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let test = Test::new();
    let ended = test.run(["serve", "--listen", &address]);
    ended.refused(74, &["can't listen at", &address, "in use"]);
}

#[test]
fn other_machines_need_a_token_and_tls() {
    let test = Test::new();
    test.run(["serve", "--listen", "0.0.0.0:0"]).refused(64, &["TLS", "--insecure"]);
    test.run(["serve", "--listen", "0.0.0.0:0", "--insecure"])
        .refused(64, &["no token", "backstop token create"]);
    test.run(["token", "create", "--scope", "read"]).exits(0);
    let serving = Serving::start_at("0.0.0.0:0", &test, &["--insecure"], &[]);
    assert_eq!(serving.get("/healthz").status, 200);
    assert_eq!(serving.get("/v1/runs").status, 401);
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let test = Test::new().file("x.pem", "nothing");
    test.run(["serve", "--tls-cert", "x.pem"]).refused(64, &["--tls-key"]);
    test.run(["serve", "--tls-key", "x.pem"]).refused(64, &["--tls-cert"]);
    test.run(["serve", "--tls-cert", "x.pem", "--tls-key", "x.pem", "--insecure"])
        .refused(64, &["--insecure"]);
    test.run(["serve", "--rate", "0"]).refused(64, &["--rate"]);
    test.run(["serve", "--otlp", "collector", "--listen", "127.0.0.1:0"])
        .refused(64, &["`collector` is no address"]);
    test.run(["serve", "--listen", "7878"]).refused(64, &["--listen"]);
    let test = test.variable("BACKSTOP_GITHUB_TOKEN", "t");
    test.run(["serve", "--github-url", "github.com"]).refused(64, &["`github.com`"]);
}

fn self_signed() -> rcgen::CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate")
}

#[test]
fn files_without_a_certificate_or_key_are_named() {
    let (made, other) = (self_signed(), self_signed());
    let test = Test::new()
        .file("x.pem", "nothing")
        .file("c.pem", made.cert.pem())
        .file("k.pem", made.signing_key.serialize_pem())
        .file("other.pem", other.signing_key.serialize_pem());
    for (certificate, key, code, words) in [
        ("x.pem", "k.pem", 65, ["no certificate in", "x.pem"]),
        ("c.pem", "x.pem", 65, ["no key in", "x.pem"]),
        ("c.pem", "other.pem", 65, ["can't be used", "other.pem"]),
        ("none.pem", "k.pem", 66, ["the certificate", "none.pem"]),
        ("c.pem", "none.pem", 66, ["the key", "none.pem"]),
    ] {
        let files = ["--tls-cert", certificate, "--tls-key", key, "--listen", "127.0.0.1:0"];
        test.run([&["serve"], &files[..]].concat()).refused(code, &words);
    }
}

#[test]
fn tls_is_spoken() {
    let made = self_signed();
    let test =
        Test::new().file("c.pem", made.cert.pem()).file("k.pem", made.signing_key.serialize_pem());
    let serving = Serving::start(&test, &["--tls-cert", "c.pem", "--tls-key", "k.pem"], &[]);
    assert!(serving.said.starts_with("listening on https://"), "{}", serving.said);
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a certificate");
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(serving.address).expect("a connection");
    let mut stream = StreamOwned::new(client, stream);
    stream.write_all(request("GET", "/healthz", &[], "").as_bytes()).expect("it is sent");
    assert_eq!(read_answer(&mut stream).expect("an answer").status, 200);
}

#[test]
fn names_origins_and_rates_are_as_it_was_told() {
    let test = Test::new();
    let flags = ["--allow-host", "stops.example", "--allow-origin", "https://ops.example"];
    let serving = Serving::start(&test, &[flags.as_slice(), &["--rate", "2"]].concat(), &[]);
    let host = |name: &str| serving.ask("GET", "/v1/reasons", &[("host", name)], "").status;
    assert_eq!(host("stops.example"), 200);
    assert_eq!(host("evil.example"), 421);
    let status = |headers: &[(&str, &str)]| serving.ask("GET", "/healthz", headers, "").status;
    assert_eq!(status(&[("origin", "https://ops.example")]), 200);
    assert_eq!(status(&[("origin", "https://evil.example")]), 403);
    let statuses: Vec<_> = (0..20).map(|_| serving.get("/v1/reasons").status).collect();
    assert_eq!(statuses[0], 200);
    assert!(statuses.contains(&429), "{statuses:?}");
    let unlimited = Serving::start(&test, &[], &[]);
    assert_eq!(unlimited.ask("GET", "/v1/reasons", &[("host", "stops.example")], "").status, 421);
    assert!((0..20).all(|_| unlimited.get("/v1/reasons").status == 200));
}

#[test]
fn its_log_tells_who_tried_what_and_no_secret() {
    let test = Test::new();
    let variables =
        [("BACKSTOP_GITHUB_SECRET", "hush-hush"), ("BACKSTOP_GITHUB_TOKEN", "ghs_quiet")];
    let token = |scope: &str| {
        let made = test.run(["token", "create", "--scope", scope, "--name", "bot"]).exits(0);
        let text = made.stdout + &made.stderr;
        let token = text.split_whitespace().find(|word| word.starts_with("bks_"));
        token.expect("a token").to_owned()
    };
    let (reporter, admin) = (token("report"), token("admin"));
    let serving = Serving::start(&test, &["--log", "json"], &variables);
    let ask = |token: &str, method: &str, path: &str, id: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [JSON, ("authorization", bearer.as_str()), ("x-request-id", id)];
        serving.ask(method, path, &headers, body).status
    };
    let begun = {
        let bearer = format!("Bearer {reporter}");
        serving.ask("POST", "/v1/runs", &[JSON, ("authorization", &bearer)], "{}").json()
    };
    let run = begun["run_id"].as_str().expect("a run").to_owned();
    let script = r#"{"rule":[{"when":{"type":"custom_script","script":"./x"},"then":"stop"}]}"#;
    assert_eq!(ask(&admin, "POST", "/v1/policies", "id-script", script), 403);
    assert_eq!(ask(&reporter, "POST", &format!("/v1/runs/{run}/stop"), "id-stop", "{}"), 403);
    let raised = r#"{"type":"raised","limit":"max_iterations","value":9,"by":"me"}"#;
    assert_eq!(ask(&reporter, "POST", &format!("/v1/runs/{run}/events"), "id-raise", raised), 403);
    assert_eq!(serving.get(&format!("/v1/runs?access_token={admin}")).status, 401);
    // Secrets of others, wherever somebody has put them by mistake.
    let leaked = format!("ghp_{}", "Ab3".repeat(12));
    assert_eq!(ask(&admin, "GET", &format!("/v1/runs/{leaked}"), "id-path", ""), 404);
    assert_eq!(ask(&admin, "GET", "/nowhere", &leaked, ""), 404);
    let script = script.replace("./x", &format!("./{leaked}"));
    assert_eq!(ask(&admin, "POST", "/v1/policies", "id-leak", &script), 403);
    let question = format!(r#"{{"policy":{script}}}"#);
    assert_eq!(ask(&admin, "POST", "/v1/decide", "id-inline", &question), 403);
    let halt = format!(r#"{{"labels":{{"none":"such"}},"by":"{leaked}"}}"#);
    assert_eq!(ask(&admin, "POST", "/v1/halt", "id-halt", &halt), 201);
    let release = format!(r#"{{"by":"{leaked}"}}"#);
    assert_eq!(ask(&admin, "POST", "/v1/release", "id-release", &release), 200);
    assert_eq!(
        serving
            .ask("POST", "/webhooks/github", &[("x-hub-signature-256", "sha256=00")], "{}")
            .status,
        401
    );
    assert_eq!(ask("bks_wrong-one", "GET", "/v1/runs", "id-wrong", ""), 401);
    let log = serving.logs("id-wrong");
    for words in ["a policy is no data", "./x", "a scope is missing", "an event may not be sent"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    serving.signal(Signal::TERM);
    assert_eq!(serving.ends(), Some(0));
    let lines: Vec<Json> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let answered: Vec<_> =
        lines.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    assert!(answered.len() >= 5, "{log}");
    for line in answered {
        assert!(line["fields"]["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
        assert!(line["fields"]["status"].is_number(), "{line}");
    }
    assert!(log.contains("/v1/runs/[redacted]"), "{log}");
    let secrets =
        [&reporter, &admin, &leaked, "bks_wrong-one", "hush-hush", "ghs_quiet", "access_token"];
    for secret in secrets {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}

#[test]
fn a_fault_of_its_own_is_told_as_one_and_ends_nothing_else() {
    let test = Test::new();
    // The fourth call of the store panics, since the failure can't be told where this says.
    let variables = [("BACKSTOP_TESTING_FAILURE", "4 read once /nowhere/at/all")];
    let serving = Serving::start(&test, &[], &variables);
    let answers: Vec<_> = (0..8).map(|_| serving.get("/v1/audit")).collect();
    let (faults, good): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 500);
    assert_eq!((faults.len(), good.len()), (1, 7), "{answers:?}");
    assert!(good.iter().all(|answer| answer.status == 200), "{answers:?}");
    let fault = faults.first().expect("a fault");
    assert!(fault.head.contains("application/problem+json"), "{fault:?}");
    assert_eq!(fault.json()["code"], "INTERNAL_ERROR");
    assert!(!fault.body.contains("nowhere"), "the cause is the log's: {fault:?}");
    serving.logs("a test can write where it says");
}

#[test]
fn deliveries_become_signals_and_count_in_the_next_decision() {
    let test = Test::new();
    let github = StandIn::start();
    let variables = [("BACKSTOP_GITHUB_SECRET", SECRET), ("BACKSTOP_GITHUB_TOKEN", "ghs_quiet")];
    let serving = Serving::start(&test, &["--github-url", &github.place], &variables);
    let deliver = |id: &str, run: u64, secret: &str| {
        let body = json!({
            "action": "completed",
            "workflow_run": {
                "id": run, "name": "CI", "run_attempt": 1, "status": "completed",
                "conclusion": "failure", "head_sha": "3484a3fb816e0859fd6e1cea078d76385ff50625",
                "run_started_at": "2020-01-01T00:00:00Z",
                "pull_requests": [{ "number": 7, "base": { "repo": { "id": 1 } } }],
            },
            "repository": { "id": 1, "full_name": "acme/shop" },
        })
        .to_string();
        let signature = signed(secret, &body);
        let headers = [
            JSON,
            ("x-github-event", "workflow_run"),
            ("x-github-delivery", id),
            ("x-hub-signature-256", signature.as_str()),
        ];
        serving.ask("POST", "/webhooks/github", &headers, &body)
    };
    assert_eq!(deliver("d-0", 40, "another secret").status, 401);
    assert_eq!(serving.get(QUESTION).json()["decision"], "CONTINUE");
    for (id, run) in [("d-1", 40), ("d-2", 41), ("d-3", 42)] {
        let told = deliver(id, run, SECRET);
        assert_eq!((told.status, &told.json()["status"]), (200, &json!("decided")), "{told:?}");
    }
    assert_eq!(deliver("d-3", 42, SECRET).json()["status"], "duplicate");
    let decided = serving.get(QUESTION).json();
    assert_eq!(decided["decision"], "HOLD", "{decided}");
    assert_eq!(decided["reasonCode"], "NO_SIGNAL_CHANGE", "{decided}");
    let asked = github.asked();
    assert!(asked.iter().any(|line| line.contains("/actions/runs/41/jobs")), "{asked:?}");
    assert!(asked.iter().all(|line| line.starts_with("GET ")), "nothing is done: {asked:?}");
}

#[test]
fn a_collector_is_told_of_requests() {
    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = format!("http://{}", collector.local_addr().expect("its address"));
    let test = Test::new();
    let serving = Serving::start(&test, &["--otlp", &place], &[]);
    serving.get("/healthz");
    let (mut stream, _) = collector.accept().expect("an export");
    let mut text = [0; 4_096];
    let read = stream.read(&mut text).expect("a request");
    let text = String::from_utf8_lossy(&text[..read]).into_owned();
    assert!(text.starts_with("POST /v1/traces HTTP/1.1"), "{text}");
}
