use super::*;
use crate::document::Syntax;
use crate::facts::GivenFacts;

/// The decision of a policy on stated facts.
fn decided(policy: &str, syntax: Syntax, facts: &str) -> (Decision, Engine) {
    let loaded = Policy::load(policy.as_bytes(), syntax);
    let policy = loaded.unwrap_or_else(|errors| panic!("{policy}\n{errors:?}")).policy;
    let facts = GivenFacts::from_json(facts.as_bytes()).expect("facts").into();
    let mut engine = Engine::with_facts(policy, facts).with_neutral_meters();
    let now = engine.moment("2026-05-04T10:00:00Z".parse().expect("a time"));
    (engine.poll_decision(now), engine)
}

#[test]
fn only_the_four_conditions_of_the_pipeline_are_known_by_its_names() {
    let manifest = r#"{"retry": {"stop_conditions": {}}}"#;
    let native =
        |rule: &str| format!("dialect = 'pipeline'\n[[rule]]\nwhen = {rule}\nthen = 'stop'\n");
    let cost = native("{ type = 'max_cost', usd = 2.0 }");
    let mixed = "preset = 'pipeline'\n[limits]\ncost_usd = 9.0\n";
    for (policy, syntax, facts, name) in [
        (manifest, Syntax::Json, r#"{"attempts": 50}"#, "CIRCUIT_BREAKER"),
        (manifest, Syntax::Json, r#"{"consecutive_fails": 3}"#, "CONSECUTIVE_FAILS"),
        (&cost, Syntax::Toml, r#"{"cost_usd": 3.0}"#, "max_cost"),
        (mixed, Syntax::Toml, r#"{"consecutive_fails": 3}"#, "consecutive_fails"),
    ] {
        let (decision, engine) = decided(policy, syntax, facts);
        let told = condition_name(&decision, engine.policy());
        assert_eq!(told.as_deref(), Some(name), "{policy}");
    }
}

#[test]
fn an_agent_says_that_its_context_is_full_where_no_rule_does() {
    let rule = |when: &str| {
        format!("[[rule]]\nwhen = {when}\nthen = 'stop'\nreason = 'context_overflow'\n")
    };
    let facts = r#"{"iterations": 3, "context": {"used": 96, "limit": 100}}"#;
    for (when, help) in [
        ("{ type = 'expr', cel = 'iterations > 2' }", None),
        ("{ type = 'max_iterations', count = 2 }", None),
        ("{ type = 'context_usage', at_least = 0.95 }", Some("The context is 96")),
    ] {
        let (decision, engine) = decided(&rule(when), Syntax::Toml, facts);
        assert_eq!(decision.reason.as_deref(), Some("context_overflow"), "{when}");
        let told = help::of(&decision, &engine);
        assert_eq!(told.is_some(), help.is_some(), "{told:?}");
        assert!(help.is_none_or(|help| told.is_some_and(|told| told.starts_with(help))));
    }
}
