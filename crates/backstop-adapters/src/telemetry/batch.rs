//! What one export adds, put together before it is compared with other sources.

use super::ledger::Figures;

/// Parts in the order in which they came.
#[derive(Debug)]
pub(super) struct Batch<S> {
    parts: Vec<Part<S>>,
}

/// What one source adds.
#[derive(Debug)]
pub(super) struct Part<S> {
    /// Whose figures they are: a session, a program.
    pub name: String,
    pub source: S,
    /// Empty where none is told.
    pub model: String,
    pub figures: Figures,
}

impl<S> Default for Batch<S> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<S: Copy + PartialEq> Batch<S> {
    /// Adds one request.
    pub fn add(&mut self, name: &str, source: S, model: &str, figures: Figures) {
        let (name, model) = (name.to_owned(), model.to_owned());
        self.parts.push(Part { name, source, model, figures });
    }

    /// Adds one figure. Tokens of each kind and their cost are series of their own, and only
    /// together make sense.
    pub fn add_figure(&mut self, name: &str, source: S, model: &str, figure: Figures) {
        let mut latest = self.parts.iter_mut().rev().take(LOOK_BACK);
        let same =
            latest.find(|part| part.source == source && part.name == name && part.model == model);
        match same {
            Some(part) => part.figures.add(figure),
            None => self.add(name, source, model, figure),
        }
    }

    pub fn take(&mut self) -> Vec<Part<S>> {
        std::mem::take(&mut self.parts)
    }
}

/// Sessions and models in one export are few. Where they are not, figures are told one by one.
const LOOK_BACK: usize = 16;
