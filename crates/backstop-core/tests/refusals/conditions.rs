//! What conditions are made of: others, patterns, lists, paths.

use backstop_core::document::Syntax;
use backstop_core::policy::Policy;
use insta::assert_snapshot;

use crate::{refused_conditions, rule};

#[test]
fn a_composite_of_nothing() {
    assert_snapshot!(refused_conditions(&[
        "type = \"all\", conditions = []",
        "type = \"any\", conditions = []",
        "type = \"any\"",
        "type = \"not\"",
        "type = \"not\", condition = { type = \"all\", conditions = [] }",
        "type = \"all\", conditions = { type = \"never\" }",
        "type = \"any\", conditions = [5, \"never\"]",
    ]), @r#"
    3:37 ⟦[]⟧ `all` needs at least one condition · nothing to look at
    3:37 ⟦[]⟧ `any` needs at least one condition · nothing to look at
    3:8 ⟦{ type = "any" }⟧ `any` needs `conditions` · `conditions` is missing
    3:8 ⟦{ type = "not" }⟧ `not` needs `condition` · `condition` is missing
    3:65 ⟦[]⟧ `all` needs at least one condition · nothing to look at
    3:37 ⟦{ type = "never" }⟧ `conditions` must be a list · this is a table
    3:38 ⟦5⟧ `conditions` must be a condition such as { type = "max_iterations", count = 50 } · this is an integer
    3:41 ⟦"never"⟧ `conditions` must be a condition such as { type = "max_iterations", count = 50 } · this is a string
    "#);
}

#[test]
fn empty_and_wrong_patterns() {
    assert_snapshot!(refused_conditions(&[
        "type = \"output_pattern\", pattern = \"\"",
        "type = \"output_pattern\", pattern = \"(\", is_regex = true",
        "type = \"output_pattern\", pattern = \"a{99999}{99999}\", is_regex = true",
        "type = \"on_error\", pattern = \"\"",
        "type = \"file_contains\", path = \"a\", content = \"\"",
        "type = \"file_created\", path = \"\"",
        "type = \"custom_script\", script = \"\"",
        "type = \"quota\", window = \"\", at_least = 0.5",
    ]), @r#"
    3:45 ⟦""⟧ `pattern` must not be empty · nothing can be meant by this
    3:45 ⟦"("⟧ `pattern` is not a regular expression · unclosed group
    3:45 ⟦"a{99999}{99999}"⟧ `pattern` is too large a regular expression · it would take more than 10 MiB of memory
    3:39 ⟦""⟧ `pattern` must not be empty · nothing can be meant by this
    3:56 ⟦""⟧ `content` must not be empty · nothing can be meant by this
    3:40 ⟦""⟧ `path` must not be empty · nothing can be meant by this
    3:43 ⟦""⟧ `script` must not be empty · nothing can be meant by this
    3:35 ⟦""⟧ `window` must not be empty · nothing can be meant by this
    "#);
    // Not a regular expression unless it says so.
    assert!(
        Policy::load(rule("type = \"output_pattern\", pattern = \"(\"").as_bytes(), Syntax::Toml)
            .is_ok()
    );
}

#[test]
fn lists_with_nothing_or_blanks_in_them() {
    assert_snapshot!(refused_conditions(&[
        "type = \"specific_tests_pass\", tests = []",
        "type = \"specific_tests_pass\", tests = [\"a\", \"\"]",
        "type = \"failure_class\", any_of = [\"lint\", \"\"]",
        "type = \"failure_class\", any_of = [\"lint\", \"  \"]",
        "type = \"exit_code\", any_of = [\"\"]",
    ]), @r#"
    3:48 ⟦[]⟧ `tests` must name at least one test · with none it would be met at once
    3:54 ⟦""⟧ `tests` must not be empty · nothing can be meant by this
    3:52 ⟦""⟧ `any_of` must not be empty · nothing can be meant by this
    3:43 ⟦["lint", "  "]⟧ `any_of` holds a blank class · it would match every failure
    3:40 ⟦""⟧ `any_of` must be a whole number between -2147483648 and 2147483647 · this is a string
    "#);
    for legal in ["type = \"failure_class\", any_of = []", "type = \"exit_code\", any_of = []"] {
        assert!(Policy::load(rule(legal).as_bytes(), Syntax::Toml).is_ok(), "{legal}");
    }
}

fn nested(depth: usize, kind: &str) -> String {
    let (open, close) = match kind {
        "not" => ("{\"type\": \"not\", \"condition\": ".to_owned(), "}"),
        kind => (format!("{{\"type\": \"{kind}\", \"conditions\": ["), "]}"),
    };
    let when = format!("{}{{\"type\": \"never\"}}{}", open.repeat(depth), close.repeat(depth));
    format!("{{\"rule\": [{{\"then\": \"stop\", \"when\": {when}}}]}}")
}

#[test]
fn conditions_that_are_nested_too_deep() {
    for kind in ["not", "all", "any"] {
        assert!(Policy::load(nested(32, kind).as_bytes(), Syntax::Json).is_ok(), "{kind}");
        let errors = Policy::load(nested(33, kind).as_bytes(), Syntax::Json).unwrap_err();
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        let expected = ["conditions are nested deeper than 32", "nested deeper than 72 levels"];
        assert!(messages.len() == 1 && expected.contains(&messages[0]), "{kind}: {messages:?}");
    }
    for depth in [200, 100_000] {
        assert!(Policy::load(nested(depth, "any").as_bytes(), Syntax::Json).is_err(), "{depth}");
        assert!(Policy::load(nested(depth, "any").as_bytes(), Syntax::Yaml).is_err(), "{depth}");
    }
}

#[test]
fn paths_that_leave_the_working_directory() {
    assert_snapshot!(refused_conditions(&[
        "type = \"file_created\", path = \"../x\"",
        "type = \"file_created\", path = \"a/../../x\"",
        "type = \"file_contains\", path = \"/etc/passwd\", content = \"x\"",
    ]), @r#"
    3:40 ⟦"../x"⟧ `../x` leaves the working directory · say `outside = true` if that is meant
    3:40 ⟦"a/../../x"⟧ `a/../../x` leaves the working directory · say `outside = true` if that is meant
    3:41 ⟦"/etc/passwd"⟧ `/etc/passwd` leaves the working directory · say `outside = true` if that is meant
    "#);
    for legal in [
        "type = \"file_created\", path = \"a/b..c/..d\"",
        "type = \"file_created\", path = \"./a\"",
        "type = \"file_created\", path = \"../x\", outside = true",
        "type = \"file_contains\", path = \"/x\", content = \"y\", outside = true",
        "type = \"custom_script\", script = \"/usr/local/bin/check\"",
    ] {
        assert!(Policy::load(rule(legal).as_bytes(), Syntax::Toml).is_ok(), "{legal}");
    }
}
