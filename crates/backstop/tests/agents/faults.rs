//! What an agent says of a failure decides what becomes of the run; what it quotes decides nothing.

use serde_json::{Value as Json, json};

use crate::support::looping::Loop;
use crate::{MISBEHAVE, call, claude, message, play, result};

/// What becomes of a run whose agent fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Becomes {
    /// It is waited for; here the wait is too long, so the run is held.
    Waits,
    /// It is tried again: transient, or recoverable.
    GoesOn(&'static str),
    /// It is over.
    Fails,
}
use Becomes::{Fails, GoesOn, Waits};

const TRANSIENT: Becomes = GoesOn("transient");
const RECOVERABLE: Becomes = GoesOn("recoverable");

/// Runs an agent that prints this and exits so.
#[track_caller]
fn check(agent: &str, stdout: &str, stderr: &str, exit: u8, becomes: Becomes) -> Loop {
    // What would be waited for comes to its wait; everything else ends with its first iteration.
    let iterations = if becomes == Waits { 2 } else { 1 };
    let policy = format!("[limits]\niterations = {iterations}\n[wait]\nmax_per_wait = '500ms'\n");
    let test = Loop::new().file("out", stdout).file("err", stderr).file("p.toml", &policy);
    let script = format!("cat err >&2; exec {MISBEHAVE} play out --exit {exit}");
    let test = test.script("agent.sh", &script);
    let flags = ["run", "--policy", "p.toml", "--agent", agent];
    let ended = test.run([&flags[..], &["--", "./agent.sh"]].concat());
    let story = format!("{agent}: {stdout}{stderr}: {}", ended.stderr);
    let (code, status) = match becomes {
        Waits => (33, "held"),
        GoesOn(_) => (125, "stopped"),
        Fails => (13, "failed"),
    };
    assert_eq!(ended.code, Some(code), "{story}");
    let state = test.state();
    assert_eq!(state["run_status"], status, "{story}");
    assert_eq!(state["facts"]["iterations"], 1, "{story}");
    let (errors, limits) = (test.events("error"), test.events("worker"));
    match becomes {
        Waits => {
            assert_eq!(limits.len(), 1, "{story}");
            assert_eq!(limits[0]["status"], "rate_limited", "{story}");
            assert_eq!(errors, Vec::<Json>::new(), "{story}");
            assert_eq!(state["facts"]["consecutive_errors"], 0, "{story}");
            assert_eq!(state["facts"]["errored"], 0, "{story}");
        }
        GoesOn(category) => {
            assert_eq!(errors.len(), 1, "{story}\n{errors:?}");
            assert_eq!(errors[0]["category"], category, "{story}\n{errors:?}");
            assert_eq!(state["facts"]["consecutive_errors"], 1, "{story}");
            assert_eq!(limits, Vec::<Json>::new(), "{story}");
        }
        Fails => {
            assert_eq!(errors[0]["category"], "critical", "{story}");
            assert_eq!(state["stop_reason"]["code"], "critical_failure", "{story}");
            assert_eq!(limits, Vec::<Json>::new(), "{story}");
        }
    }
    test
}

#[test]
fn the_last_record_of_an_agent_that_died_is_not_its_error() {
    let words = message(&json!([{"type": "text", "text": "I look at it."}]));
    for (stderr, told) in [("", "exit status 3"), ("no such key\n", "exit status 3: no such key")] {
        let test = check("auto", &claude(std::slice::from_ref(&words)), stderr, 3, RECOVERABLE);
        assert_eq!(test.events("error")[0]["message"], told);
    }
}

#[test]
fn failures_of_claude() {
    for (says, becomes) in [
        ("5-hour limit reached ∙ resets 12am", Waits),
        ("You've hit your session limit · resets 3:45pm", Waits),
        ("API Error: Request rejected (429) · try later", Waits),
        ("API Error: Repeated 529 Overloaded errors.", TRANSIENT),
        ("API Error: Server is temporarily limiting requests (not your usage limit)", TRANSIENT),
        ("API Error: 500 Internal server error", TRANSIENT),
        ("API Error: Claude's response exceeded the 32000 output token maximum.", RECOVERABLE),
        ("Prompt is too long", RECOVERABLE),
        ("Credit balance is too low", Fails),
        ("Invalid API key · Fix external API key", Fails),
        ("spend limit reached (daily; resets 2099-08-09 00:00 UTC)", Fails),
    ] {
        // A failure that calls itself a success, with either exit status.
        for exit in [0, 1] {
            check("auto", &claude(&[result(says, true)]), "", exit, becomes);
        }
    }
}

#[test]
fn failures_of_claude_in_other_places() {
    let mut shown = message(&json!([{"type": "text", "text": "Credit balance is too low"}]));
    shown["message"]["model"] = json!("<synthetic>");
    check("auto", &claude(&[shown]), "", 1, Fails);
    let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#;
    check("claude", &format!("{body}\n"), "", 1, Fails);
    check("claude", "Invalid API key · Please run /login\n", "", 1, Fails);
    check("claude", "", "Error: connect ECONNREFUSED 127.0.0.1:443\n", 1, TRANSIENT);
    let turns = json!({"type": "result", "subtype": "error_max_turns", "is_error": false,
        "num_turns": 26, "errors": [], "total_cost_usd": 1.0,
        "usage": {"input_tokens": 10, "output_tokens": 5}});
    check("auto", &claude(&[turns]), "", 0, RECOVERABLE);
    let retries = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
        "retry_delay_ms": 500, "error_status": 529, "error": "overloaded"});
    let stream = claude(&[retries, result("It went well.", false)]);
    let test = Loop::new().file("stream", &stream);
    test.run(play(&["--once"], "stream")).exits(0);
    assert_eq!(test.events("error"), Vec::<Json>::new(), "it came over it by itself");
}

/// A turn of Codex that fails with this message.
fn codex(message: &str) -> String {
    let error = json!({"type": "error", "message": message});
    let failed = json!({"type": "turn.failed", "error": {"message": message}});
    let begins = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    format!("{begins}{error}\n{failed}\n")
}

#[test]
fn failures_of_codex() {
    let wrapped = r#"{"type":"error","status":400,"error":{"type":"invalid_request_error","message":"no such thing"}}"#;
    for (says, becomes) in [
        ("You've hit your usage limit. Upgrade to Pro or try again at 2:54 AM.", Waits),
        ("Your workspace is out of credits.", Fails),
        ("Quota exceeded. Check your plan and billing details.", Fails),
        ("unexpected status 401 Unauthorized", Fails),
        ("Selected model is at capacity. Please try a different model.", TRANSIENT),
        ("stream disconnected before completion: idle", TRANSIENT),
        ("shared rollout token budget exhausted", RECOVERABLE),
        (wrapped, RECOVERABLE),
        ("something else", RECOVERABLE),
    ] {
        check("auto", &codex(says), "", 1, becomes);
    }
}

#[test]
fn failures_of_gemini() {
    let stream = |error: Json| {
        let begins = json!({"type": "init", "timestamp": "2026-05-04T10:00:00Z", "session_id": "s",
            "model": "gemini-sample"});
        let ends = json!({"type": "result", "timestamp": "2026-05-04T10:00:01Z", "status": "error",
            "error": error, "stats": {"total_tokens": 0}});
        format!("{begins}\n{ends}\n")
    };
    for (kind, says, becomes) in [
        ("ApiError", "got status: RESOURCE_EXHAUSTED. Please retry in 30.5s.", Waits),
        ("ApiError", "The model is overloaded. Please try again later.", TRANSIENT),
        ("FatalAuthenticationError", "API key not valid. Please pass a valid API key.", Fails),
        ("Error", "something else", RECOVERABLE),
    ] {
        check("auto", &stream(json!({"type": kind, "message": says})), "", 1, becomes);
    }
    // It gives up, and calls that a success.
    let begins = r#"{"type":"init","timestamp":"2026-05-04T10:00:00Z","session_id":"s","model":"gemini-sample"}"#;
    let gives_up = r#"{"type":"error","timestamp":"2026-05-04T10:00:01Z","severity":"error","message":"Maximum session turns exceeded"}"#;
    let ends = r#"{"type":"result","timestamp":"2026-05-04T10:00:02Z","status":"success","stats":{"total_tokens":5,"input_tokens":4,"output_tokens":1}}"#;
    check("auto", &format!("{begins}\n{gives_up}\n{ends}\n"), "", 0, RECOVERABLE);
    // Only its exit status tells.
    check("gemini", "", "", 41, Fails);
    check("gemini", "", "", 53, RECOVERABLE);
}

#[test]
fn failures_of_opencode() {
    let error = |name: &str, message: &str, status: u16| {
        let data = json!({"message": message, "statusCode": status, "isRetryable": status == 529});
        let error = json!({"name": name, "data": data});
        format!("{}\n", json!({"type": "error", "timestamp": 1, "sessionID": "s", "error": error}))
    };
    for (name, says, status, becomes) in [
        ("APIError", "Too Many Requests", 429, Waits),
        ("APIError", "Overloaded", 529, TRANSIENT),
        ("APIError", "Bad Gateway", 502, TRANSIENT),
        ("ProviderAuthError", "no key", 401, Fails),
        ("APIError", "Payment Required", 402, Fails),
        ("UnknownError", "something else", 0, RECOVERABLE),
    ] {
        for exit in [0, 1] {
            check("auto", &error(name, says, status), "", exit, becomes);
        }
    }
}

#[test]
fn failures_of_aider() {
    for (says, becomes) in [
        ("litellm.RateLimitError: AnthropicException - slow down", Waits),
        ("litellm.APIConnectionError: OpenAIException - Connection error.", TRANSIENT),
        ("litellm.ServiceUnavailableError: x", TRANSIENT),
        ("litellm.AuthenticationError: AnthropicException - invalid x-api-key", Fails),
        ("litellm.BadRequestError: OpenAIException - x", RECOVERABLE),
    ] {
        let text = format!("Aider v0.86.1\nMain model: sample with diff edit format\n{says}\n");
        check("aider", &text, "", 0, becomes);
    }
    let text = "Aider v0.86.1\nlitellm.APIConnectionError: x\nRetrying in 0.2 seconds...\n\
                Here it is.\nTokens: 2.4k sent, 91 received. Cost: $0.01 message, $0.01 session.\n";
    let test = Loop::new().file("stream", text);
    test.run(play(&["--once", "--agent", "aider"], "stream")).exits(0);
    assert_eq!(test.events("error"), Vec::<Json>::new(), "the second attempt went well");
    assert_eq!(test.state()["facts"]["tokens"], 2491);
}

/// Texts that mean much where an agent tells of its failures.
const ALARMING: &str = "5-hour limit reached ∙ resets 12am\nCredit balance is too low\n\
    API Error: 529 Overloaded\nlitellm.RateLimitError: x\nInvalid API key · Please run /login\n\
    You've hit your usage limit. Try again at 2:54 AM.\nPrompt is too long\n";

/// A run of what merely quotes such texts is a success without any error.
#[track_caller]
fn is_calm(agent: &str, stream: &str) {
    let test = Loop::new().file("stream", stream);
    test.run(play(&["--once", "--agent", agent], "stream")).exits(0);
    for kind in ["error", "worker"] {
        assert_eq!(test.events(kind), Vec::<Json>::new(), "{agent}: {stream}");
    }
    assert_eq!(test.state()["facts"]["consecutive_errors"], 0);
}

#[test]
fn f8_texts_that_an_agent_reads_or_writes_are_no_limit() {
    let [asks, answers] = call("cat errors.md", ALARMING);
    let mut fails = answers.clone();
    fails["message"]["content"][0]["is_error"] = json!(true);
    let says = message(&json!([{"type": "text", "text": ALARMING}]));
    let prompt = json!({"type": "user", "message": {"role": "user", "content": ALARMING}});
    let end = result("I have written the page about limits.", false);
    is_calm("auto", &claude(&[prompt, asks.clone(), answers, says, end.clone()]));
    is_calm("auto", &claude(&[asks, fails, end]));
    // Even its own result, as long as it does not call itself an error.
    is_calm("auto", &claude(&[result(ALARMING, false)]));

    let item = |item: Json| json!({"type": "item.completed", "item": item}).to_string();
    let stream = [
        r#"{"type":"thread.started","thread_id":"t"}"#.to_owned(),
        r#"{"type":"turn.started"}"#.to_owned(),
        item(json!({"id": "1", "type": "command_execution", "command": "cat errors.md",
            "aggregated_output": ALARMING, "exit_code": 1, "status": "failed"})),
        item(json!({"id": "2", "type": "agent_message", "text": ALARMING})),
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"output_tokens":1}}"#.to_owned(),
    ];
    is_calm("auto", &(stream.join("\n") + "\n"));

    let stream = [
        json!({"type": "init", "timestamp": "2026-05-04T10:00:00Z", "session_id": "s", "model": "g"}),
        json!({"type": "tool_use", "timestamp": "2026-05-04T10:00:01Z", "tool_name": "read_file",
            "tool_id": "t", "parameters": {"path": "errors.md"}}),
        json!({"type": "tool_result", "timestamp": "2026-05-04T10:00:01Z", "tool_id": "t",
            "status": "error", "output": ALARMING, "error": {"type": "x", "message": ALARMING}}),
        json!({"type": "message", "timestamp": "2026-05-04T10:00:02Z", "role": "assistant",
            "content": ALARMING}),
        json!({"type": "result", "timestamp": "2026-05-04T10:00:03Z", "status": "success",
            "stats": {"total_tokens": 10, "input_tokens": 9, "output_tokens": 1}}),
    ];
    is_calm("auto", &stream.map(|record| format!("{record}\n")).concat());

    let tool = json!({"tool": "bash", "callID": "c", "state": {"status": "error",
        "input": {"command": "cat errors.md"}, "error": ALARMING, "metadata": {"exit": 1}}});
    let stream = [
        json!({"type": "step_start", "timestamp": 1, "sessionID": "s", "part": {}}),
        json!({"type": "tool_use", "timestamp": 2, "sessionID": "s", "part": tool}),
        json!({"type": "text", "timestamp": 3, "sessionID": "s", "part": {"text": ALARMING}}),
        json!({"type": "step_finish", "timestamp": 4, "sessionID": "s", "part": {"reason": "stop",
            "cost": 0.1, "tokens": {"input": 9, "output": 1}}}),
    ];
    is_calm("auto", &stream.map(|record| format!("{record}\n")).concat());

    // A program that is no agent may print what it likes.
    is_calm("auto", ALARMING);
    is_calm("generic", ALARMING);
}

#[test]
fn f20_an_outage_in_a_tools_output_is_no_error_of_the_agent() {
    let outage = "curl: (22) The requested URL returned error: 529 Overloaded";
    let policy =
        "[limits]\niterations = 3\n[[rule]]\nwhen = { type = 'on_error' }\nthen = 'stop'\n";
    let [asks, mut answers] = call("./deploy.sh", outage);
    answers["message"]["content"][0]["is_error"] = json!(true);
    let stream = claude(&[asks, answers, result("The service is down; I wrote it down.", false)]);
    let test = Loop::new().file("stream", &stream).file("p.toml", policy);
    test.run(play(&["--policy", "p.toml", "--once"], "stream")).exits(0);
    assert_eq!(test.events("error"), Vec::<Json>::new());
    // On the agent's own channel it is one, of the kind that may pass.
    let stream = claude(&[result("API Error: Repeated 529 Overloaded errors.", true)]);
    let test = test.file("stream", &stream);
    test.run(play(&["--policy", "p.toml"], "stream")).exits(12);
    assert_eq!(test.state()["facts"]["last_error"]["category"], "transient");
}

#[test]
fn f31_a_permanent_failure_is_not_tried_again() {
    for says in ["Credit balance is too low", "Invalid API key", "You hit your spend cap set by x"]
    {
        let test = Loop::new().file("stream", &claude(&[result(says, true)]));
        let ended = test.run(play(&["--max-iterations", "50"], "stream")).exits(13);
        assert_eq!(test.events("iteration_started").len(), 1, "{says}");
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    let test = Loop::new();
    test.run(["run", "--max-iterations", "50", "--", "./claude", "-p", "x"]).exits(31);
    assert_eq!(test.state()["stop_reason"]["code"], "worker_failed");
    assert_eq!(test.events("iteration_started").len(), 1);
    // A wrapper that does not find it says so with its exit status.
    let test = Loop::new().script("wrapper", "PATH=/nowhere\nclaude -p x\n");
    let ended = test.run(["run", "--max-iterations", "50", "--", "./wrapper"]).exits(13);
    assert!(ended.stderr.contains("claude"), "{}", ended.stderr);
    assert_eq!(test.events("iteration_started").len(), 1);
}

#[test]
fn a_card_tells_an_error_once_and_what_helps() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for error in ["No such host. Is it up?", "It broke. See the log.", "It broke."] {
        let test = Loop::new().script("fails.sh", &format!("echo '{error}' >&2; exit 3"));
        let ended = test.run(["run", "--", "./fails.sh"]).exits(12);
        let card = words(ended.stderr.split("■").nth(1).expect("a card"));
        assert_eq!(card.matches(error).count(), 1, "{card}");
        assert!(card.contains("If it is harmless, give `on_error` a `pattern`"), "{card}");
        assert!(!card.contains("backstop.toml") && card.contains("--preset ralph"), "{card}");
        test.run(["replay", "latest", "--preset", "ralph"]).exits(0);
    }
    // What counts as transient need not be listed as that.
    let policy = "preset = 'default'\n[errors]\ntransient = ['flaky']\n\
                  [[rule]]\nwhen = { type = 'consecutive_errors', count = 1 }\nthen = 'stop'\n";
    let test = Loop::new().file("p.toml", policy).script("fails.sh", "echo flaky >&2; exit 3");
    test.run(["run", "--policy", "p.toml", "--", "./fails.sh"]).exits(12);
    let diagnosis = test.state()["stop_reason"]["diagnosis"].to_string();
    assert!(diagnosis.contains("It counts as transient"), "{diagnosis}");
    assert!(!diagnosis.contains("[errors] transient"), "{diagnosis}");
}

#[test]
fn a_time_out_is_told_by_its_name_and_not_by_how_often_it_came() {
    let test = Loop::new();
    let flags = ["run", "--iteration-timeout", "100ms", "--grace", "100ms", "--", "sleep", "300"];
    test.run(flags).exits(32);
    let diagnosis = test.state()["stop_reason"]["diagnosis"].to_string();
    assert!(diagnosis.contains("did not end within its time-out"), "{diagnosis}");
}

#[test]
fn a_full_context_is_met_by_fresh_starts_until_there_are_too_many() {
    let full = claude(&[result("Prompt is too long", true)]);
    let test = Loop::new().file("stream", &full);
    let ended = test.run(play(&[], "stream")).exits(129);
    assert!(!ended.stderr.contains("will stop"), "it did not: {}", ended.stderr);
    assert_eq!(test.events("recovered").len(), 3);
    assert_eq!(test.state()["stop_reason"]["code"], "context_overflow");
    let card = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(card.contains("`[recover] context_max`") && !card.contains("at_least"), "{card}");
    // One that fits in afterwards goes on.
    let script = format!(
        "[ -n \"$BACKSTOP_HANDOFF\" ] || exec {MISBEHAVE} play full\nexec {MISBEHAVE} play fine"
    );
    let test = Loop::new()
        .file("full", &full)
        .file("fine", &claude(&[result("Done.", false)]))
        .script("agent.sh", &script);
    test.run(["run", "--until-success", "--", "./agent.sh"]).exits(0);
    assert_eq!(test.events("recovered")[0]["kind"], "context");
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

/// What it prints may go elsewhere; then its exit status stands for itself.
#[test]
fn an_agent_fails_by_its_silence_only_where_it_had_to_be_heard() {
    let silent = ["./claude", "-p", "x"];
    let asked = [&silent[..], &["--output-format", "json"]].concat();
    let elsewhere = ["sh", "-c", "./claude -p x --output-format stream-json > log 2>&1"];
    for (flags, command, code) in [
        (&[][..], &silent[..], 0),
        (&[], &elsewhere, 0),
        (&[], &asked, 31),
        (&[], &["sh", "-c", "./claude -p x --output-format json"], 31),
        (&["--agent", "claude"], &silent, 31),
    ] {
        let test = Loop::new().script("claude", "exit 0");
        let ended = test.run([&["run", "--once"], flags, &["--"], command].concat());
        assert_eq!(ended.code, Some(code), "{command:?}: {}", ended.stderr);
    }
}
