//! The documents of older tools, the presets, and what is worked into the effective policy.

mod support;

use backstop_core::document::Syntax;
use backstop_core::policy::{Dialect, Loaded, Order, Policy, Preset};
use backstop_core::verdict::Verdict;
use serde_json::{Value as Json, json};
use support::Test;

fn load(text: &str, syntax: Syntax) -> Loaded {
    Policy::load(text.as_bytes(), syntax).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

fn yaml(text: &str) -> Policy {
    load(text, Syntax::Yaml).policy
}

fn toml(text: &str) -> Policy {
    load(text, Syntax::Toml).policy
}

/// What is wrong with a document, one message each.
fn refused(text: &str, syntax: Syntax) -> Vec<String> {
    let errors = Policy::load(text.as_bytes(), syntax).expect_err(text);
    errors.into_iter().map(|error| error.message).collect()
}

/// A policy's rules: the condition with its fields, and the verdict.
fn rules(policy: &Policy) -> Vec<(Json, &'static str)> {
    policy.rules.iter().map(|rule| (rule.when.to_json(), rule.then.as_str())).collect()
}

/// The decision of a policy on facts, as verdict and reason.
fn decide(policy: &Policy, facts: &str) -> (Verdict, String) {
    let decision = Test::policy(&policy.to_toml()).facts(facts).decide();
    (decision.verdict, decision.reason.unwrap_or_default())
}

/// A lawbook may say of each key that it has its default.
#[test]
fn a_lawbook_may_have_null_wherever_its_schema_says_so() {
    let schema = backstop_core::policy::schema();
    let mut forms = schema["anyOf"].as_array().expect("several forms").iter();
    let lawbook = forms.find(|form| form["title"] == "rerun").expect("that of lawbooks");
    let has_null = |schema: &Json| {
        schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
    };
    assert!(has_null(&lawbook["properties"]["lawbookVersion"]));
    let keys = lawbook["properties"]["stopRules"]["properties"].as_object().expect("its keys");
    let plain = load(r#"{"stopRules":{}}"#, Syntax::Json).policy;
    for (key, schema) in keys {
        assert!(has_null(schema), "{key}");
        let text = json!({ "lawbookVersion": null, "stopRules": { key: null } }).to_string();
        assert_eq!(load(&text, Syntax::Json).policy.to_toml(), plain.to_toml(), "{key}");
    }
}

const LOOP: &str = "
name: my loop
prompt: { file: PROMPT.md }
conditions:
  - { type: max_iterations, count: 50 }
  - { type: max_duration, duration: 2h }
success_conditions:
  - { type: all_tests_pass }
  - { type: output_pattern, pattern: DONE }
failure_conditions:
  - { type: on_error, pattern: fatal }
  - { type: file_created, path: FAILED }
  - { type: any, conditions: [{ type: never }] }
";

#[test]
fn a_loop_document_has_three_sets() {
    let policy = yaml(LOOP);
    assert_eq!((policy.dialect, policy.order), (Some(Dialect::Loop), Order::Severity));
    let verdicts: Vec<_> = policy.rules.iter().map(|rule| (rule.name(), rule.then)).collect();
    assert_eq!(
        verdicts,
        [
            ("max_iterations", Verdict::Stop),
            ("max_duration", Verdict::Stop),
            ("all_tests_pass", Verdict::Complete),
            ("output_pattern", Verdict::Complete),
            ("on_error", Verdict::Fail),
            ("file_created", Verdict::Fail),
            ("any", Verdict::Fail),
        ]
    );
    let reasons: Vec<_> = policy.rules.iter().map(|rule| rule.reason.as_deref()).collect();
    let none = Some("failure_condition");
    assert_eq!(reasons, [None, None, None, None, None, none, none]);
}

#[test]
fn the_loop_dialect_goes_by_severity_unless_the_first_one_ends_it() {
    let all =
        r#"{"iterations": 50, "tests": {"passed": ["a"]}, "last_error": {"message": "fatal"}}"#;
    let policy = yaml(LOOP);
    assert_eq!(decide(&policy, all), (Verdict::Fail, "error".into()));
    let done = r#"{"iterations": 50, "tests": {"passed": ["a"]}}"#;
    assert_eq!(decide(&policy, done), (Verdict::Complete, "completed".into()));
    assert_eq!(decide(&policy, r#"{"iterations": 50}"#), (Verdict::Stop, "max_iterations".into()));
    // By priority the limit (80) comes before the tests (60), and the error (100) before both.
    let first = yaml(&format!("{LOOP}stop_on_first: true\n"));
    assert_eq!(decide(&first, done), (Verdict::Stop, "max_iterations".into()));
    assert_eq!(decide(&first, all), (Verdict::Fail, "error".into()));
}

#[test]
fn a_loop_document_reads_the_same_in_json() {
    let json = r#"{"name": "my loop", "prompt": {"file": "PROMPT.md"},
        "conditions": [{"type": "max_iterations", "count": 50},
                       {"type": "max_duration", "duration": "2h"}],
        "success_conditions": [{"type": "all_tests_pass"},
                               {"type": "output_pattern", "pattern": "DONE"}],
        "failure_conditions": [{"type": "on_error", "pattern": "fatal"},
                               {"type": "file_created", "path": "FAILED"},
                               {"type": "any", "conditions": [{"type": "never"}]}]}"#;
    assert_eq!(load(json, Syntax::Json).policy.hash(), yaml(LOOP).hash());
    let only = load(r#"{"success_conditions": [{"type": "all_tests_pass"}]}"#, Syntax::Json).policy;
    assert_eq!((only.dialect, only.rules.len()), (Some(Dialect::Loop), 1));
}

#[test]
fn a_misspelt_set_of_a_loop_is_noticed_although_other_keys_are_ignored() {
    let text = "conditions: []\nsucces_conditions: []\n";
    let lints = load(text, Syntax::Yaml).lints();
    assert_eq!(lints.len(), 1);
    assert_eq!(lints[0].label.as_deref(), Some("did you mean `success_conditions`?"));
    assert_eq!(
        refused("conditions:\n  - { type: max_iterations, cuont: 5 }\n", Syntax::Yaml),
        ["`max_iterations` needs `count`", "unknown key `cuont` in `max_iterations`"]
    );
    assert_eq!(
        refused("conditions: 5\n", Syntax::Yaml),
        ["`conditions` must be a list of conditions"]
    );
}

#[test]
fn a_pipeline_has_four_rules_in_their_order() {
    let expected = |retry: f64, reject: f64, fails: u64, limit: u64| {
        vec![
            (json!({ "type": "max_attempts", "count": limit }), "stop"),
            (json!({ "type": "consecutive_fails", "count": fails }), "stop"),
            (json!({ "type": "reject_rate", "above": reject }), "stop"),
            (json!({ "type": "retry_rate", "above": retry }), "stop"),
        ]
    };
    for text in ["retry: {}", "retry: { stop_conditions: {} }", "frames: 8\nretry: { max: 3 }"] {
        let policy = yaml(text);
        assert_eq!(rules(&policy), expected(0.5, 0.3, 3, 50), "{text}");
        assert_eq!((policy.dialect, policy.order), (Some(Dialect::Pipeline), Order::Priority));
    }
    let text = "retry:
  backoff: 5
  stop_conditions:
    max_retry_rate: 0.25
    max_reject_rate: 1
    max_consecutive_fails: 7
    circuit_breaker_limit: 9
unknown: { keys: [1, 2] }
";
    let policy = yaml(text);
    assert_eq!(rules(&policy), expected(0.25, 1.0, 7, 9));
    assert_eq!(policy.rules[0].name(), "circuit_breaker");
    let json = r#"{"retry": {"stop_conditions": {"circuit_breaker_limit": 9,
        "max_consecutive_fails": 7, "max_reject_rate": 1.0, "max_retry_rate": 0.25}}}"#;
    assert_eq!(load(json, Syntax::Json).policy.hash(), policy.hash());
}

#[test]
fn pipeline_rules_win_in_their_order() {
    let policy = yaml("retry: {}");
    for (facts, reason) in [
        (
            r#"{"attempts": 50, "consecutive_fails": 3, "reject_rate": 1, "retry_rate": 1}"#,
            "circuit_breaker",
        ),
        (
            r#"{"attempts": 49, "consecutive_fails": 3, "reject_rate": 1, "retry_rate": 1}"#,
            "consecutive_fails",
        ),
        (
            r#"{"attempts": 49, "consecutive_fails": 2, "reject_rate": 0.31, "retry_rate": 1}"#,
            "reject_rate",
        ),
        (
            r#"{"attempts": 49, "consecutive_fails": 2, "reject_rate": 0.3, "retry_rate": 0.51}"#,
            "retry_rate",
        ),
    ] {
        assert_eq!(decide(&policy, facts), (Verdict::Stop, reason.into()), "{facts}");
    }
    let below =
        r#"{"attempts": 49, "consecutive_fails": 2, "reject_rate": 0.3, "retry_rate": 0.5}"#;
    assert_eq!(decide(&policy, below).0, Verdict::Continue);
}

#[rstest::rstest]
#[case("max_retry_rate: 1.01", "`max_retry_rate` must be between 0 and 1")]
#[case("max_reject_rate: -0.1", "`max_reject_rate` must be between 0 and 1")]
#[case("max_consecutive_fails: 0", "`max_consecutive_fails` must be at least 1")]
#[case("circuit_breaker_limit: -1", "`circuit_breaker_limit` must be at least 1")]
#[case(
    "circuit_breaker_limit: 1.5",
    "`circuit_breaker_limit` must be a whole number of at least 1"
)]
#[case("max_retries: 5", "unknown key `max_retries` in `stop_conditions`")]
fn the_pipelines_stop_section_is_read_strictly(#[case] line: &str, #[case] message: &str) {
    let text = format!("retry:\n  stop_conditions:\n    {line}\n");
    assert_eq!(refused(&text, Syntax::Yaml), [message]);
}

#[test]
fn a_pipeline_stops_on_what_its_units_report() {
    let policy = yaml("retry: {}").to_toml();
    let unit = |id: u32, status: &str| {
        format!(r#"{{"type": "unit", "id": "{id}", "status": "{status}", "attempts": 1}}"#)
    };
    let approved: Vec<_> = (0..7).map(|id| unit(id, "approved")).collect();
    let after = |rejected: u32| {
        let rejected = (7..7 + rejected).map(|id| unit(id, "rejected"));
        let lines = approved.iter().cloned().chain(rejected).collect::<Vec<_>>().join("\n");
        Test::policy(&policy).events(&lines).decide().reason
    };
    assert_eq!(after(2), None);
    assert_eq!(after(3).as_deref(), Some("consecutive_fails"));
}

#[test]
fn the_rates_and_counts_of_a_pipeline_may_be_at_their_bounds() {
    let text = "retry: { stop_conditions: { max_retry_rate: 0, max_reject_rate: 1.0, max_consecutive_fails: 1, circuit_breaker_limit: 1 } }";
    assert_eq!(yaml(text).rules.len(), 4);
}

/// Name, condition and verdict of the six rules of a lawbook.
fn lawbook(wait: Option<&str>) -> Vec<(&'static str, Json, &'static str)> {
    let classes = ["build deterministic", "lint error", "syntax error"];
    let mut rules = vec![
        ("blockOnFailureClasses", json!({ "type": "failure_class", "any_of": classes }), "hold"),
        ("maxRerunsPerJob", json!({ "type": "job_attempts", "count": 2 }), "hold"),
        ("maxTotalRerunsPerPr", json!({ "type": "total_attempts", "count": 5 }), "hold"),
        ("noSignalChangeThreshold", json!({ "type": "no_signal_change", "cycles": 2 }), "hold"),
        ("cooldownMinutes", json!({ "type": "cooldown", "duration": "5m" }), "hold"),
    ];
    if let Some(wait) = wait {
        let when = json!({ "type": "unresolved", "duration": wait });
        rules.push(("maxWaitMinutesForGreen", when, "kill"));
    }
    rules
}

fn named(policy: &Policy) -> Vec<(&str, Json, &'static str)> {
    policy.rules.iter().map(|rule| (rule.name(), rule.when.to_json(), rule.then.as_str())).collect()
}

#[test]
fn a_lawbook_has_six_rules_in_their_order() {
    let policy = yaml("lawbookVersion: 2025.1.0\nstopRules: {}\n");
    assert_eq!(named(&policy), lawbook(None));
    assert_eq!((policy.dialect, policy.order), (Some(Dialect::Rerun), Order::Priority));
    assert_eq!(policy.label.as_deref(), Some("2025.1.0"));
    let with_wait = yaml("stopRules: { maxWaitMinutesForGreen: 90, maxRerunsPerJob: null }");
    assert_eq!(named(&with_wait), lawbook(Some("1h 30m")));
    // Without a stop section, the preset: there the wait is an hour.
    for text in ["lawbookVersion: '3'\nrules: []\n", "lawbookVersion: '3'\nstopRules: null\n"] {
        let policy = yaml(text);
        assert_eq!(named(&policy), lawbook(Some("1h")), "{text}");
        assert_eq!((policy.label.as_deref(), policy.order), (Some("3"), Order::Priority));
    }
    assert_eq!(named(&Policy::preset(Preset::Rerun)), lawbook(Some("1h")));
}

#[test]
fn every_key_of_a_lawbook_counts() {
    let json = r#"{"lawbookVersion": "v7", "other": [1], "stopRules": {
        "maxRerunsPerJob": 3, "maxTotalRerunsPerPr": 9, "maxWaitMinutesForGreen": 0.5,
        "cooldownMinutes": 0, "blockOnFailureClasses": [], "noSignalChangeThreshold": 4}}"#;
    let policy = load(json, Syntax::Json).policy;
    assert_eq!(
        named(&policy),
        [
            ("blockOnFailureClasses", json!({ "type": "failure_class", "any_of": [] }), "hold"),
            ("maxRerunsPerJob", json!({ "type": "job_attempts", "count": 3 }), "hold"),
            ("maxTotalRerunsPerPr", json!({ "type": "total_attempts", "count": 9 }), "hold"),
            ("noSignalChangeThreshold", json!({ "type": "no_signal_change", "cycles": 4 }), "hold"),
            ("maxWaitMinutesForGreen", json!({ "type": "unresolved", "duration": "30s" }), "kill"),
        ]
    );
    assert_eq!(decide(&policy, r#"{"failure_class": "lint error"}"#).0, Verdict::Continue);
}

#[rstest::rstest]
#[case("'1.10'", "1.10")]
#[case("1.10", "1.10")]
#[case("2", "2")]
#[case("2025-01-02", "2025-01-02")]
#[case("1.0.0", "1.0.0")]
fn the_version_of_a_lawbook_is_its_label_as_it_is_written(
    #[case] written: &str,
    #[case] label: &str,
) {
    assert_eq!(yaml(&format!("lawbookVersion: {written}\n")).label.as_deref(), Some(label));
}

#[test]
fn lawbook_rules_win_in_their_order() {
    let policy = yaml("stopRules: { maxWaitMinutesForGreen: 60 }");
    let all = [
        (r#""failure_class": " Lint ERROR in a.rs ""#, Verdict::Hold, "non_retriable"),
        (r#""job_attempts": 2"#, Verdict::Hold, "max_attempts"),
        (r#""total_attempts": 5"#, Verdict::Hold, "max_total_reruns"),
        (r#""failure_signals": ["a", "a"]"#, Verdict::Hold, "no_signal_change"),
        (r#""last_changed_at": "2026-05-04T09:55:01Z""#, Verdict::Hold, "cooldown_active"),
        (r#""first_failure_at": "2026-05-04T09:00:00Z""#, Verdict::Kill, "wait_timeout"),
    ];
    for (position, (_, verdict, reason)) in all.iter().enumerate() {
        let facts: Vec<_> = all[position..].iter().map(|(fact, ..)| *fact).collect();
        let facts = format!("{{{}}}", facts.join(", "));
        assert_eq!(decide(&policy, &facts), (*verdict, (*reason).to_owned()), "{facts}");
    }
    let below = r#"{"failure_class": "flaky", "job_attempts": 1, "total_attempts": 4,
        "failure_signals": ["a", "a", "b"], "last_changed_at": "2026-05-04T09:55:00Z",
        "first_failure_at": "2026-05-04T09:00:00.001Z"}"#;
    assert_eq!(decide(&policy, below).0, Verdict::Continue);
}

#[rstest::rstest]
#[case("maxRerunsPerJob: 0", "`maxRerunsPerJob` must be at least 1")]
#[case("maxTotalRerunsPerPr: -2", "`maxTotalRerunsPerPr` must be at least 1")]
#[case(
    "noSignalChangeThreshold: x",
    "`noSignalChangeThreshold` must be a whole number of at least 1"
)]
#[case("cooldownMinutes: -1", "`cooldownMinutes` must be between 0 and 525600000 minutes")]
#[case("maxWaitMinutesForGreen: .inf", "`maxWaitMinutesForGreen` must be a finite number")]
#[case("blockOnFailureClasses: lint", "`blockOnFailureClasses` must be a list")]
#[case("blockOnFailureClasses: ['']", "`blockOnFailureClasses` must not be empty")]
#[case("blockOnFailureClasses: ['  ']", "`blockOnFailureClasses` holds a blank class")]
#[case("maxRerunPerJob: 1", "unknown key `maxRerunPerJob` in `stopRules`")]
fn the_stop_section_of_a_lawbook_is_read_strictly(#[case] line: &str, #[case] message: &str) {
    assert_eq!(refused(&format!("stopRules:\n  {line}\n"), Syntax::Yaml), [message]);
}

#[test]
fn presets_hold_what_the_specification_says() {
    let shown = |preset| {
        let policy = Policy::preset(preset);
        let rules = policy.rules.iter();
        rules.map(|rule| format!("{} -> {}", rule.when.describe(), rule.then)).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(Preset::Default),
        [
            "after 100 iterations -> stop",
            "after 1day of active time -> stop",
            "after 1,000,000 tokens -> stop",
            "after 3 errors in a row -> stop",
            "when the agent repeats itself -> warn",
        ]
    );
    let ralph = shown(Preset::Ralph);
    for rule in [
        "when all tasks are done -> complete",
        "after 3 iterations without progress -> stop",
        "after 5 test runs with a failure in a row -> stop",
        "when the worker is rate limited -> retry",
        "when the agent repeats itself (high sensitivity) -> warn",
        "when the agent repeats itself -> ask",
    ] {
        assert!(ralph.iter().any(|known| known == rule), "{rule} is not in {ralph:#?}");
    }
    assert_eq!(rules(&Policy::preset(Preset::Pipeline)), rules(&yaml("retry: {}")));
    let moderator = Policy::preset(Preset::Moderator);
    let intervention = moderator.settings.intervention.as_ref().unwrap();
    assert_eq!(intervention.on_timeout, Some(backstop_core::policy::OnTimeout::Stop));
    assert_eq!(intervention.timeout.unwrap().0.as_secs(), 300);
    for preset in [Preset::Default, Preset::Ralph, Preset::Moderator] {
        let settings = Policy::preset(preset).settings;
        assert!(settings.loop_.is_some_and(|section| section.idle_timeout.is_some()));
    }
    // Three errors in a row stop with `error`, even where the last is not repairable.
    let decision =
        Test::policy("preset = \"default\"").facts(r#"{"consecutive_errors": 3}"#).decide();
    assert_eq!((decision.verdict, decision.reason.as_deref()), (Verdict::Stop, Some("error")));
}

#[test]
fn limits_are_shorthand_for_rules_and_replace_a_presets() {
    let policy = toml("[limits]\niterations = 5\nduration = \"1h\"\ntokens = 7\ncost_usd = 2.5\n");
    assert_eq!(
        rules(&policy),
        [
            (json!({ "type": "max_iterations", "count": 5 }), "stop"),
            (json!({ "type": "max_duration", "duration": "1h" }), "stop"),
            (json!({ "type": "max_tokens", "count": 7 }), "stop"),
            (json!({ "type": "max_cost", "usd": 2.5 }), "stop"),
        ]
    );
    let written = toml(&policy.to_toml());
    assert_eq!(written.hash(), policy.hash());
    let over = toml("preset = \"default\"\n[limits]\niterations = 5\n");
    let counts: Vec<_> = over.rules.iter().filter(|rule| rule.name() == "max_iterations").collect();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].when.to_json()["count"], 5);
    assert_eq!(over.rules.len(), Policy::preset(Preset::Default).rules.len());
}

#[test]
fn a_rule_with_the_same_reason_replaces_the_presets() {
    let stalled = "preset = \"ralph\"\n[[rule]]\nwhen = { type = \"stagnation\", duration = \"1h\" }\nthen = \"ask\"\n";
    let policy = toml(stalled);
    assert!(policy.rules.iter().all(|rule| rule.name() != "no_progress"));
    // By the name that the rule gives itself, or an alias of it.
    let renamed = "preset = \"ralph\"\n[[rule]]\nwhen = { type = \"exit_code\", any_of = [9] }\nthen = \"ask\"\nreason = \"no_progress\"\n";
    let policy = toml(renamed);
    assert!(policy.rules.iter().all(|rule| rule.name() != "no_progress"));
    assert_eq!(policy.rules[0].reason.as_deref(), Some("stalled"));
    // Of two presets the later one's rule stands, as a later line would.
    let both = toml("preset = [\"default\", \"moderator\"]\n");
    assert_eq!(both.rules.iter().filter(|rule| rule.name() == "max_tokens").count(), 1);
    assert!(both.rules.iter().all(|rule| rule.name() != "errors-in-a-row"));
    assert!(both.rules.iter().any(|rule| rule.name() == "max_iterations"));
    assert!(both.rules.iter().any(|rule| rule.name() == "recoverable-errors"));
}

#[test]
fn settings_are_laid_over_the_presets_key_by_key() {
    let policy =
        toml("preset = \"moderator\"\n[intervention]\ntimeout = \"1h\"\n[loop]\ngrace = \"0s\"\n");
    let intervention = policy.settings.intervention.unwrap();
    assert_eq!(intervention.timeout.unwrap().0.as_secs(), 3600);
    assert_eq!(intervention.on_timeout, Some(backstop_core::policy::OnTimeout::Stop));
    let section = policy.settings.loop_.unwrap();
    assert_eq!(section.idle_timeout.unwrap().0.as_secs(), 900);
    assert!(section.grace.unwrap().0.is_zero());
}

#[test]
fn a_policy_without_a_bound_gets_one_unless_it_says_so() {
    let net = |text: &str| {
        let loaded = load(text, Syntax::Toml);
        let names: Vec<_> = loaded.policy.rules.iter().map(|rule| rule.name().to_owned()).collect();
        let added = names.ends_with(&["max_iterations".to_owned(), "max_duration".to_owned()]);
        assert_eq!(added, !loaded.notes.is_empty(), "{text}");
        added
    };
    let rule =
        |when: &str, more: &str| format!("[[rule]]\nwhen = {{ {when} }}\nthen = \"{more}\"\n");
    assert!(net(""));
    assert!(net(&rule("type = \"all_tests_pass\"", "complete")));
    assert!(net("[limits]\ntokens = 5\n"));
    // It is a lawbook like the document that it stands for, and a loop gets its bound all the same.
    assert!(!net("preset = \"pipeline\"\n"));
    assert!(net(&rule("type = \"max_iterations\", count = 5", "warn")));
    assert!(net(&rule("type = \"max_iterations\", count = 5", "stop\"\nshadow = true #")));
    assert!(!net("[limits]\nunlimited = true\n"));
    assert!(!net("[limits]\nduration = \"1h\"\n"));
    assert!(!net(&rule("type = \"max_iterations\", count = 5", "ask")));
    assert!(!net("preset = \"ralph\"\n"));
    assert!(!net("preset = \"moderator\"\n"));
    assert!(net("[limits]\nunlimited = false\n"));
}

#[test]
fn limits_of_a_preset_that_nobody_measures_are_passed_over() {
    use backstop_core::policy::OnUnknown::{Hold, Ignore};
    let tokens = |text: &str| {
        let policy = toml(text);
        let rule = policy.rules.iter().find(|rule| rule.name() == "max_tokens").unwrap();
        rule.on_unknown
    };
    assert_eq!(tokens("preset = \"default\"\n"), Ignore);
    assert_eq!(tokens("preset = \"default\"\n[limits]\ntokens = 5\n"), Hold);
    assert_eq!(tokens("[limits]\ntokens = 5\nunmetered = \"hold\"\n"), Hold);
    assert_eq!(tokens("[limits]\ntokens = 5\nunmetered = \"allow\"\n"), Ignore);
}

#[test]
fn native_keys_and_a_dialects_do_not_mix() {
    assert_eq!(
        refused(
            "[stopRules]\nmaxRerunsPerJob = 1\n[[rule]]\nwhen = { type = \"never\" }\nthen = \"stop\"\n",
            Syntax::Toml
        ),
        ["unknown key `stopRules` in `policy`"]
    );
    let host = load("[limits]\niterations = 5\n[stopRules]\nmaxRerunsPerJob = 1\n", Syntax::Toml);
    let found = host.lints();
    let lints: Vec<_> = found.iter().map(|lint| lint.message.as_str()).collect();
    assert_eq!(lints, ["`limits` is ignored in a document of the rerun dialect"]);
    assert_eq!(host.policy.dialect, Some(Dialect::Rerun));
}
