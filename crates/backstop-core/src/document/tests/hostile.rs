//! Inputs that try to do harm: to blow up, to take forever, to cause a panic.

use super::super::*;
use super::{SYNTAXES, literals, refuse};
use proptest::prelude::*;
use std::fmt::Write;

#[test]
fn aliases_cannot_multiply_without_end() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(laughs, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let errors = refuse(laughs.as_bytes(), Syntax::Yaml);
    assert_eq!(errors[0].message, "aliases repeat more than 1000000 values");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(1_000));
    assert_eq!(refuse(long.as_bytes(), Syntax::Yaml)[0].message, errors[0].message);
    let within = format!("a: &a [x]\nb: [{}]\n", "*a, ".repeat(400_000));
    assert!(parse(within.as_bytes(), Syntax::Yaml).is_ok());
    let beyond = format!("a: &a [x]\nb: [{}]\n", "*a, ".repeat(500_000));
    assert!(parse(beyond.as_bytes(), Syntax::Yaml).is_err());
    let deep = format!(
        "a: &a {}{}\nb: {}*a{}\n",
        "[".repeat(70),
        "]".repeat(70),
        "[".repeat(70),
        "]".repeat(70)
    );
    assert_eq!(
        refuse(deep.as_bytes(), Syntax::Yaml)[0].message,
        format!("nested deeper than {MAX_DEPTH} levels")
    );
}

#[test]
fn a_flood_of_errors_is_cut_short() {
    let floods = [
        (Syntax::Toml, "= 1\n".repeat(5_000)),
        (Syntax::Toml, "a = 1\n".repeat(5_000)),
        (Syntax::Yaml, "1: a\n".repeat(5_000)),
        (Syntax::Yaml, "a: 1\n".repeat(5_000)),
        (Syntax::Json, format!("{{{}\"a\": 1}}", "\"a\": 1,\n".repeat(5_000))),
        (Syntax::Json, format!("{{\"a\": [{}1]}}", "{\"a\": 1, \"a\": 1},\n".repeat(5_000))),
    ];
    for (syntax, text) in floods {
        let errors = refuse(text.as_bytes(), syntax);
        assert_eq!(errors.len(), 101, "{}", syntax.name());
        assert_eq!(errors[100].message, "further errors in the syntax are not shown");
        assert!(errors[..100].iter().all(|error| error.span.is_some()));
    }
    let few = refuse("a: 1\n".repeat(101).as_bytes(), Syntax::Yaml);
    assert_eq!(few.len(), 100);
    assert!(few.iter().all(|error| error.message == "duplicate key `a`"));
}

#[test]
fn a_very_large_broken_file_tells_its_first_error_only() {
    let errors = refuse("= 1\n".repeat(1 << 19).as_bytes(), Syntax::Toml);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].span, Some(0..0));
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    for syntax in SYNTAXES {
        match parse(bytes, syntax) {
            Ok(node) => {
                let text = std::str::from_utf8(bytes).unwrap();
                prop_assert!(text.get(node.span.clone()).is_some());
                literals(text, &node);
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    let spans =
                        error.span.into_iter().chain(error.related.map(|related| related.0));
                    for span in spans {
                        prop_assert!(span.start <= span.end && span.end <= bytes.len(), "{span:?}");
                        if let Ok(text) = std::str::from_utf8(bytes) {
                            prop_assert!(text.get(span.clone()).is_some(), "{syntax:?} {span:?}");
                        }
                    }
                }
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        Syntax::detect(text);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        check(text.as_bytes())?;
    }

    #[test]
    fn text_made_of_syntax_never_panics(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b", "é", "日", "\u{feff}", "1", "-", "- ", ": ", ":", " = ", ".", ",", "\n", "\r\n", "  ", "\t",
                "[", "]", "[[", "]]", "{", "}", "\"", "'", "\"\"\"", "'''", "\\", "\\u00e9", "#", " # c\n", "&x ",
                "*x", "!", "!!str ", "|\n", ">-\n  ", "? ", "---\n", "...\n", "%YAML 1.2\n", "%TAG ! x\n", "null",
                "true", "0x1f", "1e5", "2020-01-01", "[a.b]\n", "[[a]]\n", "a = 1\n", "a: 1\n", "<<", "@", "`", "\0",
            ]),
            0..40,
        )
    ) {
        check(parts.concat().as_bytes())?;
    }
}
