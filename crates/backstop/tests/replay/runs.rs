//! Runs from the store.

use crate::support::Test;

/// A run of five iterations that costs half a dollar each, with a policy that lets it.
fn five_iterations() -> Test {
    let agent = "echo '::backstop {\"type\":\"usage\",\"input_tokens\":100,\"output_tokens\":10,\"cache_read_tokens\":0,\"cache_write_tokens\":0,\"cost_usd\":0.5}'\n";
    let test = Test::new()
        .file("agent.sh", agent)
        .file("loose.toml", "[limits]\niterations = 5\n")
        .file("strict.toml", "[limits]\ncost_usd = 1.0\n");
    test.run(["run", "--policy", "loose.toml", "--", "sh", "agent.sh"]).exits(125);
    test
}

#[test]
fn another_policy_would_have_ended_a_run_earlier() {
    let test = five_iterations();
    let replay = ["replay", "latest", "--policy", "strict.toml", "--json"];
    let object = test.run(replay).exits(0).json();
    assert_eq!(object["agent"], "generic");
    assert_eq!(object["outcome"], "succeeded");
    assert_eq!(object["facts"]["iterations"], 5);
    assert_eq!(object["facts"]["cost_usd"], 2.5);
    let end = &object["would_end"];
    assert_eq!((end["reason"].as_str(), end["iteration"].as_u64()), (Some("cost_limit"), Some(2)));
    assert_eq!(end["exit_code"], 128);
    // The second iteration had begun, and had told its cost.
    assert_eq!(end["saved"]["iterations"], 3);
    assert_eq!(end["saved"]["tokens"], 330);
    assert_eq!(end["saved"]["cost_usd"], 1.5);
    let said = test.run(["replay", "latest", "--policy", "strict.toml"]).exits(0).stdout;
    assert!(said.contains("would have ended"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
}

#[test]
fn its_own_policy_decides_as_it_did() {
    let test = five_iterations();
    let object = test.run(["replay", "latest", "--json"]).exits(0).json();
    assert_eq!(object["policy"], "its own policy");
    assert_eq!(object["would_end"]["reason"], "max_iterations");
    assert_eq!(object["would_end"]["iteration"], 5);
    assert_eq!(object["would_end"]["saved"]["iterations"], 0);
}

#[test]
fn what_was_decided_then_does_not_count() {
    let test = five_iterations();
    test.run(["resume", "latest", "--raise", "iterations=7"]).exits(125);
    let object = test.run(["replay", "latest", "--json"]).exits(0).json();
    assert_eq!(object["facts"]["iterations"], 7);
    assert_eq!(object["would_end"]["iteration"], 5, "the limit was raised only then");
}

#[test]
fn a_run_that_is_not_there() {
    let test = Test::new();
    test.run(["replay", "latest"]).refused(66, &["no runs yet"]);
    test.run(["replay", "nosuch"]).refused(66, &["nosuch"]);
    test.run(["replay", "latest", "--agent", "claude"]).refused(64, &["--agent is for files"]);
}
