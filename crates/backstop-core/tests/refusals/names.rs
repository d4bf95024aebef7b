//! Names, and reasons of one's own.

use backstop_core::document::Syntax;
use backstop_core::policy::Policy;
use insta::assert_snapshot;

use crate::{refused, refused_conditions};

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
    3:55 ⟦"agent"⟧ unknown `in`: `agent` → `in` is one of `any`, `assistant`, `result` and `auto`
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
