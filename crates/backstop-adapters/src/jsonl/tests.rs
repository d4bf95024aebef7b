use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing::{FAILED, read, told};

fn mapping(value: Value) -> JsonlMapping {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_mapping_finds_the_figures() {
    let mapping = mapping(json!({
        "input_tokens": "usage.in", "output_tokens": "usage.calls[].out", "cost_usd": "usage.usd",
        "cache_read_tokens": "usage.hit", "cache_write_tokens": "usage.write", "model": "model",
        "message": "say", "error": "error", "context_used": "ctx.used", "context_limit": "ctx.max",
    }));
    let stream = r#"
{"model":"m","usage":{"in":10,"calls":[{"out":1},{"out":2}],"usd":0.5,"hit":3,"write":4},"error":null}
{"say":"Hello.","ctx":{"used":5,"max":10}}
{"error":{"message":"rate limit exceeded"}}
{"error":""}
"#;
    assert_eq!(
        told(&mut Jsonl::new(mapping), stream),
        [
            "usage 10 3 3 4 $0.5000 m",
            "context 5 of 10",
            "said Hello.",
            "fault RateLimited: rate limit exceeded",
        ]
    );
}

#[test]
fn everything_that_a_path_leads_to_counts() {
    let mapping = mapping(json!({
        "message": "choices.*.text", "error": "errors[]", "input_tokens": "calls[].in",
    }));
    let stream = r#"
{"choices":[{"text":"hello"},{"text":"world"}],"calls":[{"in":1},{"in":2}]}
{"choices":[{"text":""},{"text":"alone"}]}
{"errors":[null,"rate limit exceeded",{"message":"invalid api key"}]}
"#;
    assert_eq!(
        told(&mut Jsonl::new(mapping), stream),
        [
            "usage 3 0 0 0",
            "said hello\nworld",
            "said alone",
            "fault RateLimited: rate limit exceeded",
            "fault Authentication: invalid api key",
        ]
    );
}

#[test]
fn totals_are_told_as_what_was_added() {
    let mapping = mapping(json!({
        "input_tokens": "in", "output_tokens": "out", "cost_usd": "usd", "totals": true,
    }));
    let stream = r#"
{"in":10,"out":1,"usd":0.5}
{"in":30}
{"in":30,"out":5,"usd":0.75}
{"in":2,"out":1,"usd":0.25}
"#;
    assert_eq!(
        told(&mut Jsonl::new(mapping), stream),
        [
            "usage 10 1 0 0 $0.5000",
            "usage 20 0 0 0",
            "usage 0 4 0 0 $0.2500",
            "usage 2 1 0 0 $0.2500"
        ]
    );
}

#[rstest]
#[case(json!({}), "nothing is mapped")]
#[case(json!({"model": "m"}), "nothing is mapped")]
#[case(json!({"input": "a"}), "unknown field `input`")]
#[case(json!({"input_tokens": "a..b"}), "the path `a..b` has an empty name in it")]
#[case(json!({"context_used": "a"}), "`context_used` needs `context_limit` beside it")]
#[case(json!({"context_limit": "a"}), "`context_limit` needs `context_used` beside it")]
fn a_mapping_that_makes_no_sense_is_refused(#[case] value: Value, #[case] expected: &str) {
    let error = serde_json::from_value::<JsonlMapping>(value).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_failing_exit_status_is_a_failure() {
    let mapping = mapping(json!({"message": "say"}));
    assert_eq!(read(&mut Jsonl::new(mapping), b"{\"say\":\"x\"}", FAILED).1, Outcome::Failed);
}
