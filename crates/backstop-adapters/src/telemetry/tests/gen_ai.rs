//! Spans and metrics of the conventions for generative AI.

use super::*;

fn spans(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&json!({"service.name": "agent"}))},
        "scopeSpans": [{"spans": spans}],
    }]})
}

fn span(id: &str, pairs: &Value) -> Value {
    json!({"traceId": "5b8efff798038103d269b633813fc60c", "spanId": id,
        "attributes": attributes(pairs)})
}

#[test]
fn what_came_from_the_cache_is_taken_out_of_the_input_of_a_span() {
    let chat = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2026", "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 50, "gen_ai.usage.cache_read.input_tokens": 700,
        "gen_ai.usage.cache_creation.input_tokens": 100});
    let around = json!({"gen_ai.operation.name": "invoke_agent",
        "gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 50});
    let before = json!({"gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": 6});
    let body = spans(&[span("a", &chat), span("b", &around), span("c", &before), span("a", &chat)]);
    assert_eq!(told(&[body]), ["usage 5 6 0 0", "usage 200 50 700 100 gpt-5-2026"]);
}

/// Totals of input as the conventions' histogram tells them, with the same 50 tokens of output.
fn histogram(time: u64, input: f64) -> Value {
    let point = |kind: &str, value: f64| {
        json!({
            "startTimeUnixNano": "1", "timeUnixNano": time.to_string(), "count": "1", "sum": value,
            "attributes": attributes(&json!({"gen_ai.token.type": kind, "gen_ai.request.model": "gpt-5",
                "gen_ai.operation.name": "chat"})),
        })
    };
    json!({"name": "gen_ai.client.token.usage", "histogram": {"aggregationTemporality": 2,
        "dataPoints": [point("input", input), point("output", 50.0)]}})
}

/// The span of one request.
fn chat(id: &str, model: &str, input: u64, read: u64) -> Value {
    let pairs = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": input, "gen_ai.usage.cache_read.input_tokens": read});
    spans(&[span(id, &pairs)])
}

#[test]
fn what_metrics_told_too_much_is_taken_back_when_the_span_comes() {
    let told = told(&[
        metrics("agent", &[histogram(2, 1000.0)]),
        chat("a", "gpt-5", 1000, 600),
        metrics("agent", &[histogram(3, 6000.0)]),
        chat("c", "gpt-5", 5000, 600),
    ]);
    let expected = [
        "usage 1000 50 0 0 gpt-5",
        "usage 0 0 600 0 gpt-5",
        "notice anew",
        "usage 400 50 600 0 gpt-5",
        "usage 5000 0 0 0 gpt-5",
        "usage 0 0 600 0 gpt-5",
        "notice anew",
        "usage 4800 50 1200 0 gpt-5",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_correction_tells_all_that_was_told_of_the_iteration() {
    let told = told(&[
        logs(&[request(1)]),
        metrics("agent", &[histogram(2, 1000.0)]),
        chat("a", "gpt-5", 1000, 600),
    ]);
    let anew = told.iter().position(|told| told == "notice anew").expect("a correction");
    assert_eq!(told[anew + 1..], [REQUEST, "usage 400 50 600 0 gpt-5"]);
}

#[test]
fn what_was_told_of_an_earlier_iteration_stands_and_is_taken_off_what_its_model_uses_next() {
    let mut telemetry = Telemetry::default();
    let mut told = Vec::new();
    for body in [
        metrics("agent", &[histogram(2, 1000.0)]),
        json!({}),
        chat("a", "gpt-5", 1000, 600),
        chat("b", "o5", 300, 0),
        chat("c", "gpt-5", 700, 0),
    ] {
        if body == json!({}) {
            telemetry.iteration_started();
            continue;
        }
        let export = Export::read(body.to_string().as_bytes()).unwrap();
        let mut hear = |heard: Heard<'_>| told.extend(in_words(&heard));
        telemetry.hear(&export, &moment(), &mut hear);
        tell_corrected(&mut telemetry, &mut hear);
    }
    let expected = [
        "usage 1000 50 0 0 gpt-5",
        "usage 0 0 600 0 gpt-5",
        "usage 300 0 0 0 o5",
        "usage 100 0 0 0 gpt-5",
    ];
    assert_eq!(told, expected);
}

#[rstest]
#[case::its_own_meaning_of_input(20_000, 5)]
#[case::beyond_all_reason(1_000_000_000_000_000, 5)]
fn a_request_with_more_cached_than_input_hides_no_other(#[case] read: u64, #[case] fresh: u64) {
    let told = told(&[chat("a", "gpt-5", 5, read), chat("b", "gpt-5", 20_000, 0)]);
    let expected = [format!("usage {fresh} 0 {read} 0 gpt-5"), "usage 20000 0 0 0 gpt-5".into()];
    assert_eq!(told, expected);
}

#[test]
fn all_metrics_of_the_conventions_tell_of_the_same_requests() {
    let histogram = |time| histogram(time, 1000.0);
    assert_eq!(
        told(&[metrics("agent", &[histogram(2)]), metrics("agent", &[histogram(3)])]),
        ["usage 1000 50 0 0 gpt-5"]
    );
    let counter = |name: &str, value: u64| {
        let pairs = json!({"gen_ai.request.model": "gpt-5", "gen_ai.token.modality": "text"});
        let name = format!("gen_ai.client.inference.usage.{name}");
        sum(&name, 2, &[point(1, 2, &json!(value), &pairs)])
    };
    let counters = metrics(
        "agent",
        &[
            counter("input_tokens", 1000),
            counter("cache_read.input_tokens", 700),
            counter("cache_write.input_tokens", 100),
            counter("output_tokens", 50),
            counter("reasoning.output_tokens", 30),
            histogram(2),
        ],
    );
    assert_eq!(told(&[counters]), ["usage 200 50 700 100 gpt-5"]);
}

proptest! {
    /// In whatever order spans and metrics of the same requests come, what is told of each model in
    /// the end is what it has used.
    #[test]
    fn the_sums_of_each_model_are_exact_in_the_end(
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let counter = |model: &str, time: u64, value: f64| {
            let point = json!({"startTimeUnixNano": time.to_string(), "timeUnixNano": "9",
                "count": "1", "sum": value, "attributes": attributes(&json!({
                    "gen_ai.token.type": "input", "gen_ai.request.model": model}))});
            metrics("agent", &[json!({"name": "gen_ai.client.token.usage", "histogram": {
                "aggregationTemporality": 1, "dataPoints": [point]}})])
        };
        let bodies = [
            chat("a", "gpt-5", 1000, 600),
            counter("gpt-5", 1, 1000.0),
            chat("b", "o5", 300, 200),
            counter("o5", 2, 300.0),
            chat("c", "gpt-5", 500, 0),
            counter("gpt-5", 3, 500.0),
        ];
        let told = told(&order.iter().map(|number| bodies[*number].clone()).collect::<Vec<_>>());
        let stands = told.iter().rposition(|told| told == "notice anew").map_or(0, |at| at + 1);
        let sum = |model: &str| {
            let of_it = told[stands..].iter().filter(|told| told.ends_with(model));
            let inputs = of_it.map(|told| told.split(' ').nth(1).unwrap().parse::<u64>().unwrap());
            inputs.sum::<u64>()
        };
        prop_assert_eq!((sum(" gpt-5"), sum(" o5")), (900, 100), "{:?}", told);
    }
}
