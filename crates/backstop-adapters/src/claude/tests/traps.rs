//! What has misled readers of these streams before.

use proptest::prelude::*;
use rstest::rstest;

use super::told::moment;
use super::totals::total;
use super::{Told, told};
use crate::{Adapter, Claude, FaultKind, Heard, Outcome, Record};

pub(super) fn lines(lines: &[&str]) -> Told {
    told(lines.join("\n").as_bytes(), None)
}

pub(super) const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"s1","model":"claude-opus-4-5"}"#;
pub(super) const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s1","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":40,"cache_read_input_tokens":9},"duration_ms":1}"#;

pub(super) fn assistant(id: &str, content: &str) -> String {
    format!(
        r#"{{"type":"assistant","session_id":"s1","parent_tool_use_id":null,"message":{{"id":"{id}","model":"claude-opus-4-5","content":[{content}],"usage":{{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":2}}}}}}"#
    )
}

pub(super) fn call(id: &str, command: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}"#)
}

pub(super) fn answer(id: &str, text: &str, is_error: bool) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"type":"user","session_id":"s1","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":{text},"is_error":{is_error}}}]}}}}"#
    )
}

#[test]
fn order_of_keys_and_blanks_do_not_matter() {
    let odd = r#"  { "usage" : {"output_tokens": 3}, "is_error" : false , "result":"Done." , "subtype" : "success", "type" : "result" }"#;
    let told = lines(&[odd]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
    assert_eq!(told.results, ["Done."]);
    assert_eq!(told.tokens(), [0, 3, 0, 0]);
}

#[test]
fn a_cost_of_nothing_is_not_known_where_something_was_used() {
    let free = DONE.replace("0.5", "0");
    let mut figures = Vec::new();
    let mut claude = Claude::new();
    for line in [INIT, &assistant("m1", ""), &free] {
        claude.record(Record::Json(line.as_bytes()), &moment(), &mut |heard: Heard<'_>| {
            if let Heard::Event(backstop_core::event::EventKind::Usage(usage)) = heard {
                figures.push((usage.cost_usd, usage.model));
            }
        });
    }
    // The model is told, for those who know its price.
    let model = Some("claude-opus-4-5".to_owned());
    assert_eq!(figures, [(None, model.clone()), (None, model)]);
    let nothing = r#"{"type":"result","subtype":"success","is_error":true,"result":"5-hour limit reached","session_id":"s1","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"duration_ms":1}"#;
    assert_eq!(lines(&[INIT, nothing]).cost(), Some(0.0));
}

#[test]
fn a_record_behind_one_that_was_cut_off_is_read() {
    let text = assistant("m1", r#"{"type":"text","text":"I look."}"#);
    let cut = &text[..text.find("look").unwrap()];
    let told = lines(&[INIT, &format!("{cut}{}", assistant("m2", &call("t1", "ls"))), DONE]);
    assert_eq!(told.assistant, Vec::<String>::new());
    assert_eq!(told.calls, ["Bash ls"]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
    // Whole, but for its end: what stands in it is not said by itself.
    let nested = format!(r#"{{"type":"progress","data":{DONE}"#);
    assert_eq!(lines(&[INIT, &nested]).outcome, Some(Outcome::CutOff));
}

#[test]
fn records_of_one_message_count_once() {
    let text = assistant("m1", r#"{"type":"text","text":"I look."}"#);
    let told =
        lines(&[INIT, &text, &assistant("m1", &call("t1", "ls")), &answer("t1", "a\nb", false)]);
    assert_eq!(told.tokens(), [10, 2, 1000, 100]);
    assert_eq!(told.contexts, [(1110, 200_000)]);
    let action = |kind: &str, what: &str, result: &str| {
        (kind.to_owned(), what.to_owned(), Some(result.to_owned()))
    };
    assert_eq!(told.actions, [action("action", r#"Bash {"command":"ls"}"#, "a\nb")]);
    assert_eq!(told.calls, ["Bash ls"]);
    assert_eq!(told.assistant, ["I look."]);
    assert_eq!(told.outcome, Some(Outcome::CutOff));
}

#[test]
fn without_totals_of_models_the_messages_and_the_output_count() {
    let told = lines(&[INIT, &assistant("m1", ""), &assistant("m2", ""), DONE]);
    assert_eq!(told.tokens(), [20, 40, 2000, 200]);
    assert_eq!(told.cost(), Some(0.5));
}

#[test]
fn sub_agents_act_and_use_tokens_but_do_not_speak() {
    let sub = assistant("m2", &format!(r#"{{"type":"text","text":"sub"}},{}"#, call("t2", "ls")))
        .replace(r#""parent_tool_use_id":null"#, r#""parent_tool_use_id":"t1""#);
    let told = lines(&[INIT, &sub, &answer("t2", "x", false)]);
    assert_eq!(told.tokens(), [10, 2, 1000, 100]);
    assert!(told.assistant.is_empty() && told.contexts.is_empty());
    assert_eq!(told.of_kind("action"), 1);
}

#[test]
fn parallel_calls_are_told_together() {
    let told = lines(&[
        INIT,
        &assistant("m1", &call("t1", "a")),
        &assistant("m1", &call("t2", "b")),
        &answer("t2", "second", false),
        &answer("t1", "", true),
        &assistant("m2", &call("t3", "c")),
    ]);
    let results: Vec<_> = told.actions.iter().map(|(_, _, result)| result.as_deref()).collect();
    assert_eq!(results, [Some("failed\n"), Some("second"), None]);
}

#[test]
fn long_calls_that_differ_in_the_middle_differ() {
    let write = |id: &str, changed: &str| {
        let content = format!("{}{changed}{}", "line ".repeat(2000), "line ".repeat(2000));
        let call = format!(
            r#"{{"type":"tool_use","id":"{id}","name":"Write","input":{{"file_path":"a","content":"{content}"}}}}"#
        );
        assistant(id, &call) + "\n" + &answer(id, "ok", false)
    };
    let told = lines(&[INIT, &write("1", "old"), &write("2", "new"), &write("3", "new")]);
    let calls: Vec<_> = told.actions.iter().map(|(_, call, _)| call).collect();
    assert!(calls[0] != calls[1] && calls[1] == calls[2] && calls[0].len() < 9000);
}

#[test]
fn a_turn_that_only_speaks_is_a_message() {
    let told = lines(&[
        INIT,
        &assistant("m1", r#"{"type":"text","text":"One."}"#),
        &assistant("m2", &call("t1", "a")),
        &assistant("m3", r#"{"type":"text","text":"Two."}"#),
        DONE,
    ]);
    let kinds: Vec<_> =
        told.actions.iter().map(|(kind, what, _)| format!("{kind} {what}")).collect();
    assert_eq!(kinds, ["message One.", "message Two.", r#"action Bash {"command":"a"}"#]);
}

#[test]
fn an_answer_with_nothing_in_it_is_empty() {
    let nothing = assistant("m1", "");
    let thoughts = assistant("m2", r#"{"type":"thinking","thinking":"hm"}"#);
    let placeholder = assistant("m3", r#"{"type":"text","text":"(no content)"}"#);
    let other = assistant("m4", r#"{"type":"server_tool_use","id":"w","name":"web_search"}"#);
    let told = lines(&[INIT, &nothing, &thoughts, &placeholder, &other, DONE]);
    assert_eq!((told.of_kind("empty"), told.of_kind("message")), (3, 0));
    assert!(told.assistant.is_empty());
    // Its parts may still come: in the same message, or not at all because it was cut off.
    let call = assistant("m2", &call("t1", "ls"));
    assert_eq!(lines(&[INIT, &thoughts, &call, DONE]).of_kind("empty"), 0);
    assert_eq!(lines(&[INIT, &thoughts]).of_kind("empty"), 0);
}

#[test]
fn a_result_of_zeros_after_real_messages_is_not_believed() {
    let zeros = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{},"errors":[]}"#;
    let told = lines(&[INIT, &assistant("m1", ""), zeros]);
    assert_eq!(told.tokens(), [10, 2, 1000, 100]);
    assert_eq!(told.cost(), None);
    assert_eq!(told.fault_kinds(), [FaultKind::Other]);
}

#[test]
fn another_session_is_another_launch_and_the_cut_off_one_is_told() {
    let told = lines(&[INIT, &assistant("m1", ""), &INIT.replace("s1", "s2")]);
    assert_eq!((told.launches, &told.ends[..]), (2, &[Outcome::CutOff][..]));
}

#[test]
fn a_turn_cap_is_a_failure_whatever_its_flag_says() {
    let capped = DONE.replace("\"success\"", "\"error_max_turns\"");
    let told = lines(&[INIT, &capped]);
    assert_eq!(told.fault_kinds(), [FaultKind::TurnLimit]);
    assert_eq!(told.outcome, Some(Outcome::Failed));
    assert!(told.results.is_empty());
}

#[test]
fn a_failure_that_calls_itself_a_success_is_told_by_its_reason() {
    let line = r#"{"type":"result","subtype":"success","is_error":true,"result":"","session_id":"s1","terminal_reason":"prompt_too_long"}"#;
    let told = lines(&[INIT, line]);
    assert_eq!(told.fault_kinds(), [FaultKind::ContextFull]);
    assert_eq!(told.faults[0].1, "prompt_too_long");
}

#[rstest]
#[case("error_max_budget_usd", "", FaultKind::BudgetLimit)]
#[case("success", "Prompt is too long", FaultKind::ContextFull)]
#[case("success", "Claude AI usage limit reached|1773021600", FaultKind::RateLimited)]
#[case("success", "spend limit reached (daily; resets 2026-08-09 00:00 UTC)", FaultKind::SpendCap)]
#[case("error_during_execution", "", FaultKind::Other)]
fn failures(#[case] subtype: &str, #[case] text: &str, #[case] kind: FaultKind) {
    let line = format!(
        r#"{{"type":"result","subtype":"{subtype}","is_error":true,"result":"{text}","session_id":"s1"}}"#
    );
    assert_eq!(lines(&[INIT, &line]).fault_kinds(), [kind]);
}

#[test]
fn one_failure_is_told_once_with_all_that_is_known() {
    let limit = r#"{"type":"rate_limit_event","session_id":"s1","rate_limit_info":{"status":"rejected","resetsAt":1779204000,"rateLimitType":"five_hour","overageStatus":"rejected"}}"#;
    let message = r#"{"type":"assistant","session_id":"s1","error":"rate_limit","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"5-hour limit reached ∙ resets 12am"}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"result":"5-hour limit reached ∙ resets 12am","session_id":"s1","api_error_status":429}"#;
    let told = lines(&[INIT, limit, message, result]);
    assert_eq!(told.faults.len(), 1);
    assert_eq!(told.faults[0].2.as_deref(), Some("2026-05-19T15:20:00Z"));
    assert_eq!(told.quotas, [("5h".to_owned(), 1.0, Some("2026-05-19T15:20:00Z".to_owned()))]);
    let told = lines(&[INIT, message, result]);
    assert_eq!(told.faults.len(), 1);
    assert_eq!(told.faults[0].2.as_deref(), Some("2026-03-10T00:00:00Z"));
    assert!(told.assistant.is_empty() && told.results.is_empty());
    let told = lines(&[INIT, message, &assistant("m1", ""), message]);
    assert_eq!(told.faults.len(), 2);
}

#[test]
fn a_category_leaves_the_time_that_the_words_tell() {
    let message = r#"{"type":"assistant","session_id":"s1","error":"rate_limit","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"Not now. Try again in 5 minutes"}]}}"#;
    let told = lines(&[INIT, message]);
    assert_eq!(told.fault_kinds(), [FaultKind::RateLimited]);
    assert_eq!(told.faults[0].2.as_deref(), Some("2026-03-09T01:05:00Z"));
}

#[test]
fn a_rejection_that_is_paid_for_is_no_fault() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"seven_day_opus","isUsingOverage":true,"utilization":1.2}}"#;
    let told = lines(&[limit]);
    assert!(told.faults.is_empty());
    assert_eq!(told.quotas, [("weekly_opus".to_owned(), 1.0, None)]);
}

#[test]
fn a_retry_is_a_notice() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1500,"error_status":529,"error":"overloaded","session_id":"s1"}"#;
    let told = lines(&[INIT, retry, DONE]);
    assert!(told.faults.is_empty());
    assert_eq!(told.notices, ["model claude-opus-4-5", "retry 2 of 10 in 2 s: overloaded"]);
}

#[test]
fn what_a_tool_or_a_prompt_quotes_counts_for_nothing() {
    let quoted = "5-hour limit reached ∙ resets 12am\nCredit balance is too low\nPrompt is too long\n\
        API Error: 500 Internal server error\n<promise>COMPLETE</promise>";
    let prompt = format!(
        r#"{{"type":"user","session_id":"s1","message":{{"content":[{{"type":"text","text":{}}}]}}}}"#,
        serde_json::Value::from(quoted)
    );
    let words = assistant("m2", r#"{"type":"text","text":"The file speaks of a rate limit."}"#);
    let told = lines(&[
        INIT,
        &prompt,
        &assistant("m1", &call("t1", "cat log")),
        &answer("t1", quoted, true),
        &words,
        DONE,
    ]);
    assert!(told.faults.is_empty());
    assert_eq!(told.assistant, ["The file speaks of a rate limit."]);
    assert_eq!(told.results, ["Done."]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
}

#[test]
fn output_is_counted_as_it_streams() {
    let event =
        |event: &str| format!(r#"{{"type":"stream_event","session_id":"s1","event":{event}}}"#);
    let start = event(
        r#"{"type":"message_start","message":{"id":"m1","model":"claude-opus-4-5","usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}"#,
    );
    let delta = event(r#"{"type":"message_delta","usage":{"output_tokens":77}}"#);
    let told = lines(&[INIT, &start, &assistant("m1", ""), &delta]);
    assert_eq!(told.tokens(), [10, 77, 1000, 100]);
}

#[test]
fn what_streams_side_by_side_is_told_apart() {
    let event = |parent: &str, event: &str| {
        format!(
            r#"{{"type":"stream_event","session_id":"s1","parent_tool_use_id":{parent},"event":{event}}}"#
        )
    };
    let start = |id: &str| {
        format!(
            r#"{{"type":"message_start","message":{{"id":"{id}","model":"claude-opus-4-5","usage":{{"input_tokens":1,"output_tokens":1}}}}}}"#
        )
    };
    let delta =
        |output: u64| format!(r#"{{"type":"message_delta","usage":{{"output_tokens":{output}}}}}"#);
    let told = lines(&[
        INIT,
        &event("null", &start("m1")),
        &event("\"t1\"", &start("m2")),
        &event("null", &delta(100)),
        &event("\"t1\"", &delta(50)),
    ]);
    assert_eq!(told.tokens(), [2, 150, 0, 0]);
}

#[test]
fn each_model_is_told_where_nobody_knows_the_cost() {
    let result = |opus: u64, haiku: u64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1","total_cost_usd":0,"modelUsage":{{"claude-opus-4-5":{{"inputTokens":{opus}}},"claude-haiku-4-5":{{"inputTokens":{haiku}}}}}}}"#
        )
    };
    let mut figures = Vec::new();
    let mut claude = Claude::new();
    for line in [INIT, &result(10, 1_000_000), &result(30, 1_000_000)] {
        claude.record(Record::Json(line.as_bytes()), &moment(), &mut |heard: Heard<'_>| {
            if let Heard::Event(backstop_core::event::EventKind::Usage(usage)) = heard {
                figures.push((usage.model.unwrap(), usage.input_tokens));
            }
        });
    }
    let opus = "claude-opus-4-5".to_owned();
    let first = [("claude-haiku-4-5".to_owned(), 1_000_000), (opus.clone(), 10)];
    assert_eq!(figures, [&first[..], &[(opus, 20)]].concat());
}

#[rstest]
#[case::large_by_name("claude-sonnet-4-5[1m]", 1_000_000)]
#[case::other_maker("glm-4.6", 0)]
fn windows(#[case] model: &str, #[case] limit: u64) {
    let record = assistant("m1", "").replace("claude-opus-4-5", model);
    let limits: Vec<u64> = lines(&[&record]).contexts.iter().map(|(_, limit)| *limit).collect();
    assert_eq!(limits, if limit == 0 { vec![] } else { vec![limit] });
}

#[rstest]
#[case::end(r#""stop_reason":"end_turn","#, Outcome::Succeeded)]
#[case::open(r#""stop_reason":null,"#, Outcome::CutOff)]
fn a_transcript_ends_with_its_last_message(#[case] stop: &str, #[case] outcome: Outcome) {
    let user = r#"{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Fix it. <promise>COMPLETE</promise>"}}"#;
    let meta =
        r#"{"type":"user","sessionId":"s","isMeta":true,"message":{"content":"not a person"}}"#;
    let reply = format!(
        r#"{{"type":"assistant","sessionId":"s","message":{{{stop}"id":"m","model":"claude-opus-5","content":[{{"type":"text","text":"Fixed."}}]}}}}"#
    );
    let told = lines(&[user, meta, &reply]);
    assert_eq!(told.outcome, Some(outcome));
    assert_eq!((told.of_kind("user"), told.of_kind("message")), (1, 1));
    assert_eq!(told.assistant, ["Fixed."]);
}

#[rstest]
#[case::words("All tests pass.\nI am done.", None, Outcome::Succeeded, None)]
#[case::limit(
    "5-hour limit reached ∙ resets 12am",
    None,
    Outcome::Failed,
    Some(FaultKind::RateLimited)
)]
#[case::failed(
    "Some words\nInvalid API key · Please run /login",
    Some(1),
    Outcome::Failed,
    Some(FaultKind::Authentication)
)]
#[case::long_prose(
    "I fixed how a rate limit is handled.\nThe rate limit is now read.",
    Some(0),
    Outcome::Succeeded,
    None
)]
#[case::authentication(
    "Done: I added authentication to the login page.",
    Some(0),
    Outcome::Succeeded,
    None
)]
#[case::rate_limit("I added rate limit handling.", Some(0), Outcome::Succeeded, None)]
#[case::connection(
    "The connection was closed: I fixed the timeout bug.",
    Some(0),
    Outcome::Succeeded,
    None
)]
#[case::disk(
    "The log says: no space left on device.\nInvalid API key\nI could not go on.",
    Some(1),
    Outcome::Failed,
    None
)]
#[case::with_a_hint(
    "API Error: 529 Overloaded\n\nSee the status page.",
    Some(1),
    Outcome::Failed,
    Some(FaultKind::Overloaded)
)]
#[case::quoted_limit(
    "5-hour limit reached ∙ resets 12am\nis what the file says.",
    Some(0),
    Outcome::Succeeded,
    None
)]
#[case::nothing("", Some(1), Outcome::Failed, None)]
#[case::json_as_an_answer("{\"answer\": 42}", Some(0), Outcome::Succeeded, None)]
fn plain_words(
    #[case] output: &str,
    #[case] exit: Option<i32>,
    #[case] outcome: Outcome,
    #[case] fault: Option<FaultKind>,
) {
    let told = told(output.as_bytes(), exit);
    assert_eq!(told.outcome, Some(outcome));
    assert_eq!(told.fault_kinds(), Vec::from_iter(fault));
    let said = fault.is_none() && !output.is_empty();
    assert_eq!(told.results, if said { vec![output] } else { vec![] });
}

#[test]
fn a_crash_is_explained_by_the_standard_error() {
    let mut told = Told::default();
    let mut claude = Claude::new();
    let mut listener = |heard: Heard<'_>| told.hear(heard);
    claude.record(Record::Json(INIT.as_bytes()), &moment(), &mut listener);
    claude.error_line("Error: read ECONNRESET", &moment(), &mut listener);
    let exit = crate::Exit { code: Some(1), signal: None };
    assert_eq!(claude.finish(Some(exit), &moment(), &mut listener), Outcome::CutOff);
    assert_eq!(told.fault_kinds(), [FaultKind::Network]);
}

fn real_lines() -> Vec<String> {
    vec![
        INIT.to_owned(),
        DONE.to_owned(),
        assistant("m1", &call("t1", "ls")),
        answer("t1", "x", true),
        total(0.5, 30, 1000),
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1779204000,"unifiedWindows":{"five_hour":{"utilization":0.5}}}}"#.to_owned(),
        r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#.to_owned(),
        r#"{"loglines":[{"type":"user","message":{"content":"x"}},1]}"#.to_owned(),
    ]
}

/// A launch of session `s1` without totals of models.
fn old_result(cost: f64) -> String {
    DONE.replace("0.5", &cost.to_string())
}

#[test]
fn a_relaunched_session_pays_again() {
    let told = lines(&[INIT, &old_result(0.1), INIT, &old_result(0.3)]);
    assert!((told.cost().unwrap() - 0.4).abs() < 1e-9);
    assert_eq!(told.launches, 2);
    let launch = [INIT, &assistant("m1", ""), &total(0.1, 30, 1000)];
    let told = lines(&[launch, launch].concat());
    assert!((told.cost().unwrap() - 0.2).abs() < 1e-9);
    assert_eq!(told.tokens(), [20, 60, 2000, 200]);
}

#[test]
fn a_turn_that_begins_like_a_launch_is_not_paid_twice() {
    let second = total(0.3, 50, 2100).replace("\"inputTokens\":10", "\"inputTokens\":20");
    let second = second.replace("CreationInputTokens\":100", "CreationInputTokens\":200");
    let told = lines(&[
        INIT,
        &assistant("m1", ""),
        &total(0.1, 30, 1000),
        INIT,
        &assistant("m2", ""),
        &second,
    ]);
    assert!((told.cost().unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(told.tokens(), [20, 50, 2100, 200]);
}

#[test]
fn messages_of_a_launch_that_was_cut_off_count_once() {
    let told = lines(&[INIT, &assistant("m1", ""), INIT, &assistant("m2", ""), DONE]);
    assert_eq!(told.tokens(), [20, 42, 2000, 200]);
}

#[test]
fn without_totals_of_models_sub_agents_count_too() {
    let sub =
        assistant("m2", "").replace(r#""parent_tool_use_id":null"#, r#""parent_tool_use_id":"t1""#);
    let told = lines(&[INIT, &assistant("m1", ""), &sub, DONE]);
    assert_eq!(told.tokens(), [20, 42, 2000, 200]);
}

#[rstest]
#[case::beyond_all_types("1e999")]
#[case::beyond_all_counts("1e300")]
#[case::below_nothing("-5")]
fn an_absurd_number_hides_nothing_else(#[case] number: &str) {
    let absurd = DONE.replace("0.5", number).replace("40", number);
    let told = lines(&[INIT, &assistant("m1", ""), &absurd]);
    assert_eq!((told.outcome, told.cost()), (Some(Outcome::Succeeded), None));
    assert_eq!(told.tokens(), [10, 2, 1000, 100]);
    let absurd = total(0.5, 30, 1000).replace("30", number);
    let told = lines(&[INIT, &assistant("m1", ""), &absurd]);
    assert_eq!((told.cost(), told.tokens()), (Some(0.5), [10, 2, 1000, 100]));
}

#[test]
fn a_broken_record_is_nobodys_words() {
    let told = told(br#"{"type":"result","result":"<promise>COMPLETE</promise>","x":}"#, Some(0));
    assert!(told.results.is_empty());
    assert_eq!(told.outcome, Some(Outcome::CutOff));
}

#[test]
fn errors_say_more_than_what_was_said_before_them() {
    let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"Prompt is too long","errors":["Credit balance is too low"],"session_id":"s1"}"#;
    assert_eq!(lines(&[INIT, line]).fault_kinds(), [FaultKind::Credits]);
}

#[rstest]
#[case(r#""result":"I fixed how a rate limit is told.","errors":[]"#)]
#[case(r#""result":"","errors":["Error: Command failed: cat: docs/rate limit.md: No such file"]"#)]
#[case(r#""result":"","errors":["grep: authentication: No such file"]"#)]
fn what_the_agent_or_a_tool_said_is_not_why_it_failed(#[case] fields: &str) {
    let line = format!(
        r#"{{"type":"result","subtype":"error_during_execution","is_error":true,{fields},"session_id":"s1"}}"#
    );
    assert_eq!(lines(&[INIT, &line]).fault_kinds(), [FaultKind::Other]);
}

proptest! {
    #[test]
    fn no_output_panics(
        picked in prop::collection::vec((prop::sample::select(real_lines()), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..12),
        rubbish in prop::collection::vec(any::<u8>(), 0..60),
        exit in any::<Option<i32>>(),
    ) {
        let mut output = rubbish;
        for (line, at, byte, mutate) in picked {
            let mut line = line.into_bytes();
            if mutate {
                let at = at.index(line.len());
                line[at] = byte;
            }
            output.push(b'\n');
            output.extend(line);
        }
        told(&output, exit);
    }
}

#[test]
fn amp_gives_no_ids_and_says_why_it_failed_beside_the_result() {
    let message = |input: u64, output: u64| {
        format!(
            r#"{{"type":"assistant","session_id":"T-1","message":{{"role":"assistant","content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}}}"#
        )
    };
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"duration_ms":9,"error":"You've hit your usage limit. Try again in 5 minutes","session_id":"T-1"}"#;
    let (one, other) = (message(100, 20), message(50, 10));
    let told = lines(&[INIT, &one, &one, &other, failed]);
    assert_eq!(told.tokens(), [150, 30, 0, 0]);
    let kinds: Vec<FaultKind> = told.faults.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [FaultKind::RateLimited]);
}

#[test]
fn a_half_character_hides_nothing_else() {
    let cut = answer("t1", "cut X", false).replace("cut X", r"cut \ud83d");
    let call = assistant("m1", &call("t1", r"echo \ude00"));
    let told = lines(&[INIT, &call, &cut, DONE]);
    let results: Vec<_> = told.actions.iter().map(|action| action.2.as_deref()).collect();
    assert_eq!(results, [Some("cut \u{fffd}")]);
    assert_eq!(told.outcome, Some(Outcome::Succeeded));
}
