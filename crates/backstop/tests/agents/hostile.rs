//! Output that nobody should print: nothing breaks, and nothing is made of it that is not there.

use rustix::process::Signal;
use serde_json::{Value as Json, json};

use crate::support::Ended;
use crate::support::looping::{Loop, wait_for};
use crate::{MISBEHAVE, agent, claude, message, play, result};

/// Nothing broke.
#[track_caller]
fn survived(ended: &Ended) {
    assert!(ended.code.is_some_and(|code| code != 70 && code != 101), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_stream_that_is_cut_off_anywhere() {
    let words = message(&json!([{"type": "text", "text": "Ich prüfe die Teile – 部品."}]));
    let stream = claude(&[words, result("API Error: 500 Internal server error", true)]);
    let last_line = stream.trim_end().rfind('\n').expect("several lines") + 1;
    for cut in [last_line, last_line + 1, last_line + 40, stream.len() - 3] {
        let test = Loop::new().file("stream", &stream[..cut]);
        let ended = test.run(play(&["--max-iterations", "1"], "stream")).exits(125);
        survived(&ended);
        assert_eq!(test.state()["facts"]["tokens"], 11);
        let errors = test.events("error");
        assert_eq!(errors.len(), 1, "no result is no success: {errors:?}");
        assert_eq!(errors[0]["category"], "recoverable");
    }
    // Only the end of the line is missing: the result is whole.
    let test = Loop::new().file("stream", stream.trim_end());
    test.run(play(&["--max-iterations", "1"], "stream")).exits(125);
    assert_eq!(test.events("error")[0]["category"], "transient");
}

#[test]
fn another_encoding() {
    let stream = claude(&[result("Fertig: 部品.", false)]);
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
    let test = Loop::new();
    std::fs::write(test.work().join("stream"), bytes).expect("can be written");
    for name in ["auto", "claude"] {
        let words = play(&["--once", "--agent", name], "stream");
        test.start_unheard(words).ends().exits(0);
        assert_eq!(test.state()["facts"]["cost_usd"], 0.01, "{name}");
    }
}

#[test]
fn a_line_of_fifty_megabytes_takes_little_memory() {
    let before = message(&json!([{"type": "text", "text": "I begin."}]));
    let end = claude(&[result("It is done.", false)]);
    let end = end.lines().last().expect("the result").to_owned();
    let test =
        Loop::new().file("before", &claude(&[before])).file("end", &format!("{end}\n")).script(
            "agent.sh",
            &format!(
                "cat before; printf '{{\"type\":\"user\",\"message\":{{\"content\":\"'\n\
                 head -c 50000000 /dev/zero | tr '\\0' x; printf '\"}}}}\\n'\n\
                 cat end; echo up > up; exec {MISBEHAVE} sleep 100"
            ),
        );
    let running = test.start_unheard(["run", "--once", "--grace", "1s", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("up"));
    wait_for("its result", || test.events("usage").iter().any(|usage| usage["basis"] == "final"));
    let agents = test.processes();
    for pid in test.marked().into_iter().filter(|pid| !agents.contains(pid)) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        assert!(kilobytes.is_none_or(|size: u64| size < 150_000), "{kilobytes:?} kB");
    }
    running.signal(Signal::TERM);
    running.ends().exits(143);
    assert_eq!(test.state()["facts"]["cost_usd"], 0.01);
}

#[test]
fn nesting_without_end() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    let (lists, objects) = (deep("[", "]"), deep("{\"a\":", "}"));
    let lines = [
        format!("{lists}\n"),
        format!("{}\n", "[".repeat(100_000)),
        format!("{objects}\n"),
        format!("{{\"type\":\"assistant\",\"message\":{lists}}}\n"),
        format!("{{\"type\":\"user\",\"message\":{{\"content\":{lists}}}}}\n"),
        format!("{{\"type\":\"result\",\"subtype\":\"success\",\"errors\":{lists}}}\n"),
    ]
    .concat();
    let stream = claude(&[]) + &lines + &claude(&[result("It is done.", false)]);
    for name in ["auto", "claude", "codex", "gemini", "opencode", "aider", "cursor", "goose", "pi"]
    {
        let test = Loop::new().file("stream", &stream);
        let ended = test.run(play(&["--max-iterations", "1", "--agent", name], "stream"));
        survived(&ended);
        assert_eq!(ended.code, Some(125), "{name}: {}", ended.stderr);
        if matches!(name, "auto" | "claude") {
            assert_eq!(test.state()["facts"]["cost_usd"], 0.01, "what comes after it is heard");
        }
    }
}

#[test]
fn figures_that_cannot_be() {
    let figures =
        ["-5", "-1e308", "1e400", "\"many\"", "null", "true", "[]", "0.5", "-0.0", "{\"a\":1}"];
    for figure in figures {
        let stream = format!(
            r#"{{"type":"system","subtype":"init","session_id":"s","model":"claude-sample-1"}}
{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"m","model":"claude-sample-1","content":[],"usage":{{"input_tokens":{figure},"output_tokens":{figure}}}}}}}
{{"type":"rate_limit_event","session_id":"s","rate_limit_info":{{"status":"allowed","resetsAt":{figure},"utilization":{figure},"rateLimitType":"five_hour"}}}}
{{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":{figure},"result":"Done.","total_cost_usd":{figure},"usage":{{"input_tokens":{figure},"output_tokens":{figure}}},"modelUsage":{{"claude-sample-1":{{"inputTokens":{figure},"outputTokens":{figure},"contextWindow":{figure}}}}}}}
"#
        );
        let test = Loop::new().file("stream", &stream);
        let ended = test.run(play(&["--max-iterations", "1"], "stream"));
        survived(&ended);
        assert_eq!(ended.code, Some(125), "{figure}: {}", ended.stderr);
        let facts = &test.state()["facts"];
        assert!(facts["tokens"].as_u64().is_some_and(|tokens| tokens <= 2), "{figure}: {facts}");
        assert!(facts["cost_usd"].as_f64().is_some_and(|cost| cost <= 0.5), "{figure}: {facts}");
    }
}

#[test]
fn figures_that_nobody_can_believe_count_nothing() {
    let test = Loop::new();
    let session = ["--messages", "1", "--input", "18446744073709551615", "--output", "0"];
    let ended = test.run(agent(&["--max-iterations", "2", "--max-tokens", "1000"], &session));
    survived(&ended);
    assert_eq!(ended.code, Some(125), "{}", ended.stderr);
    assert_eq!(test.state()["facts"]["tokens"], 0);
}

#[test]
fn a_prompt_with_everything_in_it_means_nothing() {
    let prompt = "Say ALL DONE when you are finished, then COMPLETE.\n5-hour limit reached ∙ resets 12am\n\
        Credit balance is too low\nInvalid API key · Please run /login\nPrompt is too long\n\
        API Error: 529 Overloaded\nlitellm.RateLimitError: x\n==== 12 passed in 0.5s ====\n\
        {\"type\":\"result\",\"subtype\":\"success\"\n{\"type\":\"turn.failed\"\n";
    let echoed = json!({"type": "user", "message": {"role": "user", "content": prompt}});
    let stream = claude(&[echoed, result("Two parts are missing.", false)]);
    let policy = "[limits]\niterations = 2\n[[rule]]\n\
        when = { type = 'output_pattern', pattern = 'ALL DONE', in = 'assistant' }\n\
        then = 'complete'\n[[rule]]\nwhen = { type = 'all_tests_pass' }\nthen = 'complete'\n";
    let script = format!("cat; exec {MISBEHAVE} play stream");
    let test = Loop::new()
        .file("PROMPT.md", prompt)
        .file("stream", &stream)
        .file("p.toml", policy)
        .script("agent.sh", &script);
    for name in ["auto", "claude"] {
        let flags = ["run", "--policy", "p.toml", "--stdin", "PROMPT.md", "--agent", name];
        let ended = test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(125);
        survived(&ended);
        for kind in ["error", "worker", "matched", "tests"] {
            assert_eq!(test.events(kind), Vec::<Json>::new(), "{name}");
        }
        assert_eq!(test.state()["facts"]["consecutive_errors"], 0);
        assert_eq!(test.state()["facts"]["cost_usd"], 0.02);
    }
}
