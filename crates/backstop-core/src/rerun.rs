//! The answer of a decision in the form that re-run bots know: camelCase, with fixed words.

use std::time::Duration;

use serde::Serialize;

use crate::condition::Condition;
use crate::decision::Decision;
use crate::engine::Engine;
use crate::expression::Expression;
use crate::policy::Policy;
use crate::reason::{self, NextStep, ReasonCode};
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// Whether a policy says anything of re-runs. Where one that was not named for them does not, the
/// preset for them counts.
pub fn speaks_of_reruns(policy: &Policy) -> bool {
    fn reads_them(when: &Condition) -> bool {
        match when {
            Condition::FailureClass(_)
            | Condition::JobAttempts(_)
            | Condition::TotalAttempts(_)
            | Condition::NoSignalChange(_)
            | Condition::Cooldown(_)
            | Condition::Unresolved(_) => true,
            Condition::Expr(expr) => {
                let read = expr.expression.as_ref().map_or(&[][..], Expression::variables);
                read.iter().any(|name| FACTS.contains(name))
            }
            other => other.parts().iter().any(reads_them),
        }
    }
    policy.rules.iter().any(|rule| reads_them(&rule.when))
}

/// The facts that only re-runs have.
const FACTS: [&str; 6] = [
    "job_attempts",
    "total_attempts",
    "failure_class",
    "failure_signals",
    "last_changed_at",
    "first_failure_at",
];

/// What an answer must echo and cannot know by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub request_id: String,
    /// As [`deployment_env`] has it.
    pub deployment_env: &'static str,
    pub pr_number: Option<u64>,
    pub run_id: Option<u64>,
}

/// Where it is decided, by what the variable `DEPLOY_ENV` says.
pub fn deployment_env(variable: Option<&str>) -> &'static str {
    match variable {
        Some("prod" | "production") => "prod",
        _ => "staging",
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub schema_version: &'static str,
    pub request_id: String,
    pub lawbook_hash: String,
    pub deployment_env: &'static str,
    pub target: Target,
    pub decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<&'static str>,
    pub reasons: Vec<String>,
    pub recommended_next_step: &'static str,
    pub evidence: Evidence,
    pub metadata: Metadata,
}

/// What the question was about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub pr_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u64>,
}

/// What the decision was made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    pub attempt_counts: AttemptCounts,
    pub thresholds: Thresholds,
    pub applied_rules: Vec<String>,
}

/// How often jobs were run again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptCounts {
    pub current_job_attempts: u64,
    pub total_pr_attempts: u64,
}

/// The limits in force; those that the policy does not have are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thresholds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_reruns_per_job: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_reruns_per_pr: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wait_minutes_for_green: Option<Minutes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown_minutes: Option<Minutes>,
}

/// A number of minutes, written without a fraction where it has none, as lawbooks write it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Minutes {
    Whole(u64),
    Fraction(f64),
}

impl From<Duration> for Minutes {
    fn from(duration: Duration) -> Self {
        match (duration.as_secs() % 60, duration.subsec_nanos()) {
            (0, 0) => Self::Whole(duration.as_secs() / 60),
            _ => Self::Fraction(duration.as_secs_f64() / 60.0),
        }
    }
}

/// When and by which version it was decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub evaluated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lawbook_version: Option<String>,
}

impl Answer {
    /// As it goes over the wire, on one line.
    pub fn to_json(&self) -> String {
        let mut json = Vec::with_capacity(JSON_LENGTH);
        serde_json::to_writer(&mut json, self).expect("an answer is plain data");
        String::from_utf8(json).expect("JSON is text")
    }

    /// Puts a decision of this engine into words that re-run bots know.
    pub fn new(engine: &Engine, decision: &Decision, request: Request) -> Self {
        let word = word(decision.verdict);
        let goes_on = word == CONTINUE;
        let reruns = &engine.facts().reruns;
        Self {
            schema_version: "1.0",
            request_id: request.request_id,
            lawbook_hash: decision.policy_hash.clone(),
            deployment_env: request.deployment_env,
            target: Target { pr_number: request.pr_number, run_id: request.run_id },
            decision: word,
            reason_code: decision.reason.as_deref().filter(|_| !goes_on).map(reason_code),
            reasons: vec![if goes_on { ALL_PASSED.to_owned() } else { decision.message.clone() }],
            recommended_next_step: next_step(decision.next_step, goes_on),
            evidence: Evidence {
                attempt_counts: AttemptCounts {
                    current_job_attempts: reruns.job_attempts,
                    total_pr_attempts: reruns.total_attempts,
                },
                thresholds: thresholds(engine),
                applied_rules: vec![applied_rule(engine, decision, goes_on)],
            },
            metadata: Metadata {
                evaluated_at: decision.decided_at,
                lawbook_version: engine.policy().label.clone(),
            },
        }
    }
}

/// Most answers are shorter.
const JSON_LENGTH: usize = 1_024;

const CONTINUE: &str = "CONTINUE";
const ALL_PASSED: &str = "All stop condition checks passed - safe to continue automation";

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Continue | Verdict::Warn | Verdict::Complete => CONTINUE,
        Verdict::Retry | Verdict::Recover | Verdict::Ask | Verdict::Hold => "HOLD",
        Verdict::Stop | Verdict::Kill | Verdict::Fail => "KILL",
    }
}

/// The codes that this form has, by their reasons.
const REASON_CODES: [(ReasonCode, &str); 7] = [
    (ReasonCode::MaxAttempts, "MAX_ATTEMPTS"),
    (ReasonCode::MaxTotalReruns, "MAX_TOTAL_RERUNS"),
    (ReasonCode::WaitTimeout, "TIMEOUT"),
    (ReasonCode::NonRetriable, "NON_RETRIABLE"),
    (ReasonCode::NoSignalChange, "NO_SIGNAL_CHANGE"),
    (ReasonCode::CooldownActive, "COOLDOWN_ACTIVE"),
    (ReasonCode::PolicyBlock, LAWBOOK_BLOCK),
];
const LAWBOOK_BLOCK: &str = "LAWBOOK_BLOCK";

/// Whatever else stops a re-run is the lawbook's doing.
fn reason_code(code: &str) -> &'static str {
    let reason = reason::find(code);
    let known = REASON_CODES.iter().find(|(known, _)| Some(*known) == reason);
    known.map_or(LAWBOOK_BLOCK, |(_, code)| code)
}

/// The reason that a code of this form stands for.
pub fn reason_of(code: &str) -> ReasonCode {
    let known = REASON_CODES.iter().find(|(_, known)| *known == code);
    known.map_or(ReasonCode::PolicyBlock, |(reason, _)| *reason)
}

/// All codes under which a reason is on record, by any of its names in any case: a run has its
/// reason's code, or the one it had when it was recorded, and a re-run that of this form. `TIMEOUT`
/// is another reason there than `timeout` is for a run, and whoever asks for one may mean either. A
/// name that nothing built in has may be a policy's own.
pub fn codes_on_record(name: &str) -> Vec<String> {
    let own = reason::normalised(name);
    let of_form = REASON_CODES.iter().find(|(_, code)| code.to_lowercase() == own);
    let mut codes = vec![name.to_owned(), own.to_uppercase(), own];
    let reasons = reason::find(name).into_iter().chain(of_form.map(|(reason, _)| *reason));
    for meant in reasons {
        codes.extend(reason::names(meant.reason()).map(str::to_owned));
        let in_form = REASON_CODES.iter().filter(|(reason, _)| *reason == meant);
        codes.extend(in_form.map(|(_, code)| (*code).to_owned()));
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn next_step(step: NextStep, goes_on: bool) -> &'static str {
    match step {
        _ if goes_on => "PROMPT",
        NextStep::Prompt | NextStep::ManualReview => "MANUAL_REVIEW",
        NextStep::FixRequired => "FIX_REQUIRED",
        NextStep::Wait => "WAIT",
    }
}

fn applied_rule(engine: &Engine, decision: &Decision, goes_on: bool) -> String {
    let Some(winner) = decision.rule.as_ref().filter(|_| !goes_on) else {
        return "all_checks_passed".to_owned();
    };
    let key = engine.policy().all_rules().nth(winner.index).and_then(|rule| match rule.when {
        Condition::FailureClass(_) => Some("blockOnFailureClasses"),
        Condition::JobAttempts(_) => Some("maxRerunsPerJob"),
        Condition::TotalAttempts(_) => Some("maxTotalRerunsPerPr"),
        Condition::NoSignalChange(_) => Some("noSignalChangeThreshold"),
        Condition::Cooldown(_) => Some("cooldownMinutes"),
        Condition::Unresolved(_) => Some("maxWaitMinutesForGreen"),
        _ => None,
    });
    key.map_or_else(|| winner.name.clone(), str::to_owned)
}

fn thresholds(engine: &Engine) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for rule in &engine.policy().rules {
        match &rule.when {
            Condition::JobAttempts(limit) => thresholds.max_reruns_per_job = Some(limit.count.0),
            Condition::TotalAttempts(limit) => {
                thresholds.max_total_reruns_per_pr = Some(limit.count.0);
            }
            Condition::Unresolved(limit) => {
                thresholds.max_wait_minutes_for_green = Some(limit.duration.0.into());
            }
            Condition::Cooldown(limit) => {
                thresholds.cooldown_minutes = Some(limit.duration.0.into());
            }
            _ => {}
        }
    }
    thresholds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;

    #[test]
    fn a_reason_is_on_record_under_all_of_its_names() {
        let among = |name: &str, codes: &[&str]| {
            let found = codes_on_record(name);
            codes.iter().all(|code| found.iter().any(|one| one == code))
        };
        for name in
            ["max_total_reruns", "MAX_TOTAL_RERUNS", "Max-Total-Reruns", " max total reruns"]
        {
            assert!(among(name, &["max_total_reruns", "MAX_TOTAL_RERUNS"]), "{name}");
        }
        for name in ["wait_timeout", "WAIT_TIMEOUT", "TIMEOUT", "timeout"] {
            assert!(among(name, &["wait_timeout", "TIMEOUT"]), "{name}");
        }
        // A run that took too long is no re-run that did.
        assert!(among("timeout", &["timeout"]) && among("TIMEOUT", &["timeout"]));
        assert!(!among("wait_timeout", &["timeout"]) && !among("time_limit", &["TIMEOUT"]));
        for name in ["policy_block", "Policy_Block", "lawbook_block", "LAWBOOK_BLOCK"] {
            assert!(among(name, &["policy_block", "LAWBOOK_BLOCK"]), "{name}");
        }
        // What else a re-run was blocked for is not on record as that.
        assert!(!among("cost_limit", &["LAWBOOK_BLOCK"]));
        assert!(among("max_ticks", &["max_iterations"]) && among("MAX_ITERATIONS", &["max_ticks"]));
        assert!(among("Out_Of_Patience", &["out_of_patience", "OUT_OF_PATIENCE"]));
        assert!(among("Odd", &["Odd", "odd", "ODD"]));
    }

    #[test]
    fn an_expression_speaks_of_reruns_if_it_reads_their_facts() {
        for (cel, speaks) in [
            ("cost_usd > 5.0", false),
            ("iterations > 3 && exit_code == 1", false),
            ("job_attempts > 3", true),
            ("iterations > 3 || total_attempts > 9", true),
            ("failure_class == 'infra'", true),
            ("size(failure_signals) > 2", true),
            ("last_changed_at == null", true),
            ("first_failure_at != null", true),
        ] {
            for when in [
                format!("{{ type = 'expr', cel = \"{cel}\" }}"),
                format!("{{ type = 'all', conditions = [{{ type = 'expr', cel = \"{cel}\" }}] }}"),
            ] {
                let document = format!("[[rule]]\nwhen = {when}\nthen = 'stop'\n");
                let loaded = Policy::load(document.as_bytes(), Syntax::Toml);
                let policy = loaded.unwrap_or_else(|errors| panic!("{document}{errors:?}")).policy;
                assert_eq!(speaks_of_reruns(&policy), speaks, "{document}");
            }
        }
    }
}
