//! `ls`, `show`, `logs`, `prune` and `attach`, against a real store.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use backstop_runner::tree::identity;
use insta::assert_snapshot;
use serde_json::Value as Json;
use unicode_width::UnicodeWidthStr as _;

mod support;

use support::planted::{Halt, Planted, idle_iterations};
use support::{BINARY, Test, keys};

const STALLED: &str = "4K7Q2M9X1BD3F";
const CUT_SHORT: &str = "4K7Q2M9Y00000";
const LEFT: &str = "4K7Q2M9Z00000";

fn planted(test: &Test, id: &str, iterations: u64, halt: Halt) -> Planted {
    let planted = Planted::new(test);
    let events = idle_iterations(iterations);
    planted.run(id, &events.iter().map(String::as_str).collect::<Vec<_>>(), halt);
    planted
}

/// What changes from day to day: the date.
fn without_dates(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| {
            let digits = word.chars().all(|each| each.is_ascii_digit() || "-:".contains(each));
            if digits && word.len() == 10 {
                "YYYY-MM-DD".to_owned()
            } else if digits && word.len() == 5 && word.contains('-') {
                "MM-DD".to_owned()
            } else if digits && word.len() == 8 && word.contains(':') {
                "HH:MM:SS".to_owned()
            } else {
                word.to_owned()
            }
        });
        shown.push_str(words.collect::<Vec<_>>().join(" ").trim_end());
        shown.push('\n');
    }
    shown
}

#[test]
fn runs_that_began_at_once_can_be_told_apart() {
    let test = Test::new();
    let ids = ["4K7Q2M9X1BD3F", "4K7Q2M9X1BD3G", "4K7Q2M9X1XXXX"];
    for id in ids {
        planted(&test, id, 3, Halt::Whole);
    }
    let listed = test.run(["ls"]).exits(0).stdout;
    let names: Vec<_> = listed.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["4K7Q2M9X1X", "4K7Q2M9X1BD3G", "4K7Q2M9X1BD3F"]);
    for (name, id) in names.into_iter().zip(ids.iter().rev()) {
        let shown = test.run(["show", name]).exits(0).stdout;
        assert!(shown.contains(&format!("backstop doctor {id} ")), "{shown}");
    }
}

#[test]
fn there_may_be_no_runs_yet() {
    let test = Test::new();
    let ended = test.run(["ls"]).exits(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", "there are no runs yet\n"));
    assert_eq!(test.run(["ls", "--json"]).exits(0).stdout, "");
    test.run(["show"]).refused(66, &["there are no runs yet"]);
}

#[test]
fn runs_are_listed_newest_first() {
    let test = Test::new();
    planted(&test, STALLED, 3, Halt::Whole);
    planted(&test, LEFT, 1, Halt::None);
    let listed = test.run(["ls"]).exits(0).stdout;
    assert!(listed.lines().all(|line| line.width() <= 80), "{listed}");
    assert_snapshot!(listed, @"
    run       status       reason   iterations  active  cost  begun   what
    4K7Q2M9Z  interrupted                    1      2m    $1  3h ago  ./agent.sh
    4K7Q2M9X  stopped      stalled           3      5m    $3  3h ago  ./agent.sh
    ");
    let objects: Vec<Json> = test
        .run(["ls", "--json"])
        .exits(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(objects.len(), 2);
    assert_eq!((&objects[0]["run_id"], &objects[0]["interrupted"]), (&LEFT.into(), &true.into()));
    // What was recorded last of it is that it runs.
    assert_eq!(objects[0]["run_status"], "running");
    assert_eq!(objects[1]["interrupted"], false);
    assert_eq!(objects[0]["statistics"]["iterations"], 1);
    assert_eq!(objects[1]["stop_reason"]["code"], "stalled");
    assert!(objects.iter().all(|object| object.get("facts").is_none()));
}

#[test]
fn a_list_can_be_narrowed() {
    let test = Test::new().folder("elsewhere");
    let planted = planted(&test, STALLED, 3, Halt::Whole);
    planted.begun(LEFT, &support::planted::dead(), "./b", &[("team", "core")]);
    let listed = |arguments: &[&str]| {
        let ended =
            test.run(["ls", "--json"].into_iter().chain(arguments.iter().copied())).exits(0);
        ended.stdout.lines().map(|line| line[11..24].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), [LEFT, STALLED]);
    assert_eq!(listed(&["--limit", "1"]), [LEFT]);
    assert_eq!(listed(&["--status", "stopped"]), [STALLED]);
    assert_eq!(listed(&["--status", "interrupted", "--limit", "1"]), [LEFT]);
    assert_eq!(listed(&["--status", "running"]), Vec::<String>::new());
    assert_eq!(listed(&["--label", "team=core"]), [LEFT]);
    assert_eq!(listed(&["--label", "team=other"]), Vec::<String>::new());
    test.run(["ls", "--label", "team"]).refused(64, &["team=core"]);
    let test = test.within("elsewhere");
    let ended = test.run(["ls"]).exits(0);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("ls --all"), "{}", ended.stderr);
    let all = test.run(["ls", "--all"]).exits(0).stdout;
    assert_eq!(all.lines().count(), 3, "{all}");
}

#[test]
fn a_run_is_shown_with_its_card_its_limits_and_its_decisions() {
    let test = Test::new();
    planted(&test, STALLED, 3, Halt::Whole);
    let shown = test.run(["show", "4k7q"]).exits(0).stdout;
    assert!(!shown.contains('\x1b'), "NO_COLOR is set");
    let place = test.path().canonicalize().unwrap().display().to_string();
    assert_snapshot!(without_dates(&shown.replace(&place, "/here")), @r#"
    4K7Q2M9X1BD3F  ./agent.sh
      /here · begun YYYY-MM-DD HH:MM:SS (3h ago)

    ■ stopped: stalled                                          exit 126 · resumable
      3 iterations in a row made no progress. Give the agent a hint with `--note`.
      If it did get on, tell backstop what counts: `[progress] markers`, `tasks` or
      `count`.

      ran        3 iterations · 5m active
      spent      $3 of $20 · 3k tokens
      report     backstop report 4K7Q2M9X1BD3F

      next       backstop doctor 4K7Q2M9X1BD3F              why, with the evidence
                 backstop resume 4K7Q2M9X1BD3F --note "…"   go on, with a hint
                 backstop replay 4K7Q2M9X1BD3F --preset moderator

      max iterations  ░░░░░░░░░░░░░  Iteration 3/50
      max cost        █░░░░░░░░░░░░  $3.00 of $20.00
      no progress     █████████████  3 iterations in a row made no progress  ← fired

    judged
      health   100% = tokens left 100% x 0.30 + context left 100% x 0.25 + errors
               left 100% x 0.25 + recent progress 100% x 0.20

    last decisions
      MM-DD HH:MM:SS  stop      stalled           3 iterations in a row made no
                                                  progress
    "#);
    let coloured = test.run(["--color", "always", "show"]).exits(0).stdout;
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), shown);
}

#[test]
fn a_run_is_shown_to_programs_with_its_facts() {
    let test = Test::new();
    planted(&test, STALLED, 3, Halt::Whole);
    let object = test.run(["show", "--json"]).exits(0).json();
    assert_eq!(
        keys(&object),
        [
            "run_id",
            "run_status",
            "stop_reason",
            "stopped_at",
            "resumable",
            "resume_from",
            "statistics",
            "policy_hash",
            "interrupted",
            "facts",
            "health"
        ]
    );
    assert_eq!(object["facts"]["iterations"], 3);
    assert_eq!(object["facts"]["cost_usd"], 3.0);
    assert_eq!(object["facts"]["active_ms"], 300_000);
    let pipeline = test.run(["show", "--form", "pipeline"]).exits(0).json();
    assert_eq!(test.run(["show", "--form", "pipeline", "--json"]).exits(0).json(), pipeline);
    assert_eq!(pipeline["statistics"]["total_frames"], 0);
    let events = test.run(["show", "--events"]).exits(0).stdout;
    assert_eq!(events.lines().count(), 12);
    assert!(events.lines().next().unwrap().starts_with(r#"{"type":"run_started""#), "{events}");
}

#[test]
fn an_interrupted_run_is_shown_as_one() {
    let test = Test::new();
    planted(&test, LEFT, 2, Halt::None);
    let object = test.run(["show", "--json"]).exits(0).json();
    assert_eq!((&object["run_status"], &object["interrupted"]), (&"running".into(), &true.into()));
    // Time has not gone on for it since its last event.
    assert_eq!(object["facts"]["active_ms"], 210_000);
    let shown = test.run(["show"]).exits(0).stdout;
    assert!(
        shown.contains("✗ interrupted") && shown.contains("backstop resume 4K7Q2M9Z00000"),
        "{shown}"
    );
}

#[test]
fn a_halt_that_was_cut_short_is_finished() {
    let test = Test::new();
    let planted = planted(&test, CUT_SHORT, 3, Halt::Journal);
    let run = CUT_SHORT.parse().unwrap();
    let file = planted.home.run(run).state_file();
    assert_eq!(planted.fetch(run).status.as_str(), "running");
    assert!(!file.exists());
    let object = test.run(["show", "--json"]).exits(0).json();
    assert_eq!(object["run_status"], "stopped");
    assert_eq!(object["stop_reason"]["code"], "stalled");
    assert_eq!(object["stop_reason"]["threshold"], 3.0);
    assert_eq!(object["statistics"]["iterations"], 3);
    let row = planted.fetch(run);
    assert_eq!(row.status.as_str(), "stopped");
    let written: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written, row.state);
    // A file that was lost afterwards comes back, too.
    std::fs::remove_file(&file).unwrap();
    test.run(["show"]).exits(0);
    assert!(file.exists());
}

#[test]
fn output_is_printed_without_what_a_terminal_would_obey() {
    let test = Test::new();
    let planted = planted(&test, STALLED, 3, Halt::Whole);
    let run = STALLED.parse().unwrap();
    planted.log(run, 1, b"one\x1b[31m red\x1b[0m\n\x1b]0;title\x07two\n");
    planted.log(run, 3, b"three\xff\nfour");
    let logs = |arguments: &[&str]| {
        test.run(["logs"].into_iter().chain(arguments.iter().copied())).exits(0).stdout
    };
    let all = "── iteration 1 ─────────────────────────\none red\ntwo\n\
               ── iteration 3 ─────────────────────────\nthree\u{fffd}\nfour";
    assert_eq!(logs(&[]), all);
    assert_eq!(logs(&["-f"]), all);
    assert_eq!(logs(&["--iteration", "1"]), "one red\ntwo\n");
    assert_eq!(logs(&["--iteration", "1", "--head", "1"]), "one red\n");
    assert_eq!(logs(&["--head", "1"]), format!("{}one red\n", &all[..all.find("one").unwrap()]));
    assert_eq!(logs(&["--tail", "2"]), "three\u{fffd}\nfour");
    assert_eq!(logs(&["--tail", "3"]), all[all.find("two").unwrap()..]);
    assert_eq!(logs(&["--tail", "4"]), all);
    assert_eq!(logs(&["-f", "--tail", "1"]), "four");
    test.run(["logs", "--iteration", "2"]).refused(66, &["iteration 2", "there are 1, 3"]);
    let raw = Command::new(BINARY)
        .args(["logs", "--raw"])
        .env("HOME", test.path())
        .current_dir(test.path())
        .output()
        .unwrap();
    assert_eq!(raw.stdout, b"one\x1b[31m red\x1b[0m\n\x1b]0;title\x07two\nthree\xff\nfour");
}

#[test]
fn a_run_that_said_nothing_has_no_logs() {
    let test = Test::new();
    let planted = planted(&test, STALLED, 3, Halt::Whole);
    let run = STALLED.parse().unwrap();
    // Whoever runs it keeps a folder for it.
    let gone = test.run(["logs"]).exits(66);
    assert!(gone.stderr.contains("it was removed"), "{}", gone.stderr);
    std::fs::create_dir_all(planted.home.run(run).path()).unwrap();
    let ended = test.run(["logs"]).exits(0);
    assert!(
        ended.stdout.is_empty() && ended.stderr.contains("printed nothing"),
        "{}",
        ended.stderr
    );
}

#[test]
fn old_runs_are_pruned_and_others_are_not() {
    let test = Test::new();
    let planted = planted(&test, STALLED, 3, Halt::Whole);
    let left = planted.begun(LEFT, &support::planted::dead(), "./b", &[]).0.run;
    let old = STALLED.parse().unwrap();
    for run in [old, left] {
        planted.log(run, 1, &[b'x'; 5_000]);
    }
    test.run(["show"]).exits(0);
    let log = |run| planted.home.run(run).output().join("000001.log").exists();
    assert!(test.run(["prune"]).exits(0).stdout.contains("has anything to remove"));
    let dry = test.run(["prune", "--older", "1h", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("would remove journals and logs of 1 run (5 kB)"), "{dry}");
    assert!(log(old) && !planted.fetch(old).pruned);
    let done = test.run(["prune", "--older", "1h"]).exits(0).stdout;
    assert!(
        done.contains(STALLED) && done.contains("removed journals and logs of 1 run"),
        "{done}"
    );
    assert!(!log(old) && log(left));
    assert!(planted.fetch(old).pruned && !planted.fetch(left).pruned);
    // What is known of it stays.
    let shown = test.run(["show", STALLED]).exits(0).stdout;
    assert!(shown.contains("stopped: stalled") && shown.contains("removed by age"), "{shown}");
    for gone in ["resumable", "backstop resume", "backstop doctor"] {
        assert!(!shown.contains(gone), "{gone}: {shown}");
    }
    assert!(test.run(["ls", "--json"]).exits(0).stdout.contains(STALLED));
    let again = test.run(["prune", "--older", "1h"]).exits(0).stdout;
    assert!(again.contains("has anything to remove"), "{again}");
    test.run(["prune", "--older", "soon"]).refused(64, &["30d"]);
}

#[test]
fn attaching_to_a_run_that_has_halted_ends_with_its_code() {
    let test = Test::new();
    planted(&test, STALLED, 3, Halt::Whole);
    let ended = test.run(["attach"]).exits(126);
    assert!(ended.stdout.contains("■ stopped: stalled"), "{}", ended.stdout);
}

#[test]
fn there_is_nothing_to_attach_to_without_a_supervisor() {
    let test = Test::new();
    test.run(["begin"]).exits(0);
    test.run(["attach"]).refused(65, &["no supervisor", "backstop show"]);
    let test = Test::new();
    planted(&test, LEFT, 1, Halt::None);
    let ended = test.run(["attach"]).exits(74);
    assert!(ended.stdout.contains("✗ interrupted") && ended.stderr.contains("is gone"));
}

#[test]
fn attaching_shows_output_as_it_comes_until_the_run_halts() {
    let test = Test::new();
    let planted = Planted::new(&test);
    let (lease, _, _) = planted.begun(LEFT, &identity::holder(None), "./agent.sh", &[]);
    planted.log(lease.run, 1, b"before\n");
    let (mut attached, lines) = attach(&test);
    let wait_for = |words: &str| wait_for(&lines, words);
    wait_for("before");
    planted.log(lease.run, 1, b"before\nand after\n");
    wait_for("and after");
    let events = idle_iterations(3);
    let other = Test::new();
    let donor = Planted::new(&other);
    donor.run(LEFT, &events.iter().map(String::as_str).collect::<Vec<_>>(), Halt::Whole);
    let halted = donor.fetch(lease.run);
    let mut batch = planted.batch(&lease);
    batch.update = Some(backstop_store::RunUpdate {
        at: halted.updated_at,
        status: halted.status,
        state: halted.state,
        policy_hash: halted.policy_hash,
    });
    planted.wait(planted.store.append(&batch)).unwrap();
    wait_for("■ stopped: stalled");
    assert_eq!(attached.wait().unwrap().code(), Some(126));
}

#[test]
fn ctrl_c_only_lets_go_of_the_run() {
    let test = Test::new();
    let planted = Planted::new(&test);
    let (lease, _, _) = planted.begun(LEFT, &identity::holder(None), "./agent.sh", &[]);
    planted.log(lease.run, 1, b"before\n");
    let (attached, lines) = attach(&test);
    wait_for(&lines, "before");
    let pid = rustix::process::Pid::from_child(&attached);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = attached.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(
        said.contains("which goes on") && said.contains("backstop stop 4K7Q2M9Z00000"),
        "{said}"
    );
    assert_eq!(planted.fetch(lease.run).status.as_str(), "running");
}

/// Attaches to the run, with what it prints as it comes.
fn attach(test: &Test) -> (Child, Receiver<String>) {
    let mut attached = Command::new(BINARY)
        .args(["attach", LEFT])
        .env("HOME", test.path())
        .env("NO_COLOR", "1")
        .current_dir(test.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("possible in a test");
    let (sender, lines) = channel();
    let output = BufReader::new(attached.stdout.take().expect("possible in a test"));
    std::thread::spawn(move || {
        for line in output.lines() {
            let _ = sender.send(line.expect("possible in a test"));
        }
    });
    (attached, lines)
}

#[track_caller]
fn wait_for(lines: &Receiver<String>, words: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).unwrap_or_else(|_| panic!("no `{words}`"));
        if line.contains(words) {
            return;
        }
    }
}
