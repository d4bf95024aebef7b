mod gen_ai;

use backstop_core::event::EventKind;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::Shown;
use crate::testing::{in_words, moment};

fn told(bodies: &[Value]) -> Vec<String> {
    let mut telemetry = Telemetry::default();
    let mut told = Vec::new();
    for body in bodies {
        let export = Export::read(body.to_string().as_bytes()).expect("an export");
        let mut hear = |heard: Heard<'_>| told.extend(in_words(&heard));
        telemetry.hear(&export, &moment(), &mut hear);
        tell_corrected(&mut telemetry, &mut hear);
    }
    let is_refused = telemetry.is_refused();
    let before = told.len();
    telemetry.tell_refused(&mut |heard: Heard<'_>| told.extend(in_words(&heard)));
    assert_eq!((told.len() > before, telemetry.is_refused()), (is_refused, false));
    told
}

/// Tells all of an iteration anew, if more was told of it than was used.
fn tell_corrected(telemetry: &mut Telemetry, hear: &mut dyn FnMut(Heard<'_>)) {
    let Some(used) = telemetry.corrected() else { return };
    hear(Heard::Shown(Shown::Notice("anew")));
    used.into_iter().for_each(|usage| hear(Heard::Event(usage.into())));
}

/// Attributes as they are exported: whole numbers as texts, all others as they are.
fn attributes(pairs: &Value) -> Value {
    let pairs = pairs.as_object().expect("an object").iter();
    pairs
        .map(|(key, value)| match value {
            Value::Number(number) if number.is_f64() => {
                json!({"key": key, "value": {"doubleValue": number}})
            }
            Value::Number(number) => {
                json!({"key": key, "value": {"intValue": number.to_string()}})
            }
            Value::Bool(truth) => json!({"key": key, "value": {"boolValue": truth}}),
            other => json!({"key": key, "value": {"stringValue": other}}),
        })
        .collect()
}

fn logs(records: &[Value]) -> Value {
    json!({"resourceLogs": [{
        "resource": {"attributes": attributes(&json!({"service.name": "claude-code"}))},
        "scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": records}],
    }]})
}

/// A record of Claude Code: its body has the prefix, its attribute has not.
fn record(name: &str, sequence: u64, pairs: &Value) -> Value {
    let mut all = json!({"session.id": "s1", "event.name": name, "event.sequence": sequence});
    all.as_object_mut().expect("an object").extend(pairs.as_object().expect("an object").clone());
    json!({
        "timeUnixNano": (1_785_000_000_000_000_000 + sequence).to_string(),
        "body": {"stringValue": format!("claude_code.{name}")},
        "attributes": attributes(&all),
    })
}

fn request(sequence: u64) -> Value {
    record(
        "api_request",
        sequence,
        &json!({
            "model": "claude-opus-4-5", "cost_usd": 0.25, "duration_ms": 900, "input_tokens": 10,
            "output_tokens": 20, "cache_read_tokens": 3000, "cache_creation_tokens": 400,
            "query_source": "subagent",
        }),
    )
}

fn metrics(service: &str, metrics: &[Value]) -> Value {
    json!({"resourceMetrics": [{
        "resource": {"attributes": attributes(&json!({"service.name": service}))},
        "scopeMetrics": [{"metrics": metrics}],
    }]})
}

fn sum(name: &str, temporality: u64, points: &[Value]) -> Value {
    json!({"name": name, "sum": {
        "aggregationTemporality": temporality, "isMonotonic": true, "dataPoints": points,
    }})
}

fn point(start: u64, time: u64, value: &Value, pairs: &Value) -> Value {
    let figure = if value.is_f64() { "asDouble" } else { "asInt" };
    let value = if value.is_f64() { value.clone() } else { json!(value.to_string()) };
    json!({"startTimeUnixNano": start.to_string(), "timeUnixNano": time.to_string(),
        figure: value, "attributes": attributes(pairs)})
}

/// The counters of Claude Code for one request as [`request`] is one.
fn counters(session: Option<&str>, time: u64) -> Value {
    let point = |kind: Option<&str>, value: Value| {
        let mut pairs = json!({"model": "claude-opus-4-5"});
        if let Some(session) = session {
            pairs["session.id"] = json!(session);
        }
        if let Some(kind) = kind {
            pairs["type"] = json!(kind);
        }
        point(time, time + 1, &value, &pairs)
    };
    metrics(
        "claude-code",
        &[
            sum(
                "claude_code.token.usage",
                1,
                &[
                    point(Some("input"), json!(10)),
                    point(Some("output"), json!(20)),
                    point(Some("cacheRead"), json!(3000)),
                    point(Some("cacheCreation"), json!(400)),
                ],
            ),
            sum("claude_code.cost.usage", 1, &[point(None, json!(0.25))]),
        ],
    )
}

const REQUEST: &str = "usage 10 20 3000 400 $0.2500 claude-opus-4-5";

#[test]
fn a_request_of_claude_code_is_live_usage() {
    let body = logs(&[request(1), request(2)]);
    assert_eq!(told(std::slice::from_ref(&body)), [REQUEST, REQUEST]);
    let export = Export::read(body.to_string().as_bytes()).unwrap();
    Telemetry::default().hear(&export, &moment(), &mut |heard: Heard<'_>| {
        let Heard::Event(EventKind::Usage(usage)) = heard else { panic!("{heard:?}") };
        assert_eq!(usage.basis, Some(UsageBasis::Live));
    });
}

#[test]
fn a_figure_beyond_all_reason_adds_nothing() {
    for absurd in [json!(1e300), json!(i64::MAX), json!(-5.0)] {
        for (temporality, last) in [(1, 5), (2, 15)] {
            let figures = [(1, json!(10)), (2, absurd.clone()), (3, json!(last))];
            let bodies = figures.map(|(time, figure)| {
                let point = point(
                    time * u64::from(temporality == 1),
                    time,
                    &figure,
                    &json!({"type": "input"}),
                );
                metrics("claude-code", &[sum("claude_code.token.usage", temporality, &[point])])
            });
            assert_eq!(told(&bodies), ["usage 10 0 0 0", "usage 5 0 0 0"], "{absurd}");
        }
    }
    let absurd = json!({"input_tokens": 1e300, "output_tokens": 2});
    assert_eq!(told(&[logs(&[record("api_request", 1, &absurd)])]), ["usage 0 2 0 0"]);
}

#[test]
fn figures_that_are_written_as_texts_count() {
    let texts =
        json!({"model": "m", "cost_usd": "0.01", "input_tokens": "1", "output_tokens": "2"});
    assert_eq!(told(&[logs(&[record("api_request", 1, &texts)])]), ["usage 1 2 0 0 $0.0100 m"]);
}

#[test]
fn what_is_sent_again_is_not_counted_again() {
    assert_eq!(told(&[logs(&[request(1)]), logs(&[request(1), request(2)])]), [REQUEST, REQUEST]);
    assert_eq!(told(&[counters(Some("s1"), 5), counters(Some("s1"), 5)]), [REQUEST]);
}

#[rstest]
#[case::logs_first(&[logs(&[request(1)]), counters(Some("s1"), 5)], &[REQUEST])]
#[case::counters_first(&[counters(Some("s1"), 5), logs(&[request(1)])], &[REQUEST])]
#[case::counters_without_a_session(&[counters(None, 5), logs(&[request(1)])], &[REQUEST])]
#[case::and_after_it(&[logs(&[request(1)]), counters(None, 5)], &[REQUEST])]
#[case::only_counters(&[counters(Some("s1"), 5), counters(Some("s1"), 6)], &[REQUEST, REQUEST])]
#[case::another_session(&[logs(&[request(1)]), counters(Some("s2"), 5)], &[REQUEST, REQUEST])]
#[case::late_logs(
    &[counters(Some("s1"), 5), logs(&[request(1)]), logs(&[request(2)]), counters(Some("s1"), 6)],
    &[REQUEST, REQUEST],
)]
fn logs_and_counters_tell_of_the_same_requests(
    #[case] bodies: &[Value],
    #[case] expected: &[&str],
) {
    assert_eq!(told(bodies), expected);
}

/// One series: (start, time, value) and what each adds.
#[rstest]
#[case::totals_grow(2, &[(1, 2, 100), (1, 3, 150), (1, 4, 150)], &[100, 50])]
#[case::a_later_start_begins_again(2, &[(1, 2, 100), (5, 6, 30), (5, 7, 40)], &[100, 30, 10])]
#[case::an_older_one_is_late(2, &[(5, 6, 30), (1, 2, 100)], &[30])]
#[case::a_smaller_one_is_late(2, &[(1, 3, 100), (1, 2, 70), (1, 4, 110)], &[100, 10])]
#[case::without_a_start(2, &[(0, 2, 100), (0, 3, 20)], &[100, 20])]
#[case::deltas_add_up(1, &[(1, 2, 100), (2, 3, 100), (3, 4, 7)], &[100, 100, 7])]
#[case::unspecified_is_a_total(0, &[(1, 2, 100), (1, 3, 150)], &[100, 50])]
fn both_temporalities_are_understood(
    #[case] temporality: u64,
    #[case] points: &[(u64, u64, u64)],
    #[case] expected: &[u64],
) {
    let bodies: Vec<Value> = points
        .iter()
        .map(|(start, time, value)| {
            let pairs = json!({"type": "input", "model": "m", "session.id": "s1"});
            let point = point(*start, *time, &json!(value), &pairs);
            metrics("claude-code", &[sum("claude_code.token.usage", temporality, &[point])])
        })
        .collect();
    let expected: Vec<String> =
        expected.iter().map(|added| format!("usage {added} 0 0 0 m")).collect();
    assert_eq!(told(&bodies), expected);
}

#[rstest]
#[case::status_and_words(
    json!({"error": "Overloaded", "status_code": 529, "attempt": 1}), json!({"total_attempts": 11}),
    "fault Overloaded: Overloaded"
)]
#[case::its_own_status(json!({}), json!({"status_code": "429", "total_attempts": 3}),
    "fault RateLimited: the API answered with status 429")]
#[case::nothing_said(json!({}), json!({"total_attempts": 11}),
    "fault Other: the API failed 11 times")]
fn only_attempts_that_are_given_up_are_failures(
    #[case] attempt: Value,
    #[case] gave_up: Value,
    #[case] expected: &str,
) {
    let attempt = record("api_error", 1, &attempt);
    assert_eq!(told(&[logs(std::slice::from_ref(&attempt))]), Vec::<String>::new());
    let gave_up = record("api_retries_exhausted", 2, &gave_up);
    assert_eq!(told(&[logs(&[attempt, gave_up])]), [expected]);
}

#[test]
fn compactions_are_actions() {
    let bodies = [logs(&[
        record("compaction", 1, &json!({"trigger": "auto", "success": true})),
        record("compaction", 2, &json!({"trigger": "auto", "success": false})),
        record("user_prompt", 3, &json!({"prompt_length": 5})),
    ])];
    assert_eq!(told(&bodies), ["compaction compaction"]);
}

#[test]
fn calls_of_tools_are_actions() {
    let bash = |description: &str| {
        let input = json!({"command": "ls", "description": description}).to_string();
        json!({"tool_name": "Bash", "tool_use_id": description, "tool_input": input, "success": "true"})
    };
    let bodies = [logs(&[
        record(
            "tool_result",
            1,
            &json!({"tool_name": "Bash", "tool_use_id": "t1", "success": true}),
        ),
        record(
            "tool_result",
            2,
            &json!({"tool_name": "Read", "success": "false", "error_type": "ENOENT"}),
        ),
        record("tool_result", 3, &bash("look")),
        record("tool_result", 4, &bash("look again")),
        record(
            "tool_result",
            5,
            &json!({"tool_name": "Edit", "tool_parameters": "{\"b\":1,\"a\":2}"}),
        ),
        record("tool_result", 6, &json!({"success": true})),
    ])];
    assert_eq!(
        told(&bodies),
        [
            "action Bash t1",
            "action Read #2 => ENOENT",
            "action Bash ls",
            "action Bash ls",
            "action Edit {\"a\":2,\"b\":1}",
        ]
    );
}

#[test]
fn what_is_refused_for_good_is_told_though_nobody_tries_again() {
    let refused =
        record("api_error", 1, &json!({"status_code": 401, "error": "invalid x-api-key"}));
    let told_of = |records: &[Value]| told(&[logs(records)]);
    let expected = "fault Authentication: invalid x-api-key";
    assert_eq!(told_of(std::slice::from_ref(&refused)), [expected]);
    // A key that was too old, and was replaced, in the same export or a later one.
    let later = told(&[logs(std::slice::from_ref(&refused)), logs(&[request(2)])]);
    for after in [later, told_of(&[refused.clone(), request(2)])] {
        assert!(after.iter().all(|told| !told.starts_with("fault")), "{after:?}");
    }
    assert_eq!(told_of(&[request(0), refused]).last().map(String::as_str), Some(expected));
}

#[test]
fn records_of_others_are_left_alone() {
    let mut foreign = request(1);
    foreign["body"] = json!({"stringValue": "some text"});
    assert_eq!(told(&[logs(&[foreign])]), Vec::<String>::new());
}

#[rstest]
#[case::empty(json!({}))]
#[case::nulls(json!({"resourceLogs": null, "resourceMetrics": [null, 1, "x", {"scopeMetrics": {}}]}))]
#[case::gauge(metrics("x", &[json!({"name": "claude_code.token.usage", "gauge": {"dataPoints": [
    {"asInt": "5", "attributes": attributes(&json!({"type": "input"}))}]}})]))]
#[case::negative(metrics("x", &[sum("claude_code.cost.usage", 1, &[
    point(1, 2, &json!(-5.0), &json!({}))])]))]
#[case::no_number(metrics("x", &[json!({"name": "claude_code.cost.usage", "sum": {"dataPoints": [
    {"asDouble": "NaN"}, {"asDouble": []}, {}]}})]))]
fn nothing_is_told_of_nothing(#[case] body: Value) {
    assert_eq!(told(&[body]), Vec::<String>::new());
}

#[rstest]
#[case("", "the body is not JSON: EOF")]
#[case("[]", "the body is not an object")]
#[case("{\"resourceLogs\":[", "the body is not JSON: EOF")]
fn what_is_no_export_is_refused(#[case] body: &str, #[case] expected: &str) {
    let error = Export::read(body.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn half_characters_do_not_lose_an_export() {
    let body = logs(&[record("api_error", 1, &json!({"error": "cut X"})), request(2)]);
    let body = body.to_string().replace("cut X", r"cut \ud83d");
    assert!(!Export::read(body.as_bytes()).unwrap().is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "captures are files, and only tests read them")]
fn the_generic_bodies_hold_nothing_that_counts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures/otel");
    for name in ["otlp-logs.json", "otlp-metrics.json"] {
        let Ok(body) = std::fs::read(format!("{folder}/{name}")) else {
            eprintln!("skipped: {folder}/{name} is not here");
            continue;
        };
        assert!(Export::read(&body).unwrap().is_empty(), "{name}");
        // Under names that count, their figures are read: a delta of 5, and a histogram's sum of 2.
        let text = String::from_utf8(body).unwrap();
        let renamed = text
            .replace("my.counter\"", "claude_code.cost.usage\"")
            .replace("my.histogram\"", "gen_ai.client.token.usage\"")
            .replace("my.histogram.attr", "gen_ai.token.type")
            .replace("some value", "input");
        let expected: &[&str] = if name.contains("metrics") {
            &["usage 0 0 0 0 $5.0000", "usage 2 0 0 0"]
        } else {
            &[]
        };
        assert_eq!(told(&[serde_json::from_str(&renamed).unwrap()]), expected);
    }
}

#[test]
fn depth_is_no_danger() {
    for (open, close) in [("[", "]"), ("{\"resourceLogs\":[", "]}"), ("{\"a\":", "}")] {
        let deep = format!("{}{}", open.repeat(10_000), close.repeat(10_000));
        let _ = Export::read(deep.as_bytes());
        let _ = Export::read(format!("{{\"resourceMetrics\":[{deep}]}}").as_bytes());
        let value = format!("{{\"arrayValue\":{deep}}}");
        let _ = Export::read(
            format!("{{\"resourceLogs\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"model\",\"value\":{value}}}]}}}}]}}")
                .as_bytes(),
        );
    }
}

/// JSON of the names that count and of any shape.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(|number| json!(number.to_string())),
        "(claude_code\\.(token\\.usage|cost\\.usage|api_request)|gen_ai\\.client\\.token\\.usage|type|input)"
            .prop_map(Value::from),
    ];
    let key = "(resourceMetrics|scopeMetrics|metrics|name|sum|dataPoints|asInt|asDouble|attributes|key|value|\
         stringValue|resourceLogs|scopeLogs|logRecords|body|timeUnixNano|aggregationTemporality)";
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(bodies in prop::collection::vec(any_json(), 1..4)) {
        let mut telemetry = Telemetry::default();
        for body in bodies {
            if let Ok(export) = Export::read(body.to_string().as_bytes()) {
                telemetry.hear(&export, &moment(), &mut |_: Heard<'_>| {});
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_do_not_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Export::read(&body);
    }

    /// However exports of the same requests come, the sums are the same.
    #[test]
    fn the_order_does_not_matter(order in Just((0..8_u64).collect::<Vec<_>>()).prop_shuffle()) {
        let body = |number: u64| match number % 2 {
            0 => logs(&[request(number)]),
            _ => counters(Some("s1"), number * 10),
        };
        let told = told(&order.into_iter().map(body).collect::<Vec<_>>());
        prop_assert_eq!(told, vec![REQUEST; 4]);
    }
}

#[test]
fn a_cost_in_millionths_is_one() {
    let request = |pairs: &Value| logs(&[record("api_request", 1, pairs)]);
    let micros = json!({"model": "m", "cost_usd_micros": 50_000, "input_tokens": 10});
    assert_eq!(told(&[request(&micros)]), ["usage 10 0 0 0 $0.0500 m"]);
    let both = json!({"model": "m", "cost_usd": 0.25, "cost_usd_micros": 1, "input_tokens": 10});
    assert_eq!(told(&[request(&both)]), ["usage 10 0 0 0 $0.2500 m"]);
}
