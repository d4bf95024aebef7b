//! What is only remarked on.

use backstop_core::document::Syntax;
use backstop_core::policy::Policy;
use insta::assert_snapshot;

use crate::{remarked, rule, shown};

#[test]
fn a_rate_that_fires_on_its_first_sample() {
    assert_snapshot!(remarked(&[
        rule("type = \"reject_rate\", above = 0.3"),
        rule("type = \"retry_rate\", above = 0.5"),
        rule("type = \"error_rate\", at_least = 0.2"),
    ].concat()), @r#"
    3:10 ⟦type = "reject_rate"⟧ `reject_rate` fires on the first rejected unit · 1 of 1 is 100%; add `min_units = 5`
    6:10 ⟦type = "retry_rate"⟧ `retry_rate` fires on the first retried unit · 1 of 1 is 100%; add `min_units = 5`
    9:10 ⟦type = "error_rate"⟧ `error_rate` fires on the first failed task · 1 of 1 is 100%; add `min_tasks = 5`
    "#);
    assert_eq!(remarked(&rule("type = \"reject_rate\", above = 0.3, min_units = 5")), "");
    assert_eq!(remarked(&rule("type = \"reject_rate\", above = 1.0")), "");
    // The dialect's own document has no such key.
    let pipeline = Policy::load(b"retry: {}", Syntax::Yaml).unwrap();
    assert_eq!(pipeline.lints(), []);
}

#[test]
fn a_rule_that_another_always_beats() {
    let two = |one: &str, other: &str| remarked(&format!("{}{}", rule(one), rule(other)));
    assert_snapshot!(two("type = \"max_iterations\", count = 5", "type = \"max_iterations\", count = 6"), @r#"6:10 ⟦type = "max_iterations"⟧ `max_iterations` can never win · always beaten (3:10 `max_iterations` is met whenever this is, and comes first)"#);
    let shadowed =
        rule("type = \"max_iterations\", count = 5").replace("\"stop\"", "\"stop\"\nshadow = true");
    assert_eq!(
        remarked(&format!("{shadowed}{}", rule("type = \"max_iterations\", count = 6"))),
        ""
    );
    assert_eq!(
        two("type = \"max_iterations\", count = 6", "type = \"max_attempts\", count = 5"),
        ""
    );
    // What recovers from stagnation does so once, and then others have their turn.
    let stale = |then: &str| rule("type = \"stagnation\", duration = \"1h\"").replace("stop", then);
    assert_eq!(remarked(&format!("{}{}", stale("recover"), stale("retry"))), "");
    assert_ne!(remarked(&format!("{}{}", stale("retry"), stale("recover"))), "");
    // The milder one says something before the other does.
    let warns = rule("type = \"max_iterations\", count = 4").replace("stop", "warn");
    assert_eq!(remarked(&format!("{warns}{}", rule("type = \"max_iterations\", count = 6"))), "");
    let late = rule("type = \"max_iterations\", count = 8").replace("stop", "warn");
    assert_snapshot!(remarked(&format!("{late}{}", rule("type = \"max_iterations\", count = 6"))), @r#"3:10 ⟦type = "max_iterations"⟧ `max_iterations` can never win · always beaten (6:10 `max_iterations` is met whenever this is, and comes first)"#);
}

#[test]
fn a_limit_that_a_rule_always_beats() {
    let lints = |count: u64| {
        let kills = rule(&format!("type = \"max_iterations\", count = {count}"));
        let kills = kills.replace("stop", "kill");
        let text = format!("{kills}[limits]\niterations = 5\ncost_usd = 1.0\n");
        shown(&text, &Policy::load(text.as_bytes(), Syntax::Toml).expect("a policy").lints())
    };
    assert_snapshot!(lints(3), @"5:1 ⟦iterations = 5⟧ `max_iterations` can never win · always beaten (3:10 `max_iterations` is met whenever this is, and comes first)");
    assert_eq!(lints(9), "");
}

#[test]
fn a_condition_that_is_met_before_the_first_iteration() {
    assert_snapshot!(remarked(&[
        rule("type = \"not\", condition = { type = \"all_tests_pass\" }"),
        rule("type = \"quota\", window = \"5h\", at_least = 0"),
        rule("type = \"expr\", cel = \"iterations < 3\""),
    ].concat()), @r#"
    3:10 ⟦type = "not"⟧ `not` is met before the first iteration · `stop` would be the verdict before anything happens
    6:10 ⟦type = "quota"⟧ `quota` is met before the first iteration · `stop` would be the verdict before anything happens
    9:10 ⟦type = "expr"⟧ `expr` is met before the first iteration · `stop` would be the verdict before anything happens
    "#);
    assert_eq!(
        remarked(&rule(
            "type = \"not\", condition = { type = \"not\", condition = { type = \"never\" } }"
        )),
        ""
    );
}
