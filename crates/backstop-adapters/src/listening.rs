//! What adapters tell, as events of the core: the same for a run that goes on and for one that is
//! replayed.

mod windows;

use backstop_core::condition::OutputSource;
use backstop_core::event::{Action, Context, ErrorSeen, EventKind, Note, ThreadTotal, Usage};
use backstop_core::policy::{ErrorSettings, JsonlSettings, Policy};
use backstop_core::repetition::Chant;
use serde_json::json;

use crate::{
    Adapter, Agent, Fault, FaultKind, Heard, Jsonl, JsonlMapping, Outcome, Patterns, Prices, Voice,
};
use windows::Windows;

/// Turns what was heard into events, with what the policy knows and the agent does not say.
#[derive(Clone, Debug, Default)]
pub struct Translator {
    prices: Prices,
    words: Option<ErrorSettings>,
    patterns: Patterns,
    /// The size of the context window, as it was last told.
    window: Option<u64>,
    windows: Windows,
    /// What threads had used before the first launch that is listened to.
    earlier: Vec<ThreadTotal>,
    /// What the thread has used in all whose usage is told next.
    total: Option<ThreadTotal>,
    /// The model that the command asks for.
    model: Option<String>,
    /// The agent has said something in this launch.
    spoke: bool,
}

impl Translator {
    pub fn new(policy: &Policy) -> Self {
        let settings = &policy.settings;
        Self {
            prices: settings.prices.as_ref().map(Prices::from).unwrap_or_default(),
            words: settings.errors.clone(),
            patterns: Patterns::new(policy),
            window: None,
            windows: Windows::default(),
            earlier: Vec::new(),
            total: None,
            model: None,
            spoke: false,
        }
    }

    /// What an agent uses without naming its model is priced as this one's.
    #[must_use]
    pub fn assuming(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// Threads go on from these totals, which the run has counted already.
    #[must_use]
    pub fn going_on_from<'a>(mut self, earlier: impl Iterator<Item = &'a ThreadTotal>) -> Self {
        self.earlier = earlier.cloned().collect();
        self
    }

    /// The events that this is to the core. What is only shown is none, and neither is a launch or
    /// its end: whoever listens decides what an iteration is.
    pub fn events(&mut self, heard: Heard<'_>) -> Vec<EventKind> {
        match heard {
            Heard::Event(EventKind::Noted(noted)) if noted.what == Note::ThreadTotal => {
                self.total = ThreadTotal::of(&noted);
                Vec::new()
            }
            Heard::Event(event) => self.event(event),
            Heard::Fault(fault) if fault.kind == FaultKind::ContextFull => {
                // Whoever judges the error knows by then what it is.
                vec![self.full_context(), self.fault(&fault)]
            }
            Heard::Fault(fault) => vec![self.fault(&fault)],
            Heard::Said(voice, words) => self.said(voice, words),
            Heard::Launched => {
                self.patterns.begin();
                self.windows.launched();
                self.spoke = false;
                Vec::new()
            }
            Heard::Shown(_) | Heard::Ended(_) | Heard::At(_) => Vec::new(),
        }
    }

    /// Patterns that are waited for in the agent's own words. A result is among them.
    fn said(&mut self, voice: Voice, words: &str) -> Vec<EventKind> {
        let mut found = self.patterns.find(OutputSource::Assistant, words);
        if voice == Voice::Result {
            found.extend(self.patterns.find(OutputSource::Result, words));
        }
        let chant = self.chanted(voice, words);
        found.into_iter().map(EventKind::from).chain(chant.map(EventKind::from)).collect()
    }

    /// The phrase that a message says over and over, as a step of its own. A result mostly is what
    /// was said last, once more.
    fn chanted(&mut self, voice: Voice, words: &str) -> Option<Action> {
        let is_repeated = voice == Voice::Result && self.spoke;
        self.spoke |= voice == Voice::Assistant;
        let signature = if is_repeated { None } else { Chant::find(words) }?;
        Some(Action { signature, kind: "chant".to_owned(), ..Action::default() })
    }

    /// What a thread has used in all is told when what it has used now was: a run that is cut off
    /// between the two would lose that.
    fn event(&mut self, mut event: EventKind) -> Vec<EventKind> {
        let total = self.total.take();
        if let (EventKind::Usage(usage), Some(total)) = (&mut event, &total) {
            self.leave_out_earlier(usage, total);
        }
        let total = total.map(|total| total.note().into());
        std::iter::once(self.completed(event)).chain(total).collect()
    }

    /// An adapter that hears of a thread for the first time takes all of its total for new.
    fn leave_out_earlier(&mut self, usage: &mut Usage, total: &ThreadTotal) {
        let known = self.earlier.iter().position(|earlier| earlier.thread == total.thread);
        let Some(earlier) = known.map(|known| self.earlier.swap_remove(known)) else { return };
        let is_all = usage.input_tokens == total.input_tokens
            && usage.output_tokens == total.output_tokens
            && usage.cache_read_tokens == total.cache_read_tokens
            && usage.cache_write_tokens == total.cache_write_tokens;
        let is_more = total.input_tokens >= earlier.input_tokens
            && total.output_tokens >= earlier.output_tokens
            && total.cache_read_tokens >= earlier.cache_read_tokens
            && total.cache_write_tokens >= earlier.cache_write_tokens;
        // A total that shrank, or is the same after another launch, has begun anew.
        if is_all && is_more && *total != earlier {
            usage.input_tokens -= earlier.input_tokens;
            usage.output_tokens -= earlier.output_tokens;
            usage.cache_read_tokens -= earlier.cache_read_tokens;
            usage.cache_write_tokens -= earlier.cache_write_tokens;
        }
    }

    fn completed(&mut self, mut event: EventKind) -> EventKind {
        match &mut event {
            EventKind::Usage(usage) => {
                self.windows.used(usage);
                if usage.cost_usd.is_none() {
                    let model = usage.model.as_deref().or(self.model.as_deref());
                    usage.cost_usd = self.prices.cost(model, usage);
                }
            }
            EventKind::Context(context) if context.limit > 0 => {
                self.windows.complete(context);
                self.window = Some(context.limit);
            }
            _ => {}
        }
        event
    }

    /// The policy's words sort only what the adapter could not: it reads status codes and reset
    /// times, and knows its agent's messages.
    fn fault(&self, fault: &Fault) -> EventKind {
        let named = match (fault.kind, &self.words) {
            (FaultKind::Other, Some(words)) => words.category(&fault.message),
            _ => None,
        };
        match (named, fault.event()) {
            (Some(category), EventKind::ErrorSeen(error)) => ErrorSeen { category, ..error }.into(),
            (_, event) => event,
        }
    }

    /// A window that is too small is full, whatever was counted last.
    fn full_context(&self) -> EventKind {
        let limit = self.window.unwrap_or(0);
        Context { used: limit, limit, full: true }.into()
    }
}

impl Outcome {
    /// The exit status of a process that ended so; none where it did not end by itself.
    pub fn exit_code(self) -> Option<i32> {
        match self {
            Self::Succeeded => Some(0),
            Self::Failed => Some(1),
            Self::CutOff => None,
        }
    }
}

impl Agent {
    /// A reader for one launch, which reads JSON lines by the policy's mapping.
    ///
    /// # Errors
    /// The mapping can't be used.
    pub fn adapter_for(self, policy: &Policy) -> Result<Box<dyn Adapter>, serde_json::Error> {
        match (self, &policy.settings.jsonl) {
            (Self::Jsonl, Some(settings)) => {
                Ok(Box::new(Jsonl::new(JsonlMapping::try_from(settings)?)))
            }
            _ => Ok(self.adapter()),
        }
    }
}

impl TryFrom<&JsonlSettings> for JsonlMapping {
    type Error = serde_json::Error;

    fn try_from(settings: &JsonlSettings) -> Result<Self, serde_json::Error> {
        serde_json::from_value(json!({
            "input_tokens": settings.input_tokens.as_ref().map(|path| &path.0),
            "output_tokens": settings.output_tokens.as_ref().map(|path| &path.0),
            "cache_read_tokens": settings.cache_read_tokens.as_ref().map(|path| &path.0),
            "cache_write_tokens": settings.cache_write_tokens.as_ref().map(|path| &path.0),
            "cost_usd": settings.cost_usd.as_ref().map(|path| &path.0),
            "model": settings.model.as_ref().map(|path| &path.0),
            "message": settings.message.as_ref().map(|path| &path.0),
            "error": settings.error.as_ref().map(|path| &path.0),
            "context_used": settings.context_used.as_ref().map(|path| &path.0),
            "context_limit": settings.context_limit.as_ref().map(|path| &path.0),
            "totals": settings.totals.unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests;
