//! How large context windows are, as far as earlier launches have told.

use std::collections::BTreeMap;

use backstop_core::event::{Context, Usage, UsageBasis};

/// The windows of a run's models.
///
/// An agent may tell the size at its end only, and assumes one until then. What its last launch said
/// of a model in the end is better than what the next one assumes at its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    sizes: BTreeMap<String, u64>,
    /// The window of this launch's main loop.
    current: Option<Current>,
    /// Whose message was told last, if nothing has come since.
    speaker: Option<String>,
}

#[derive(Clone, Debug)]
struct Current {
    model: String,
    /// What the agent says of it.
    said: u64,
    /// What it is taken for.
    size: u64,
}

impl Windows {
    /// A launch begins.
    pub fn launched(&mut self) {
        self.speaker = None;
        self.settle();
    }

    pub fn used(&mut self, usage: &Usage) {
        let is_message = usage.basis == Some(UsageBasis::Live);
        self.speaker = usage.model.clone().filter(|_| is_message);
    }

    /// Puts the size right that the agent tells with the message before, or with its result.
    pub fn complete(&mut self, context: &mut Context) {
        let is_result = self.speaker.is_none();
        if let Some(model) = self.speaker.take()
            && self.current.as_ref().is_none_or(|current| current.model != model)
        {
            self.settle();
            let size = self.sizes.get(&model).copied().unwrap_or(context.limit);
            self.current = Some(Current { model, said: context.limit, size });
        }
        let Some(current) = self.current.as_mut().filter(|_| context.limit > 0) else { return };
        // Who says it in the end knows it, and who says something else than before has learnt it.
        if is_result || current.said != context.limit {
            current.said = context.limit;
            current.size = context.limit;
        }
        context.limit = current.size;
    }

    fn settle(&mut self) {
        if let Some(Current { model, size, .. }) = self.current.take()
            && size > 0
            && (self.sizes.len() < MOST_MODELS || self.sizes.contains_key(&model))
        {
            self.sizes.insert(model, size);
        }
    }
}

const MOST_MODELS: usize = 64;
