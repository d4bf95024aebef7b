use super::*;
use crate::FaultKind;
use crate::testing::{FAILED, moment, read, told};

#[test]
fn a_stream_is_told_whole() {
    let stream = r#"
{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/","session_id":"s","model":"m","permissionMode":"default"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do it"}]},"session_id":"s"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I will."}]},"session_id":"s"}
{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"ls"}}}}
{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"ls"},"result":{"success":{"text":"a"}}}}}
{"type":"tool_call","subtype":"completed","call_id":"d","tool_call":{"readToolCall":{"args":{"path":"x"},"result":{"error":"gone"}}}}
{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"result":"Done.","session_id":"s","request_id":"r"}
"#;
    let (told, outcome) = read(&mut Cursor::default(), stream.as_bytes(), None);
    assert_eq!(
        told,
        [
            "said I will.",
            "action shell: ls => a",
            "action read: {\"path\":\"x\"} => failed\n{\"error\":\"gone\"}",
            "result Done.",
            "ended Succeeded",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn a_failure_leaves_only_the_standard_error() {
    let mut cursor = Cursor::default();
    let mut kinds = Vec::new();
    let mut listener = |heard: crate::Heard<'_>| {
        if let crate::Heard::Fault(fault) = heard {
            kinds.push(fault.kind);
        }
    };
    cursor.error_line("Error: Not logged in", &moment(), &mut listener);
    assert_eq!(cursor.finish(FAILED, &moment(), &mut listener), Outcome::Failed);
    assert_eq!(kinds, [FaultKind::Authentication]);
}

#[test]
fn a_result_that_is_an_error_is_one() {
    let stream = r#"{"type":"result","subtype":"error","is_error":true,"result":"boom"}"#;
    assert_eq!(told(&mut Cursor::default(), stream), ["fault Other: boom", "ended Failed"]);
}
