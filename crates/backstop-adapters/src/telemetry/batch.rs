//! What one export adds, put together before it is compared with other sources.

use super::ledger::Figures;

/// Parts in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Batch {
    parts: Vec<Part>,
}

/// What one source adds.
#[derive(Debug)]
pub(super) struct Part {
    /// Whose figures they are: a session, a program.
    pub name: String,
    pub source: usize,
    pub model: Option<String>,
    pub figures: Figures,
}

impl Batch {
    /// Adds one request.
    pub fn add(&mut self, name: &str, source: usize, model: Option<&str>, figures: Figures) {
        let (name, model) = (name.to_owned(), model.map(str::to_owned));
        self.parts.push(Part { name, source, model, figures });
    }

    /// Adds one figure. Tokens of each kind and their cost are series of their own, and only
    /// together make sense.
    pub fn add_figure(&mut self, name: &str, source: usize, model: Option<&str>, figure: Figures) {
        let mut latest = self.parts.iter_mut().rev().take(LOOK_BACK);
        let same = latest.find(|part| {
            part.source == source && part.name == name && part.model.as_deref() == model
        });
        match same {
            Some(part) => part.figures.add(figure),
            None => self.add(name, source, model, figure),
        }
    }

    pub fn take(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.parts)
    }
}

/// Sessions and models in one export are few. Where they are not, figures are told one by one.
const LOOK_BACK: usize = 16;
