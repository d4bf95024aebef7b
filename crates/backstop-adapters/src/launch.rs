//! What every adapter keeps of the launch that it reads.

use backstop_core::event::Usage;

use crate::calls::Calls;
use crate::fault::recognise;
use crate::fields::is_nothing;
use crate::totals::Tokens;
use crate::{Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Shown, Voice};

/// One launch of an agent, as far as it has told.
#[derive(Debug, Default)]
pub(crate) struct Launch {
    pub calls: Calls,
    pub model: Option<String>,
    begun: bool,
    /// Which session of the agent it is.
    session: Option<String>,
    outcome: Option<Outcome>,
    /// The agent's latest message.
    words: String,
    /// The message of the latest fault: agents like to tell one twice.
    fault: Option<String>,
    /// What the standard error gives as the cause, should nothing else.
    suspicion: Option<Fault>,
}

impl Launch {
    /// A session begins. Another one than before is another launch, and the one before has ended:
    /// `silent` is what it means if it did not say how.
    pub fn begin(
        &mut self,
        session: Option<&str>,
        silent: Outcome,
        listener: &mut dyn Listener,
    ) -> bool {
        let another = !self.begun || session.is_none() || self.session.as_deref() != session;
        if another {
            self.calls.finish(listener);
            if self.begun && self.outcome.is_none() {
                listener.hear(Heard::Ended(self.outcome_or(silent)));
            }
            *self = Self { session: session.map(str::to_owned), ..Self::default() };
            self.touch(listener);
        }
        another
    }

    /// The agent says that it starts. After an end that is another launch, be it of the same
    /// session.
    pub fn start(
        &mut self,
        session: Option<&str>,
        silent: Outcome,
        listener: &mut dyn Listener,
    ) -> bool {
        if self.outcome.is_some() {
            self.session = None;
        }
        self.begin(session, silent, listener)
    }

    /// A record came, whether or not the launch was opened.
    pub fn touch(&mut self, listener: &mut dyn Listener) {
        if !std::mem::replace(&mut self.begun, true) {
            listener.hear(Heard::Launched);
        }
    }

    /// The agent works on: what it said of its end no longer holds.
    pub fn goes_on(&mut self) {
        self.outcome = None;
        self.fault = None;
    }

    pub fn said(&mut self, words: &str, listener: &mut dyn Listener) {
        if words.trim().is_empty() {
            return;
        }
        words.clone_into(&mut self.words);
        listener.hear(Heard::Said(Voice::Assistant, words));
        listener.hear(Heard::Shown(Shown::Text(words)));
    }

    /// The agent's latest message was its result, unless it gives another.
    pub fn result(&mut self, given: Option<&str>, listener: &mut dyn Listener) {
        let words = std::mem::take(&mut self.words);
        let result = given.unwrap_or(&words);
        if !result.trim().is_empty() {
            listener.hear(Heard::Said(Voice::Result, result));
        }
    }

    pub fn used(&mut self, tokens: Tokens, cost_usd: Option<f64>, listener: &mut dyn Listener) {
        let model = self.model.clone();
        used(tokens, cost_usd, model, listener);
    }

    /// Something failed. The same words in a row are the same failure.
    pub fn failed(&mut self, fault: Fault, listener: &mut dyn Listener) {
        if self.fault.as_ref() == Some(&fault.message) {
            return;
        }
        self.fault = Some(fault.message.clone());
        listener.hear(Heard::Shown(Shown::Error(&fault.message)));
        listener.hear(Heard::Fault(fault));
    }

    pub fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    pub fn ended(&mut self, outcome: Outcome, listener: &mut dyn Listener) {
        self.outcome = Some(outcome);
        listener.hear(Heard::Ended(outcome));
    }

    /// A line of the standard error: the cause of a failure, if the agent fails and names no other.
    pub fn suspect(&mut self, line: &str, moment: &Moment) {
        if let Some(fault) = recognise(line, moment) {
            self.suspicion = Some(fault);
        }
    }

    /// How the launch ended, where `silent` is what it means that the agent did not say.
    pub fn finish(
        &mut self,
        exit: Option<Exit>,
        silent: Outcome,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.calls.finish(listener);
        let told = self.outcome_or(silent);
        match exit {
            Some(exit) if !exit.succeeded() => {
                if !self.has_failed()
                    && let Some(fault) = self.suspicion.take()
                {
                    self.failed(fault, listener);
                }
                // A signal, unlike an exit status, is not the agent's own word.
                if told == Outcome::CutOff && exit.code.is_none() {
                    Outcome::CutOff
                } else {
                    Outcome::Failed
                }
            }
            _ => told,
        }
    }

    fn outcome_or(&self, silent: Outcome) -> Outcome {
        self.outcome.unwrap_or(if self.has_failed() { Outcome::Failed } else { silent })
    }
}

/// Tells usage, if there is any.
pub(crate) fn used(
    tokens: Tokens,
    cost_usd: Option<f64>,
    model: Option<String>,
    listener: &mut dyn Listener,
) {
    let usage = Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_tokens: tokens.cache_read,
        cache_write_tokens: tokens.cache_write,
        cost_usd,
        model,
        basis: None,
    };
    if !is_nothing(&usage) {
        listener.hear(Heard::Event(usage.into()));
    }
}

/// What kind of failure the words of an error channel tell, which is an error in any case.
pub(crate) fn fault_of(message: &str, moment: &Moment) -> Fault {
    recognise(message, moment).unwrap_or_else(|| Fault::new(FaultKind::Other, message))
}
