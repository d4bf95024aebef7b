//! terminal-bench's `results.json`: how a trial ended, and what its tests found. No steps.

use backstop_core::event::Tests;
use serde_json::Value;

use super::ending::fault;
use super::spent::Spent;
use super::teller::Teller;
use super::text;
use crate::Outcome;
use crate::fields::whole;

/// A trial, or all of them under `results`.
pub(super) fn read(value: &Value, teller: &mut Teller<'_>) {
    match value.get("results").and_then(Value::as_array) {
        Some(trials) => trials.iter().for_each(|trial| read_trial(trial, teller)),
        None => read_trial(value, teller),
    }
}

fn read_trial(trial: &Value, teller: &mut Teller<'_>) {
    if trial.get("is_resolved").or(trial.get("trial_name")).is_none() {
        return;
    }
    let time = |name| trial.get(name);
    teller.at(teller.time(time("agent_started_at").or(time("trial_started_at"))));
    teller.launched();
    teller.at(teller.time(time("agent_ended_at")));
    let tokens = |name| trial.get(name).and_then(whole).unwrap_or(0);
    teller.used_in_all(Spent {
        input: tokens("total_input_tokens"),
        output: tokens("total_output_tokens"),
        ..Spent::default()
    });
    // A trial can be solved and have failed too: the agent did its work, and then did not end.
    let failure = text(trial, "failure_mode").filter(|mode| !matches!(*mode, "unset" | "none"));
    if let Some(mode) = failure {
        teller.fault(fault(mode));
    }
    if let Some(tests) = trial.get("parser_results").and_then(Value::as_object) {
        teller.at(teller.time(time("test_ended_at")));
        let ended = |wanted: &str| {
            let named = tests.iter().filter(|(_, status)| status.as_str() == Some(wanted));
            named.map(|(name, _)| name.clone()).collect()
        };
        teller.tests(Tests {
            passed: ended("passed"),
            failed: ended("failed"),
            skipped: ended("skipped"),
            counts: None,
            source: "terminal-bench".to_owned(),
        });
    }
    // Whether the task is solved was found out by somebody else than the agent: it decides.
    teller.ended(match trial.get("is_resolved").and_then(Value::as_bool) {
        Some(true) => Outcome::Succeeded,
        Some(false) => Outcome::Failed,
        None if failure.is_some() => Outcome::Failed,
        None => Outcome::CutOff,
    });
}
