//! The examples of the reference page, executed.

use super::super::{Expression, FACT_NAMES, FactSource as _, FactValue};
use super::{ask, sample};
use crate::facts::{Facts, HealthLimits, View};
use crate::time::Moment;

const PAGE: &str = include_str!("../../../../../docs/reference/expressions.md");

/// The lines of the fenced blocks of a language.
fn examples(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = PAGE.split(&fence).skip(1);
    let blocks = blocks.map(|rest| rest.split_once("```").expect("a fence that ends").0);
    blocks.flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect()
}

/// Each line ends in a comment that says the answer on the page's sample of facts.
#[test]
fn examples_answer_as_the_page_says() {
    let lines = examples("cel");
    assert!(lines.len() >= 20, "only {} examples were found", lines.len());
    for line in lines {
        let (_, says) = line.rsplit_once("// ").expect("each example says its answer");
        let answer = ask(line, &sample());
        match says {
            "yes" => assert_eq!(answer, Ok(true), "{line}"),
            "no" => assert_eq!(answer, Ok(false), "{line}"),
            other => {
                let why = other.strip_prefix("unknown: ").expect("yes, no, or unknown: why");
                assert_eq!(answer, Err(why.to_owned()), "{line}");
            }
        }
    }
}

#[test]
fn refused_examples_are_refused_as_the_page_says() {
    let lines = examples("cel-refused");
    assert!(lines.len() >= 5, "only {} examples were found", lines.len());
    for line in lines {
        let (source, says) = line.rsplit_once(" // ").expect("each example says why");
        assert_eq!(Expression::compile(source).expect_err(source).message, says, "{source}");
    }
}

#[test]
fn the_page_names_every_fact() {
    for name in FACT_NAMES {
        assert!(PAGE.contains(&format!("| `{name}` |")), "`{name}` is not in the table");
    }
}

/// Of a run that has not begun: what the page calls null is, and what it does not is not.
#[test]
fn a_fact_is_null_where_the_page_says_so() {
    let facts = Facts::default();
    let view = View { facts: &facts, now: Moment::default(), limits: HealthLimits::default() };
    for name in FACT_NAMES {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let kind = row.and_then(|row| row.split(" | ").nth(1)).expect("a row of the table");
        let is_null = view.fact(name) == Some(FactValue::Null);
        assert_eq!(
            is_null,
            !kind.starts_with("map") && kind.ends_with("or null"),
            "`{name}` is {:?}",
            view.fact(name)
        );
    }
    for (source, answer) in [
        ("last_error == null", true),
        ("has(last_error.category)", false),
        ("last_error.category == 'critical'", false),
        ("last_error.category != 'critical'", false),
        ("!(last_error.message == '')", false),
        ("failure_class == null", true),
        ("failure_class != 'infra'", false),
        ("failure_class.contains('')", false),
    ] {
        let asked = Expression::compile(source).expect("it compiles").evaluate(&view);
        assert_eq!(asked, Ok(answer), "{source}");
    }
}
