use rstest::rstest;

use super::*;
use crate::testing::{FAILED, read, told};

const STEPS: &str = r#"
{"type":"step_start","timestamp":1767036059338,"sessionID":"s","part":{}}
{"type":"tool_use","timestamp":1767036061199,"sessionID":"s","part":{"tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"false","description":"try"},"output":"","metadata":{"exit":1}}}}
{"type":"step_finish","timestamp":1767036061205,"sessionID":"s","part":{"reason":"tool-calls","cost":0,"tokens":{"input":100,"output":10,"reasoning":5,"cache":{"read":7,"write":3}}}}
{"type":"step_start","timestamp":1767036063732,"sessionID":"s","part":{}}
{"type":"text","timestamp":1767036064268,"sessionID":"s","part":{"text":"Done."}}
{"type":"step_finish","timestamp":1767036064273,"sessionID":"s","part":{"reason":"stop","cost":0.002,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}}
"#;

#[test]
fn steps_add_up_and_a_price_of_nothing_is_no_price() {
    let (told, outcome) = read(&mut OpenCode::default(), STEPS.as_bytes(), None);
    assert_eq!(
        told,
        [
            "action bash: false => exit status 1\n",
            "usage 100 15 7 3",
            "said Done.",
            "usage 1 1 0 0 $0.0020",
            // So the model has a price, and the step before it was free.
            "usage 0 0 0 0 $0.0000",
            "result Done.",
        ]
    );
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn another_session_is_another_launch() {
    let other = STEPS.replace("\"s\"", "\"t\"");
    let stream = format!("{STEPS}{other}");
    let (told, outcome) = read(&mut OpenCode::default(), stream.as_bytes(), None);
    let count = |line: &str| told.iter().filter(|told| *told == line).count();
    assert_eq!((count("launched"), count("ended Succeeded"), count("result Done.")), (1, 1, 2));
    assert_eq!(outcome, Outcome::Succeeded);
    // One that was cut off may go on in the same process.
    let cut: Vec<&str> = STEPS.lines().take(4).collect();
    let told = self::told(&mut OpenCode::default(), &format!("{}{STEPS}", cut.join("\n")));
    assert!(!told.contains(&"launched".to_owned()), "{told:?}");
}

#[test]
fn a_summary_of_what_was_said_is_no_result() {
    let summary = STEPS.replace("Done.", "All was done: a summary.");
    let stream = format!("{summary}{STEPS}");
    let (told, outcome) = read(&mut OpenCode::default(), stream.as_bytes(), None);
    let results: Vec<_> = told.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results, ["result Done."]);
    assert!(!told.iter().any(|line| line == "launched" || line.starts_with("ended")), "{told:?}");
    assert_eq!(outcome, Outcome::Succeeded);
}

#[rstest]
#[case::seconds(
    r#"{"message":"slow down","statusCode":429,"responseHeaders":{"Retry-After":"60"}}"#,
    "fault RateLimited: slow down until 2025-12-29T19:22:02Z"
)]
#[case::milliseconds(
    r#"{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after-ms":"1500"}}"#,
    "fault RateLimited: slow down until 2025-12-29T19:21:03.5Z"
)]
#[case::date(r#"{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"Tue, 30 Dec 2025 00:00:00 GMT"}}"#, "fault RateLimited: slow down until 2025-12-30T00:00:00Z")]
#[case::message(
    r#"{"message":"please wait. Try again in 3 hours","statusCode":429}"#,
    "fault RateLimited: please wait. Try again in 3 hours until 2025-12-29T22:21:02Z"
)]
#[case::date_in_the_message(
    r#"{"message":"Monthly limit exhausted until 2026-01-02 10:00:00","statusCode":429}"#,
    "fault RateLimited: Monthly limit exhausted until 2026-01-02 10:00:00 until 2026-01-02T10:00:00Z"
)]
#[case::retryable_with_a_time(
    r#"{"message":"odd, try again in 5 minutes","isRetryable":true}"#,
    "fault Server: odd, try again in 5 minutes until 2025-12-29T19:26:02Z"
)]
#[case::header_before_message(
    r#"{"message":"Try again in 3 hours","statusCode":429,"responseHeaders":{"Retry-After":"60"}}"#,
    "fault RateLimited: Try again in 3 hours until 2025-12-29T19:22:02Z"
)]
#[case::nonsense(
    r#"{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"-1e999"}}"#,
    "fault RateLimited: slow down"
)]
#[case::retryable(r#"{"message":"odd","isRetryable":true}"#, "fault Server: odd")]
#[case::refused(
    r#"{"message":"odd","statusCode":400,"isRetryable":false}"#,
    "fault InvalidRequest: odd"
)]
#[case::nothing("{}", "fault Other: APIError")]
fn errors_tell_whether_and_when_to_try_again(#[case] data: &str, #[case] expected: &str) {
    let stream = format!(
        r#"{{"type":"error","timestamp":1767036062000,"sessionID":"s","error":{{"name":"APIError","data":{data}}}}}"#
    );
    assert_eq!(told(&mut OpenCode::default(), &stream), [expected]);
}

#[rstest]
#[case::known_to_have_ended(5, Some(Exit { code: Some(0), signal: None }), Outcome::Succeeded)]
#[case::last_step_done(6, None, Outcome::Succeeded)]
#[case::inside_a_step(5, None, Outcome::CutOff)]
#[case::after_a_call(3, None, Outcome::CutOff)]
#[case::failed(6, FAILED, Outcome::Failed)]
fn there_is_no_terminal_record(
    #[case] records: usize,
    #[case] exit: Option<Exit>,
    #[case] expected: Outcome,
) {
    let stream: Vec<&str> = STEPS.trim().lines().take(records).collect();
    assert_eq!(read(&mut OpenCode::default(), stream.join("\n").as_bytes(), exit).1, expected);
}

#[rstest]
#[case("length", "fault OutputLimit: the answer reached the limit of output tokens")]
#[case("content-filter", "fault Other: the answer was withheld by a content filter")]
fn an_answer_that_was_broken_off_has_failed(#[case] reason: &str, #[case] expected: &str) {
    let last = format!(r#""reason":"{reason}""#);
    let stream = STEPS.replace(r#""reason":"stop""#, &last);
    let (told, outcome) = read(&mut OpenCode::default(), stream.as_bytes(), None);
    assert_eq!((told.last().map(String::as_str), outcome), (Some(expected), Outcome::Failed));
    // It goes on all the same, if it can.
    let stream = format!("{stream}{STEPS}");
    assert_eq!(read(&mut OpenCode::default(), stream.as_bytes(), None).1, Outcome::Succeeded);
}
