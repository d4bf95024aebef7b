//! `backstop doctor`: the surroundings, and one run.

use std::process::Command;
use std::time::{Duration, Instant};

use backstop_runner::tree::identity;
use serde_json::Value as Json;

mod support;

use support::Test;
use support::planted::{Halt, Planted, idle_iterations};

const STALLED: &str = "4K7Q2M9X1BD3F";
const LEFT: &str = "4K7Q2M9Z00000";

fn finding<'a>(findings: &'a Json, what: &str) -> &'a Json {
    let list = findings.as_array().expect("a list");
    list.iter().find(|finding| finding["what"] == what).unwrap_or(&Json::Null)
}

fn stalled(test: &Test) -> Planted {
    let planted = Planted::new(test);
    let mut events = idle_iterations(3);
    let error = r#"{"type":"error","category":"recoverable","message":"E0502 in cache.rs"}"#;
    events.insert(2, error.to_owned());
    planted.run(STALLED, &events.iter().map(String::as_str).collect::<Vec<_>>(), Halt::Whole);
    planted
}

#[test]
fn all_is_well_on_a_fresh_machine() {
    let test = Test::new().variable("PATH", &std::env::var("PATH").unwrap());
    let findings = test.run(["doctor", "--json"]).exits(0).json();
    for what in ["version", "store", "directory", "orphans", "git"] {
        assert_eq!(finding(&findings, what)["health"], "ok", "{findings:#}");
    }
    assert!(finding(&findings, "containment")["words"].is_string());
    let shown = test.run(["doctor"]).exits(0).stdout;
    assert!(shown.contains("✓ store") && shown.contains("0 runs, 0 events"), "{shown}");
    assert!(!shown.contains('\x1b'));
}

#[test]
fn a_store_that_cannot_be_used_is_a_fault() {
    let test = Test::new().file("file", "");
    let ended = test.run(["doctor", "--store", "file/below"]).exits(74);
    assert!(ended.stdout.contains("✗ store"), "{}", ended.stdout);
    let test = Test::new();
    test.run(["ls"]).exits(0);
    let folder = test.path().join(".local/state/backstop");
    for journal in ["backstop.db-wal", "backstop.db-shm"] {
        let _ = std::fs::remove_file(folder.join(journal));
    }
    let garbage = "this is not a database, however long it may be".repeat(200);
    std::fs::write(folder.join("backstop.db"), garbage).unwrap();
    let ended = test.run(["doctor"]).exits(74);
    assert!(ended.stdout.contains("✗ store"), "{}", ended.stdout);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_run_is_explained_with_its_evidence() {
    let test = Test::new();
    let planted = stalled(&test);
    planted.log(STALLED.parse().unwrap(), 3, b"compiling\n\x1b[31merror[E0502]\x1b[0m\n");
    let shown = test.run(["doctor", "4K7Q"]).exits(0).stdout;
    for words in [
        "■ stopped: stalled",
        "--note",
        "last error\n  E0502 in cache.rs (recoverable)",
        "nearest limits\n  3 of 3 without progress",
        "last decisions",
        "last lines of output\n  compiling\n  error[E0502]\n",
    ] {
        assert!(shown.contains(words), "`{words}` is missing in:\n{shown}");
    }
    // What the card says is said once, and who looks at this need not be sent here.
    for words in ["left behind", "what it means", "backstop doctor"] {
        assert!(!shown.contains(words), "{shown}");
    }
    assert_eq!(shown.matches("Give the agent a hint").count(), 1, "{shown}");
    let object = test.run(["doctor", "latest", "--json"]).exits(0).json();
    assert_eq!(object["last_error"]["message"], "E0502 in cache.rs");
    assert_eq!(object["orphans"], serde_json::json!([]));
    assert_eq!(object["last_lines"][1], "error[E0502]\n");
    test.run(["doctor", "7ZZZ"]).refused(66, &["no run is called `7ZZZ`"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_dead_supervisor_left_behind_is_found_and_ended() {
    let test = Test::new().variable("PATH", &std::env::var("PATH").unwrap());
    let planted = Planted::new(&test);
    let left = planted.begun(LEFT, &support::planted::dead(), "./agent.sh", &[]).0.run;
    let mut sleeper =
        Command::new("sleep").arg("600").env("BACKSTOP_RUN_ID", left.as_str()).spawn().unwrap();
    let pid = sleeper.id().to_string();
    let findings = test.run(["doctor", "--json"]).exits(0).json();
    let orphans = finding(&findings, "orphans");
    assert_eq!(orphans["health"], "warning", "{findings:#}");
    assert!(orphans["words"].as_str().unwrap().contains(&pid), "{orphans}");
    assert_eq!(finding(&findings, "interrupted")["health"], "warning");
    let shown = test.run(["doctor", LEFT]).exits(0).stdout;
    assert!(shown.contains(&pid) && shown.contains("--end-orphans"), "{shown}");
    let reaper = std::thread::spawn(move || sleeper.wait());
    let ended = test.run(["doctor", LEFT, "--end-orphans"]).exits(0).stdout;
    assert!(ended.starts_with("ended: ") && ended.contains(&pid), "{ended}");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reaper.is_finished() {
        assert!(Instant::now() < deadline, "still alive");
        std::thread::yield_now();
    }
    let again = test.run(["doctor", LEFT, "--end-orphans"]).exits(0).stdout;
    assert!(again.contains("no process behind"), "{again}");
}

#[test]
fn processes_of_a_supervised_run_are_no_orphans() {
    let test = Test::new();
    let planted = Planted::new(&test);
    planted.begun(LEFT, &identity::holder(None), "./agent.sh", &[]);
    test.run(["doctor", LEFT, "--end-orphans"]).refused(65, &["is supervised", "backstop stop"]);
    let findings = test.run(["doctor", "--json"]).exits(0).json();
    assert_eq!(finding(&findings, "interrupted"), &Json::Null);
}
