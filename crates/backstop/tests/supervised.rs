//! Commands that reach a supervised run: by its sockets, else by its inbox. The supervisor is
//! played by the test; the binary and the store are real.

use backstop_core::event::LimitValue;
use backstop_runner::socket::{Order, What};

mod support;

#[path = "support/supervisor.rs"]
mod supervisor;

use supervisor::Supervisor;
use support::Test;

const POLICY: &str = "[limits]\niterations = 5\n";
const GOES_ON: &str = r#"{"verdict":"continue","reason":null,"message":"No rule is met","seq":4}"#;
const STOPS: &str =
    r#"{"verdict":"stop","reason":"own","message":"No more","exit_code":61,"seq":4}"#;

/// A folder, and a run that the test supervises; commands find its sockets if `reachable`.
fn supervised(answer: &'static str, reachable: bool) -> (Test, Supervisor) {
    let test = Test::new().file("p.toml", POLICY).folder("runtime");
    let runtime = test.path().join("runtime");
    let home = test.path().join("state");
    let supervisor = Supervisor::start(&home, reachable.then_some(&runtime), POLICY, answer);
    let test = test
        .variable("BACKSTOP_STORE", &home.to_string_lossy())
        .variable("XDG_RUNTIME_DIR", &runtime.to_string_lossy())
        .variable("USER", "ann");
    (test, supervisor)
}

#[test]
fn a_child_reports_by_its_socket_and_ends_with_the_decisions_code() {
    let (test, supervisor) = supervised(STOPS, true);
    // Nothing but the socket: not even a store.
    let child = Test::new().variable("BACKSTOP_SOCKET", &supervisor.report.to_string_lossy());
    let unit = ["emit", "unit", "--id", "f3", "--status", "rejected", "--attempts", "2"];
    let told = child.run(unit).exits(61);
    assert_eq!(told.stdout, "stop  own   No more\n");
    assert!(!child.path().join(".local").exists());
    assert!(matches!(&supervisor.heard()[..], [What::Event(_)]));
    drop(test);
}

#[test]
fn what_a_child_may_not_send_is_refused_and_the_supervisor_hears_of_it() {
    let (_test, supervisor) = supervised(GOES_ON, true);
    let child = Test::new().variable("BACKSTOP_SOCKET", &supervisor.report.to_string_lossy());
    let raise = ["emit", "raised", "--limit", "iterations", "--value", "900"];
    child.run(raise).refused(65, &["can't send `raised`"]);
    let finished = ["emit", "iteration_finished", "--exit-code", "0"];
    child.run(finished).refused(65, &["can't send `iteration_finished`"]);
    assert!(matches!(&supervisor.heard()[..], [What::Refused(_), What::Refused(_)]));
    let lost = Test::new().variable("BACKSTOP_SOCKET", "/nowhere/report.sock");
    lost.run(["emit", "drift", "--score", "0"]).refused(74, &["can't be reached"]);
}

#[test]
fn a_child_that_names_its_own_run_still_reports_by_its_socket() {
    let (_test, supervisor) = supervised(GOES_ON, true);
    let run = supervisor.run.to_string();
    let child = Test::new()
        .variable("BACKSTOP_SOCKET", &supervisor.report.to_string_lossy())
        .variable("BACKSTOP_RUN_ID", &run);
    let prefix = run[..9].to_lowercase();
    child.run(["emit", "--run", &prefix, "drift", "--score", "0"]).exits(0);
    assert_eq!(supervisor.heard().len(), 1);
}

#[test]
fn orders_reach_the_supervisor_by_its_socket() {
    let (test, supervisor) = supervised(GOES_ON, true);
    orders_arrive(&test, &supervisor);
}

#[test]
fn orders_reach_the_supervisor_by_its_inbox() {
    let (test, supervisor) = supervised(GOES_ON, false);
    orders_arrive(&test, &supervisor);
}

#[test]
fn sockets_that_went_away_do_not_matter() {
    let (test, mut supervisor) = supervised(GOES_ON, true);
    supervisor.close();
    test.run(["stop", "latest"]).exits(0);
    assert_eq!(supervisor.heard().len(), 1);
}

#[track_caller]
fn orders_arrive(test: &Test, supervisor: &Supervisor) {
    let run = supervisor.run.to_string();
    let by = || "ann".to_owned();
    test.run(["stop", &run]).exits(0);
    test.run(["stop", &run, "--now"]).exits(0);
    test.run(["pause", &run]).exits(0);
    test.run(["pause", &run, "--continue"]).exits(0);
    test.run(["raise", &run, "iterations=80", "--why", "nearly done"]).exits(0);
    test.run(["raise", &run, "tokens=80"]).refused(64, &["no limit called `tokens`"]);
    test.run(["policy", "apply", &run, "--preset", "ralph"]).exits(0);
    test.run(["emit", "--run", &run, "drift", "--score", "0"]).exits(0);
    let hash = test.run(["policy", "hash", "preset:ralph"]).exits(0).stdout.trim().to_owned();
    let heard = supervisor.heard();
    assert_eq!(heard[0], What::Order(Order::Stop { now: false, by: by() }));
    assert_eq!(heard[1], What::Order(Order::Stop { now: true, by: by() }));
    assert_eq!(heard[2], What::Order(Order::Pause { by: by() }));
    assert_eq!(heard[3], What::Order(Order::Continue { by: by() }));
    let What::Order(Order::Raise(raised)) = &heard[4] else { panic!("{heard:?}") };
    assert_eq!((raised.limit.as_str(), raised.value), ("max_iterations", LimitValue::Number(80.0)));
    assert_eq!((raised.by.as_str(), raised.why.as_str()), ("ann", "nearly done"));
    assert_eq!(heard[5], What::Order(Order::ApplyPolicy { hash, by: by() }));
    assert!(matches!(heard[6], What::Event(_)), "{heard:?}");
    assert_eq!(heard.len(), 7);
}

#[test]
fn what_a_run_supervises_can_not_operate_it() {
    let (test, supervisor) = supervised(GOES_ON, true);
    let run = supervisor.run.to_string();
    let test = test.variable("BACKSTOP_RUN_ID", &run);
    test.run(["raise", &run, "iterations=80"]).refused(64, &[&run, "supervises"]);
    test.run(["policy", "apply", &run, "--preset", "ralph"]).refused(64, &[&run, "supervises"]);
    test.run(["stop", &run]).refused(65, &["can't operate its own run"]);
    assert!(matches!(&supervisor.heard()[..], [What::Refused(_)]));
}

#[test]
fn a_supervised_run_is_not_ended_by_a_script() {
    let (test, supervisor) = supervised(GOES_ON, true);
    let run = supervisor.run.to_string();
    test.run(["end", "--run", &run]).refused(65, &["has a supervisor", "backstop stop"]);
}
