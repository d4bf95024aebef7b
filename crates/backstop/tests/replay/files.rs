//! Small captures of our own.

use serde_json::json;

use crate::support::{Test, keys};

/// Two launches: one that succeeds, and one that is out of money.
const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"one","model":"opus","tools":["Bash"],"cwd":"/"}
{"type":"assistant","session_id":"one","message":{"id":"m1","model":"opus","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make test"}}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":500,"cache_creation_input_tokens":0}}}
{"type":"user","session_id":"one","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"tool_result","tool_use_id":"t2","content":"Exit code 1","is_error":true}]}}
{"type":"assistant","session_id":"one","message":{"id":"m2","model":"opus","content":[{"type":"text","text":"ALL DONE"}],"usage":{"input_tokens":5,"output_tokens":1,"cache_read_input_tokens":600,"cache_creation_input_tokens":0}}}
{"type":"result","subtype":"success","is_error":false,"duration_ms":9,"num_turns":2,"result":"ALL DONE","session_id":"one","total_cost_usd":0.75,"usage":{"input_tokens":15,"output_tokens":90,"cache_read_input_tokens":1100,"cache_creation_input_tokens":0}}
{"type":"system","subtype":"init","session_id":"two","model":"opus","tools":["Bash"],"cwd":"/"}
{"type":"result","subtype":"success","is_error":true,"duration_ms":9,"num_turns":1,"result":"Credit balance is too low","session_id":"two","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}
"#;

#[test]
fn people_read_figures_errors_and_where_it_would_have_ended() {
    let test = Test::new().file("session.jsonl", CLAUDE);
    let ended = test.run(["replay", "session.jsonl"]).exits(0);
    insta::assert_snapshot!(ended.stdout, @r"
    session.jsonl
      claude · failed · 2 launches · 2 actions

      tokens     15 input · 90 output · 1.1k cache reads
      cost       $0.75
      errors     1 critical
                 event 13 · critical: Credit balance is too low

    ■ event 13 · iteration 2 · would fail: critical_failure — Error: Credit balance
      is too low (and 1 more until event 14)

    Under preset:default it would have ended after event 13, in iteration 2:
    critical_failure (exit 13).
    ");
    assert_eq!(ended.stderr, "");
}

#[test]
fn programs_read_one_object() {
    let test = Test::new().stdin(CLAUDE);
    let object = test.run(["replay", "-", "--json"]).exits(0).json();
    assert_eq!(
        keys(&object),
        [
            "agent",
            "outcome",
            "policy",
            "policy_hash",
            "launches",
            "events",
            "actions",
            "facts",
            "errors",
            "decisions",
            "would_end"
        ]
    );
    assert_eq!(object["agent"], "claude");
    assert_eq!(object["outcome"], "failed");
    assert_eq!(object["policy"], "preset:default");
    assert_eq!(object["actions"], 2);
    assert_eq!(object["facts"]["iterations"], 2);
    assert_eq!(object["facts"]["cost_usd"], 0.75);
    assert_eq!(object["facts"]["tokens"], 105);
    assert_eq!(object["facts"]["exit_code"], 1);
    assert_eq!(object["errors"][0]["category"], "critical");
    assert_eq!(object["errors"][0]["message"], "Credit balance is too low");
    assert_eq!(object["errors"][0].get("retry_at"), None);
    let first = &object["decisions"][0];
    assert_eq!(
        keys(first),
        ["event", "iteration", "verdict", "reason", "rule", "message"],
        "nobody said when it was"
    );
    assert_eq!((&first["verdict"], &first["reason"]), (&json!("fail"), &json!("critical_failure")));
    assert_eq!(first["iteration"], 2);
    assert_eq!(object["would_end"]["event"], first["event"]);
}

#[test]
fn another_policy_decides_otherwise() {
    let policy = r#"
        [limits]
        cost_usd = 0.5
        [[rule]]
        when = { type = "output_pattern", pattern = "ALL DONE", in = "assistant" }
        then = "complete"
    "#;
    let test = Test::new().file("session.jsonl", CLAUDE).file("p.toml", policy);
    let object =
        test.run(["replay", "session.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
    assert_eq!(object["would_end"]["verdict"], "complete");
    assert_eq!(object["would_end"]["iteration"], 1);
    assert_eq!(object["would_end"]["exit_code"], 0);
    let reasons: Vec<_> = object["decisions"].as_array().unwrap().iter().collect();
    assert!(reasons.iter().any(|decision| decision["reason"] == "cost_limit"), "{reasons:?}");
    let saved = &object["would_end"]["saved"];
    assert_eq!(saved["iterations"], 1);
    assert_eq!(saved["cost_usd"], 0.75);
}

#[test]
fn patterns_are_found_in_what_was_printed() {
    let policy = |place: &str| {
        format!(
            "[[rule]]\nwhen = {{ type = \"output_pattern\", pattern = \"make test\", in = \"{place}\" }}\nthen = \"complete\"\n"
        )
    };
    for (place, found) in [("any", true), ("assistant", false), ("result", false)] {
        let test = Test::new().file("s.jsonl", CLAUDE).file("p.toml", policy(place));
        let object =
            test.run(["replay", "s.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
        let completes = object["decisions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|decision| decision["verdict"] == "complete");
        assert_eq!(completes, found, "{place}");
    }
}

#[test]
fn calls_side_by_side_are_one_step() {
    let policy = "[[rule]]\nwhen = { type = \"repetition\" }\nthen = \"stop\"\n";
    let call = |message: usize, id: usize| {
        format!(
            r#"{{"type":"assistant","session_id":"one","message":{{"id":"m{message}","model":"opus","content":[{{"type":"tool_use","id":"t{id}","name":"Read","input":{{"file_path":"a"}}}}]}}}}"#
        )
    };
    let answer = |ids: &[usize]| {
        let results: Vec<_> = ids
            .iter()
            .map(|id| json!({"type": "tool_result", "tool_use_id": format!("t{id}"), "content": "same"}))
            .collect();
        json!({"type": "user", "session_id": "one", "message": {"content": results}}).to_string()
    };
    let mut together: Vec<_> = (0..12).map(|id| call(1, id)).collect();
    together.push(answer(&(0..12).collect::<Vec<_>>()));
    let one_by_one: Vec<_> = (0..12).flat_map(|id| [call(id, id), answer(&[id])]).collect();
    for (lines, stops) in [(together, false), (one_by_one, true)] {
        let test = Test::new().file("s.jsonl", lines.join("\n")).file("p.toml", policy);
        let object =
            test.run(["replay", "s.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
        assert_eq!(object["actions"], 12);
        assert_eq!(object["would_end"].is_object(), stops, "{object:#}");
    }
}

#[test]
fn times_of_the_past_are_kept() {
    let lines = r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"go"},"timestamp":"2025-03-01T10:00:00Z"}
{"type":"assistant","sessionId":"s","message":{"id":"m1","model":"opus","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2025-03-01T12:30:00Z"}
"#;
    let test = Test::new().file("s.jsonl", lines).file("p.toml", "[limits]\nduration = \"2h\"\n");
    let object = test.run(["replay", "s.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
    assert_eq!(object["outcome"], "succeeded");
    assert_eq!(object["facts"]["active_ms"], 9_000_000);
    assert_eq!(object["would_end"]["reason"], "timeout");
    assert_eq!(object["would_end"]["at"], "2025-03-01T12:30:00Z");
}

#[test]
fn a_trial_takes_as_long_as_its_agent_and_its_tests() {
    let trial = |day: u32| {
        json!({"trial_name": "t", "is_resolved": true, "parser_results": {"a": "passed"},
            "agent_started_at": format!("2025-03-0{day}T10:00:00Z"),
            "agent_ended_at": format!("2025-03-0{day}T10:06:00Z"),
            "test_ended_at": format!("2025-03-0{day}T10:07:00Z")})
    };
    for (file, launches) in [(trial(1), 1), (json!({"results": [trial(1), trial(3)]}), 2)] {
        let object = Test::new()
            .file("results.json", file.to_string())
            .run(["replay", "results.json", "--json"])
            .exits(0)
            .json();
        assert_eq!(object["facts"]["iterations"], launches, "{object:#}");
        assert_eq!(object["facts"]["active_ms"], launches * 7 * 60_000);
    }
}

#[test]
fn the_time_between_two_launches_is_nobodys() {
    let session = |name: &str, day: u32| {
        format!(
            r#"{{"type":"init","session_id":"{name}","model":"m","timestamp":"2025-03-0{day}T10:00:00Z"}}
{{"type":"message","role":"assistant","content":"Done.","timestamp":"2025-03-0{day}T10:20:00Z"}}
{{"type":"result","status":"success","stats":{{"input_tokens":9,"output_tokens":2,"total_tokens":11}},"timestamp":"2025-03-0{day}T10:30:00Z"}}
"#
        )
    };
    let history = "\n# aider chat started at 2025-08-20 10:00:00\n\n#### one\n\nDone.\n\n\
        > Tokens: 2k sent, 10 received. Cost: $0.01 message, $0.01 session.\n\
        \n# aider chat started at 2025-08-26 10:00:00\n\n#### two\n\nDone.\n\n\
        > Tokens: 2k sent, 10 received. Cost: $0.01 message, $0.01 session.\n";
    let streams = session("a", 1) + &session("b", 5);
    for (file, active_ms) in [(streams.as_str(), 3_600_000), (history, 0)] {
        let test = Test::new().file("s", file).file("p.toml", "[limits]\nduration = \"2h\"\n");
        let object = test.run(["replay", "s", "--policy", "p.toml", "--json"]).exits(0).json();
        assert_eq!(object["facts"]["iterations"], 2, "{object:#}");
        assert_eq!(object["facts"]["active_ms"], active_ms);
        assert_eq!(object["would_end"], serde_json::Value::Null);
    }
}

#[test]
fn who_opens_a_stream_as_another_does_is_named_by_what_comes_later() {
    let lines = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"a"},"result":{"success":{}}}}}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}"#;
    let test = Test::new().file("s.jsonl", lines);
    let object = test.run(["replay", "s.jsonl", "--json"]).exits(0).json();
    assert_eq!((&object["agent"], &object["actions"]), (&json!("cursor"), &json!(1)));
    assert_eq!((&object["launches"], &object["outcome"]), (&json!(1), &json!("succeeded")));
}

/// What tells them apart may come later than what is looked at before the stream is read.
#[test]
fn who_opens_a_stream_as_another_does_is_named_however_late_that_shows() {
    let words = "x".repeat(1 << 20);
    let lines = format!(
        r#"{{"type":"system","subtype":"init","session_id":"s","model":"m"}}
{{"type":"assistant","session_id":"s","message":{{"role":"assistant","content":[{{"type":"text","text":"{words}"}}]}}}}
{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{{"readToolCall":{{"args":{{"path":"a"}},"result":{{"success":{{}}}}}}}}}}
"#
    );
    let test = Test::new().file("s.jsonl", &lines);
    let object = test.run(["replay", "s.jsonl", "--json"]).exits(0).json();
    assert_eq!((&object["agent"], &object["actions"]), (&json!("cursor"), &json!(1)));
}

/// When it is to be tried again after each error.
fn retries(lines: &str) -> Vec<serde_json::Value> {
    let test = Test::new().file("s.jsonl", lines);
    let object = test.run(["replay", "s.jsonl", "--json"]).exits(0).json();
    let errors = object["errors"].as_array().expect("a list");
    errors.iter().map(|error| error["retry_at"].clone()).collect()
}

#[test]
fn a_limit_in_a_file_without_times_counts_from_now() {
    let claude = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"num_turns":1,"session_id":"s","result":"5-hour limit reached ∙ resets 12am"}"#;
    let codex = r#"{"type":"thread.started","thread_id":"x"}
{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 2:54 AM."}}"#;
    let before = jiff::Timestamp::now();
    for lines in [claude, codex] {
        let retries = retries(lines);
        let [retry_at] = &retries[..] else { panic!("{retries:?}") };
        let retry_at: jiff::Timestamp = retry_at.as_str().expect("a time").parse().expect("a time");
        let wait = retry_at.duration_since(before);
        let (least, most) =
            (jiff::SignedDuration::from_mins(-11), jiff::SignedDuration::from_hours(25));
        assert!((least..most).contains(&wait), "{wait:?}");
    }
}

/// What is full in a file without times was full when it was told, whatever the clock shows now.
#[test]
fn a_window_in_a_file_without_times_stays_as_it_was_told() {
    let policy = "[[rule]]\nwhen = { type = \"quota\", window = \"weekly\", at_least = 0.8 }\n\
                  then = \"stop\"\n";
    let told = |resets_at: i64| {
        let limit = json!({"type": "rate_limit_event", "session_id": "one", "rate_limit_info": {
            "status": "allowed_warning", "rateLimitType": "seven_day", "utilization": 0.91,
            "resetsAt": resets_at,
        }});
        let (init, rest) = CLAUDE.split_once('\n').expect("has lines");
        Test::new().file("s.jsonl", format!("{init}\n{limit}\n{rest}")).file("p.toml", policy)
    };
    let next_year = jiff::Timestamp::now().as_second() + 365 * 86_400;
    for resets_at in [1_779_204_000, 1_000_000_000, next_year] {
        let replay = ["replay", "s.jsonl", "--policy", "p.toml", "--json"];
        let object = told(resets_at).run(replay).exits(0).json();
        assert_eq!(object["facts"]["quota"]["weekly"], 0.91, "{resets_at}");
        assert_eq!(object["would_end"]["rule"], "quota", "{object:#}");
    }
}

#[test]
fn a_limit_in_a_file_with_times_counts_from_the_record_that_tells_it() {
    let record = |at: &str, model: &str, text: &str, failed: bool| {
        let message = json!({
            "id": at, "model": model, "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 0, "output_tokens": 0},
        });
        json!({
            "type": "assistant", "sessionId": "s", "timestamp": at, "message": message,
            "isApiErrorMessage": failed,
        })
        .to_string()
    };
    let spoke = record("2026-02-01T10:00:00Z", "opus", "hello", false);
    let limit = "You've hit your session limit · resets 3pm (UTC)";
    let limited = record("2026-02-01T16:00:00Z", "<synthetic>", limit, true);
    let next_day = json!("2026-02-02T15:00:00Z");
    assert_eq!(retries(&format!("{spoke}\n{limited}\n")), std::slice::from_ref(&next_day));
    assert_eq!(retries(&format!("{limited}\n")), [next_day]);
    // What comes before the first time was not said now.
    let undated = r#"{"type":"error","severity":"error","message":"You have exhausted your daily quota. Your quota will reset after 3h2m."}
{"type":"result","status":"error","timestamp":"2026-02-01T10:00:01Z","stats":{}}"#;
    assert_eq!(retries(undated), [json!(null)]);
}

#[test]
fn all_agents_of_a_log_are_followed() {
    let codex = r#"{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":0,"output_tokens":100}}
"#;
    let test = Test::new().file("log", format!("{CLAUDE}{codex}"));
    let object = test.run(["replay", "log", "--json"]).exits(0).json();
    assert_eq!((&object["agent"], &object["outcome"]), (&json!("claude"), &json!("succeeded")));
    assert_eq!((&object["launches"], &object["facts"]["tokens"]), (&json!(3), &json!(2205)));
}

#[test]
fn a_phrase_is_looked_for_in_all_output_where_nobodys_words_can_be_told() {
    let rule = "[[rule]]\nwhen = { type = 'output_pattern', pattern = 'ALL DONE', in = 'auto' }\n\
                then = 'complete'\n";
    let unmapped = format!("{rule}[loop]\nagent = 'jsonl'\n[jsonl]\ninput_tokens = 'n'\n");
    let mapped = format!("{unmapped}message = 'says'\n");
    let line = "{\"msg\":\"ALL DONE\",\"n\":1}\n";
    for (policy, printed, flags, completes) in [
        (rule, "hello\nALL DONE\n", &["--agent", "generic"][..], true),
        (&unmapped, line, &[], true),
        (&mapped, line, &[], false),
    ] {
        let test = Test::new().file("x", printed).file("p.toml", policy);
        let words = [&["replay", "x", "--policy", "p.toml", "--json"], flags].concat();
        let object = test.run(words).exits(0).json();
        assert_eq!(object["would_end"].is_object(), completes, "{policy} {object:#}");
    }
}

#[test]
fn prices_of_the_policy_are_used_where_the_agent_names_none() {
    let lines = r#"{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":2000000,"cached_input_tokens":1000000,"output_tokens":100000}}
"#;
    let prices = "[prices]\n\"*\" = { input = 2.0, output = 10.0, cache_read = 0.5 }\n";
    let test = Test::new().file("c.jsonl", lines).file("p.toml", prices);
    let object = test.run(["replay", "c.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
    assert_eq!(object["agent"], "codex");
    // A million at $2, another from the cache at $0.50, a tenth of one at $10.
    assert_eq!(object["facts"]["cost_usd"], 3.5);
}

#[test]
fn lines_of_ones_own_are_read_by_the_mapping() {
    let policy = "[loop]\nagent = \"jsonl\"\n[jsonl]\ncost_usd = \"bill.usd\"\n";
    let test = Test::new().file("x.jsonl", "{\"bill\":{\"usd\":0.25}}\n{\"bill\":{\"usd\":0.5}}\n");
    let test = test.file("p.toml", policy);
    let object = test.run(["replay", "x.jsonl", "--policy", "p.toml", "--json"]).exits(0).json();
    assert_eq!(object["agent"], "jsonl");
    assert_eq!(object["facts"]["cost_usd"], 0.75);
}

#[test]
fn a_policy_in_the_directory_is_not_taken() {
    let test = Test::new().file("s.jsonl", CLAUDE).file("backstop.toml", "[limits]\ntokens = 1\n");
    let object = test.run(["replay", "s.jsonl", "--json"]).exits(0).json();
    assert_eq!(object["policy"], "preset:default");
}

#[test]
fn what_is_nothing_known_is_refused() {
    let test = Test::new()
        .file("notes.txt", "just\nsome words\n")
        .file("empty", "")
        .file("s.jsonl", CLAUDE)
        .file("bad.toml", "[limits]\niterations = 0\n");
    test.run(["replay", "notes.txt"]).refused(65, &["it begins with `just`", "--agent"]);
    test.run(["replay", "empty"]).refused(65, &["it is empty"]);
    test.run(["replay", "missing.jsonl"]).refused(66, &["can't read `missing.jsonl`"]);
    test.run(["replay", "./missing"]).refused(66, &["can't read"]);
    test.run(["replay", "s.jsonl", "--policy", "bad.toml"]).refused(78, &["iterations"]);
    test.run(["replay", "s.jsonl", "--policy", "none.toml"]).refused(66, &["none.toml"]);
    test.run(["replay", "s.jsonl", "--preset", "ralf"]).refused(64, &["did you mean `ralph`"]);
    test.run(["replay", "s.jsonl", "--agent", "cluade"]).refused(64, &["did you mean `claude`"]);
    test.run(["replay", "-", "--policy", "-"]).refused(64, &["standard input"]);
}

#[test]
fn an_agent_that_is_named_is_believed() {
    let test = Test::new().file("notes.txt", "just\nsome words\n");
    let object = test.run(["replay", "notes.txt", "--agent", "generic", "--json"]).exits(0).json();
    assert_eq!((&object["agent"], &object["outcome"]), (&json!("generic"), &json!("succeeded")));
    assert_eq!(object["facts"]["iterations"], 1);
}

/// Codex names the file that it changes, and not what it writes into it.
#[test]
fn changes_of_one_file_are_not_taken_for_the_same_change() {
    let mut lines = vec![json!({"type": "thread.started", "thread_id": "a"})];
    for round in 0..8 {
        let change = json!({"id": format!("item_{}", 2 * round), "type": "file_change",
            "changes": [{"path": "calc.py", "kind": "update"}], "status": "completed"});
        let test = json!({"id": format!("item_{}", 2 * round + 1), "type": "command_execution",
            "command": "pytest", "exit_code": 1, "status": "failed",
            "aggregated_output": format!("FAILED test_{0}\n{0} of {0}", "x".repeat(round + 1))});
        lines.extend([change, test].map(|item| json!({"type": "item.completed", "item": item})));
    }
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    let test = Test::new().file("s.jsonl", lines.join("\n"));
    let object = test.run(["replay", "s.jsonl", "--preset", "ralph", "--json"]).exits(0).json();
    assert_eq!(object["actions"], 16);
    let of_repetition = |decision: &&serde_json::Value| decision["reason"] == "repetition";
    let decisions = object["decisions"].as_array().expect("a list");
    assert_eq!(decisions.iter().find(of_repetition), None);
}
