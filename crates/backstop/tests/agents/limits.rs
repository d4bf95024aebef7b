//! Limits fire in the middle of an iteration, from what the agent itself reports.

use serde_json::json;

use crate::support::looping::Loop;
use crate::{MISBEHAVE, agent, claude, first_signal, message, play, result};

/// A hundred and ten tokens for each of a thousand messages.
const LONG: &str = "--messages 1000 --input 100 --output 10 --delay-ms 20";

#[test]
fn tokens_and_the_whole_tree_is_gone() {
    let script = format!("setsid sleep 300 & (sleep 300 &)\n{MISBEHAVE} agent {LONG}");
    let test = Loop::new().script("agent.sh", &script);
    let flags = ["run", "--max-tokens", "1000", "--finish-within", "0s", "--grace", "2s"];
    test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(127);
    test.leaves_nothing();
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "token_limit");
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["facts"]["iterations"], 1);
    assert_eq!(first_signal(&test), "SIGINT to the process tree");
    let usage = test.events("usage");
    assert!((10..500).contains(&usage.len()), "{} messages at a cap of 10", usage.len());
    assert_eq!(state["facts"]["tokens"], json!(110 * usage.len()));
    assert_eq!(state["facts"]["consecutive_errors"], 0, "it was ended on purpose");
}

#[test]
fn a_stop_lets_the_iteration_finish() {
    let test = Loop::new();
    let session = ["--messages", "20", "--delay-ms", "5", "--cost", "0.5"];
    test.run(agent(&["--max-tokens", "300"], &session)).exits(127);
    let notes = test.events("noted");
    assert!(notes.iter().all(|note| note["what"] != "signalled"), "{notes:?}");
    assert_eq!(test.events("iteration_finished")[0]["exit_code"], 0);
    // Its own result has the last word: 20 × 100 sent, 20 × 10 × 2 received.
    assert_eq!(test.state()["facts"]["tokens"], 2400);
}

#[test]
fn money_by_a_table_of_prices() {
    // 100 × 1000 / 1M + 10 × 5000 / 1M = 0.15 for each message: the seventh makes it 1.05.
    let policy = "[limits]\ncost_usd = 1\n[prices.'claude-sample-*']\ninput = 1000\noutput = 5000\n\
                  [loop]\nfinish_within = '0s'\ngrace = '2s'\n";
    let test = Loop::new().file("p.toml", policy);
    let session: Vec<&str> = LONG.split(' ').collect();
    test.run(agent(&["--policy", "p.toml"], &session)).exits(128);
    test.leaves_nothing();
    let usage = test.events("usage");
    assert!((7..500).contains(&usage.len()), "{} messages at a cap of 7", usage.len());
    assert!(usage.iter().all(|event| event["cost_usd"] == 0.15 && event["basis"] == "live"));
    assert_eq!(test.state()["stop_reason"]["code"], "cost_limit");
    assert_eq!(test.state()["run_status"], "stopped");
}

#[test]
fn tokens_without_a_price_say_how_they_get_one() {
    let policy = "[limits]\ncost_usd = 1\niterations = 2\n[prices.'another-model']\ninput = 1\n\
                  output = 1\n";
    let codex = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}"#,
    ];
    let stream = codex.join("\n") + "\n";
    let test = Loop::new().file("p.toml", policy).file("stream", &stream);
    let ended = test.run(["run", "--policy", "p.toml", "--", "cat", "stream"]).exits(128);
    assert_eq!(test.state()["run_status"], "held");
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("set what they cost in `[prices]`"), "{said}");
    let all = policy.replace("another-model", "*");
    let test = Loop::new().file("p.toml", &all).file("stream", &stream);
    test.run(["run", "--policy", "p.toml", "--", "cat", "stream"]).exits(125);
}

#[test]
fn money_by_the_result_of_an_earlier_turn() {
    let mut turn = result("The first part is done.", false);
    turn["total_cost_usd"] = json!(2.5);
    let stream = claude(&[message(&json!([{"type": "text", "text": "I begin."}])), turn]);
    let test = Loop::new().file("stream", &stream);
    let flags = ["--max-cost", "2", "--finish-within", "0s", "--grace", "2s"];
    let stays = [play(&flags, "stream"), vec!["--stay"]].concat();
    let ended = test.run(stays).exits(128);
    assert!(!ended.stderr.contains("when this iteration has ended"), "{}", ended.stderr);
    assert!(ended.stderr.contains("ends this iteration to stop: cost_limit"), "{}", ended.stderr);
    test.leaves_nothing();
    assert_eq!(test.state()["facts"]["cost_usd"], 2.5);
    assert_eq!(test.state()["facts"]["iterations"], 1);
}

#[test]
fn a_full_context() {
    let policy = "[limits]\niterations = 5\n[[rule]]\n\
                  when = { type = 'context_usage', at_least = 0.9 }\nthen = 'kill'\n";
    let test = Loop::new().file("p.toml", policy);
    // A window of 200,000 is assumed until the agent says otherwise.
    let session = ["--messages", "1000", "--input", "180000", "--delay-ms", "20"];
    test.run(agent(&["--policy", "p.toml"], &session)).exits(129);
    test.leaves_nothing();
    let state = test.state();
    assert_eq!(state["stop_reason"]["code"], "context_overflow");
    assert_eq!(state["facts"]["context"], json!({"used": 180_000, "limit": 200_000}));

    let session = ["--messages", "1000", "--input", "179999", "--delay-ms", "1"];
    test.run(agent(&["--policy", "p.toml", "--once"], &session)).exits(0);
}

/// An agent of this name on the path, which tells its result when it is interrupted.
fn called(name: &str, before: &str) -> Loop {
    let session = format!("{LONG} --cost 3 --heeds-interrupt");
    let test = Loop::new().script(
        &format!("bin/{name}"),
        &format!("{before}\nexec {MISBEHAVE} agent {session} -- \"$@\""),
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", test.work().join("bin").display());
    test.variable("PATH", &path)
}

const AT_ONCE: [&str; 5] = ["run", "--max-tokens", "1000", "--finish-within", "0s"];

#[test]
fn claude_is_interrupted_and_its_own_figures_count() {
    let test = called("claude", "");
    test.run([&AT_ONCE[..], &["--", "claude", "-p", "go on"]].concat()).exits(127);
    test.leaves_nothing();
    assert_eq!(first_signal(&test), "SIGINT to the process tree");
    let usage = test.events("usage");
    let last = usage.last().expect("figures");
    assert_eq!((&last["basis"], &last["cost_usd"]), (&json!("final"), &json!(3.0)));
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(120_000), &json!(3.0)));
    assert_eq!(facts["consecutive_errors"], 0);
}

#[test]
fn an_agent_behind_a_script_is_interrupted_once_it_has_spoken() {
    let test = called("my-script", "echo 'a script of ours'");
    test.run([&AT_ONCE[..], &["--", "my-script"]].concat()).exits(127);
    assert_eq!(first_signal(&test), "SIGINT to the process tree");
    assert_eq!(test.state()["facts"]["cost_usd"], 3.0);
}

#[test]
fn whoever_the_flag_calls_claude_is_interrupted_too() {
    let test = called("my-agent", "");
    let words = [&AT_ONCE[..], &["--agent", "claude", "--", "my-agent"]].concat();
    test.run(words).exits(127);
    assert_eq!(first_signal(&test), "SIGINT to the process tree");
    assert_eq!(test.state()["facts"]["cost_usd"], 3.0);
}

#[test]
fn the_policy_names_another_signal() {
    let test = called("claude", "").file("p.toml", "[loop]\nstop_signal = 'SIGTERM'\n");
    let words = [&AT_ONCE[..], &["--policy", "p.toml", "--", "claude", "-p", "go on"]].concat();
    test.run(words).exits(127);
    test.leaves_nothing();
    assert_eq!(first_signal(&test), "SIGTERM to the process tree");
    let usage = test.events("usage");
    assert!(usage.iter().all(|event| event["basis"] == "live"), "{usage:?}");
    assert_eq!(test.state()["facts"]["tokens"], json!(110 * usage.len()), "what was seen stands");
}

#[test]
fn claude_that_ignores_the_interrupt_is_killed() {
    let script = format!("trap '' INT TERM\nexec {MISBEHAVE} agent {LONG}");
    let test = called("unused", "").script("bin/claude", &script);
    let words = [&AT_ONCE[..], &["--grace", "300ms", "--", "claude", "-p", "go on"]].concat();
    test.run(words).exits(127);
    test.leaves_nothing();
    let notes = test.events("noted");
    let signals: Vec<_> = notes.iter().filter(|note| note["what"] == "signalled").collect();
    assert_eq!(signals.len(), 2, "{signals:?}");
    assert_eq!(signals[1]["detail"], "SIGKILL to the process tree");
}
