//! `backstop github rerun`, through the real binary, against a GitHub on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use backstop_store::{Home, Location};

mod support;

use support::Test;

/// Answers what a re-run asks: one run of pull request 7 with a failed job in this attempt.
struct Github {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Github {
    fn start(attempt: u32, log: &'static str) -> Self {
        Self::with_run(attempt, "completed", log)
    }

    fn with_run(attempt: u32, status: &'static str, log: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let heard = Arc::clone(&heard);
                thread::spawn(move || {
                    converse(&stream, &heard, |asked| answer(asked, attempt, status, log));
                });
            }
        });
        Self { address, asked }
    }

    fn orders(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("nobody panicked");
        asked.iter().filter(|line| line.starts_with("POST ")).cloned().collect()
    }
}

fn converse(
    stream: &TcpStream,
    heard: &Mutex<Vec<String>>,
    answer: impl Fn(&str) -> Option<String>,
) {
    let mut lines = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if lines.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).expect("a header");
            let line = line.trim().to_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        lines.by_ref().take(length).read_to_end(&mut Vec::new()).expect("a body");
        let asked = first.trim().trim_end_matches(" HTTP/1.1").to_owned();
        let body = answer(&asked);
        heard.lock().expect("nobody panicked").push(asked);
        let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
        let body = body.unwrap_or_else(|| "{}".to_owned());
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
        let mut out = stream;
        write!(out, "{head}content-length: {}\r\n\r\n{body}", body.len()).expect("written");
    }
}

fn answer(asked: &str, attempt: u32, status: &str, log: &str) -> Option<String> {
    const HEAD: &str = "3484a3fb816e0859fd6e1cea078d76385ff50625";
    let run = format!(
        r#"{{"id":70,"name":"CI","run_attempt":{attempt},"status":"{status}","conclusion":"failure",
            "head_sha":"{HEAD}","pull_requests":[{{"number":7}}],"run_started_at":"2020-01-01T00:00:00Z"}}"#
    );
    let job = format!(
        r#"{{"id":71,"run_id":70,"run_attempt":{attempt},"name":"test","status":"completed",
            "conclusion":"failure","head_sha":"{HEAD}","steps":[{{"name":"cargo test","conclusion":"failure"}}]}}"#
    );
    let path = asked.split(' ').nth(1)?.strip_prefix("/repos/octo-org/hello")?;
    let path = path.split('?').next()?;
    Some(match path {
        "/pulls/7" => format!(r#"{{"number":7,"head":{{"sha":"{HEAD}"}}}}"#),
        "/actions/runs" => format!(r#"{{"total_count":1,"workflow_runs":[{run}]}}"#),
        "/actions/runs/70" => run,
        "/actions/runs/70/jobs" => format!(r#"{{"total_count":1,"jobs":[{job}]}}"#),
        "/actions/jobs/71/logs" => log.to_owned(),
        "/actions/runs/70/rerun-failed-jobs"
        | "/actions/runs/70/rerun"
        | "/actions/jobs/71/rerun" => "{}".to_owned(),
        _ => return None,
    })
}

const CALL: [&str; 6] = ["github", "rerun", "--repo", "octo-org/hello", "--pr", "7"];

fn beside(github: &Github) -> Test {
    Test::new()
        .variable("GITHUB_API_URL", &github.address)
        .variable("BACKSTOP_GITHUB_TOKEN", "ghs_of_a_test")
}

#[test]
fn a_flaky_job_runs_again_and_is_on_record() {
    let github = Github::start(1, "error: connect ECONNRESET 10.0.0.1:443\n");
    let test = beside(&github);
    let ended = test.run(CALL).exits(0).stdout;
    assert!(ended.starts_with("runs again: "), "{ended}");
    assert!(ended.contains("test") && ended.contains("failure"), "{ended}");
    assert_eq!(github.orders().len(), 1);
    let row = test.run(["audit", "ls", "--repo", "octo-org/hello", "--pr", "7", "--json"]).exits(0);
    assert_eq!(row.json()["decision"], "CONTINUE");
    let shown = test.run(["audit", "show", "1"]).exits(0).stdout;
    assert!(shown.contains("the same comes out"), "{shown}");
}

#[test]
fn what_was_tried_too_often_is_blocked_with_the_reasons_code() {
    let github = Github::start(3, "error: connect ECONNRESET 10.0.0.1:443\n");
    let test = beside(&github);
    let ended = test.run(CALL).exits(50).stdout;
    assert!(ended.starts_with("blocked: ") && ended.contains("maximum rerun attempts"), "{ended}");
    assert_eq!(github.orders(), [""; 0]);
    let whole =
        test.run(CALL.into_iter().chain(["--json", "--request-id", "r-1"])).exits(50).json();
    assert_eq!((&whole["decision"], &whole["requestId"]), (&"BLOCKED".into(), &"r-1".into()));
    assert_eq!(whole["jobs"][0]["jobName"], "test");
    // A policy that is in force for the repository counts.
    let test =
        test.file("easy.json", r#"{"stopRules": {"maxRerunsPerJob": 9, "cooldownMinutes": 0}}"#);
    test.run(["policy", "activate", "easy.json", "--scope", "repo:octo-org/hello"]).exits(0);
    let more = CALL.into_iter().chain(["--max-attempts", "5", "--run-id", "70", "--all-jobs"]);
    let ended = test.run(more);
    let ended = ended.exits(0);
    assert!(ended.stdout.starts_with("runs again"), "{}", ended.stdout);
    assert_eq!(github.orders().len(), 1);
}

#[test]
fn what_only_the_flag_forbids_is_blocked_with_the_reasons_code_too() {
    let github = Github::start(2, "error: connect ECONNRESET 10.0.0.1:443\n");
    let test = beside(&github);
    let once = CALL.into_iter().chain(["--max-attempts", "1"]);
    let ended = test.run(once.clone()).exits(50).stdout;
    assert!(ended.starts_with("blocked: ") && ended.contains("as often as it may"), "{ended}");
    assert!(ended.contains("blocked  MAX_ATTEMPTS"), "{ended}");
    let whole = test.run(once.chain(["--json"])).exits(50).json();
    assert_eq!(whole["jobs"][0]["reasonCode"], "MAX_ATTEMPTS");
    assert_eq!(github.orders(), [""; 0]);
}

#[test]
fn a_run_that_goes_on_is_said_to() {
    let github = Github::with_run(1, "in_progress", "error: connect ECONNRESET 10.0.0.1:443\n");
    let ended = beside(&github).run(CALL).exits(0).stdout;
    assert!(ended.starts_with("not yet: the run is still in progress"), "{ended}");
    assert!(ended.contains("RUN_IN_PROGRESS"), "{ended}");
    assert_eq!(github.orders(), [""; 0]);
}

/// A run that has to ask holds at once where nobody could see the question.
#[test]
fn a_command_that_has_ended_is_no_service_that_would_show_a_question() {
    let github = Github::start(1, "error: connect ECONNRESET 10.0.0.1:443\n");
    let test = beside(&github);
    test.run(CALL).exits(0);
    let home = Home::new(test.path().join(".local/state/backstop"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let attends = runtime.expect("a runtime").block_on(async {
        let store = backstop_store::open(&Location::Embedded(home)).await.expect("a store");
        store.service_attends(None).await.expect("it can be read")
    });
    assert!(!attends);
}

#[test]
fn what_is_missing_is_named() {
    let github = Github::start(1, "");
    Test::new()
        .variable("GITHUB_API_URL", &github.address)
        .run(CALL)
        .refused(64, &["no token for GitHub", "BACKSTOP_GITHUB_TOKEN"]);
    let test = beside(&github);
    test.run(["github", "rerun", "--repo", "octo-org/other", "--pr", "7"]).refused(74, &["404"]);
    test.run(["github", "rerun", "--repo", "nothing", "--pr", "7"])
        .refused(64, &["octo-org/hello"]);
    test.run(CALL.into_iter().chain(["--max-attempts", "6"])).refused(64, &["6"]);
    Test::new()
        .variable("BACKSTOP_GITHUB_TOKEN", "ghs_of_a_test")
        .run(CALL.into_iter().chain(["--github-url", "http://127.0.0.1:1"]))
        .refused(74, &["127.0.0.1:1"]);
}
