//! What `compile` refuses, and in which words.

use super::super::{Expression, FACT_NAMES};

/// The message, the text that it points at, and the hint.
fn refusal(source: &str) -> String {
    let error = Expression::compile(source).expect_err(source);
    let mut shown = error.message;
    if let Some(span) = error.span {
        let text = source.get(span.clone()).expect("a span is on character boundaries");
        shown += &format!(" @ {}..{} {text:?}", span.start, span.end);
    }
    if let Some(hint) = error.hint {
        shown += &format!(" ({hint})");
    }
    shown
}

fn refusals(sources: &[&str]) -> String {
    sources.iter().map(|source| format!("{source:?}: {}\n", refusal(source))).collect()
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
    ]), @r##"
    "": the expression is empty
    " \n ": the expression is empty
    "iterations >": the expression ends too early @ 12..12 ""
    "iterations > 5 &&": the expression ends too early @ 17..17 ""
    "(iterations > 5": the expression ends too early @ 15..15 ""
    "iterations > 5)": `)` is not expected here @ 14..15 ")"
    "iterations = 5": `=` is not an operator @ 11..12 "=" (write `==`)
    "iterations > 5 & true": `&` is not an operator @ 15..16 "&" (write `&&`)
    "iterations > 5 and cost_usd > 1": `and` is not expected here @ 15..18 "and" (write `&&`)
    "iterations 5": `5` is not expected here @ 11..12 "5"
    "iterations\n  > # 5": `#` is not expected here @ 15..16 "#"
    "\"é\" == worker # x": `#` is not expected here @ 15..16 "#"
    "worker == 'abc": the text that begins here does not end @ 10..11 "'"
    "worker == 'a\nb'": the text that begins here does not end @ 10..11 "'"
    "worker == \"\\q\"": `\q` is not an escape @ 11..12 "\\" (write `\\` for a backslash, or `r"…"` for text without escapes)
    "worker == \"\\u12\"": `\u` is not an escape @ 11..12 "\\" (write `\\` for a backslash, or `r"…"` for text without escapes)
    "worker == '''a": the text that begins here does not end @ 10..13 "'''"
    "`iterations` > 1": ``` is not expected here @ 0..1 "`"
    "12monkeys > 1": `12monkeys` is not a number @ 0..9 "12monkeys"
    "iterations > 99999999999999999999": `99999999999999999999` is not a number that can be used @ 13..33 "99999999999999999999"
    "iterations > 18446744073709551615u": the number is too large @ 13..34 "18446744073709551615u"
    "cost_usd > 1e999": `1e999` is not a number that can be used @ 11..16 "1e999"
    "last_error.?category == 'x'": `.` is not expected here @ 10..11 "."
    "é > 1": `é` is not expected here @ 0..2 "é"
    "a.in": `in` is not expected here @ 2..4 "in"
    "##);
}

#[test]
fn unknown_names_offer_the_nearest() {
    insta::assert_snapshot!(refusals(&[
        "iteration > 50",
        "iterations > 50 && cots_usd > 1.0",
        "\"éé\" == wrker",
        "size(\"é\") == 'é'.sise()",
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
    ]), @r##"
    "iteration > 50": unknown fact `iteration` @ 0..9 "iteration" (did you mean `iterations`?)
    "iterations > 50 && cots_usd > 1.0": unknown fact `cots_usd` @ 19..27 "cots_usd" (did you mean `cost_usd`?)
    "\"éé\" == wrker": unknown fact `wrker` @ 10..15 "wrker" (did you mean `worker`?)
    "size(\"é\") == 'é'.sise()": unknown function `sise` @ 19..23 "sise" (did you mean `size`?)
    "xyzzy": unknown fact `xyzzy` @ 0..5 "xyzzy"
    ".iterations > 5": unknown fact `.iterations` @ 1..11 "iterations" (did you mean `iterations`?)
    "t > 1 || tests.failed.exists(t, t == 'x')": unknown fact `t` @ 0..1 "t"
    "tests.faild.size() > 1": `tests` has no `faild` @ 6..11 "faild" (did you mean `failed`?)
    "has(last_error.kind)": `last_error` has no `kind` @ 15..19 "kind" (it has `category`, `message`, `signature`)
    "tests. zzzzzz == null": `tests` has no `zzzzzz` @ 7..13 "zzzzzz" (it has `passed`, `failed`, `skipped`)
    "tests.failed.exist(t, t == 'x')": unknown function `exist` @ 13..18 "exist" (did you mean `exists`?)
    "len(tests.failed) > 1": unknown function `len` @ 0..3 "len"
    "worker.startswith('x')": unknown function `startswith` @ 7..17 "startswith" (did you mean `startsWith`?)
    "timestamp(last_changed_at) > timestamp(first_failure_at)": unknown function `timestamp` @ 0..9 "timestamp"
    "##);
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
    ]), @r##"
    "has(iterations)": `has` takes a field, as in `has(last_error.category)` @ 4..14 "iterations"
    "has(tests.failed, 1)": `has` is not called like this @ 0..3 "has" (write `has(last_error.category)`)
    "size() > 1": `size` is not called like this @ 0..4 "size" (write `size(tests.failed)`)
    "contains(worker, 'x')": `contains` is not called like this @ 0..8 "contains" (write `text.contains("…")`)
    "tests.failed.exists(t)": `exists` is not called like this @ 13..19 "exists" (write `list.exists(item, …)`)
    "tests.failed.exists('t', true)": the first argument of `exists` must be a new name @ 20..23 "'t'" (as in `tests.failed.exists(t, …)`)
    "tests.failed.exists(t.x, true)": the first argument of `exists` must be a new name @ 21..22 "." (as in `tests.failed.exists(t, …)`)
    "exists(t, true)": `exists` is not called like this @ 0..6 "exists" (write `list.exists(item, …)`)
    "worker.matches(failure_class)": the pattern of `matches` must be written out as text @ 15..28 "failure_class"
    "worker.matches('')": the pattern of `matches` is empty @ 15..17 "''"
    "worker.matches('(')": the pattern does not compile: unclosed group @ 15..18 "'('"
    "worker.matches('((a{100}){100}){100}')": the pattern is too large @ 15..37 "'((a{100}){100}){100}'"
    "tests.failed.exists(t, tests.passed.exists(u, u == t))": `exists` stands inside another macro @ 36..42 "exists" (macros do not nest, so that the time to evaluate them is bounded)
    "tests.failed.filter(t, tests.passed.all(u, u != t)).size() > 0": `all` stands inside another macro @ 36..39 "all" (macros do not nest, so that the time to evaluate them is bounded)
    "{'a': 1}['a'] == 1": maps cannot be written here @ 0..1 "{"
    "Foo{a: 1} == null": messages cannot be written here @ 3..4 "{"
    "worker == b'x'": bytes are not supported @ 10..14 "b'x'" (write text without the `b`)
    "##);
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
    ]), @r##"
    "5": this gives a number, not true or false @ 0..1 "5"
    "'yes'": this gives text, not true or false @ 0..5 "'yes'"
    "null": this gives null, not true or false @ 0..4 "null"
    "[true]": this gives a list, not true or false @ 0..1 "["
    "iterations + 5": this gives a number, not true or false @ 11..12 "+"
    "-iterations": this gives a number, not true or false @ 0..1 "-"
    "size(tests.failed)": this gives a number, not true or false @ 4..5 "("
    "tests.failed.map(t, t)": this gives a list, not true or false @ 16..17 "("
    "iterations > 5 && 3": this gives a number, not true or false @ 18..19 "3"
    "!'x'": this gives text, not true or false @ 1..4 "'x'"
    "error_now ? 1 : 2": this gives a number, not true or false @ 10..11 "?"
    "1 ? true : false": this gives a number, not true or false @ 0..1 "1"
    "tests.failed.exists(t, 'x' + t)": this gives text, not true or false @ 27..28 "+"
    "##);
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
        @r##"
    the expression is longer than 4096 bytes (split it into several conditions)
    the expression is nested deeper than 32 levels @ 32..33 "(" (split it into several conditions)
    the expression has more than 256 names, values and operators (split it into several conditions)
    the expression is nested deeper than 32 levels @ 0..1 "1" (split it into several conditions)
    "##
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
    assert_eq!(expression.variables(), ["tests", "worker", "quota", "failure_class"]);
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
        assert_eq!(Expression::compile(source).unwrap().reads_time(), reads, "{source}");
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
