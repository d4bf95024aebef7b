//! mini-swe-agent: a conversation, in which older versions wrote commands into the text.

use std::borrow::Cow;

use serde_json::Value;

use super::calls::{Call, Calls};
use super::ending::fault;
use super::spent::Spent;
use super::teller::Teller;
use super::{text, words};
use crate::{Fault, FaultKind, Outcome};

/// Reads runs, or the messages of one.
pub(super) fn read(values: &[Value], teller: &mut Teller<'_>) {
    let mut runs = values.iter().filter(|value| value.get("messages").is_some()).peekable();
    if runs.peek().is_none() {
        return read_run(values, &Value::Null, teller);
    }
    for run in runs {
        let messages = run.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        read_run(messages, run.get("info").unwrap_or(&Value::Null), teller);
    }
}

fn read_run(messages: &[Value], information: &Value, teller: &mut Teller<'_>) {
    teller.launched();
    let mut reader = Reader::default();
    messages.iter().for_each(|message| reader.read(message, teller));
    reader.finish(information, teller);
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    begun: bool,
    /// The last answer held nothing to do, and was told as such.
    idle: bool,
    /// What came back from the command with which an agent submits.
    submitted: Option<String>,
    exit: Option<Value>,
}

impl Reader {
    fn read(&mut self, message: &Value, teller: &mut Teller<'_>) {
        let extra = message.get("extra").unwrap_or(&Value::Null);
        let role = text(message, "role").unwrap_or_default();
        let is_result =
            role == "tool" || text(message, "type").is_some_and(|it| it == "function_call_output");
        if role == "exit" {
            self.exit = Some(message.clone());
        } else if role == "assistant" || extra.get("actions").is_some() {
            self.answer(message, extra, teller);
        } else if text(extra, "interrupt_type") == Some("FormatError") {
            // Newer versions do not keep the answer in which no command was found.
            if !std::mem::take(&mut self.idle) {
                teller.empty();
            }
        } else if is_result || role == "user" {
            self.result(message, extra, teller);
        }
    }

    fn answer(&mut self, message: &Value, extra: &Value, teller: &mut Teller<'_>) {
        self.begun = true;
        self.leave_calls(teller);
        let at = teller.time(extra.get("timestamp"));
        teller.at(at);
        let usage = extra.pointer("/response/usage").unwrap_or(&Value::Null);
        teller.used(Spent::tokens(usage).at(extra.get("cost").and_then(Value::as_f64)));
        let said = content(message);
        let actions = actions(message, extra, &said);
        self.idle = actions.is_empty();
        match (said.trim().is_empty(), actions.is_empty()) {
            (true, true) => teller.empty(),
            (false, true) => teller.message(&said),
            (true, false) => {}
            (false, false) => teller.said(&said),
        }
        for (index, (name, command)) in actions.into_iter().enumerate() {
            let name = name.unwrap_or_else(|| index.to_string());
            self.calls.begin(&name, Call::command("bash", &command, at));
        }
    }

    fn result(&mut self, message: &Value, extra: &Value, teller: &mut Teller<'_>) {
        let name = text(message, "tool_call_id").or_else(|| text(message, "call_id"));
        let result = content(message);
        let Some(call) = self.calls.answered(name) else {
            if self.begun && text(message, "role") == Some("user") {
                teller.user(&result);
            }
            return;
        };
        let code = extra.get("returncode").and_then(Value::as_i64).or_else(|| {
            let (code, _) = result.strip_prefix("<returncode>")?.split_once("</returncode>")?;
            code.trim().parse().ok()
        });
        let submits = SUBMITS.iter().any(|words| call.signature.contains(words));
        self.submitted = (submits && code.is_none_or(|code| code == 0)).then(|| result.to_string());
        teller.step(&call, Some(&result), code.map(|code| code == 0));
    }

    fn finish(mut self, information: &Value, teller: &mut Teller<'_>) {
        self.leave_calls(teller);
        let cost = information.pointer("/model_stats/instance_cost").and_then(Value::as_f64);
        teller.used_in_all(Spent::default().at(cost));
        let exit = self.exit.unwrap_or_default();
        let field = |name| text(information, name).or_else(|| text(exit.get("extra")?, name));
        let status = field("exit_status");
        let outcome = match (status, &self.submitted) {
            (Some("Submitted"), _) => {
                if let Some(submission) = field("submission") {
                    teller.result(submission);
                }
                Outcome::Succeeded
            }
            (None, Some(submission)) => {
                teller.result(submission);
                Outcome::Succeeded
            }
            (None | Some("KeyboardInterrupt" | "UserInterruption"), _) => Outcome::CutOff,
            (Some("LimitsExceeded"), _) => {
                let limit = information.pointer("/config/agent/cost_limit").and_then(Value::as_f64);
                let limit = limit.filter(|limit| *limit > 0.0);
                let dear = cost.zip(limit).is_some_and(|(cost, limit)| cost >= limit);
                let kind = if dear { FaultKind::BudgetLimit } else { FaultKind::TurnLimit };
                teller.fault(Fault::new(kind, "LimitsExceeded"));
                Outcome::Failed
            }
            (Some(other), _) => {
                teller.fault(fault(other));
                Outcome::Failed
            }
        };
        teller.ended(outcome);
    }

    fn leave_calls(&mut self, teller: &mut Teller<'_>) {
        for call in self.calls.leave() {
            teller.step(&call, None, None);
        }
    }
}

/// What a message says.
fn content(message: &Value) -> Cow<'_, str> {
    words(message.get("content").or_else(|| message.get("output")).unwrap_or(&Value::Null))
}

/// The commands of an answer, with the names of their calls: as the agent found them, else as the
/// model called them, else as they stand in the text.
fn actions(message: &Value, extra: &Value, said: &str) -> Vec<(Option<String>, String)> {
    let owned = |value: &Value, field| text(value, field).map(str::to_owned);
    if let Some(found) = extra.get("actions").and_then(Value::as_array) {
        let command = |action: &Value| match action {
            Value::String(command) => Some((None, command.clone())),
            action => Some((owned(action, "tool_call_id"), owned(action, "command")?)),
        };
        return found.iter().filter_map(command).collect();
    }
    if let Some(called) = message.get("tool_calls").and_then(Value::as_array) {
        let command = |call: &Value| {
            let arguments = call.pointer("/function/arguments")?.as_str()?;
            let command = serde_json::from_str::<Value>(arguments)
                .ok()
                .and_then(|arguments| owned(&arguments, "command"));
            Some((owned(call, "id"), command.unwrap_or_else(|| arguments.to_owned())))
        };
        return called.iter().filter_map(command).collect();
    }
    fenced(said).map(|command| (None, command.to_owned())).into_iter().collect()
}

/// The one block of shell commands in a text; more than one are none, as for the agent itself.
fn fenced(said: &str) -> Option<&str> {
    let mut found = None;
    let mut rest = said;
    while let Some((_, after)) = rest.split_once("```") {
        let (block, behind) = after.split_once("```")?;
        let (language, commands) = block.split_once('\n').unwrap_or((block, ""));
        if matches!(language.trim(), "bash" | "mswea_bash_command" | "sh") {
            if found.is_some() {
                return None;
            }
            found = Some(commands.trim());
        }
        rest = behind;
    }
    found
}

/// What the commands begin with by which an agent submits its work, in newer and older versions.
const SUBMITS: [&str; 2] = ["COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT"];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("THOUGHT: look\n```bash\nls -la\n```", Some("ls -la"))]
    #[case("```mswea_bash_command\ncat a\n```\nthen", Some("cat a"))]
    #[case("```python\nprint()\n```\n```bash\nls\n```", Some("ls"))]
    #[case("```bash\nls\n```\n```bash\npwd\n```", None)]
    #[case("```bash\nls", None)]
    #[case("no command", None)]
    fn commands_in_text(#[case] said: &str, #[case] command: Option<&str>) {
        assert_eq!(fenced(said), command);
    }
}
