//! How full the context window is.

use std::collections::BTreeMap;

use backstop_core::event::Context;

use crate::claude::wire::{Lenient, ModelCounts};
use crate::{Heard, Listener};

/// The main loop's context window.
#[derive(Debug, Default)]
pub(in crate::claude) struct Window {
    /// The model that the session was started with: only this name tells of a large window.
    started_with: String,
    /// Sizes that results have told.
    sizes: BTreeMap<String, u64>,
    model: String,
    told: Option<Context>,
}

impl Window {
    pub fn start(&mut self, model: &str) {
        model.clone_into(&mut self.started_with);
    }

    pub(super) fn fill(&mut self, model: &str, used: u64, listener: &mut dyn Listener) {
        model.clone_into(&mut self.model);
        self.tell(used, listener);
    }

    /// A result tells how large the windows are.
    pub(super) fn learn(
        &mut self,
        models: &BTreeMap<String, Lenient<ModelCounts>>,
        listener: &mut dyn Listener,
    ) {
        let was_assumed = self.size_told().is_none();
        for (model, counts) in models {
            let size = counts.0.map_or(0, |counts| counts.context_window.count());
            if size > 0 && self.sizes.len() < MOST_MODELS {
                self.sizes.insert(model.clone(), size);
            }
        }
        if let Some(told) = &self.told {
            let used = told.used;
            // What was rightly assumed is told all the same: only now it is known.
            if was_assumed && self.size_told().is_some() {
                self.told = None;
            }
            self.tell(used, listener);
        }
    }

    /// Another launch begins, and tells its own.
    pub(super) fn launch(&mut self) {
        self.told = None;
    }

    fn tell(&mut self, used: u64, listener: &mut dyn Listener) {
        let Some(limit) = self.size(used) else { return };
        let context = Context::of(used, limit);
        if self.told.as_ref() != Some(&context) {
            self.told = Some(context.clone());
            listener.hear(Heard::Event(context.into()));
        }
    }

    /// The size that a result has told.
    fn size_told(&self) -> Option<u64> {
        let named_large = format!("{}{LARGE_MARK}", self.model);
        self.sizes.get(&self.model).or_else(|| self.sizes.get(&named_large)).copied()
    }

    fn size(&self, used: u64) -> Option<u64> {
        if let Some(size) = self.size_told() {
            return Some(size);
        }
        let large = self.model.ends_with(LARGE_MARK)
            || self.started_with.strip_suffix(LARGE_MARK).is_some_and(|start| {
                // The session may have been started with an alias such as `sonnet`.
                self.model.contains(start)
            });
        if large || used > USUAL_SIZE {
            Some(LARGE_SIZE)
        } else {
            FAMILIES.iter().any(|family| self.model.contains(family)).then_some(USUAL_SIZE)
        }
    }
}

const USUAL_SIZE: u64 = 200_000;
const LARGE_SIZE: u64 = 1_000_000;
pub(super) const LARGE_MARK: &str = "[1m]";
const FAMILIES: [&str; 4] = ["claude", "opus", "sonnet", "haiku"];
const MOST_MODELS: usize = 64;
