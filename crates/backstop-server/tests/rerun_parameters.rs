//! What can't be a question is refused by name, and never lets anything go on.

mod stand_in;

use axum::http::StatusCode;
use proptest::prelude::*;
use rstest::rstest;
use stand_in::TestService;

const PATH: &str = "/api/github/prs/7/checks/stop-decision";
const FINE: &str = "owner=acme&repo=shop&currentJobAttempts=0&totalPrAttempts=0";

#[rstest]
#[case::no_number(
    "/api/github/prs/seven/checks/stop-decision?{FINE}",
    "INVALID_PR_NUMBER",
    "prNumber"
)]
#[case::zero("/api/github/prs/0/checks/stop-decision?{FINE}", "INVALID_PR_NUMBER", "prNumber")]
#[case::negative("/api/github/prs/-1/checks/stop-decision?{FINE}", "INVALID_PR_NUMBER", "prNumber")]
#[case::fraction(
    "/api/github/prs/7.0/checks/stop-decision?{FINE}",
    "INVALID_PR_NUMBER",
    "prNumber"
)]
#[case::huge(
    "/api/github/prs/99999999999999999999/checks/stop-decision?{FINE}",
    "INVALID_PR_NUMBER",
    "prNumber"
)]
#[case::beyond_doubles(
    "/api/github/prs/9007199254740992/checks/stop-decision?{FINE}",
    "INVALID_PR_NUMBER",
    "prNumber"
)]
#[case::no_text("/api/github/prs/%FF/checks/stop-decision?{FINE}", "INVALID_PR_NUMBER", "prNumber")]
#[case::class_that_is_no_text("{PATH}?{FINE}&failureClass=%ff", "INVALID_INPUT", "failureClass")]
#[case::signals_that_are_no_text(
    "{PATH}?{FINE}&previousFailureSignals=%ff,%fe",
    "INVALID_INPUT",
    "previousFailureSignals"
)]
#[case::half_a_character("{PATH}?{FINE}&failureClass=a%C3", "INVALID_INPUT", "failureClass")]
#[case::nothing("{PATH}", "MISSING_PARAMS", "owner")]
#[case::no_owner(
    "{PATH}?repo=shop&currentJobAttempts=0&totalPrAttempts=0",
    "MISSING_PARAMS",
    "owner"
)]
#[case::blank_repo(
    "{PATH}?owner=acme&repo=%20&currentJobAttempts=0&totalPrAttempts=0",
    "MISSING_PARAMS",
    "repo"
)]
#[case::no_job_attempts(
    "{PATH}?owner=acme&repo=shop&totalPrAttempts=0",
    "MISSING_PARAMS",
    "currentJobAttempts"
)]
#[case::no_total(
    "{PATH}?owner=acme&repo=shop&currentJobAttempts=0",
    "MISSING_PARAMS",
    "totalPrAttempts"
)]
#[case::slash_in_owner(
    "{PATH}?owner=a%2Fb&repo=shop&currentJobAttempts=0&totalPrAttempts=0",
    "INVALID_INPUT",
    "owner"
)]
#[case::parent_folder(
    "{PATH}?owner=acme&repo=..&currentJobAttempts=0&totalPrAttempts=0",
    "INVALID_INPUT",
    "repo"
)]
#[case::word(
    "{PATH}?owner=acme&repo=shop&currentJobAttempts=two&totalPrAttempts=0",
    "INVALID_INPUT",
    "currentJobAttempts"
)]
#[case::below_zero(
    "{PATH}?owner=acme&repo=shop&currentJobAttempts=0&totalPrAttempts=-1",
    "INVALID_INPUT",
    "totalPrAttempts"
)]
#[case::overflow(
    "{PATH}?owner=acme&repo=shop&currentJobAttempts=0&totalPrAttempts=18446744073709551616",
    "INVALID_INPUT",
    "totalPrAttempts"
)]
#[case::sign(
    "{PATH}?owner=acme&repo=shop&currentJobAttempts=%2B1&totalPrAttempts=0",
    "INVALID_INPUT",
    "currentJobAttempts"
)]
#[case::run_zero("{PATH}?{FINE}&runId=0", "INVALID_INPUT", "runId")]
#[case::run_blank("{PATH}?{FINE}&runId=", "INVALID_INPUT", "runId")]
#[case::class_blank("{PATH}?{FINE}&failureClass=%20", "INVALID_INPUT", "failureClass")]
#[case::class_with_nul("{PATH}?{FINE}&failureClass=a%00b", "INVALID_INPUT", "failureClass")]
#[case::signal_with_nul(
    "{PATH}?{FINE}&previousFailureSignals=a,%00",
    "INVALID_INPUT",
    "previousFailureSignals"
)]
#[case::id_with_nul("{PATH}?{FINE}&requestId=a%00", "INVALID_INPUT", "requestId")]
#[case::no_time("{PATH}?{FINE}&lastChangedAt=yesterday", "INVALID_INPUT", "lastChangedAt")]
#[case::no_zone(
    "{PATH}?{FINE}&lastChangedAt=2026-05-04T10:00:00",
    "INVALID_INPUT",
    "lastChangedAt"
)]
#[case::only_a_date("{PATH}?{FINE}&firstFailureAt=2026-05-04", "INVALID_INPUT", "firstFailureAt")]
#[case::seconds_since_1970(
    "{PATH}?{FINE}&firstFailureAt=1780000000",
    "INVALID_INPUT",
    "firstFailureAt"
)]
#[case::no_such_day(
    "{PATH}?{FINE}&firstFailureAt=2026-02-30T10:00:00Z",
    "INVALID_INPUT",
    "firstFailureAt"
)]
#[case::plus_not_escaped(
    "{PATH}?{FINE}&firstFailureAt=2026-02-03T10:00:00+02:00",
    "INVALID_INPUT",
    "firstFailureAt"
)]
#[case::blank_id("{PATH}?{FINE}&requestId=", "INVALID_INPUT", "requestId")]
#[case::id_with_a_line_break("{PATH}?{FINE}&requestId=a%0D%0Ab", "INVALID_INPUT", "requestId")]
#[case::twice("{PATH}?{FINE}&owner=acme", "INVALID_INPUT", "owner")]
#[case::twice_with_signals(
    "{PATH}?{FINE}&previousFailureSignals=a&previousFailureSignals=b",
    "INVALID_INPUT",
    "previousFailureSignals"
)]
#[case::misspelt("{PATH}?{FINE}&failureclass=lint%20error", "INVALID_INPUT", "failureclass")]
#[case::long_class("{PATH}?{FINE}&failureClass={LONG}", "INVALID_INPUT", "failureClass")]
#[case::long_signal(
    "{PATH}?{FINE}&previousFailureSignals=a,{LONG}",
    "INVALID_INPUT",
    "previousFailureSignals"
)]
#[case::many_signals(
    "{PATH}?{FINE}&previousFailureSignals={MANY}",
    "INVALID_INPUT",
    "previousFailureSignals"
)]
#[case::long_number("{PATH}?{FINE}&runId={DIGITS}", "INVALID_INPUT", "runId")]
#[tokio::test]
async fn what_is_wrong_is_named(#[case] path: &str, #[case] code: &str, #[case] field: &str) {
    let test = TestService::start().await;
    let path = path
        .replace("{PATH}", PATH)
        .replace("{FINE}", FINE)
        .replace("{LONG}", &"x".repeat(300))
        .replace("{MANY}", &"x,".repeat(300))
        .replace("{DIGITS}", &"9".repeat(3_000));
    let reply = test.get(&path).await;
    let problem = reply.json();
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{problem}");
    assert_eq!((problem["code"].as_str(), problem["field"].as_str()), (Some(code), Some(field)));
    assert!(problem["error"].as_str().unwrap().contains(field), "{problem}");
    assert!(reply.text.len() < 1_000, "{problem}");
    assert_eq!(reply.headers["content-type"], "application/problem+json");
    assert!(reply.headers.contains_key("x-request-id"));
    assert!(test.audit().await.is_empty());
}

#[tokio::test]
async fn a_time_that_is_out_of_range_is_told_so() {
    let test = TestService::start().await;
    let last = "currentJobAttempts=0&totalPrAttempts=0&lastChangedAt=";
    let reply = test.ask(&format!("{last}9999-12-31T23:59:59Z")).await;
    let told = reply.word("error");
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(told.contains("out of range") && told.contains("before 9999-12-30"), "{told}");
    let told = test.ask(&format!("{last}2026-02-30T10:00:00Z")).await.word("error");
    assert!(told.contains("is not a time of RFC 3339"), "{told}");
}

#[tokio::test]
async fn borders_are_taken() {
    let test = TestService::start().await;
    for more in [
        "currentJobAttempts=9007199254740991&totalPrAttempts=0&runId=9007199254740991",
        &format!(
            "currentJobAttempts=0&totalPrAttempts=0&previousFailureSignals={}",
            "%C3%A4".repeat(256)
        ),
        "currentJobAttempts=007&totalPrAttempts=0&lastChangedAt=0001-01-01T00:00:00z",
        "currentJobAttempts=0&totalPrAttempts=0&firstFailureAt=9999-12-01T23:59:59.999999999-23:59",
    ] {
        let reply = test.ask(more).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    }
}

/// Values that come close to what is meant.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,20}",
        "-?[0-9]{1,3}(\\.[0-9])?",
        "[a-z/.%+ ,]{0,12}",
        "\\PC{0,20}",
        Just("2026-05-04T10:00:00Z".to_owned()),
        "20[0-9]{2}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?",
        Just(String::new()),
    ]
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Anything is answered or refused, and only what was well asked may go on.
    #[test]
    fn nothing_breaks_and_nothing_bad_goes_on(
        number in value(),
        parameters in prop::collection::vec(
            (prop::sample::select(vec![
                "owner", "repo", "currentJobAttempts", "totalPrAttempts", "runId", "failureClass",
                "lastChangedAt", "firstFailureAt", "previousFailureSignals", "requestId", "other",
            ]), value()),
            0..4,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let test = TestService::start().await;
            let number = if number.is_empty() { "7".to_owned() } else { escaped(&number) };
            let more: String =
                parameters.iter().map(|(name, value)| format!("&{name}={}", escaped(value))).collect();
            let path = format!("/api/github/prs/{number}/checks/stop-decision?{FINE}{more}");
            let reply = test.get(&path).await;
            let rows = test.audit().await.len();
            match reply.status {
                StatusCode::OK => assert_eq!(rows, 1, "{}", reply.text),
                StatusCode::BAD_REQUEST => assert_eq!(rows, 0, "{}", reply.text),
                other => panic!("{other}: {path}: {}", reply.text),
            }
            // Every name of the fine part is given twice then.
            let repeats = parameters.iter().any(|(name, _)| FINE.contains(name));
            let unknown = parameters.iter().any(|(name, _)| *name == "other");
            if repeats || unknown {
                assert_ne!(reply.word("decision"), "CONTINUE");
            }
            let wrong_time = parameters.iter().any(|(name, value)| {
                name.ends_with("At") && value.parse::<backstop_core::time::Timestamp>().is_err()
            });
            if wrong_time {
                assert_eq!(reply.status, StatusCode::BAD_REQUEST);
            }
        });
    }
}
