use backstop_core::document::Syntax;
use backstop_core::event::{ErrorCategory, Usage, UsageBasis, WorkerStatus};
use rstest::rstest;

use super::*;

const POLICY: &str = r#"
    [prices]
    "gpt-*" = { input = 2.0, output = 10.0 }

    [errors]
    critical = ["disk quota"]
    transient = ["flaky mirror"]

    [[rule]]
    when = { type = "output_pattern", pattern = "ALL DONE", in = "result" }
    then = "complete"
"#;

fn translator() -> Translator {
    Translator::new(&Policy::load(POLICY.as_bytes(), Syntax::Toml).unwrap().policy)
}

fn usage(model: &str, cost_usd: Option<f64>, basis: Option<UsageBasis>) -> Usage {
    Usage {
        input_tokens: 1_000_000,
        output_tokens: 100_000,
        model: Some(model.to_owned()),
        cost_usd,
        basis,
        ..Usage::default()
    }
}

#[rstest]
// A million at $2 and a tenth of one at $10.
#[case::a_price_is_filled_in("gpt-5", None, None, Some(3.0))]
#[case::of_live_figures_too("gpt-5", None, Some(UsageBasis::Live), Some(3.0))]
#[case::and_of_final_ones("gpt-5", None, Some(UsageBasis::Final), Some(3.0))]
#[case::the_agent_knows_better("gpt-5", Some(0.5), None, Some(0.5))]
#[case::no_price("other", None, None, None)]
fn cost(
    #[case] model: &str,
    #[case] told: Option<f64>,
    #[case] basis: Option<UsageBasis>,
    #[case] expected: Option<f64>,
) {
    let events = translator().events(Heard::Event(usage(model, told, basis).into()));
    assert_eq!(events, [EventKind::from(usage(model, expected, basis))]);
}

#[rstest]
#[case::known_words_sort(FaultKind::Other, "Disk Quota exceeded", ErrorCategory::Critical)]
#[case::transient(FaultKind::Other, "the flaky mirror again", ErrorCategory::Transient)]
#[case::other_words(FaultKind::Other, "no idea", ErrorCategory::Recoverable)]
#[case::the_adapter_knows_better(
    FaultKind::Server,
    "500: disk quota service",
    ErrorCategory::Transient
)]
fn categories(#[case] kind: FaultKind, #[case] message: &str, #[case] expected: ErrorCategory) {
    let events = translator().events(Heard::Fault(Fault::new(kind, message)));
    let [EventKind::ErrorSeen(error)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((error.category, &*error.message), (expected, message));
}

#[test]
fn models_have_their_own_prices() {
    let policy = "[prices]\n\"claude-opus*\" = { input = 10.0, output = 1.0 }\n\"claude-haiku*\" = \
                  { input = 1.0, output = 1.0 }\n";
    let mut translator =
        Translator::new(&Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy);
    let line = r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","total_cost_usd":0,"modelUsage":{"claude-opus-4-5":{"inputTokens":10},"claude-haiku-4-5":{"inputTokens":1000000}}}"#;
    let mut cost = 0.0;
    let moment = crate::testing::moment();
    let mut hear = |heard: Heard<'_>| {
        for event in translator.events(heard) {
            if let EventKind::Usage(usage) = event {
                cost += usage.cost_usd.unwrap();
            }
        }
    };
    Agent::Claude.adapter().record(crate::Record::Json(line.as_bytes()), &moment, &mut hear);
    assert!((cost - 1.0001).abs() < 1e-9, "{cost}");
}

#[test]
fn one_phrase_over_and_over_is_a_step_of_its_own() {
    let chant = "I will now look at the file again to see what is wrong. ".repeat(500);
    let kinds = |events: &[EventKind]| -> Vec<String> {
        events
            .iter()
            .filter_map(|event| match event {
                EventKind::Action(action) => Some(action.kind.clone()),
                _ => None,
            })
            .collect()
    };
    let mut translator = translator();
    assert_eq!(kinds(&translator.events(Heard::Said(Voice::Assistant, &chant))), ["chant"]);
    // The result says it once more.
    assert!(translator.events(Heard::Said(Voice::Result, &chant)).is_empty());
    translator.events(Heard::Launched);
    assert_eq!(kinds(&translator.events(Heard::Said(Voice::Result, &chant))), ["chant"]);
}

#[test]
fn a_rate_limit_is_no_error() {
    let events = translator().events(Heard::Fault(Fault::new(FaultKind::RateLimited, "429")));
    let [EventKind::Worker(worker)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(worker.status, WorkerStatus::RateLimited);
}

#[test]
fn a_full_context_is_full_to_the_last_known_limit() {
    let mut translator = translator();
    let full = |translator: &mut Translator| {
        let fault = Fault::new(FaultKind::ContextFull, "prompt is too long");
        let events = translator.events(Heard::Fault(fault));
        assert!(matches!(events[1], EventKind::ErrorSeen(_)), "{events:?}");
        events.into_iter().next()
    };
    let told = |limit| Some(Context { used: limit, limit, full: true }.into());
    assert_eq!(full(&mut translator), told(0));
    translator.events(Heard::Event(Context::of(9, 200_000).into()));
    translator.events(Heard::Event(Context::of(9, 0).into()));
    assert_eq!(full(&mut translator), told(200_000));
}

#[test]
fn what_a_model_told_of_its_window_holds_for_later_launches() {
    let mut translator = translator();
    let mut limit = |model: Option<&str>, limit| {
        if let Some(model) = model {
            let basis = Some(UsageBasis::Live);
            let usage = Usage { model: Some(model.to_owned()), basis, ..Usage::default() };
            translator.events(Heard::Event(usage.into()));
        } else {
            let basis = Some(UsageBasis::Final);
            translator.events(Heard::Event(Usage { basis, ..Usage::default() }.into()));
        }
        let events = translator.events(Heard::Event(Context::of(9, limit).into()));
        let [EventKind::Context(context)] = &events[..] else { panic!("{events:?}") };
        let told = context.limit;
        if model.is_none() {
            translator.events(Heard::Launched);
        }
        told
    };
    assert_eq!(limit(Some("opus"), 200), 200, "assumed");
    assert_eq!(limit(None, 1000), 1000, "told");
    assert_eq!(limit(Some("opus"), 200), 1000);
    assert_eq!(limit(Some("haiku"), 200), 200, "another model");
    assert_eq!(limit(Some("opus"), 200), 1000);
    assert_eq!(limit(Some("opus"), 500), 500, "it has learnt better");
    assert_eq!(limit(None, 400), 400);
    assert_eq!(limit(Some("opus"), 200), 400);
    assert_eq!(limit(None, 200), 200, "what was assumed is told");
    assert_eq!(limit(Some("opus"), 200), 200);
}

#[test]
fn a_thread_goes_on_from_what_was_counted_of_it() {
    let total = |thread: &str, input_tokens, output_tokens| ThreadTotal {
        thread: thread.to_owned(),
        input_tokens,
        output_tokens,
        ..ThreadTotal::default()
    };
    let earlier = ["a", "b", "c", "d"].map(|thread| total(thread, 100, 10));
    let mut translator = translator().going_on_from(earlier.iter());
    let mut added = |total: ThreadTotal, input_tokens, output_tokens| {
        let noted = EventKind::from(total.note());
        assert_eq!(translator.events(Heard::Event(noted.clone())), []);
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        let events = translator.events(Heard::Event(usage.into()));
        let [EventKind::Usage(usage), told] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*told, noted);
        (usage.input_tokens, usage.output_tokens)
    };
    assert_eq!(added(total("a", 150, 10), 150, 10), (50, 0));
    assert_eq!(added(total("a", 170, 30), 20, 20), (20, 20), "from there its adapter knows it");
    assert_eq!(added(total("b", 90, 90), 90, 90), (90, 90), "it has begun anew");
    assert_eq!(added(total("c", 100, 10), 100, 10), (100, 10), "it has begun anew");
    assert_eq!(added(total("d", 120, 10), 20, 0), (20, 0), "its adapter knew it");
    assert_eq!(added(total("e", 7, 1), 7, 1), (7, 1));
}

#[test]
fn words_match_where_they_are_waited_for() {
    let mut translator = translator();
    assert_eq!(translator.events(Heard::Said(Voice::Assistant, "ALL DONE")), []);
    let found = translator.events(Heard::Said(Voice::Result, "ALL DONE"));
    assert!(matches!(&found[..], [EventKind::Matched(_)]), "{found:?}");
    assert_eq!(translator.events(Heard::Said(Voice::Result, "ALL DONE")), []);
    assert_eq!(translator.events(Heard::Launched), []);
    assert_eq!(translator.events(Heard::Said(Voice::Result, "ALL DONE")).len(), 1);
}

#[test]
fn a_mapping_of_the_policy_is_used() {
    let policy = "[jsonl]\ncost_usd = \"price.total\"\n";
    let policy = Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy;
    let mut adapter = Agent::Jsonl.adapter_for(&policy).unwrap();
    let told = crate::testing::told(adapter.as_mut(), "{\"price\":{\"total\":0.25}}\n");
    assert_eq!(told, ["usage 0 0 0 0 $0.2500"]);
}
