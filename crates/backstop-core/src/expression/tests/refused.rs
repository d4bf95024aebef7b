//! What `compile` refuses, and in which words.

use super::super::{Expression, FACT_NAMES};

/// The message, the text that it points at, and the hint.
fn refusal(source: &str) -> String {
    let error = Expression::compile(source).expect_err(source);
    let mut shown = error.message;
    if let Some(span) = error.span {
        let text = source
            .get(span.clone())
            .expect("a span is on character boundaries");
        shown += &format!(" @ {}..{} {text:?}", span.start, span.end);
    }
    if let Some(hint) = error.hint {
        shown += &format!(" ({hint})");
    }
    shown
}

fn refusals(sources: &[&str]) -> String {
    sources
        .iter()
        .map(|source| format!("{source:?}: {}\n", refusal(source)))
        .collect()
}

#[test]
fn unreadable_sources_say_where_and_what() {
    insta::assert_snapshot!(refusals(&[
        "",
        " \n ",
        "iterations >",
        "iterations > 5 &&",
        "(iterations > 5",
        "iterations > 5)",
        "iterations = 5",
        "iterations > 5 & true",
        "iterations > 5 and cost_usd > 1",
        "iterations 5",
        "iterations\n  > # 5",
        "\"é\" == worker # x",
        "worker == 'abc",
        "worker == 'a\nb'",
        "worker == \"\\q\"",
        "worker == \"\\u12\"",
        "worker == '''a",
        "`iterations` > 1",
        "12monkeys > 1",
        "iterations > 99999999999999999999",
        "iterations > 18446744073709551615u",
        "cost_usd > 1e999",
        "last_error.?category == 'x'",
        "é > 1",
        "a.in",
    ]), @"");
}

#[test]
fn unknown_names_offer_the_nearest() {
    insta::assert_snapshot!(refusals(&[
        "iteration > 50",
        "iterations > 50 && cots_usd > 1.0",
        "\"éé\" == wrker",
        "xyzzy",
        ".iterations > 5",
        "t > 1 || tests.failed.exists(t, t == 'x')",
        "tests.faild.size() > 1",
        "has(last_error.kind)",
        "tests. zzzzzz == null",
        "tests.failed.exist(t, t == 'x')",
        "len(tests.failed) > 1",
        "worker.startswith('x')",
        "timestamp(last_changed_at) > timestamp(first_failure_at)",
    ]), @"");
}

#[test]
fn misused_functions_show_their_use() {
    insta::assert_snapshot!(refusals(&[
        "has(iterations)",
        "has(tests.failed, 1)",
        "size() > 1",
        "contains(worker, 'x')",
        "tests.failed.exists(t)",
        "tests.failed.exists('t', true)",
        "tests.failed.exists(t.x, true)",
        "exists(t, true)",
        "worker.matches(failure_class)",
        "worker.matches('')",
        "worker.matches('(')",
        "worker.matches('((a{100}){100}){100}')",
        "tests.failed.exists(t, tests.passed.exists(u, u == t))",
        "tests.failed.filter(t, tests.passed.all(u, u != t)).size() > 0",
        "{'a': 1}['a'] == 1",
        "Foo{a: 1} == null",
        "worker == b'x'",
    ]), @"");
}

#[test]
fn what_cannot_be_true_or_false_is_refused() {
    insta::assert_snapshot!(refusals(&[
        "5",
        "'yes'",
        "null",
        "[true]",
        "iterations + 5",
        "-iterations",
        "size(tests.failed)",
        "tests.failed.map(t, t)",
        "iterations > 5 && 3",
        "!'x'",
        "error_now ? 1 : 2",
        "1 ? true : false",
        "tests.failed.exists(t, 'x' + t)",
    ]), @"");
    for undecided in ["error_now", "true", "error_now ? true : 2", "probes['x']"] {
        Expression::compile(undecided).unwrap();
    }
}

#[test]
fn sizes_are_refused_just_above_their_limits() {
    let long = |bytes: usize| format!("{}true", " ".repeat(bytes - 4));
    assert!(Expression::compile(&long(4096)).is_ok());
    let brackets = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Expression::compile(&brackets(32)).is_ok());
    let list = |items: usize| format!("1 in [1{}]", ",1".repeat(items - 1));
    // `1`, `in` and the bracket are parts as well.
    assert!(Expression::compile(&list(253)).is_ok());
    let sum = |terms: usize| format!("1{} > 1", "+1".repeat(terms - 1));
    assert!(Expression::compile(&sum(31)).is_ok());
    insta::assert_snapshot!(
        [long(4097), brackets(33), list(254), sum(32)]
            .iter()
            .map(|source| refusal(source) + "\n")
            .collect::<String>(),
        @""
    );
}

#[test]
fn fact_names_are_sorted_and_each_can_be_read() {
    assert!(FACT_NAMES.is_sorted());
    for name in FACT_NAMES {
        let expression = Expression::compile(&format!("{name} == null")).unwrap();
        assert_eq!(expression.variables(), [*name]);
    }
}

#[test]
fn variables_are_roots_in_the_order_of_first_mention() {
    let source = "tests.failed.exists(iterations, iterations == worker) && tests.passed == [] \
                  || quota[failure_class] > 0.5";
    let expression = Expression::compile(source).unwrap();
    assert_eq!(
        expression.variables(),
        ["tests", "worker", "quota", "failure_class"]
    );
    assert_eq!(expression.source(), source);
}

#[test]
fn time_is_read_through_three_facts() {
    for (source, reads) in [
        ("active_ms > 1", true),
        ("iterations > 1 || progress_age_ms > 1", true),
        ("health < 50", true),
        ("iterations > 1 && last_changed_at != null", false),
    ] {
        assert_eq!(
            Expression::compile(source).unwrap().reads_time(),
            reads,
            "{source}"
        );
    }
}

#[test]
fn equality_and_debug_go_by_source() {
    let one = Expression::compile("iterations > 1").unwrap();
    assert_eq!(one, one.clone());
    assert_eq!(one, Expression::compile("iterations > 1").unwrap());
    assert_ne!(one, Expression::compile("iterations >  1").unwrap());
    assert_eq!(format!("{one:?}"), "Expression(\"iterations > 1\")");
}
