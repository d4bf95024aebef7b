//! What is refused when a policy is loaded, and what is only remarked on: every message.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use backstop_core::diagnostic::Diagnostic;
use backstop_core::document::{Syntax, line_column};
use backstop_core::engine::Engine;
use backstop_core::policy::Policy;
use backstop_core::time::Moment;
use backstop_core::verdict::Verdict;
use insta::assert_snapshot;

/// The findings as text: place, underlined text, message, label, hint, other place.
fn shown(text: &str, findings: &[Diagnostic]) -> String {
    let mut all = String::new();
    for finding in findings {
        if let Some(span) = &finding.span {
            let (line, column) = line_column(text, span.start);
            write!(all, "{line}:{column} ⟦{}⟧ ", &text[span.clone()]).expect("a string takes all");
        }
        all.push_str(&finding.message);
        let label = finding.label.iter().map(|label| (" · ", label.as_str()));
        let hint = finding.hint.iter().map(|hint| (" → ", hint.as_str()));
        for (mark, words) in label.chain(hint) {
            all.push_str(mark);
            all.push_str(words);
        }
        if let Some((span, words)) = &finding.related {
            let (line, column) = line_column(text, span.start);
            write!(all, " ({line}:{column} {words})").expect("a string takes all");
        }
        all.push('\n');
    }
    all
}

fn refused_as(text: &str, syntax: Syntax) -> String {
    let errors = Policy::load(text.as_bytes(), syntax).expect_err(text);
    shown(text, &errors)
}

fn refused(text: &str) -> String {
    refused_as(text, Syntax::Toml)
}

/// Each condition refused by itself, one after the other.
fn refused_conditions(conditions: &[&str]) -> String {
    conditions.iter().map(|when| refused(&rule(when))).collect()
}

fn rule(when: &str) -> String {
    format!("[[rule]]\nthen = \"stop\"\nwhen = {{ {when} }}\n")
}

fn remarked(text: &str) -> String {
    let text = format!("{text}[limits]\nunlimited = true\n");
    let loaded = Policy::load(text.as_bytes(), Syntax::Toml)
        .unwrap_or_else(|errors| panic!("{}", shown(&text, &errors)));
    shown(&text, &loaded.lints())
}

#[test]
fn a_zero_or_negative_count() {
    assert_snapshot!(refused_conditions(&[
        "type = \"max_iterations\", count = 0",
        "type = \"max_tokens\", count = -3",
        "type = \"max_attempts\", count = 0",
        "type = \"consecutive_errors\", count = 0",
        "type = \"consecutive_fails\", count = 0",
        "type = \"test_failure_streak\", count = 0",
        "type = \"no_progress\", iterations = 0",
        "type = \"job_attempts\", count = 0",
        "type = \"total_attempts\", count = 0",
        "type = \"no_signal_change\", cycles = 0",
        "type = \"diminishing_returns\", cycles = 0",
        "type = \"review\", outcome = \"rejected\", same_rounds = 0",
        "type = \"reject_rate\", above = 0.5, min_units = 0",
        "type = \"error_rate\", at_least = 0.5, min_tasks = 0",
        "type = \"repetition\", cycle = 0",
    ]), @r#"
    3:43 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:39 ⟦-3⟧ `count` must be at least 1 · -3 is negative
    3:41 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:47 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:46 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:48 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:45 ⟦0⟧ `iterations` must be at least 1 · 0 would be met before anything happens
    3:41 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:43 ⟦0⟧ `count` must be at least 1 · 0 would be met before anything happens
    3:46 ⟦0⟧ `cycles` must be at least 1 · 0 would be met before anything happens
    3:49 ⟦0⟧ `cycles` must be at least 1 · 0 would be met before anything happens
    3:63 ⟦0⟧ `same_rounds` must be at least 1 · 0 would be met before anything happens
    3:57 ⟦0⟧ `min_units` must be at least 1 · 0 would be met before anything happens
    3:59 ⟦0⟧ `min_tasks` must be at least 1 · 0 would be met before anything happens
    3:39 ⟦0⟧ `cycle` must be at least 1 · 0 would be met before anything happens
    "#);
    assert_snapshot!(refused("[limits]\niterations = 0\ntokens = -1\ncost_usd = 0\n[recover]\ncontext_max = 0\n"), @r#"
    2:14 ⟦0⟧ `iterations` must be at least 1 · 0 would be met before anything happens
    3:10 ⟦-1⟧ `tokens` must be at least 1 · -1 is negative
    4:12 ⟦0⟧ `cost_usd` must be more than 0 · a budget of nothing is spent before anything happens
    6:15 ⟦0⟧ `context_max` must be at least 1 · 0 would be met before anything happens
    "#);
}

#[test]
fn a_rate_outside_its_bounds() {
    assert_snapshot!(refused_conditions(&[
        "type = \"reject_rate\", above = 30",
        "type = \"retry_rate\", above = -0.1",
        "type = \"context_usage\", at_least = 1.0001",
        "type = \"error_rate\", at_least = 101",
        "type = \"quota\", window = \"5h\", at_least = 2",
        "type = \"health\", below = 1.5",
        "type = \"topic_drift\", above = -1",
        "type = \"diminishing_returns\", below = 10",
    ]), @r#"
    3:40 ⟦30⟧ `above` must be between 0 and 1 · write 30% as 0.3
    3:39 ⟦-0.1⟧ `above` must be between 0 and 1 · 0.3 stands for 30%
    3:45 ⟦1.0001⟧ `at_least` must be between 0 and 1 · write 1.0001% as 0.010001
    3:42 ⟦101⟧ `at_least` must be between 0 and 1 · 0.3 stands for 30%
    3:52 ⟦2⟧ `at_least` must be between 0 and 1 · write 2% as 0.02
    3:35 ⟦1.5⟧ `below` must be between 0 and 1 · write 1.5% as 0.015
    3:40 ⟦-1⟧ `above` must be between 0 and 1 · 0.3 stands for 30%
    3:48 ⟦10⟧ `below` must be between 0 and 1 · write 10% as 0.1
    "#);
    for bound in ["0", "0.0", "1", "1.0"] {
        let text = rule(&format!("type = \"reject_rate\", above = {bound}"));
        assert!(Policy::load(text.as_bytes(), Syntax::Toml).is_ok(), "{bound}");
    }
}

#[test]
fn numbers_that_are_none() {
    assert_snapshot!(refused_conditions(&[
        "type = \"reject_rate\", above = nan",
        "type = \"max_cost\", usd = inf",
        "type = \"max_cost\", usd = -inf",
        "type = \"max_cost\", usd = -1.0",
        "type = \"repetition\", score = nan",
        "type = \"max_iterations\", count = inf",
        "type = \"max_iterations\", count = 1.5",
    ]), @r#"
    3:40 ⟦nan⟧ `above` must be a finite number · this is not a number
    3:35 ⟦inf⟧ `usd` must be a finite number · this is infinite
    3:35 ⟦-inf⟧ `usd` must be a finite number · this is infinite
    3:35 ⟦-1.0⟧ `usd` must be more than 0 · a budget of nothing is spent before anything happens
    3:39 ⟦nan⟧ `score` must be a finite number · this is not a number
    3:43 ⟦inf⟧ `count` must be a whole number of at least 1 · this is a number
    3:43 ⟦1.5⟧ `count` must be a whole number of at least 1 · this is a number
    "#);
    assert_snapshot!(refused_as("limits: { cost_usd: .NaN, iterations: 1 }", Syntax::Yaml), @"1:21 ⟦.NaN⟧ `cost_usd` must be a finite number · this is not a number");
}

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
fn names_that_nobody_knows() {
    assert_snapshot!(refused_conditions(&[
        "type = \"max_iteration\", count = 5",
        "type = \"quite something else\"",
        "count = 5",
        "type = 5",
        "type = \"max_iterations\", cuont = 5",
        "type = \"max_iterations\", count = 5, xyzzy = 1",
        "type = \"guard_violated\", kind = \"lockfiles\"",
        "type = \"worker\", status = \"asleep\"",
        "type = \"consecutive_errors\", count = 1, category = \"critcal\"",
        "type = \"verification\", outcome = \"pased\"",
        "type = \"review\", outcome = \"aproved\"",
        "type = \"output_pattern\", pattern = \"x\", in = \"agent\", since = \"runs\"",
        "type = \"repetition\", sensitivity = \"medium\"",
        "type = \"never\", count = 1",
        "type = \"wall_clock\", at = \"7 o'clock\"",
        "type = \"expr\", cel = \"iteratons > 3\"",
        "type = \"expr\", cel = \"1 +\"",
    ]), @r#"
    3:17 ⟦"max_iteration"⟧ unknown condition `max_iteration` · did you mean `max_iterations`?
    3:17 ⟦"quite something else"⟧ unknown condition `quite something else` → docs/reference/conditions.md lists them all
    3:8 ⟦{ count = 5 }⟧ a condition needs a `type` · such as `type = "max_iterations"`
    3:17 ⟦5⟧ `type` must be a string · this is an integer
    3:8 ⟦{ type = "max_iterations", cuont = 5 }⟧ `max_iterations` needs `count` · `count` is missing
    3:35 ⟦cuont⟧ unknown key `cuont` in `max_iterations` · did you mean `count`?
    3:46 ⟦xyzzy⟧ unknown key `xyzzy` in `max_iterations` → `max_iterations` knows `count` and `type`
    3:42 ⟦"lockfiles"⟧ unknown `kind`: `lockfiles` · did you mean `lockfile`?
    3:36 ⟦"asleep"⟧ unknown `status`: `asleep` → `status` is one of `blocked`, `failed`, `timed_out` and `rate_limited`
    3:61 ⟦"critcal"⟧ unknown `category`: `critcal` · did you mean `critical`?
    3:43 ⟦"pased"⟧ unknown `outcome`: `pased` · did you mean `passed`?
    3:37 ⟦"aproved"⟧ unknown `outcome`: `aproved` · did you mean `approved`?
    3:55 ⟦"agent"⟧ unknown `in`: `agent` → `in` is one of `any`, `assistant` and `result`
    3:72 ⟦"runs"⟧ unknown `since`: `runs` · did you mean `run`?
    3:45 ⟦"medium"⟧ unknown `sensitivity`: `medium` → `sensitivity` is one of `low`, `normal` and `high`
    3:26 ⟦count⟧ unknown key `count` in `never` → `never` knows `type`
    3:36 ⟦"7 o'clock"⟧ `at` is not a time: `7 o'clock` · write "07:00" or "2026-05-04T07:00:00Z"
    3:32 ⟦iteratons⟧ unknown fact `iteratons` · did you mean `iterations`?
    3:35 ⟦⟧ the expression ends too early
    "#);
    assert_snapshot!(refused("[[rule]]\nwhen = { type = \"never\" }\nthen = \"stopp\"\nreason = \"stales\"\non_unknown = \"holds\"\nprio = 5\n"), @r#"
    3:8 ⟦"stopp"⟧ unknown `then`: `stopp` · did you mean `stop`?
    4:10 ⟦"stales"⟧ unknown reason `stales` · did you mean `stalled`?
    5:14 ⟦"holds"⟧ unknown `on_unknown`: `holds` · did you mean `hold`?
    6:1 ⟦prio⟧ unknown key `prio` in `rule` → `rule` knows `name`, `when`, `then`, `reason`, `priority`, `message`, `on_unknown` and `shadow`
    "#);
    assert_snapshot!(refused("[[rule]]\nwhen = { type = \"never\" }\nthen = \"continue\"\nreason = \"qwertyuiopasdf\"\n"), @r#"
    3:8 ⟦"continue"⟧ unknown `then`: `continue` → `then` is one of `warn`, `retry`, `recover`, `ask`, `hold`, `stop`, `complete`, `kill` and `fail`
    4:10 ⟦"qwertyuiopasdf"⟧ unknown reason `qwertyuiopasdf` → declare it with `[[reason]]`, or see `backstop reasons`
    "#);
    assert_snapshot!(refused("preset = \"ralf\"\nordr = \"priority\"\norder = \"size\"\n[limit]\n[loop]\ngrase = \"1s\"\nstop_signal = \"SIGTRM\"\n"), @r#"
    1:10 ⟦"ralf"⟧ unknown `preset`: `ralf` · did you mean `ralph`?
    2:1 ⟦ordr⟧ unknown key `ordr` in `policy` · did you mean `order`?
    3:9 ⟦"size"⟧ unknown `order`: `size` → `order` is one of `severity` and `priority`
    4:2 ⟦limit⟧ unknown key `limit` in `policy` · did you mean `limits`?
    6:1 ⟦grase⟧ unknown key `grase` in `loop` · did you mean `grace`?
    7:15 ⟦"SIGTRM"⟧ unknown `stop_signal`: `SIGTRM` · did you mean `SIGTERM`?
    "#);
    assert_snapshot!(refused("preset = [\"default\", \"nothing like it\"]\nwhatever_this_is = 1\n[progress]\ncount = [\"commits\"]\n[notify]\non = [\"halt\"]\n[limits]\nunmetered = \"yes\"\n"), @r#"
    1:22 ⟦"nothing like it"⟧ unknown `preset`: `nothing like it` → `preset` is one of `default`, `ralph`, `pipeline`, `rerun` and `moderator`
    2:1 ⟦whatever_this_is⟧ unknown key `whatever_this_is` in `policy` → `policy` knows `$schema`, `preset`, `label`, `dialect`, `order`, `stop_on_first`, `limits`, `rule`, `reason`, `loop`, `verify`, `progress`, `guards`, `intervention`, `work`, `errors`, `recover`, `review`, `drift`, `notify`, `wait`, `prices`, `jsonl`, `hooks`, `secrets` and `github`
    4:10 ⟦"commits"⟧ unknown `count`: `commits` · did you mean `commit`?
    6:7 ⟦"halt"⟧ unknown `on`: `halt` · did you mean `halted`?
    8:13 ⟦"yes"⟧ unknown `unmetered`: `yes` → `unmetered` is one of `hold` and `allow`
    "#);
}

#[test]
fn values_of_the_wrong_type() {
    assert_snapshot!(refused_conditions(&[
        "type = \"max_iterations\", count = \"5\"",
        "type = \"max_duration\", duration = 5",
        "type = \"reject_rate\", above = \"30%\"",
        "type = \"on_error\", pattern = 5",
        "type = \"exit_code\", any_of = 5",
        "type = \"exit_code\", any_of = [1.5, 5000000000]",
        "type = \"max_tokens\", count = 5, cache_reads = 1",
        "type = \"guard_violated\", kind = 1",
        "type = \"wall_clock\", at = 7",
    ]), @r#"
    3:43 ⟦"5"⟧ `count` must be a whole number of at least 1 · this is a string
    3:44 ⟦5⟧ `duration` must be a duration in quotes, such as "90s" or "2h 30m" · this is an integer
    3:40 ⟦"30%"⟧ `above` must be a number · this is a string
    3:39 ⟦5⟧ `pattern` must be a string · this is an integer
    3:39 ⟦5⟧ `any_of` must be a list · this is an integer
    3:40 ⟦1.5⟧ `any_of` must be a whole number between -2147483648 and 2147483647 · this is a number
    3:45 ⟦5000000000⟧ `any_of` must be a whole number between -2147483648 and 2147483647 · this is an integer
    3:56 ⟦1⟧ `cache_reads` must be true or false · this is an integer
    3:42 ⟦1⟧ `kind` must be one of `scope`, `protected`, `lockfile`, `dirty` and `collision` · this is an integer
    3:36 ⟦7⟧ `at` must be a time such as "07:00" or "2026-05-04T07:00:00Z" · this is an integer
    "#);
    assert_snapshot!(refused("preset = 5\nlimits = 3\nrule = { when = 1 }\nloop = []\nlabel = 1\nstop_on_first = \"yes\"\nreason = \"x\"\n"), @r#"
    1:10 ⟦5⟧ `preset` must be one of `default`, `ralph`, `pipeline`, `rerun` and `moderator` · this is an integer
    2:10 ⟦3⟧ `limits` must be a table · this is an integer
    3:8 ⟦{ when = 1 }⟧ `rule` must be a list of tables, written `[[rule]]` · this is a table
    4:8 ⟦[]⟧ `loop` must be a table · this is a list
    5:9 ⟦1⟧ `label` must be a string · this is an integer
    6:17 ⟦"yes"⟧ `stop_on_first` must be true or false · this is a string
    7:10 ⟦"x"⟧ `reason` must be a list of tables, written `[[reason]]` · this is a string
    "#);
    assert_snapshot!(refused("rule = [5, { when = \"never\", then = 1, priority = \"high\", shadow = 0, reason = 3, message = \"\" }]\n[verify]\ncommand = []\n[review]\n[notify]\ncommand = 5\n"), @r#"
    1:9 ⟦5⟧ `rule` must be a table · this is an integer
    1:21 ⟦"never"⟧ `when` must be a condition such as { type = "max_iterations", count = 50 } · this is a string
    1:37 ⟦1⟧ `then` must be one of `warn`, `retry`, `recover`, `ask`, `hold`, `stop`, `complete`, `kill` and `fail` · this is an integer
    1:51 ⟦"high"⟧ `priority` must be a whole number between -2147483648 and 2147483647 · this is a string
    1:68 ⟦0⟧ `shadow` must be true or false · this is an integer
    1:80 ⟦3⟧ `reason` must be a string · this is an integer
    1:93 ⟦""⟧ `message` must not be empty · nothing can be meant by this
    3:11 ⟦[]⟧ `command` must not be empty · the first item is the program
    4:1 ⟦[review]⟧ `review` needs `command` or `file`
    6:11 ⟦5⟧ `command` must be a command: a string, or a list of strings · this is an integer
    "#);
    assert_snapshot!(refused_as("[1, 2]", Syntax::Json), @"1:1 ⟦[1, 2]⟧ the file holds a list, not a table of settings · expected keys with values");
    assert_snapshot!(refused_as("just words", Syntax::Yaml), @"1:1 ⟦just words⟧ the file holds a string, not a table of settings · expected keys with values");
}

#[test]
fn durations_that_are_none() {
    assert_snapshot!(refused_conditions(&[
        "type = \"max_duration\", duration = \"-5m\"",
        "type = \"max_duration\", duration = \"0s\"",
        "type = \"stagnation\", duration = \"0h 0m\"",
        "type = \"cooldown\", duration = \"soon\"",
        "type = \"unresolved\", duration = \"\"",
        "type = \"custom_script\", script = \"x\", timeout = \"0s\", every = \"5\"",
        "type = \"max_duration\", duration = \"99999999999999999999y\"",
    ]), @r#"
    3:44 ⟦"-5m"⟧ `duration` is a negative duration · a duration can't be less than 0
    3:44 ⟦"0s"⟧ `duration` must be longer than 0 · write it like "90s" or "2h 30m"
    3:42 ⟦"0h 0m"⟧ `duration` must be longer than 0 · write it like "90s" or "2h 30m"
    3:40 ⟦"soon"⟧ `duration` is not a duration: `soon` · write it like "90s" or "2h 30m"
    3:42 ⟦""⟧ `duration` is not a duration: `` · write it like "90s" or "2h 30m"
    3:58 ⟦"0s"⟧ `timeout` must be longer than 0 · write it like "90s" or "2h 30m"
    3:72 ⟦"5"⟧ `every` is not a duration: `5` · write it like "90s" or "2h 30m"
    3:44 ⟦"99999999999999999999y"⟧ `duration` is not a duration: `99999999999999999999y` · write it like "90s" or "2h 30m"
    "#);
    assert_snapshot!(refused("[loop]\niteration_timeout = \"0s\"\nidle_timeout = \"0ms\"\ngrace = \"-1s\"\n[verify]\ncommand = \"x\"\ntimeout = \"0s\"\n[intervention]\ntimeout = \"0s\"\n"), @r#"
    2:21 ⟦"0s"⟧ `iteration_timeout` must be longer than 0 · write it like "90s" or "2h 30m"
    3:16 ⟦"0ms"⟧ `idle_timeout` must be longer than 0 · write it like "90s" or "2h 30m"
    4:9 ⟦"-1s"⟧ `grace` is a negative duration · a duration can't be less than 0
    7:11 ⟦"0s"⟧ `timeout` must be longer than 0 · write it like "90s" or "2h 30m"
    9:11 ⟦"0s"⟧ `timeout` must be longer than 0 · write it like "90s" or "2h 30m"
    "#);
    for form in ["2days", "1week", "3months", "1year", "2h 30m", "1h30min", "500 ms", "15us 1ns"] {
        let text = rule(&format!("type = \"max_duration\", duration = \"{form}\""));
        assert!(Policy::load(text.as_bytes(), Syntax::Toml).is_ok(), "{form}");
    }
    assert!(Policy::load(b"[loop]\ngrace = \"0s\"\ndelay = \"0s\"\n", Syntax::Toml).is_ok());
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

fn reason(code: &str, exit_code: i64) -> String {
    format!("[[reason]]\ncode = \"{code}\"\ntitle = \"T\"\nexit_code = {exit_code}\n")
}

#[test]
fn reasons_of_ones_own() {
    assert_snapshot!(refused(&[reason("mine", 61), reason("other", 62), reason("mine", 63)].concat()), @r#"10:8 ⟦"mine"⟧ reason `mine` is declared twice (2:8 first declared here)"#);
    let refusals = [
        reason("Mine", 61),
        reason("stalled", 61),
        reason("no_progress", 61),
        reason("mine", 64),
        reason("mine", 78),
        reason("mine", 59),
        reason("mine", 100),
        reason("mine", 256),
        reason("mine", -1),
        reason("mine", 61).replace("\"T\"", "\" \""),
        "[[reason]]\ncode = 5\nexit = 61\n".to_owned(),
    ];
    assert_snapshot!(refusals.iter().map(|text| refused(text)).collect::<String>(), @r#"
    2:8 ⟦"Mine"⟧ reason code `Mine` must be lower_snake_case: letters a to z, digits and `_`
    2:8 ⟦"stalled"⟧ reason code `stalled` is built in
    2:8 ⟦"no_progress"⟧ reason code `no_progress` is built in, as another name of `stalled`
    4:13 ⟦64⟧ exit code 64 is reserved: 64 to 78 are the sysexits codes, which tell that backstop itself failed; use 60 to 63 or 79 to 99
    4:13 ⟦78⟧ exit code 78 is reserved: 64 to 78 are the sysexits codes, which tell that backstop itself failed; use 60 to 63 or 79 to 99
    4:13 ⟦59⟧ exit code 59 is not free for a reason of one's own; use 60 to 63 or 79 to 99
    4:13 ⟦100⟧ exit code 100 is not free for a reason of one's own; use 60 to 63 or 79 to 99
    4:13 ⟦256⟧ exit code 256 is no exit code · use 60 to 63 or 79 to 99
    4:13 ⟦-1⟧ exit code -1 is no exit code · use 60 to 63 or 79 to 99
    3:9 ⟦" "⟧ reason `mine` needs a title
    1:1 ⟦[[reason]]⟧ `reason` needs `title` · `title` is missing
    1:1 ⟦[[reason]]⟧ `reason` needs `exit_code` · `exit_code` is missing
    2:8 ⟦5⟧ `code` must be a string · this is an integer
    3:1 ⟦exit⟧ unknown key `exit` in `reason` → `reason` knows `code`, `title`, `exit_code` and `diagnosis`
    "#);
    for code in (0..=255_i64).filter(|code| !matches!(code, 60..=63 | 79..=99)) {
        assert!(Policy::load(reason("mine", code).as_bytes(), Syntax::Toml).is_err(), "{code}");
    }
    for code in [60, 61, 62, 63, 79, 99] {
        assert!(Policy::load(reason("mine", code).as_bytes(), Syntax::Toml).is_ok(), "{code}");
    }
}

#[test]
fn all_errors_of_a_file_at_once_in_the_order_of_the_text() {
    let text = "order = \"size\"
[limits]
iterations = 0
duration = \"-1h\"
[[rule]]
when = { type = \"max_tokns\", count = 5 }
then = \"halt\"
[[rule]]
when = { type = \"any\", conditions = [{ type = \"reject_rate\", above = 3 }, { type = \"all\", conditions = [] }] }
then = \"stop\"
reason = \"stald\"
[[rule]]
then = \"stop\"
[loop]
grace = 5
[[reason]]
code = \"mine\"
title = \"T\"
exit_code = 70
";
    assert_snapshot!(refused(text), @r#"
    1:9 ⟦"size"⟧ unknown `order`: `size` → `order` is one of `severity` and `priority`
    3:14 ⟦0⟧ `iterations` must be at least 1 · 0 would be met before anything happens
    4:12 ⟦"-1h"⟧ `duration` is a negative duration · a duration can't be less than 0
    6:17 ⟦"max_tokns"⟧ unknown condition `max_tokns` · did you mean `max_tokens`?
    7:8 ⟦"halt"⟧ unknown `then`: `halt` · did you mean `hold`?
    9:70 ⟦3⟧ `above` must be between 0 and 1 · write 3% as 0.03
    9:104 ⟦[]⟧ `all` needs at least one condition · nothing to look at
    11:10 ⟦"stald"⟧ unknown reason `stald` · did you mean `stalled`?
    12:1 ⟦[[rule]]⟧ `rule` needs `when` · `when` is missing
    15:9 ⟦5⟧ `grace` must be a duration in quotes, such as "90s" or "2h 30m" · this is an integer
    19:13 ⟦70⟧ exit code 70 is reserved: 64 to 78 are the sysexits codes, which tell that backstop itself failed; use 60 to 63 or 79 to 99
    "#);
}

#[test]
fn texts_that_are_no_documents() {
    assert_snapshot!(refused("[limits\niterations = 1\n"), @"1:8 ⟦⟧ unclosed table · expected `]`");
    assert_snapshot!(refused("a = 1\na = 2\n"), @"2:1 ⟦a⟧ duplicate key `a` · defined again (1:1 first defined here)");
    assert_snapshot!(refused_as("{\"limits\": {\"iterations\": 1}", Syntax::Json), @"1:29 ⟦⟧ the file ends within an object");
    assert_snapshot!(refused_as("limits: [1, 2\n", Syntax::Yaml), @"2:1 ⟦⟧ while parsing a flow sequence, expected ',' or ']'");
    let errors = Policy::load(b"label = \"\xff\"\n", Syntax::Toml).unwrap_err();
    assert_snapshot!(errors[0].message, @"file is not UTF-8: invalid byte 0xff at offset 9, line 1");
}

#[test]
fn a_rate_that_fires_on_its_first_sample() {
    assert_snapshot!(remarked(&[
        rule("type = \"reject_rate\", above = 0.3"),
        rule("type = \"retry_rate\", above = 0.5"),
        rule("type = \"error_rate\", at_least = 0.2"),
    ].concat()), @r#"
    3:10 ⟦type = "reject_rate"⟧ `reject_rate` fires on the first rejected unit · 1 of 1 is 100%; add `min_units = 5`
    6:10 ⟦type = "retry_rate"⟧ `retry_rate` fires on the first retried unit · 1 of 1 is 100%; add `min_units = 5`
    9:10 ⟦type = "error_rate"⟧ `error_rate` fires on the first failed task · 1 of 1 is 100%; add `min_tasks = 5`
    "#);
    assert_eq!(remarked(&rule("type = \"reject_rate\", above = 0.3, min_units = 5")), "");
    assert_eq!(remarked(&rule("type = \"reject_rate\", above = 1.0")), "");
    // The dialect's own document has no such key.
    let pipeline = Policy::load(b"retry: {}", Syntax::Yaml).unwrap();
    assert_eq!(pipeline.lints(), []);
}

#[test]
fn a_rule_that_another_always_beats() {
    let two = |one: &str, other: &str| remarked(&format!("{}{}", rule(one), rule(other)));
    assert_snapshot!(two("type = \"max_iterations\", count = 5", "type = \"max_iterations\", count = 6"), @r#"6:10 ⟦type = "max_iterations"⟧ `max_iterations` can never win · always beaten (3:10 `max_iterations` is met whenever this is, and comes first)"#);
    let shadowed =
        rule("type = \"max_iterations\", count = 5").replace("\"stop\"", "\"stop\"\nshadow = true");
    assert_eq!(
        remarked(&format!("{shadowed}{}", rule("type = \"max_iterations\", count = 6"))),
        ""
    );
    assert_eq!(
        two("type = \"max_iterations\", count = 6", "type = \"max_attempts\", count = 5"),
        ""
    );
    // What recovers from stagnation does so once, and then others have their turn.
    let stale = |then: &str| rule("type = \"stagnation\", duration = \"1h\"").replace("stop", then);
    assert_eq!(remarked(&format!("{}{}", stale("recover"), stale("retry"))), "");
    assert_ne!(remarked(&format!("{}{}", stale("retry"), stale("recover"))), "");
    // The milder one says something before the other does.
    let warns = rule("type = \"max_iterations\", count = 4").replace("stop", "warn");
    assert_eq!(remarked(&format!("{warns}{}", rule("type = \"max_iterations\", count = 6"))), "");
    let late = rule("type = \"max_iterations\", count = 8").replace("stop", "warn");
    assert_snapshot!(remarked(&format!("{late}{}", rule("type = \"max_iterations\", count = 6"))), @r#"3:10 ⟦type = "max_iterations"⟧ `max_iterations` can never win · always beaten (6:10 `max_iterations` is met whenever this is, and comes first)"#);
}

#[test]
fn a_condition_that_is_met_before_the_first_iteration() {
    assert_snapshot!(remarked(&[
        rule("type = \"not\", condition = { type = \"all_tests_pass\" }"),
        rule("type = \"quota\", window = \"5h\", at_least = 0"),
        rule("type = \"expr\", cel = \"iterations < 3\""),
    ].concat()), @r#"
    3:10 ⟦type = "not"⟧ `not` is met before the first iteration · `stop` would be the verdict before anything happens
    6:10 ⟦type = "quota"⟧ `quota` is met before the first iteration · `stop` would be the verdict before anything happens
    9:10 ⟦type = "expr"⟧ `expr` is met before the first iteration · `stop` would be the verdict before anything happens
    "#);
    assert_eq!(
        remarked(&rule(
            "type = \"not\", condition = { type = \"not\", condition = { type = \"never\" } }"
        )),
        ""
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test must read the clock to time the core")]
fn ten_thousand_rules_load_and_decide() {
    let start = Instant::now();
    let rules: String = (1..=10_000)
        .rev()
        .map(|count| rule(&format!("type = \"max_iterations\", count = {count}")))
        .collect();
    let loaded = Policy::load(rules.as_bytes(), Syntax::Toml).expect("they are all right");
    let mut engine = Engine::new(loaded.policy);
    let finished =
        backstop_core::event::Event::new(backstop_core::event::IterationFinished::default());
    assert_eq!(engine.decide(Moment::default()).verdict, Verdict::Continue);
    engine.handle_event(&finished, Moment::default().at);
    let decision = engine.poll_decision(Moment::default());
    assert_eq!(decision.rule.map(|rule| rule.index), Some(9_999));
    assert_eq!(decision.progress.len(), 10_000);
    assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test must read the clock to time the core")]
fn a_huge_file_is_refused_before_it_is_read() {
    let huge = vec![b'#'; 100 << 20];
    for syntax in [Syntax::Toml, Syntax::Yaml, Syntax::Json] {
        let start = Instant::now();
        let errors = Policy::load(&huge, syntax).unwrap_err();
        assert!(start.elapsed() < Duration::from_millis(200), "took {:?}", start.elapsed());
        let message = "file is 104857600 bytes long, more than the 16 MiB allowed";
        assert_eq!(errors[0].message, message);
    }
}
