//! The command line on a real pseudo-terminal: what is seen there, and what its keys do.

mod support;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};
use support::looping::{Loop, wait_for};

const COUNTS: &str = "for i in $(seq 200); do echo line $i; done; echo up > up\n\
                      until [ -e go_on ]; do sleep 0.02; done; echo last line";
const NOBODY: [u32; 0] = [];

#[test]
fn the_block_is_at_the_bottom_and_goes_for_the_card() {
    let test = Loop::new().script("agent.sh", COUNTS);
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
    terminal.shows("the last line above the block", |rows| {
        let (above, block) = rows.split_at(22);
        block[0].starts_with(" iteration 1 · ")
            && block[1].contains("0 of 1 iterations")
            && above.iter().any(|row| row == "line 200")
    });
    go_on(&test);
    assert_eq!(run.code(), Some(125));
    terminal.shows("the card", |rows| rows.iter().any(|row| row.contains("max_iterations")));
    terminal.shows("no block", |rows| !rows.iter().any(|row| row.starts_with(" iteration 1 · ")));
    terminal.shows_in_order(200);
    let rows = terminal.rows();
    let last_line = rows.iter().position(|row| row == "last line");
    let card = rows.iter().position(|row| row.contains("max_iterations"));
    assert!(last_line < card && last_line.is_some(), "{rows:#?}");
    // All rows scroll again.
    terminal.lock().emulator.process("\r\n".repeat(24).as_bytes());
    assert!(terminal.rows().iter().all(String::is_empty), "{:#?}", terminal.rows());
}

#[test]
fn on_a_narrow_terminal_nothing_is_lost_and_nothing_wraps() {
    for (rows, columns) in [(24, 20), (6, 10), (5, 3), (3, 40), (1, 1)] {
        let test = Loop::new().script("agent.sh", COUNTS);
        let terminal = Terminal::new(rows, columns);
        let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
        wait_for("the agent", || test.exists("up"));
        if (rows, columns) == (24, 20) {
            terminal.shows("a block", |rows| rows[22].starts_with(" iteration 1"));
        }
        go_on(&test);
        assert_eq!(run.code(), Some(125), "{rows} × {columns}");
        terminal.shows_in_order(200);
    }
}

#[test]
fn a_terminal_that_obeys_nothing_gets_plain_lines() {
    let test =
        Loop::new().script("agent.sh", COUNTS).variable("TERM", "dumb").variable("NO_COLOR", "");
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    terminal.shows("the last line", |rows| rows.iter().any(|row| row == "line 200"));
    go_on(&test);
    assert_eq!(run.code(), Some(125));
    terminal.shows("the card", |rows| rows.iter().any(|row| row.contains("max_iterations")));
    terminal.shows_in_order(200);
    let text = terminal.text();
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn without_colours_only_the_block_moves_the_cursor() {
    for (variable, coloured) in [("1", false), ("", true)] {
        let test = Loop::new().script("agent.sh", COUNTS).variable("NO_COLOR", variable);
        let terminal = Terminal::new(24, 80);
        let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
        terminal.shows("the block", |rows| rows[22].starts_with(" iteration 1 · "));
        go_on(&test);
        assert_eq!(run.code(), Some(125));
        terminal.shows("the card", |rows| rows.iter().any(|row| row.contains("max_iterations")));
        // Setting everything back is no colour.
        let text = terminal.text().replace("\x1b[0m", "").replace("\x1b[m", "");
        assert_eq!(sets_attributes(&text), coloured, "NO_COLOR={variable}: {text:?}");
    }
}

/// Whether there is a `\x1b[…m`.
fn sets_attributes(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

#[test]
fn ctrl_c_ends_the_run_and_its_tree() {
    let test = Loop::new().script(
        "agent.sh",
        "sleep 300 & setsid sleep 300 & echo go >> went; echo up > up; sleep 300",
    );
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--grace", "20s", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    terminal.types(b"\x03");
    assert_eq!(run.code(), Some(130));
    assert_eq!(test.processes(), NOBODY);
    assert_eq!(test.read("went"), "go\n");
    assert_eq!(test.state()["stop_reason"]["code"], "user_stopped");
    terminal.shows("the card", |rows| rows.iter().any(|row| row.contains("user_stopped")));
    terminal.shows("no block", |rows| !rows.iter().any(|row| row.starts_with(" iteration 1 · ")));
}

#[test]
fn a_second_ctrl_c_kills_what_ignores_the_first() {
    let test = Loop::new()
        .script("agent.sh", "trap '' INT TERM; echo up > up; while :; do sleep 0.1; done");
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--grace", "1h", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    terminal.types(b"\x03");
    wait_for("the first signal to be journalled", || {
        test.events("noted").iter().any(|note| note["what"] == "signalled")
    });
    terminal.types(b"\x03");
    assert_eq!(run.code(), Some(130));
    assert_eq!(test.processes(), NOBODY);
}

#[test]
fn ctrl_z_stops_the_tree_and_the_clock_until_the_job_goes_on() {
    // A shell with job control, as people have it.
    let shell = "set -m\n\
                 \"$BACKSTOP\" run --max-iterations 1 -- ./agent.sh\n\
                 echo $? > stopped\n\
                 until [ -e fg ]; do sleep 0.02; done\n\
                 fg %1 > /dev/null\n\
                 echo $? > ended";
    let test = Loop::new()
        .script("shell.sh", shell)
        .script(
            "agent.sh",
            "sleep 300 & echo $! > child; setsid sleep 300 & echo $! > apart\n\
             echo $$ > agent; until [ -e go_on ]; do sleep 0.02; done; exit 0",
        )
        .variable("BACKSTOP", support::BINARY);
    let terminal = Terminal::new(24, 80);
    let began = Instant::now();
    let mut run = terminal.start_program(&test, "./shell.sh", &[]);
    wait_for("the agent", || !test.read("agent").is_empty());
    let tree: Vec<String> =
        ["child", "apart", "agent"].iter().map(|name| test.read(name).trim().to_owned()).collect();
    terminal.shows("the block", |rows| rows[22].starts_with(" iteration 1 · "));
    terminal.types(b"\x1a");
    wait_for("the shell to go on", || !test.read("stopped").is_empty());
    let stopped = Instant::now();
    wait_for("the tree to stand still", || tree.iter().all(|pid| state(pid) == Some('T')));
    terminal.shows("no block", |rows| !rows.iter().any(|row| row.starts_with(" iteration 1 · ")));
    // Time passes that must not count. Were it shorter, it could hide in what starting takes.
    while stopped.elapsed() < Duration::from_millis(1_500) {
        thread::sleep(Duration::from_millis(50));
    }
    let slept = stopped.elapsed();
    fs::write(test.work().join("fg"), "").expect("can be written");
    wait_for("the tree to go on", || tree.iter().all(|pid| state(pid) != Some('T')));
    terminal.shows("the block again", |rows| rows[22].starts_with(" iteration 1 · "));
    go_on(&test);
    assert_eq!(run.code(), Some(0));
    let lived = began.elapsed();
    assert_eq!(test.read("ended"), "125\n");
    let suspended = test.events("suspended");
    assert_eq!(suspended.len(), 2, "its beginning and its end: {suspended:?}");
    let missed = Duration::from_millis(suspended[1]["ms"].as_u64().expect("a number"));
    assert!(missed >= slept, "{missed:?} of {slept:?}");
    let active = test.state()["facts"]["active_ms"].as_u64().expect("a number");
    let active = Duration::from_millis(active);
    assert!(active + missed <= lived, "{active:?} + {missed:?} > {lived:?}");
    assert_eq!(test.processes(), NOBODY);
}

#[test]
fn a_run_that_stands_still_can_be_stopped() {
    let test = Loop::new().script("agent.sh", "echo $$ > agent; sleep 300");
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--grace", "20s", "--", "./agent.sh"]);
    wait_for("the agent", || !test.read("agent").is_empty());
    terminal.types(b"\x1a");
    let agent = test.read("agent").trim().to_owned();
    let outer = run.child.id().to_string();
    wait_for("everything to stand still", || {
        state(&agent) == Some('T') && state(&outer) == Some('T')
    });
    test.run(["stop", "latest", "--now"]).exits(0);
    wait_for("the agent's end", || test.processes().is_empty());
    wait_for("the halt", || !test.events("halted").is_empty());
    support::looping::send(run.child.id(), rustix::process::Signal::CONT);
    assert_eq!(run.code(), Some(130));
    assert_eq!(test.events("suspended").len(), 2, "its beginning and its end");
}

#[test]
fn ctrl_c_works_on_a_terminal_that_takes_nothing() {
    let test = Loop::new().script("agent.sh", "echo up > up; yes");
    let terminal = Terminal::new(24, 80);
    terminal.looks(false);
    let mut run = terminal.start(&test, &["run", "--grace", "20s", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    terminal.types(b"\x03");
    wait_for("the agent's end", || test.processes().is_empty());
    wait_for("the halt", || !test.events("halted").is_empty());
    assert_eq!(run.code(), Some(130));
}

#[test]
fn a_closed_terminal_halts_the_run() {
    let test = Loop::new()
        .script("agent.sh", "sleep 300 & echo up > up; while :; do echo output; sleep 0.01; done");
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--grace", "20s", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    terminal.close();
    assert_eq!(run.code(), Some(143));
    assert_eq!(test.processes(), NOBODY);
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "terminated");
    assert_eq!(state["run_status"], "stopped");
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_back_a_limit() {
    let test = Loop::new().script("agent.sh", "echo up > up; yes");
    let terminal = Terminal::new(24, 80);
    terminal.looks(false);
    let limits = ["run", "--max-duration", "5s", "--finish-within", "0s", "--grace", "1s"];
    let mut run = terminal.start(&test, &[&limits[..], &["--", "./agent.sh"]].concat());
    wait_for("the agent", || test.exists("up"));
    wait_for("the agent's end", || test.processes().is_empty());
    wait_for("the halt", || !test.events("halted").is_empty());
    assert_eq!(run.code(), Some(124));
    assert_eq!(test.state()["stop_reason"]["code"], "timeout");
}

/// Asks as soon as an iteration reports that it has drifted.
const ASKS: &str = "[limits]\niterations = 2\n[[rule]]\n\
                    when = { type = \"topic_drift\", above = 0.5 }\nthen = \"ask\"\n";
const DRIFTS: &str = "echo up > up; echo '::backstop {\"type\":\"drift\",\"score\":0.9}'\n\
                      cat \"$BACKSTOP_HANDOFF\" 2>/dev/null\n\
                      for i in $(seq 200); do echo line $i; done\n\
                      until [ -e go_on ]; do sleep 0.02; done; rm -f go_on\n\
                      echo '::backstop {\"type\":\"drift\",\"score\":0.1}'";

#[test]
fn a_question_is_answered_by_a_key_while_output_flows() {
    let test = Loop::new().file("p.toml", ASKS).script("agent.sh", DRIFTS);
    let terminal = Terminal::new(24, 80);
    let before = terminal.modes();
    // What was typed before anybody asked is no answer.
    terminal.types(b"a");
    let mut run = terminal.start(&test, &["run", "--policy", "p.toml", "--", "./agent.sh"]);
    terminal.shows("the question in the block", |rows| {
        rows.iter().any(|row| row.starts_with("? "))
            && rows
                .iter()
                .any(|row| row.contains("[c]ontinue") && row.contains("left, then it holds"))
            && rows.iter().any(|row| row == "line 200")
    });
    terminal.types(b"ftry x\x7fthe other way");
    terminal
        .shows("the note", |rows| rows.iter().any(|row| row.contains("note: try the other way_")));
    assert!(test.events("answered").is_empty());
    terminal.types(b"\r");
    wait_for("the answer", || !test.events("answered").is_empty());
    terminal.shows("no question", |rows| !rows.iter().any(|row| row.contains("[c]ontinue")));
    assert_eq!(terminal.modes(), before, "the terminal is as it was");
    go_on(&test);
    terminal.shows("the second question", |rows| rows.iter().any(|row| row.contains("[c]ontinue")));
    terminal.types(b"c");
    wait_for("the second answer", || test.events("answered").len() == 2);
    go_on(&test);
    assert_eq!(run.code(), Some(125));
    let answered = test.events("answered");
    assert_eq!(answered[0]["answer"], "fix");
    assert_eq!(answered[0]["note"], "try the other way");
    assert_eq!(answered[0]["by"], "terminal");
    assert_eq!(answered[1]["answer"], "continue");
    assert_eq!(terminal.modes(), before, "the terminal is as it was");
}

#[test]
fn ctrl_c_ends_a_run_that_asks_and_the_terminal_is_as_it_was() {
    let test = Loop::new().file("p.toml", ASKS).script("agent.sh", DRIFTS);
    let terminal = Terminal::new(24, 80);
    let before = terminal.modes();
    let mut run = terminal.start(&test, &["run", "--policy", "p.toml", "--", "./agent.sh"]);
    terminal.shows("the question", |rows| rows.iter().any(|row| row.contains("[c]ontinue")));
    terminal.types(b"\x03");
    assert_eq!(run.code(), Some(130));
    assert_eq!(terminal.modes(), before);
}

#[test]
fn a_supervisor_that_is_killed_while_it_asks_leaves_a_usable_terminal() {
    let test = Loop::new().file("p.toml", ASKS).script("agent.sh", DRIFTS);
    let terminal = Terminal::new(24, 80);
    let before = terminal.modes();
    let mut run = terminal.start(&test, &["run", "--policy", "p.toml", "--", "./agent.sh"]);
    terminal.shows("the question", |rows| rows.iter().any(|row| row.contains("[c]ontinue")));
    wait_for("the keyboard", || terminal.modes() != before);
    let outer = run.child.id();
    let agents = test.processes();
    let inner = test.marked().into_iter().find(|pid| *pid != outer && !agents.contains(pid));
    support::looping::send(inner.expect("a supervisor"), rustix::process::Signal::KILL);
    assert_ne!(run.code(), Some(0));
    wait_for("the terminal's modes", || terminal.modes() == before);
}

#[test]
fn a_supervisor_that_is_killed_takes_its_block_along() {
    let test = Loop::new().script("agent.sh", COUNTS);
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
    terminal.shows("the block", |rows| rows[22].starts_with(" iteration 1 · "));
    let outer = run.child.id();
    let agents = test.processes();
    let inner = test.marked().into_iter().find(|pid| *pid != outer && !agents.contains(pid));
    support::looping::send(inner.expect("a supervisor"), rustix::process::Signal::KILL);
    assert_eq!(run.code(), Some(70));
    terminal.shows("its last words", |rows| rows.iter().any(|row| row.contains("supervisor died")));
    let rows = terminal.rows();
    assert!(!rows.iter().any(|row| row.starts_with(" iteration 1 · ")), "{rows:#?}");
    // All rows scroll again.
    terminal.lock().emulator.process("\r\n".repeat(24).as_bytes());
    assert!(terminal.rows().iter().all(String::is_empty), "{:#?}", terminal.rows());
}

#[test]
fn a_cursor_that_the_command_hid_is_shown_again() {
    let test = Loop::new().script("agent.sh", &format!("printf '\\033[?25l'; {COUNTS}"));
    let terminal = Terminal::new(24, 80);
    let mut run = terminal.start(&test, &["run", "--max-iterations", "1", "--", "./agent.sh"]);
    wait_for("a hidden cursor", || terminal.lock().emulator.screen().hide_cursor());
    go_on(&test);
    assert_eq!(run.code(), Some(125));
    wait_for("the cursor", || !terminal.lock().emulator.screen().hide_cursor());
}

#[test]
fn an_attended_run_starts_by_a_key() {
    let test = Loop::new().script("agent.sh", "echo $BACKSTOP_ITERATION >> went");
    let terminal = Terminal::new(24, 80);
    let flags = ["run", "--attended", "--max-iterations", "2", "--", "./agent.sh"];
    let mut run = terminal.start(&test, &flags);
    for number in [1, 2] {
        terminal.shows("the prompt", |rows| {
            let question = format!("? Start iteration {number}?");
            rows.contains(&question)
                && rows.iter().any(|row| row.contains("[g]o   [s]kip   s[t]op"))
        });
        terminal.types(if number == 1 { b"s" } else { b"g" });
    }
    assert_eq!(run.code(), Some(125));
    assert_eq!(test.read("went"), "2\n");
}

#[test]
fn whoever_watches_answers_by_keys_too() {
    let test = Loop::new().script("agent.sh", "echo here; echo $BACKSTOP_ITERATION >> went");
    let flags = ["run", "--detach", "--attended", "--max-iterations", "3", "--", "./agent.sh"];
    test.run(flags).exits(0);
    wait_for("the prompt", || test.run(["ls", "--json"]).stdout.contains("\"question\":{"));
    let terminal = Terminal::new(24, 80);
    let before = terminal.modes();
    let mut watching = terminal.start(&test, &["attach", "latest"]);
    for number in [1, 2, 3] {
        terminal.shows("the prompt, once", |rows| {
            let question = format!("? Start iteration {number}?");
            rows.iter().filter(|row| row.contains("Start iteration")).eq([&question])
                && rows.iter().any(|row| row.contains("[g]o   [s]kip   s[t]op"))
        });
        terminal.types(if number == 2 { b"s" } else { b"g" });
    }
    assert_eq!(watching.code(), Some(125));
    assert_eq!(test.read("went"), "1\n3\n");
    assert_eq!(terminal.modes(), before, "the terminal is as it was");
}

/// A pseudo-terminal that somebody looks at.
struct Terminal {
    line: Mutex<Option<OwnedFd>>,
    master: Mutex<Option<File>>,
    seen: Arc<Mutex<Seen>>,
    looks: Arc<AtomicBool>,
    closed: Arc<AtomicBool>,
    viewer: Mutex<Option<JoinHandle<()>>>,
}

struct Seen {
    raw: Vec<u8>,
    emulator: vt100::Parser,
}

impl Terminal {
    fn new(rows: u16, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
        let size = tcgetwinsize(&line).expect("a size");
        tcsetwinsize(&line, Winsize { ws_row: rows, ws_col: columns, ..size }).expect("a size");
        let nonzero = |number| NonZeroU16::new(number).expect("not zero");
        let emulator = vt100::Parser::new(nonzero(rows), nonzero(columns), 0);
        let seen = Arc::new(Mutex::new(Seen { raw: Vec::new(), emulator }));
        let (looks, closed) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let master = File::from(master);
        let viewer = {
            let (seen, looks, closed) =
                (Arc::clone(&seen), Arc::clone(&looks), Arc::clone(&closed));
            let master = master.try_clone().expect("another handle");
            thread::spawn(move || view(master, &seen, &looks, &closed))
        };
        Self {
            line: Mutex::new(Some(line)),
            master: Mutex::new(Some(master)),
            seen,
            looks,
            closed,
            viewer: Mutex::new(Some(viewer)),
        }
    }

    /// Starts the binary as the leader of a session that this is the terminal of.
    fn start(&self, test: &Loop, arguments: &[&str]) -> Started {
        self.start_program(test, support::BINARY, arguments)
    }

    fn start_program(&self, test: &Loop, program: &str, arguments: &[&str]) -> Started {
        let surroundings = test.command::<&str>([]);
        let variables = surroundings.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let line = self.line.lock().expect("nobody panicked").take().expect("one start");
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", program])
            .args(arguments)
            .current_dir(test.work())
            .env_clear()
            .env("TERM", "xterm-256color")
            .envs(variables)
            .stdin(line.try_clone().expect("another handle"))
            .stdout(line.try_clone().expect("another handle"))
            .stderr(line);
        Started { child: command.spawn().expect("it can be started") }
    }

    /// How its line is set: whether keys are shown, and come one by one.
    fn modes(&self) -> (bool, bool) {
        let master = self.master.lock().expect("nobody panicked");
        let modes = tcgetattr(master.as_ref().expect("it is open")).expect("modes").local_modes;
        (modes.contains(LocalModes::ECHO), modes.contains(LocalModes::ICANON))
    }

    fn types(&self, keys: &[u8]) {
        let mut master = self.master.lock().expect("nobody panicked");
        master.as_mut().expect("it is open").write_all(keys).expect("keys are taken");
    }

    /// Whether anybody reads what is written to it.
    fn looks(&self, looks: bool) {
        self.looks.store(looks, Ordering::SeqCst);
    }

    /// Closes it, as a window is closed.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(viewer) = self.viewer.lock().expect("nobody panicked").take() {
            viewer.join().expect("it ends");
        }
        self.master.lock().expect("nobody panicked").take();
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nobody panicked")
    }

    fn rows(&self) -> Vec<String> {
        let seen = self.lock();
        let columns = seen.emulator.screen().size().1.get();
        seen.emulator.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().raw).into_owned()
    }

    #[track_caller]
    fn shows(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        wait_for(&format!("{what} on\n{:#?}", self.rows()), || is_so(&self.rows()));
    }

    /// Every line of the agent's came, and in order.
    #[track_caller]
    fn shows_in_order(&self, lines: u32) {
        wait_for("the agent's last line", || self.text().contains("last line"));
        let text = self.text();
        let mut from = 0;
        for number in 1..=lines {
            let line = format!("line {number}\r\n");
            let at = text[from..].find(&line);
            from += at.unwrap_or_else(|| panic!("{line:?} is missing or late in {text:?}"));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

/// Reads what is shown until the terminal is closed on either side.
fn view(mut master: File, seen: &Mutex<Seen>, looks: &AtomicBool, closed: &AtomicBool) {
    let mut buffer = [0; 4_096];
    while !closed.load(Ordering::SeqCst) {
        if !looks.load(Ordering::SeqCst) {
            thread::sleep(BETWEEN_LOOKS);
            continue;
        }
        let pause = Timespec::try_from(BETWEEN_LOOKS).expect("a short time");
        let mut ready = [PollFd::from_borrowed_fd(master.as_fd(), PollFlags::IN)];
        if !poll(&mut ready, Some(&pause)).is_ok_and(|count| count > 0) {
            continue;
        }
        // Fails when the other side is closed.
        let Ok(count) = master.read(&mut buffer) else { return };
        let mut seen = seen.lock().expect("nobody panicked");
        seen.raw.extend_from_slice(&buffer[..count]);
        seen.emulator.process(&buffer[..count]);
    }
}

/// What runs on a terminal.
struct Started {
    child: Child,
}

impl Started {
    /// Waits for its end; none if a signal was the end of it.
    #[track_caller]
    fn code(&mut self) -> Option<i32> {
        let mut status = None;
        wait_for("the end", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _collected = self.child.wait();
    }
}

/// What a process does, as the system calls it.
fn state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn go_on(test: &Loop) {
    fs::write(test.work().join("go_on"), "").expect("can be written");
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
