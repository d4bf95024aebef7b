//! An agent's settings as text, changed only where they have to be.

use std::ops::Range;
use std::path::Path;

use backstop_adapters::hook::HookAgent;
use backstop_core::document::{Node, Syntax, Table, Value, line_column, parse};
use serde::Serialize as _;
use serde_json::{Value as Json, json};

use super::program::NAME;
use crate::error::Error;

/// A settings file and its text.
pub struct Settings<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> Settings<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, text }
    }

    /// The text with a call of the program at every event of the agent. Where there is one already
    /// it is brought up to date; everything else stays as it is, byte for byte.
    pub fn with(&self, agent: HookAgent, program: &str) -> Result<String, Error> {
        let command = format!("{program} hook {}", agent.name());
        let mut text = if self.text.trim().is_empty() { "{}\n" } else { self.text }.to_owned();
        for event in agent.events() {
            text = self.with_event(text, event, &command, agent)?;
        }
        Ok(text)
    }

    /// The text without our calls. If the file as it was before is still known, and nothing has
    /// changed since, it is that file again.
    pub fn without(&self, agent: HookAgent, kept: Option<&str>) -> Result<String, Error> {
        let mut text = self.text.to_owned();
        if text.trim().is_empty() {
            return Ok(text);
        }
        while let Some(range) = self.entry_of_ours(&text, agent)? {
            text.replace_range(range, "");
        }
        if text == self.text {
            return Ok(text);
        }
        match kept {
            Some(kept) if without_empty_hooks(kept) == without_empty_hooks(&text) => {
                Ok(kept.to_owned())
            }
            None if compact(&text) == Some(json!({})) => Ok(String::new()),
            _ => Ok(text),
        }
    }

    /// Whether the agent is told there to call no hook at all.
    pub fn disable_hooks(&self) -> bool {
        compact(self.text).is_some_and(|settings| settings["disableAllHooks"] == json!(true))
    }

    fn with_event(
        &self,
        mut text: String,
        event: &str,
        command: &str,
        agent: HookAgent,
    ) -> Result<String, Error> {
        let root = self.parse(&text)?;
        let unit = indentation(&text);
        let group = json!({ "hooks": [handler(event, command)] });
        let top = self.table(&root, &text, "the settings")?;
        let Some(hooks) = top.get("hooks") else {
            let entry = format!("\"hooks\": {}", pretty(&json!({ event: [group] }), &unit));
            return Ok(appended(&text, &root.span, &table_spans(top), &entry, &unit));
        };
        let events = self.table(&hooks.node, &text, "`hooks`")?;
        let Some(entry) = events.get(event) else {
            let entry = format!("\"{event}\": {}", pretty(&json!([group]), &unit));
            return Ok(appended(&text, &hooks.node.span, &table_spans(events), &entry, &unit));
        };
        let groups = self.list(&entry.node, &text, event)?;
        // A call for some tools only is the user's own, and not the one that sees every step.
        let handlers = groups.iter().filter(|group| is_for_all(group)).flat_map(handlers_of);
        let ours: Vec<&Node> = handlers.filter_map(|node| command_of(node, agent)).collect();
        if let Some(known) = ours.first() {
            if known.value != Value::String(command.to_owned()) {
                text.replace_range(known.span.clone(), &Json::from(command).to_string());
            }
            return Ok(text);
        }
        let spans: Vec<_> = groups.iter().map(|group| group.span.clone()).collect();
        Ok(appended(&text, &entry.node.span, &spans, &pretty(&group, &unit), &unit))
    }

    /// What to take out next: one of our handlers, with all that would be left empty by it.
    fn entry_of_ours(&self, text: &str, agent: HookAgent) -> Result<Option<Range<usize>>, Error> {
        let root = self.parse(text)?;
        let Value::Table(top) = &root.value else { return Ok(None) };
        let Some((at_top, hooks)) = position(top, "hooks") else { return Ok(None) };
        let Value::Table(events) = &hooks.value else { return Ok(None) };
        for (at_event, event) in events.entries.iter().enumerate() {
            let Value::List(groups) = &event.node.value else { continue };
            // A call for some tools only was not written by us.
            let for_all = groups.iter().enumerate().filter(|(_, group)| is_for_all(group));
            for (at_group, group) in for_all {
                let handlers = handlers_of(group);
                let ours = |node: &Node| command_of(node, agent).is_some();
                let Some(at) = handlers.iter().position(ours) else { continue };
                if handlers.len() > 1 {
                    let Some(list) = hooks_of(group) else { continue };
                    return Ok(Some(taken_out(&list.span, &node_spans(handlers), at)));
                }
                if groups.len() > 1 {
                    return Ok(Some(taken_out(&event.node.span, &node_spans(groups), at_group)));
                }
                if events.entries.len() > 1 {
                    return Ok(Some(taken_out(&hooks.span, &table_spans(events), at_event)));
                }
                return Ok(Some(taken_out(&root.span, &table_spans(top), at_top)));
            }
        }
        Ok(None)
    }

    fn parse(&self, text: &str) -> Result<Node, Error> {
        parse(text.as_bytes(), Syntax::Json).map_err(|findings| {
            let finding = findings.first();
            let offset =
                finding.and_then(|finding| finding.span.as_ref()).map_or(0, |span| span.start);
            let message = match text.get(offset..) {
                Some(rest) if rest.starts_with('/') || rest.starts_with('#') => {
                    "comments have no place in it; take them out and try again"
                }
                _ => finding.map_or("", |finding| finding.message.as_str()),
            };
            self.wrong(text, offset, format!("this is not JSON: {message}"))
        })
    }

    fn table<'n>(&self, node: &'n Node, text: &str, what: &str) -> Result<&'n Table, Error> {
        match &node.value {
            Value::Table(table) => Ok(table),
            other => {
                let message = format!("{what} must be an object, and is {}", other.kind());
                Err(self.wrong(text, node.span.start, message))
            }
        }
    }

    fn list<'n>(&self, node: &'n Node, text: &str, event: &str) -> Result<&'n [Node], Error> {
        match &node.value {
            Value::List(items) => Ok(items),
            other => {
                let message = format!("`{event}` must be a list, and is {}", other.kind());
                Err(self.wrong(text, node.span.start, message))
            }
        }
    }

    fn wrong(&self, text: &str, offset: usize, message: String) -> Error {
        let (line, column) = line_column(text, offset);
        Error::BadData { place: format!("{}:{line}:{column}", self.path.display()), message }
    }
}

fn handler(event: &str, command: &str) -> Json {
    // Scripts and a verification may run when the agent stops; the agents' own limit is long.
    match event {
        "Stop" => json!({ "type": "command", "command": command }),
        _ => json!({ "type": "command", "command": command, "timeout": 30 }),
    }
}

fn hooks_of(group: &Node) -> Option<&Node> {
    match &group.value {
        Value::Table(table) => table.get("hooks").map(|entry| &entry.node),
        _ => None,
    }
}

fn is_for_all(group: &Node) -> bool {
    let Value::Table(table) = &group.value else { return false };
    let matcher = table.get("matcher").map(|entry| &entry.node.value);
    matcher.is_none_or(
        |matcher| matches!(matcher, Value::String(text) if matches!(&**text, "" | "*" | ".*")),
    )
}

fn handlers_of(group: &Node) -> &[Node] {
    match hooks_of(group).map(|hooks| &hooks.value) {
        Some(Value::List(handlers)) => handlers,
        _ => &[],
    }
}

/// The command of a handler, if it is a call of ours.
fn command_of(handler: &Node, agent: HookAgent) -> Option<&Node> {
    let Value::Table(table) = &handler.value else { return None };
    let node = &table.get("command")?.node;
    let Value::String(command) = &node.value else { return None };
    let program = command.trim().strip_suffix(agent.name())?.trim_end().strip_suffix("hook")?;
    let program = program.trim().trim_matches(['\'', '"']);
    (program.rsplit('/').next() == Some(NAME)).then_some(node)
}

fn position<'t>(table: &'t Table, key: &str) -> Option<(usize, &'t Node)> {
    let mut entries = table.entries.iter().enumerate();
    entries.find(|(_, entry)| entry.key == key).map(|(at, entry)| (at, &entry.node))
}

fn table_spans(table: &Table) -> Vec<Range<usize>> {
    table.entries.iter().map(|entry| entry.key_span.start..entry.node.span.end).collect()
}

fn node_spans(nodes: &[Node]) -> Vec<Range<usize>> {
    nodes.iter().map(|node| node.span.clone()).collect()
}

/// The text with one more item at the end of a container.
fn appended(
    text: &str,
    container: &Range<usize>,
    items: &[Range<usize>],
    item: &str,
    unit: &str,
) -> String {
    let outer = line_start(text, container.start);
    let inner = format!("{outer}{unit}");
    let item = item.replace('\n', &format!("\n{inner}"));
    let mut text = text.to_owned();
    match items.last() {
        Some(last) => text.insert_str(last.end, &format!(",\n{inner}{item}")),
        None => {
            let inside = container.start + 1..container.end - 1;
            text.replace_range(inside, &format!("\n{inner}{item}\n{outer}"));
        }
    }
    text
}

/// What to remove so that an item is gone, with the comma that went with it.
fn taken_out(container: &Range<usize>, items: &[Range<usize>], at: usize) -> Range<usize> {
    match (at.checked_sub(1).and_then(|before| items.get(before)), items.get(at + 1)) {
        (Some(before), _) => before.end..items[at].end,
        (None, Some(next)) => items[at].start..next.start,
        (None, None) => container.start + 1..container.end - 1,
    }
}

/// The blanks at the beginning of the line that a place is in.
fn line_start(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start().len()]
}

/// How the file indents: as its first line that does.
fn indentation(text: &str) -> String {
    let mut lines = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
    lines.find(|blanks| !blanks.is_empty()).unwrap_or("  ").to_owned()
}

fn pretty(value: &Json, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serialiser = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serialiser).expect("a value of ours can be written");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn compact(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok()
}

/// The settings without events and a `hooks` that hold nothing: such may have been there before.
fn without_empty_hooks(text: &str) -> Option<Json> {
    let mut value = if text.trim().is_empty() { json!({}) } else { compact(text)? };
    let object = value.as_object_mut()?;
    let mut is_empty = false;
    if let Some(events) = object.get_mut("hooks").and_then(Json::as_object_mut) {
        events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        is_empty = events.is_empty();
    }
    if is_empty {
        object.shift_remove("hooks");
    }
    Some(value)
}

#[cfg(test)]
mod tests;
