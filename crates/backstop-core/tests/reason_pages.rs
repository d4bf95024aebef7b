//! The pages of the reasons: their headings, and examples in the form in which they are executed.

use std::collections::BTreeMap;

use backstop_core::reason::{self, Reason};

#[test]
fn pages_have_the_same_headings_in_the_same_order() {
    for reason in reason::all() {
        let sections = sections(reason);
        let headings: Vec<_> = sections.iter().map(|(heading, _)| heading.as_str()).collect();
        let title = format!("# {}", reason.code);
        assert_eq!(
            headings,
            [&title, "## What happened", "## Why it matters", "## What to do", "## Example"],
            "{}",
            reason.code
        );
        for (heading, text) in &sections {
            assert!(!text.trim().is_empty(), "{}: {heading} is empty", reason.code);
        }
        assert_eq!(sections[0].1.trim().lines().count(), 1, "{}: one paragraph", reason.code);
        assert!(reason.page.ends_with('\n') && !reason.page.ends_with("\n\n"));
    }
}

#[test]
fn no_two_pages_share_a_paragraph() {
    let mut seen = BTreeMap::new();
    for reason in reason::all() {
        for (heading, text) in sections(reason).iter().filter(|(name, _)| name != "## Example") {
            for paragraph in text.split("\n\n").map(str::trim).filter(|text| text.len() > 40) {
                if let Some(other) = seen.insert(paragraph.to_owned(), reason.code) {
                    panic!("{} and {other}, {heading}: {paragraph}", reason.code);
                }
            }
        }
    }
}

#[test]
fn examples_have_the_form_that_is_executed() {
    for reason in reason::all() {
        let code = reason.code;
        let example = Example::of(reason);
        let policy: toml::Table = example.policy.parse().unwrap_or_else(|error| {
            panic!("{code}: {error}");
        });
        for key in policy.keys() {
            assert!(["rule", "limits"].contains(&key.as_str()), "{code}: unexpected key {key}");
        }
        assert!(example.facts.is_some() != example.events.is_some(), "{code}: facts or events");
        if let Some(facts) = &example.facts {
            let facts: BTreeMap<String, serde_json::Value> = serde_json::from_str(facts).unwrap();
            for name in facts.keys() {
                assert!(FACTS.contains(&name.as_str()), "{code}: unknown fact {name}");
            }
        }
        for line in example.events.iter().flat_map(|events| events.lines()) {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let kind = event["type"].as_str().unwrap();
            assert!(EVENTS.contains(&kind), "{code}: unknown event {kind}");
            if let Some(at) = event.get("at") {
                at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
            }
        }
        if let Some(at) = &example.decided_at {
            at.parse::<jiff::Timestamp>().unwrap();
        }
        assert_eq!(example.exit_code, reason.exit_code, "{code}");
        assert_eq!(example.verdict.1, code);
        let (then, expected) = outcome(code, &policy);
        assert_eq!((example.verdict.0.as_str(), code), (then.as_str(), expected.as_str()));
    }
}

/// A page's headings, each with the text below it. A `#` inside a fence is a comment.
fn sections(reason: &Reason) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut inside_fence = false;
    for line in reason.page.lines() {
        inside_fence ^= line.starts_with("```");
        if line.starts_with('#') && !inside_fence {
            sections.push((line.to_owned(), String::new()));
        } else {
            let (_, text) = sections.last_mut().expect("a page starts with its heading");
            text.push_str(line);
            text.push('\n');
        }
    }
    assert!(!inside_fence, "{}: a fence is left open", reason.code);
    sections
}

/// The example that ends a page.
struct Example {
    policy: String,
    facts: Option<String>,
    events: Option<String>,
    decided_at: Option<String>,
    verdict: (String, String),
    exit_code: u8,
}

impl Example {
    fn of(reason: &Reason) -> Self {
        let code = reason.code;
        let mut fences = BTreeMap::new();
        let mut open: Option<(String, String)> = None;
        let mut told = Vec::new();
        let (_, section) = sections(reason).pop().expect("a page has sections");
        for line in section.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => open = Some((info.to_owned(), String::new())),
                (Some(_), Some(_)) => {
                    let (info, text) = open.take().expect("matched above");
                    assert_eq!(told.len(), 0, "{code}: fences come before the outcome");
                    assert_eq!(fences.insert(info, text), None, "{code}: a fence comes twice");
                }
                (Some((_, text)), None) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) if line.is_empty() => {}
                (None, None) => told.push(line.split_once(": ").expect("a line of the outcome")),
            }
        }
        let policy = fences.remove("toml policy").expect("a policy");
        let facts = fences.remove("json facts");
        let events = fences.remove("jsonl events");
        assert!(fences.is_empty(), "{code}: unknown fence");
        let decided_at = (told[0].0 == "Decided at").then(|| told.remove(0).1.to_owned());
        let [("Verdict", verdict), ("Exit code", exit_code)] = told[..] else {
            panic!("{code}: the outcome is a verdict and an exit code: {told:?}");
        };
        let (then, reason) = verdict.split_once(' ').expect("verdict and reason");
        Self {
            policy,
            facts,
            events,
            decided_at,
            verdict: (then.to_owned(), reason.to_owned()),
            exit_code: exit_code.parse().expect("a number"),
        }
    }
}

/// Verdict and reason of an example's one rule or limit, by the contract's default reasons.
fn outcome(code: &str, policy: &toml::Table) -> (String, String) {
    if let Some(limits) = policy.get("limits") {
        let limits = limits.as_table().expect("a table of limits");
        assert_eq!((limits.len(), policy.len()), (1, 1), "{code}: one limit");
        let reason = match limits.keys().next().expect("one limit").as_str() {
            "iterations" => "max_iterations",
            "duration" => "timeout",
            "tokens" => "token_limit",
            "cost_usd" => "cost_limit",
            other => panic!("{code}: unknown limit {other}"),
        };
        return ("stop".to_owned(), reason.to_owned());
    }
    let rules = policy["rule"].as_array().expect("a list of rules");
    assert_eq!(rules.len(), 1, "{code}: one rule");
    let rule = rules[0].as_table().expect("a rule");
    let text = |table: &toml::Table, key: &str| {
        table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let when = rule["when"].as_table().expect("a condition");
    let then = text(rule, "then");
    let reason = match text(rule, "reason") {
        explicit if !explicit.is_empty() => explicit,
        _ if then == "complete" => "completed".to_owned(),
        _ => default_reason(code, when, &text).to_owned(),
    };
    (then, reason)
}

fn default_reason(
    code: &str,
    when: &toml::Table,
    text: &dyn Fn(&toml::Table, &str) -> String,
) -> &'static str {
    match text(when, "type").as_str() {
        "max_attempts" => "circuit_breaker",
        "job_attempts" => "max_attempts",
        "total_attempts" => "max_total_reruns",
        "unresolved" => "wait_timeout",
        "cooldown" => "cooldown_active",
        "failure_class" => "non_retriable",
        "on_error" => "error",
        "consecutive_errors" if text(when, "category") == "critical" => "critical_failure",
        "consecutive_errors" => "error",
        "quota" => "rate_limited",
        "context_usage" => "context_overflow",
        "no_progress" | "stagnation" => "stalled",
        "health" => "health_critical",
        "user_signal" => "user_stopped",
        "guard_violated" => match text(when, "kind").as_str() {
            "lockfile" => "lockfile_violation",
            "dirty" => "dirty_worktree",
            "collision" => "file_collision",
            "scope" | "protected" => "guard_violation",
            other => panic!("{code}: unknown guard {other}"),
        },
        "worker" => match text(when, "status").as_str() {
            "blocked" => "worker_blocked",
            "failed" => "worker_failed",
            "timed_out" => "worker_timeout",
            "rate_limited" => "rate_limited",
            other => panic!("{code}: unknown status {other}"),
        },
        "verification" => match text(when, "outcome").as_str() {
            "failed" => "verification_failed",
            "timed_out" => "verification_timeout",
            other => panic!("{code}: unknown outcome {other}"),
        },
        "review" if when.contains_key("same_rounds") => "review_loop_detected",
        "review" if text(when, "outcome") == "rejected" => "review_rejected",
        "all" | "exit_code" => "condition_met",
        same @ ("consecutive_fails"
        | "reject_rate"
        | "retry_rate"
        | "error_rate"
        | "diminishing_returns"
        | "test_failure_streak"
        | "repetition"
        | "topic_drift"
        | "no_signal_change") => reason::find(same).expect("a reason of that name").as_str(),
        other => panic!("{code}: unknown condition {other}"),
    }
}

const EVENTS: &[&str] = &[
    "action",
    "cycle",
    "drift",
    "error",
    "guard",
    "iteration_finished",
    "iteration_started",
    "quota",
    "review",
    "signal",
    "tests",
    "unit",
    "verification",
    "worker",
];

const FACTS: &[&str] = &[
    "active_ms",
    "attempts",
    "context",
    "cost_known",
    "cost_usd",
    "ended",
    "error_rate",
    "errored",
    "exit_code",
    "failure_class",
    "failure_signals",
    "first_failure_at",
    "health",
    "iterations",
    "iterations_since_progress",
    "job_attempts",
    "last_changed_at",
    "tokens",
    "total_attempts",
];
