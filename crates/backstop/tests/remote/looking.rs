//! `ls`, `show` and the audit, by a server.

use crate::elsewhere::Elsewhere;
use crate::support::looping::Loop;

const POLICY: &str = "[limits]\niterations = 2\ncost_usd = 5\n\
                      [notify]\nwebhook = \"https://example.org/secret-path\"\non = [\"asked\"]\n\
                      [[rule]]\nwhen = { type = \"reject_rate\", above = 0.5 }\nthen = \"stop\"\n";

/// Runs of all kinds: halted by a policy, completed, and one that was supervised.
fn stocked() -> (Elsewhere, String) {
    let test = Elsewhere::new(Loop::new().file("p.toml", POLICY));
    let halted = test.begun(&["--policy", "p.toml", "--label", "team=core", "--total-units", "4"]);
    let emit = |words: &[&str]| test.there.run([&["emit", "--run", &halted], words].concat());
    emit(&["usage", "--input-tokens", "1200", "--cost-usd", "0.25"]).exits(0);
    emit(&["tests", "--passed", "a,b", "--failed", "c"]).exits(0);
    emit(&["iteration_finished", "--exit-code", "0"]).exits(0);
    emit(&["iteration_finished", "--exit-code", "0"]).exits(125);
    let completed = test.begun(&["--preset", "default"]);
    test.there.run(["end", "--run", &completed]).exits(0);
    test.there.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    (test, halted)
}

#[test]
fn runs_are_listed_as_there() {
    let (test, _) = stocked();
    for more in [&[][..], &["--json"], &["--limit", "1"], &["--status", "completed"]] {
        let here = test.alike(&[&["ls", "--all"], more].concat(), &[&["ls"], more].concat());
        assert!(!here.stdout.is_empty(), "{more:?}");
    }
    let labelled = test.ask(&["ls", "--label", "team=core", "--json"]).exits(0);
    assert_eq!(labelled.stdout.lines().count(), 1);
    let none = test.ask(&["ls", "--label", "team=other"]).exits(0);
    assert_eq!((none.stdout.as_str(), none.stderr.trim()), ("", "no run is like that"));
}

#[test]
fn a_server_without_runs_says_so() {
    let test = Elsewhere::new(Loop::new());
    assert_eq!(test.ask(&["ls"]).exits(0).stderr.trim(), "there are no runs yet");
    test.ask(&["show"]).refused(66, &["there are no runs yet"]);
}

#[test]
fn a_run_is_shown_as_there() {
    let (test, halted) = stocked();
    for name in [halted.as_str(), "latest"] {
        test.same(&["show", name]).exits(0);
        test.same(&["show", name, "--json"]).exits(0);
        test.same(&["show", name, "--events"]).exits(0);
        test.same(&["show", name, "--form", "pipeline"]).exits(0);
    }
    let shown = test.ask(&["show", &halted]).exits(0).stdout;
    for part in ["max_iterations", "last decisions", "judged", "team=core", "← fired"] {
        assert!(shown.contains(part), "`{part}` is missing in:\n{shown}");
    }
}

#[test]
fn a_run_that_goes_on_is_shown() {
    let test = Elsewhere::new(Loop::new());
    let run = test.begun(&["--preset", "default"]);
    let shown = test.ask(&["show", &run]).exits(0).stdout;
    assert!(shown.contains("▶ running"), "{shown}");
}

#[test]
fn where_somebody_is_told_is_not_carried_away() {
    let (test, halted) = stocked();
    let path = format!("/v1/runs/{halted}?include=inside");
    let address = test.url.strip_prefix("http://").expect("an address");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("it takes a request");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("it answers");
    assert!(answer.contains("\"inside\""), "{answer}");
    assert!(!answer.contains("secret-path"), "{answer}");
}

#[test]
fn names_mean_the_same_runs_as_there() {
    let (test, halted) = stocked();
    let short = &halted[..halted.len() - 1];
    test.same(&["show", short, "--json"]).exits(0);
    test.same(&["show", &halted.to_lowercase(), "--json"]).exits(0);
    for (name, code) in
        [(&halted[..1], 64), ("ZZZZ", 66), ("no/run?at=all", 66), ("..", 66), ("é", 66)]
    {
        test.same(&["show", name]).exits(code);
        let there = test.there.run(["stop", name]).exits(code);
        assert_eq!(test.ask(&["stop", name]).exits(code).stderr, there.stderr, "{name}");
    }
}

#[test]
fn the_audit_is_shown_as_there() {
    let (test, halted) = stocked();
    for arguments in [
        &["audit", "ls", "--json"][..],
        &["audit", "ls", "--limit", "1", "--json"],
        &["audit", "ls", "--reason", "MAX_TICKS", "--json"],
        &["audit", "ls", "--run", &halted, "--json"],
        &["audit", "ls", "--decision", "nothing"],
        &["audit", "show", "1"],
        &["audit", "show", "1", "--json"],
        &["audit", "show", "99"],
        &["audit", "show", "0"],
    ] {
        test.same(arguments);
    }
    let listed = test.ask(&["audit", "ls"]).exits(0).stdout;
    assert!(listed.contains(&format!("run {halted}")), "{listed}");
}
