//! The files that a tool is about to write.

use serde_json::Value;

use super::HookInput;
use crate::fields::text;

/// The paths that a call names as what it writes, as the agent wrote them. Commands are not looked
/// through: what they write shows only afterwards.
pub fn targets(input: &HookInput) -> Vec<&str> {
    let arguments = input.tool_input();
    let mut paths: Vec<&str> = match input.tool_name() {
        "Edit" | "Write" | "MultiEdit" | "Update" => path(arguments, "file_path"),
        "NotebookEdit" => path(arguments, "notebook_path").or_else(|| path(arguments, "file_path")),
        "apply_patch" => return patched(arguments),
        _ => None,
    }
    .into_iter()
    .collect();
    paths.retain(|path| !path.is_empty());
    paths
}

/// Whether a call may have written files that it does not name: a command, or a tool of somebody
/// else's. Those that only look are known; whatever is not is looked after.
pub fn may_write_unnamed(input: &HookInput) -> bool {
    !LOOKERS.contains(&input.tool_name()) && targets(input).is_empty()
}

fn path<'v>(arguments: &'v Value, key: &str) -> Option<&'v str> {
    text(arguments, key)
}

/// The files that a patch of Codex names.
fn patched(arguments: &Value) -> Vec<&str> {
    let keys = ["command", "input", "patch"];
    let is_given = |value: &&Value| value.is_string() || value.is_array();
    let patch = keys.iter().find_map(|key| arguments.get(key).filter(is_given));
    let patch = patch.unwrap_or(arguments);
    // A command may be given word by word.
    let words = patch.as_array().map_or(std::slice::from_ref(patch), Vec::as_slice);
    let named = words.iter().filter_map(Value::as_str).flat_map(str::lines).filter_map(|line| {
        HEADS.iter().find_map(|head| line.trim_start().strip_prefix(head)).map(str::trim)
    });
    named.filter(|path| !path.is_empty()).take(MOST_FILES).collect()
}

const HEADS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
const MOST_FILES: usize = 1000;
/// Tools of the agents that change no file.
const LOOKERS: [&str; 16] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "update_plan",
    "view_image",
    "web_search",
];
