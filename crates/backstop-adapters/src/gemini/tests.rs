use rstest::rstest;

use super::*;
use crate::testing::{read, told};

fn gemini(stream: &str) -> Vec<String> {
    told(&mut Gemini::default(), stream)
}

#[test]
fn a_result_that_is_shown_again_counts_once() {
    let stream = r#"{"type":"init","session_id":"s","model":"m"}
{"type":"result","status":"success","stats":{"total_tokens":170,"input_tokens":100,"output_tokens":50}}"#;
    let result = stream.lines().last().unwrap();
    let spaced = result.replace("\":", "\": ");
    assert_eq!(gemini(&format!("{stream}\n{result}\n{spaced}")), gemini(stream));
}

#[test]
fn a_stream_is_told_whole() {
    let stream = r#"
{"type":"init","timestamp":"2026-01-15T10:00:00Z","session_id":"s","model":"m"}
{"type":"message","role":"user","content":"do it"}
{"type":"message","role":"assistant","content":"I wi","delta":true}
{"type":"message","role":"assistant","content":"ll.","delta":true}
{"type":"tool_use","tool_name":"shell","tool_id":"1","parameters":{"command":"ls"}}
{"type":"tool_result","tool_id":"1","status":"error","output":"","error":{"type":"X","message":"no"}}
{"type":"error","severity":"warning","message":"slow"}
{"type":"message","role":"assistant","content":"Done."}
{"type":"result","status":"success","stats":{"total_tokens":170,"input_tokens":100,"output_tokens":50,"cached":40,"input":60,"models":{}}}
"#;
    assert_eq!(
        gemini(stream),
        [
            "said I will.",
            "action shell: ls => failed\nno",
            "notice slow",
            "said Done.",
            "usage 60 70 40 0 m",
            "result Done.",
            "ended Succeeded",
        ]
    );
}

#[rstest]
#[case(
    "warning",
    "Loop detected, stopping execution",
    "fault Loop: Loop detected, stopping execution"
)]
#[case(
    "error",
    "Maximum session turns exceeded",
    "fault TurnLimit: Maximum session turns exceeded"
)]
fn giving_up_is_no_success(#[case] severity: &str, #[case] message: &str, #[case] fault: &str) {
    let stream = format!(
        r#"{{"type":"error","severity":"{severity}","message":"{message}"}}
{{"type":"result","status":"success","stats":{{"input_tokens":0}}}}"#
    );
    let (told, outcome) = read(&mut Gemini::default(), stream.as_bytes(), None);
    assert_eq!(told, [fault, "ended Failed"]);
    assert_eq!(outcome, Outcome::Failed);
    // Without its result it did not come to that end.
    let (cut, _) = stream.split_once('\n').expect("two lines");
    let (told, outcome) = read(&mut Gemini::default(), cut.as_bytes(), None);
    assert_eq!((told, outcome), (vec![fault.to_owned()], Outcome::CutOff));
    let (_, outcome) = read(&mut Gemini::default(), cut.as_bytes(), crate::testing::FAILED);
    assert_eq!(outcome, Outcome::Failed);
}

#[test]
fn a_reset_counts_from_the_record_that_tells_it() {
    let stream = r#"{"type":"init","timestamp":"2026-02-01T10:00:00Z","session_id":"s","model":"m"}
{"type":"error","severity":"error","timestamp":"2026-02-01T16:00:00Z","message":"You have exhausted your daily quota. Your quota will reset after 3h2m."}
"#;
    let told = gemini(stream);
    assert!(told.iter().any(|line| line.ends_with(" until 2026-02-01T19:02:00Z")), "{told:?}");
}

#[test]
fn models_are_told_apart() {
    let stream = r#"{"type":"result","status":"success","stats":{"input_tokens":30,"output_tokens":3,"models":{
"a":{"total_tokens":11,"input_tokens":10,"output_tokens":1,"cached":4},"b":{"total_tokens":22,"input_tokens":20,"output_tokens":2,"cached":0}}}}"#
        .replace('\n', "");
    assert_eq!(
        gemini(&stream),
        ["usage 6 1 4 0 a", "usage 20 2 0 0 b", "empty ", "ended Succeeded"]
    );
}

#[test]
fn one_object_is_read_too() {
    let stream = r#"{
  "session_id": "s",
  "response": "Hello.",
  "stats": {
    "models": {
      "m": {"api": {"totalRequests": 1}, "tokens": {"input": 60, "prompt": 100, "candidates": 10, "total": 135, "cached": 40, "thoughts": 20, "tool": 5}}
    }
  }
}
"#;
    assert_eq!(
        gemini(stream),
        ["usage 65 30 40 0 m", "said Hello.", "result Hello.", "ended Succeeded"]
    );
    let failed =
        r#"{"session_id":"s","error":{"type":"Error","message":"API key not valid","code":400}}"#;
    assert_eq!(gemini(failed), ["fault Authentication: API key not valid", "ended Failed"]);
}

#[test]
fn a_message_that_is_written_again_counts_once() {
    let stream = r#"
{"sessionId":"s","projectHash":"p","startTime":"2026-04-29T21:39:22Z"}
{"id":"1","timestamp":"2026-04-29T21:39:35Z","type":"gemini","content":"Hi","tokens":{"input":10,"output":1,"cached":0,"thoughts":2,"tool":0,"total":13},"model":"m"}
{"$set":{"lastUpdated":"2026-04-29T21:39:33Z"}}
{"id":"1","timestamp":"2026-04-29T21:39:35Z","type":"gemini","content":"Hi","tokens":{"input":10,"output":1,"cached":0,"thoughts":2,"tool":0,"total":13},"model":"m","toolCalls":[{"name":"read","args":{"path":"a"},"status":"success","resultDisplay":"x"}]}
"#;
    let (told, outcome) = read(&mut Gemini::default(), stream.as_bytes(), None);
    assert_eq!(told, ["usage 10 3 0 0 m", "said Hi", "action read: {\"path\":\"a\"} => x"]);
    assert_eq!(outcome, Outcome::CutOff);
}

#[rstest]
#[case(41, Some(FaultKind::Authentication))]
#[case(42, Some(FaultKind::InvalidRequest))]
#[case(44, Some(FaultKind::Other))]
#[case(52, Some(FaultKind::Other))]
#[case(53, Some(FaultKind::TurnLimit))]
#[case(54, Some(FaultKind::Other))]
#[case(55, Some(FaultKind::Other))]
#[case(130, None)]
#[case(1, None)]
fn exit_statuses_have_meanings(#[case] code: i32, #[case] expected: Option<FaultKind>) {
    let exit = Some(Exit { code: Some(code), signal: None });
    let (told, outcome) = read(&mut Gemini::default(), b"", exit);
    let fault = expected.map(|kind| format!("fault {kind:?}: "));
    assert_eq!(told.len(), usize::from(fault.is_some()));
    assert!(fault.is_none_or(|fault| told[0].starts_with(&fault)), "{told:?}");
    assert_eq!(outcome, Outcome::Failed);
}

#[rstest]
#[case("FatalAuthenticationError", "41", "fault Authentication: why")]
#[case("FatalInputError", "42", "fault InvalidRequest: why")]
#[case("Error", "42", "fault InvalidRequest: why")]
#[case("FatalConfigError", "52", "fault Other: why")]
#[case("FatalTurnLimitedError", "\"53\"", "fault TurnLimit: why")]
#[case("FatalCancellationError", "130", "notice why")]
#[case("ApiError", "503", "fault Overloaded: why")]
#[case("ApiError", "1", "fault Other: why")]
fn errors_are_told_by_type_and_code(#[case] name: &str, #[case] code: &str, #[case] told: &str) {
    let error = format!(r#"{{"type":"{name}","message":"why","code":{code}}}"#);
    let report = format!(r#"{{"session_id":"x","error":{error}}}"#);
    assert_eq!(gemini(&report), [told, "ended Failed"]);
    let result = format!(r#"{{"type":"result","status":"error","error":{error}}}"#);
    assert_eq!(gemini(&result), [told, "ended Failed"]);
}

#[test]
fn a_session_that_ended_and_begins_again_is_another_launch() {
    let report = r#"{"session_id":"s","response":"Hi.","stats":{"models":{}}}"#;
    let once = ["said Hi.", "result Hi.", "ended Succeeded"];
    let told = gemini(&format!("{report}\n{report}\n"));
    assert_eq!(told, [&once[..], &["launched"], &once[..]].concat());
}

#[test]
fn calls_of_a_report_are_counted() {
    let report = r#"{"session_id":"x","response":"ok","stats":{"models":{},"tools":{"totalCalls":3,"byName":{"read_file":{"count":2,"success":1,"fail":1},"shell":{"count":1,"success":1,"fail":0}}}}}"#;
    let mut calls = Vec::new();
    let mut listener = |heard: Heard<'_>| {
        if let Heard::Event(backstop_core::event::EventKind::Action(action)) = heard {
            calls.push((action.signature, action.failed, action.result_signature));
        }
    };
    let moment = crate::testing::moment();
    Gemini::default().record(Record::Json(report.as_bytes()), &moment, &mut listener);
    let tools: Vec<_> =
        calls.iter().map(|(call, failed, _)| (call.split(':').next(), *failed)).collect();
    assert_eq!(
        tools,
        [(Some("read_file"), true), (Some("read_file"), false), (Some("shell"), false)]
    );
    assert!(calls.iter().all(|(_, _, result)| result.is_none()));
    assert_ne!(calls[0].0, calls[1].0);
}
