//! Requests that the provider rejected.

use super::traps::{DONE, INIT, assistant, lines};
use crate::FaultKind;

const REJECTED: &str = r#"{"type":"rate_limit_event","session_id":"s1","rate_limit_info":{"status":"rejected","resetsAt":1779204000,"rateLimitType":"five_hour"}}"#;

#[test]
fn a_rejection_counts_only_where_the_launch_does_not_succeed() {
    assert!(lines(&[INIT, REJECTED, &assistant("m1", ""), DONE]).faults.is_empty());
    let failed = DONE.replace("\"is_error\":false", "\"is_error\":true");
    let failed = failed.replace("Done.", "5-hour limit reached ∙ resets 12am");
    for rest in [&[][..], &[&*failed], &[&*failed, INIT, DONE], &[INIT, DONE]] {
        let told = lines(&[&[INIT, REJECTED], rest].concat());
        assert_eq!(told.fault_kinds(), [FaultKind::RateLimited]);
        assert_eq!(told.faults[0].2.as_deref(), Some("2026-05-19T15:20:00Z"));
    }
}

#[test]
fn a_rejection_that_the_agent_got_past_explains_no_later_failure() {
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":[],"terminal_reason":"rapid_refill_breaker","session_id":"s1"}"#;
    let allowed = REJECTED.replace("\"rejected\"", "\"allowed\"");
    let (first, second) = (assistant("m1", ""), assistant("m2", ""));
    for past in [&[&*first, &second][..], &[&allowed]] {
        let told = lines(&[&[INIT, REJECTED], past, &[failed]].concat());
        assert_eq!(told.fault_kinds(), [FaultKind::ContextFull], "{past:?}");
    }
    assert_eq!(lines(&[INIT, REJECTED, failed]).fault_kinds(), [FaultKind::RateLimited]);
    // Words that say nothing of why do not hide it.
    let words = r#"{"type":"assistant","session_id":"s1","error":"unknown","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"It did not work."}]}}"#;
    let told = lines(&[INIT, REJECTED, words, failed]);
    assert_eq!(told.fault_kinds(), [FaultKind::RateLimited]);
}
