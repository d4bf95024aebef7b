//! The built-in rule sets.

use super::draft::Draft;
use super::rule::OnUnknown;
use crate::document::{Syntax, Value, parse};
use crate::field::{Findings, choices};

/// A built-in rule set to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Default,
    Ralph,
    Pipeline,
    Rerun,
    Moderator,
}

choices! {
    Preset {
        "default" => Default,
        "ralph" => Ralph,
        "pipeline" => Pipeline,
        "rerun" => Rerun,
        "moderator" => Moderator,
    }
}

impl Preset {
    pub const ALL: [Self; 5] =
        [Self::Default, Self::Ralph, Self::Pipeline, Self::Rerun, Self::Moderator];

    /// The preset with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name().eq_ignore_ascii_case(name))
    }

    /// Its document.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Default => include_str!("presets/default.toml"),
            Self::Ralph => include_str!("presets/ralph.toml"),
            Self::Pipeline => include_str!("presets/pipeline.toml"),
            Self::Rerun => include_str!("presets/rerun.toml"),
            Self::Moderator => include_str!("presets/moderator.toml"),
        }
    }

    /// What it says. Nobody wrote its limits, so one that can't be measured is passed over.
    pub(crate) fn draft(self) -> Draft {
        let mut findings = Findings::default();
        let document = parse(self.source().as_bytes(), Syntax::Toml).ok();
        let Some(Value::Table(table)) = document.map(|node| node.value) else {
            return Draft::default();
        };
        let mut draft = Draft::read(&table, &mut findings);
        draft.rules =
            draft.limits.rules(&draft.limit_places).into_iter().chain(draft.rules).collect();
        draft.limits = draft.limits.without_shorthand();
        for rule in &mut draft.rules {
            rule.on_unknown = OnUnknown::Ignore;
            rule.span = None;
        }
        draft
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_policy_without_findings() {
        for preset in Preset::ALL {
            let node = parse(preset.source().as_bytes(), Syntax::Toml).unwrap();
            let Value::Table(table) = node.value else { panic!("{} is no table", preset.name()) };
            let mut findings = Findings::default();
            Draft::read(&table, &mut findings);
            assert_eq!(findings.list, [], "{}", preset.name());
            assert!(!preset.draft().rules.is_empty(), "{}", preset.name());
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(Preset::named("Ralph"), Some(Preset::Ralph));
        assert_eq!(Preset::named("ralf"), None);
    }
}
