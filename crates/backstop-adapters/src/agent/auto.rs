//! Finds out whose output it is by reading it, and notices when it is another's.

use std::collections::VecDeque;
use std::fmt;

use super::{Agent, sniff};
use crate::adapter::unseen;
use crate::fence::Fence;
use crate::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record, Shown, Totals};

/// Holds the latest records back until one of them tells the agent, and then hands them on.
///
/// Lines tell nothing either way: much may be said before an agent is started. After many records
/// that are no agent's it is some program, and nothing is read out of its output until a record
/// opens an agent's stream.
///
/// One command may start several agents, one after the other. A record that opens another agent's
/// stream is where the one before has ended. Who answers in words may show such a record, too: only
/// the next one of the same stream tells that it is none of theirs, and amid a text that has an end
/// of its own only several do.
#[derive(Default)]
pub struct Auto {
    found: Option<Found>,
    /// There is nobody but the one whose output it is.
    is_alone: bool,
    /// The one that is alone has said something.
    has_spoken: bool,
    /// Its command asks for them, so no record is only shown.
    is_asked_for_records: bool,
    held: VecDeque<Held>,
    held_bytes: usize,
    /// Records that are no agent's.
    strangers: usize,
    /// Of earlier launches, for the adapter that goes on from them.
    totals: Option<Totals>,
    /// What came among the words of an agent, and may be the beginning of another.
    opening: Option<Opening>,
    /// The latest words end as those do that show something.
    is_introduced: bool,
    /// Records behind such words of one that is alone.
    introduced: Vec<Vec<u8>>,
}

/// A record that opens an agent's stream.
struct Opening {
    agent: Agent,
    /// That record. Where it is doubtful whether an agent has begun, also those behind it, which
    /// nobody has read yet.
    records: Vec<Vec<u8>>,
    is_doubtful: bool,
    /// Nothing has come since.
    is_latest: bool,
}

/// The agent whose output it is.
struct Found {
    agent: Agent,
    adapter: Box<dyn Adapter>,
    /// It has printed a record of its own.
    prints_records: bool,
    /// It has told how it ended.
    has_ended: bool,
    /// The block of code that its words are in the middle of.
    fence: Fence,
    /// The latest record that opened a stream, where another agent opens its own just so.
    doubtful: Option<Vec<u8>>,
}

/// What came before anything told the agent.
enum Held {
    Json(Vec<u8>),
    Text(String),
    ErrorLine(String),
}

impl Held {
    fn size(&self) -> usize {
        match self {
            Self::Json(bytes) => bytes.len(),
            Self::Text(text) | Self::ErrorLine(text) => text.len(),
        }
    }
}

impl Auto {
    pub fn new() -> Self {
        Self::default()
    }

    /// The output begins with this agent's.
    pub fn beginning_with(agent: Agent) -> Self {
        Self { found: Some(Found::new(agent)), ..Self::default() }
    }

    /// All of the output is this agent's: its command is nothing else.
    pub fn alone_with(agent: Agent) -> Self {
        Self { is_alone: true, ..Self::beginning_with(agent) }
    }

    /// The command asks for records.
    #[must_use]
    pub fn asked_for_records(mut self, is_asked: bool) -> Self {
        self.is_asked_for_records = is_asked;
        if let Some(found) = self.found.as_mut().filter(|_| is_asked) {
            found.adapter.expect_records();
        }
        self
    }

    /// Whose output it is, as far as is known.
    pub fn agent(&self) -> Option<Agent> {
        self.found.as_ref().map(|found| found.agent)
    }

    /// Whether only what comes next tells whether an agent has begun.
    pub fn is_undecided(&self) -> bool {
        self.opening.as_ref().is_some_and(|opening| opening.is_latest || opening.is_doubtful)
    }

    fn hold(&mut self, held: Held, moment: &Moment, listener: &mut dyn Listener) {
        self.strangers += usize::from(matches!(held, Held::Json(_)));
        self.held_bytes += held.size();
        self.held.push_back(held);
        while self.held.len() > MOST_HELD || self.held_bytes > MOST_HELD_BYTES {
            let Some(oldest) = self.held.pop_front() else { break };
            self.held_bytes -= oldest.size();
        }
        if self.strangers >= MOST_STRANGERS {
            self.settle(Agent::Generic, moment, listener);
        }
    }

    /// It is this agent: what was held back is its. People have seen that as it came.
    fn settle(&mut self, agent: Agent, moment: &Moment, listener: &mut dyn Listener) {
        let found = self.found.insert(Found::new(agent));
        if self.is_asked_for_records {
            found.adapter.expect_records();
        }
        if agent.tells_totals()
            && let Some(totals) = self.totals.take()
        {
            found.adapter.go_on_from(totals);
        }
        let mut unseen = unseen(listener);
        for held in std::mem::take(&mut self.held) {
            match &held {
                Held::Json(bytes) => found.record(Record::Json(bytes), moment, &mut unseen),
                Held::Text(text) => found.record(Record::Text(text), moment, &mut unseen),
                Held::ErrorLine(line) => found.adapter.error_line(line, moment, &mut unseen),
            }
        }
    }

    /// Notices that a record is another agent's. Says whether it is kept until more is known.
    fn look_for_successor(
        &mut self,
        record: &Record<'_>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> bool {
        if self.opening.as_ref().is_some_and(|opening| opening.is_doubtful) {
            match self.is_confirmed(record) {
                Some(true) => self.begin_with_opening(moment, listener),
                Some(false) => self.forget_opening(moment, listener),
                None => return matches!(record, Record::Json(_)),
            }
        }
        let Some(found) = &self.found else { return false };
        let is_json = matches!(record, Record::Json(_));
        if let Some(opening) = &mut self.opening {
            opening.is_latest = false;
            if is_json && sniff::agent(record) == Some(opening.agent) {
                self.begin_with_opening(moment, listener);
                return false;
            }
        }
        let Some(agent) = found.successor(record) else { return false };
        match record {
            Record::Json(bytes) if found.answers_in_words() => {
                let is_doubtful = found.adapter.is_amid();
                let records = vec![bytes.to_vec()];
                self.opening = Some(Opening { agent, records, is_doubtful, is_latest: true });
                is_doubtful
            }
            _ => {
                self.settle_anew(agent, moment, listener);
                false
            }
        }
    }

    /// Whether an agent has begun amid the text of another, as far as this record tells: a stream
    /// goes on, and so does who only shows the beginning of one.
    fn is_confirmed(&mut self, record: &Record<'_>) -> Option<bool> {
        let opening = self.opening.as_mut()?;
        match record {
            Record::Text(line) if line.trim().is_empty() => None,
            Record::Json(bytes) if sniff::agent(record) == Some(opening.agent) => {
                if opening.records.len() >= ENOUGH_RECORDS {
                    return Some(true);
                }
                opening.records.push(bytes.to_vec());
                None
            }
            _ => Some(false),
        }
    }

    /// They were only shown.
    fn forget_opening(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        let Some(opening) = self.opening.take().filter(|opening| opening.is_doubtful) else {
            return;
        };
        let Some(found) = &mut self.found else { return };
        for record in opening.records {
            found.record(Record::Json(&record), moment, listener);
        }
    }

    fn begin_with_opening(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        let Some(opening) = self.opening.take() else { return };
        self.settle_anew(opening.agent, moment, listener);
        let Some(found) = &mut self.found else { return };
        for record in opening.records {
            found.record(Record::Json(&record), moment, listener);
        }
    }

    /// Whether one that is alone and answers in words introduces this record: if words follow it,
    /// it was only shown.
    fn introduces(&mut self, record: &Record<'_>) -> bool {
        let Some(found) = &self.found else { return false };
        let may_be_shown =
            found.answers_in_words() && found.agent.prints_json() && !found.adapter.is_amid();
        match record {
            _ if !self.is_alone || self.is_asked_for_records || !may_be_shown => false,
            Record::Text(line) if line.trim().is_empty() => false,
            Record::Text(line) => {
                self.introduced.clear();
                self.is_introduced = line.trim_end().ends_with(':');
                false
            }
            Record::Json(_) => self.is_introduced && sniff::agent(record).is_some(),
        }
    }

    /// Nothing follows what was introduced, or so much that nobody shows it: so it was the agent's
    /// own, behind some words of its start.
    fn take_introduced(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        self.is_introduced = false;
        let introduced = std::mem::take(&mut self.introduced);
        let Some(found) = &mut self.found else { return };
        for json in introduced {
            found.record(Record::Json(&json), moment, &mut unseen(listener));
        }
    }

    /// Another agent begins: the one before is done, and how it exited nobody knows.
    fn settle_anew(&mut self, agent: Agent, moment: &Moment, listener: &mut dyn Listener) {
        self.opening = None;
        if let Some(mut before) = self.found.take() {
            let ended = before.adapter.finish(None, moment, listener);
            if before.agent != Agent::Generic && !before.has_ended {
                listener.hear(Heard::Ended(ended));
            }
            self.totals = before.adapter.totals().or(self.totals.take());
        }
        self.settle(agent, moment, listener);
    }
}

impl Found {
    fn new(agent: Agent) -> Self {
        Self {
            agent,
            adapter: agent.adapter(),
            prints_records: false,
            has_ended: false,
            fence: Fence::default(),
            doubtful: None,
        }
    }

    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        match record {
            Record::Json(bytes) => {
                if !self.prints_records && !self.is_in_code() {
                    self.prints_records = sniff::agent(&record) == Some(self.agent);
                }
                if self.prints_records && self.agent == Agent::Claude {
                    self.doubt(bytes);
                }
            }
            Record::Text(line) => self.fence.pass(line.trim_start()),
        }
        let has_ended = &mut self.has_ended;
        self.adapter.record(record, moment, &mut |heard: Heard<'_>| {
            match heard {
                Heard::Ended(_) => *has_ended = true,
                Heard::Launched => *has_ended = false,
                _ => {}
            }
            listener.hear(heard);
        });
    }

    /// Notices where another agent may have begun that opens its stream just so, and what only
    /// Claude prints.
    fn doubt(&mut self, record: &[u8]) {
        if sniff::opens_like_another(record) {
            self.doubtful = Some(record.to_vec());
        } else if self.doubtful.is_some() && sniff::is_claudes(record) {
            self.doubtful = None;
        }
    }

    /// Hands its stream over to the other agent that opens its own alike, once a record is that
    /// one's for certain. What was read until then both tell alike, so the beginning is told by
    /// now.
    fn mend(&mut self, record: &Record<'_>, moment: &Moment) {
        let Some(opening) = &self.doubtful else { return };
        let Some(agent) = self.agent.in_truth(record) else { return };
        let mut found = Self::new(agent);
        found.record(Record::Json(opening), moment, &mut |_: Heard<'_>| {});
        *self = Self { prints_records: true, has_ended: self.has_ended, ..found };
    }

    /// Whether a record may as well open this agent's own stream.
    fn may_open_with(&self, record: &[u8]) -> bool {
        sniff::are_alike(self.agent, Agent::Claude) && sniff::opens_like_another(record)
    }

    /// The other agent whose stream begins with this record: a program may be called like an agent
    /// and start another.
    fn is_in_truth(&self, record: &Record<'_>) -> Option<Agent> {
        let Record::Json(bytes) = record else { return None };
        sniff::opened(bytes).filter(|other| *other != self.agent && !self.may_open_with(bytes))
    }

    fn is_in_code(&self) -> bool {
        self.adapter.is_in_code().unwrap_or(self.fence.is_open())
    }

    fn answers_in_words(&self) -> bool {
        self.agent != Agent::Generic && !self.prints_records
    }

    /// Whether it may be done: not all tell their end.
    fn may_be_over(&self) -> bool {
        self.has_ended || self.agent == Agent::OpenCode
    }

    /// The other agent that begins with this record.
    fn successor(&self, record: &Record<'_>) -> Option<Agent> {
        match record {
            Record::Json(bytes) => match sniff::opened(bytes) {
                Some(next) => {
                    let is_shown = !self.prints_records && self.is_in_code();
                    Some(next)
                        .filter(|next| *next != self.agent && !is_shown)
                        .filter(|_| !self.may_open_with(bytes))
                }
                None if self.answers_in_words() || self.adapter.is_amid() => None,
                None => {
                    let is_gooses = || self.may_be_over() && sniff::is_gooses(bytes);
                    let next = sniff::answered(bytes);
                    next.or_else(|| is_gooses().then_some(Agent::Goose))
                        // Most of what these print is alike.
                        .filter(|next| !sniff::are_alike(*next, self.agent))
                }
            },
            // In somebody's words it may be anything, and in the middle of records a stray line.
            Record::Text(line)
                if self.prints_records && self.may_be_over() && !self.adapter.is_amid() =>
            {
                sniff::of_line(line).filter(|next| *next != self.agent)
            }
            Record::Text(_) => None,
        }
    }
}

impl fmt::Debug for Auto {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Auto").field("agent", &self.agent()).finish_non_exhaustive()
    }
}

impl Adapter for Auto {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        if let Some(found) = &mut self.found {
            found.mend(&record, moment);
        }
        match &self.found {
            None => {
                if let Some(agent) = Agent::of_first_record(&record) {
                    self.settle(agent, moment, listener);
                }
            }
            Some(found) if self.is_alone => {
                if let Some(agent) = found.is_in_truth(&record).filter(|_| !self.has_spoken) {
                    self.is_alone = false;
                    self.settle(agent, moment, listener);
                }
                self.has_spoken |= !matches!(record, Record::Text(line) if line.trim().is_empty());
            }
            Some(_) => {
                if self.look_for_successor(&record, moment, listener) {
                    return;
                }
            }
        }
        if self.introduces(&record)
            && let Record::Json(bytes) = record
        {
            listener.hear(Heard::Shown(Shown::Text(&String::from_utf8_lossy(bytes))));
            self.introduced.push(bytes.to_vec());
            let size: usize = self.introduced.iter().map(Vec::len).sum();
            if self.introduced.len() > MOST_HELD || size > MOST_HELD_BYTES {
                self.take_introduced(moment, listener);
            }
            return;
        }
        match (&mut self.found, record) {
            (Some(found), record) => found.record(record, moment, listener),
            (None, Record::Json(bytes)) => self.hold(Held::Json(bytes.to_vec()), moment, listener),
            (None, Record::Text(text)) => self.hold(Held::Text(text.to_owned()), moment, listener),
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        match &mut self.found {
            Some(found) => found.adapter.error_line(line, moment, listener),
            None => self.hold(Held::ErrorLine(line.to_owned()), moment, listener),
        }
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        if self.found.is_none() {
            self.settle(Agent::Generic, moment, listener);
        }
        // Who shows something goes on behind it, with words or with what it used.
        if self.opening.as_ref().is_some_and(|opening| opening.is_doubtful) {
            if self.opening.as_ref().is_some_and(|opening| opening.records.len() > 1) {
                self.begin_with_opening(moment, listener);
            } else {
                self.forget_opening(moment, listener);
            }
        }
        // A stream of its own has a beginning.
        if self.introduced.iter().any(|record| sniff::opened(record).is_some()) {
            self.take_introduced(moment, listener);
        }
        match &mut self.found {
            Some(found) => found.adapter.finish(exit, moment, listener),
            None => Outcome::CutOff,
        }
    }

    fn totals(&mut self) -> Option<Totals> {
        let latest = self.found.as_mut().and_then(|found| found.adapter.totals());
        latest.or_else(|| self.totals.take())
    }

    fn go_on_from(&mut self, totals: Totals) {
        match &mut self.found {
            Some(found) if found.agent.tells_totals() => found.adapter.go_on_from(totals),
            _ => self.totals = Some(totals),
        }
    }
}

/// So many records in a row, and one more, are no longer shown by somebody.
const ENOUGH_RECORDS: usize = 3;
const MOST_HELD: usize = 64;
const MOST_STRANGERS: usize = 64;
const MOST_HELD_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests;
