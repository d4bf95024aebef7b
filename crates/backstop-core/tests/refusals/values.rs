//! Numbers, durations and other values.

use backstop_core::document::Syntax;
use backstop_core::policy::Policy;
use insta::assert_snapshot;

use crate::{refused, refused_as, refused_conditions, rule};

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
fn a_nul_character_anywhere() {
    assert_snapshot!(refused("label = \"a\\u0000b\"\n[[reason]]\ncode = \"x\"\ntitle = \"\\u0000\"\nexit_code = 90\n"), @r#"
    1:9 ⟦"a\u0000b"⟧ a NUL character can't stand in a policy · no command and no database can hold it
    4:9 ⟦"\u0000"⟧ a NUL character can't stand in a policy · no command and no database can hold it
    "#);
    let lawbook = r#"{"lawbookVersion": "a\u0000b", "stopRules": {}}"#;
    assert_snapshot!(refused_as(lawbook, Syntax::Json), @r#"1:20 ⟦"a\u0000b"⟧ a NUL character can't stand in a policy · no command and no database can hold it"#);
    let in_a_comment = Policy::load(b"# \0\nlimits: {iterations: 3}\n", Syntax::Yaml);
    assert!(in_a_comment.is_err(), "the text as its author wrote it is kept too");
}
