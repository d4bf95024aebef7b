//! Failures that a supervisor of loops must survive, end to end: what `backstop run` makes of them in
//! exit code, journal, log and card.
//!
//! Which test covers which row of the table of failures:
//!
//! | rows | where |
//! |---|---|
//! | 1–3 trees, daemons, hoppers | here; `containment/swept.rs` at every level |
//! | 4, 5, 22 the ladder, stopped children, Ctrl-C | here; `containment/held.rs`; `terminal.rs` |
//! | 6 what can't be killed | here; `uninterruptible.rs` |
//! | 7–10 floods, long lines, odd bytes, closed and held pipes | here; `scenarios.rs` |
//! | 11, 21, 23 terminals, SIGHUP, Ctrl-Z | here; `terminal.rs` |
//! | 12, 13 a full disk, a disk that fails | `durability.rs`; `backstop-store/tests/disk.rs` |
//! | 14 no place for the record | here |
//! | 15 a dead supervisor | here; `containment/deaths.rs`; `torture.rs` |
//! | 16, 17 sleep and jumping clocks | `run/times.rs`; the core's tests, where time is a value |
//! | 18 two supervisors | here; `backstop-store/tests/processes.rs` |
//! | 19 torn and damaged databases, power cuts | `backstop-store/tests/{damage,power_loss}.rs` |
//! | 20 policies that change | here |
//! | 24, 28 numbers used again, the wrong group | here; `backstop-runner/src/tree/signalling.rs` |
//! | 25–27 descriptors, zombies, memory | here |
//! | 29, 30 hooks that hang, a slow journal | here; `looking.rs` |

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value as Json;
use support::looping::{Loop, Running, send, wait_for};

const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");
const CONTAINMENTS: [&str; 2] = ["cgroup", "sub-reaper"];

fn run_of<'a>(flags: &[&'a str], misbehaviour: &[&'a str]) -> Vec<&'a str> {
    [&["run"], flags, &["--", MISBEHAVE], misbehaviour].concat()
}

/// The details of all notes of one kind.
fn notes(test: &Loop, what: &str) -> Vec<String> {
    let notes = test.events("noted").into_iter().filter(|note| note["what"] == what);
    notes.filter_map(|note| note["detail"].as_str().map(str::to_owned)).collect()
}

/// The two processes of backstop: whom the user sees, and the supervisor.
fn supervisors(test: &Loop, outer: u32) -> (u32, u32) {
    let living = test.processes();
    let inner = test.marked().into_iter().find(|pid| *pid != outer && !living.contains(pid));
    (outer, inner.expect("a supervisor"))
}

/// Rows 1 to 3.
#[test]
fn what_the_main_process_leaves_behind_is_swept_and_named() {
    for containment in CONTAINMENTS {
        for misbehaviour in [
            &["tree", "--depth", "3", "--width", "2", "--abandon"][..],
            &["daemonize", "--ignore-term"],
            &["forkhop", "--setsid"],
        ] {
            let test = Loop::new().variable("BACKSTOP_CONTAINMENT", containment);
            test.run(run_of(&["--once", "--grace", "100ms"], misbehaviour)).exits(0);
            test.leaves_nothing();
            let swept = notes(&test, "swept");
            // A hopper may be caught between two of its lives, when it has no name.
            assert!(misbehaviour[0] == "forkhop" || swept[0].contains("misbehave"), "{swept:?}");
        }
    }
}

/// Rows 4 and 22: every step is on record before it is taken.
#[test]
fn the_ladder_is_journalled_in_its_order() {
    let test =
        Loop::new().script("agent.sh", "trap '' INT TERM; touch up; while :; do sleep 300; done");
    let running = test.start(["run", "--grace", "1h", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::INT);
    wait_for("the first step", || !notes(&test, "signalled").is_empty());
    running.signal(Signal::INT);
    running.ends().exits(130);
    let told: Vec<String> = test.journal().iter().filter_map(step).collect();
    let expected = [
        "asked kill",
        "decided stop",
        "SIGTERM",
        "asked kill",
        "SIGKILL",
        "iteration_finished",
        "decided stop",
        "halted",
    ];
    assert_eq!(told, expected);
    test.leaves_nothing();
}

fn step(event: &Json) -> Option<String> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    Some(match event["type"].as_str()? {
        "signal" => format!("asked {}", text("kind")),
        "decision" if text("verdict") != "continue" => format!("decided {}", text("verdict")),
        "noted" if text("what") == "signalled" => text("detail").split(' ').next()?.to_owned(),
        kind @ ("iteration_finished" | "halted") => kind.to_owned(),
        _ => return None,
    })
}

/// Row 5.
#[test]
fn a_stopped_child_hears_the_signal_and_needs_no_other() {
    let test = Loop::new();
    let running = test.start(run_of(&["--grace", "1h"], &["stop-self"]));
    wait_for("the child to be stopped", || {
        test.processes().iter().any(|pid| is_in_state(*pid, 'T'))
    });
    running.signal(Signal::TERM);
    running.ends().exits(143);
    assert_eq!(notes(&test, "signalled"), ["SIGTERM to the process tree"]);
}

fn is_in_state(pid: u32, state: char) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(state))
}

/// Row 6, for a process of another user's, whom its supervisor's signals do not reach.
#[test]
fn a_process_that_nobody_may_kill_is_named_and_does_not_hold_up_the_end() {
    let test = Loop::new();
    let Some(unkillable) = Unkillable::prepare(&test) else {
        println!("skipped: only root can make a process that a supervisor may not kill");
        return;
    };
    let mut command = unkillable.supervised(&test);
    let running = test.launch(&mut command);
    wait_for("the process", || unkillable.pid().is_some());
    let pid = unkillable.pid().expect("it was there");
    running.signal(Signal::TERM);
    let ended = running.ends();
    let is_alive = is_in_state(pid, 'S');
    send(pid, Signal::KILL);
    assert!(is_alive, "it was ended after all");
    let ended = ended.exits(143);
    let number = pid.to_string();
    assert!(ended.stderr.contains(&format!("the main process ({number}) does not end")));
    assert!(ended.stderr.contains("these processes can't be ended: sleep"), "{}", ended.stderr);
    let noted = notes(&test, "unkillable");
    assert!(noted.iter().all(|note| note.contains(&number)), "{noted:?}");
    assert!(noted.len() >= 2, "{noted:?}");
    let state = test.state();
    assert_eq!((&state["run_status"], &state["resumable"]), (&"stopped".into(), &true.into()));
}

/// A program that becomes another user's as it starts.
struct Unkillable {
    program: std::path::PathBuf,
    backstop: std::path::PathBuf,
    setpriv: [&'static str; 4],
}

impl Unkillable {
    /// None where this can't be done.
    fn prepare(test: &Loop) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join("setpriv"));
        let original = found.into_iter().find(|file| file.exists())?;
        let program = test.work().join("becomes-root");
        fs::copy(original, &program).expect("can be copied");
        // The folder of the build may be closed to others.
        let backstop = test.work().join("backstop");
        fs::copy(env!("CARGO_BIN_EXE_backstop"), &backstop).expect("can be copied");
        let folder = test.work().parent().expect("a folder").to_owned();
        let chown = |owner: &str, what: &std::path::Path| {
            let mut command = std::process::Command::new("chown");
            command.arg("-R").arg(owner).arg(what).status()
        };
        let given = chown("65534:65534", &folder);
        let taken_back = chown("0:0", &program);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("can be set");
        let setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let this = Self { program, backstop, setpriv };
        let tried = this.as_nobody().arg(&this.program).args(BECOMES_ROOT).arg("true").status();
        let all = [given, taken_back, tried];
        all.into_iter().all(|done| done.is_ok_and(|done| done.success())).then_some(this)
    }

    fn as_nobody(&self) -> std::process::Command {
        let mut command = std::process::Command::new(self.setpriv[0]);
        command.args(&self.setpriv[1..]);
        command
    }

    fn supervised(&self, test: &Loop) -> std::process::Command {
        let call = test.command(["run", "--once", "--grace", "100ms", "--"]);
        let mut command = self.as_nobody();
        command.arg(&self.backstop).args(call.get_args()).arg(&self.program).args(BECOMES_ROOT);
        command.args(["sleep", MARKED_SLEEP]).current_dir(test.work()).stdin(Stdio::null());
        command.env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn pid(&self) -> Option<u32> {
        let folders = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        let mut pids = folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.find(|pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words == format!("sleep\0{MARKED_SLEEP}\0").as_bytes()
        })
    }
}

const BECOMES_ROOT: [&str; 3] = ["--reuid=0", "--keep-groups", "--"];
/// Nobody else sleeps for so long.
const MARKED_SLEEP: &str = "300.0625";

/// Row 24: the supervisor is dead, and its number has become another's.
#[test]
fn whoever_has_the_number_of_a_dead_supervisor_is_left_alone() {
    let agent = "[ -e second ] && exit 0; touch up; sleep 300";
    let test = Loop::new().script("agent.sh", agent);
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    let (outer, inner) = supervisors(&test, running.pid());
    Loop::cut_off(&[outer, inner]);
    drop(running);
    let mut innocent = std::process::Command::new("sleep").arg("300").spawn().expect("it runs");
    let number = innocent.id();
    let holder = format!("json_set(holder, '$.pid', {number}, '$.outer_pid', {number})");
    let database = test.state_directory().join("backstop.db");
    support::database::sql(&database, &format!("UPDATE leases SET holder = {holder}"));
    let test = test.file("second", "");
    test.run(["resume"]).exits(125);
    test.leaves_nothing();
    let lives = innocent.try_wait().expect("it can be asked").is_none();
    innocent.kill().expect("it can be killed");
    innocent.wait().expect("it can be waited for");
    assert!(lives, "it was taken for the supervisor");
}

/// Rows 7 and 8.
#[test]
fn a_flood_and_an_endless_line_take_no_memory_and_a_bounded_log() {
    for flood in ["flood", "huge-line"] {
        let script = format!("{MISBEHAVE} {flood} 90M; echo END; touch flooded; exec sleep 300");
        let test = Loop::new().script("agent.sh", &script);
        let flags = ["run", "--until-output", "nowhere to be found", "--", "./agent.sh"];
        let running = test.start_unheard(flags);
        wait_for("the flood", || test.exists("flooded"));
        let (_, inner) = supervisors(&test, running.pid());
        let peak = peak_kib(inner);
        assert!(peak < 64 * 1024, "{peak} KiB");
        // The run hears orders as ever.
        test.run(["stop", "latest", "--now"]).exits(0);
        running.ends().exits(130);
        let left_out = notes(&test, "left_out");
        assert!(left_out[0].ends_with("of iteration 1"), "{left_out:?}");
        let run = test.state()["run_id"].as_str().expect("a name").to_owned();
        let kept = size_of(&test.state_directory().join("runs").join(run));
        assert!((50 << 20..70 << 20).contains(&kept), "{kept} bytes are kept");
        let last = test.run(["logs", "latest", "--tail", "1"]).exits(0).stdout;
        assert!(last.ends_with("END\n"), "{}", &last[last.len().saturating_sub(100)..]);
    }
}

fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn size_of(folder: &std::path::Path) -> u64 {
    let entries = fs::read_dir(folder).expect("can be listed").filter_map(Result::ok);
    entries
        .map(|entry| {
            let data = entry.metadata().expect("it is there");
            if data.is_dir() { size_of(&entry.path()) } else { data.len() }
        })
        .sum()
}

/// Row 9.
#[test]
fn odd_bytes_pass_unchanged_and_are_harmless_in_the_log() {
    let test = Loop::new();
    let plain = std::process::Command::new(MISBEHAVE).arg("garbage").output().expect("it runs");
    let run = test.command(run_of(&["--once"], &["garbage"])).output().expect("it runs");
    assert_eq!(run.stdout, plain.stdout, "not a byte was lost or changed");
    let logs = test.command(["logs", "latest"]).output().expect("it runs");
    let text = String::from_utf8(logs.stdout).expect("what is shown is text");
    let odd: Vec<char> =
        text.chars().filter(|sign| sign.is_control() && *sign != '\n' && *sign != '\t').collect();
    assert!(odd.is_empty(), "{odd:?} in {text:?}");
    assert!(text.contains("red"), "{text:?}");
}

/// Row 9: an error message is others' text too.
#[test]
fn odd_bytes_in_an_error_are_harmless_on_the_card() {
    let test =
        Loop::new().script("agent.sh", r"printf '\033]0;title\007\033[2Jgone \377\n' >&2; exit 1");
    let command = test.command(["run", "--", "./agent.sh"]).output().expect("it runs");
    assert_eq!(command.status.code(), Some(12));
    let shown = String::from_utf8_lossy(&command.stderr).into_owned();
    let card = &shown[shown.find("stopped: error").expect("a card")..];
    assert!(!card.contains('\x1b') && !card.contains('\x07'), "{card:?}");
    assert!(card.contains("gone"), "{card:?}");
    let message = test.state()["facts"]["last_error"]["message"].to_string();
    assert!(message.contains("gone"), "{message}");
}

/// Row 10.
#[test]
fn an_iteration_ends_with_its_process_and_not_with_its_output() {
    let test = Loop::new();
    let closes = run_of(&["--once"], &["close-stdout", "--milliseconds", "400"]);
    test.run(closes).exits(0);
    let finished = test.events("iteration_finished");
    // Its clock may begin a little after the process has.
    assert!(finished[0]["duration_ms"].as_u64() >= Some(300), "{finished:?}");
    test.run(run_of(&["--once"], &["hold-pipe"])).exits(0);
    test.leaves_nothing();
    assert!(notes(&test, "swept")[0].contains("misbehave"));
}

/// Row 14: what can't be recorded is not begun.
#[test]
fn without_a_place_for_the_record_nothing_runs() {
    let test = Loop::new().file("taken", "").file("denied/x", "");
    for place in ["taken", "taken/below", "/proc/nowhere"] {
        let store = test.work().join(place);
        let store = store.to_str().expect("UTF-8");
        let ended = test.run(["run", "--store", store, "--", "touch", "ran"]);
        ended.refused(73, &[place]);
    }
    let denied = test.work().join("denied");
    fs::set_permissions(&denied, fs::Permissions::from_mode(0o500)).expect("can be set");
    if fs::write(denied.join("probe"), "").is_err() {
        // For root there are no permissions.
        let store = denied.join("store");
        let ended =
            test.run(["run", "--store", store.to_str().expect("UTF-8"), "--", "touch", "ran"]);
        ended.refused(73, &["denied"]);
    }
    assert!(!test.exists("ran"));
}

/// Row 14: a database that is none.
#[test]
fn a_damaged_store_is_not_replaced() {
    let test = Loop::new();
    test.run(["run", "--once", "--", "true"]).exits(0);
    let path = test.state_directory().join("backstop.db");
    for name in ["backstop.db-wal", "backstop.db-shm"] {
        let _ = fs::remove_file(test.state_directory().join(name));
    }
    fs::write(&path, "this is no database, and never was one".repeat(200)).expect("can be written");
    let before = fs::read(&path).expect("can be read");
    test.run(["run", "--", "touch", "ran"]).exits(74);
    assert!(!test.exists("ran"));
    assert_eq!(fs::read(&path).expect("can be read"), before);
}

/// Row 15: both of backstop's processes die at once, and nobody is left to clean up.
#[test]
fn what_a_dead_supervisor_left_behind_is_ended_before_the_run_goes_on() {
    let agent = "echo $$ >> went; [ -e second ] && exit 0; setsid sleep 300 & touch up; sleep 300";
    let test = Loop::new().script("agent.sh", agent).variable("BACKSTOP_CONTAINMENT", "sub-reaper");
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    let (outer, inner) = supervisors(&test, running.pid());
    // One that is stopped can't notice that the other dies.
    send(outer, Signal::STOP);
    send(inner, Signal::STOP);
    send(inner, Signal::KILL);
    send(outer, Signal::KILL);
    drop(running);
    wait_for("the agent and its child to live on", || test.processes().len() >= 3);
    let listed = test.run(["ls", "--status", "interrupted", "--json"]).exits(0);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    let test = test.file("second", "");
    test.run(["resume"]).exits(125);
    test.leaves_nothing();
    assert!(notes(&test, "orphans")[0].contains("sleep"));
    assert_eq!(test.read("went").lines().count(), 2);
    assert_eq!(
        test.state()["facts"]["iterations"],
        1,
        "the one that nobody saw end did not finish"
    );
}

/// Row 18.
#[test]
fn of_many_who_resume_one_wins() {
    let test =
        Loop::new().script("agent.sh", "echo x >> went; while [ ! -e go ]; do sleep 0.02; done");
    let test = test.file("go", "");
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    fs::remove_file(test.work().join("go")).expect("it is there");
    let all: Vec<_> = (0..6).map(|_| test.start(["resume", "--raise", "iterations=2"])).collect();
    wait_for("the winner's iteration", || test.read("went").lines().count() == 2);
    let mut all = all;
    wait_for("the others to give up", || {
        all.iter_mut().map(|running| usize::from(running.is_running())).sum::<usize>() == 1
    });
    let test = test.file("go", "");
    let ended: Vec<_> = all.into_iter().map(|running| running.ends()).collect();
    let codes: Vec<_> = ended.iter().filter_map(|ended| ended.code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 125).count(), 1, "{codes:?}");
    for loser in ended.iter().filter(|ended| ended.code != Some(125)) {
        loser.refused(65, &["supervised by process"]);
    }
    assert_eq!(test.read("went").lines().count(), 2);
    assert_eq!(test.events("resumed").len(), 1);
    assert_eq!(test.events("iteration_started").len(), 2);
}

/// Row 18: who was paused while another took over can't write any more.
#[test]
fn a_supervisor_that_lost_its_run_writes_nothing_and_ends_its_tree() {
    let agent = "echo $$ >> went; while [ ! -e go ]; do sleep 0.02; done";
    let test = Loop::new().script("agent.sh", agent).variable("BACKSTOP_LEASE_SECONDS", "3");
    let running = test.start(["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.read("went").lines().count() == 1);
    let (outer, inner) = supervisors(&test, running.pid());
    send(outer, Signal::STOP);
    send(inner, Signal::STOP);
    wait_for("the lease to run out", || {
        let resumed = test.command(["resume", "--detach"]).output().expect("it runs");
        resumed.status.success()
    });
    wait_for("another agent", || test.read("went").lines().count() == 2);
    send(inner, Signal::CONT);
    send(outer, Signal::CONT);
    let ended = running.ends();
    assert_ne!(ended.code, Some(125), "{}", ended.stderr);
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
    let test = test.file("go", "");
    wait_for("the end of the run", || test.state()["run_status"] == "stopped");
    assert_eq!(test.events("iteration_finished").len(), 1, "only the new one's end counts");
    let numbers: Vec<u64> =
        test.journal().iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// Row 20.
#[test]
fn a_policy_that_is_edited_or_deleted_changes_nothing() {
    let test = Loop::new().file("backstop.toml", "[limits]\niterations = 3\n").script(
        "agent.sh",
        "[ $BACKSTOP_ITERATION = 1 ] && printf '[limits]\\niterations = 1\\n' > backstop.toml
[ $BACKSTOP_ITERATION = 2 ] && rm backstop.toml; true",
    );
    let hash = test.run(["policy", "hash"]).exits(0).stdout.trim().to_owned();
    test.run(["run", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 3);
    assert_eq!(test.state()["policy_hash"], hash.as_str());
    test.run(["resume", "--raise", "iterations=4"]).exits(125);
    assert_eq!(test.state()["policy_hash"], hash.as_str());
}

/// Row 21: nobody reads what is printed any more, and the halt is recorded all the same.
#[test]
fn a_dead_terminal_does_not_keep_the_halt_from_being_recorded() {
    let test = Loop::new().script("agent.sh", "touch up; while :; do echo more; sleep 0.01; done");
    let mut running = test.start(["run", "--grace", "1s", "--", "./agent.sh"]);
    running.hang_up();
    wait_for("the agent", || test.exists("up"));
    running.signal(Signal::HUP);
    running.ends().exits(143);
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "terminated");
    assert_eq!(test.events("signal")[0]["by"], "SIGHUP");
    test.leaves_nothing();
}

/// Row 21: whoever starts a run by `nohup` wants it to outlive the terminal, and what it runs too.
#[test]
fn a_run_that_ignores_hang_ups_goes_on() {
    let agent = "touch up; while [ ! -e go ]; do sleep 0.02; done; exit 0";
    let test = Loop::new().script("agent.sh", agent);
    let running = start_behind(&test, "trap '' HUP", &["run", "--once", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    let (outer, inner) = supervisors(&test, running.pid());
    for process in [test.processes_named("agent.sh"), vec![outer, inner]].concat() {
        send(process, Signal::HUP);
    }
    let test = test.file("go", "");
    running.ends().exits(0);
    assert_eq!(test.events("signal"), [Json::Null; 0]);
}

/// Row 25.
#[test]
fn a_child_inherits_three_descriptors() {
    let test = Loop::new();
    let running = start_behind(&test, "exec 7</dev/null 9>&1", &run_of(&["--once"], &["list-fds"]));
    assert_eq!(running.ends().exits(0).stdout, "0\n1\n2\n");
}

/// Starts the binary where a shell has done something before.
fn start_behind(test: &Loop, before: &str, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Running {
    let call = test.command(arguments);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &format!(r#"{before}; exec "$@""#), "sh"]);
    command.arg(call.get_program()).args(call.get_args());
    command.current_dir(test.work()).stdin(Stdio::null());
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    test.launch(&mut command)
}

/// A limit on the size of files is met by a write that fails, and not by a signal that kills.
#[test]
fn files_that_may_not_grow_end_no_supervisor() {
    let agent = "head -c 30000000 /dev/zero; kill -XFSZ $$; touch survived";
    let words = ["run", "--max-iterations", "1", "--", "./agent.sh"];
    // In blocks of 512 bytes: less than a run keeps free, and more.
    let test = Loop::new().script("agent.sh", agent);
    let ended = start_behind(&test, "ulimit -f 200", &words).ends();
    assert!(matches!(ended.code, Some(73 | 74)), "{:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("died"), "{}", ended.stderr);
    let test = Loop::new().script("agent.sh", agent);
    let ended = start_behind(&test, "ulimit -f 3000", &words).ends().exits(125);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    assert!(!test.exists("survived"), "the signal still ends what the run starts");
    assert_eq!(test.events("iteration_finished")[0]["signal"], 25);
}

/// Row 26.
#[test]
fn orphans_that_end_are_collected_while_the_iteration_runs() {
    let test = Loop::new()
        .script("agent.sh", "for i in $(seq 200); do (true &); done; touch made; exec sleep 300");
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the orphans", || test.exists("made"));
    let (_, inner) = supervisors(&test, running.pid());
    wait_for("the dead to be collected", || zombies_of(inner) == 0);
    running.signal(Signal::TERM);
    running.ends().exits(143);
}

fn zombies_of(parent: u32) -> usize {
    let folders = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let stats = folders.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
            fields.next() == Some("Z") && fields.next() == Some(&parent.to_string())
        })
        .count()
}

/// Row 29.
#[test]
fn a_verification_that_hangs_is_ended_and_recorded() {
    let policy = "[verify]\ncommand = 'setsid sleep 300 & sleep 300'\ntimeout = '2s'\n[limits]\niterations = 1\n";
    let test = Loop::new().file("p.toml", policy);
    let ended = test.run(["run", "--policy", "p.toml", "--", "true"]).exits(125);
    let verified = test.events("verification");
    assert_eq!(verified[0]["outcome"], "timed_out", "{verified:?}");
    test.leaves_nothing();
    assert!(ended.stderr.contains("timed out"), "{}", ended.stderr);
}

/// Row 29.
#[test]
fn a_script_that_hangs_is_ended_and_its_answer_is_unknown() {
    let rule = "when = { type = 'custom_script', script = './hang.sh', timeout = '2s' }";
    let policy = format!("[[rule]]\n{rule}\nthen = 'complete'\n[limits]\niterations = 1\n");
    let test = Loop::new()
        .file("p.toml", &policy)
        .script("hang.sh", "trap '' TERM; setsid sleep 300 & sleep 300; sleep 300");
    let ended = test.run(["run", "--policy", "p.toml", "--", "true"]).exits(125);
    test.leaves_nothing();
    let probes = test.events("probe");
    assert!(!probes.is_empty() && probes.iter().all(|probe| probe["met"].is_null()), "{probes:?}");
    assert!(ended.stderr.contains("hang.sh"), "{}", ended.stderr);
}

/// Row 30: output and reports come faster than they can be recorded, and orders are obeyed.
#[test]
fn a_torrent_of_reports_does_not_hold_up_an_order() {
    let line = r#"::backstop {"type":"action","signature":"s","kind":"k"}"#;
    let test = Loop::new().script("agent.sh", &format!("touch up; exec yes '{line}'"));
    let running = test.start_unheard(["run", "--grace", "5s", "--", "./agent.sh"]);
    wait_for("many reports", || {
        test.exists("up") && test.run(["show", "latest", "--json"]).code == Some(0)
    });
    running.signal(Signal::INT);
    running.ends().exits(130);
    test.leaves_nothing();
    assert_eq!(test.state()["stop_reason"]["code"], "user_stopped");
}
