//! A tool call, as the adapters of the agents' streams would tell it.

use std::borrow::Cow;

use backstop_core::event::{Action, EventKind};
use serde_json::Value;

use super::{HookAgent, HookEvent, HookInput};
use crate::calls::{Call, Returned};
use crate::claude::arguments::Arguments;
use crate::fields::{text, words};
use crate::{Heard, excerpt};

/// The call that a hook tells of, with its result.
pub(super) fn action(input: &HookInput, agent: HookAgent) -> Option<Action> {
    let tool = input.tool_name();
    if tool.is_empty() {
        return None;
    }
    match agent {
        HookAgent::ClaudeCode => {
            let raw = serde_json::value::to_raw_value(input.tool_input()).ok();
            Some(Action {
                signature: Arguments::new(raw.as_deref()).signature(tool),
                kind: "action".to_owned(),
                result_signature: Some(claude_result(input)),
                failed: input.event() == HookEvent::PostToolUseFailure,
            })
        }
        HookAgent::Codex => {
            let response = input.fields.get("tool_response").unwrap_or(&Value::Null);
            let output = output(response);
            let exit_code = response
                .pointer("/metadata/exit_code")
                .or_else(|| response.get("exit_code"))
                .and_then(Value::as_i64);
            let failed = response.get("success").and_then(Value::as_bool) == Some(false);
            let returned = Returned { output: &output, exit_code, failed };
            let mut action = None;
            Call::new(tool, input.tool_input()).at_once(returned, &mut |heard: Heard<'_>| {
                if let Heard::Event(EventKind::Action(told)) = heard {
                    action = Some(told);
                }
            });
            action
        }
    }
}

/// An empty failure is not an empty success; a failed command says so itself.
fn claude_result(input: &HookInput) -> String {
    if input.event() == HookEvent::PostToolUseFailure {
        let error = excerpt(input.text("error"));
        if error.starts_with("Exit code") {
            return error.into_owned();
        }
        return format!("failed\n{error}");
    }
    let response = input.fields.get("tool_response").unwrap_or(&Value::Null);
    excerpt(&output(response)).into_owned()
}

/// What a tool gave back, without what differs each time.
fn output(response: &Value) -> Cow<'_, str> {
    if let Value::Object(fields) = response {
        if fields.contains_key("stdout") || fields.contains_key("stderr") {
            let streams = [text(response, "stdout"), text(response, "stderr")];
            let streams = streams.into_iter().flatten().filter(|stream| !stream.is_empty());
            return Cow::Owned(streams.collect::<Vec<_>>().join("\n"));
        }
        let kept = fields.iter().filter(|(key, _)| !VOLATILE.contains(&key.as_str()));
        let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
        let mut kept = Value::Object(kept.collect());
        kept.sort_all_objects();
        return match kept.get("content").or_else(|| kept.get("output")) {
            Some(content) => Cow::Owned(words(content).into_owned()),
            None => Cow::Owned(kept.to_string()),
        };
    }
    words(response)
}

/// Figures about a call that are not what it found.
const VOLATILE: [&str; 5] =
    ["durationMs", "duration_ms", "totalDurationMs", "durationSeconds", "totalTokens"];
