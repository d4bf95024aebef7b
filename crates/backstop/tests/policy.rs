//! `backstop policy`: check, show, hash, schema, explain.

use serde_json::{Value as Json, json};

mod support;

use support::{Ended, Test, schema};

const PRESETS: [&str; 5] = ["default", "ralph", "pipeline", "rerun", "moderator"];

fn check(policy: &str, more: &[&str]) -> Ended {
    let call = ["policy", "check", "backstop.toml"].into_iter().chain(more.iter().copied());
    Test::new().file("backstop.toml", policy).run(call)
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let policy = "\
[limits]
iterations = 50

[[rule]]
when = { type = \"max_iteratons\", count = 50 }
then = \"stop\"

[[rule]]
when = { type = \"no_progress\", iterations = 0 }
then = \"ask\"

[loop]
itertion_timeout = \"1h\"
";
    let ended = check(policy, &[]);
    ended.refused(78, &[]);
    insta::assert_snapshot!(ended.stderr, @r##"
    error: unknown condition `max_iteratons`
     --> backstop.toml:5:17
      |
    5 | when = { type = "max_iteratons", count = 50 }
      |                 ^^^^^^^^^^^^^^^ did you mean `max_iterations`?

    error: `iterations` must be at least 1
     --> backstop.toml:9:45
      |
    9 | ...pe = "no_progress", iterations = 0 }
      |                                     ^ 0 would be met before anything happens

    error: unknown key `itertion_timeout` in `loop`
      --> backstop.toml:13:1
       |
    13 | itertion_timeout = "1h"
       | ^^^^^^^^^^^^^^^^ did you mean `iteration_timeout`?

    3 errors in backstop.toml
    "##);
    let same = Test::new().file("backstop.toml", policy).run(["check"]);
    same.refused(78, &[&ended.stderr]);
}

const SURPRISING: &str = "\
[limits]
iterations = 50

[[rule]]
when = { type = \"reject_rate\", above = 0.3 }
then = \"stop\"

[[rule]]
when = { type = \"max_iterations\", count = 60 }
then = \"stop\"

[[rule]]
when = { type = \"not\", condition = { type = \"on_error\" } }
then = \"complete\"
";

#[test]
fn what_will_surprise_is_a_warning_and_with_strict_an_error() {
    let ended = check(SURPRISING, &[]).exits(0);
    insta::assert_snapshot!(ended.stderr, @r##"
    warning: `reject_rate` fires on the first rejected unit
     --> backstop.toml:5:10
      |
    5 | when = { type = "reject_rate", above = 0.3 }
      |          ^^^^^^^^^^^^^^^^^^^^ 1 of 1 is 100%; add `min_units = 5`

    warning: `max_iterations` can never win
     --> backstop.toml:9:10
      |
    2 | iterations = 50
      | --------------- `max_iterations` is met whenever this is, and comes first
    ...
    9 | when = { type = "max_iterations", count = 60 }
      |          ^^^^^^^^^^^^^^^^^^^^^^^ always beaten

    warning: `not` is met before the first iteration
      --> backstop.toml:13:10
       |
    13 | when = { type = "not", condition = { type = "on_error" } }
       |          ^^^^^^^^^^ `complete` would be the verdict before anything happens

    3 warnings in backstop.toml
    "##);
    assert!(ended.stdout.starts_with("ok: backstop.toml has 4 rules, sha256:"), "{}", ended.stdout);
    let strict = check(SURPRISING, &["--strict"]);
    strict.refused(78, &[&ended.stderr]);
    let harmless = "[limits]\niterations = 5\n";
    check(harmless, &["--strict"]).exits(0);
}

#[test]
fn findings_as_json_have_their_place() {
    let found = check(SURPRISING, &["--json"]).exits(0).json();
    assert_eq!((&found["file"], &found["errors"]), (&json!("backstop.toml"), &json!([])));
    assert!(found["policy_hash"].as_str().unwrap().starts_with("sha256:"));
    let warnings = found["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 3);
    assert_eq!(warnings[0]["start"], json!({"line": 5, "column": 10}));
    assert!(warnings[0]["message"].as_str().unwrap().contains("reject_rate"));
    check(SURPRISING, &["--json", "--strict"]).exits(78);
    let broken = check("[limits]\niterations = 0\n", &["--json"]).exits(78).json();
    assert_eq!(broken["errors"][0]["start"], json!({"line": 2, "column": 14}));
    assert_eq!(broken["errors"][0]["end"], json!({"line": 2, "column": 15}));
    assert_eq!((&broken["policy_hash"], &broken["warnings"]), (&Json::Null, &json!([])));
}

#[test]
fn very_many_findings_are_cut_short() {
    let rule = "[[rule]]\nwhen = { type = \"nope\" }\nthen = \"stop\"\n";
    let ended = check(&rule.repeat(5_000), &[]);
    ended.refused(78, &["… and 4900 more", "5000 errors in backstop.toml"]);
    assert_eq!(ended.stderr.matches("unknown condition").count(), 100);
}

#[test]
fn judges_that_could_never_judge_are_refused_at_their_place() {
    for (policy, place, words) in [
        (
            "[verify]\ncommand = \"make\"\nreport = \"bogus\"\n",
            "p.toml:3:10",
            "unknown report format",
        ),
        (
            "[verify]\n[[verify.tiers]]\ncommand = \"x\"\nreport = \"junit:\"\n",
            "p.toml:4:10",
            "no path",
        ),
        ("[verify]\ncommand = \"x\"\nreport = \"regex:(\"\n", "p.toml:3:10", "pattern"),
        ("[drift]\ncommand = [\"\"]\n", "p.toml:2:12", "names no program"),
        ("[review]\ncommand = \" \"\n", "p.toml:2:11", "must not be empty"),
        ("[notify]\ncommand = [\"\", \"x\"]\n", "p.toml:2:12", "names no program"),
    ] {
        let test = Test::new().file("p.toml", policy);
        let checked = test.run(["policy", "check", "p.toml"]);
        assert_eq!(checked.code, Some(78), "{policy}: {checked:?}");
        assert!(checked.stderr.contains(place), "{policy}: {}", checked.stderr);
        assert!(checked.stderr.contains(words), "{policy}: {}", checked.stderr);
        // What is refused there does not run either.
        let run = test.run(["run", "--policy", "p.toml", "--once", "--", "touch", "ran"]);
        assert_eq!(run.code, Some(78), "{policy}: {run:?}");
        assert!(!test.path().join("ran").exists());
    }
}

#[test]
fn a_script_that_is_missing_is_a_warning() {
    let policy = "\
[limits]
iterations = 5
[[rule]]
when = { type = \"custom_script\", script = \"./done.sh\" }
then = \"complete\"
";
    let test = Test::new().file("backstop.toml", policy);
    let ended = test.run(["policy", "check", "--strict"]);
    ended.refused(78, &["the script `./done.sh` does not exist", "backstop.toml:4:10"]);
    let test = test.file("done.sh", "#!/bin/sh\n");
    test.run(["policy", "check", "--strict"]).exits(0);
}

#[test]
fn a_phrase_that_the_prompt_holds_is_a_warning() {
    let policy = |more: &str| {
        format!(
            "[limits]\niterations = 5\n[loop]\nstdin = \"PROMPT.md\"\n[[rule]]\n\
             when = {{ type = \"output_pattern\", pattern = \"ALL DONE\"{more} }}\nthen = \"complete\"\n"
        )
    };
    let test =
        Test::new().file("PROMPT.md", "say ALL DONE at the end").file("backstop.toml", policy(""));
    let ended = test.run(["policy", "check", "--strict"]);
    ended.refused(78, &["the prompt `PROMPT.md` contains `ALL DONE` too"]);
    let test = test.file("backstop.toml", policy(", in = \"result\""));
    test.run(["policy", "check", "--strict"]).exits(0);
}

#[test]
fn guards_outside_a_repository_are_a_warning() {
    let policy = "[limits]\niterations = 5\n[guards]\nallow = [\"src/**\"]\n";
    let test = Test::new().file("backstop.toml", policy);
    let ended = test.run(["policy", "check", "--strict"]);
    ended.refused(78, &["`[guards]` needs a git repository"]);
    test.folder(".git").run(["policy", "check", "--strict"]).exits(0);
}

/// Policies of all kinds, as JSON.
fn examples() -> Vec<Json> {
    vec![
        json!({"limits": {"iterations": 50, "duration": "8h", "tokens": 1_000_000, "cost_usd": 20.0, "preflight": true}}),
        json!({"preset": ["ralph", "default"], "rule": [
            {"when": {"type": "any", "conditions": [{"type": "repetition"}, {"type": "no_progress", "iterations": 3}]},
             "then": "ask", "reason": "stalled", "priority": 75, "message": "three passes", "name": "no-change"},
            {"when": {"type": "all", "conditions": [{"type": "all_tests_pass"}, {"type": "not", "condition": {"type": "on_error", "pattern": "x"}}]}, "then": "complete"},
            {"when": {"type": "expr", "cel": "iterations > 3 && cost_usd > 1.5"}, "then": "hold", "on_unknown": "ignore", "shadow": true},
            {"when": {"type": "exit_code", "any_of": [3, 1, 2]}, "then": "stop", "reason": "own"},
        ], "reason": [{"code": "own", "title": "Own", "exit_code": 61, "diagnosis": "d"}],
           "loop": {"iteration_timeout": "1h", "grace": "10s", "stdin": "PROMPT.md"},
           "verify": {"command": "cargo test", "timeout": "10m"},
           "progress": {"git": true, "markers": ["[PROGRESS]"]},
           "guards": {"allow": ["src/**"], "deny": ["b", "a"], "lockfiles": "deny", "require_clean": true},
           "notify": {"on": ["halted", "asked"], "command": ["notify-send", "backstop"]}}),
        json!({"conditions": [{"type": "max_iterations", "count": 20}], "success_conditions": [{"type": "specific_tests_pass", "tests": ["b", "a"]}],
               "failure_conditions": [{"type": "file_contains", "path": "log", "content": "panic"}], "stop_on_first": true}),
        json!({"name": "film", "frames": [1, 2], "retry": {"max": 3, "stop_conditions": {"max_retry_rate": 0.4}}}),
        json!({"lawbookVersion": "7", "anything": {}, "stopRules": {"maxRerunsPerJob": 1, "maxWaitMinutesForGreen": 90, "blockOnFailureClasses": ["b", "a"]}}),
        json!({"lawbookVersion": "8"}),
    ]
}

fn hash(test: &Test, name: &str) -> String {
    test.run(["policy", "hash", name]).exits(0).stdout
}

#[test]
fn what_is_shown_loads_to_the_same_hash() {
    for preset in PRESETS {
        let shown = Test::new().run(["policy", "show", "--preset", preset]).exits(0).stdout;
        let json =
            Test::new().run(["policy", "show", "--preset", preset, "--json"]).exits(0).stdout;
        let test = Test::new().file("p.toml", shown).file("p.json", json);
        let expected = hash(&test, &format!("preset:{preset}"));
        assert_eq!((hash(&test, "p.toml"), hash(&test, "p.json")), (expected.clone(), expected));
    }
    for policy in examples() {
        let test = Test::new().file("p.json", policy.to_string());
        let shown = test.run(["policy", "show", "p.json"]).exits(0).stdout;
        let json = test.run(["policy", "show", "p.json", "--json"]).exits(0).stdout;
        let expected = hash(&test, "p.json");
        let test =
            test.file("shown.toml", shown).file("shown.json", &json).file("shown.yaml", &json);
        for name in ["shown.toml", "shown.json", "shown.yaml"] {
            assert_eq!(hash(&test, name), expected, "{name} of {policy}");
        }
        let silent = test.run(["policy", "check", "shown.json"]).exits(0);
        assert!(!silent.stderr.contains("note:"), "{}", silent.stderr);
    }
}

#[test]
fn the_hash_is_the_same_in_all_syntaxes_and_orders() {
    let test = Test::new()
        .file("p.toml", "[limits]\niterations = 5\nduration = \"90m\"\n[[rule]]\nthen = \"stop\"\nwhen = { type = \"exit_code\", any_of = [2, 1] }\n")
        .file("p.yaml", "# order does not matter\nrule:\n  - when: {any_of: [1, 2], type: exit_code}\n    then: stop\nlimits: {duration: 1h 30m, iterations: 5}\n")
        .file("p.json", r#"{"limits": {"iterations": 5, "duration": "5400s"}, "rule": [{"when": {"type": "exit_code", "any_of": [1, 2]}, "then": "stop"}]}"#)
        .file("other.toml", "[limits]\niterations = 6\nduration = \"90m\"\n");
    let expected = hash(&test, "p.toml");
    assert!(expected.starts_with("sha256:") && expected.len() == 72, "{expected}");
    assert_eq!(hash(&test, "p.yaml"), expected);
    assert_eq!(hash(&test, "p.json"), expected);
    assert_ne!(hash(&test, "other.toml"), expected);
    let decided = test.run(["check", "--policy", "p.toml", "--json"]).exits(0).json();
    assert_eq!(decided["policy_hash"], expected.trim());
}

#[test]
fn the_schema_fits_what_is_accepted_and_refuses_what_is_not() {
    let schema = Test::new().run(["policy", "schema"]).exits(0).json();
    for policy in examples() {
        assert_eq!(schema::violation(&schema, &policy), None, "{policy}");
    }
    for preset in PRESETS {
        let shown = Test::new().run(["policy", "show", "--preset", preset, "--json"]).json();
        assert_eq!(schema::violation(&schema, &shown), None, "{preset}");
    }
    for wrong in [
        json!({"limits": {"iterations": 0}}),
        json!({"limits": {"iteratons": 5}}),
        json!({"limits": {"iterations": "5"}}),
        json!({"rule": [{"when": {"type": "nope"}, "then": "stop"}]}),
        json!({"rule": [{"when": {"type": "max_iterations"}, "then": "stop"}]}),
        json!({"rule": [{"when": {"type": "max_iterations", "count": 1}, "then": "halt"}]}),
        json!({"rule": [{"when": {"type": "reject_rate", "above": 1.5}, "then": "stop"}]}),
        json!({"rule": [{"when": {"type": "any", "conditions": []}, "then": "stop"}]}),
        json!({"rule": [{"then": "stop"}]}),
        json!({"rle": []}),
        json!({"preset": "ralf"}),
        json!({"conditions": [{"type": "nope"}]}),
        json!({"retry": {"stop_conditions": {"max_reject_rate": 2}}}),
        json!({"stopRules": {"maxRerunsPerJob": 0}}),
        json!({"stopRules": {"maxReruns": 1}}),
        json!([]),
    ] {
        assert!(schema::violation(&schema, &wrong).is_some(), "{wrong}");
        let test = Test::new().file("p.json", wrong.to_string());
        test.run(["policy", "hash", "p.json"]).refused(78, &["p.json:"]);
    }
}

#[test]
fn a_schema_key_is_welcome_everywhere() {
    let native = [
        ("p.json", r#"{"$schema": "./backstop.schema.json", "limits": {"iterations": 5}}"#),
        ("p.yaml", "$schema: ./backstop.schema.json\nlimits:\n  iterations: 5\n"),
        ("p.toml", "\"$schema\" = \"./backstop.schema.json\"\n[limits]\niterations = 5\n"),
        ("plain.toml", "[limits]\niterations = 5\n"),
    ];
    let mut hashes: Vec<String> =
        native.iter().map(|(name, text)| hash(&Test::new().file(name, text), name)).collect();
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "the key does not change the policy");
    let schema = Test::new().run(["policy", "schema"]).json();
    let document: Json = serde_json::from_str(native[0].1).unwrap();
    assert_eq!(schema::violation(&schema, &document), None);
    for (name, text) in [
        ("p.json", r#"{"$schema": "x", "stopRules": {}}"#),
        ("p.json", r#"{"$schema": "x", "retry": {"stop_conditions": {}}}"#),
        ("p.json", r#"{"$schema": "x", "conditions": [{"type": "never"}]}"#),
    ] {
        hash(&Test::new().file(name, text), name);
    }
}

fn explain(preset: &str) -> String {
    let shown = Test::new().run(["policy", "explain", &format!("preset:{preset}")]).exits(0).stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    shown
}

#[test]
fn default_is_explained() {
    insta::assert_snapshot!(explain("default"), @"
    preset:default · the most severe verdict wins, then priority

      fail      when a critical error occurs        critical_failure      exit 13 *
      fail      when the scope guard is violated    guard_violation       exit 2 *
      fail      when the protected guard is         guard_violation       exit 2 *
                violated
      fail      when the lockfile guard is          lockfile_violation    exit 3 *
                violated
      fail      when the dirty guard is violated    dirty_worktree        exit 4 *
      fail      when the collision guard is         file_collision        exit 5 *
                violated
      fail      when the worker fails for good      worker_failed         exit 31 *
      stop      when a stop is asked for            user_stopped          exit 130 *
      stop      when the worker times out 3 times   worker_timeout        exit 32 *
                in a row
      stop      after 100 iterations                max_iterations        exit 125
      stop      after 1day of active time           timeout               exit 124
      stop      after 1,000,000 tokens              token_limit           exit 127
      stop      after 3 errors in a row (rule       error                 exit 12
                `errors-in-a-row`)
      hold      when the worker is blocked          worker_blocked        exit 30 *
      warn      when the agent repeats itself       repetition            exit 0

      * follows from the settings; a rule with the same reason replaces it
    ");
}

#[test]
fn ralph_is_explained() {
    insta::assert_snapshot!(explain("ralph"), @"
    preset:ralph · the most severe verdict wins, then priority

      fail      when a critical error occurs        critical_failure      exit 13 *
      fail      when the scope guard is violated    guard_violation       exit 2 *
      fail      when the protected guard is         guard_violation       exit 2 *
                violated
      fail      when the lockfile guard is          lockfile_violation    exit 3 *
                violated
      fail      when the dirty guard is violated    dirty_worktree        exit 4 *
      fail      when the collision guard is         file_collision        exit 5 *
                violated
      fail      when the worker fails for good      worker_failed         exit 31 *
      complete  when all tasks are done             completed             exit 0
      stop      when a stop is asked for            user_stopped          exit 130 *
      stop      when the worker times out 3 times   worker_timeout        exit 32 *
                in a row
      stop      after 100 iterations                max_iterations        exit 125
      stop      after 1day of active time           timeout               exit 124
      stop      after 3 iterations without          stalled               exit 126
                progress
      stop      after 5 test runs with a failure    test_failure_streak   exit 47
                in a row
      hold      when the worker is blocked          worker_blocked        exit 30 *
      ask       when the agent repeats itself       repetition            exit 48
      retry     when the worker is rate limited     rate_limited          exit 33
      warn      when the agent repeats itself       repetition            exit 0
                (high sensitivity) (rule
                `repetition-begins`)

      * follows from the settings; a rule with the same reason replaces it
    ");
}

#[test]
fn pipeline_is_explained() {
    insta::assert_snapshot!(explain("pipeline"), @"
    preset:pipeline · the highest priority wins

      fail      when a critical error occurs        critical_failure      exit 13 *
      fail      when the scope guard is violated    guard_violation       exit 2 *
      fail      when the protected guard is         guard_violation       exit 2 *
                violated
      fail      when the lockfile guard is          lockfile_violation    exit 3 *
                violated
      fail      when the dirty guard is violated    dirty_worktree        exit 4 *
      fail      when the collision guard is         file_collision        exit 5 *
                violated
      stop      when a stop is asked for            user_stopped          exit 130 *
      hold      when the worker is blocked          worker_blocked        exit 30 *
      fail      when the worker fails for good      worker_failed         exit 31 *
      stop      when the worker times out 3 times   worker_timeout        exit 32 *
                in a row
      stop      after 50 attempts over all units    circuit_breaker       exit 40
      stop      after 3 units failed in a row       consecutive_fails     exit 41
      stop      when the reject rate exceeds 30%    reject_rate           exit 42
      stop      when the retry rate exceeds 50%     retry_rate            exit 43

      * follows from the settings; a rule with the same reason replaces it
    ");
}

#[test]
fn rerun_is_explained() {
    insta::assert_snapshot!(explain("rerun"), @"
    preset:rerun · the highest priority wins

      fail      when a critical error occurs        critical_failure      exit 13 *
      fail      when the scope guard is violated    guard_violation       exit 2 *
      fail      when the protected guard is         guard_violation       exit 2 *
                violated
      fail      when the lockfile guard is          lockfile_violation    exit 3 *
                violated
      fail      when the dirty guard is violated    dirty_worktree        exit 4 *
      fail      when the collision guard is         file_collision        exit 5 *
                violated
      stop      when a stop is asked for            user_stopped          exit 130 *
      hold      when the worker is blocked          worker_blocked        exit 30 *
      fail      when the worker fails for good      worker_failed         exit 31 *
      stop      when the worker times out 3 times   worker_timeout        exit 32 *
                in a row
      hold      when the failure's class contains   non_retriable         exit 53
                'build deterministic' or 'lint
                error' or 'syntax error' (rule
                `blockOnFailureClasses`)
      hold      after 2 re-runs of this job (rule   max_attempts          exit 50
                `maxRerunsPerJob`)
      hold      after 5 re-runs over all jobs       max_total_reruns      exit 51
                (rule `maxTotalRerunsPerPr`)
      hold      when the last 2 failures look the   no_signal_change      exit 54
                same (rule
                `noSignalChangeThreshold`)
      hold      for 5m after a change (rule         cooldown_active       exit 56
                `cooldownMinutes`)
      kill      when a failure is unresolved for    wait_timeout          exit 52
                1h (rule `maxWaitMinutesForGreen`)

      * follows from the settings; a rule with the same reason replaces it
    ");
}

#[test]
fn moderator_is_explained() {
    insta::assert_snapshot!(explain("moderator"), @"
    preset:moderator · the most severe verdict wins, then priority

      fail      when a critical error occurs (rule  critical_failure      exit 13
                `critical-error`)
      fail      when the scope guard is violated    guard_violation       exit 2 *
      fail      when the protected guard is         guard_violation       exit 2 *
                violated
      fail      when the lockfile guard is          lockfile_violation    exit 3 *
                violated
      fail      when the dirty guard is violated    dirty_worktree        exit 4 *
      fail      when the collision guard is         file_collision        exit 5 *
                violated
      fail      when the worker fails for good      worker_failed         exit 31 *
      fail      after 3 errors in a row, the        critical_failure      exit 13
                latest critical (rule
                `critical-errors`)
      complete  when all tasks are done             completed             exit 0
      stop      when a stop is asked for            user_stopped          exit 130 *
      stop      when the worker times out 3 times   worker_timeout        exit 32 *
                in a row
      stop      after 1day of active time           timeout               exit 124
      stop      after 1,000,000 tokens              token_limit           exit 127
      stop      when at least 20% of 5 tasks or     error_rate            exit 44
                more end in error
      stop      after 1h without progress           stalled               exit 126
      stop      when the health score is below 20%  health_critical       exit 46
                (rule `health-critical`)
      stop      after 5 cycles, when the last one   diminishing_returns   exit 45
                improved less than 10%
      hold      when the worker is blocked          worker_blocked        exit 30 *
      ask       after 3 errors in a row, the        error                 exit 12
                latest recoverable (rule
                `recoverable-errors`)
      ask       when the agent repeats itself       repetition            exit 48
      ask       when the work drifts more than 50%  topic_drift           exit 49
                from what was asked
      retry     after 3 errors in a row, the        error                 exit 12
                latest transient (rule
                `transient-errors`)
      recover   when the context window is at       context_overflow      exit 129
                least 95% full
      recover   after 30m without progress (rule    stalled               exit 126
                `stagnation-begins`)
      warn      when the agent repeats itself       repetition            exit 0
                (high sensitivity) (rule
                `repetition-begins`)
      warn      when the health score is below 50%  health_critical       exit 0
                (rule `health-low`)

      * follows from the settings; a rule with the same reason replaces it
    ");
}

#[test]
fn explanations_as_json_are_a_list_in_the_order_of_winning() {
    let rules =
        Test::new().run(["policy", "explain", "preset:moderator", "--json"]).exits(0).json();
    let rules = rules.as_array().unwrap();
    let verdicts: Vec<_> = rules.iter().map(|rule| rule["verdict"].as_str().unwrap()).collect();
    let first = |verdict| verdicts.iter().position(|found| *found == verdict).unwrap();
    assert!(first("fail") < first("complete") && first("complete") < first("stop"));
    assert!(first("stop") < first("ask") && first("ask") < first("recover"));
    assert_eq!(verdicts.last(), Some(&"warn"));
}

#[test]
fn the_policy_is_named_in_three_ways() {
    let expected = hash(&Test::new(), "preset:ralph");
    for call in [&["--preset", "ralph"][..], &["--policy", "preset:ralph"]] {
        let ended = Test::new().run(["policy", "hash"].into_iter().chain(call.iter().copied()));
        assert_eq!(ended.exits(0).stdout, expected);
    }
    let test = Test::new().file("backstop.toml", "preset = \"ralph\"\n").folder("a").within("a");
    assert_eq!(test.run(["policy", "hash"]).exits(0).stdout, expected);
    assert_eq!(Test::new().run(["policy", "hash"]).stdout, hash(&Test::new(), "preset:default"));
}
