//! The records of `codex exec --json`.

use backstop_core::event::Tasks;
use serde_json::Value;

use super::fault::is_retry;
use super::{Codex, tokens};
use crate::calls::{Call, Returned};
use crate::fields::{text, text_at, words};
use crate::launch::fault_of;
use crate::totals::Tokens;
use crate::{Heard, Listener, Moment, Outcome, Shown};

impl Codex {
    pub(super) fn exec(&mut self, value: &Value, moment: &Moment, listener: &mut dyn Listener) {
        let kind = text(value, "type").unwrap_or_default();
        if kind != "thread.started" {
            self.launch.touch(listener);
        }
        match kind {
            "thread.started" => {
                self.begin(text(value, "thread_id"), listener);
                self.has_turns = true;
            }
            "turn.started" => {
                self.launch.goes_on();
                self.has_turns = true;
            }
            "item.started" => self.item_started(value, listener),
            "item.updated" => self.todo_list(value, listener),
            "item.completed" => self.item_completed(value, listener),
            "turn.completed" => {
                let usage = value.get("usage").unwrap_or(&Value::Null);
                let added = self.total.advance(tokens(usage));
                if let Some(total) = self.total.latest().filter(|_| added != Tokens::default()) {
                    listener.hear(Heard::Event(total.note().into()));
                }
                self.launch.used(added, None, listener);
                self.launch.tell_step(listener);
                self.launch.result(None, listener);
                self.launch.ended(Outcome::Succeeded, listener);
            }
            "turn.failed" => {
                let message = text_at(value, "/error/message").unwrap_or("the turn failed");
                self.launch.failed(fault_of(message, moment), listener);
                self.launch.ended(Outcome::Failed, listener);
            }
            "error" => {
                // Without one it is somebody else's, such as a log's.
                let Some(message) = text(value, "message") else { return };
                if is_retry(message) {
                    listener.hear(Heard::Shown(Shown::Notice(message)));
                } else {
                    self.launch.failed(fault_of(message, moment), listener);
                }
            }
            _ => {}
        }
    }

    fn item_started(&mut self, value: &Value, listener: &mut dyn Listener) {
        self.todo_list(value, listener);
        let item = value.get("item").unwrap_or(&Value::Null);
        if let (Some(id), Some(call)) = (text(item, "id"), self.call(item)) {
            self.launch.acts();
            self.launch.calls.begin(id, call, listener);
        }
    }

    fn item_completed(&mut self, value: &Value, listener: &mut dyn Listener) {
        let item = value.get("item").unwrap_or(&Value::Null);
        match kind(item) {
            "agent_message" => {
                self.launch.said_amid_turn(text(item, "text").unwrap_or_default(), listener);
            }
            // A warning: the turn goes on.
            "error" => {
                let message = text(item, "message").unwrap_or_default();
                listener.hear(Heard::Shown(Shown::Notice(message)));
            }
            _ => {
                self.todo_list(value, listener);
                let Some(call) = self.call(item) else { return };
                self.launch.acts();
                let id = text(item, "id").unwrap_or_default();
                self.launch.calls.begin(id, call, listener);
                let output = output(item);
                let returned = Returned {
                    output: &output,
                    exit_code: item.get("exit_code").and_then(Value::as_i64),
                    failed: matches!(text(item, "status"), Some("failed" | "declined")),
                };
                self.launch.calls.end(id, returned, listener);
            }
        }
    }

    /// The call that an item stands for. The stream names the files that are changed and not what is
    /// written into them, so that each change is told apart from all others: by its own name in its
    /// thread, which begins anew in every process, and by what the agent said before it.
    fn call(&self, item: &Value) -> Option<Call> {
        let call = call(item)?;
        if kind(item) != FILE_CHANGE {
            return Some(call);
        }
        Some(call.with_name(&(self.launch.session(), text(item, "id"), self.launch.words())))
    }

    /// The plan is the agent's task list.
    fn todo_list(&mut self, value: &Value, listener: &mut dyn Listener) {
        let item = value.get("item").unwrap_or(&Value::Null);
        if kind(item) != "todo_list" {
            return;
        }
        let Some(items) = item.get("items").and_then(Value::as_array) else { return };
        self.launch.acts();
        let done = items
            .iter()
            .filter(|item| item.get("completed").and_then(Value::as_bool) == Some(true))
            .count();
        let total = items.len() as u64;
        let done = done as u64;
        let tasks = Tasks {
            total,
            done,
            queued: total - done,
            phase: Default::default(),
            improvements: None,
        };
        listener.hear(Heard::Event(tasks.into()));
    }
}

fn kind(item: &Value) -> &str {
    // Builds before the first stable one called it `item_type`.
    text(item, "type").or_else(|| text(item, "item_type")).unwrap_or_default()
}

/// The call that an item stands for, as far as the item tells.
fn call(item: &Value) -> Option<Call> {
    let part = |key| item.get(key).unwrap_or(&Value::Null);
    Some(match kind(item) {
        "command_execution" => Call::of_text("shell", &words(part("command"))),
        FILE_CHANGE => {
            let changes = part("changes").as_array().map(Vec::as_slice).unwrap_or_default();
            let changes: Vec<String> = changes
                .iter()
                .map(|change| {
                    let kind = text(change, "kind").unwrap_or("change");
                    format!("{kind} {}", text(change, "path").unwrap_or_default())
                })
                .collect();
            Call::of_text(FILE_CHANGE, &changes.join(", "))
        }
        "mcp_tool_call" => {
            let tool = text(item, "tool").unwrap_or_default();
            let name = match text(item, "server") {
                Some(server) => format!("{server}.{tool}"),
                None => tool.to_owned(),
            };
            Call::new(&name, part("arguments"))
        }
        "collab_tool_call" => {
            let tool = text(item, "tool").unwrap_or("collab");
            let what = text(item, "prompt")
                .map_or_else(|| words(part("receiver_thread_ids")).into_owned(), str::to_owned);
            Call::of_text(tool, &what)
        }
        "web_search" => Call::of_text("web_search", text(item, "query").unwrap_or_default()),
        _ => return None,
    })
}

/// What came back.
fn output(item: &Value) -> std::borrow::Cow<'_, str> {
    if let Some(message) = text_at(item, "/error/message") {
        return message.into();
    }
    if let Some(content) = item.pointer("/result/content") {
        return words(content);
    }
    ["aggregated_output", "result", "agents_states"]
        .iter()
        .find_map(|key| item.get(key).filter(|value| !value.is_null()))
        .map_or("".into(), words)
}

const FILE_CHANGE: &str = "file_change";
