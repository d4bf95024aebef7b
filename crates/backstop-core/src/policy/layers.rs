//! What a policy is made of: presets at the bottom, a document, and flags on top.

use serde_json::Value as Json;

use super::draft::Draft;
use super::rule::{OnUnknown, Rule};
use super::{
    Dialect, Loaded, Policy, Preset, Unmetered, VerifySettings, implied, in_order, is_bounded,
    is_meter, is_replaced,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{self, Syntax, Value};
use crate::field::{Findings, Record};

/// The parts of a policy. What stands higher replaces rules of the same reason below it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layers<'a> {
    /// Beside those that the document names.
    pub presets: &'a [Preset],
    pub document: Option<(&'a [u8], Syntax)>,
    pub flags: Option<&'a Flags>,
    /// It will drive a loop: whatever it says, something must end it.
    pub for_a_loop: bool,
}

/// What the command line says, checked: a layer without a document of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags(Draft);

impl Layers<'_> {
    /// Works the layers into one policy. Without a document and a preset, `default` is the base.
    ///
    /// # Errors
    /// Everything that is wrong with the document, not only the first error.
    pub fn load(&self) -> Result<Loaded, Vec<Diagnostic>> {
        let (mut draft, noticed) = match self.document {
            Some((bytes, syntax)) => read(bytes, syntax)?,
            None => (Draft::default(), Vec::new()),
        };
        draft.presets.extend_from_slice(self.presets);
        if self.document.is_none() && draft.presets.is_empty() {
            draft.presets.push(Preset::Default);
        }
        let flags = self.flags.map(|flags| flags.0.clone());
        let mut notes = Vec::new();
        let is_dialect = draft.dialect.is_some();
        let policy = effective(draft, flags, self.for_a_loop, &mut notes);
        Ok(Loaded { policy, is_dialect, noticed, notes })
    }
}

impl Flags {
    /// Reads what flags say in the keys of the native form.
    ///
    /// # Errors
    /// Everything that is wrong; the places are meaningless, since nobody wrote the text.
    pub fn new(said: &Json) -> Result<Self, Vec<Diagnostic>> {
        let (draft, _noticed) = read(said.to_string().as_bytes(), Syntax::Json)?;
        Ok(Self(draft))
    }
}

fn read(bytes: &[u8], syntax: Syntax) -> Result<(Draft, Vec<Diagnostic>), Vec<Diagnostic>> {
    let root = document::parse(bytes, syntax)?;
    let Value::Table(table) = &root.value else {
        return Err(vec![Diagnostic::error("a policy must be a table", root.span)]);
    };
    let text = String::from_utf8_lossy(bytes);
    let nul = document::nul_characters(&text, &root);
    let mut findings = Findings { text: text.as_ref().into(), list: nul, ..Findings::default() };
    let draft = match Dialect::of(table) {
        Some(dialect) => dialect.read(table, &mut findings),
        None => Draft::read(table, &mut findings),
    };
    let (errors, noticed): (Vec<_>, Vec<_>) =
        findings.list.into_iter().partition(|finding| finding.severity == Severity::Error);
    if errors.is_empty() { Ok((draft, noticed)) } else { Err(in_order(errors)) }
}

/// Works presets, limits and flags into what a document says.
pub(super) fn effective(
    draft: Draft,
    flags: Option<Draft>,
    for_a_loop: bool,
    notes: &mut Vec<String>,
) -> Policy {
    let mut rules = own_rules(&draft);
    let is_bare = rules.is_empty();
    let mut settings = draft.settings;
    let mut limits = draft.limits.without_shorthand();
    let mut order = draft.order;
    let mut dialect = draft.dialect;
    if let Some(flags) = flags {
        let mut stronger = own_rules(&flags);
        stronger.iter_mut().for_each(|rule| rule.span = None);
        stronger.extend(unreplaced(rules, &stronger));
        rules = stronger;
        if flags.settings.verify.is_some() {
            settings.verify = settings.verify.map(VerifySettings::without_commands);
        }
        settings = flags.settings.over(settings);
        limits = flags.limits.without_shorthand().over(limits);
    }
    // Of two presets with the same reason the later one counts, as a later line would.
    for preset in draft.presets.iter().rev().map(|preset| preset.draft()) {
        let own = unreplaced(preset.rules, &rules);
        rules.extend(own);
        settings = settings.over(preset.settings);
        limits = limits.over(preset.limits);
        order = order.or(preset.order);
        // With rules of its own it is no lawbook of the preset's kind any more.
        dialect = dialect.or(preset.dialect.filter(|_| is_bare));
    }
    let needs_a_net = for_a_loop || dialect.is_none();
    if needs_a_net && limits.unlimited != Some(true) && !is_bounded(&rules) {
        rules.extend(implied::safety_net());
        notes.push(implied::SAFETY_NET_NOTE.to_owned());
    }
    if limits.unmetered == Some(Unmetered::Allow) {
        let meters = rules.iter_mut().filter(|rule| is_meter(&rule.when));
        meters.for_each(|rule| rule.on_unknown = OnUnknown::Ignore);
    }
    Policy {
        label: draft.label,
        dialect,
        order: order.unwrap_or_default(),
        stop_on_first: draft.stop_on_first,
        implied: unreplaced(implied::rules(&settings), &rules),
        rules,
        limits,
        settings,
        reasons: draft.reasons,
    }
}

fn own_rules(draft: &Draft) -> Vec<Rule> {
    draft.limits.rules(&draft.limit_places).into_iter().chain(draft.rules.iter().cloned()).collect()
}

/// The rules for which no other stands in.
fn unreplaced(rules: Vec<Rule>, by: &[Rule]) -> Vec<Rule> {
    rules.into_iter().filter(|rule| !is_replaced(rule, by)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::condition::Condition;

    fn flags(said: &Json) -> Flags {
        Flags::new(said).expect("flags are right")
    }

    fn whens(policy: &Policy) -> Vec<Condition> {
        policy.rules.iter().map(|rule| rule.when.clone()).collect()
    }

    #[test]
    fn a_flag_replaces_the_rule_of_its_reason_and_leaves_the_others() {
        let document = b"[limits]\niterations = 50\ncost_usd = 2.0\n".as_slice();
        let flags = flags(&json!({ "limits": { "iterations": 3 } }));
        let layers = Layers {
            document: Some((document, Syntax::Toml)),
            flags: Some(&flags),
            ..Layers::default()
        };
        let policy = layers.load().unwrap().policy;
        assert_eq!(whens(&policy), [Condition::max_iterations(3), Condition::max_cost(2.0)]);
    }

    #[test]
    fn without_anything_default_is_the_base_and_flags_replace_its_rules() {
        let flags = flags(&json!({ "limits": { "iterations": 3 }, "loop": { "grace": "1s" } }));
        let policy = Layers { flags: Some(&flags), ..Layers::default() }.load().unwrap().policy;
        let default = Policy::preset(Preset::Default);
        assert_eq!(policy.rules.len(), default.rules.len());
        assert_eq!(policy.rules[0].when, Condition::max_iterations(3));
        let settings = policy.settings.loop_.unwrap();
        assert_eq!(settings.idle_timeout, default.settings.loop_.unwrap().idle_timeout);
        assert!(settings.grace.is_some());
    }

    #[test]
    fn a_loop_gets_the_net_that_a_lawbook_does_not_need() {
        let document = br#"{"retry": {"stop_conditions": {"max_reject_rate": 0.25}}}"#.as_slice();
        let lawbook = Layers { document: Some((document, Syntax::Json)), ..Layers::default() };
        assert!(!is_bounded(&lawbook.load().unwrap().policy.rules));
        let in_a_loop = Layers { for_a_loop: true, ..lawbook }.load().unwrap();
        assert!(is_bounded(&in_a_loop.policy.rules));
        assert_eq!(in_a_loop.notes.len(), 1);
    }

    #[test]
    fn a_preset_is_the_same_policy_however_it_is_named() {
        for preset in Preset::ALL {
            let document = format!("preset = '{}'\n", preset.name());
            let named =
                Layers { document: Some((document.as_bytes(), Syntax::Toml)), ..Layers::default() };
            let flagged = Layers { presets: &[preset], ..Layers::default() };
            let is_bounded_itself = is_bounded(&preset.draft().rules);
            for layers in [named, flagged] {
                let policy = layers.load().unwrap().policy;
                assert_eq!(policy.hash(), Policy::preset(preset).hash(), "{}", preset.name());
                let in_a_loop = Layers { for_a_loop: true, ..layers }.load().unwrap();
                assert!(is_bounded(&in_a_loop.policy.rules), "{}", preset.name());
                assert_eq!(in_a_loop.notes.is_empty(), is_bounded_itself, "{}", preset.name());
                assert_eq!(in_a_loop.policy.dialect, policy.dialect);
            }
        }
    }

    #[test]
    fn a_document_with_rules_of_its_own_is_of_no_presets_dialect() {
        let rule = "[[rule]]\nwhen = { type = 'reject_rate', above = 0.2 }\nthen = 'stop'\n";
        for (own, is_bare) in [("", true), (rule, false), ("[limits]\ncost_usd = 5.0\n", false)] {
            for preset in [Preset::Pipeline, Preset::Rerun] {
                let document = format!("preset = '{}'\n{own}", preset.name());
                let policy = Policy::load(document.as_bytes(), Syntax::Toml).unwrap().policy;
                assert_eq!(policy.dialect.is_some(), is_bare, "{document}");
                assert_eq!(is_bounded(&policy.rules), !is_bare, "{document}");
                assert_eq!(policy.order, Policy::preset(preset).order);
            }
        }
    }

    #[test]
    fn presets_named_by_flag_stand_below_the_document() {
        let document =
            b"[[rule]]\nwhen = { type = 'no_progress', iterations = 9 }\nthen = 'stop'\n";
        let layers = Layers {
            presets: &[Preset::Ralph],
            document: Some((document.as_slice(), Syntax::Toml)),
            ..Layers::default()
        };
        let policy = layers.load().unwrap().policy;
        assert_eq!(policy.rules[0].when, Condition::no_progress(9));
        let stalled = policy.rules.iter().filter(|rule| rule.replaces().contains(&"stalled"));
        assert_eq!(stalled.count(), 1);
    }

    #[test]
    fn commands_of_a_flag_replace_those_of_the_document_and_leave_the_rest() {
        let document = b"[verify]\ncommand = 'a'\ntimeout = '5s'\n\
                         [[verify.tiers]]\ncommand = 'b'\n"
            .as_slice();
        let flags = flags(&json!({ "verify": { "command": "c" } }));
        let layers = Layers {
            document: Some((document, Syntax::Toml)),
            flags: Some(&flags),
            ..Layers::default()
        };
        let stages = layers.load().unwrap().policy.settings.verify.unwrap().stages();
        let told: Vec<_> = stages.iter().map(|stage| (stage.title(), stage.timeout)).collect();
        let five_seconds = crate::field::Period(std::time::Duration::from_secs(5));
        assert_eq!(told, [("c".to_owned(), Some(five_seconds))]);
    }

    #[test]
    fn flags_that_are_wrong_are_refused() {
        let errors = Flags::new(&json!({ "limits": { "iterations": 0 } })).unwrap_err();
        assert_eq!(errors.len(), 1);
    }
}
