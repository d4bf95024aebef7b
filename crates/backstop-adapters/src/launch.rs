//! What every adapter keeps of the launch that it reads.

use backstop_core::event::{Action, Usage};

use crate::agent::is_missing_agent;
use crate::calls::Calls;
use crate::fault::recognise;
use crate::fields::is_nothing;
use crate::plain::Words;
use crate::totals::Tokens;
use crate::{Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Shown, Voice, excerpt};

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
    /// It has said something.
    spoke: bool,
    /// Nothing was done since the latest message, in an agent that tells its turns as they go on.
    is_idle: bool,
    /// The message of the latest fault: agents like to tell one twice.
    fault: Option<String>,
    /// It was cut off on the way, by the latest fault.
    cut_off: bool,
    /// What the standard error gives as the cause, should nothing else.
    suspicion: Option<Fault>,
    /// The answer in plain words, as long as nothing else came.
    plain: Words,
    /// It prints records, so words between them are somebody else's.
    is_structured: bool,
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
            *self = Self {
                session: session.map(str::to_owned),
                is_structured: true,
                ..Self::default()
            };
            self.touch(listener);
        }
        another
    }

    /// A launch begins, be it of the same session.
    pub fn begin_anew(
        &mut self,
        session: Option<&str>,
        silent: Outcome,
        listener: &mut dyn Listener,
    ) {
        self.session = None;
        self.begin(session, silent, listener);
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

    /// A record of the agent's came: its answer is not in plain words.
    pub fn took_record(&mut self) {
        self.is_structured = true;
        self.plain.clear();
    }

    /// A line that is no record. Without any, what the agent prints is its answer.
    pub fn plain_line(&mut self, line: &str, listener: &mut dyn Listener) {
        // The beginning of a record that was cut off is nobody's words.
        if !self.is_structured && !line.trim_start().starts_with("{\"") {
            self.plain.push(line);
            listener.hear(Heard::Shown(Shown::Text(line)));
        }
    }

    /// JSON that is no record: an agent may answer in JSON.
    pub fn plain_json(&mut self, bytes: &[u8], listener: &mut dyn Listener) {
        if !self.is_structured {
            let text = String::from_utf8_lossy(bytes);
            self.plain.push(&text);
            listener.hear(Heard::Shown(Shown::Text(&text)));
        }
    }

    /// Whether anything came, records or words.
    pub fn has_said_anything(&self) -> bool {
        self.is_structured || self.spoke || !self.plain.text().trim().is_empty()
    }

    /// What was said until now were no words of the answer.
    pub fn forget_plain(&mut self) {
        self.plain.clear();
    }

    /// The agent works on: what it said of its end no longer holds.
    pub fn goes_on(&mut self) {
        self.outcome = None;
        self.fault = None;
        self.cut_off = false;
        self.is_idle = false;
    }

    /// One more message of a turn. The one before it, if nothing was done between, was a step of its
    /// own.
    pub fn said_amid_turn(&mut self, words: &str, listener: &mut dyn Listener) {
        if words.trim().is_empty() {
            return;
        }
        if std::mem::replace(&mut self.is_idle, true) {
            self.tell_words("message", listener);
        }
        self.said(words, listener);
    }

    /// Something is done.
    pub fn acts(&mut self) {
        self.is_idle = false;
    }

    pub fn said(&mut self, words: &str, listener: &mut dyn Listener) {
        if words.trim().is_empty() {
            return;
        }
        self.spoke = true;
        words.clone_into(&mut self.words);
        listener.hear(Heard::Said(Voice::Assistant, words));
        listener.hear(Heard::Shown(Shown::Text(words)));
    }

    /// The agent's latest message was its result, unless it gives another.
    pub fn result(&mut self, given: Option<&str>, listener: &mut dyn Listener) {
        let words = std::mem::take(&mut self.words);
        self.is_idle = false;
        let result = given.unwrap_or(&words);
        if !result.trim().is_empty() {
            listener.hear(Heard::Said(Voice::Result, result));
        }
    }

    pub fn used(&mut self, tokens: Tokens, cost_usd: Option<f64>, listener: &mut dyn Listener) {
        let model = self.model.clone();
        used(tokens, cost_usd, model, listener);
    }

    /// The launch has come to its end, and all its calls were told. One that made none is a step of
    /// its own: words, or an empty answer.
    pub fn tell_step(&self, listener: &mut dyn Listener) {
        if self.calls.any() {
            return;
        }
        self.tell_words(if self.spoke { "message" } else { "empty" }, listener);
    }

    fn tell_words(&self, kind: &str, listener: &mut dyn Listener) {
        let signature = excerpt(&self.words).into_owned();
        let action = Action { signature, kind: kind.to_owned(), ..Action::default() };
        listener.hear(Heard::Event(action.into()));
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

    /// The launch was cut off while this kept it from going on.
    pub fn cut_off_by(&mut self, fault: Fault, listener: &mut dyn Listener) {
        self.cut_off = true;
        self.failed(fault, listener);
    }

    /// Which session of the agent it is.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The agent's latest message.
    pub fn words(&self) -> &str {
        &self.words
    }

    pub fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    pub fn has_ended(&self) -> bool {
        self.outcome.is_some()
    }

    pub fn ended(&mut self, outcome: Outcome, listener: &mut dyn Listener) {
        self.outcome = Some(outcome);
        listener.hear(Heard::Ended(outcome));
    }

    /// A line of the standard error: the cause of a failure, if the agent fails and names no other.
    pub fn suspect(&mut self, line: &str, moment: &Moment) {
        if is_missing_agent(line) {
            self.suspicion = Some(Fault::new(FaultKind::MissingProgram, line));
        } else if let Some(fault) = recognise(line, moment) {
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
        let plain = std::mem::take(&mut self.plain);
        let answered = !plain.text().is_empty();
        let told = self.outcome_or(if answered { Outcome::Succeeded } else { silent });
        if answered && told == Outcome::Succeeded && exit.is_none_or(Exit::succeeded) {
            listener.hear(Heard::Said(Voice::Result, plain.text()));
        }
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
        self.outcome.unwrap_or(match (self.cut_off, self.has_failed()) {
            (true, _) => Outcome::CutOff,
            (false, true) => Outcome::Failed,
            (false, false) => silent,
        })
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
