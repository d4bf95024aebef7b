//! `backstop check --form rerun`: the answer that CI re-run bots know.

use serde_json::{Value as Json, json};

mod support;

use support::{Ended, NOW, Test, keys};

const LAWBOOK: &str =
    r#"{"lawbookVersion": "2026-05", "owner": "ci", "stopRules": {"maxWaitMinutesForGreen": 90}}"#;

fn ask(lawbook: &str, facts: &Json, more: &[&str]) -> Ended {
    let test = Test::new().file("law.json", lawbook).stdin(facts.to_string());
    let call = ["check", "--policy", "law.json", "--facts", "-", "--form", "rerun", "--now", NOW];
    test.run(call.into_iter().chain(more.iter().copied()))
}

#[test]
fn without_a_policy_the_preset_for_reruns_decides() {
    let test = Test::new().stdin(json!({"job_attempts": 2}).to_string());
    let ended = test.run(["check", "--facts", "-", "--form", "rerun", "--now", NOW]).exits(50);
    let answer = ended.json();
    assert_eq!(answer["decision"], "HOLD");
    assert_eq!(answer["evidence"]["thresholds"]["maxRerunsPerJob"], 2);
    assert!(ended.stderr.contains("preset:rerun"), "{}", ended.stderr);
}

#[test]
fn an_answer_has_every_field() {
    let facts = json!({"job_attempts": 2, "total_attempts": 3});
    let more = ["--pr", "9", "--run-id", "77", "--request-id", "req-1"];
    let ended = ask(LAWBOOK, &facts, &more).exits(50);
    let answer = ended.json();
    let hash = answer["lawbookHash"].as_str().unwrap().to_owned();
    assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
    let text = ended.stdout.replace(&hash, "sha256:…");
    insta::assert_snapshot!(text, @r##"
    {
      "schemaVersion": "1.0",
      "requestId": "req-1",
      "lawbookHash": "sha256:…",
      "deploymentEnv": "staging",
      "target": {
        "prNumber": 9,
        "runId": 77
      },
      "decision": "HOLD",
      "reasonCode": "MAX_ATTEMPTS",
      "reasons": [
        "Job has reached the maximum rerun attempts (2/2)"
      ],
      "recommendedNextStep": "MANUAL_REVIEW",
      "evidence": {
        "attemptCounts": {
          "currentJobAttempts": 2,
          "totalPrAttempts": 3
        },
        "thresholds": {
          "maxRerunsPerJob": 2,
          "maxTotalRerunsPerPr": 5,
          "maxWaitMinutesForGreen": 90,
          "cooldownMinutes": 5
        },
        "appliedRules": [
          "maxRerunsPerJob"
        ]
      },
      "metadata": {
        "evaluatedAt": "2026-05-04T10:00:00Z",
        "lawbookVersion": "2026-05"
      }
    }
    "##);
    let shown = Test::new().file("law.json", LAWBOOK).run(["policy", "hash", "law.json"]);
    assert_eq!(shown.stdout.trim(), hash);
}

#[test]
fn each_rule_answers_with_its_code_key_phrase_and_step() {
    let hold = "HOLD";
    for (facts, decision, code, key, phrase, step, exit_code) in [
        (
            json!({"failure_class": "Lint Error in main.c", "job_attempts": 9}),
            hold,
            "NON_RETRIABLE",
            "blockOnFailureClasses",
            "non-retriable",
            "FIX_REQUIRED",
            53,
        ),
        (
            json!({"job_attempts": 2, "total_attempts": 9}),
            hold,
            "MAX_ATTEMPTS",
            "maxRerunsPerJob",
            "maximum rerun attempts",
            "MANUAL_REVIEW",
            50,
        ),
        (
            json!({"job_attempts": 1, "total_attempts": 5}),
            hold,
            "MAX_TOTAL_RERUNS",
            "maxTotalRerunsPerPr",
            "maximum total reruns",
            "MANUAL_REVIEW",
            51,
        ),
        (
            json!({"failure_signals": ["a", "b", "b"]}),
            hold,
            "NO_SIGNAL_CHANGE",
            "noSignalChangeThreshold",
            "No signal change detected",
            "MANUAL_REVIEW",
            54,
        ),
        (
            json!({"last_changed_at": "2026-05-04T09:56:00Z", "first_failure_at": "2026-05-04T07:00:00Z"}),
            hold,
            "COOLDOWN_ACTIVE",
            "cooldownMinutes",
            "Cooldown period active",
            "WAIT",
            56,
        ),
        (
            json!({"first_failure_at": "2026-05-04T08:30:00Z"}),
            "KILL",
            "TIMEOUT",
            "maxWaitMinutesForGreen",
            "Maximum wait time exceeded",
            "MANUAL_REVIEW",
            52,
        ),
    ] {
        let ended = ask(LAWBOOK, &facts, &[]).exits(exit_code);
        let answer = ended.json();
        assert_eq!((&answer["decision"], &answer["reasonCode"]), (&json!(decision), &json!(code)));
        assert_eq!(answer["evidence"]["appliedRules"], json!([key]), "{code}");
        assert_eq!(answer["recommendedNextStep"], step, "{code}");
        let reasons = answer["reasons"].as_array().unwrap();
        assert_eq!(reasons.len(), 1, "{code}");
        assert!(reasons[0].as_str().unwrap().contains(phrase), "{code}: {reasons:?}");
    }
}

#[test]
fn just_below_each_threshold_it_goes_on() {
    let facts = json!({
        "job_attempts": 1, "total_attempts": 4, "failure_signals": ["a", "b"],
        "failure_class": "flaky", "last_changed_at": "2026-05-04T09:55:00Z",
        "first_failure_at": "2026-05-04T08:30:01Z",
    });
    let answer = ask(LAWBOOK, &facts, &[]).exits(0).json();
    assert_eq!(answer["decision"], "CONTINUE");
    assert!(answer.get("reasonCode").is_none(), "{answer}");
    assert_eq!(
        answer["reasons"],
        json!(["All stop condition checks passed - safe to continue automation"])
    );
    assert_eq!(answer["recommendedNextStep"], "PROMPT");
    assert_eq!(answer["evidence"]["appliedRules"], json!(["all_checks_passed"]));
    assert_eq!(
        answer["evidence"]["attemptCounts"],
        json!({"currentJobAttempts": 1, "totalPrAttempts": 4})
    );
}

#[test]
fn limits_that_are_off_and_versions_that_are_missing_are_left_out() {
    let lawbook = r#"{"stopRules": {"cooldownMinutes": 0}}"#;
    let answer = ask(lawbook, &json!({}), &[]).exits(0).json();
    let thresholds = &answer["evidence"]["thresholds"];
    assert_eq!(thresholds, &json!({"maxRerunsPerJob": 2, "maxTotalRerunsPerPr": 5}));
    assert_eq!(keys(&answer["metadata"]), ["evaluatedAt"]);
    assert_eq!(keys(&answer["target"]), ["prNumber"]);
}

#[test]
fn a_lawbook_without_stop_rules_means_the_preset() {
    let answer = ask(r#"{"lawbookVersion": 3}"#, &json!({}), &[]).exits(0).json();
    assert_eq!(
        answer["evidence"]["thresholds"],
        json!({"maxRerunsPerJob": 2, "maxTotalRerunsPerPr": 5, "maxWaitMinutesForGreen": 60, "cooldownMinutes": 5})
    );
    assert_eq!(answer["metadata"]["lawbookVersion"], "3");
}

#[test]
fn other_rules_stop_as_the_lawbook_says() {
    let test =
        Test::new().file("p.toml", "[limits]\niterations = 3\n").stdin(r#"{"iterations": 3}"#);
    let call = ["check", "--policy", "p.toml", "--facts", "-", "--form", "rerun", "--now", NOW];
    let answer = test.run(call).exits(125).json();
    assert_eq!(
        (&answer["decision"], &answer["reasonCode"]),
        (&json!("KILL"), &json!("LAWBOOK_BLOCK"))
    );
    assert_eq!(answer["evidence"]["appliedRules"], json!(["max_iterations"]));
}

#[test]
fn the_environment_is_prod_only_where_it_is_said() {
    for (value, expected) in [
        (Some("prod"), "prod"),
        (Some("production"), "prod"),
        (Some("staging"), "staging"),
        (Some("dev"), "staging"),
        (Some(""), "staging"),
        (None, "staging"),
    ] {
        let mut test = Test::new().stdin("{}");
        if let Some(value) = value {
            test = test.variable("DEPLOY_ENV", value);
        }
        let call = ["check", "--policy", "preset:rerun", "--facts", "-", "--form", "rerun"];
        assert_eq!(test.run(call).exits(0).json()["deploymentEnv"], expected, "{value:?}");
    }
}

#[test]
fn a_request_without_an_id_gets_a_new_one() {
    let ask = || {
        let call = ["check", "--policy", "preset:rerun", "--form", "rerun"];
        Test::new().run(call).exits(0).json()["requestId"].as_str().unwrap().to_owned()
    };
    let (one, other) = (ask(), ask());
    assert!(!one.is_empty() && one != other, "{one} {other}");
}

#[test]
fn a_policy_that_cannot_be_loaded_is_no_answer() {
    let ended = ask(r#"{"stopRules": {"maxRerunsPerJob": 0}}"#, &json!({}), &[]);
    ended.refused(78, &["maxRerunsPerJob"]);
}
