//! Calls of tools that Claude Code exports.

use backstop_core::event::Action;
use serde_json::Value;

use super::attributes::{Attributes, Key};
use super::claude::has_failed;
use crate::excerpt;
use crate::excerpt::distinct_excerpt;

/// A tool came back.
///
/// What it was called with is exported only where the user asks for details. Without them two calls
/// of one tool must not look the same, so the call's own name stands in their place. What came back
/// is never exported, only whether it was a failure.
pub(super) fn result(record: &Attributes) -> Option<Action> {
    let tool = record.text(Key::ToolName).filter(|tool| !tool.is_empty())?;
    let details = [Key::ToolInput, Key::ToolParameters].into_iter().find_map(|key| {
        let details = record.text(key)?;
        Some(arguments(details)).filter(|arguments| !arguments.is_empty())
    });
    let own = || {
        let id = record.text(Key::ToolUseId).map(str::to_owned);
        id.or_else(|| record.amount(Key::EventSequence).map(|number| format!("#{number}")))
    };
    let failed = has_failed(record);
    let why = [Key::ErrorText, Key::ErrorType].into_iter().find_map(|key| record.text(key));
    Some(Action {
        signature: distinct_excerpt(&format!("{tool} {}", details.or_else(own)?)).into_owned(),
        kind: "action".to_owned(),
        result_signature: why.filter(|_| failed).map(|why| excerpt(why).into_owned()),
        failed,
    })
}

/// The arguments with sorted keys. Of a command only the command counts: what is said of it is
/// worded anew each time.
fn arguments(details: &str) -> String {
    let Ok(mut details) = serde_json::from_str::<Value>(details) else {
        return details.to_owned();
    };
    let command = COMMANDS.iter().find_map(|key| details.get(key)?.as_str());
    if let Some(command) = command {
        return command.to_owned();
    }
    details.sort_all_objects();
    match &details {
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    }
}

const COMMANDS: [&str; 3] = ["command", "full_command", "bash_command"];
