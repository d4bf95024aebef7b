//! `backstop report`, and the report that every halt leaves: real runs, real stores.

use std::fs;
use std::path::{Path, PathBuf};

use backstop_runner::tree::identity;
use serde_json::Value as Json;

mod browser;
#[path = "../support/mod.rs"]
mod support;

use support::looping::Loop;
use support::planted::{Halt, Planted, idle_iterations};
use support::{Test, keys};

/// Two iterations that report what they use, test and commit; the second fixes a test.
const WORK: &str = r#"
if [ "$BACKSTOP_ITERATION" = 1 ]; then failed='"cache::evicts"'; else passed=',"cache::evicts"'; fi
echo '::backstop {"type":"usage","input_tokens":9000,"output_tokens":1000,"cost_usd":0.5}'
echo "::backstop {\"type\":\"tests\",\"passed\":[\"a\"$passed],\"failed\":[$failed],\"source\":\"x\"}"
echo '::backstop {"type":"progress","kind":"commit","note":"cache: evict <the oldest>"}'
"#;

/// The loop after it was stopped by its limit.
fn stopped() -> Loop {
    let test = Loop::new().script("work.sh", WORK);
    let run = [
        "run",
        "--max-iterations",
        "2",
        "--max-cost",
        "9",
        "--label",
        "team=core",
        "--",
        "./work.sh",
    ];
    test.run(run).exits(125);
    test
}

/// The folder of the only run.
fn folder(test: &Loop) -> PathBuf {
    let runs = fs::read_dir(test.state_directory().join("runs")).expect("a folder of runs");
    runs.map(|run| run.expect("a run").path()).next().expect("a run")
}

/// What does not change from one look to the next.
fn lasting(text: &str) -> String {
    text.lines().filter(|line| !line.contains("Reported ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_halt_leaves_what_the_command_prints() {
    let test = stopped();
    for (name, form) in [("report.md", "md"), ("report.html", "html")] {
        let left = fs::read_to_string(folder(&test).join(name)).expect("a report");
        let printed = test.run(["report", "latest", "--format", form]).exits(0);
        assert_eq!(lasting(&left), lasting(&printed.stdout), "{name}");
        assert_eq!(printed.stderr, "");
    }
    let shown = test.run(["report"]).exits(0).stdout;
    assert!(shown.starts_with("# ■ stopped: Iteration limit reached\n"), "{shown}");
    for words in ["2 of 2", "$1 of $9", "./work.sh", "team=core", "cache: evict \\<the oldest\\>"] {
        assert!(shown.contains(words), "{words} is missing in:\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn the_stop_card_names_the_report() {
    let test = Loop::new();
    let ended = test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    let said = ended.stdout + &ended.stderr;
    assert!(said.contains("backstop report 1"), "{said}");
}

#[test]
fn programs_get_an_object_with_lasting_names() {
    let test = stopped();
    let report = test.run(["report", "latest", "--format", "json"]).exits(0).json();
    assert_eq!(
        keys(&report),
        [
            "version",
            "run",
            "status",
            "summary",
            "reported_at",
            "asked",
            "ended",
            "figures",
            "limits",
            "done",
            "decisions",
            "timeline",
            "series",
            "next",
            "notes"
        ]
    );
    assert_eq!(report["version"], 1);
    assert_eq!(report["status"], "stopped");
    assert_eq!(report["asked"]["command"], serde_json::json!(["./work.sh"]));
    assert_eq!(report["ended"]["reason"], "max_iterations");
    assert_eq!(report["ended"]["exit_code"], 125);
    assert_eq!(report["figures"]["tokens"], 20_000);
    assert_eq!(report["figures"]["cost_usd"], 1.0);
    assert_eq!(report["done"]["iterations"]["count"], 2);
    assert_eq!(report["done"]["tests"]["fixed"]["entries"], serde_json::json!(["cache::evicts"]));
    assert_eq!(report["done"]["tests"]["broken"]["entries"], serde_json::json!([]));
    assert_eq!(report["done"]["progress"]["commit"], 2);
    let commits = report["done"]["commits"]["entries"].as_array().expect("a list");
    assert_eq!(commits[0]["text"], "cache: evict <the oldest>");
    let points = report["series"]["points"].as_array().expect("a list");
    assert_eq!(points.last().expect("a point")["tokens"], 20_000);
    let next = report["next"]["commands"].as_array().expect("a list");
    assert!(next[0]["command"].as_str().is_some_and(|text| text.contains("--raise iterations=")));
}

#[test]
fn a_file_gets_the_form_of_its_name() {
    let test = stopped();
    for (name, begins) in
        [("a.html", "<!DOCTYPE html>"), ("a.json", "{"), ("a.md", "# ■"), ("a", "# ■")]
    {
        let ended = test.run(["report", "--output", name]).exits(0);
        assert_eq!(ended.stdout, "");
        assert!(test.read(name).starts_with(begins), "{name}: {}", test.read(name));
    }
    assert_eq!(test.run(["report", "--output", "a.txt", "--format", "json"]).exits(0).stdout, "");
    assert!(test.read("a.txt").starts_with('{'));
    test.run(["report", "--output", "a.pdf"]).refused(64, &["no form `pdf`", "--format"]);
    test.run(["report", "--output", "no/such/a.md"]).refused(73, &["no/such/a.md"]);
    test.run(["report", "ZZZZ"]).refused(66, &["ZZZZ"]);
    test.run(["report", "--format", "pdf"]).refused(64, &["pdf", "html"]);
}

#[test]
fn a_report_that_can_not_be_written_spoils_no_halt() {
    let in_the_way = r#"mkdir -p "$XDG_STATE_HOME/backstop/runs/$BACKSTOP_RUN_ID/report.md/x""#;
    let test = Loop::new().script("work.sh", in_the_way);
    let ended = test.run(["run", "--max-iterations", "1", "--", "./work.sh"]).exits(125);
    assert!(ended.stderr.contains("the report could not be written"), "{}", ended.stderr);
    assert_eq!(test.state()["run_status"], "stopped");
    assert!(test.run(["report"]).exits(0).stdout.starts_with("# ■ stopped"));
}

#[test]
fn a_report_that_a_crash_prevented_is_made_by_the_next_look() {
    let test = stopped();
    let report = folder(&test).join("report.md");
    fs::remove_file(&report).expect("it was there");
    test.run(["show"]).exits(0);
    assert!(fs::read_to_string(&report).expect("a report").starts_with("# ■ stopped"));
}

#[test]
fn a_policy_goes_by_the_name_that_it_had_in_this_run() {
    let test = Loop::new().file("a.toml", "[limits]\niterations = 1\n");
    let test = test.file("b.toml", "[limits]\niterations = 1\n");
    for name in ["a.toml", "b.toml"] {
        test.run(["run", "--policy", name, "--", "true"]).exits(125);
        let report = test.run(["report", "latest", "--format", "json"]).exits(0).json();
        assert_eq!(report["asked"]["policy"], name);
    }
}

#[test]
fn another_halt_replaces_the_report() {
    let test = stopped();
    test.run(["resume", "latest", "--raise", "iterations=3"]).exits(125);
    let report = fs::read_to_string(folder(&test).join("report.md")).expect("a report");
    assert!(report.contains("- iterations: 3 of 3") && report.contains("Resumed by"), "{report}");
}

#[test]
fn runs_that_go_on_are_held_or_were_left_can_be_told_too() {
    let test = Test::new();
    let planted = Planted::new(&test);
    planted.begun("4K7Q2M9X00000", &identity::holder(None), "./agent.sh", &[]);
    let events = idle_iterations(1);
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    planted.run("4K7Q2M9Y00000", &events, Halt::None);
    for (run, status, summary) in [
        ("4K7Q2M9X", "running", "It goes on after 0 iterations."),
        ("4K7Q2M9Y", "interrupted", "Its supervisor is gone"),
    ] {
        let report = test.run(["report", run, "--format", "json"]).exits(0).json();
        assert_eq!(report["status"], status);
        assert_eq!(report["ended"], Json::Null);
        assert!(
            report["summary"].as_str().is_some_and(|text| text.starts_with(summary)),
            "{report}"
        );
    }
    let test = Loop::new().file(
        "p.toml",
        "[limits]\niterations = 2\n[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"hold\"\nreason = \"no_signal_change\"\n",
    );
    test.run(["run", "--policy", "p.toml", "--", "true"]).exits(54);
    let report = test.run(["report", "latest", "--format", "json"]).exits(0).json();
    assert_eq!((&report["status"], &report["ended"]["exit_code"]), (&"held".into(), &54.into()));
}

#[test]
fn a_run_without_a_supervisor_leaves_its_report_when_it_ends() {
    let test = Test::new();
    let run = test.run(["begin", "--total-units", "2"]).exits(0).stdout.trim().to_owned();
    for unit in ["a", "b"] {
        test.run(["emit", "--run", &run, "unit", "--id", unit, "--status", "approved"]).exits(0);
    }
    let folder = Path::new(".local/state/backstop/runs").join(&run);
    assert!(!test.path().join(&folder).join("report.md").exists(), "it goes on");
    test.run(["end", "--run", &run]).exits(0);
    let left = test.read(folder.join("report.md").to_str().expect("a path"));
    assert!(left.starts_with("# ✓ completed") && left.contains("2 of 2 approved"), "{left}");
    let next = test.run(["report", "--format", "json"]).exits(0).json()["next"].to_string();
    assert!(!next.contains("attach"), "{next}");
}

#[test]
fn the_report_outlives_the_journal() {
    let test = stopped();
    let before = test.run(["report"]).exits(0).stdout;
    test.run(["prune", "--older", "0s"]).exits(0);
    assert_eq!(lasting(&test.run(["report"]).exits(0).stdout), lasting(&before));
    let report = test.run(["report", "--format", "json"]).exits(0).json();
    assert_eq!(report["figures"]["tokens"], 20_000);
    assert!(report["notes"].to_string().contains("removed by age"), "{}", report["notes"]);
}
