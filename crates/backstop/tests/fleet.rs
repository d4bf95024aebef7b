//! Several machines and one PostgreSQL, through the real binary: each machine has its own state and
//! runtime directory, so that nothing but the database connects them.

use std::sync::OnceLock;

use backstop_store::testing::pooler::{Pooler, Unknown};
use backstop_store::testing::postgres::{self, Database};
use rustix::process::Signal;

mod support;

use support::Ended;
use support::looping::{Loop, send, wait_for};

/// Two machines that share a database; none where there is no server.
struct Fleet {
    database: Database<'static>,
    first: Loop,
    second: Loop,
}

impl Fleet {
    fn new() -> Option<Self> {
        let database = postgres::shared()?.database();
        let url = database.url();
        Some(Self::at(database, &url))
    }

    /// The same through a pooler that lends connections by transaction.
    fn pooled() -> Option<Self> {
        static POOLER: OnceLock<Option<Pooler>> = OnceLock::new();
        let server = postgres::shared()?;
        let start = || Pooler::start(server, Unknown::Dropped);
        let pooler = POOLER.get_or_init(start).as_ref()?;
        let database = server.database();
        let url = pooler.url(&database);
        Some(Self::at(database, &url))
    }

    fn at(database: Database<'static>, url: &str) -> Self {
        let machine =
            |user: &str| Loop::new().variable("BACKSTOP_STORE", url).variable("USER", user);
        Self { first: machine("ann"), second: machine("bob"), database }
    }

    /// Takes a machine for dead that is silent for so long.
    fn with_a_short_lease(self) -> Self {
        let short = |machine: Loop| machine.variable("BACKSTOP_LEASE_SECONDS", "3");
        Self { first: short(self.first), second: short(self.second), ..self }
    }

    fn shown(&self) -> serde_json::Value {
        self.second.run(["show", "latest", "--json"]).exits(0).json()
    }

    fn wait_until(&self, status: &str) {
        wait_for(status, || {
            let listed = self.second.run(["ls", "--all", "--json"]).stdout;
            listed.contains(&format!("\"run_status\":\"{status}\""))
        });
    }
}

macro_rules! fleet {
    () => {
        match Fleet::new() {
            Some(fleet) => fleet,
            None => return,
        }
    };
}

#[test]
fn a_run_is_seen_and_stopped_from_another_machine() {
    let fleet = fleet!();
    let running = fleet.first.start(["run", "--", "sleep", "60"]);
    fleet.wait_until("running");
    fleet.second.run(["stop", "latest", "--now"]).exits(0);
    running.ends().exits(130);
    assert_eq!(fleet.shown()["stop_reason"]["code"], "user_stopped");
    let journal = fleet.second.run(["show", "latest", "--events"]).exits(0).stdout;
    assert!(journal.contains("\"by\":\"bob\""), "{journal}");
    fleet.first.leaves_nothing();
}

#[test]
fn runs_are_operated_through_a_pooler() {
    let Some(fleet) = Fleet::pooled() else { return };
    for _ in 0..2 {
        let runs: Vec<_> =
            (0..2).map(|_| fleet.first.start(["run", "--", "sleep", "60"])).collect();
        let running = || {
            let listed = fleet.second.run(["ls", "--all", "--json"]).stdout;
            let lines = listed.lines().filter(|line| line.contains("\"running\""));
            let id = |line: &str| -> String {
                let object: serde_json::Value = serde_json::from_str(line).expect("an object");
                object["run_id"].as_str().expect("a name").to_owned()
            };
            lines.map(id).collect::<Vec<_>>()
        };
        wait_for("both runs", || running().len() == 2);
        for run in running() {
            fleet.second.run(["raise", &run, "iterations=200"]).exits(0);
            fleet.second.run(["pause", &run]).exits(0);
            fleet.second.run(["stop", &run, "--now"]).exits(0);
        }
        for run in runs {
            run.ends().exits(130);
        }
    }
}

#[test]
fn the_store_s_password_stays_with_the_supervisor() {
    let fleet = fleet!();
    let url = fleet.database.url().replacen("backstop@", "backstop:not-needed@", 1);
    let first = fleet.first.variable("BACKSTOP_STORE", &url).variable("PGPASSWORD", "not-needed");
    first.run(["run", "--once", "--", "sh", "-c", "env > told"]).exits(0);
    let told = first.read("told");
    assert!(told.contains("BACKSTOP_RUN_ID=") && !told.contains("not-needed"), "{told}");
}

#[test]
fn a_log_that_is_elsewhere_is_said_to_be() {
    let fleet = fleet!();
    fleet.first.run(["run", "--once", "--", "echo", "here"]).exits(0);
    assert_eq!(fleet.first.run(["logs", "latest"]).exits(0).stdout, "here\n");
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let asked = |words: &[&str]| {
        for more in [&[][..], &["--follow"]] {
            fleet.second.run([&["logs", "latest"], more].concat()).refused(66, words);
        }
    };
    // The same machine: somebody else's, or gone.
    let own = fleet.second.state_directory().display().to_string();
    asked(&["not in", &own, "state directory of whoever ran it"]);
    let moved = format!("UPDATE leases SET holder = replace(holder, '{host}', 'far-away')");
    fleet.database.query(&moved).expect("the lease is changed");
    asked(&["on `far-away`", "state directory of whoever ran it"]);
}

#[test]
fn a_question_is_answered_and_a_hold_released_from_another_machine() {
    let fleet = fleet!();
    let ask = "[limits]\niterations = 3\n[intervention]\ntimeout = \"1m\"\n\
               [[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"ask\"\nreason = \"stalled\"\n";
    std::fs::write(fleet.first.work().join("ask.toml"), ask).expect("written");
    let held = fleet.first.run(["run", "--policy", "ask.toml", "--", "true"]);
    // Nobody at a terminal and no server: it holds at once.
    assert!(held.code != Some(0), "{}", held.stderr);
    assert_eq!(fleet.shown()["run_status"], "held");
    fleet.second.run(["answer", "latest", "continue", "--note", "go"]).exits(0);
    let hold = "[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"hold\"\n\
                reason = \"no_signal_change\"\n";
    std::fs::write(fleet.first.work().join("hold.toml"), hold).expect("written");
    fleet.first.run(["run", "--policy", "hold.toml", "--", "true"]).exits(54);
    fleet.second.run(["release", "latest", "--why", "seen"]).exits(0);
    assert_eq!(fleet.shown()["run_status"], "stopped");
}

#[test]
fn a_run_whose_machine_died_goes_on_elsewhere() {
    let fleet = fleet!().with_a_short_lease();
    let script = "#!/bin/sh\nif [ -e go ]; then exit 0; fi; sleep 60\n";
    let path = fleet.first.work().join("work.sh");
    std::fs::write(&path, script).expect("written");
    let running = fleet.first.start(["run", "--until-success", "--", "sh", "./work.sh"]);
    fleet.wait_until("running");
    running.signal(Signal::KILL);
    running.ends();
    std::fs::write(fleet.first.work().join("go"), "").expect("written");
    // The same directory, as a shared disk would have it, and another machine's state.
    let resume = || -> Ended {
        let mut command = fleet.second.command_in(&fleet.first.work(), ["resume", "latest"]);
        fleet.second.launch(&mut command).ends()
    };
    wait_for("the lease to be free", || resume().code == Some(0));
    assert_eq!(fleet.shown()["run_status"], "completed");
    fleet.first.is_empty();
    fleet.second.leaves_nothing();
}

/// Whoever wakes up when another machine goes on with its run is fenced by the database.
#[test]
fn a_machine_that_slept_past_its_lease_writes_nothing_more() {
    let fleet = fleet!().with_a_short_lease();
    // With a control group, the one that takes over ends the sleeper before it can write.
    let alone = |machine: Loop| machine.variable("BACKSTOP_CONTAINMENT", "sub-reaper");
    let fleet = Fleet { first: alone(fleet.first), second: alone(fleet.second), ..fleet };
    let agent = "echo $$ >> went; until [ -e go_on ]; do\n\
                 echo '::backstop {\"type\":\"usage\",\"input_tokens\":1}'; sleep 0.02; done";
    let first = fleet.first.script("agent.sh", agent);
    let (second, went) = (&fleet.second, || first.read("went").lines().count());
    let run = ["run", "--max-iterations", "1", "--grace", "1s", "--", "./agent.sh"];
    let sleeper = first.start(run);
    wait_for("the first child", || went() == 1);
    wait_for("its reports", || second.events("usage").len() > 2);
    let supervisors = || {
        let others = first.processes();
        let marked = first.marked().into_iter();
        marked.filter(|pid| !others.contains(pid)).collect::<Vec<_>>()
    };
    wait_for("the two of them alone", || supervisors().len() == 2);
    let asleep = supervisors();
    asleep.iter().for_each(|pid| send(*pid, Signal::STOP));
    let taker = std::cell::RefCell::new(None);
    wait_for("the lease to run out", || {
        let mut command = second.command_in(&first.work(), ["resume", "latest"]);
        let started = second.launch(&mut command);
        wait_for("an answer or a child", || started.has_ended() || went() == 2);
        match started.has_ended() {
            true => started.ends().exits(65).stderr.is_empty(),
            false => taker.replace(Some(started)).is_none(),
        }
    });
    let taker = taker.into_inner().expect("one that took over");
    asleep.iter().for_each(|pid| send(*pid, Signal::CONT));
    let ended = sleeper.ends();
    assert!(matches!(ended.code, Some(65 | 70 | 74)), "{:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let reports = second.events("usage").len();
    wait_for("more reports", || second.events("usage").len() > reports + 3);
    assert!(!taker.has_ended(), "the other one has ended it");
    std::fs::write(first.work().join("go_on"), "").expect("written");
    taker.ends().exits(125);
    // Nothing is missing, and nothing of the sleeper's is there: no halt, no end of its iteration.
    let numbers: Vec<u64> =
        second.journal().iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(second.events("halted").len(), 1);
    assert_eq!(second.events("iteration_finished").len(), 1);
    assert_eq!(went(), 2);
}

#[test]
fn one_switch_reaches_every_machine() {
    let fleet = fleet!();
    let running = fleet.first.start(["run", "--", "sleep", "60"]);
    fleet.wait_until("running");
    fleet.second.run(["halt", "--all", "--why", "the bill"]).exits(0);
    running.ends().exits(130);
    fleet.first.run(["run", "--", "true"]).refused(55, &["by order of bob"]);
    fleet.second.run(["release", "--all"]).exits(0);
    fleet.first.run(["run", "--once", "--", "true"]).exits(0);
}

#[test]
fn everything_moves_between_engines() {
    let fleet = fleet!();
    let own = Loop::new();
    own.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    own.run(["token", "create", "--scope", "read"]).exits(0);
    let directory = own.state_directory().display().to_string();
    let copied = own.run(["store", "copy", &directory, &fleet.database.url()]).exits(0).stdout;
    assert!(copied.contains("1  runs") && copied.contains("1  stop_decision_audit"), "{copied}");
    assert_eq!(fleet.shown()["stop_reason"]["code"], "max_iterations");
    let verified = fleet.second.run(["audit", "verify"]).exits(0).stdout;
    assert!(verified.starts_with("1 row"), "{verified}");
    own.run(["store", "copy", &directory, &fleet.database.url()])
        .refused(65, &["the target is not empty"]);
    let empty = Fleet::new().expect("the server is there").database.url();
    own.run(["store", "copy", &empty, "./nothing"]).refused(66, &["there is no store"]);
    own.run(["store", "copy", &fleet.database.url(), "./back"]).exits(0);
    let back = own.run(["show", "latest", "--json", "--store", "./back"]).exits(0).json();
    assert_eq!(back["stop_reason"]["code"], "max_iterations");
}

/// What ran while nobody could write it down would count for nothing.
#[test]
fn nothing_runs_on_unrecorded_while_the_database_is_away() {
    // One of its own, since it is stopped.
    let Some(server) = postgres::Server::start() else { return };
    let database = server.database();
    let test = Loop::new()
        .variable("BACKSTOP_STORE", &database.url())
        .script("agent.sh", "echo went >> went; sleep 0.15");
    let running = test.start(["run", "--max-iterations", "500", "--", "./agent.sh"]);
    let went = || if test.exists("went") { test.read("went").lines().count() } else { 0 };
    wait_for("a few iterations", || went() >= 3);
    server.kill();
    running.ends().exits(74);
    server.restart().expect("it starts again");
    // A start may have been written of which nobody could be told any more.
    let (went, started) = (went(), test.events("iteration_started").len());
    assert!((went..=went + 1).contains(&started), "{went} went, {started} are on record");
}

#[test]
fn a_database_that_is_gone_is_said_and_no_password_is_shown() {
    let test = Loop::new().variable("BACKSTOP_STORE", "postgres://me:s3cret@127.0.0.1:1/none");
    let refused = test.run(["ls"]);
    refused.refused(73, &["127.0.0.1", "can't open the store"]);
    assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);
    test.run(["run", "--", "true"]).refused(73, &["can't open the store"]);
}
