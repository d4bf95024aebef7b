//! What counts: live figures until the agent's own stand in their place, and none that are missing.

use serde_json::json;

use crate::support::looping::{Loop, wait_for};
use crate::{MISBEHAVE, agent, claude, play, result};

#[test]
fn the_final_figures_replace_the_live_ones() {
    let test = Loop::new();
    let session = ["--messages", "3", "--input", "100", "--output", "10", "--cost", "0.5"];
    test.run(agent(&["--max-iterations", "2"], &session)).exits(125);
    let usage = test.events("usage");
    let figures: Vec<_> = usage
        .iter()
        .map(|event| {
            let basis = event["basis"].as_str().expect("a basis");
            (basis, event["input_tokens"].as_u64(), event["output_tokens"].as_u64())
        })
        .collect();
    let live = ("live", Some(100), Some(10));
    let of_one = [live, live, live, ("final", Some(300), Some(60))];
    assert_eq!(figures, [of_one, of_one].concat(), "both are in the journal");
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(720), &json!(1.0)));
    assert_eq!(facts["tokens_by"]["output"], 120);
}

#[test]
fn without_a_result_the_live_figures_stand() {
    let test = Loop::new();
    let session = ["--messages", "3", "--result", "none"];
    test.run(agent(&["--max-iterations", "2"], &session)).exits(125);
    let facts = &test.state()["facts"];
    assert_eq!(facts["tokens"], 660);
    assert_eq!(facts["consecutive_errors"], 2, "an exit with 0 and no result is no success");
    let notes = test.events("noted");
    assert_eq!(notes.iter().filter(|note| note["what"] == "pretended").count(), 2, "{notes:?}");
}

#[test]
fn several_lines_of_one_message_count_once() {
    let mut text = crate::message(&json!([{"type": "text", "text": "I look."}]));
    text["message"]["usage"] = json!({"input_tokens": 50, "output_tokens": 1});
    let stream = claude(&[text.clone(), text]);
    let test = Loop::new().file("stream", &stream);
    test.run(play(&["--max-iterations", "1"], "stream")).exits(125);
    assert_eq!(test.events("usage").len(), 1);
    assert_eq!(test.state()["facts"]["tokens"], 51);
}

#[test]
fn f13_a_cost_of_nothing_is_no_cost() {
    let test = Loop::new();
    let session = ["--messages", "3", "--cost", "0"];
    test.run(agent(&["--max-cost", "5"], &session)).exits(128);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 1);
    assert_eq!(state["facts"]["cost_known"], false);
}

/// What Codex prints of a turn that used 100,000 tokens, 40,000 of them from its cache.
const CODEX: &str = include_str!("../samples/codex.jsonl");

#[test]
fn f13_an_agent_that_never_tells_its_cost_fails_closed() {
    let test = Loop::new().file("stream", CODEX);
    test.run(play(&["--max-cost", "5"], "stream")).exits(128);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 1);
    assert_eq!(state["facts"]["tokens"], 62_000, "60,000 new ones sent, 2,000 received");
}

#[test]
fn f13_with_prices_the_limit_is_held_to() {
    // 60,000 × 10 / 1M + 40,000 × 1 / 1M + 2,000 × 30 / 1M = 0.70
    let policy = "[limits]\ncost_usd = 2\n[prices.'*']\ninput = 10\noutput = 30\ncache_read = 1\n";
    let test = Loop::new().file("stream", CODEX).file("p.toml", policy);
    test.run(play(&["--policy", "p.toml"], "stream")).exits(128);
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["facts"]["cost_usd"], 2.1);
    assert_eq!(state["facts"]["iterations"], 3);
}

#[test]
fn f13_prices_stand_in_for_a_cost_of_nothing() {
    // (300 × 1000 + 60 × 5000) / 1M = 0.60
    let policy =
        "[limits]\ncost_usd = 1\n[prices.'claude-sample-*']\ninput = 1000\noutput = 5000\n";
    let test = Loop::new().file("p.toml", policy);
    let session = ["--messages", "3", "--cost", "0"];
    test.run(agent(&["--policy", "p.toml"], &session)).exits(128);
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["facts"]["cost_usd"], 1.2);
    assert_eq!(state["facts"]["iterations"], 2);
}

#[test]
fn f15_what_sub_agents_use_counts_at_once() {
    let test = Loop::new();
    let flags = ["--max-tokens", "1000", "--finish-within", "0s", "--grace", "2s"];
    let session = ["--sub-agents", "--messages", "1000", "--delay-ms", "20"];
    test.run(agent(&flags, &session)).exits(127);
    test.leaves_nothing();
    let messages = test.events("usage").len();
    assert!((10..500).contains(&messages), "{messages} messages at a cap of 10");
}

#[test]
fn f15_a_result_counts_all_models() {
    let mut whole = result("Both are done.", false);
    whole["modelUsage"] = json!({
        "claude-sample-1": {"inputTokens": 10, "outputTokens": 5, "costUSD": 0.4},
        "claude-small-1": {"inputTokens": 3000, "outputTokens": 200, "costUSD": 0.1},
    });
    whole["total_cost_usd"] = json!(0.5);
    let test = Loop::new().file("stream", &claude(&[whole]));
    test.run(play(&["--once"], "stream")).exits(0);
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(3215), &json!(0.5)));
}

const AIDER: &str = "Aider v0.86.1\nMain model: sample with diff edit format\n\
    > Warning: this is only quoted.\n\
    Tokens: 2.4k sent, 91 received. Cost: $0.25 message, $0.25 session.\n";

#[test]
fn a_resumed_run_is_read_as_before() {
    let test = Loop::new().file("stream", AIDER);
    let flags = ["--agent", "aider", "--max-cost", "9", "--max-iterations", "1"];
    test.run(play(&flags, "stream")).exits(125);
    test.run(["resume", "latest", "--raise", "iterations=3"]).exits(125);
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(3 * 2491), &json!(0.75)));
}

#[test]
fn f24_what_was_seen_before_a_crash_counts_after_it() {
    let script = format!(
        "[ -e begun ] && exec {MISBEHAVE} agent --messages 3\n\
         touch begun; exec {MISBEHAVE} agent --messages 5000 --delay-ms 20"
    );
    let test = Loop::new().script("agent.sh", &script);
    let running = test.start(["run", "--max-iterations", "2", "--", "./agent.sh"]);
    wait_for("some messages", || {
        // The run may not be there yet.
        let journal = test.run(["show", "latest", "--events"]).stdout;
        journal.matches(r#""type":"usage""#).count() > 3
    });
    let agents = test.processes();
    let supervisors: Vec<_> =
        test.marked().into_iter().filter(|pid| !agents.contains(pid)).collect();
    Loop::cut_off(&supervisors);
    drop(running);
    test.is_empty();
    let seen = test.events("usage").len();
    test.run(["resume", "latest"]).exits(125);
    // 110 for each message that was seen, and twice 3 × 100 + 3 × 20: an iteration that was never
    // finished is run again.
    assert_eq!(test.state()["facts"]["tokens"], json!(110 * seen + 2 * 360));
}

#[test]
fn an_agent_is_known_however_much_was_said_before_it() {
    let script = format!(
        "for i in $(seq 500); do echo \"installing part $i\"; echo \"warning $i\" >&2; done\n\
         exec {MISBEHAVE} agent --messages 3"
    );
    let test = Loop::new().script("agent.sh", &script);
    let ended = test.run(["run", "--once", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.state()["facts"]["tokens"], 360);
    assert!(ended.stdout.starts_with("installing part 1\n"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("✓ Bash: make part-2\nAll is well.\n"), "{}", ended.stdout);
}

/// A launch of Codex that goes on with a thread, whose totals go on too.
const GOES_ON: &str = r#"n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n
echo '{"type":"thread.started","thread_id":"one"}'
echo '{"type":"turn.started"}'
echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":${n}000,\"cached_input_tokens\":0,\"output_tokens\":${n}0}}"
"#;

#[test]
fn totals_of_a_thread_that_goes_on_are_not_added_up() {
    let test = Loop::new().script("agent.sh", GOES_ON);
    test.run(["run", "--max-iterations", "3", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.state()["facts"]["tokens"], 3030);
}

#[test]
fn agents_that_one_command_starts_are_all_counted() {
    let first = claude(&[result("Read it.", false)]);
    let codex = |end: &str| {
        format!(
            "{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n\
             {{\"type\":\"item.completed\",\"item\":{{\"id\":\"1\",\"type\":\"agent_message\",\"text\":\"Mended.\"}}}}\n\
             {{\"type\":{end}}}\n"
        )
    };
    let good = codex(
        "\"turn.completed\",\"usage\":{\"input_tokens\":900,\"cached_input_tokens\":0,\"output_tokens\":30}",
    );
    let bad = codex("\"turn.failed\",\"error\":{\"message\":\"no\"}");
    for (streams, tokens, exit) in [
        ([&first, &good], 945, Some(0)),
        ([&good, &first], 945, Some(0)),
        ([&bad, &first], 15, Some(0)),
        ([&first, &bad], 15, None),
    ] {
        let test = Loop::new().file("one", streams[0]).file("two", streams[1]);
        let test = test.script("agent.sh", "cat one; echo between; cat two");
        let ended = test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]);
        assert_eq!(test.state()["facts"]["tokens"], tokens, "{}", ended.stdout);
        for said in ["Read it.", "between", "Mended."] {
            assert!(ended.stdout.contains(said), "{}", ended.stdout);
        }
        let finished = &test.events("iteration_finished")[0];
        assert_eq!(finished["exit_code"].as_i64(), exit, "{finished}");
    }
}

#[test]
fn a_model_that_only_the_command_names_is_priced() {
    let policy = "[limits]\ncost_usd = 5\n[prices.'gpt-5*']\ninput = 10\noutput = 10\n";
    let test = Loop::new().file("p.toml", policy).script("codex", GOES_ON);
    let words = ["exec", "--json", "-m", "gpt-5-codex", "go on"];
    let run = ["run", "--once", "--policy", "p.toml", "--", "./codex"];
    test.run(run.iter().chain(&words)).exits(0);
    assert_eq!(test.state()["facts"]["cost_usd"], 0.0101);
}

#[test]
fn what_a_model_told_of_its_window_holds_for_later_iterations() {
    let stream = |used: u64, window: u64| {
        let mut begun = crate::message(&json!([{"type": "text", "text": "I look."}]));
        begun["message"]["usage"] = json!({"input_tokens": used, "output_tokens": 1});
        let mut ended = result("Seen.", false);
        ended["modelUsage"] = json!({"claude-sample-1": {"inputTokens": used, "outputTokens": 1,
            "contextWindow": window, "costUSD": 0.01}});
        claude(&[begun, ended])
    };
    let policy = "[limits]\niterations = 2\n[[rule]]\n\
                  when = { type = 'context_usage', at_least = 0.7 }\nthen = 'recover'\n";
    let large = 1_000_000;
    // Where the second one is told a smaller one, that is what counts.
    for window in [large, 200_000] {
        let test = Loop::new().file("p.toml", policy).file("1", &stream(100_000, large));
        let test = test.file("2", &stream(150_000, window));
        let test = test.script("claude", "cat $BACKSTOP_ITERATION");
        test.run(["run", "--policy", "p.toml", "--", "./claude", "-p", "x"]).exits(125);
        let told = test.events("context");
        let limits: Vec<_> = told.iter().filter_map(|context| context["limit"].as_u64()).collect();
        assert_eq!(limits, [200_000, large, large, window], "a message and a result in each");
        assert_eq!(test.events("recovered"), Vec::<serde_json::Value>::new());
    }
}
