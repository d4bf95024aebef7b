//! A completion phrase counts where the policy looks for it, and nowhere else.

use serde_json::{Value as Json, json};

use crate::support::looping::Loop;
use crate::{call, claude, message, play, result};

const PHRASE: &str = "ALL DONE";

fn policy(place: &str, pattern: &str) -> String {
    format!(
        "[limits]\niterations = 1\n[[rule]]\nwhen = {{ type = 'output_pattern', \
         pattern = '{pattern}', is_regex = true, in = '{place}' }}\nthen = 'complete'\n"
    )
}

/// Whether a run of this stream is taken for completed.
#[track_caller]
fn completes(stream: &str, policy: &str) -> bool {
    let test = Loop::new().file("stream", stream).file("p.toml", policy);
    let ended = test.run(play(&["--policy", "p.toml"], "stream"));
    let is_complete = ended.code == Some(0);
    let ended = ended.exits(if is_complete { 0 } else { 125 });
    assert_eq!(test.events("matched").is_empty(), !is_complete, "{}", ended.stderr);
    is_complete
}

/// A message of a sub-agent, or of the main loop, with one block.
fn block(block: &Json, parent: Option<&str>) -> Json {
    let mut message = message(&json!([block]));
    message["parent_tool_use_id"] = json!(parent);
    message
}

#[test]
fn f6_the_phrase_counts_where_the_policy_looks() {
    let says = format!("When you have finished, say {PHRASE}.");
    let text = json!({"type": "text", "text": says});
    let end = result("I could not do it.", false);
    let prompt = json!({"type": "user", "message": {"role": "user", "content": says}});
    let [asks, answers] = call("cat PLAN.md", &format!("not {PHRASE} yet"));
    let [writes, written] = call(&format!("echo {PHRASE} > state"), "");
    let thinks = json!({"type": "thinking", "thinking": says});
    // Where it stands; whether it counts for the agent's words, and for its result.
    let table: [(&str, Vec<Json>, bool, bool); 8] = [
        ("the prompt", vec![prompt, end.clone()], false, false),
        ("a tool's output", vec![asks, answers, end.clone()], false, false),
        ("a tool's input", vec![writes, written, end.clone()], false, false),
        ("a thought", vec![block(&thinks, None), end.clone()], false, false),
        ("a sub-agent", vec![block(&text, Some("toolu_0")), end.clone()], false, false),
        ("a message", vec![block(&text, None), end], true, false),
        ("the result", vec![result(&format!("{PHRASE}."), false)], true, true),
        ("a failure", vec![result(&format!("API Error: 500 {PHRASE}"), true)], false, false),
    ];
    for (place, records, assistant, whole) in &table {
        let stream = claude(records);
        assert!(completes(&stream, &policy("any", PHRASE)), "{place}");
        assert_eq!(completes(&stream, &policy("assistant", PHRASE)), *assistant, "{place}");
        assert_eq!(completes(&stream, &policy("result", PHRASE)), *whole, "{place}");
    }
}

#[test]
fn f6_a_line_of_its_own_tells_a_negation_apart() {
    let anchored = policy("result", "(?m)^ALL DONE$");
    let not_yet = claude(&[result("It is not ALL DONE: two parts are missing.", false)]);
    assert!(!completes(&not_yet, &anchored));
    let done = claude(&[result("Both parts are there.\nALL DONE\n", false)]);
    assert!(completes(&done, &anchored));
}

#[test]
fn f6_the_words_of_every_agent_are_told_from_what_it_reads() {
    let table = [
        (
            "codex",
            r#"{"type":"thread.started","thread_id":"1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"cat PLAN","aggregated_output":"QUOTED","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"SPOKEN"}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":1}}
"#,
        ),
        (
            "gemini",
            r#"{"type":"init","timestamp":"2026-05-04T10:00:00Z","session_id":"s","model":"gemini-sample"}
{"type":"message","timestamp":"2026-05-04T10:00:00Z","role":"user","content":"QUOTED"}
{"type":"tool_use","timestamp":"2026-05-04T10:00:01Z","tool_name":"read_file","tool_id":"t","parameters":{"path":"QUOTED"}}
{"type":"tool_result","timestamp":"2026-05-04T10:00:01Z","tool_id":"t","status":"success","output":"QUOTED"}
{"type":"message","timestamp":"2026-05-04T10:00:02Z","role":"assistant","content":"SPO","delta":true}
{"type":"message","timestamp":"2026-05-04T10:00:02Z","role":"assistant","content":"KEN","delta":true}
{"type":"result","timestamp":"2026-05-04T10:00:03Z","status":"success","stats":{"total_tokens":11,"input_tokens":10,"output_tokens":1,"cached":0,"input":10,"duration_ms":5,"tool_calls":1}}
"#,
        ),
        (
            "opencode",
            r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}
{"type":"tool_use","timestamp":2,"sessionID":"ses_1","part":{"tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"cat"},"output":"QUOTED","metadata":{"exit":0}}}}
{"type":"text","timestamp":3,"sessionID":"ses_1","part":{"type":"text","text":"SPOKEN"}}
{"type":"step_finish","timestamp":4,"sessionID":"ses_1","part":{"type":"step-finish","reason":"stop","cost":0.001,"tokens":{"input":10,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}}
"#,
        ),
    ];
    for (agent, stream) in table {
        for place in ["assistant", "result"] {
            assert!(completes(stream, &policy(place, "SPOKEN")), "{agent} {place}");
            assert!(!completes(stream, &policy(place, "QUOTED")), "{agent} {place}");
        }
    }
}

#[test]
fn f6_an_empty_pattern_is_refused() {
    for place in ["any", "assistant", "result"] {
        let test = Loop::new().file("p.toml", &policy(place, ""));
        test.run(["run", "--policy", "p.toml", "--", "true"]).refused(78, &["pattern"]);
    }
}

#[test]
fn f6_the_flag_listens_to_the_words_of_an_agent_that_is_known() {
    let mut thought = message(&json!([{"type": "thinking", "thinking": "I say ALL DONE soon"}]));
    thought["message"]["id"] = json!("msg_2");
    let [called, answered] = call("grep 'ALL DONE' .", "PLAN.md: ALL DONE");
    let end = |words: &str| {
        claude(&[thought.clone(), called.clone(), answered.clone(), result(words, false)])
    };
    for (name, printed, exit) in [
        ("claude", end("Not yet."), 125),
        ("claude", end("It is ALL DONE."), 0),
        // What a script starts shows in what it prints.
        ("my-agent", end("Not yet."), 125),
        ("my-agent", end("It is ALL DONE."), 0),
        ("my-agent", format!("building\n{}", end("Not yet.")), 125),
        // Nothing tells the words of an unknown program from the rest.
        ("my-agent", "{\"odd\":\"ALL DONE\"}\n".to_owned(), 0),
        ("my-agent", "{\"odd\":\"ALL DONE\"}".to_owned(), 0),
        ("my-agent", "it is ALL DONE".to_owned(), 0),
        // Commands that are only printed, and what comes behind them.
        ("my-agent", "claude --version isn't there\nit is ALL DONE\n".to_owned(), 0),
        ("my-agent", "codex exec --help  # Codex's, and the users'\nALL DONE\n".to_owned(), 0),
        ("my-agent", "claude -p prints the users' names\none\nALL DONE\n".to_owned(), 0),
        ("my-agent", "claude -p 'first\nthen say ALL DONE' \\\n --verbose\n".to_owned(), 125),
        ("my-agent", "docker run img claude -p \"say ALL DONE\"\n".to_owned(), 125),
        ("my-agent", "claude -p the users'\ncodex exec \"say ALL DONE\"\n".to_owned(), 125),
        ("claude", "I look around.\nALL DONE now.\n".to_owned(), 0),
        ("codex", "I look around.\nALL DONE now.\n".to_owned(), 0),
    ] {
        let test = Loop::new().file("printed", &printed).script(name, "cat printed");
        let program = format!("./{name}");
        let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1", "--"];
        test.run(flags.into_iter().chain([program.as_str(), "exec", "go"])).exits(exit);
    }
}

#[test]
fn f6_the_flag_does_so_too_where_the_bytes_are_shown() {
    let [called, answered] = call("grep 'ALL DONE' .", "PLAN.md: ALL DONE");
    let printed = claude(&[called, answered, result("Not yet.", false)]);
    let test = Loop::new().file("printed", &printed);
    let flags = ["--raw", "--until-output", "ALL DONE", "--max-iterations", "1"];
    test.run(play(&flags, "printed")).exits(125);
}

#[test]
fn f6_the_flag_listens_to_words_that_are_mapped() {
    let lines = |says: &str| format!("{{\"tool\":\"ALL DONE\"}}\n{{\"says\":{}}}\n", json!(says));
    let mapped = "[loop]\nagent = 'jsonl'\n[jsonl]\nmessage = 'says'\n";
    let figures = "[loop]\nagent = 'jsonl'\n[jsonl]\ncost_usd = 'price'\n";
    for (policy, says, exit) in
        [(mapped, "Not yet.", 125), (mapped, "ALL DONE", 0), (figures, "Not yet.", 0)]
    {
        let test = Loop::new().file("backstop.toml", policy).file("printed", &lines(says));
        let flags = ["--until-output", "ALL DONE", "--max-iterations", "1"];
        test.run(play(&flags, "printed")).exits(exit);
    }
}

#[test]
fn f6_a_prompt_that_holds_the_phrase_is_warned_of() {
    let test = Loop::new().file("PROMPT.md", "Say ALL DONE when you are.\n");
    let flags = ["run", "--until-output", "ALL DONE", "--stdin", "PROMPT.md", "--once", "--"];
    let ended = test.run(flags.into_iter().chain(["true"]));
    assert!(ended.stderr.contains("the prompt contains `ALL DONE` too"), "{}", ended.stderr);
}

#[test]
fn an_agent_that_says_that_it_failed_has_not_done_its_work() {
    let says = block(&json!({"type": "text", "text": PHRASE}), None);
    let stream = claude(&[says, result("API Error: 500 Internal server error", true)]);
    for exit in ["0", "1"] {
        let test = Loop::new().file("stream", &stream);
        let flags = ["--agent", "claude", "--until-output", PHRASE, "--max-iterations", "1"];
        let mut words = play(&flags, "stream");
        words.extend(["--exit", exit]);
        test.run(words).exits(125);
        assert_eq!(test.events("matched").len(), 1);
        let refused = test.events("noted");
        assert!(refused.iter().any(|note| note["what"] == "claim_refused"), "{refused:?}");
    }
    // What was proven counts, whatever the agent says.
    let test = Loop::new().file("stream", &stream);
    let flags = ["--agent", "claude", "--until-output", PHRASE, "--verify", "true"];
    test.run(play(&flags, "stream")).exits(0);
}
