//! What was told of all that was used.

use super::by_model::ByModel;
use super::ledger::Figures;

/// What was told, by model.
///
/// What is known to be used may shrink: a source that comes late knows better. What was told too
/// much in this iteration can be taken back. What was told of an earlier one stands, and is taken
/// off what its model uses next.
#[derive(Debug, Default)]
pub(super) struct Told {
    before: ByModel<Figures>,
    now: ByModel<Figures>,
}

impl Told {
    /// Tells what of this was not told yet.
    pub fn catch_up(&mut self, used: &ByModel<Figures>) -> Vec<(String, Figures)> {
        let mut grown = Vec::new();
        for (model, used) in used.iter() {
            let now = self.now.of(model);
            let more = used.minus(self.before.get(model)).minus(*now);
            if more != Figures::default() {
                now.add(more);
                grown.push((model.to_owned(), more));
            }
        }
        grown
    }

    /// Whether more was told of this iteration than was used in it. From here on it counts as told
    /// what was really used.
    pub fn correct(&mut self, used: &ByModel<Figures>) -> bool {
        let mut was_wrong = false;
        for (model, used) in used.iter() {
            let now = self.now.of(model);
            let right = used.minus(self.before.get(model));
            was_wrong |= *now != right;
            *now = right;
        }
        was_wrong
    }

    /// What was told of this iteration.
    pub fn now(&self) -> &ByModel<Figures> {
        &self.now
    }

    /// What was told stands from here on.
    pub fn iteration_started(&mut self) {
        for (model, figures) in std::mem::take(&mut self.now).iter() {
            self.before.of(model).add(figures);
        }
    }
}
