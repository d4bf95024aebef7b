use backstop_core::event::{EventKind, Usage};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing::moment;

#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
fn input(fields: Value) -> HookInput {
    HookInput::read(fields.to_string().as_bytes()).unwrap()
}

fn told(agent: HookAgent, fields: Value) -> Vec<String> {
    input(fields).events(agent, &moment()).iter().map(in_words).collect()
}

fn in_words(event: &EventKind) -> String {
    match event {
        EventKind::Action(action) => format!(
            "{} {} => {}",
            action.kind,
            action.signature,
            action.result_signature.as_deref().unwrap_or("-")
        ),
        EventKind::Worker(worker) => {
            let retry_at = worker.retry_at.map(|at| at.to_string()).unwrap_or_default();
            format!("{:?} {retry_at}", worker.status)
        }
        EventKind::ErrorSeen(error) => format!("{:?} {}", error.category, error.message),
        other => other.type_name().to_owned(),
    }
}

#[rstest]
#[case(json!({"hook_event_name": "UserPromptSubmit", "prompt": "go on"}), &["person go on => -"])]
#[case(json!({"hook_event_name": "Stop", "last_assistant_message": "Done."}), &["message Done. => -"])]
#[case(json!({"hook_event_name": "Stop", "last_assistant_message": null}), &[])]
#[case(json!({"hook_event_name": "Stop", "last_assistant_message": " "}), &["empty  => -"])]
#[case(json!({"hook_event_name": "PreCompact", "trigger": "auto"}), &["compaction compaction => -"])]
#[case(
    json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"description": "list", "command": "ls"},
        "tool_response": {"stdout": "a", "stderr": "b", "interrupted": false}}),
    &["action Bash {\"command\":\"ls\",\"description\":\"list\"} => a\nb"]
)]
#[case(
    json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "/a"},
        "tool_response": {"durationMs": 7, "type": "text"}}),
    &["action Read {\"file_path\":\"/a\"} => {\"type\":\"text\"}"]
)]
#[case(
    json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "false"}, "error": "Exit code 1\nno"}),
    &["action Bash {\"command\":\"false\"} => Exit code 1\nno"]
)]
#[case(
    json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Read", "tool_input": {},
        "error": "no such file"}),
    &["action Read {} => failed\nno such file"]
)]
#[case(json!({"hook_event_name": "PostToolUse"}), &[])]
#[case(json!({"hook_event_name": "Notification", "message": "rate limit"}), &[])]
#[case(
    json!({"hook_event_name": "StopFailure", "error": "rate_limit",
        "last_assistant_message": "You've hit your session limit · resets 3:45am"}),
    &["RateLimited 2026-07-12T03:45:00Z"]
)]
#[case(
    json!({"hook_event_name": "StopFailure", "error": "rate_limit",
        "last_assistant_message": "Not now. Try again in 5 minutes"}),
    &["RateLimited 2026-07-12T00:05:00Z"]
)]
#[case(json!({"hook_event_name": "StopFailure", "error": "billing_error"}), &["Critical billing_error"])]
#[case(json!({"hook_event_name": "StopFailure", "error": 7}), &["Recoverable error"])]
fn what_claude_code_tells(#[case] fields: Value, #[case] expected: &[&str]) {
    assert_eq!(told(HookAgent::ClaudeCode, fields), expected);
}

#[test]
fn what_codex_tells() {
    let call = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": "a"});
    assert_eq!(told(HookAgent::Codex, call), ["action Bash: ls => a"]);
    let failed = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": {"output": "x", "metadata": {"exit_code": 2}}});
    assert_eq!(told(HookAgent::Codex, failed), ["action Bash: ls => exit status 2\nx"]);
}

#[rstest]
#[case(b"", HookInputError::Empty)]
#[case(b" \n", HookInputError::Empty)]
#[case(b"[1]", HookInputError::NotAnObject)]
#[case(b"{\"a\":", HookInputError::NotAnObject)]
#[case(b"{}", HookInputError::NoEvent)]
fn what_is_no_input_is_refused(#[case] bytes: &[u8], #[case] expected: HookInputError) {
    assert_eq!(HookInput::read(bytes), Err(expected));
}

#[test]
fn what_is_nested_deep_is_left_out_and_the_rest_read() {
    let deep = format!("{}\"]\\\"\"{}", "[{\"x\":".repeat(10_000), "}]".repeat(10_000));
    let text = format!(
        r#"{{"tool_input":{{"file_path":"/a","x":{deep}}},"hook_event_name":"PreToolUse","tool_name":"Write"}}"#
    );
    let input = HookInput::read(text.as_bytes()).unwrap();
    assert_eq!((input.event(), targets(&input)), (HookEvent::PreToolUse, vec!["/a"]));
}

#[rstest]
#[case(u16::to_le_bytes)]
#[case(u16::to_be_bytes)]
fn any_encoding_is_read(#[case] unit: fn(u16) -> [u8; 2]) {
    let text = "\u{feff}{\"hook_event_name\":\"Stop\",\"last_assistant_message\":\"é😀\"}";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
    assert_eq!(HookInput::read(&bytes).unwrap().last_message(), "é😀");
}

#[test]
fn half_characters_and_foreign_types_do_no_harm() {
    let text =
        br#"{"hook_event_name":"Stop","last_assistant_message":"cut \ud83d","cwd":7,"x":[]}"#;
    let input = HookInput::read(text).unwrap();
    assert_eq!(input.last_message(), "cut \u{fffd}");
    assert_eq!(input.cwd(), "");
    assert!(!input.was_sent_back() && !input.waits_for_others());
}

#[rstest]
#[case("Write", json!({"file_path": "/a/b"}), &["/a/b"])]
#[case("NotebookEdit", json!({"notebook_path": "n.ipynb"}), &["n.ipynb"])]
#[case("Bash", json!({"command": "rm x"}), &[])]
#[case("apply_patch", json!({"command": "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n\
    @@\n-x\n*** Add File: c d.rs\n+y\n*** Delete File: e\n*** End Patch"}),
    &["a.rs", "b.rs", "c d.rs", "e"])]
#[case("apply_patch", json!("*** Begin Patch\n*** Add File: a\n+x"), &["a"])]
#[case("apply_patch", json!({"command": ["apply_patch", "*** Begin Patch\n*** Update File: a.rs\n@@"]}),
    &["a.rs"])]
#[case("apply_patch", json!({"command": null, "input": "*** Add File: a\n+x"}), &["a"])]
#[case("apply_patch", json!({"command": [7, null]}), &[])]
#[case("Edit", json!({"file_path": 7}), &[])]
fn files_that_are_written(#[case] tool: &str, #[case] given: Value, #[case] expected: &[&str]) {
    let input =
        input(json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given}));
    assert_eq!(targets(&input), expected);
}

#[rstest]
#[case(Act::Nothing, HookEvent::Stop, None)]
#[case(Act::Deny("no".into()), HookEvent::PreToolUse, Some(r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#))]
#[case(Act::Halt("no".into()), HookEvent::PreToolUse, Some(r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#))]
#[case(Act::Halt("no".into()), HookEvent::UserPromptSubmit, Some(r#"{"decision":"block","reason":"no"}"#))]
#[case(Act::Halt("no".into()), HookEvent::PostToolUse, Some(r#"{"continue":false,"stopReason":"no"}"#))]
#[case(Act::Halt("no".into()), HookEvent::Stop, Some(r#"{"continue":false,"stopReason":"no"}"#))]
#[case(Act::SendBack("more".into()), HookEvent::Stop, Some(r#"{"decision":"block","reason":"more"}"#))]
#[case(Act::SendBack("more".into()), HookEvent::SessionEnd, None)]
#[case(Act::Halt("no".into()), HookEvent::SessionStart, Some(r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"no"}}"#))]
fn answers(#[case] act: Act, #[case] event: HookEvent, #[case] expected: Option<&str>) {
    assert_eq!(Answer::from(act).render(event).as_deref(), expected);
}

#[test]
fn a_long_reason_is_cut_before_the_agent_moves_it_to_a_file() {
    let line = Answer::from(Act::Halt("ä".repeat(20_000))).render(HookEvent::Stop).unwrap();
    assert!(line.chars().count() < 10_000);
}

/// One message in three records, as Claude Code writes it, then another one.
const SESSION: &str = r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"go"}}
{"type":"assistant","sessionId":"s","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":5}}}
{"type":"assistant","sessionId":"s","message":{"id":"m1","model":"claude-x","content":[],"usage":{"input_tokens":10,"output_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":5}}}
{"type":"assistant","sessionId":"s","message":{"id":"m1","model":"claude-x","content":[],"usage":{"input_tokens":10,"output_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":5}}}
{"type":"assistant","sessionId":"s","message":{"id":"m2","model":"claude-x","content":[],"usage":{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":120,"cache_creation_input_tokens":0}}}
"#;

const ROLLOUT: &str = r#"{"timestamp":"2026-02-23T10:00:00Z","type":"session_meta","payload":{"id":"t"}}
{"timestamp":"2026-02-23T10:00:01Z","type":"turn_context","payload":{"model":"gpt-5"}}
{"timestamp":"2026-02-23T10:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":5},"last_token_usage":{"total_tokens":105},"model_context_window":1000}}}
{"timestamp":"2026-02-23T10:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":300,"cached_input_tokens":140,"output_tokens":9},"last_token_usage":{"total_tokens":204},"model_context_window":1000}}}
"#;

/// Reads a file in pieces, each by a hook of its own, and adds up what was told.
fn in_pieces(agent: HookAgent, text: &str, ends: &[usize]) -> (Usage, Option<(u64, u64)>) {
    let (mut state, mut sum, mut context) = (Transcript::default(), Usage::default(), None);
    for end in ends.iter().copied().chain([text.len()]) {
        let stored = serde_json::to_string(&state).unwrap();
        state = serde_json::from_str(&stored).unwrap();
        let from = usize::try_from(state.offset).unwrap();
        let mut reader = TranscriptReader::new(agent, state, "", &moment());
        reader.push(&text.as_bytes()[from..end.max(from)]);
        let (next, events) = reader.finish();
        state = next;
        for event in events {
            match event {
                EventKind::Usage(more) => {
                    sum.input_tokens += more.input_tokens;
                    sum.output_tokens += more.output_tokens;
                    sum.cache_read_tokens += more.cache_read_tokens;
                    sum.cache_write_tokens += more.cache_write_tokens;
                }
                EventKind::Context(now) => context = Some((now.used, now.limit)),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(state.offset, text.len() as u64);
    (sum, context)
}

/// A message whose record a few bytes make unreadable, or that stands behind one that was cut off.
#[rstest]
#[case::half_a_character(r#""text":"a""#, r#""text":"\ud83d""#)]
#[case::behind_a_cut_one(
    r#"{"type":"assistant""#,
    r#"{"type":"user","message":{"rol{"type":"assistant""#
)]
fn what_is_read_of_a_broken_record_is_counted_once(#[case] sound: &str, #[case] broken: &str) {
    let lines: Vec<&str> = SESSION.lines().collect();
    let text = format!("{}\n{}\n", lines[2].replace(sound, broken), lines[3]);
    let text = text.replace(r#""content":[]"#, r#""content":[{"type":"text","text":"a"}]"#);
    let text = text.replacen(sound, broken, 1);
    let end = text.find('\n').unwrap() + 1;
    let (usage, _) = in_pieces(HookAgent::ClaudeCode, &text, &[end]);
    let all = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens];
    assert_eq!(all, [10, 7, 100], "{text}");
}

proptest! {
    #[test]
    fn tokens_are_counted_once_wherever_hooks_come(
        ends in proptest::collection::vec(0..SESSION.len(), 0..6),
        other in proptest::collection::vec(0..ROLLOUT.len(), 0..6),
    ) {
        let sorted = |mut ends: Vec<usize>| { ends.sort_unstable(); ends };
        let (usage, context) = in_pieces(HookAgent::ClaudeCode, SESSION, &sorted(ends));
        // 10 + 3, 7 + 2, 100 + 120 and 5 tokens; the last message took in 3 + 120.
        let all = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens];
        prop_assert_eq!(all, [13, 9, 220]);
        prop_assert_eq!(usage.cache_write_tokens, 5);
        prop_assert_eq!(context, Some((123, 200_000)));
        let (usage, context) = in_pieces(HookAgent::Codex, ROLLOUT, &sorted(other));
        let all = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens];
        prop_assert_eq!(all, [160, 9, 140]);
        prop_assert_eq!(context, Some((204, 1000)));
    }

    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in ".*") {
        if let Ok(input) = HookInput::read(&bytes) {
            input.events(HookAgent::ClaudeCode, &moment());
        }
        let fields = json!({"hook_event_name": "PostToolUse", "tool_name": text,
            "tool_input": {"command": text}, "tool_response": text});
        for agent in HookAgent::ALL {
            input(fields.clone()).events(agent, &moment());
            let mut reader = TranscriptReader::new(agent, Transcript::default(), &text, &moment());
            reader.push(&bytes);
            reader.push(b"\n{\"usage\":1}\n");
            reader.finish();
        }
    }
}
