//! What expressions answer, and why they sometimes do not.

use super::super::{Expression, FactValue};
use super::{Facts, ask, sample};

#[test]
fn answers() {
    let facts = sample();
    for (source, expected) in [
        ("iterations > 50 && cost_usd > 10.0", true),
        ("iterations > 51", false),
        ("iterations >= 51", true),
        ("error_now", true),
        ("!error_now", false),
        ("!!error_now", true),
        ("tests.failed.exists(t, t.startsWith('db::'))", true),
        ("tests.failed.all(t, t.startsWith('db::'))", false),
        ("tests.failed.exists_one(t, t.startsWith('ui::'))", true),
        ("tests.failed.exists_one(t, t.startsWith('db::'))", false),
        ("tests.skipped.exists_one(t, true)", false),
        ("tests.skipped.all(t, false)", true),
        ("tests.skipped.exists(t, true)", false),
        ("tests.failed.filter(t, t.startsWith('db::')).size() == 2", true),
        ("tests.failed.map(t, size(t)) == [10, 10, 8]", true),
        ("tests.failed.map(t, t.endsWith('draw'), t + '!') == ['ui::draw!']", true),
        ("tests.failed.filter(t, t.contains('db')).exists(u, u == 'db::select')", true),
        ("size(tests.failed + tests.passed) == 5", true),
        ("'lockfile' in guards", true),
        ("'scope' in guards", false),
        ("'x' in matched", false),
        ("exit_code in [1, 2, 75]", true),
        ("exit_code in [1.0]", true),
        ("'5h' in quota", true),
        ("quota['5h'] >= 0.9", true),
        ("quota.exists(window, quota[window] >= 0.9)", true),
        ("quota.all(window, quota[window] >= 0.9)", false),
        ("size(quota) == 2", true),
        ("failure_signals[1] == failure_signals[2]", true),
        ("failure_signals == ['a1', 'b2', 'b2']", true),
        ("failure_signals != ['a1']", true),
        ("tests == tests", true),
        ("last_error == null", true),
        ("null != worker", true),
        ("has(last_error.category)", false),
        ("has(review.outcome)", false),
        ("has(review.same_rounds)", true),
        ("has(last_error.category) && last_error.category == 'critical'", false),
        ("worker.matches('^rate_(limited|exceeded)$')", true),
        ("matches(worker, r'\\d')", false),
        ("worker < 'z'", true),
        ("size(worker) == 12", true),
        ("size('é') == 1", true),
        ("false < true", true),
        ("string(iterations) + 'x' == '51x'", true),
        ("string(true) + string(1.5) == 'true1.5'", true),
        ("int('7') + int(1.9) + int(3) == 11", true),
        ("double('1.5') == 1.5", true),
        ("(iterations > 5 ? cost_usd : 0.0) > 12.0", true),
        ("context.used * 100 / context.limit >= 75", true),
        ("iterations > 50 // after fifty", true),
        ("'''a\nb''' == \"a\\nb\"", true),
        ("-iterations == 0 - 51", true),
        ("- - 5 == 5", true),
        ("0x10 == 16u", true),
    ] {
        assert_eq!(ask(source, &facts), Ok(expected), "{source}");
    }
}

#[test]
fn numbers_of_both_types_mix() {
    let facts = Facts::default()
        .with("tokens", 10)
        .with("iterations", 4)
        .with("cost_usd", 2.5)
        .with("attempts", i64::MAX)
        .with("cycles", u64::MAX);
    for (source, expected) in [
        ("tokens == 10.0", true),
        ("10.0 == tokens", true),
        ("tokens != 10.5", true),
        ("tokens > 9.999", true),
        ("tokens >= 10.0", true),
        ("tokens > 10.0", false),
        ("tokens < 10.000001", true),
        ("10.000001 > tokens", true),
        ("-1 > -1.5", true),
        ("-1.5 < -1", true),
        ("-2 < -1.5", true),
        ("cost_usd > 2", true),
        ("cost_usd < 3", true),
        ("cost_usd * 2 == 5", true),
        ("2 * cost_usd == 5", true),
        ("cost_usd - 1 == 1.5", true),
        ("1 + cost_usd == 3.5", true),
        ("cost_usd / 2 == 1.25", true),
        // Whole by whole stays whole, as in CEL.
        ("tokens / iterations == 2", true),
        ("tokens / iterations > 2.4", false),
        ("double(tokens) / iterations > 2.4", true),
        ("tokens * 1.0 / iterations == 2.5", true),
        ("tokens % iterations == 2", true),
        ("-7 / 2 == -3", true),
        ("-7 % 2 == -1", true),
        // The nearest float to the largest count is one above it, and both sides know.
        ("attempts < 9223372036854775807.0", true),
        ("attempts == 9223372036854775807.0", false),
        ("9223372036854775807.0 > attempts", true),
        ("-9223372036854775808 == -9223372036854775808.0", true),
        ("attempts > -1e300", true),
        ("attempts < 1e300", true),
        ("cycles == attempts", true),
        ("9007199254740993 > 9007199254740992.0", true),
    ] {
        assert_eq!(ask(source, &facts), Ok(expected), "{source}");
    }
}

#[test]
fn what_cannot_be_told_is_unknown_and_says_why() {
    let facts = sample();
    let sources = [
        "retry_rate > 0.5",
        "exit_code == '1'",
        "exit_code != 'x'",
        "drift > 0.5",
        "drift == drift",
        "quota[1] > 0.5",
        "failure_signals[3] == 'x'",
        "failure_signals[-1] == 'x'",
        "failure_signals['x'] == 'x'",
        "failure_signals[1.0] == 'x'",
        "iterations[0] == 1",
        "iterations.x == 1",
        "has(iterations.x)",
        "'\\n' in iterations",
        "1 in guards",
        "1 in quota",
        "guards == [1]",
        "iterations / 0 == 1",
        "iterations % 0 == 1",
        "cost_usd / 0 > 1",
        "cost_usd / 0.0 > 1",
        "cost_usd % 2 > 1",
        "9223372036854775807 + iterations > 0",
        "-9223372036854775807 - iterations > 0",
        "9223372036854775807 * iterations > 0",
        "(-9223372036854775807 - 1) / -1 > 0",
        "(-9223372036854775807 - 1) % -1 > 0",
        "-(-9223372036854775807 - 1) > 0",
        "1e308 * 10 > 1",
        "-worker == 1",
        "worker + 1 == 'x'",
        "tests - 1 == 1",
        "size(iterations) == 1",
        "int('x') == 1",
        "int(1e300) == 1",
        "int(drift) == 1",
        "double('inf') > 1",
        "string(null) == ''",
        "iterations",
        "worker",
        "tests",
        "iterations.exists(t, true)",
        "tests.failed.exists(t, t > 1)",
        "tests.failed.exists_one(t, t > 1)",
        "tests.failed.filter(t, t > 1) == []",
        "tests.failed.exists(t, t)",
        "worker && true",
        "!iterations",
        "worker ? true : false",
    ];
    let shown: String = sources
        .iter()
        .map(|source| {
            let why = ask(source, &facts).expect_err(source);
            assert!(!why.contains('\n'), "{source}: {why}");
            format!("{source}: {why}\n")
        })
        .collect();
    insta::assert_snapshot!(shown, @r##"
    retry_rate > 0.5: `retry_rate` is not known
    exit_code == '1': `exit_code` (a number) cannot be compared with text
    exit_code != 'x': `exit_code` (a number) cannot be compared with text
    drift > 0.5: `drift` (not a number) cannot be compared with a number
    drift == drift: `drift` (not a number) cannot be compared with `drift` (not a number)
    quota[1] > 0.5: `quota` (a map) is indexed by text
    failure_signals[3] == 'x': `failure_signals[3]` is missing
    failure_signals[-1] == 'x': `failure_signals[-1]` is missing
    failure_signals['x'] == 'x': `failure_signals` (a list) is indexed by a whole number
    failure_signals[1.0] == 'x': `failure_signals` (a list) is indexed by a whole number
    iterations[0] == 1: `iterations` (a number) has no items
    iterations.x == 1: `iterations` (a number) has no `x`
    has(iterations.x): `iterations` (a number) has no fields
    '\n' in iterations: text cannot be looked for in `iterations` (a number)
    1 in guards: a number cannot be looked for in `guards` (a list)
    1 in quota: a number cannot be looked for in `quota` (a map)
    guards == [1]: `guards` (a list) cannot be compared with a list
    iterations / 0 == 1: division by zero
    iterations % 0 == 1: division by zero
    cost_usd / 0 > 1: division by zero
    cost_usd / 0.0 > 1: division by zero
    cost_usd % 2 > 1: `%` works on whole numbers only
    9223372036854775807 + iterations > 0: a number got too large
    -9223372036854775807 - iterations > 0: a number got too large
    9223372036854775807 * iterations > 0: a number got too large
    (-9223372036854775807 - 1) / -1 > 0: a number got too large
    (-9223372036854775807 - 1) % -1 > 0: a number got too large
    -(-9223372036854775807 - 1) > 0: a number got too large
    1e308 * 10 > 1: a number got too large
    -worker == 1: `worker` (text) is not a number
    worker + 1 == 'x': there is no arithmetic on `worker` (text) and a number
    tests - 1 == 1: there is no arithmetic on `tests` (a map) and a number
    size(iterations) == 1: `iterations` (a number) has no size
    int('x') == 1: text cannot be turned into a whole number
    int(1e300) == 1: a number cannot be turned into a whole number
    int(drift) == 1: `drift` (not a number) cannot be turned into a whole number
    double('inf') > 1: text cannot be turned into a number
    string(null) == '': null cannot be turned into text
    iterations: the expression gave a number, not true or false
    worker: the expression gave text, not true or false
    tests: the expression gave a map, not true or false
    iterations.exists(t, true): `iterations` (a number) is not a list
    tests.failed.exists(t, t > 1): `t` (text) cannot be compared with a number
    tests.failed.exists_one(t, t > 1): `t` (text) cannot be compared with a number
    tests.failed.filter(t, t > 1) == []: `t` (text) cannot be compared with a number
    tests.failed.exists(t, t): `t` (text) is not true or false
    worker && true: `worker` (text) is not true or false
    !iterations: `iterations` (a number) is not true or false
    worker ? true : false: `worker` (text) is not true or false
    "##);
}

/// What nothing has been heard of is neither met nor unknown, whichever way it is asked about.
#[test]
fn a_fact_that_is_absent_is_not_met() {
    let facts = Facts::default()
        .with("improvement", FactValue::Null)
        .with("exit_code", FactValue::Null)
        .with("worker", FactValue::Null)
        .with("last_error", FactValue::Null)
        .with("review", FactValue::from([("outcome", FactValue::Null)]))
        .with("quota", FactValue::Map(Default::default()))
        .with("probes", FactValue::from([("asked", FactValue::Null)]))
        .with("guards", vec!["scope"])
        .with("iterations", 0);
    for source in [
        "improvement < 0.1",
        "!(improvement >= 0.1)",
        "improvement * 2 < 0.1",
        "-improvement > 0",
        "exit_code > 0",
        "0 <= exit_code",
        "exit_code == 0",
        "exit_code != 0",
        "!(exit_code == 0)",
        "exit_code == improvement",
        "exit_code in [1, 2]",
        "!(exit_code in [0])",
        "worker.contains('x')",
        "worker.matches('x')",
        "!worker.startsWith('x')",
        "'x'.endsWith(worker)",
        "size(worker) == 0",
        "string(worker) == ''",
        "worker.exists(t, true)",
        "last_error.category != 'critical'",
        "review.outcome != 'approved'",
        "quota['5h'] < 0.9",
        "quota.weekly < 0.9",
        "!(quota['5h'] < 0.9)",
        "probes['never'] == false",
        "!probes['never']",
        "exit_code != 0 && iterations == 0",
        "exit_code != 0 || iterations > 0",
        "exit_code == 0 ? true : false",
        "['a'].all(t, t == worker)",
        "guards.exists_one(t, t == worker)",
        "guards.filter(t, t != worker) != []",
    ] {
        assert_eq!(ask(source, &facts), Ok(false), "{source}");
    }
    for source in [
        "exit_code == null",
        "null == exit_code",
        "worker == null && iterations == 0",
        "exit_code != 0 || iterations == 0",
        "!has(last_error.category)",
        "exit_code == 0 ? false : true",
        "last_error.category == 'transient' ? iterations > 9 : iterations == 0",
        "!('5h' in quota)",
    ] {
        assert_eq!(ask(source, &facts), Ok(true), "{source}");
    }
    // An answer that could not be had is no absent one.
    for source in [
        "probes['asked']",
        "!probes['asked']",
        "probes['asked'] == true",
        "probes.asked != true",
        "!(probes['asked'] == false)",
        "probes['asked'] in [true]",
        "!(probes['asked'] in [false])",
        "string(probes['asked']) == 'true'",
        "probes.exists(key, probes[key] == true)",
        "size(probes['asked']) == 0",
        "iterations < null",
    ] {
        assert!(ask(source, &facts).is_err(), "{source}");
    }
    assert_eq!(ask("probes['asked'] == null", &facts), Ok(true));
}

#[test]
fn a_side_that_decides_makes_up_for_an_unknown_one() {
    let facts = sample();
    for (source, expected) in [
        ("retry_rate > 0.5 && false", Some(false)),
        ("false && retry_rate > 0.5", Some(false)),
        ("retry_rate > 0.5 && true", None),
        ("true && retry_rate > 0.5", None),
        ("retry_rate > 0.5 || true", Some(true)),
        ("true || retry_rate > 0.5", Some(true)),
        ("retry_rate > 0.5 || false", None),
        ("false || retry_rate > 0.5", None),
        ("!(retry_rate > 0.5)", None),
        ("retry_rate > 0.5 || last_error.category == 'x'", None),
        ("retry_rate > 0.5 && last_error.category == 'x'", Some(false)),
        ("last_error.category == 'x' && retry_rate > 0.5", Some(false)),
        ("[1, 'x'].exists(t, t == 'x')", Some(true)),
        ("['x', 1].exists(t, t == 'x')", Some(true)),
        ("[1, 'y'].exists(t, t == 'x')", None),
        ("[1, 'y'].all(t, t == 'x')", Some(false)),
        ("[1, 'x'].all(t, t == 'x')", None),
        ("1 in ['x', 1]", Some(true)),
        ("[1, 'x'] == [2, 3]", Some(false)),
        ("[1, 'x'] == [1, 3]", None),
    ] {
        assert_eq!(ask(source, &facts).ok(), expected, "{source}");
    }
}

#[test]
fn a_fact_is_asked_for_once_and_only_when_reached() {
    let facts = sample();
    let source = "iterations > 60 && worker == 'x' || iterations + iterations > 5";
    assert_eq!(ask(source, &facts), Ok(true));
    assert_eq!(*facts.asked.borrow(), ["iterations"]);
}

#[test]
fn an_expression_answers_anew_each_time() {
    let expression = Expression::compile("iterations > 50").unwrap();
    for (iterations, expected) in [(50, false), (51, true), (50, false)] {
        let facts = Facts::default().with("iterations", FactValue::Int(iterations));
        assert_eq!(expression.evaluate(&facts), Ok(expected));
    }
}
