//! Calls of tools: what the agent did, and what came back.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use backstop_core::event::Action;
use serde_json::Value;

use crate::excerpt::distinct_excerpt;
use crate::{Heard, Listener, Shown, excerpt};

/// Calls that have begun and whose results have not come yet.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: VecDeque<(String, Call)>,
    /// A call was made.
    made: bool,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    tool: String,
    /// Tool and arguments: equal for equal calls.
    signature: String,
    /// What tells this call from others, for a person.
    what: String,
}

/// What came back from a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Returned<'a> {
    pub output: &'a str,
    pub exit_code: Option<i64>,
    pub failed: bool,
}

impl Calls {
    /// A call begins. Of calls that never return only the latest are remembered.
    pub fn begin(&mut self, id: &str, call: Call, listener: &mut dyn Listener) {
        if self.open.iter().any(|(open, _)| open == id) {
            return;
        }
        self.made = true;
        listener.hear(Heard::Shown(Shown::Call { tool: &call.tool, what: &call.what }));
        if self.open.len() == MOST_OPEN
            && let Some((_, oldest)) = self.open.pop_front()
        {
            oldest.tell(None, false, listener);
        }
        self.open.push_back((id.to_owned(), call));
    }

    /// A call came back. Nothing is told of one that never began.
    pub fn end(&mut self, id: &str, returned: Returned<'_>, listener: &mut dyn Listener) {
        let Some(at) = self.open.iter().position(|(open, _)| open == id) else { return };
        if let Some((_, call)) = self.open.remove(at) {
            call.returned(returned, listener);
        }
    }

    /// Nothing more will come back.
    pub fn finish(&mut self, listener: &mut dyn Listener) {
        for (_, call) in self.open.drain(..) {
            call.tell(None, false, listener);
        }
    }

    /// Whether any call was made.
    pub fn any(&self) -> bool {
        self.made
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl Call {
    /// A call with arguments in JSON. For a command the command alone counts: descriptions and
    /// time limits beside it are worded anew each time.
    pub fn new(tool: &str, arguments: &Value) -> Self {
        match command(arguments) {
            Some(command) => Self::of_text(tool, &command),
            None => {
                let mut sorted = arguments.clone();
                sorted.sort_all_objects();
                let arguments_text = match &sorted {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let mut call = Self::of_text(tool, &arguments_text);
                if let Some(subject) = subject(arguments) {
                    call.what = excerpt(subject).into_owned();
                }
                call
            }
        }
    }

    /// A call with arguments in words, such as a command.
    pub fn of_text(tool: &str, what: &str) -> Self {
        Self {
            tool: tool.to_owned(),
            signature: format!("{tool}: {}", distinct_excerpt(what)),
            what: excerpt(what).into_owned(),
        }
    }

    /// Equal only to calls with the same content, which is not shown.
    pub fn with_content(mut self, content: &str) -> Self {
        self.signature.push('\n');
        self.signature.push_str(&distinct_excerpt(content));
        self
    }

    /// Equal only to calls of the same name: nobody tells what is in it. The name is kept as a
    /// figure, since ids count as noise where actions are compared.
    pub fn with_name(mut self, name: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.signature.push_str(&format!("\n#{}", hasher.finish()));
        self
    }

    /// Tells a call that was not announced, with its result.
    pub fn at_once(self, returned: Returned<'_>, listener: &mut dyn Listener) {
        listener.hear(Heard::Shown(Shown::Call { tool: &self.tool, what: &self.what }));
        self.returned(returned, listener);
    }

    /// Tells a call whose result is not known.
    pub fn without_result(self, listener: &mut dyn Listener) {
        listener.hear(Heard::Shown(Shown::Call { tool: &self.tool, what: &self.what }));
        self.tell(None, false, listener);
    }

    /// Tells a call of which nothing is known but how it ended.
    pub fn counted(self, failed: bool, listener: &mut dyn Listener) {
        self.tell(None, failed, listener);
    }

    fn returned(self, returned: Returned<'_>, listener: &mut dyn Listener) {
        let succeeded = !returned.failed && returned.exit_code.is_none_or(|code| code == 0);
        let result = returned.signature(succeeded);
        let first = if succeeded { "" } else { first_line(&result) };
        let (tool, of) = (&*self.tool, &*self.what);
        listener.hear(Heard::Shown(Shown::Returned { tool, of, succeeded, what: first }));
        self.tell(Some(result.clone().into_owned()), !succeeded, listener);
    }

    fn tell(self, result: Option<String>, failed: bool, listener: &mut dyn Listener) {
        let action = Action {
            signature: self.signature,
            kind: "action".to_owned(),
            result_signature: result,
            failed,
        };
        listener.hear(Heard::Event(action.into()));
    }
}

impl Returned<'_> {
    /// What came back, with how it ended: an empty failure is not an empty success.
    fn signature(&self, succeeded: bool) -> Cow<'_, str> {
        let output = excerpt(self.output);
        match self.exit_code {
            Some(code) if code != 0 => Cow::Owned(format!("exit status {code}\n{output}")),
            _ if !succeeded => Cow::Owned(format!("failed\n{output}")),
            _ => output,
        }
    }
}

/// The command in the arguments of a shell, as one text.
fn command(arguments: &Value) -> Option<Cow<'_, str>> {
    match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(command) => Some(Cow::Borrowed(command)),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(Cow::Owned(words?.join(" ")))
        }
        _ => None,
    }
}

/// What a call is about, for a person.
fn subject(arguments: &Value) -> Option<&str> {
    SUBJECTS.iter().find_map(|key| arguments.get(key)?.as_str())
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("")
}

/// Agents run a handful of calls at once. A stream with more than this is broken or hostile.
const MOST_OPEN: usize = 256;

const SUBJECTS: &[&str] =
    &["file_path", "absolute_path", "filePath", "path", "pattern", "query", "url", "prompt"];

#[cfg(test)]
mod tests {
    use backstop_core::event::EventKind;
    use serde_json::json;

    use super::*;

    fn actions(with: impl FnOnce(&mut dyn Listener)) -> Vec<(String, Option<String>)> {
        let mut actions = Vec::new();
        with(&mut |heard: Heard<'_>| {
            if let Heard::Event(EventKind::Action(action)) = heard {
                actions.push((action.signature, action.result_signature));
            }
        });
        actions
    }

    #[test]
    fn the_order_of_arguments_makes_no_difference() {
        let one = Call::new("read", &serde_json::from_str(r#"{"b":1,"a":{"d":1,"c":2}}"#).unwrap());
        let other =
            Call::new("read", &serde_json::from_str(r#"{"a":{"c":2,"d":1},"b":1}"#).unwrap());
        assert_eq!(one.signature, other.signature);
    }

    #[test]
    fn a_command_counts_without_what_is_said_of_it() {
        let call = Call::new("bash", &json!({"command": "ls", "description": "look around"}));
        assert_eq!(call.signature, "bash: ls");
        let call = Call::new("shell", &json!({"command": ["bash", "-lc", "ls"], "workdir": "."}));
        assert_eq!(call.signature, "shell: bash -lc ls");
    }

    #[test]
    fn a_failure_without_output_is_no_success_without_output() {
        let told = actions(|listener| {
            Call::of_text("bash", "true").at_once(Returned::default(), listener);
            let failed = Returned { exit_code: Some(1), ..Returned::default() };
            Call::of_text("bash", "false").at_once(failed, listener);
        });
        assert_eq!(
            told,
            [
                ("bash: true".to_owned(), Some(String::new())),
                ("bash: false".to_owned(), Some("exit status 1\n".to_owned())),
            ]
        );
    }

    #[test]
    fn calls_that_never_return_are_told_without_a_result_and_do_not_pile_up() {
        let mut calls = Calls::default();
        let told = actions(|listener| {
            for number in 0..1000 {
                calls.begin(&number.to_string(), Call::of_text("t", "x"), listener);
                assert!(calls.open.len() <= MOST_OPEN);
            }
            calls.finish(listener);
        });
        assert_eq!(told.len(), 1000);
        assert!(told.iter().all(|(_, result)| result.is_none()));
    }
}
