use jiff::tz::TimeZone;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// A Sunday, 21:00 in New York, where summer time begins at 02:00 of that day.
const NOW: &str = "2026-03-09T01:00:00Z";

fn new_york() -> TimeZone {
    TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap()
}

fn moment_at(now: &str) -> Moment {
    Moment {
        now: now.parse().unwrap(),
        zone: new_york(),
        is_known: true,
        is_live: false,
        zone_named: |name| match name {
            "Asia/Saigon" => Some(TimeZone::fixed(jiff::tz::offset(7))),
            _ => None,
        },
    }
}

#[rstest]
#[case("5-hour limit reached ∙ resets 12am", None)]
#[case("You've hit your weekly limit · resets Mon 12:00am", None)]
#[case("limit reached, resets tomorrow at 9am", None)]
#[case("try again in 5 minutes", None)]
#[case("resets Oct 6, 1pm", None)]
#[case("resets Oct 6, 2026 1pm", Some("2026-10-06T17:00:00Z"))]
#[case("resets 2026-08-09 00:00 UTC", Some("2026-08-09T00:00:00Z"))]
#[case("Claude AI usage limit reached|1751997600", Some("2025-07-08T18:00:00Z"))]
fn where_nobody_knows_when_it_was_said_only_a_date_is_a_time(
    #[case] text: &str,
    #[case] expected: Option<&str>,
) {
    let moment = Moment { is_known: false, ..moment_at(NOW) };
    let expected = expected.map(|time| time.parse().unwrap());
    assert_eq!(reset_time(text, &moment), expected);
}

#[rstest]
#[case("5-hour limit reached ∙ resets 12am", FaultKind::RateLimited)]
#[case("5-HOUR LIMIT REACHED · resets 12am", FaultKind::RateLimited)]
#[case("You've hit your session limit · resets 3:45pm", FaultKind::RateLimited)]
#[case("You’ve hit your limit · resets 3:45pm", FaultKind::RateLimited)]
#[case("You've hit your weekly limit · resets Mon 12:00am", FaultKind::RateLimited)]
#[case("You've hit your Opus limit · resets 9:50pm (Asia/Saigon)", FaultKind::RateLimited)]
#[case("Claude AI usage limit reached|1751997600", FaultKind::RateLimited)]
#[case("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", FaultKind::SpendCap)]
#[case("Credit balance is too low", FaultKind::Credits)]
#[case("API Error: Request rejected (429) · try later", FaultKind::RateLimited)]
#[case(
    "API Error: Server is temporarily limiting requests (not your usage limit)",
    FaultKind::Overloaded
)]
#[case("API Error: Repeated 529 Overloaded errors. Try again.", FaultKind::Overloaded)]
#[case("API Error: 500 Internal server error", FaultKind::Server)]
#[case("API Error: 502 upstream", FaultKind::Server)]
#[case("Request timed out", FaultKind::Network)]
#[case("Connection closed mid-response", FaultKind::Network)]
#[case("Response stalled mid-stream", FaultKind::Network)]
#[case(
    "API Error: Claude's response exceeded the 32000 output token maximum. To configure",
    FaultKind::OutputLimit
)]
#[case("Prompt is too long", FaultKind::ContextFull)]
#[case("Context limit reached · /compact or /clear to continue", FaultKind::ContextFull)]
#[case("Input is too long for requested model.", FaultKind::ContextFull)]
#[case("Invalid API key · Fix external API key", FaultKind::Authentication)]
#[case("Not logged in · Please run /login", FaultKind::Authentication)]
#[case("OAuth token has expired", FaultKind::Authentication)]
#[case(
    "Please run /login · API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"}}",
    FaultKind::Authentication
)]
#[case(
    "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too low to access\"}}",
    FaultKind::Credits
)]
#[case(
    "You've hit your usage limit. Upgrade to Pro (x) or try again at 2:54 AM.",
    FaultKind::RateLimited
)]
#[case(
    "You've hit your usage limit for codex. Switch to another model now, or",
    FaultKind::RateLimited
)]
#[case("Your workspace is out of credits. Ask", FaultKind::Credits)]
#[case("You hit your spend cap set by", FaultKind::SpendCap)]
#[case("Your organization has reached its monthly spend limit", FaultKind::SpendCap)]
#[case("You've reached your spending limit · resets 3:45pm", FaultKind::SpendCap)]
#[case("Quota exceeded. Check your plan and billing details.", FaultKind::Credits)]
#[case(
    "You exceeded your current quota, please check your plan and billing details. Please retry in 30.5s",
    FaultKind::RateLimited
)]
#[case("Selected model is at capacity. Please try a different model.", FaultKind::Overloaded)]
#[case("We're currently experiencing high demand, which may cause", FaultKind::Overloaded)]
#[case("Streaming response failed: [503] The request queue is full.", FaultKind::Overloaded)]
#[case("Streaming response failed: [500] oops", FaultKind::Server)]
#[case("Streaming response failed: [503] 402 tokens in, no error", FaultKind::Overloaded)]
#[case("stream disconnected before completion: x", FaultKind::Network)]
#[case("request timed out", FaultKind::Network)]
#[case("models/gemini-9 is not found for API version v1beta, or", FaultKind::UnknownModel)]
#[case("models/gemini-2.5-pro is not found for API version v1beta", FaultKind::UnknownModel)]
#[case("Your organization has disabled subscription access.", FaultKind::Authentication)]
#[case("shared rollout token budget exhausted", FaultKind::BudgetLimit)]
#[case(
    "{\"type\":\"error\",\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":\"The 'x' model is not supported when using Codex with a ChatGPT account.\"}}",
    FaultKind::UnknownModel
)]
#[case(
    "{\"type\":\"error\",\"status\":400,\"error\":{\"message\":\"no\"}}",
    FaultKind::InvalidRequest
)]
#[case(
    "{\"status\":401,\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad token\"}}",
    FaultKind::Authentication
)]
#[case(
    "API Error: 403 {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}",
    FaultKind::Authentication
)]
#[case(
    "{\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad field\"}}",
    FaultKind::InvalidRequest
)]
#[case("Loop detected, stopping execution", FaultKind::Loop)]
#[case("Maximum session turns exceeded", FaultKind::TurnLimit)]
#[case("litellm.RateLimitError: AnthropicException - x", FaultKind::RateLimited)]
#[case("litellm.APIConnectionError: x", FaultKind::Network)]
#[case("litellm.BadRequestError: x", FaultKind::InvalidRequest)]
#[case("litellm.ContextWindowExceededError: x", FaultKind::ContextFull)]
#[case("litellm.AuthenticationError: x", FaultKind::Authentication)]
#[case("litellm.InternalServerError: x", FaultKind::Server)]
#[case("litellm.ServiceUnavailableError: x", FaultKind::Overloaded)]
#[case("litellm.Timeout: x", FaultKind::Network)]
#[case("litellm.NotFoundError: x", FaultKind::UnknownModel)]
#[case("litellm.APIError: x", FaultKind::Server)]
#[case("write failed: No space left on device (os error 28)", FaultKind::Machine)]
#[case("Disk quota exceeded", FaultKind::Machine)]
fn texts(#[case] text: &str, #[case] kind: FaultKind) {
    let fault = recognise(text, &moment_at(NOW)).unwrap();
    assert_eq!(fault.kind, kind);
}

#[rstest]
#[case("")]
#[case("The tests pass.")]
#[case("it took 429 steps")]
#[case("the build failed: 500 of 503 files are left")]
#[case("Deploy failed: [step 3] 402 objects")]
#[case("Upload failed: [a, b] after 429 of 503 files")]
#[case("Check failed: [1] of 500")]
#[case("{")]
#[case("{\"message\":1}")]
#[case("cat: docs/rate limit.md: No such file")]
#[case("cannot read src/auth/authentication.rs")]
#[case("no such file: timeout_test.py")]
fn other_texts_are_no_fault(#[case] text: &str) {
    assert_eq!(recognise(text, &moment_at(NOW)), None);
}

#[test]
fn a_wrapped_message_is_told_without_its_wrapping() {
    let inner = r#"{"error":{"message":"Prompt is too long"}}"#;
    let outer = serde_json::json!({"message": inner}).to_string();
    let fault = recognise(&format!("API Error: 400 {outer}"), &moment_at(NOW)).unwrap();
    assert_eq!(fault.message, "API Error: 400 Prompt is too long");
    assert_eq!(fault.kind, FaultKind::ContextFull);
}

#[rstest]
#[case(429, "x", Some(FaultKind::RateLimited))]
#[case(429, "insufficient_quota", Some(FaultKind::Credits))]
#[case(529, "", Some(FaultKind::Overloaded))]
#[case(401, "", Some(FaultKind::Authentication))]
#[case(401, "invalid_request_error", Some(FaultKind::Authentication))]
#[case(401, "Internal server error", Some(FaultKind::Authentication))]
#[case(418, "", Some(FaultKind::InvalidRequest))]
#[case(504, "", Some(FaultKind::Server))]
#[case(200, "", None)]
fn statuses(#[case] status: u16, #[case] message: &str, #[case] kind: Option<FaultKind>) {
    let fault = from_status(status, message, &moment_at(NOW));
    assert_eq!(fault.map(|fault| fault.kind), kind);
}

#[test]
fn only_what_can_be_waited_out_has_a_time() {
    let fault = recognise("Prompt is too long, try again in 5 minutes", &moment_at(NOW)).unwrap();
    assert_eq!(fault.retry_at, None);
}

#[rstest]
#[case(FaultKind::RateLimited, Some("2026-03-09T01:05:00Z"))]
#[case(FaultKind::Server, Some("2026-03-09T01:05:00Z"))]
#[case(FaultKind::Authentication, None)]
fn where_something_else_tells_the_kind_the_message_still_tells_the_time(
    #[case] kind: FaultKind,
    #[case] expected: Option<&str>,
) {
    let fault = of_kind(kind, "Not now. Try again in 5 minutes", &moment_at(NOW));
    assert_eq!(fault.kind, kind);
    assert_eq!(fault.retry_at, expected.map(|at| at.parse().unwrap()));
}

#[rstest]
#[case::east("limit · resets 3pm (UTC+2)", "2026-03-09T13:00:00Z")]
#[case::west("limit · resets 3pm (GMT-5)", "2026-03-09T20:00:00Z")]
#[case::by_half_an_hour("try again at 3:00 PM UTC+05:30", "2026-03-09T09:30:00Z")]
#[case::with_a_date("resets 2026-03-10 00:00 UTC+2", "2026-03-09T22:00:00Z")]
#[case::universal("resets 2026-03-10 00:00 UTC", "2026-03-10T00:00:00Z")]
#[case::eastern("limit · resets 3pm EST", "2026-03-09T20:00:00Z")]
#[case::pacific_in_summer("limit · resets 3:30pm (PDT)", "2026-03-09T22:30:00Z")]
#[case::with_a_weekday("limit · resets Tue 15:00 CST", "2026-03-10T21:00:00Z")]
#[case::named_with_the_sign_turned_east("limit · resets 3pm (Etc/GMT-9)", "2026-03-09T06:00:00Z")]
#[case::named_with_the_sign_turned_west("limit · resets 3pm (Etc/GMT+5)", "2026-03-09T20:00:00Z")]
#[case::no_zone("limit · resets 3pm, says GMT-2026", "2026-03-09T15:00:00Z")]
#[case::other_letters("the EST team's limit · resets 3pm", "2026-03-09T19:00:00Z")]
#[case::a_number_of_another_kind(
    "UTC-based limit · resets 3pm (Asia/Saigon)",
    "2026-03-09T08:00:00Z"
)]
fn zones_are_read_as_they_are_written(#[case] text: &str, #[case] expected: &str) {
    let expected = expected.parse().unwrap();
    assert_eq!(reset_time(text, &moment_at(NOW)), Some(expected));
}

#[rstest]
#[case::unix("usage limit reached|1751997600", Some("2025-07-08T18:00:00Z"))]
#[case::unix_in_milliseconds("usage limit reached|1751997600000", Some("2025-07-08T18:00:00Z"))]
#[case::midnight("resets 12am", Some("2026-03-09T04:00:00Z"))]
#[case::noon("resets 12pm", Some("2026-03-09T16:00:00Z"))]
#[case::afternoon("resets 3:45pm", Some("2026-03-09T19:45:00Z"))]
#[case::later_today("resets at 11pm", Some("2026-03-09T03:00:00Z"))]
#[case::just_passed("resets 8:55pm", Some(NOW))]
#[case::passed("resets 8:45pm", Some("2026-03-10T00:45:00Z"))]
#[case::tomorrow("resets tomorrow at 9am", Some("2026-03-09T13:00:00Z"))]
#[case::tomorrow_though_still_to_come("resets tomorrow at 11pm", Some("2026-03-10T03:00:00Z"))]
#[case::today("resets today at 11pm", Some("2026-03-09T03:00:00Z"))]
#[case::weekday("resets Mon 12:00am", Some("2026-03-09T04:00:00Z"))]
#[case::weekday_of_next_week("resets Sunday 8am", Some("2026-03-15T12:00:00Z"))]
#[case::today_is_that_weekday("resets Sun 10pm", Some("2026-03-09T02:00:00Z"))]
#[case::zone("resets 9:50pm (Asia/Saigon)", Some("2026-03-09T14:50:00Z"))]
#[case::unknown_zone("resets 9:50pm (Mars/Base)", Some("2026-03-09T01:50:00Z"))]
#[case::utc("resets 2am UTC", Some("2026-03-09T02:00:00Z"))]
#[case::codex_today("or try again at 2:54 AM.", Some("2026-03-09T06:54:00Z"))]
#[case::codex_later("Try again at Aug 22nd, 2026 2:54 AM.", Some("2026-08-22T06:54:00Z"))]
#[case::no_year("resets Mar 12, 1pm (UTC)", Some("2026-03-12T13:00:00Z"))]
#[case::next_year("resets Jan 2 at 9am (UTC)", Some("2027-01-02T09:00:00Z"))]
#[case::iso_with_blank("(daily; resets 2026-08-09 00:00 UTC)", Some("2026-08-09T00:00:00Z"))]
#[case::iso_with_a_word(
    "You will regain access on 2026-09-01 at 00:00 UTC.",
    Some("2026-09-01T00:00:00Z")
)]
#[case::iso("until 2026-08-09T00:00:00.5Z", Some("2026-08-09T00:00:00Z"))]
#[case::iso_with_offset("at 2026-08-09T00:00:00-02:30", Some("2026-08-09T02:30:00Z"))]
#[case::iso_here("at 2026-08-09 00:00:00", Some("2026-08-09T04:00:00Z"))]
#[case::minutes("try again in 5 minutes", Some("2026-03-09T01:05:00Z"))]
#[case::several_units("try again in 2 hours and 30 minutes", Some("2026-03-09T03:30:00Z"))]
#[case::days("Try again in 3 days 4 hours.", Some("2026-03-12T05:00:00Z"))]
#[case::seconds("Please retry in 30.5s.", Some("2026-03-09T01:00:30.5Z"))]
#[case::short_units("try again in 6m0s", Some("2026-03-09T01:06:00Z"))]
#[case::milliseconds("try again in 350ms", Some("2026-03-09T01:00:00.35Z"))]
#[case::retry_after("Retry-After: 30", Some("2026-03-09T01:00:30Z"))]
#[case::retry_after_in_words("retry after 30", Some("2026-03-09T01:00:30Z"))]
#[case::header_of_milliseconds(
    "Resets in 11 days. retry-after-ms=973851000",
    Some("2026-03-20T07:30:51Z")
)]
#[case::twenty_four_hours("resets 23:30", Some("2026-03-09T03:30:00Z"))]
#[case::no_time("limit reached", None)]
#[case::impossible("resets 25:00", None)]
#[case::impossible_half("resets 13pm", None)]
#[case::bare_number("resets 5", None)]
#[case::impossible_date("Feb 30th, 2026 2:54 AM", None)]
fn times(#[case] text: &str, #[case] expected: Option<&str>) {
    let expected = expected.map(|time| time.parse().unwrap());
    assert_eq!(reset_time(text, &moment_at(NOW)), expected);
}

#[test]
fn a_time_that_summer_time_leaves_out_is_the_one_after_it() {
    let before = moment_at("2026-03-08T05:30:00Z");
    let expected = "2026-03-08T07:30:00Z".parse().unwrap();
    assert_eq!(reset_time("resets 2:30am", &before), Some(expected));
}

#[test]
fn shortly_after_midnight_the_evening_has_just_been() {
    let moment = moment_at("2026-03-10T04:03:00Z");
    assert_eq!(reset_time("resets 11:58pm", &moment), Some(moment.now));
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), number in any::<u64>()) {
        let moment = moment_at(NOW);
        recognise(&text, &moment);
        for form in ["resets {}", "again in {} days", "|{}", "retry after {}", "resets mon {}:00pm"] {
            let text = form.replace("{}", &number.to_string());
            reset_time(&text, &moment);
            recognise(&text, &moment);
        }
    }
}

/// As Codex passes on what the service answered.
#[rstest]
#[case::at(r#"{"type":"error","status":429,"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1790000000,"resets_in_seconds":3600}}"#, Some("2026-09-21T14:13:20Z"))]
#[case::later(r#"unexpected status 429 Too Many Requests: {"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":3600}}"#, Some("2026-03-09T02:00:00Z"))]
#[case::nonsense(r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":-1,"resets_in_seconds":-5}}"#, None)]
fn a_reset_in_a_field_is_read(#[case] text: &str, #[case] expected: Option<&str>) {
    let fault = recognise(text, &moment_at(NOW)).expect("a limit");
    assert_eq!(fault.kind, FaultKind::RateLimited);
    assert_eq!(fault.message.rsplit(": ").next(), Some("The usage limit has been reached"));
    assert_eq!(fault.retry_at, expected.map(|at| at.parse().unwrap()));
}
