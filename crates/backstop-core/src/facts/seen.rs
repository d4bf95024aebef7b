//! Output patterns that matched, and what probes found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::errors::shortened;
use crate::event::{Matched, Probe};

/// Output patterns that have matched, by the key of the condition that asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patterns {
    by_key: BTreeMap<String, Match>,
    /// Output to look into, where facts were given without events.
    pub(crate) recent_output: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Match {
    pattern: String,
    in_iteration: bool,
}

impl Patterns {
    pub(crate) fn apply(&mut self, matched: &Matched) {
        let key = if matched.key.is_empty() { &matched.pattern } else { bare(&matched.key) };
        if let Some(known) = self.by_key.get_mut(key) {
            known.in_iteration = true;
        } else if self.by_key.len() < MOST_KEYS {
            let pattern = shortened(&matched.pattern).to_owned();
            self.by_key.insert(shortened(key).to_owned(), Match { pattern, in_iteration: true });
        }
    }

    pub(crate) fn iteration_started(&mut self) {
        for known in self.by_key.values_mut() {
            known.in_iteration = false;
        }
    }

    /// Whether a pattern has matched, by its key or, from those who don't know keys, by its text.
    pub(crate) fn has_matched(&self, key: &str, whole_run: bool) -> bool {
        self.by_key.get(key).is_some_and(|known| whole_run || known.in_iteration)
    }

    pub(crate) fn matched(&self) -> impl Iterator<Item = &str> {
        self.by_key.values().map(|known| known.pattern.as_str())
    }
}

/// What probes found, by the key of the condition that asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Probes(BTreeMap<String, ProbeAnswer>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbeAnswer {
    /// None: it could not be found out.
    pub(crate) met: Option<bool>,
    pub(crate) detail: Option<String>,
}

impl Probes {
    pub(crate) fn apply(&mut self, probe: &Probe) {
        let key = bare(&probe.key);
        if self.0.len() < MOST_KEYS || self.0.contains_key(key) {
            let detail = probe.detail.as_deref().map(shortened).map(str::to_owned);
            self.0.insert(shortened(key).to_owned(), ProbeAnswer { met: probe.met, detail });
        }
    }

    pub(crate) fn answer(&self, key: &str) -> Option<&ProbeAnswer> {
        self.0.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Option<bool>)> {
        self.0.iter().map(|(key, answer)| (key.as_str(), answer.met))
    }
}

/// A key without the name of its hash, which callers may leave out.
pub(crate) fn bare(key: &str) -> &str {
    key.strip_prefix("sha256:").unwrap_or(key)
}

/// More than the rules of the largest policy; the bound is against a reporter that invents keys.
const MOST_KEYS: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(key: &str, pattern: &str) -> Matched {
        Matched {
            key: key.into(),
            pattern: pattern.into(),
            stream: String::new(),
            excerpt: String::new(),
        }
    }

    #[test]
    fn a_match_belongs_to_its_iteration() {
        let mut patterns = Patterns::default();
        patterns.apply(&matched("k", "DONE"));
        assert!(patterns.has_matched("k", false));
        patterns.iteration_started();
        assert!(!patterns.has_matched("k", false));
        assert!(patterns.has_matched("k", true));
    }

    #[test]
    fn a_reporter_may_name_the_pattern_itself() {
        let mut patterns = Patterns::default();
        patterns.apply(&matched("", "DONE"));
        assert!(patterns.has_matched("DONE", false));
        assert!(!patterns.has_matched("OTHER", false));
    }
}
