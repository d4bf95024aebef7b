//! Results that call themselves a success and are none.

use rstest::rstest;

use super::traps::{DONE, INIT, assistant, lines};
use crate::{FaultKind, Outcome};

#[rstest]
#[case::status(
    r#""api_error_status":500,"result":"API Error: 500 Internal server error""#,
    FaultKind::Server,
    "API Error: 500 Internal server error"
)]
#[case::status_alone(
    r#""api_error_status":529,"result":"I handle the rate limit now.""#,
    FaultKind::Overloaded,
    "the API answered with status 529"
)]
#[case::reason(
    r#""terminal_reason":"api_error","result":"I handle the rate limit now.""#,
    FaultKind::Server,
    "api_error"
)]
#[case::context(
    r#""terminal_reason":"prompt_too_long","result":"Prompt is too long""#,
    FaultKind::ContextFull,
    "Prompt is too long"
)]
#[case::limit(
    r#""terminal_reason":"blocking_limit","result":"You've hit your limit · resets 3pm""#,
    FaultKind::RateLimited,
    "You've hit your limit · resets 3pm"
)]
#[case::blocked_without_a_word(
    r#""terminal_reason":"blocking_limit","result":"I handle the rate limit now.""#,
    FaultKind::ContextFull,
    "blocking_limit"
)]
#[case::setup(
    r#""terminal_reason":"turn_setup_failed","result":"x""#,
    FaultKind::Other,
    "turn_setup_failed"
)]
fn a_success_that_says_how_it_failed_is_a_failure(
    #[case] fields: &str,
    #[case] kind: FaultKind,
    #[case] message: &str,
) {
    let result = format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s1",{fields}}}"#
    );
    let told = lines(&[INIT, &assistant("m1", r#"{"type":"text","text":"hi"}"#), &result]);
    assert_eq!(told.outcome, Some(Outcome::Failed));
    let faults: Vec<_> =
        told.faults.iter().map(|(kind, message, _)| (*kind, message.as_str())).collect();
    assert_eq!(faults, [(kind, message)]);
    assert!(told.results.is_empty());
}

#[rstest]
#[case(r#""terminal_reason":"completed","api_error_status":null"#)]
#[case(r#""terminal_reason":"tool_deferred""#)]
#[case(r#""terminal_reason":"stop_hook_prevented""#)]
fn a_success_that_ended_as_it_was_meant_to_is_one(#[case] fields: &str) {
    let result = DONE.replace(r#""duration_ms""#, &format!(r#"{fields},"duration_ms""#));
    let told = lines(&[INIT, &assistant("m1", r#"{"type":"text","text":"hi"}"#), &result]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
    assert!(told.faults.is_empty());
}

/// A reason without words is the last to ask.
#[rstest]
#[case::words(
    r#"{"type":"assistant","session_id":"s1","error":"rate_limit","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"5-hour limit reached ∙ resets 12am"}]}}"#,
    FaultKind::RateLimited
)]
#[case::rejection(
    r#"{"type":"rate_limit_event","session_id":"s1","rate_limit_info":{"status":"rejected","resetsAt":1779204000,"rateLimitType":"five_hour"}}"#,
    FaultKind::RateLimited
)]
#[case::nothing(
    r#"{"type":"system","subtype":"status","session_id":"s1"}"#,
    FaultKind::ContextFull
)]
fn what_blocked_it_is_the_context_unless_more_is_known(
    #[case] before: &str,
    #[case] kind: FaultKind,
) {
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1","errors":[],"terminal_reason":"blocking_limit"}"#;
    let told = lines(&[INIT, &assistant("m1", ""), before, result]);
    assert_eq!(told.fault_kinds(), [kind]);
}

#[test]
fn a_success_after_an_error_for_last_words_is_a_failure() {
    let error = r#"{"type":"assistant","session_id":"s1","error":"overloaded","is_api_error_message":true,"message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded"}]}}"#;
    let done = DONE.replace("Done.", "API Error: 529 Overloaded");
    for result in [&done, DONE] {
        let told = lines(&[INIT, &assistant("m1", ""), error, result]);
        assert_eq!(told.outcome, Some(Outcome::Failed));
        assert_eq!(told.fault_kinds(), [FaultKind::Overloaded]);
        assert!(told.results.is_empty());
    }
    // It got through, and what failed before is not the end.
    let told = lines(&[INIT, error, &assistant("m1", ""), DONE]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
}

#[test]
fn an_error_where_the_service_has_answered_nothing_is_no_result() {
    let limit = DONE.replace("Done.", "5-hour limit reached ∙ resets 12am");
    assert_eq!(lines(&[INIT, &limit]).fault_kinds(), [FaultKind::RateLimited]);
    assert_eq!(lines(&[INIT, &limit]).outcome, Some(Outcome::Failed));
    // The agent may have been asked for just these words.
    let told = lines(&[INIT, &assistant("m1", ""), &limit]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
}
