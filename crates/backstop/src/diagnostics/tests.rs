//! How diagnostics look, and that nothing can upset them.

use super::*;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

const POLICY: &str = "name = \"x\"\n\n[[rules]]\nwhen = { type = \"max_iteratons\", count = 50 }\n\n[[rules]]\nwhen = { type = \"no_progress\", iterations = 0 }\nname = \"y\"\n";

fn span_of(text: &str, part: &str) -> Span {
    let start = text.find(part).unwrap();
    start..start + part.len()
}

fn show(diagnostic: Diagnostic, text: &str) -> String {
    render(&[diagnostic], "backstop.toml", text, false)
}

#[test]
fn errors_and_warnings_with_labels_and_hints() {
    let diagnostics = [
        Diagnostic::error(
            "unknown condition `max_iteratons`",
            span_of(POLICY, "\"max_iteratons\""),
        )
        .label("did you mean `max_iterations`?"),
        Diagnostic::lint("`iterations` is 0", span_of(POLICY, "0 }\nname"))
            .label("stops at once")
            .hint("leave the rule out to go on without end"),
        Diagnostic::error("no limit", None).hint("add `max_iterations`"),
    ];
    insta::assert_snapshot!(render(&diagnostics, "backstop.toml", POLICY, false), @r#"
    error: unknown condition `max_iteratons`
     --> backstop.toml:4:17
      |
    4 | when = { type = "max_iteratons", count = 50 }
      |                 ^^^^^^^^^^^^^^^ did you mean `max_iterations`?

    warning: `iterations` is 0
     --> backstop.toml:7:45
      |
    7 | when = { type = "no_progress", iterations = 0 }
      |                                             ^^^ stops at once
      |
      = help: leave the rule out to go on without end

    error: no limit
    --> backstop.toml
     = help: add `max_iterations`
    "#);
    assert_eq!(
        summary(&diagnostics, "backstop.toml"),
        "2 errors, 1 warning in backstop.toml"
    );
    assert_eq!(summary(&diagnostics[1..2], "a.yaml"), "1 warning in a.yaml");
    assert_eq!(summary(&diagnostics[..1], "a.yaml"), "1 error in a.yaml");
    assert_eq!(summary(&[], "a\u{1b}"), "no errors in a\u{fffd}");
}

#[test]
fn a_related_place_is_labelled_in_the_same_excerpt() {
    let error = |again: Span, first: Span| {
        Diagnostic::error("duplicate key `a`", again)
            .label("defined again")
            .related(first, "first defined here")
    };
    insta::assert_snapshot!(show(error(6..7, 0..1), "a = 1\na = 2\n"), @r#"
    error: duplicate key `a`
     --> backstop.toml:2:1
      |
    1 | a = 1
      | - first defined here
    2 | a = 2
      | ^ defined again
    "#);
    insta::assert_snapshot!(show(error(8..9, 0..1), "a = 1,  a = 2\n"), @r#"
    error: duplicate key `a`
     --> backstop.toml:1:9
      |
    1 | a = 1,  a = 2
      | -       ^ defined again
      | |
      | first defined here
    "#);
    insta::assert_snapshot!(show(error(0..1, 12..13), "a = 1\nb = 2\na = 3\n"), @r#"
    error: duplicate key `a`
     --> backstop.toml:1:1
      |
    1 | a = 1
      | ^ defined again
    2 | b = 2
    3 | a = 3
      | - first defined here
    "#);
    let far = format!("a = 1\n{}a = 2", "b = 0\n".repeat(40));
    insta::assert_snapshot!(show(error(far.len() - 5..far.len() - 4, 0..1), &far), @r#"
    error: duplicate key `a`
      --> backstop.toml:42:1
       |
     1 | a = 1
       | - first defined here
    ...
    42 | a = 2
       | ^ defined again
    "#);
    let farther = format!("a = 1\n{}a = 2", "b = 0\n".repeat(4_000));
    insta::assert_snapshot!(show(error(farther.len() - 5..farther.len() - 4, 0..1), &farther), @r#"
    error: duplicate key `a`
        --> backstop.toml:4002:1
         |
    4002 | a = 2
         | ^ defined again
         |
         = note: first defined here: backstop.toml:1:1
    "#);
    let one_line = format!("{{\"a\": 1, {}\"a\": 2}}", "\"b\": 0, ".repeat(50));
    insta::assert_snapshot!(show(error(one_line.len() - 7..one_line.len() - 4, 1..4), &one_line), @r#"
    error: duplicate key `a`
     --> backstop.toml:1:410
      |
    1 | ..."b": 0, "b": 0, "b": 0, "b": 0, "b": 0, "b": 0, "b": 0, "a": 2}
      |                                                            ^^^ defined again
      |
      = note: first defined here: backstop.toml:1:2
    "#);
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!(
        "{{{}\"here\": 1{}}}",
        "\"a\": 0, ".repeat(6_000),
        ", \"z\": 0".repeat(6_000)
    );
    let span = span_of(&text, "\"here\"");
    insta::assert_snapshot!(show(Diagnostic::error("unknown key `here`", span).label("not known"), &text), @r#"
    error: unknown key `here`
     --> backstop.toml:1:48002
      |
    1 | ... "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "here": 1, "z...
      |                                                             ^^^^^^ not known
    "#);
    insta::assert_snapshot!(show(Diagnostic::error("everything", 0..text.len()).label("all of it"), &text), @r#"
    error: everything
     --> backstop.toml:1:1
      |
    1 | {"a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, "a": 0, ...
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ all of it
    "#);
    let wide = format!("{}x", "日".repeat(100));
    insta::assert_snapshot!(show(Diagnostic::error("wide", 300..301).label("here"), &wide), @r#"
    error: wide
     --> backstop.toml:1:101
      |
    1 | ...日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日x
      |                                                                      ^ here
    "#);
}

#[test]
fn ends_of_lines_and_of_the_file() {
    insta::assert_snapshot!(show(Diagnostic::error("unclosed", 9..9).label("expected `]`"), "a = [1,\n\n"), @r#"
    error: unclosed
     --> backstop.toml:1:8
      |
    1 | a = [1,
      |        ^ expected `]`
    "#);
    insta::assert_snapshot!(show(Diagnostic::error("missing", 3..3).label("expected a value"), "a =\nb = 1\n"), @r#"
    error: missing
     --> backstop.toml:1:4
      |
    1 | a =
      |    ^ expected a value
    "#);
    insta::assert_snapshot!(show(Diagnostic::error("several lines", 0..13), "a = [\n 1,\n 2]\n"), @r#"
    error: several lines
     --> backstop.toml:1:1
      |
    1 | a = [
      | ^^^^^
    "#);
    insta::assert_snapshot!(show(Diagnostic::error("empty", 5..9).label("nothing here"), ""), @r#"
    error: empty
     --> backstop.toml:1:1
      |
    1 |
      | ^ nothing here
    "#);
    insta::assert_snapshot!(show(Diagnostic::error("marked", 3..4), "\u{feff}a = é\r\n"), @r#"
    error: marked
     --> backstop.toml:1:1
      |
    1 | a = é
      | ^
    "#);
}

#[test]
fn what_the_file_says_cannot_take_over_the_terminal() {
    let text = "a\t= \"\u{1b}[31m\u{202e}evil\u{9b}\"\u{7}\r x\n";
    let error = Diagnostic::error("bad \u{1b}[2J\nname", span_of(text, "evil"))
        .label("a\u{202e}b")
        .hint("c\rd")
        .related(0..1, "e\u{8}f");
    insta::assert_snapshot!(render(&[error], "x\u{1b}.toml", text, false), @r#"
    error: bad �[2J name
     --> x�.toml:1:12
      |
    1 | a    = "�[31m�evil�"�� x
      | - e�f         ^^^^ a�b
      |
      = help: c�d
    "#);
}

#[test]
fn colour_only_when_asked_for() {
    let error = [Diagnostic::error("x", 0..1).label("y")];
    assert!(render(&error, "f", "a = 1", true).contains('\u{1b}'));
    assert!(!render(&error, "f", "a = 1", false).contains('\u{1b}'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_span_in_any_text_can_be_shown(
        text in "(?s)(.|[a-z \n\t\r日é\u{feff}\u{300}\u{202e}]){0,120}",
        start in 0usize..400,
        length in 0usize..400,
        other in 0usize..400,
        label in ".{0,20}",
    ) {
        let diagnostic = Diagnostic::error("message", start..start.saturating_add(length))
            .label(label.clone())
            .related(other..other + 3, label);
        let shown = render(&[diagnostic], "f", &text, false);
        let harmful = |character: char| {
            character != '\n' && (character.is_control() || ('\u{202a}'..='\u{202e}').contains(&character))
        };
        prop_assert!(!shown.contains(harmful), "{shown:?}");
        prop_assert!(shown.starts_with("error: message\n"));
    }

    #[test]
    fn excerpts_fit_the_terminal(
        text in "[a-z \"日é]{0,500}",
        start in 0usize..500,
        length in 0usize..500,
        label in "[a-z ]{0,30}",
    ) {
        let shown = show(Diagnostic::error("message", start..start + length).label(label), &text);
        for line in shown.lines() {
            prop_assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
    }

    #[test]
    fn the_start_of_the_span_is_underlined(text in "[a-z]{1,300}", start in 0usize..300) {
        let start = start.min(text.len() - 1);
        let mut text = text;
        text.replace_range(start..=start, "X");
        let shown = show(Diagnostic::error("message", start..start + 1), &text);
        let lines: Vec<&str> = shown.lines().collect();
        let code = lines.iter().find(|line| line.contains('X')).unwrap();
        let carets = lines.iter().find(|line| line.contains('^')).unwrap();
        prop_assert_eq!(code.find('X'), carets.find('^'), "{}", shown);
        let position = format!(":1:{}", start + 1);
        prop_assert!(lines[1].ends_with(&position));
    }
}
