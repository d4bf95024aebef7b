//! Files and scripts that the engine asks about.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use backstop_core::condition::Condition;
use backstop_core::document::Syntax;
use backstop_core::event::Probe;
use backstop_core::policy::Policy;
use backstop_runner::probe::Probes;

use crate::support::{DEADLINE, is_gone, on_a_runtime, soon, tree, wait_until};

fn policy(conditions: &[&str]) -> Policy {
    let rule = |condition: &&str| format!("[[rule]]\nwhen = {condition}\nthen = \"complete\"\n");
    let text: String = conditions.iter().map(rule).collect();
    Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy
}

fn probes(policy: &Policy, cwd: &Path) -> Probes {
    Probes::new(policy.asked(), cwd, tree())
}

/// The first answers to some conditions, in their order.
fn answers(conditions: &[&str], cwd: &Path) -> Vec<(Option<bool>, String)> {
    let policy = policy(conditions);
    on_a_runtime(async {
        let told = soon("the answers", probes(&policy, cwd).ask_all()).await;
        let of = |key: String| told.iter().find(|probe| probe.key == key).unwrap();
        let keys = policy.asked().into_iter().map(Condition::key);
        let answer = |probe: &Probe| (probe.met, probe.detail.clone().unwrap_or_default());
        keys.map(|key| answer(of(key))).collect()
    })
}

fn script(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

const DONE: &str = r#"{ type = "file_created", path = "DONE" }"#;
const DEEP: &str = r#"{ type = "file_created", path = "a/b/c/DONE" }"#;
const PLAN: &str = r#"{ type = "file_contains", path = "PLAN", content = "all done" }"#;
const CHECK: &str = r#"{ type = "custom_script", script = "./check.sh" }"#;

#[test]
fn files_are_there_or_not_and_contain_or_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("PLAN"), "not all\0 done\nall done?").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let conditions = [
        DONE,
        PLAN,
        r#"{ type = "file_contains", path = "PLAN", content = "ALL DONE" }"#,
        r#"{ type = "file_contains", path = "none/at/all", content = "x" }"#,
        r#"{ type = "file_contains", path = "PLAN/below", content = "x" }"#,
        r#"{ type = "file_created", path = "sub" }"#,
    ];
    let met: Vec<_> = answers(&conditions, folder.path()).into_iter().map(|told| told.0).collect();
    let expected = [false, true, false, false, false, true];
    assert_eq!(met, expected.map(Some));
}

#[test]
fn what_can_not_be_read_is_unknown_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("PLAN")).unwrap();
    let told = answers(&[PLAN], folder.path());
    assert_eq!(told, [(None, "it is a directory".to_owned())]);
}

#[test]
fn a_link_out_of_the_working_directory_is_followed_only_where_that_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().join("work");
    fs::create_dir_all(cwd.join("inner")).unwrap();
    fs::write(folder.path().join("secret"), "all done").unwrap();
    fs::write(cwd.join("inner/file"), "all done").unwrap();
    symlink("../secret", cwd.join("PLAN")).unwrap();
    symlink("..", cwd.join("up")).unwrap();
    symlink(cwd.join("inner/file"), cwd.join("stays")).unwrap();
    let told = answers(
        &[
            PLAN,
            r#"{ type = "file_created", path = "up/secret" }"#,
            r#"{ type = "file_created", path = "up/not/there" }"#,
            r#"{ type = "file_contains", path = "PLAN", content = "all done", outside = true }"#,
            r#"{ type = "file_contains", path = "stays", content = "all done" }"#,
        ],
        &cwd,
    );
    for refused in &told[..3] {
        assert_eq!(refused.0, None);
        assert!(refused.1.contains("outside = true"), "{refused:?}");
    }
    assert_eq!((told[3].0, told[4].0), (Some(true), Some(true)));
}

#[test]
fn an_answer_is_given_once_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(&[DONE, DONE, CHECK]);
    script(folder.path(), "check.sh", "date +%N; test -e DONE");
    on_a_runtime(async {
        let mut probes = probes(&policy, folder.path());
        assert_eq!(soon("the first", probes.ask_all()).await.len(), 2);
        assert_eq!(soon("the second", probes.ask_all()).await, []);
        fs::write(folder.path().join("DONE"), "").unwrap();
        let told = soon("the third", probes.ask_all()).await;
        assert_eq!(told.iter().map(|probe| probe.met).collect::<Vec<_>>(), [Some(true); 2]);
    });
}

#[test]
fn a_file_that_comes_and_goes_is_noticed_without_a_tick() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(&[DONE]);
    on_a_runtime(async {
        let mut probes = probes(&policy, folder.path());
        probes.ask_all().await;
        let done = folder.path().join("DONE");
        for round in 0..3 {
            fs::write(&done, "").unwrap();
            assert_eq!(soon("it came", probes.changed()).await[0].met, Some(true), "{round}");
            fs::remove_file(&done).unwrap();
            assert_eq!(soon("it went", probes.changed()).await[0].met, Some(false), "{round}");
        }
        assert_eq!(probes.warnings(), [""; 0]);
    });
}

#[test]
fn directories_are_watched_as_they_appear_and_when_they_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path();
    let policy = policy(&[DEEP]);
    on_a_runtime(async {
        let mut probes = probes(&policy, cwd);
        assert_eq!(probes.ask_all().await[0].met, Some(false));
        // One step at a time, each of them seen before the next.
        for path in ["a", "a/b", "a/b/c"] {
            fs::create_dir(cwd.join(path)).unwrap();
            let seen = tokio::time::timeout(Duration::from_millis(50), probes.changed()).await;
            assert!(seen.is_err(), "nothing to tell yet");
        }
        fs::write(cwd.join("a/b/c/DONE"), "").unwrap();
        assert_eq!(soon("it came", probes.changed()).await[0].met, Some(true));
        fs::rename(cwd.join("a"), cwd.join("old")).unwrap();
        assert_eq!(soon("it moved away", probes.changed()).await[0].met, Some(false));
        fs::create_dir_all(cwd.join("new/b/c")).unwrap();
        fs::write(cwd.join("new/b/c/DONE"), "").unwrap();
        fs::rename(cwd.join("new"), cwd.join("a")).unwrap();
        assert_eq!(soon("another came", probes.changed()).await[0].met, Some(true));
        fs::remove_dir_all(cwd.join("a")).unwrap();
        assert_eq!(soon("all went", probes.changed()).await[0].met, Some(false));
        fs::create_dir_all(cwd.join("a/b/c")).unwrap();
        fs::write(cwd.join("a/b/c/DONE"), "").unwrap();
        assert_eq!(soon("all came at once", probes.changed()).await[0].met, Some(true));
    });
}

#[test]
fn content_that_is_appended_in_pieces_is_noticed_also_behind_a_link() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path();
    fs::create_dir(cwd.join("logs")).unwrap();
    symlink("logs/today", cwd.join("PLAN")).unwrap();
    let policy = policy(&[PLAN]);
    on_a_runtime(async {
        let mut probes = probes(&policy, cwd);
        assert_eq!(probes.ask_all().await[0].met, Some(false));
        let mut file = fs::File::create(cwd.join("logs/today")).unwrap();
        for piece in ["nothing yet\n", "all ", "do"] {
            file.write_all(piece.as_bytes()).unwrap();
            let seen = tokio::time::timeout(Duration::from_millis(30), probes.changed()).await;
            assert!(seen.is_err(), "nothing to tell yet");
        }
        file.write_all(b"ne\n").unwrap();
        assert_eq!(soon("the text is there", probes.changed()).await[0].met, Some(true));
    });
}

#[test]
fn a_script_is_met_by_0_not_met_by_another_code_and_unknown_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "good.sh", "echo \" $1 is fine \"; pwd -P >&2");
    script(folder.path(), "bad.sh", "echo not yet; exit 3");
    script(folder.path(), "slow.sh", "exec sleep 100");
    fs::write(folder.path().join("plain"), "text").unwrap();
    let told = answers(
        &[
            r#"{ type = "custom_script", script = "good.sh", args = ["all"] }"#,
            r#"{ type = "custom_script", script = "./bad.sh" }"#,
            r#"{ type = "custom_script", script = "slow.sh", timeout = "300ms" }"#,
            r#"{ type = "custom_script", script = "./missing.sh" }"#,
            r#"{ type = "custom_script", script = "plain" }"#,
        ],
        folder.path(),
    );
    let here = folder.path().canonicalize().unwrap();
    let good = format!("all is fine \n{}", here.display());
    assert_eq!(told[0], (Some(true), good));
    assert_eq!(told[1], (Some(false), "not yet".to_owned()));
    assert_eq!(told[2], (None, "it took longer than 300ms".to_owned()));
    assert!(told[3].0.is_none() && told[3].1.ends_with("missing.sh` was not found"), "{told:?}");
    assert!(told[4].0.is_none() && told[4].1.contains("chmod +x"), "{told:?}");
}

#[test]
fn a_question_without_an_answer_is_warned_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(&[CHECK]);
    on_a_runtime(async {
        let mut probes = probes(&policy, folder.path());
        probes.ask_all().await;
        let warnings = probes.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("`./check.sh`"), "{warnings:?}");
        probes.ask_all().await;
        assert_eq!(probes.warnings(), [""; 0]);
    });
}

#[test]
fn two_scripts_run_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    // Each waits for the other.
    script(folder.path(), "meet.sh", "echo >$1; until test -e $2; do sleep 0.01; done");
    let told = answers(
        &[
            r#"{ type = "custom_script", script = "meet.sh", args = ["a", "b"], timeout = "50s" }"#,
            r#"{ type = "custom_script", script = "meet.sh", args = ["b", "a"], timeout = "50s" }"#,
        ],
        folder.path(),
    );
    assert_eq!(told.iter().map(|told| told.0).collect::<Vec<_>>(), [Some(true); 2]);
}

#[test]
fn no_more_than_four_run_at_once_and_all_get_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    // Each says how many it sees running with it.
    let text = "mkdir on.$1; own=$1; set -- on.*; echo $#; sleep 0.05; rmdir on.$own";
    script(folder.path(), "count.sh", text);
    let conditions: Vec<_> = (0..10)
        .map(|i| {
            format!(
                r#"{{ type = "custom_script", script = "count.sh", args = ["{i}"], timeout = "50s" }}"#
            )
        })
        .collect();
    let conditions: Vec<_> = conditions.iter().map(String::as_str).collect();
    for (met, seen) in answers(&conditions, folder.path()) {
        assert_eq!(met, Some(true));
        assert!(seen.lines().next().unwrap().trim().parse::<u32>().unwrap() <= 4, "{seen}");
    }
}

#[test]
fn a_script_with_a_period_runs_by_itself_and_never_twice_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path();
    // It fails for good if it meets itself.
    let text = "echo >>runs; mkdir lock || { echo >twice; exit 1; }\n\
                while test -e hold; do sleep 0.01; done\nrmdir lock; test -e DONE";
    script(cwd, "check.sh", text);
    let timed =
        r#"{ type = "custom_script", script = "check.sh", every = "10ms", timeout = "50s" }"#;
    let policy = policy(&[timed]);
    let runs = || fs::read_to_string(cwd.join("runs")).unwrap_or_default().lines().count();
    on_a_runtime(async {
        let mut probes = probes(&policy, cwd);
        assert_eq!(soon("the first", probes.ask_all()).await[0].met, Some(false));
        fs::write(cwd.join("hold"), "").unwrap();
        let begun = Instant::now();
        let mut looks = 0;
        // Due many times over while one is held up; given up and taken up again.
        while looks < 20 || runs() < 2 {
            let told = tokio::time::timeout(Duration::from_millis(10), probes.changed()).await;
            assert!(told.is_err());
            assert!(begun.elapsed() < DEADLINE, "it does not run by itself");
            looks += 1;
        }
        fs::write(cwd.join("DONE"), "").unwrap();
        // Comes second: by then it has been asked.
        let release = async {
            fs::remove_file(cwd.join("hold")).unwrap();
        };
        let (told, ()) =
            tokio::join!(soon("asked while one is running", probes.ask_all()), release);
        assert_eq!(told[0].met, Some(true));
        fs::remove_file(cwd.join("DONE")).unwrap();
        assert_eq!(soon("it runs by itself", probes.changed()).await[0].met, Some(false));
    });
    assert!(!cwd.join("twice").exists());
}

#[test]
fn with_nothing_to_watch_nothing_is_ever_told() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "check.sh", "exit 0");
    let policy = policy(&[CHECK, r#"{ type = "output_pattern", pattern = "x" }"#]);
    on_a_runtime(async {
        let mut probes = probes(&policy, folder.path());
        assert_eq!(probes.ask_all().await.len(), 1);
        let told = tokio::time::timeout(Duration::from_millis(100), probes.changed()).await;
        assert!(told.is_err());
    });
}

#[test]
fn a_script_does_not_outlive_the_probes() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    script(folder.path(), "check.sh", "echo $$ >pid.new; mv pid.new pid; exec sleep 100");
    let policy = policy(&[r#"{ type = "custom_script", script = "check.sh", timeout = "1h" }"#]);
    on_a_runtime(async {
        let mut probes = probes(&policy, folder.path());
        tokio::select! {
            _ = probes.ask_all() => panic!("it sleeps"),
            () = async {
                while !pid_file.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
        }
    });
    let pid = fs::read_to_string(pid_file).unwrap();
    wait_until("the script is gone", || is_gone(pid.trim()));
}
