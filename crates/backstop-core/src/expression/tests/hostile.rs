//! Sources and facts that are made to hurt.

use rstest::rstest;

use super::super::Expression;
use super::{Facts, ask};

/// Runs on a stack as small as any thread of ours has, and fails the test on overflow.
fn on_a_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(512 * 1024);
        builder.spawn_scoped(scope, work).unwrap().join().unwrap();
    });
}

/// Each attack in full, cut to just what passes the scan's limits, and in between.
#[rstest]
#[case::round("(", "true", ")")]
#[case::square("[", "true", "]")]
#[case::curly("{1:", "true", "}")]
#[case::unclosed("(", "", "")]
#[case::unopened("", "true", ")")]
#[case::not("!", "true", "")]
#[case::not_apart("! ", "true", "")]
#[case::minus("-", "1", "")]
#[case::minus_apart("- ", "1 > 0", "")]
#[case::not_minus("!(-(", "1", "))")]
#[case::choice("true?true:", "true", "")]
#[case::choice_inside("true?", "true", ":true")]
#[case::members("", "tests", ".x")]
#[case::member_calls("", "tests", ".size()")]
#[case::indexes("", "tests", "[0]")]
#[case::index_inside("tests[", "0", "]")]
#[case::calls("size(", "tests", ")")]
#[case::has("has(", "tests.x", ")")]
#[case::sum("1+", "1", "")]
#[case::sum_inside("1+(", "1", ")")]
#[case::and("true&&", "true", "")]
#[case::or_inside("true||(", "true", ")")]
#[case::relations("1<", "1", "")]
#[case::macros("tests.failed.exists(t,", "true", ")")]
#[case::macro_chain("", "tests.failed", ".map(t,t+t)")]
#[case::commas("", "size(1", ",1")]
#[case::dots(".", "x", "")]
#[case::messages("a{b:", "1", "}")]
#[case::hidden_in_text("'\\q(", "1", "")]
#[case::hidden_behind_newline("'\n(", "1", "")]
#[case::hidden_behind_number("1r'\\'(", "1", "'")]
#[case::hidden_in_raw_bytes("rb'\\'(", "1", "'")]
#[case::quotes("'", "", "")]
#[case::triple_quotes("'''", "", "")]
#[case::comments("//", "", "\n")]
fn depth_does_not_overflow(#[case] open: &str, #[case] middle: &str, #[case] close: &str) {
    on_a_small_stack(|| {
        for count in [100_000, 4000, 1000, 500, 300, 256, 255, 200, 128, 127, 100, 64, 60, 40, 33]
            .into_iter()
            .chain(1..=32)
        {
            let source = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
            let facts = Facts::default().with("tests", vec![1]);
            match Expression::compile(&source) {
                Ok(expression) => drop(expression.evaluate(&facts)),
                Err(error) => assert!(error.message.len() < 200, "{}", error.message),
            }
            assert!(count < 4097 || Expression::compile(&source).is_err());
        }
    });
}

#[test]
fn the_deepest_tree_evaluates_on_a_small_stack() {
    on_a_small_stack(|| {
        let source = format!("{}1{} > 0", "(1+".repeat(30), ")".repeat(30));
        assert_eq!(ask(&source, &Facts::default()), Ok(true));
    });
}

/// Ten thousand names of tests, as large as facts get.
fn crowd() -> Facts {
    let names = |prefix: &str| {
        (0..10_000).map(|n| format!("{prefix}::module_{n}::case")).collect::<Vec<_>>()
    };
    let tests =
        super::FactValue::from([("passed", names("a").into()), ("failed", names("b").into())]);
    Facts::default().with("tests", tests)
}

#[rstest]
#[case("tests.failed.exists(t, t == 'x')")]
#[case("tests.failed.exists(t, t.matches('^x[0-9]+$'))")]
#[case("tests.failed.map(t, t + t).filter(t, t.contains('zz')).size() > 0")]
#[case("'x' in tests.failed")]
#[case("tests.failed == tests.passed")]
fn a_crowd_is_no_problem_for_one_pass(#[case] source: &str) {
    assert_eq!(ask(source, &crowd()), Ok(false));
}

#[rstest]
#[case::quadratic("tests.failed.exists(t, t in tests.passed)")]
#[case::quadratic_lists("tests.failed.map(t, tests.passed + tests.failed).size() == 1")]
#[case::quadratic_patterns("tests.failed.map(t, tests.passed).exists(l, 'x' in l)")]
#[case::absorbed("tests.failed.exists(t, t in tests.passed) || true")]
#[case::absorbed_by_all("tests.failed.all(t, !(t in tests.passed)) && false")]
fn what_takes_too_long_is_unknown(#[case] source: &str) {
    let why = ask(source, &crowd()).unwrap_err();
    assert_eq!(why, "the expression took more than 2000000 steps on these facts");
}

#[test]
fn doubling_ends_at_the_bound() {
    let doublings = ".map(t, t + t)".repeat(24);
    for start in ["['0123456789abcdef']", "[['0123456789abcdef']]"] {
        let why = ask(&format!("{start}{doublings}.size() == 1"), &Facts::default()).unwrap_err();
        assert_eq!(why, "the expression took more than 2000000 steps on these facts");
    }
}

#[test]
fn a_long_text_ends_at_the_bound() {
    let facts = Facts::default().with("worker", "x".repeat(5_000_000));
    assert!(ask("worker.matches('y$')", &facts).unwrap_err().contains("steps"));
    assert_eq!(ask("worker.contains('y')", &facts), Ok(false));
}
