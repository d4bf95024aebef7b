use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn class(step: &str, log: &str) -> Class {
    classify(step, log, &OwnPatterns::default())
}

#[rstest]
#[case::rustc("error[E0308]: mismatched types\n --> src/main.rs:4:5", Class::BuildDeterministic)]
#[case::rustc_summary(
    "error: could not compile `shop` (bin \"shop\") due to 1 previous error",
    Class::BuildDeterministic
)]
#[case::rust_syntax(
    "error: expected one of `;` or `}`, found `let`\n --> src/main.rs:3:5\nerror: could not compile `shop`",
    Class::SyntaxError
)]
#[case::rust_delimiter("error: this file contains an unclosed delimiter", Class::SyntaxError)]
#[case::clippy(
    "error: this operation has no effect\n  = note: `-D clippy::identity-op` implied by `-D warnings`\nerror: could not compile `shop`",
    Class::LintError
)]
#[case::rustfmt("Diff in /home/runner/work/shop/src/lib.rs:12:\n-fn a( ) {}", Class::LintError)]
#[case::tsc(
    "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    Class::BuildDeterministic
)]
#[case::tsc_syntax("src/a.ts:3:7 - error TS1005: ';' expected.", Class::SyntaxError)]
#[case::gcc(
    "src/a.c:10:5: error: 'x' undeclared (first use in this function)",
    Class::BuildDeterministic
)]
#[case::linker(
    "a.o: in function `main':\na.c:(.text+0x5): undefined reference to `f'",
    Class::BuildDeterministic
)]
#[case::javac("App.java:5: error: cannot find symbol", Class::BuildDeterministic)]
#[case::javac_syntax("App.java:5: error: ';' expected", Class::SyntaxError)]
#[case::maven(
    "[ERROR] COMPILATION ERROR :\n[ERROR] /w/App.java:[5,9] cannot find symbol\n[INFO] BUILD FAILURE",
    Class::BuildDeterministic
)]
#[case::maven_network(
    "[ERROR] Could not transfer artifact a:b:jar:1 from/to central: status code: 503\n[INFO] BUILD FAILURE",
    Class::InfraTransient
)]
#[case::go(
    "./main.go:7:2: undefined: foo\nFAIL\texample.org/shop [build failed]",
    Class::BuildDeterministic
)]
#[case::go_syntax("./main.go:7:2: syntax error: unexpected }", Class::SyntaxError)]
#[case::csharp(
    "Program.cs(5,13): error CS0103: The name 'x' does not exist",
    Class::BuildDeterministic
)]
#[case::mypy(
    "a.py:3: error: Incompatible types in assignment  [assignment]\nFound 1 error in 1 file (checked 4 source files)",
    Class::BuildDeterministic
)]
#[case::python_syntax(
    "  File \"a.py\", line 3\n    if x\n        ^\nSyntaxError: expected ':'",
    Class::SyntaxError
)]
#[case::python_indent("IndentationError: unexpected indent", Class::SyntaxError)]
#[case::node_syntax("SyntaxError: Unexpected identifier 'foo'", Class::SyntaxError)]
#[case::bash("./ci.sh: line 4: syntax error near unexpected token `fi'", Class::SyntaxError)]
#[case::eslint(
    "/w/a.js\n  3:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
    Class::LintError
)]
#[case::ruff(
    "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.",
    Class::LintError
)]
#[case::flake8("./a.py:10:80: E501 line too long (93 > 79 characters)", Class::LintError)]
#[case::prettier(
    "[warn] src/a.js\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
    Class::LintError
)]
#[case::black("would reformat a.py\n1 file would be reformatted.", Class::LintError)]
#[case::golangci("main.go:5:12: Error return value is not checked (errcheck)", Class::LintError)]
#[case::rubocop("12 files inspected, 3 offenses detected", Class::LintError)]
#[case::shellcheck("ci.sh:3:6: note: Double quote to prevent globbing. [SC2086]", Class::LintError)]
#[case::missing_module(
    "ModuleNotFoundError: No module named 'requests'",
    Class::BuildDeterministic
)]
#[case::npm_resolve(
    "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree",
    Class::BuildDeterministic
)]
#[case::pytest_assertion(
    "E       assert 3 == 4\nFAILED tests/test_a.py::test_sum - assert 3 == 4",
    Class::Unknown
)]
#[case::libtest("test a ... FAILED\nassertion `left == right` failed", Class::Unknown)]
#[case::jest_timeout("thrown: \"Exceeded timeout of 5000 ms for a test.", Class::FlakyProbable)]
#[case::playwright("  1 flaky\n    [chromium] › a.spec.ts:3:1 › works", Class::FlakyProbable)]
#[case::nextest("   FLAKY 2/3 [   0.1s] shop tests::a", Class::FlakyProbable)]
#[case::go_timeout("panic: test timed out after 10m0s", Class::FlakyProbable)]
#[case::pytest_timeout("E   Failed: Timeout >30.0s", Class::FlakyProbable)]
#[case::cypress(
    "CypressError: Timed out retrying after 4000ms: Expected to find element",
    Class::FlakyProbable
)]
#[case::race("WARNING: DATA RACE\nRead at 0x00c000", Class::FlakyProbable)]
#[case::port("Error: listen EADDRINUSE: address already in use :::3000", Class::FlakyProbable)]
#[case::npm_reset("npm ERR! code ECONNRESET\nnpm ERR! network aborted", Class::InfraTransient)]
#[case::registry(
    "error: failed to get `serde` as a dependency of package\n  [503] Service Unavailable",
    Class::InfraTransient
)]
#[case::pip(
    "ERROR: HTTP error 503 while getting https://files.pythonhosted.org/x",
    Class::InfraTransient
)]
#[case::docker(
    "ERROR: toomanyrequests: You have reached your pull rate limit.",
    Class::InfraTransient
)]
#[case::dns("curl: (6) Could not resolve host: example.org", Class::InfraTransient)]
#[case::git(
    "fatal: unable to access 'https://github.com/a/b/': The requested URL returned error: 502",
    Class::InfraTransient
)]
#[case::apt(
    "E: Failed to fetch http://archive.ubuntu.com/x.deb  Connection failed",
    Class::InfraTransient
)]
#[case::runner(
    "The hosted runner: GitHub Actions 5 lost communication with the server.",
    Class::InfraTransient
)]
#[case::self_hosted(
    "The self-hosted runner: box lost communication with the server.",
    Class::InfraTransient
)]
#[case::shutdown("##[error]The runner has received a shutdown signal.", Class::InfraTransient)]
#[case::disk(
    "error: could not write: No space left on device (os error 28)\nerror: could not compile `a`",
    Class::InfraTransient
)]
#[case::oom("g++: fatal error: Killed signal terminated program cc1plus", Class::InfraTransient)]
#[case::exit_137("##[error]Process completed with exit code 137.", Class::InfraTransient)]
#[case::nothing("", Class::Unknown)]
#[case::other_exit("##[error]Process completed with exit code 1.", Class::Unknown)]
fn what_tools_write_has_a_class(#[case] log: &str, #[case] expected: Class) {
    assert_eq!(class("Run step", log), expected, "{log}");
    // As GitHub's logs have it: a time and colours.
    let coloured: String = log
        .lines()
        .map(|line| format!("2026-05-04T10:00:00.1234567Z \u{1b}[31m{line}\u{1b}[0m\n"))
        .collect();
    assert_eq!(class("Run step", &coloured), expected, "{coloured}");
}

#[rstest]
#[case("Set up job", Class::InfraTransient)]
#[case("Run eslint", Class::LintError)]
#[case("cargo clippy --all", Class::LintError)]
#[case("cargo test", Class::Unknown)]
#[case("Splinter cell", Class::Unknown)]
fn a_step_tells_where_its_log_does_not(#[case] step: &str, #[case] expected: Class) {
    assert_eq!(class(step, "##[error]Process completed with exit code 1."), expected);
    assert_eq!(class(step, "npm ERR! code ECONNRESET"), Class::InfraTransient);
}

#[test]
fn own_patterns_come_first_and_in_order() {
    let own = OwnPatterns::new([
        (r"license server \w+ is busy", Class::InfraTransient),
        ("busy", Class::LintError),
    ])
    .unwrap();
    let log = "error[E0308]: LICENSE SERVER alpha is busy";
    assert_eq!(classify("", log, &own), Class::InfraTransient);
    assert_eq!(classify("", "error[E0308]: busy", &own), Class::LintError);
    assert_eq!(classify("", "error[E0308]: no", &own), Class::BuildDeterministic);
}

#[test]
fn only_the_end_of_a_log_counts() {
    let log = format!("npm ERR! code ECONNRESET\n{}error[E0308]: x", "fine\n".repeat(20_000));
    assert_eq!(class("", &log), Class::BuildDeterministic);
    let log = format!("error[E0308]: x\n{}", "é\n".repeat(40_000));
    assert_eq!(class("", &log), Class::Unknown);
}

#[test]
fn only_flaky_and_machinery_are_worth_another_run() {
    let worth: Vec<&str> = [
        Class::FlakyProbable,
        Class::InfraTransient,
        Class::Unknown,
        Class::SyntaxError,
        Class::LintError,
        Class::BuildDeterministic,
    ]
    .into_iter()
    .filter(|class| class.may_pass())
    .map(Class::name)
    .collect();
    assert_eq!(worth, ["flaky probable", "infra transient"]);
}

#[test]
fn every_pattern_of_the_table_is_one() {
    for (pattern, _) in patterns::TABLE {
        assert!(set(&[pattern]).is_ok(), "{pattern}");
    }
    assert!(BUILT_IN.is_some());
}

#[test]
fn the_same_failure_looks_the_same() {
    let one = "2026-05-04T10:00:00.1Z test a ... ok\n2026-05-04T10:00:01.1Z error: /tmp/x1/a.rs:10: \
               timeout after 31s at 0x7ffe1234abcd, pid 77\n";
    let other = "2026-05-05T11:30:00.7Z test b ... ok\n2026-05-05T11:30:09.1Z error: /tmp/y2/a.rs:12: \
                 timeout after 29s at 0x7ffe99990000, pid 9\n";
    assert_eq!(signal("cargo test (3)", one), signal("cargo test (4)", other));
    assert_ne!(signal("cargo test", one), signal("cargo build", one));
    assert_ne!(signal("cargo test", one), signal("cargo test", "error: no such file"));
    assert_eq!(signal("", "").len(), 32);
}

proptest! {
    #[test]
    fn any_text_has_a_class_and_a_look(step in "\\PC{0,40}", log in "(\\PC|\n|\u{1b}|\\[){0,400}") {
        class(&step, &log);
        prop_assert_eq!(signal(&step, &log).len(), 32);
    }
}
