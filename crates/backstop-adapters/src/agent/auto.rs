//! Finds out whose output it is by reading it.

use std::collections::VecDeque;
use std::fmt;

use super::Agent;
use crate::{Adapter, Exit, Listener, Moment, Outcome, Record, Totals};

/// Holds the latest records back until one of them tells the agent, and then hands them on.
///
/// Lines tell nothing either way: much may be said before an agent is started. After many records
/// that are no agent's it is some program, and nothing is read out of its output.
#[derive(Default)]
pub struct Auto {
    found: Option<(Agent, Box<dyn Adapter>)>,
    held: VecDeque<Held>,
    held_bytes: usize,
    /// Records that are no agent's.
    strangers: usize,
    /// Of earlier launches, for the adapter that is found.
    totals: Option<Totals>,
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

    /// Whose output it is, as far as is known.
    pub fn agent(&self) -> Option<Agent> {
        self.found.as_ref().map(|(agent, _)| *agent)
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

    /// It is this agent: what was held back is its.
    fn settle(&mut self, agent: Agent, moment: &Moment, listener: &mut dyn Listener) {
        let (_, adapter) = self.found.insert((agent, agent.adapter()));
        if let Some(totals) = self.totals.take() {
            adapter.go_on_from(totals);
        }
        for held in std::mem::take(&mut self.held) {
            match &held {
                Held::Json(bytes) => adapter.record(Record::Json(bytes), moment, listener),
                Held::Text(text) => adapter.record(Record::Text(text), moment, listener),
                Held::ErrorLine(line) => adapter.error_line(line, moment, listener),
            }
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
        if self.found.is_none()
            && let Some(agent) = Agent::of_first_record(&record)
        {
            self.settle(agent, moment, listener);
        }
        match (&mut self.found, record) {
            (Some((_, adapter)), record) => adapter.record(record, moment, listener),
            (None, Record::Json(bytes)) => self.hold(Held::Json(bytes.to_vec()), moment, listener),
            (None, Record::Text(text)) => self.hold(Held::Text(text.to_owned()), moment, listener),
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        match &mut self.found {
            Some((_, adapter)) => adapter.error_line(line, moment, listener),
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
        match &mut self.found {
            Some((_, adapter)) => adapter.finish(exit, moment, listener),
            None => Outcome::CutOff,
        }
    }

    fn totals(&mut self) -> Option<Totals> {
        match &mut self.found {
            Some((_, adapter)) => adapter.totals(),
            None => self.totals.take(),
        }
    }

    fn go_on_from(&mut self, totals: Totals) {
        self.totals = Some(totals);
    }
}

const MOST_HELD: usize = 64;
const MOST_STRANGERS: usize = 64;
const MOST_HELD_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests;
