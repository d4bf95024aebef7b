//! SWE-agent's `.traj`: steps, and at the end what all of them cost.

use serde_json::Value;

use super::calls::Call;
use super::ending::fault;
use super::spent::Spent;
use super::teller::Teller;
use super::text;
use crate::Outcome;
use crate::fields::whole;

/// Steps are counted as SWE-agent counts them: with the last one, which may be its own `exit_cost`.
pub(super) fn read(run: &Value, teller: &mut Teller<'_>) {
    let Some(steps) = run.get("trajectory").and_then(Value::as_array) else { return };
    teller.launched();
    steps.iter().for_each(|step| read_step(step, teller));
    let information = run.get("info").unwrap_or(&Value::Null);
    if let Some(statistics) = information.get("model_stats") {
        // Its `total_cost` is that of all runs of a series until then.
        let figure = |name| statistics.get(name).and_then(whole).unwrap_or(0);
        let tokens = Spent {
            input: figure("tokens_sent"),
            output: figure("tokens_received"),
            ..Spent::default()
        };
        teller.used_in_all(tokens.at(statistics.get("instance_cost").and_then(Value::as_f64)));
    }
    let status = text(information, "exit_status");
    let outcome = match status {
        Some("submitted") => {
            if let Some(submission) = text(information, "submission") {
                teller.result(submission);
            }
            Outcome::Succeeded
        }
        None => Outcome::CutOff,
        // `submitted (exit_cost)` too: the agent had not finished when its money was at an end. What
        // it had done until then was submitted for it.
        Some(other) => {
            teller.fault(fault(other));
            Outcome::Failed
        }
    };
    teller.ended(outcome);
}

fn read_step(step: &Value, teller: &mut Teller<'_>) {
    let said = text(step, "thought").or_else(|| text(step, "response"));
    match (text(step, "action"), said) {
        (Some(action), said) => {
            if let Some(said) = said {
                teller.said(said);
            }
            let tool = action.split_whitespace().next().unwrap_or_default();
            let call = Call::command(tool, action.trim(), None);
            teller.step(&call, step.get("observation").and_then(Value::as_str), None);
        }
        (None, Some(said)) => teller.message(said),
        (None, None) => teller.empty(),
    }
}
