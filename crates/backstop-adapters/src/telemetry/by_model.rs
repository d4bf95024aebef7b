//! What is kept of each model.

use std::collections::BTreeMap;

/// By a model's name, which is empty where none is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByModel<T> {
    models: BTreeMap<String, T>,
}

impl<T> Default for ByModel<T> {
    fn default() -> Self {
        Self { models: BTreeMap::new() }
    }
}

impl<T: Copy + Default> ByModel<T> {
    /// All beyond the bound share what is kept of no model.
    pub fn of(&mut self, model: &str) -> &mut T {
        let is_known = self.models.contains_key(model);
        let model = if is_known || self.models.len() < MOST { model } else { "" };
        self.models.entry(model.to_owned()).or_default()
    }

    pub fn get(&self, model: &str) -> T {
        self.models.get(model).copied().unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        self.models.iter().map(|(model, kept)| (model.as_str(), *kept))
    }
}

/// A run has a handful; the bound is against invented ones.
const MOST: usize = 256;
