//! Records that something else has written onto the same line, before them.
//!
//! A warning without a line end, or the name that a collector of logs puts before each line.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Agent, sniff};
use crate::adapter::unseen;
use crate::fence::Fence;
use crate::fields::{self, parse, text};
use crate::tail::object_at_end;
use crate::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record, Shown, Totals};

/// Takes apart what was glued together, and hands everything on to the agent's reader.
#[derive(Debug)]
pub(super) struct Unglued<A> {
    agent: Agent,
    adapter: A,
    /// The agent has printed a record on a line of its own.
    prints_records: bool,
    /// The command asks for records.
    is_asked: bool,
    /// The block of code that its words are in the middle of.
    fence: Fence,
    /// The records in it. They are its own if it is never closed, or if nobody says a word around it.
    quoted: Vec<Vec<u8>>,
    /// Words came, apart from the marks of blocks.
    has_spoken: bool,
}

impl<A: Adapter> Unglued<A> {
    pub fn new(agent: Agent, adapter: A) -> Self {
        Self {
            agent,
            adapter,
            prints_records: false,
            is_asked: false,
            fence: Fence::default(),
            quoted: Vec::new(),
            has_spoken: false,
        }
    }

    /// Follows the blocks of code of one that answers in words, and keeps the records in them.
    fn is_quoted(&mut self, record: &Record<'_>) -> bool {
        match record {
            _ if self.prints_records || self.is_asked => false,
            Record::Text(line) => {
                let before = self.fence;
                self.fence.pass(line.trim_start());
                self.has_spoken |= self.fence == before && !line.trim().is_empty();
                if self.has_spoken && !self.fence.is_open() {
                    self.quoted.clear();
                }
                false
            }
            Record::Json(bytes) => {
                let tells = |value: Value| sniff::of_value(&value).is_some() || is_error(&value);
                let is_quoted = self.fence.is_open() && parse(bytes).is_some_and(tells);
                if is_quoted {
                    self.quoted.push(bytes.to_vec());
                }
                is_quoted
            }
        }
    }

    /// What seemed to be code is none: that was the output of something else, and people have seen it.
    fn leave_code(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        let was_closed = !self.fence.is_open();
        self.fence = Fence::default();
        let quoted = std::mem::take(&mut self.quoted);
        // What is neither a stream nor a whole answer is an example, be it the only thing that is said.
        let is_own =
            |json: &Vec<u8>| sniff::opened(json).or_else(|| sniff::answered(json)).is_some();
        if was_closed && !quoted.iter().any(is_own) {
            return;
        }
        for json in quoted {
            self.record(Record::Json(&json), moment, &mut unseen(listener));
        }
    }

    /// Who answers in words may show another agent's record. That is no record of its own: it shows,
    /// and tells nothing.
    fn is_shown_only(&mut self, record: &Record<'_>) -> bool {
        let Record::Json(bytes) = record else { return false };
        if self.prints_records {
            return false;
        }
        let Some(value) = fields::record(bytes) else { return false };
        let by = sniff::of_value(&value);
        self.prints_records = by == Some(self.agent);
        // Services answer with errors, and many quote them.
        by.is_some_and(|by| !is_error(&value) && !sniff::are_alike(by, self.agent))
    }
}

impl<A: Adapter> Adapter for Unglued<A> {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let is_quoted = self.is_quoted(&record);
        let is_behind_code = !self.quoted.is_empty() && !self.fence.is_open();
        if is_behind_code && sniff::agent(&record) == Some(self.agent) {
            self.leave_code(moment, listener);
        }
        if is_quoted || self.is_shown_only(&record) {
            if let Record::Json(bytes) = record {
                let shown = String::from_utf8_lossy(bytes);
                listener.hear(Heard::Shown(Shown::Text(&shown)));
            }
            let bytes: usize = self.quoted.iter().map(Vec::len).sum();
            if self.quoted.len() > MOST_QUOTED || bytes > MOST_QUOTED_BYTES {
                self.leave_code(moment, listener);
            }
        } else if let Record::Text(line) = record
            && !self.fence.is_open()
            && let Some((agent, before, json)) = self::record(line, self.prints_records)
            && agent == self.agent
        {
            self.prints_records = true;
            if !before.trim().is_empty() && !COLLECTED.is_match(before) {
                self.adapter.record(Record::Text(before), moment, listener);
            }
            self.adapter.record(Record::Json(json.as_bytes()), moment, listener);
        } else {
            self.adapter.record(record, moment, listener);
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        self.adapter.error_line(line, moment, listener);
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.leave_code(moment, listener);
        self.adapter.finish(exit, moment, listener)
    }

    fn expect_records(&mut self) {
        self.is_asked = true;
    }

    fn is_amid(&self) -> bool {
        self.adapter.is_amid()
    }

    fn is_in_code(&self) -> Option<bool> {
        Some(self.fence.is_open())
    }

    fn totals(&mut self) -> Option<Totals> {
        self.adapter.totals()
    }

    fn go_on_from(&mut self, totals: Totals) {
        self.adapter.go_on_from(totals);
    }
}

/// The record at the end of a line, what stands before it, and whose it is.
///
/// An agent that answers in words may quote a record. So, where none came before, the line has to
/// begin as log collectors begin it, or the record has to be whole in a way that no quote is.
pub(super) fn record(line: &str, after_records: bool) -> Option<(Agent, &str, &str)> {
    let (before, json) = object_at_end(line)?;
    let value = parse(json.as_bytes())?;
    let agent = sniff::of_value(&value)?;
    let is_collected = COLLECTED.is_match(before);
    let is_meant = if text(&value, "type") == Some("error") {
        // What a service answered is quoted behind `API Error: 529` and the like, and anybody's is.
        after_records && is_collected
    } else {
        after_records || is_collected || is_whole_result(&value)
    };
    is_meant.then_some((agent, before, json))
}

fn is_error(value: &Value) -> bool {
    text(value, "type") == Some("error") || value.get("error").is_some()
}

/// Claude's one object has figures that nobody writes down in a sentence.
fn is_whole_result(value: &Value) -> bool {
    ["session_id", "duration_ms", "duration_api_ms", "num_turns", "usage", "uuid"]
        .iter()
        .all(|key| value.get(key).is_some())
}

/// `agent-1  | `, as Docker Compose begins a line.
static COLLECTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\w.-]+ +\| $").expect("the pattern is valid"));

/// Nobody shows more of a stream than this.
const MOST_QUOTED: usize = 64;
const MOST_QUOTED_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::told;

    const TURN: &str = r#"{"type":"turn.started"}"#;
    const SAID: &str =
        r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Hi."}}"#;

    #[rstest]
    #[case::a_warning_without_an_end(&format!("{TURN}\nWarning: no newline{SAID}\n"), true)]
    #[case::a_notice_before_it(&format!("{TURN}\nnpm notice {SAID}\n"), true)]
    #[case::a_log_collector(&format!("agent-1  | {TURN}\nagent-1  | {SAID}\n"), true)]
    #[case::quoted_in_an_answer(&format!("It prints {SAID}\n"), false)]
    #[case::in_quotes(&format!("{TURN}\nIt prints '{SAID}\n"), false)]
    #[case::in_ticks(&format!("{TURN}\nIt prints `{SAID}`\n"), false)]
    #[case::in_a_sentence(&format!("{TURN}\nIt prints {SAID} then.\n"), false)]
    #[case::behind_another_brace(&format!("{TURN}\nit {{prints}} {SAID}\n"), false)]
    #[case::of_another_agent(
        &format!("{TURN}\nit prints {}\n", r#"{"type":"agent_start"}"#),
        false
    )]
    fn a_record_behind_other_words_is_read(#[case] stream: &str, #[case] expected: bool) {
        let told = told(&mut *Agent::Codex.adapter(), stream);
        assert_eq!(told.iter().any(|line| line == "said Hi."), expected, "{told:?}");
    }

    #[test]
    fn the_agent_is_known_by_it() {
        let whole = r#"Warning{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,"num_turns":1,"result":"Hi.","session_id":"s","usage":{},"uuid":"u"}"#;
        assert_eq!(Agent::of_first_record(&Record::Text(whole)), Some(Agent::Claude));
        let collected = format!("agent-1  | {TURN}");
        assert_eq!(Agent::of_first_record(&Record::Text(&collected)), Some(Agent::Codex));
        for anybodys in [
            format!("It prints {TURN}"),
            r#"web-1  | {"type":"error","error":{"type":"not_found"}}"#.to_owned(),
            r#"web-1  | {"type":"request","status":200}"#.to_owned(),
        ] {
            assert_eq!(Agent::of_first_record(&Record::Text(&anybodys)), None, "{anybodys}");
        }
    }
}
