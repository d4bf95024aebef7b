//! While backstop itself looks (asks git, runs probes and verifications), limits and orders hold as
//! ever: whoever looks is cut short, and nothing of it is left.

mod support;

use std::path::PathBuf;

use rustix::process::Signal;
use support::looping::{Loop, wait_for};

/// A git before the real one on the path. It hangs as soon as there is a file `slow`, with a child
/// that leaves its group, and says by a file `asked` that it does.
fn with_slow_git() -> Loop {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|file| file.exists()).expect("git is installed");
    let body = format!(
        "work=${{0%/bin/git}}\n[ -e $work/slow ] || exec {} \"$@\"\n\
         setsid sleep 300 & touch $work/asked; sleep 300",
        real.display()
    );
    let test = Loop::new().script("bin/git", &body);
    let folders = [test.work().join("bin")].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders.collect::<Vec<PathBuf>>()).expect("a path");
    let test = test.variable("PATH", path.to_str().expect("UTF-8"));
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let status = std::process::Command::new(&real)
            .args(identity)
            .args(words)
            .current_dir(test.work())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(status.expect("git runs").success());
    }
    test
}

const READS_PROGRESS: &str = "[progress]\ngit = true\n[limits]\niterations = 50\n";

#[test]
fn a_git_that_hangs_does_not_keep_a_run_from_its_time_limit() {
    let test = with_slow_git()
        .file("p.toml", READS_PROGRESS)
        .script("agent.sh", "echo x >> went; touch slow");
    let flags = ["run", "--policy", "p.toml", "--max-duration", "5s", "--", "./agent.sh"];
    let ended = test.run(flags).exits(124);
    test.leaves_nothing();
    assert!(test.exists("asked"));
    assert_eq!(test.read("went").lines().count(), 1);
    assert_eq!(test.state()["stop_reason"]["code"], "timeout");
    assert!(ended.stderr.contains("the state of the work was not kept"), "{}", ended.stderr);
}

#[test]
fn a_git_that_hangs_before_the_first_iteration_is_given_up_for_whoever_wants_the_end() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let test = with_slow_git().file("p.toml", READS_PROGRESS).file("slow", "");
        let running = test.start(["run", "--policy", "p.toml", "--", "touch", "ran"]);
        wait_for("git to be asked", || test.exists("asked"));
        running.signal(signal);
        running.ends().exits(code);
        test.leaves_nothing();
        assert!(!test.exists("ran"));
    }
}

#[test]
fn an_order_is_answered_and_obeyed_while_git_hangs() {
    for order in [&["stop", "latest"][..], &["stop", "latest", "--now"], &["halt", "--all"]] {
        let test = with_slow_git()
            .file("p.toml", READS_PROGRESS)
            .script("agent.sh", "echo x >> went; touch slow");
        let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
        wait_for("git to be asked", || test.exists("asked"));
        test.run(order).exits(0);
        let ended = running.ends();
        assert!(ended.code.is_some_and(|code| code != 0), "{}", ended.stderr);
        test.leaves_nothing();
        assert_eq!(test.read("went").lines().count(), 1);
        assert_eq!(test.state()["run_status"], "stopped");
    }
}

#[test]
fn what_could_not_be_guarded_at_the_end_is_checked_before_the_run_goes_on() {
    let policy =
        "[guards]\nallow = [\"src/**\"]\nrequire_clean = false\n[limits]\niterations = 9\n";
    let test = with_slow_git()
        .file("p.toml", policy)
        .script("agent.sh", "echo x >> went; [ -e second ] && exit 0; touch forbidden slow");
    let running = test.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("git to be asked", || test.exists("asked"));
    running.signal(Signal::INT);
    running.ends().exits(130);
    test.leaves_nothing();
    assert_eq!(test.events("guard").len(), 0, "nobody could look");
    std::fs::remove_file(test.work().join("slow")).expect("it is there");
    let test = test.file("second", "");
    test.run(["resume"]).exits(2);
    let found = test.events("guard");
    assert!(found[0]["files"].to_string().contains("forbidden"), "{found:?}");
    assert_eq!(test.read("went").lines().count(), 1, "nothing ran before that");
}

#[test]
fn who_insists_on_the_end_does_not_wait_for_the_work_to_be_kept() {
    let test = with_slow_git().script("agent.sh", "touch slow");
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("git to be asked", || test.exists("asked"));
    running.signal(Signal::INT);
    wait_for("the first to be heard", || test.has("signal"));
    running.signal(Signal::INT);
    let ended = running.ends().exits(125);
    test.leaves_nothing();
    assert!(ended.stderr.contains("the state of the work was not kept"), "{}", ended.stderr);
}

#[test]
fn a_probe_that_hangs_keeps_no_run_from_its_end() {
    let rule = "when = { type = 'custom_script', script = './probe.sh', timeout = '10m' }";
    let policy = format!("[[rule]]\n{rule}\nthen = 'complete'\n[limits]\niterations = 50\n");
    let probe = "[ -e slow ] || exit 1; setsid sleep 300 & touch asked; sleep 300";
    let test = || {
        Loop::new()
            .file("p.toml", &policy)
            .script("probe.sh", probe)
            .script("agent.sh", "echo x >> went; touch slow")
    };
    let limited = test();
    let flags = ["run", "--policy", "p.toml", "--max-duration", "5s", "--", "./agent.sh"];
    limited.run(flags).exits(124);
    limited.leaves_nothing();
    assert!(limited.exists("asked"));
    let interrupted = test();
    let running = interrupted.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the probe", || interrupted.exists("asked"));
    running.signal(Signal::INT);
    running.ends().exits(130);
    interrupted.leaves_nothing();
    let stopped = test();
    let running = stopped.start(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    wait_for("the probe", || stopped.exists("asked"));
    stopped.run(["stop", "latest"]).exits(0);
    running.ends().exits(130);
    stopped.leaves_nothing();
}

#[test]
fn a_limit_that_is_reached_during_the_verification_gives_it_no_longer_than_an_iteration() {
    let policy = "[verify]\ncommand = 'touch asked; setsid sleep 300 & sleep 300'\ntimeout = '10m'\n\
                  [loop]\nfinish_within = '200ms'\n[limits]\niterations = 50\nduration = '5s'\n";
    let test = Loop::new().file("p.toml", policy);
    test.run(["run", "--policy", "p.toml", "--", "true"]).exits(124);
    test.leaves_nothing();
    assert!(test.exists("asked"));
    assert_eq!(test.events("verification").len(), 0, "it said nothing");
}
