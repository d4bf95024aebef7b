use super::*;
use crate::testing::{read, told};

const MESSAGE: &str = r#""message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi."}],"model":"m","usage":{"input":10,"output":2,"cacheRead":5,"cacheWrite":1,"totalTokens":18,"cost":{"total":0.5}},"stopReason":"stop","timestamp":1767401001500}"#;
const ERROR: &str = r#""message":{"role":"assistant","content":[],"usage":{"input":3,"output":0,"cost":{"total":0}},"stopReason":"error","errorMessage":"Rate limit exceeded"}"#;

#[test]
fn a_message_counts_once_though_it_is_told_often() {
    let stream = format!(
        r#"{{"type":"turn_start"}}
{{"type":"message_start",{MESSAGE}}}
{{"type":"message_update",{MESSAGE}}}
{{"type":"message_end",{MESSAGE}}}
{{"type":"turn_end",{MESSAGE}}}
{{"type":"agent_end","messages":[]}}"#
    );
    let (told, outcome) = read(&mut Pi::default(), stream.as_bytes(), None);
    assert_eq!(
        told,
        ["usage 10 2 5 1 $0.5000 m", "said Hi.", "message Hi.", "result Hi.", "ended Succeeded"]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn a_turn_alone_counts_too() {
    let stream = format!("{{\"type\":\"turn_end\",{MESSAGE}}}");
    assert_eq!(told(&mut Pi::default(), &stream), ["usage 10 2 5 1 $0.5000 m", "said Hi."]);
}

#[test]
fn an_error_that_pi_overcomes_is_no_failure() {
    let stream = format!(
        r#"{{"type":"agent_start"}}
{{"type":"message_end",{ERROR}}}
{{"type":"agent_end","messages":[]}}
{{"type":"auto_retry_start","attempt":1,"errorMessage":"Rate limit exceeded"}}
{{"type":"agent_start"}}
{{"type":"message_end",{MESSAGE}}}
{{"type":"agent_end","messages":[]}}"#
    );
    let (told, outcome) = read(&mut Pi::default(), stream.as_bytes(), None);
    assert_eq!(
        told,
        [
            "usage 3 0 0 0",
            "ended Failed",
            "notice Rate limit exceeded",
            "usage 10 2 5 1 $0.5000 m",
            "said Hi.",
            "message Hi.",
            "result Hi.",
            "ended Succeeded",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn an_error_at_the_end_stands() {
    let stream = format!("{{\"type\":\"message_end\",{ERROR}}}\n{{\"type\":\"agent_end\"}}");
    let (told, outcome) = read(&mut Pi::default(), stream.as_bytes(), None);
    assert_eq!(told, ["usage 3 0 0 0", "ended Failed", "fault RateLimited: Rate limit exceeded"]);
    assert_eq!(outcome, Outcome::Failed);
}

#[test]
fn an_error_that_pi_gives_up_on_before_its_end_stands() {
    let stream = format!(
        r#"{{"type":"agent_start"}}
{{"type":"message_end",{ERROR}}}
{{"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Rate limit exceeded"}}
{{"type":"agent_end","messages":[]}}"#
    );
    let (told, outcome) = read(&mut Pi::default(), stream.as_bytes(), None);
    assert_eq!(told, ["usage 3 0 0 0", "fault RateLimited: Rate limit exceeded", "ended Failed"]);
    assert_eq!(outcome, Outcome::Failed);
    // What it is asked next may succeed.
    let stream = format!(
        "{stream}\n{{\"type\":\"agent_start\"}}\n{{\"type\":\"message_end\",{MESSAGE}}}\n{{\"type\":\"agent_end\"}}"
    );
    assert_eq!(read(&mut Pi::default(), stream.as_bytes(), None).1, Outcome::Succeeded);
}

#[test]
fn an_answer_that_was_broken_off_has_failed() {
    let cut = MESSAGE.replace(r#""stopReason":"stop""#, r#""stopReason":"length""#);
    let stream = format!("{{\"type\":\"message_end\",{cut}}}\n{{\"type\":\"turn_end\",{cut}}}");
    let ended = format!("{stream}\n{{\"type\":\"agent_end\"}}");
    let (told, outcome) = read(&mut Pi::default(), ended.as_bytes(), None);
    let fault = "fault OutputLimit: the answer reached the limit of output tokens";
    assert_eq!(told, ["usage 10 2 5 1 $0.5000 m", "said Hi.", "ended Failed", fault]);
    assert_eq!(outcome, Outcome::Failed);
    // It goes on all the same, if it can.
    let stream = format!(
        "{stream}\n{{\"type\":\"turn_start\"}}\n{{\"type\":\"message_end\",{MESSAGE}}}\n{{\"type\":\"agent_end\"}}"
    );
    let (told, outcome) = read(&mut Pi::default(), stream.as_bytes(), None);
    assert_eq!(told.iter().filter(|line| *line == fault).count(), 1);
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn calls_and_compactions_are_told() {
    let stream = r#"
{"type":"tool_execution_start","toolCallId":"c","toolName":"read","args":{"path":"a"}}
{"type":"tool_execution_end","toolCallId":"c","toolName":"read","result":{"content":[{"type":"text","text":"x"}]},"isError":true}
{"type":"auto_compaction_start","reason":"threshold"}
{"type":"auto_compaction_end","result":{"summary":"s"},"aborted":false}
"#;
    assert_eq!(
        told(&mut Pi::default(), stream),
        [
            "action read: {\"path\":\"a\"} => failed\nx",
            "compaction compaction",
            "notice the context was compacted",
        ]
    );
}

#[test]
fn a_session_that_is_opened_again_after_its_end_is_another_launch() {
    let launch = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/\"}}\n{{\"type\":\"agent_start\"}}\n\
         {{\"type\":\"message_end\",{MESSAGE}}}\n{{\"type\":\"agent_end\",\"messages\":[]}}\n"
    );
    let told = told(&mut Pi::default(), &format!("{launch}{launch}"));
    assert_eq!(told.iter().filter(|line| *line == "launched").count(), 1);
}
