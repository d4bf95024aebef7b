//! A store that fails, fills up or is broken, and supervisors that compete for one run.

#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use backstop_store::testing::{FAILURE_VARIABLE, FailureKind};
use rustix::process::Signal;
use serde_json::Value as Json;
use support::Ended;
use support::looping::{Loop, Running, send, wait_for};

#[test]
fn a_store_that_fails_at_any_call_ends_the_run_and_loses_nothing() {
    let calls = at_every_call(|failure| {
        let test = Loop::new().variable(FAILURE_VARIABLE, &failure.variable());
        let ended = test.run(reports(&["run", "--max-iterations", "2"]));
        failure.check(&test, &ended, 125);
        fs::remove_file(&failure.tells).is_ok()
    });
    // Each append, renewal and look at the inbox is one, so their number differs a little.
    assert!(calls > 10, "{calls} calls");
}

#[test]
fn a_store_that_fails_at_any_call_of_a_resumption_loses_nothing() {
    let calls = at_every_call(|failure| {
        let test = Loop::new();
        test.run(reports(&["run", "--max-iterations", "1"])).exits(125);
        let before = test.journal();
        let mut resume = test.command(["resume", "latest", "--raise", "iterations=2"]);
        resume.env(FAILURE_VARIABLE, failure.variable());
        let ended = Ended::new(&resume.output().expect("it runs"));
        failure.check(&test, &ended, 125);
        let after = test.journal();
        assert_eq!(after[..before.len()], before[..], "{failure:?}");
        fs::remove_file(&failure.tells).is_ok()
    });
    assert!(calls > 10, "{calls} calls");
}

/// One call to the store that fails.
#[derive(Debug)]
struct Failing {
    call: u64,
    kind: FailureKind,
    lasting: bool,
    tells: std::path::PathBuf,
}

impl Failing {
    fn variable(&self) -> String {
        let how_long = if self.lasting { "lasting" } else { "once" };
        format!("{} {} {how_long} {}", self.call, self.kind.name(), self.tells.display())
    }

    /// What must be so after any failure.
    fn check(&self, test: &Loop, ended: &Ended, normal: i32) {
        let text = format!("{self:?}: {:?} {}", ended.code, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{text}");
        assert_eq!(test.processes(), NOBODY, "{text}");
        if ended.code == Some(normal) {
            // What failed was not needed: the lease runs out by itself, or the inbox is looked at
            // again.
        } else {
            assert_eq!(ended.code, Some(74), "{text}");
            assert!(ended.stderr.contains("error: "), "{text}");
            let words = if self.kind == FailureKind::Full { "full" } else { "I/O error" };
            assert!(ended.stderr.contains(words), "{text}");
        }
        // Without the failure everything is as it should be.
        let listed = Ended::new(&healthy(test, &["ls", "--all", "--json"])).exits(0);
        if listed.stdout.is_empty() {
            assert_eq!(test.read("acked"), "", "{text}: acknowledged and lost");
            return;
        }
        let shown = Ended::new(&healthy(test, &["show", "latest", "--events"])).exits(0);
        check_journal(&shown.stdout, &test.read("acked"), &text);
        fs::write(test.work().join("calm"), "").expect("can be written");
        let raise = ["resume", "latest", "--raise", "iterations=9", "--note", "again"];
        let mut resume = healthy_command(test, &raise);
        let resumed = Ended::new(&resume.output().expect("it runs"));
        assert_eq!(resumed.code, Some(0), "{text}\nresumed: {}", resumed.stderr);
        assert_eq!(test.processes(), NOBODY, "{text}");
        let shown = Ended::new(&healthy(test, &["show", "latest", "--events"])).exits(0);
        check_journal(&shown.stdout, &test.read("acked"), &text);
    }
}

/// Lets the first call fail, the second, and so on, once and for ever, until there are no more.
fn at_every_call(trial: impl Fn(&Failing) -> bool + Sync) -> u64 {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let (next, most) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let failing = Failing {
                        call: number / 2 + 1,
                        kind: FailureKind::ALL[(number % 3) as usize],
                        lasting: number % 2 == 1,
                        tells: folder.path().join(number.to_string()),
                    };
                    if !trial(&failing) {
                        return;
                    }
                    most.fetch_max(failing.call, Ordering::Relaxed);
                }
            });
        }
    });
    most.load(Ordering::Relaxed)
}

/// The same place, and a store that does not fail.
fn healthy_command(test: &Loop, arguments: &[&str]) -> Command {
    let mut command = test.command(arguments);
    command.env_remove(FAILURE_VARIABLE);
    command
}

fn healthy(test: &Loop, arguments: &[&str]) -> std::process::Output {
    healthy_command(test, arguments).output().expect("it runs")
}

/// No gap, and everything that was acknowledged.
#[track_caller]
fn check_journal(events: &str, acknowledged: &str, what: &str) {
    let events: Vec<Json> =
        events.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], index + 1, "{what}: a gap");
    }
    let known: BTreeSet<&str> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    for line in acknowledged.lines() {
        let (_, id) = line.split_once(' ').expect("a number and a name");
        assert!(known.contains(id), "{what}: {line} was acknowledged and lost");
    }
}

/// A worker that reports, and a run that is complete once it has been calm.
fn reports<'a>(start: &[&'a str]) -> Vec<&'a str> {
    [start, &["--until-file", "done", "--grace", "2s", "--", REPORTER, "4", "linger"]].concat()
}

#[test]
fn a_full_disk_ends_the_run_clearly_and_it_goes_on_when_there_is_room() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let Some(mount) = Mount::new(folder.path(), "size=2m") else { return };
    let test = Loop::new().variable("BACKSTOP_STORE", &folder.path().to_string_lossy());
    let run = ["run", "--max-iterations", "100000", "--until-file", "done", "--grace", "2s"];
    let ended = test.run([&run[..], &["--", REPORTER, "200"]].concat()).exits(74);
    assert!(ended.stderr.contains("full"), "{}", ended.stderr);
    assert_eq!(test.processes(), NOBODY);
    let acknowledged = test.read("acked");
    assert!(acknowledged.lines().count() > 10);
    let standing = test.state();
    assert_eq!(standing["run_status"], "failed", "the halt is on record: {standing}");
    assert_eq!(standing["interrupted"], false);
    assert_eq!(standing["stop_reason"]["code"], "critical_failure");
    mount.remount("size=32m");
    let shown = test.run(["show", "latest", "--events"]).exits(0);
    check_journal(&shown.stdout, &acknowledged, "full");
    fs::write(test.work().join("calm"), "").expect("can be written");
    test.run(["resume", "latest"]).exits(0);
    assert_eq!(test.state()["run_status"], "completed");
    let shown = test.run(["show", "latest", "--events"]).exits(0);
    check_journal(&shown.stdout, &acknowledged, "resumed");
}

#[test]
fn nothing_is_started_where_nothing_can_be_remembered() {
    let test = Loop::new().file("file", "not a directory").script("agent.sh", "echo go > went");
    let below_a_file = test.work().join("file/state").to_string_lossy().into_owned();
    for place in [below_a_file.as_str(), "/proc/backstop-test"] {
        let ended = test.run(["run", "--store", place, "--", "./agent.sh"]);
        ended.refused(73, &[place]);
        assert!(!test.exists("went"), "{place}");
    }
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let Some(mount) = Mount::new(folder.path(), "size=4m") else { return };
    mount.remount("ro");
    let place = folder.path().to_string_lossy().into_owned();
    test.run(["run", "--store", &place, "--", "./agent.sh"]).refused(73, &["ead-only"]);
    assert!(!test.exists("went"));
}

#[test]
fn nothing_is_started_on_a_disk_that_is_full() {
    let test = Loop::new().script("agent.sh", "echo go > went");
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let Some(_mount) = Mount::new(folder.path(), "size=4m") else { return };
    let place = folder.path().to_string_lossy().into_owned();
    test.run(["run", "--store", &place, "--once", "--", "true"]).exits(0);
    let mut filler = fs::File::create(folder.path().join("filler")).expect("can be created");
    while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
    test.run(["run", "--store", &place, "--", "./agent.sh"]).refused(74, &["full"]);
    assert!(!test.exists("went"));
}

#[test]
fn a_run_that_can_not_go_on_for_want_of_room_is_left_as_it_is() {
    let test = Loop::new();
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let Some(_mount) = Mount::new(folder.path(), "size=4m") else { return };
    let place = folder.path().to_string_lossy().into_owned();
    test.run(["run", "--store", &place, "--max-iterations", "1", "--", "true"]).exits(125);
    let filler = folder.path().join("filler");
    let mut file = fs::File::create(&filler).expect("can be created");
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    // The store has room for a little more, and a run needs more than that.
    let length = file.metadata().expect("its length").len();
    file.set_len(length - (128 << 10)).expect("can be cut");
    let resume = ["resume", "latest", "--store", &place, "--raise", "iterations=2"];
    test.run(resume).refused(74, &["full"]);
    fs::remove_file(filler).expect("can be removed");
    drop(file);
    let shown = test.run(["show", "latest", "--json", "--store", &place]).exits(0).json();
    assert_eq!(shown["run_status"], "stopped");
    let journal = test.run(["show", "latest", "--events", "--store", &place]).exits(0).stdout;
    assert!(!journal.contains("\"resumed\""), "{journal}");
    test.run(resume).exits(125);
}

#[test]
fn a_halt_on_record_stays_what_it_is_where_nothing_can_be_written_behind_it() {
    for free in [800, 1000, 1400] {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let Some(_mount) = Mount::new(folder.path(), "size=4m") else { return };
        let place = folder.path().to_string_lossy().into_owned();
        let fill = format!("while head -c 4096 /dev/zero >> {place}/filler 2> gone; do :; done");
        let test = Loop::new()
            .script("fill.sh", &fill)
            .file("p.toml", "[notify]\non = [\"halted\"]\ncommand = [\"./fill.sh\"]\n");
        test.run(["run", "--store", &place, "--once", "--", "true"]).exits(0);
        let mut filler = fs::File::create(folder.path().join("filler")).expect("can be created");
        while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
        let length = filler.metadata().expect("its length").len();
        filler.set_len(length - (free << 10)).expect("can be cut");
        drop(filler);
        let run = ["run", "--store", &place, "--once", "--policy", "p.toml", "--", "true"];
        test.run(run).exits(0);
        fs::remove_file(folder.path().join("filler")).expect("it was filled");
        let shown = test.run(["show", "latest", "--json", "--store", &place]).exits(0).json();
        assert_eq!(shown["run_status"], "completed", "{free} KiB free");
        let journal = test.run(["show", "latest", "--events", "--store", &place]).exits(0).stdout;
        assert_eq!(journal.matches("\"type\":\"halted\"").count(), 1, "{journal}");
    }
}

#[test]
fn nothing_is_started_on_a_damaged_store() {
    let test = Loop::new().script("agent.sh", "echo go > went");
    test.run(["run", "--once", "--", "true"]).exits(0);
    let database = test.state_directory().join("backstop.db");
    let whole = fs::read(&database).expect("a database");
    for damage in [&b"this is no database at all; somebody wrote over it"[..], &[0; 4096], b""] {
        let mut bytes = whole.clone();
        match damage.len() {
            0 => bytes.clear(),
            length => bytes[..length].copy_from_slice(damage),
        }
        for suffix in ["-wal", "-shm"] {
            let _not_there =
                fs::remove_file(test.state_directory().join(format!("backstop.db{suffix}")));
        }
        fs::write(&database, &bytes).expect("can be written");
        for arguments in [&["run", "--once", "--", "./agent.sh"][..], &["resume", "latest"]] {
            let ended = test.run(arguments.iter().copied());
            ended.refused(74, &["error: "]);
            assert!(!test.exists("went"), "{arguments:?}");
        }
        assert_eq!(fs::read(&database).expect("it is there"), bytes, "it was changed");
    }
}

#[test]
fn of_many_that_resume_a_run_one_goes_on_with_it() {
    for (round, containment) in ["cgroup", "sub-reaper"].into_iter().cycle().take(4).enumerate() {
        let test = Loop::new()
            .script("agent.sh", "echo go >> went; until [ -e go_on ]; do sleep 0.02; done")
            .variable("BACKSTOP_CONTAINMENT", containment)
            .file("go_on", "");
        test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
        fs::remove_file(test.work().join("go_on")).expect("it is there");
        let resume = ["resume", "latest", "--raise", "iterations=2"];
        let mut running: Vec<Running> = (0..8).map(|_| test.start(resume)).collect();
        let mut losers = Vec::new();
        wait_for("all but one to have ended", || {
            for index in (0..running.len()).rev() {
                if running[index].has_ended() {
                    losers.push(running.remove(index).ends());
                }
            }
            losers.len() >= 7
        });
        for loser in &losers {
            assert_eq!(loser.code, Some(65), "{containment}: {}", loser.stderr);
            assert!(loser.stderr.contains("process"), "{}", loser.stderr);
        }
        wait_for("the winner's child", || test.read("went").lines().count() >= 2);
        fs::write(test.work().join("go_on"), "").expect("can be written");
        let winner = running.pop().expect("one is left").ends();
        assert_eq!(winner.code, Some(125), "{round} {containment}: {}", winner.stderr);
        assert_eq!(test.read("went"), "go\ngo\n", "{containment}");
        assert_eq!(test.events("iteration_started").len(), 2);
        assert_eq!(test.processes(), NOBODY);
    }
}

#[test]
fn a_supervisor_that_slept_past_its_lease_writes_nothing_and_ends() {
    for containment in ["cgroup", "sub-reaper"] {
        let test = Loop::new()
            .script(
                "agent.sh",
                "echo $$ >> went; until [ -e go_on ]; do\n\
                 echo '::backstop {\"type\":\"usage\",\"input_tokens\":1}'; sleep 0.02; done",
            )
            .variable("BACKSTOP_CONTAINMENT", containment)
            .variable("BACKSTOP_LEASE_SECONDS", "3");
        let run = ["run", "--max-iterations", "1", "--grace", "1s", "--", "./agent.sh"];
        let sleeper = test.start(run);
        wait_for("the first child", || test.read("went").lines().count() == 1);
        wait_for("its reports", || test.events("usage").len() > 2);
        // What looked into the journal just now may not be gone yet.
        wait_for("the two of them alone", || supervisors(&test).len() == 2);
        let asleep = supervisors(&test);
        // The outer one first, so that it does not see the inner one stop.
        asleep.iter().for_each(|pid| send(*pid, Signal::STOP));
        let taker = std::cell::RefCell::new(None);
        wait_for("the lease to run out", || {
            let started = test.start(["resume", "latest"]);
            wait_for("an answer or a child", || {
                started.has_ended() || test.read("went").lines().count() == 2
            });
            match started.has_ended() {
                true => started.ends().exits(65).stderr.is_empty(),
                false => taker.replace(Some(started)).is_none(),
            }
        });
        let taker = taker.into_inner().expect("one that took over");
        for pid in asleep {
            // At the level of control groups the inner one was ended as what it left behind.
            if Path::new(&format!("/proc/{pid}")).exists() {
                send(pid, Signal::CONT);
            }
        }
        let ended = sleeper.ends();
        assert!(matches!(ended.code, Some(65 | 70 | 74)), "{:?} {}", ended.code, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        // The one that took over is none the worse for it.
        let reports = test.events("usage").len();
        wait_for("more reports", || test.events("usage").len() > reports + 3);
        assert!(!taker.has_ended(), "{containment}");
        fs::write(test.work().join("go_on"), "").expect("can be written");
        taker.ends().exits(125);
        assert_eq!(test.processes(), NOBODY);
        assert_eq!(test.read("went").lines().count(), 2, "{containment}");
        let shown = test.run(["show", "latest", "--events"]).exits(0);
        check_journal(&shown.stdout, "", containment);
        // What the sleeper knows of is over: no halt, no end of an iteration of its own.
        assert_eq!(test.events("halted").len(), 1, "{containment}");
        assert_eq!(test.events("iteration_finished").len(), 1, "{containment}");
    }
}

#[test]
fn an_outer_process_that_wakes_up_late_ends_nothing_of_its_successor() {
    for containment in ["cgroup", "sub-reaper"] {
        let test = Loop::new()
            .script("agent.sh", "echo $$ >> went; until [ -e go_on ]; do sleep 0.02; done")
            .variable("BACKSTOP_CONTAINMENT", containment);
        let first = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
        wait_for("the first child", || test.read("went").lines().count() == 1);
        let inner = supervisors(&test).into_iter().find(|pid| *pid != first.pid());
        first.signal(Signal::STOP);
        send(inner.expect("an inner process"), Signal::KILL);
        let second = test.start(["resume", "latest"]);
        wait_for("the second child", || test.read("went").lines().count() == 2);
        first.signal(Signal::CONT);
        first.ends().exits(70);
        let child = test.read("went").lines().last().unwrap_or_default().to_owned();
        assert!(Path::new(&format!("/proc/{child}")).exists(), "{containment}");
        assert!(!second.has_ended(), "{containment}");
        fs::write(test.work().join("go_on"), "").expect("can be written");
        second.ends().exits(125);
        assert_eq!(test.read("went").lines().count(), 2, "{containment}");
        assert_eq!(test.processes(), NOBODY);
    }
}

fn supervisors(test: &Loop) -> Vec<u32> {
    let others = test.processes();
    test.marked().into_iter().filter(|pid| !others.contains(pid)).collect()
}

/// A small file system in memory, for as long as this lives.
struct Mount<'a> {
    place: &'a Path,
}

impl<'a> Mount<'a> {
    fn new(place: &'a Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "backstop-test"])
            .arg(place)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: a file system can be mounted by root only");
            return None;
        }
        Some(Self { place })
    }

    fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        // A connection that is being closed may still write.
        wait_for("the file system to be mounted again", || {
            let mount = Command::new("mount").args(["-o", &options]).arg(self.place).output();
            mount.is_ok_and(|output| output.status.success())
        });
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _still_there = Command::new("umount").arg("-l").arg(self.place).status();
    }
}

const SIDE_BY_SIDE: usize = 4;
const REPORTER: &str = env!("CARGO_BIN_EXE_reporter");
const NOBODY: [u32; 0] = [];
