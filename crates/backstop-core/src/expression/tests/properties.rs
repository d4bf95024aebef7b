//! Random sources and facts: no panic, and the same answers as the `cel` crate's interpreter.

use proptest::prelude::*;

use super::super::{Expression, FactValue};
use super::Facts;

proptest! {
    #[test]
    fn no_text_panics(source in any::<String>()) {
        check_span(&source);
    }

    #[test]
    fn no_cel_like_text_panics(source in proptest::collection::vec(fragment(), 0..40)) {
        check_span(&source.concat());
    }

    #[test]
    fn no_expression_panics(source in condition(4), facts in facts()) {
        if let Ok(expression) = Expression::compile(&source) {
            let answer = expression.evaluate(&facts);
            prop_assert_eq!(&answer, &expression.evaluate(&facts));
            if let Err(why) = answer {
                prop_assert!(!why.is_empty() && !why.contains('\n'));
            }
        }
    }

    /// Where both give an answer it is the same. Ours is unknown more often, by design, and also
    /// answers on mixed numbers; it must never answer where the interpreter says the opposite, but
    /// for facts that are absent: to the interpreter null is a value like others.
    #[test]
    fn answers_agree_with_the_interpreter(source in truth(3), facts in facts_that_are_there()) {
        let Ok(expression) = Expression::compile(&source) else { return Ok(()) };
        let Ok(ours) = expression.evaluate(&facts) else { return Ok(()) };
        if let Some(theirs) = interpreted(&source, &facts) {
            prop_assert_eq!(ours, theirs, "{}", source);
        }
    }
}

fn check_span(source: &str) {
    if let Err(error) = Expression::compile(source) {
        let span = error.span.unwrap_or_default();
        assert!(source.get(span).is_some(), "{source:?}: the span is not inside");
    }
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(&[
            "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "!", "-", "+", "*", "/", "%", "==",
            "!=", "<", "<=", "&&", "||", "=", "&", "'", "\"", "'''", "\\", "\n", " ", "//", "r'",
            "b'", "in", "true", "null", "1", "1.5", "1u", "0x1", "1e5", "é", "`", "a{", "\r",
        ][..]).prop_map(str::to_owned),
        2 => proptest::sample::select(&[
            "iterations", "tests", "tests.failed", "has(", "size(", ".exists(t,", ".map(t,", "t",
            ".matches('a')", ".contains(", "string(", "int(", "quota['5h']",
        ][..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

/// A source that mostly compiles, of any type inside.
fn condition(depth: u32) -> impl Strategy<Value = String> {
    let leaf = proptest::sample::select(
        &[
            "iterations",
            "cost_usd",
            "worker",
            "tests.failed",
            "tests",
            "quota['5h']",
            "last_error.category",
            "exit_code",
            "0",
            "1",
            "-2",
            "2.5",
            "'a'",
            "''",
            "true",
            "false",
            "null",
            "[]",
            "[1, 2]",
            "['a', 'b']",
            "9223372036854775807",
            "t",
        ][..],
    )
    .prop_map(str::to_owned);
    let value = leaf.prop_recursive(depth, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (pair.clone(), sign(&["+", "-", "*", "/", "%"]))
                .prop_map(|((left, right), sign)| format!("({left} {sign} {right})")),
            (pair.clone(), sign(&["==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"]))
                .prop_map(|((left, right), sign)| format!("({left} {sign} {right})")),
            (pair.clone(), sign(&["all", "exists", "exists_one", "map", "filter"]))
                .prop_map(|((left, right), name)| format!("{left}.{name}(t, {right})")),
            (pair.clone(), sign(&["contains", "startsWith", "endsWith"]))
                .prop_map(|((left, right), name)| format!("{left}.{name}({right})")),
            (inner.clone(), sign(&["size", "int", "double", "string", "!", "-"]))
                .prop_map(|(of, name)| format!("{name}({of})")),
            (pair.clone(), inner)
                .prop_map(|((left, right), condition)| format!("({condition} ? {left} : {right})")),
            pair.prop_map(|(left, right)| format!("{left}[{right}]")),
        ]
    });
    let pair = (value.clone(), value.clone());
    prop_oneof![
        value,
        (pair, sign(&["==", "<", "<=", "in", "&&", "||"]))
            .prop_map(|((left, right), sign)| format!("{left} {sign} {right}")),
    ]
}

/// A condition whose types mostly fit, so that it mostly has an answer.
fn truth(depth: u32) -> BoxedStrategy<String> {
    let compared = prop_oneof![
        (number(2), number(2), sign(&["==", "!=", "<", "<=", ">", ">="])),
        (text(), text(), sign(&["==", "!=", "<", "<=", ">", ">="])),
        (text(), list(), Just("in")),
        (list(), list(), sign(&["==", "!="])),
    ]
    .prop_map(|(left, right, sign)| format!("{left} {sign} {right}"));
    if depth == 0 {
        return compared.boxed();
    }
    let inner = truth(depth - 1);
    prop_oneof![
        2 => compared,
        2 => (inner.clone(), inner.clone(), sign(&["&&", "||"]))
            .prop_map(|(left, right, sign)| format!("({left} {sign} {right})")),
        1 => inner.clone().prop_map(|of| format!("!({of})")),
        1 => (inner.clone(), inner.clone(), inner)
            .prop_map(|(condition, then, otherwise)| format!("({condition} ? {then} : {otherwise})")),
        2 => (list(), sign(&["all", "exists", "exists_one"]), text_test("t"))
            .prop_map(|(list, name, test)| format!("{list}.{name}(t, {test})")),
        1 => (list(), text_test("t"))
            .prop_map(|(list, test)| format!("size({list}.filter(t, {test})) > 1")),
        1 => list().prop_map(|list| format!("{list}.map(t, t + 'b') == ['ab', 'bb']")),
        1 => text().prop_flat_map(|text| text_test(&text)),
    ]
    .boxed()
}

fn text_test(of: &str) -> impl Strategy<Value = String> + use<> {
    let of = of.to_owned();
    (sign(&["contains", "startsWith", "endsWith", "matches"]), sign(&["'a'", "'b'", "'ab'"]))
        .prop_map(move |(name, part)| format!("{of}.{name}({part})"))
}

fn number(depth: u32) -> BoxedStrategy<String> {
    let leaf = sign(&[
        "iterations",
        "cost_usd",
        "quota['5h']",
        "0",
        "1",
        "-2",
        "3",
        "2.5",
        "-0.5",
        "1e18",
        "size(worker)",
        "size(tests.failed)",
        "9223372036854775807",
        "int('4')",
        "double(3)",
    ])
    .prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = number(depth - 1);
    let sum = (inner.clone(), inner, sign(&["+", "-", "*", "/", "%"]))
        .prop_map(|(left, right, sign)| format!("({left} {sign} {right})"));
    prop_oneof![3 => leaf, 1 => sum].boxed()
}

fn text() -> impl Strategy<Value = String> {
    sign(&["worker", "'a'", "'ab'", "''", "string(12)", "('a' + worker)", "tests.failed[0]"])
        .prop_map(str::to_owned)
}

fn list() -> impl Strategy<Value = String> {
    sign(&["tests.failed", "tests.passed", "[]", "['a', 'b']", "(tests.failed + ['a'])", "['ab']"])
        .prop_map(str::to_owned)
}

fn sign(signs: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(signs)
}

fn facts() -> impl Strategy<Value = Facts> {
    facts_of(prop_oneof![3 => number_fact(), 1 => Just(FactValue::Null)])
}

/// Facts of which none that `truth` asks for is null.
fn facts_that_are_there() -> impl Strategy<Value = Facts> {
    facts_of(number_fact())
}

fn number_fact() -> impl Strategy<Value = FactValue> + Clone {
    prop_oneof![
        any::<i64>().prop_map(FactValue::Int),
        (-3_i64..3).prop_map(FactValue::Int),
        any::<f64>().prop_map(FactValue::Float),
    ]
}

fn facts_of(number: impl Strategy<Value = FactValue> + Clone) -> impl Strategy<Value = Facts> {
    let names = proptest::collection::vec(proptest::sample::select(&["a", "b", "ab"][..]), 0..4);
    (number.clone(), number.clone(), number, names.clone(), names).prop_map(
        |(iterations, cost, used, failed, passed)| {
            let tests = [("failed", failed.into()), ("passed", passed.into())];
            Facts::default()
                .with("iterations", iterations)
                .with("cost_usd", cost)
                .with("quota", FactValue::from([("5h", used)]))
                .with("tests", FactValue::from(tests))
                .with("worker", "a")
                .with("last_error", FactValue::Null)
        },
    )
}

/// What the `cel` crate's own interpreter says.
fn interpreted(source: &str, facts: &Facts) -> Option<bool> {
    let mut context = cel::Context::default();
    for (name, value) in &facts.known {
        context.add_variable_from_value(*name, foreign(value));
    }
    match cel::Program::compile(source).ok()?.execute(&context) {
        Ok(cel::Value::Bool(answer)) => Some(answer),
        _ => None,
    }
}

fn foreign(value: &FactValue) -> cel::Value {
    match value {
        FactValue::Null => cel::Value::Null,
        FactValue::Bool(value) => (*value).into(),
        FactValue::Int(value) => (*value).into(),
        FactValue::Float(value) => (*value).into(),
        FactValue::Text(text) => text.as_str().into(),
        FactValue::List(items) => items.iter().map(foreign).collect::<Vec<_>>().into(),
        FactValue::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), foreign(value)))
            .collect::<std::collections::HashMap<_, _>>()
            .into(),
    }
}
