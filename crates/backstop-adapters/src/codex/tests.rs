use rstest::rstest;

use super::*;
use crate::Heard;
use crate::testing::{FAILED, moment, read, told};

fn codex(stream: &str) -> Vec<String> {
    told(&mut Codex::default(), stream)
}

#[test]
fn a_total_is_not_added_twice() {
    let stream = r#"
{"type":"thread.started","thread_id":"t"}
{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":600,"cache_write_input_tokens":100,"output_tokens":50,"reasoning_output_tokens":20}}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":1500,"cached_input_tokens":1000,"cache_write_input_tokens":100,"output_tokens":70}}
{"type":"thread.started","thread_id":"t"}
{"type":"turn.completed","usage":{"input_tokens":1600,"cached_input_tokens":1000,"cache_write_input_tokens":100,"output_tokens":80}}
{"type":"thread.started","thread_id":"another"}
{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":1900,"output_tokens":90}}
"#;
    let usage: Vec<String> =
        codex(stream).into_iter().filter(|told| told.starts_with("usage")).collect();
    assert_eq!(
        usage,
        ["usage 300 50 600 100", "usage 100 20 400 0", "usage 100 10 0 0", "usage 100 90 1900 0"]
    );
}

#[test]
fn a_thread_that_goes_on_after_its_end_is_another_launch() {
    let stream = r#"
{"type":"thread.started","thread_id":"t"}
{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":1}}
{"type":"thread.started","thread_id":"u"}
{"type":"turn.completed","usage":{"input_tokens":30,"output_tokens":3}}
{"type":"thread.started","thread_id":"t"}
{"type":"turn.completed","usage":{"input_tokens":15,"output_tokens":3}}
{"type":"thread.started","thread_id":"t"}
{"type":"thread.started","thread_id":"t"}
{"type":"turn.failed","error":{"message":"no"}}
"#;
    assert_eq!(
        codex(stream),
        [
            "usage 10 1 0 0",
            "empty ",
            "ended Succeeded",
            "launched",
            "usage 30 3 0 0",
            "empty ",
            "ended Succeeded",
            "launched",
            "usage 5 2 0 0",
            "empty ",
            "ended Succeeded",
            "launched",
            "fault Other: no",
            "ended Failed",
        ]
    );
}

#[test]
fn an_error_that_is_told_twice_is_one() {
    let stream = r#"
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"error","message":"You've hit your usage limit. Try again at 2:54 AM."}
{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 2:54 AM."}}
"#;
    assert_eq!(
        codex(stream),
        [
            "notice Reconnecting... 1/5",
            "fault RateLimited: You've hit your usage limit. Try again at 2:54 AM. until 2026-07-12T02:54:00Z",
            "ended Failed",
        ]
    );
}

#[test]
fn a_message_may_be_the_answer_of_the_provider() {
    let message = r#"{\"type\":\"error\",\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Unsupported parameter\"}}"#;
    let stream = format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    assert_eq!(codex(&stream), ["fault InvalidRequest: Unsupported parameter", "ended Failed"]);
}

#[test]
fn items_are_told_once_and_warnings_are_no_failures() {
    let stream = r#"
{"type":"item.started","item":{"id":"1","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.updated","item":{"id":"1","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","aggregated_output":"no","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"id":"2","type":"file_change","changes":[{"path":"a","kind":"add"},{"path":"b","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"3","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"b":1,"a":2},"error":{"message":"late"},"status":"failed"}}
{"type":"item.completed","item":{"id":"4","type":"web_search","query":"q"}}
{"type":"item.completed","item":{"id":"5","type":"error","message":"model rerouted"}}
{"type":"item.completed","item":{"id":"6","type":"todo_list","items":[{"text":"x","completed":true},{"text":"y","completed":false}]}}
{"type":"item.completed","item":{"id":"7","type":"agent_message","text":"Done."}}
{"type":"item.started","item":{"id":"8","type":"command_execution","command":"sleep 9","status":"in_progress"}}
{"type":"turn.completed","usage":{}}
"#;
    let mut told = codex(stream);
    // What stands behind the files is a name for what the change is of them.
    let (change, name) = told[1].split_once('\n').expect("a change has a name");
    assert!(name.starts_with('#') && name.ends_with(" => "), "{name}");
    told[1] = change.to_owned();
    assert_eq!(
        told,
        [
            "action shell: ls => exit status 2\nno",
            "action file_change: add a, update b",
            "action s.t: {\"a\":2,\"b\":1} => failed\nlate",
            "action web_search: q => ",
            "notice model rerouted",
            "tasks 1 of 2",
            "said Done.",
            "result Done.",
            "ended Succeeded",
            "action shell: sleep 9",
        ]
    );
}

/// The stream does not tell what was written, so nobody can say that it was the same.
#[test]
fn every_change_of_a_file_is_another_one() {
    let change = r#"{"type":"item.completed","item":{"id":"item_0","type":"file_change","changes":[{"path":"a","kind":"update"}],"status":"completed"}}"#;
    let (one, two) =
        (r#"{"type":"thread.started","thread_id":"t"}"#, change.replace("item_0", "item_1"));
    let other = one.replace(r#""t""#, r#""u""#);
    let said =
        r#"{"type":"item.completed","item":{"id":"item_9","type":"agent_message","text":"Next."}}"#;
    let told = codex(&[one, change, &two, &other, change, one, said, change, change].join("\n"));
    let mut changes: Vec<_> = told.iter().filter(|told| told.starts_with("action")).collect();
    assert_eq!(changes.len(), 5);
    changes.sort();
    changes.dedup();
    assert_eq!(changes.len(), 4, "what has the same name in all is the same: {changes:?}");
}

#[test]
fn messages_of_a_turn_between_which_nothing_is_done_are_steps() {
    let item = |id: usize, rest: &str| {
        format!(r#"{{"type":"item.completed","item":{{"id":"{id}",{rest}}}}}"#)
    };
    let said = |id| item(id, &format!(r#""type":"agent_message","text":"word {id}""#));
    let done = r#"{"type":"turn.completed","usage":{}}"#.to_owned();
    let call = item(5, r#""type":"command_execution","command":"ls","exit_code":0"#);
    let thought = item(6, r#""type":"reasoning","text":"hm""#);
    let messages = |stream: &[String]| {
        let told = codex(&stream.join("\n"));
        told.into_iter().filter(|told| told.starts_with("message")).collect::<Vec<_>>()
    };
    let monologue = [said(1), said(2), thought, said(3), done.clone()];
    assert_eq!(messages(&monologue), ["message word 1", "message word 2", "message word 3"]);
    // What is said with a call belongs to it, and the last words are the result.
    let at_work = [said(1), call, said(2), done.clone(), said(3), done];
    assert_eq!(messages(&at_work), Vec::<String>::new());
}

#[test]
fn session_files_tell_totals_context_and_quotas() {
    let stream = r#"
{"timestamp":"2026-02-23T19:34:26.098Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-02-23T19:34:26.099Z","type":"turn_context","payload":{"model":"m"}}
{"timestamp":"2026-02-23T19:34:27Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}}
{"timestamp":"2026-02-23T19:34:27Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"a\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"2026-02-23T19:34:28Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2,"total_tokens":12},"last_token_usage":{"total_tokens":12},"model_context_window":100},"rate_limits":{"primary":{"used_percent":50,"window_minutes":300}}}}
{"timestamp":"2026-02-23T19:34:29Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2,"total_tokens":12},"last_token_usage":{"total_tokens":12},"model_context_window":100},"rate_limits":null}}
{"timestamp":"2026-02-23T19:34:29Z","type":"compacted","payload":{}}
{"timestamp":"2026-02-23T19:34:30Z","type":"event_msg","payload":{"type":"error","message":"boom","codex_error_info":"server_overloaded"}}
{"timestamp":"2026-02-23T19:34:30Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":null,"error":{"message":"boom","codex_error_info":"server_overloaded"}}}
"#;
    assert_eq!(
        codex(stream),
        [
            "action shell: ls => a",
            "usage 6 2 4 0 m",
            "context 12 of 100",
            "quota 5h 0.5",
            "context 12 of 100",
            "compaction compaction",
            "notice the context was compacted",
            "fault Overloaded: boom",
            "ended Failed",
        ]
    );
}

#[test]
fn a_turn_without_a_word_after_an_error_has_failed() {
    let stream = r#"
{"timestamp":"2026-02-23T19:34:26Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-02-23T19:34:26Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-02-23T19:34:27Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":100.0,"window_minutes":300,"resets_at":4102444800}}}}
{"timestamp":"2026-02-23T19:34:28Z","type":"event_msg","payload":{"type":"error","message":"no more for now","codex_error_info":"usage_limit_exceeded"}}
{"timestamp":"2026-02-23T19:34:28Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":null}}
{"timestamp":"2026-02-23T19:35:00Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-02-23T19:35:01Z","type":"event_msg","payload":{"type":"error","message":"gone","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":429}}}}
{"timestamp":"2026-02-23T19:35:02Z","type":"event_msg","payload":{"type":"agent_message","message":"It went well."}}
{"timestamp":"2026-02-23T19:35:02Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":"It went well."}}
"#;
    let told = codex(stream);
    let faults: Vec<_> = told.iter().filter(|line| line.starts_with("fault")).collect();
    assert_eq!(
        faults,
        [
            "fault RateLimited: no more for now until 2100-01-01T00:00:00Z",
            "fault RateLimited: gone until 2100-01-01T00:00:00Z",
        ]
    );
    let ends: Vec<_> = told.iter().filter(|line| line.starts_with("ended")).collect();
    assert_eq!(ends, ["ended Failed", "ended Succeeded"]);
}

const TEXT: &str = "\
[2025-08-31T12:37:08] OpenAI Codex v0.27.0 (research preview)
--------
model: o4-mini
--------
[2025-08-31T12:37:08] User instructions:
tokens used
99
[2025-08-31T12:37:33] exec bash -lc 'git remote -v' in /home
[2025-08-31T12:37:34] bash -lc 'git remote -v' exited 1 in 162ms:
{
  \"type\": \"turn.failed\"
}
[2025-08-31T12:37:35] tool time.now({\"zone\":\"UTC\"})
[2025-08-31T12:37:35] time.now({\"zone\":\"UTC\"}) success in 2ms:
noon
[2025-08-31T12:37:36] tokens used: 14582
[2025-08-31T12:37:50] codex

It is noon.
[2025-08-31T12:37:51] tokens used: 1,368
";

#[test]
fn text_is_read_block_by_block_and_json_in_it_is_text() {
    let (told, outcome) = read(&mut Codex::default(), TEXT.as_bytes(), None);
    assert_eq!(
        told,
        [
            "action shell: bash -lc 'git remote -v' => exit status 1\n{\n  \"type\": \"turn.failed\"\n}\n",
            "action time.now: {\"zone\":\"UTC\"} => noon\n",
            "usage 14582 0 0 0 o4-mini",
            "said It is noon.",
            "usage 1368 0 0 0 o4-mini",
            "result It is noon.",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

/// Nothing of what comes between the head and the end of a call may be lost or go to another one.
#[test]
fn calls_are_told_by_their_words_whatever_they_look_like() {
    let text = "\
[2025-09-10T12:00:00] OpenAI Codex v0.34.0 (research preview)
--------
model: gpt-5
--------
[2025-09-10T12:00:06] exec bash -lc 'make all' in /w
[2025-09-10T12:00:06] exec bash -lc \"cat <<'E'
in the middle
E\" in /a folder
[2025-09-10T12:00:07] bash -lc \"cat <<'E'
in the middle
E\" succeeded in 12ms:
second
[2025-09-10T12:01:21] bash -lc 'make all' exited 2 in 1m15s:
first
[2025-09-10T12:01:22] tokens used: 10,000
[2025-09-10T12:01:25] apply_patch auto_approved=true:
M /w/a.rs
+y
[2025-09-10T12:01:25] apply_patch(auto_approved=true) exited 0 in 3ms:
Success.
[2025-09-10T12:01:26] nobody began this exited 1 in 2m 03s:
lost
[2025-09-10T12:01:31] tokens used: 12,500
[2025-09-10T12:01:32] ERROR: You've hit your usage limit. Try again in 3 hours 12 minutes.
";
    assert_eq!(
        codex(text),
        [
            "action shell: bash -lc \"cat <<'E'\nin the middle\nE\" => second\n",
            "action shell: bash -lc 'make all' => exit status 2\nfirst\n",
            "usage 10000 0 0 0 gpt-5",
            "action apply_patch: M /w/a.rs\nM /w/a.rs\n+y\n => Success.\n",
            "usage 2500 0 0 0 gpt-5",
            "fault RateLimited: You've hit your usage limit. Try again in 3 hours 12 minutes. until 2025-09-10T15:13:32Z",
        ]
    );
}

const UNDATED: &str = "\
OpenAI Codex v0.46.0 (research preview)
--------
workdir: /w
model: gpt-5-codex
--------
user
Fix this:
ERROR: rate limit reached
thinking
**Looking**
exec
bash -lc ls in /a folder succeeded in 12ms:
exec
ERROR: authentication failed
[2025-09-10T12:00:06] ERROR: You've hit your usage limit.
[2025-09-10T12:00:07] tokens used: 99
codex
I look further.
exec
bash -lc 'cat <<E
one
E' in /w exited 101 in 1m 02s:
two
tool time.now({\"zone\":\"UTC\"})
time.now({\"zone\":\"UTC\"}) success in 2ms:
noon
file update
M /w/a.rs
+y
";

const UNDATED_ACTIONS: [&str; 4] = [
    "action shell: bash -lc ls => ",
    "action shell: bash -lc 'cat <<E\none\nE' => exit status 101\ntwo\n",
    "action time.now: {\"zone\":\"UTC\"} => noon\n",
    "action apply_patch: M /w/a.rs\nM /w/a.rs\n+y\n",
];

#[rstest]
#[case::said_once_more("codex\nDone.\ntokens used\n1,234\nDone.\n", &["usage 1234 0 0 0 gpt-5-codex", "said Done.", "result Done."])]
#[case::said_once("codex\nDone.\n", &["said Done.", "result Done."])]
#[case::an_error_in_the_answer(
    "codex\nIt said:\nERROR: quota exceeded\ntokens used\n1,234\nIt said:\nERROR: quota exceeded\n",
    &[
        "usage 1234 0 0 0 gpt-5-codex",
        "said It said:\nERROR: quota exceeded",
        "result It said:\nERROR: quota exceeded",
    ]
)]
#[case::an_error_among_the_words(
    "codex\nIt said:\nERROR: quota exceeded\nI mended it.\n",
    &[
        "said It said:\nERROR: quota exceeded\nI mended it.",
        "result It said:\nERROR: quota exceeded\nI mended it.",
    ]
)]
#[case::failed_after_words(
    "codex\nI begin.\nERROR: Quota exceeded. Check your plan and billing details.\ntokens used\n9\n",
    &[
        "usage 9 0 0 0 gpt-5-codex",
        "fault Credits: Quota exceeded. Check your plan and billing details.",
    ]
)]
#[case::failed(
    "ERROR: You've hit your usage limit. Try again at 2:54 AM.\n",
    &["fault RateLimited: You've hit your usage limit. Try again at 2:54 AM. until 2026-07-12T02:54:00Z"]
)]
fn text_without_times_is_read_by_its_headings(#[case] end: &str, #[case] expected: &[&str]) {
    let mut told = codex(&format!("{UNDATED}{end}"));
    // A call without a result is told when nothing more can come of it.
    let patch = told.iter().position(|line| line == UNDATED_ACTIONS[3]).expect("the patch");
    told.remove(patch);
    assert_eq!(told, [&UNDATED_ACTIONS[..3], expected].concat());
}

#[test]
fn headings_in_words_mean_nothing_without_a_banner() {
    assert_eq!(
        codex("exec\nls in /w succeeded in 1ms:\nERROR: rate limit\n"),
        ["result exec\nls in /w succeeded in 1ms:\nERROR: rate limit"]
    );
}

#[test]
fn newer_text_tells_its_calls_on_the_standard_error() {
    let mut told = Vec::new();
    let mut listener = |heard: Heard<'_>| told.extend(crate::testing::in_words(&heard));
    let mut codex = Codex::default();
    for line in format!("{UNDATED}codex\nDone.\nERROR: quota exceeded\n").lines() {
        codex.error_line(line, &moment(), &mut listener);
    }
    codex.record(Record::Text("All done."), &moment(), &mut listener);
    let done = Some(Exit { code: Some(0), signal: None });
    assert_eq!(codex.finish(done, &moment(), &mut listener), Outcome::Succeeded);
    let rest = ["launched", "result All done."];
    told.retain(|line| !rest.contains(&line.as_str()));
    assert_eq!(told, UNDATED_ACTIONS);
}

#[test]
fn the_first_json_is_read_like_session_files() {
    let stream = r#"
{"reasoning effort":"medium","model":"gpt-5","workdir":"/w","provider":"openai"}
{"prompt":"Fix it"}
{"id":"0","msg":{"type":"task_started","model_context_window":272000}}
{"id":"0","msg":{"type":"exec_command_begin","call_id":"c1","command":["bash","-lc","ls"],"cwd":"/w"}}
{"id":"0","msg":{"type":"exec_command_end","call_id":"c1","stdout":"x","stderr":"","exit_code":2}}
{"id":"0","msg":{"type":"mcp_tool_call_begin","call_id":"c2","invocation":{"server":"s","tool":"t","arguments":{"a":1}}}}
{"id":"0","msg":{"type":"mcp_tool_call_end","call_id":"c2","result":{"Err":"late"}}}
{"id":"0","msg":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"cached_input_tokens":600,"output_tokens":40}}}}
{"id":"0","msg":{"type":"token_count","input_tokens":100,"output_tokens":4}}
{"id":"0","msg":{"type":"stream_error","message":"again"}}
{"id":"0","msg":{"type":"agent_message","message":"done"}}
{"id":"0","msg":{"type":"task_complete","last_agent_message":"done"}}
{"model":"gpt-5","workdir":"/w"}
{"id":"0","msg":{"type":"task_started"}}
{"id":"0","msg":{"type":"error","message":"You've hit your usage limit. Try again in 3 hours."}}
"#;
    let (told, outcome) = read(&mut Codex::default(), stream.as_bytes(), None);
    assert_eq!(
        told,
        [
            "action shell: bash -lc ls => exit status 2\nx",
            "action s.t: {\"a\":1} => failed\n{\"Err\":\"late\"}",
            "usage 400 40 600 0 gpt-5",
            "usage 100 4 0 0 gpt-5",
            "notice again",
            "said done",
            "result done",
            "ended Succeeded",
            "launched",
            "fault RateLimited: You've hit your usage limit. Try again in 3 hours. until 2026-07-12T03:00:00Z",
        ]
    );
    assert_eq!(outcome, Outcome::Failed);
}

#[test]
fn newer_text_tells_its_tokens_on_the_standard_error() {
    let mut told = Vec::new();
    let mut codex = Codex::default();
    for line in ["codex", "All done", "tokens used", "12,345"] {
        codex.error_line(line, &moment(), &mut |heard: Heard<'_>| {
            told.push(format!("{heard:?}"));
        });
    }
    assert!(told.len() == 2 && told[1].contains("input_tokens: 12345"), "{told:?}");
}

#[rstest]
#[case::nothing("", None, Outcome::CutOff)]
#[case::begun(r#"{"type":"turn.started"}"#, None, Outcome::CutOff)]
#[case::failed_by_its_status(r#"{"type":"turn.completed","usage":{}}"#, FAILED, Outcome::Failed)]
#[case::killed(
    r#"{"type":"turn.started"}"#,
    Some(Exit { code: None, signal: Some(9) }),
    Outcome::CutOff
)]
#[case::completed(r#"{"type":"turn.completed","usage":{}}"#, None, Outcome::Succeeded)]
fn the_end_is_judged_from_all_that_is_known(
    #[case] stream: &str,
    #[case] exit: Option<Exit>,
    #[case] expected: Outcome,
) {
    assert_eq!(read(&mut Codex::default(), stream.as_bytes(), exit).1, expected);
}

#[test]
fn the_standard_error_explains_a_failure_that_nothing_else_does() {
    let mut codex = Codex::default();
    let mut told = Vec::new();
    let mut listener = |heard: Heard<'_>| {
        if let Heard::Fault(fault) = heard {
            told.push(fault.kind);
        }
    };
    codex.error_line("test output: rate limit reached", &moment(), &mut listener);
    codex.error_line("ERROR: Not logged in", &moment(), &mut listener);
    codex.finish(FAILED, &moment(), &mut listener);
    assert_eq!(told, [crate::FaultKind::Authentication]);
}
