//! What is different between two policies, in plain words: for people who put one in force.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value as Json};

use super::{Policy, Rule};
use crate::field::Record;

/// What changes when one policy takes the place of another, a sentence for each change. None if
/// they are the same.
pub fn in_words(from: &Policy, to: &Policy) -> Vec<String> {
    let mut words = Words(Vec::new());
    words.of_value("the label", from.label.as_deref(), to.label.as_deref());
    let dialect = |policy: &Policy| policy.dialect.map(super::Dialect::name);
    words.of_value("the dialect", dialect(from), dialect(to));
    words.of_value("who wins", Some(from.order.name()), Some(to.order.name()));
    if from.stop_on_first != to.stop_on_first {
        words.say(match to.stop_on_first {
            true => "the first rule that is met now wins, whatever its verdict",
            false => "the most severe rule that is met now wins, not the first",
        });
    }
    words.of_rules(&from.rules, &to.rules);
    let (old, new) = (sections(from), sections(to));
    words.of_sections(&old, &new);
    words.of_tables(&tables(old), &tables(new));
    let webhook =
        |policy: &Policy| policy.settings.notify.as_ref().and_then(|notify| notify.webhook.clone());
    if let (Some(old), Some(new)) = (webhook(from), webhook(to))
        && old != new
        && old.to_string() == new.to_string()
    {
        words.say("`webhook` in `[notify]` has changed in a part that is not shown");
    }
    words.of_reasons(from, to);
    if words.0.is_empty() && from.hash() != to.hash() {
        words.say("something else is different, for which there are no words");
    }
    words.0
}

struct Words(Vec<String>);

impl Words {
    fn say(&mut self, sentence: impl Into<String>) {
        self.0.push(sentence.into());
    }

    fn of_value(&mut self, what: &str, from: Option<&str>, to: Option<&str>) {
        match (from, to) {
            (from, to) if from == to => {}
            (Some(from), Some(to)) => self.say(format!("{what} is now `{to}`, and was `{from}`")),
            (None, Some(to)) => self.say(format!("{what} is now `{to}`, and was not given")),
            (Some(from), None) => self.say(format!("{what} is no longer given, and was `{from}`")),
            (None, None) => {}
        }
    }

    fn of_rules(&mut self, from: &[Rule], to: &[Rule]) {
        let pairs = pairs(from, to);
        let partner_of: BTreeMap<usize, usize> =
            pairs.iter().map(|(old, new)| (*new, *old)).collect();
        let kept: BTreeSet<usize> = pairs.iter().map(|(old, _)| *old).collect();
        for (_, rule) in from.iter().enumerate().filter(|(old, _)| !kept.contains(old)) {
            self.say(format!("rule `{}` is gone: {}", rule.name(), told(rule)));
        }
        for (new, rule) in to.iter().enumerate() {
            match partner_of.get(&new) {
                Some(old) => self.of_rule(&from[*old], rule),
                None => self.say(format!("rule `{}` is new: {}", rule.name(), told(rule))),
            }
        }
        // Among equals the first wins.
        let order: Vec<usize> = pairs.iter().map(|(old, _)| *old).collect();
        if !order.is_sorted() {
            self.say("the rules stand in another order, which counts among equals");
        }
    }

    fn of_rule(&mut self, from: &Rule, to: &Rule) {
        let name = to.name();
        if from.name() != name {
            self.say(format!("rule `{name}` was called `{}`", from.name()));
        }
        if from.when != to.when {
            match changed_limits(from, to) {
                Some(changes) => {
                    self.0.extend(
                        changes.into_iter().map(|change| format!("rule `{name}`: {change}")),
                    );
                }
                None => self.say(format!(
                    "rule `{name}` is now met {}, and was {}",
                    to.when.describe(),
                    from.when.describe()
                )),
            }
        }
        let about = |what: &str| format!("rule `{name}`: {what}");
        self.of_value(&about("its verdict"), Some(from.then.as_str()), Some(to.then.as_str()));
        self.of_value(&about("its reason"), from.reason.as_deref(), to.reason.as_deref());
        let priority = |rule: &Rule| rule.priority().to_string();
        self.of_value(&about("its priority"), Some(&priority(from)), Some(&priority(to)));
        self.of_value(&about("its message"), from.message.as_deref(), to.message.as_deref());
        self.of_value(
            &about("what it does when it can't be evaluated"),
            Some(from.on_unknown.name()),
            Some(to.on_unknown.name()),
        );
        match (from.shadow, to.shadow) {
            (false, true) => self.say(about("it is only watched now, and was acted on")),
            (true, false) => self.say(about("it is acted on now, and was only watched")),
            _ => {}
        }
    }

    /// A section without a field may switch something on by being there.
    fn of_sections(&mut self, from: &Map<String, Json>, to: &Map<String, Json>) {
        let is_empty = |section: &Json| section.as_object().is_some_and(Map::is_empty);
        let only_in = |one: &Map<String, Json>, other: &Map<String, Json>| -> Vec<String> {
            let here = one
                .iter()
                .filter(|(name, section)| is_empty(section) && !other.contains_key(*name));
            here.map(|(name, _)| name.clone()).collect()
        };
        for name in only_in(from, to) {
            self.say(format!("`[{name}]` is gone, and was there with its defaults"));
        }
        for name in only_in(to, from) {
            self.say(format!("`[{name}]` is there now, with its defaults"));
        }
    }

    fn of_tables(&mut self, from: &Tables, to: &Tables) {
        for (place, old) in from {
            match to.get(place) {
                None => self.say(format!("{place} is no longer set, and was {old}")),
                Some(new) if new == old => {}
                Some(new) => self.say(changed(place, old, new)),
            }
        }
        for (place, new) in to.iter().filter(|(place, _)| !from.contains_key(*place)) {
            self.say(format!("{place} is now {new}, and was not set"));
        }
    }

    fn of_reasons(&mut self, from: &Policy, to: &Policy) {
        let find = |policy: &Policy, code: &str| {
            policy.reasons.iter().find(|reason| reason.code == code).cloned()
        };
        for old in &from.reasons {
            let code = &old.code;
            let Some(new) = find(to, code) else {
                self.say(format!("reason `{code}` is gone"));
                continue;
            };
            let about = |what: &str| format!("reason `{code}`: {what}");
            self.of_value(&about("its title"), Some(&old.title), Some(&new.title));
            let exit_codes = (old.exit_code.to_string(), new.exit_code.to_string());
            self.of_value(&about("its exit code"), Some(&exit_codes.0), Some(&exit_codes.1));
            self.of_value(&about("its diagnosis"), Some(&old.diagnosis), Some(&new.diagnosis));
        }
        for new in to.reasons.iter().filter(|new| find(from, &new.code).is_none()) {
            let (code, title, exit_code) = (&new.code, &new.title, new.exit_code);
            self.say(format!("reason `{code}` is new: {title} (exit code {exit_code})"));
        }
    }
}

fn told(rule: &Rule) -> String {
    format!("`{}` {}", rule.then.as_str(), rule.when.describe())
}

/// Which rule of the one policy is which of the other, in the order of the new one: the same one,
/// else one with the same name, else one with the same type of condition. Each is used once.
fn pairs(from: &[Rule], to: &[Rule]) -> Vec<(usize, usize)> {
    let keys: [fn(&Rule) -> String; 3] = [
        |rule| rule.to_json().to_string(),
        |rule| rule.name().to_owned(),
        |rule| rule.when.type_name().to_owned(),
    ];
    let (mut is_used, mut partner) = (vec![false; from.len()], vec![None; to.len()]);
    for key in keys {
        let mut free: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (old, rule) in from.iter().enumerate().filter(|(old, _)| !is_used[*old]) {
            free.entry(key(rule)).or_default().push_back(old);
        }
        for (new, rule) in to.iter().enumerate() {
            if partner[new].is_none()
                && let Some(old) = free.get_mut(&key(rule)).and_then(VecDeque::pop_front)
            {
                is_used[old] = true;
                partner[new] = Some(old);
            }
        }
    }
    let partners = partner.into_iter().enumerate();
    partners.filter_map(|(new, old)| old.map(|old| (old, new))).collect()
}

/// What has changed where the conditions are of one type and differ in plain values only.
fn changed_limits(from: &Rule, to: &Rule) -> Option<Vec<String>> {
    let (Json::Object(from), Json::Object(to)) = (from.when.to_json(), to.when.to_json()) else {
        return None;
    };
    let is_plain = |value: &Json| !value.is_object() && !value.is_array();
    let alike = from.len() == to.len() && from.keys().eq(to.keys()) && from["type"] == to["type"];
    let changes: Vec<(&String, &Json, &Json)> = from
        .iter()
        .filter_map(|(key, old)| Some((key, old, to.get(key)?)))
        .filter(|(_, old, new)| old != new)
        .collect();
    let plain = changes.iter().all(|(_, old, new)| is_plain(old) && is_plain(new));
    (alike && plain && !changes.is_empty()).then(|| {
        changes.iter().map(|(key, old, new)| changed(&format!("`{key}`"), old, new)).collect()
    })
}

fn changed(what: &str, old: &Json, new: &Json) -> String {
    match size(old).zip(size(new)).and_then(|(old, new)| new.partial_cmp(&old)) {
        Some(Ordering::Greater) => format!("{what} is raised from {old} to {new}"),
        Some(Ordering::Less) => format!("{what} is lowered from {old} to {new}"),
        _ => format!("{what} is now {new}, and was {old}"),
    }
}

/// How large a value is, where it is a number or a duration.
fn size(value: &Json) -> Option<f64> {
    match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => humantime::parse_duration(text).ok().map(|time| time.as_secs_f64()),
        _ => None,
    }
}

type Tables = BTreeMap<String, Json>;

/// The limits and settings by the names of their sections.
fn sections(policy: &Policy) -> Map<String, Json> {
    let mut all = Map::new();
    policy.settings.write(&mut all);
    let mut limits = Map::new();
    policy.limits.write_fields(&mut limits);
    all.insert("limits".to_owned(), limits.into());
    // What follows the host of a webhook's address may be a secret.
    if let Some(webhook) =
        policy.settings.notify.as_ref().and_then(|notify| notify.webhook.as_ref())
        && let Some(Json::Object(notify)) = all.get_mut("notify")
    {
        notify.insert("webhook".to_owned(), webhook.to_string().into());
    }
    all
}

/// Every value of sections by its place: `` `grace` in `[loop]` ``.
fn tables(sections: Map<String, Json>) -> Tables {
    let sections = sections.into_iter().filter_map(|(name, section)| match section {
        Json::Object(fields) => Some((name, fields)),
        _ => None,
    });
    sections
        .flat_map(|(name, fields)| {
            let place = move |key: &str| format!("`{key}` in `[{name}]`");
            fields.into_iter().map(move |(key, value)| (place(&key), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::document::Syntax;
    use crate::policy::Preset;

    fn policy(text: &str) -> Policy {
        Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy
    }

    const BASE: &str = "label = \"one\"\n[limits]\niterations = 50\nduration = \"8h\"\n";

    #[rstest]
    #[case::raised(
        "label = \"one\"\n[limits]\niterations = 80\nduration = \"8h\"\n",
        &["rule `max_iterations`: `count` is raised from 50 to 80"]
    )]
    #[case::lowered(
        "label = \"two\"\n[limits]\niterations = 50\nduration = \"90m\"\n",
        &["the label is now `two`, and was `one`",
          "rule `max_duration`: `duration` is lowered from \"8h\" to \"1h 30m\""]
    )]
    #[case::added(
        "label = \"one\"\n[limits]\niterations = 50\nduration = \"8h\"\ncost_usd = 5\n",
        &["rule `max_cost` is new: `stop` after $5.00"]
    )]
    #[case::settings(
        "label = \"one\"\n[limits]\niterations = 50\nduration = \"8h\"\n[loop]\ngrace = \"20s\"\n",
        &["`grace` in `[loop]` is now \"20s\", and was not set"]
    )]
    #[case::reason(
        "label = \"one\"\n[limits]\niterations = 50\nduration = \"8h\"\n\
         [[reason]]\ncode = \"owner_said_no\"\ntitle = \"No\"\nexit_code = 61\ndiagnosis = \"Ask.\"\n",
        &["reason `owner_said_no` is new: No (exit code 61)"]
    )]
    fn a_change_is_told(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(in_words(&policy(BASE), &policy(text)), expected);
    }

    #[test]
    fn rules_change_in_every_way() {
        let rule = |fields: &str| {
            policy(&format!(
                "[limits]\niterations = 1\nduration = \"1h\"\n\
                 [[rule]]\nname = \"idle\"\n{fields}\n"
            ))
        };
        let from = rule("when = { type = \"no_progress\", iterations = 3 }\nthen = \"stop\"");
        let to = rule(
            "when = { type = \"not\", condition = { type = \"all_tests_pass\" } }\nthen = \"ask\"\n\
             priority = 5\nmessage = \"well\"\nshadow = true",
        );
        let words = in_words(&from, &to);
        assert!(words[0].starts_with("rule `idle` is now met when NOT: ["), "{words:?}");
        assert_eq!(words[1], "rule `idle`: its verdict is now `ask`, and was `stop`");
        assert!(
            words.contains(&"rule `idle`: its message is now `well`, and was not given".into())
        );
        assert!(words.contains(&"rule `idle`: it is only watched now, and was acted on".into()));
        assert!(words.iter().any(|word| word.starts_with("rule `idle`: its priority is now `5`")));
        let back = in_words(&to, &from);
        assert!(back.contains(&"rule `idle`: it is acted on now, and was only watched".into()));
        let gone = in_words(&from, &policy("[limits]\niterations = 1\nduration = \"1h\"\n"));
        assert_eq!(gone.len(), 1);
        assert!(gone[0].starts_with("rule `idle` is gone: `stop` "), "{gone:?}");
    }

    #[test]
    fn the_same_policy_is_no_difference_and_any_other_is() {
        for one in Preset::ALL.map(Policy::preset) {
            for other in Preset::ALL.map(Policy::preset) {
                let words = in_words(&one, &other);
                assert_eq!(words.is_empty(), one.hash() == other.hash(), "{words:?}");
            }
        }
    }

    #[rstest]
    #[case::guards("guards", "`[guards]` is there now, with its defaults")]
    #[case::progress("progress", "`[progress]` is there now, with its defaults")]
    fn a_section_that_is_only_there_is_told(#[case] section: &str, #[case] expected: &str) {
        let (from, to) = (policy(BASE), policy(&format!("{BASE}[{section}]\n")));
        assert_eq!(in_words(&from, &to), [expected]);
        let back = in_words(&to, &from);
        assert_eq!(back, [format!("`[{section}]` is gone, and was there with its defaults")]);
    }

    #[test]
    fn a_rule_that_is_called_otherwise_is_told() {
        let named = |name: &str| {
            policy(&format!(
                "{BASE}[[rule]]\n{name}when = {{ type = \"all_tests_pass\" }}\nthen = \"ask\"\n"
            ))
        };
        let words = in_words(&named("name = \"green\"\n"), &named("name = \"done\"\n"));
        assert_eq!(words, ["rule `done` was called `green`"]);
        // The name that it has anyway is as good as none.
        let default = named("");
        let name = default.rules.last().unwrap().name().to_owned();
        let same = named(&format!("name = \"{name}\"\n"));
        assert_eq!(in_words(&default, &same).is_empty(), default.hash() == same.hash());
    }

    #[test]
    fn another_order_is_told() {
        let rules = ["ask", "stop"].map(|then| {
            format!("[[rule]]\nname = \"{then}\"\nwhen = {{ type = \"all_tests_pass\" }}\nthen = \"{then}\"\n")
        });
        let limits = "[limits]\niterations = 1\nduration = \"1h\"\n";
        let from = policy(&format!("{limits}{}{}", rules[0], rules[1]));
        let to = policy(&format!("{limits}{}{}", rules[1], rules[0]));
        let words = in_words(&from, &to);
        assert_eq!(words, ["the rules stand in another order, which counts among equals"]);
    }

    #[test]
    fn what_may_be_a_secret_is_not_told() {
        let with = |path: &str| {
            policy(&format!("{BASE}[notify]\nwebhook = \"https://example.org/{path}\"\n"))
        };
        let words = in_words(&with("first"), &with("second"));
        assert_eq!(words, ["`webhook` in `[notify]` has changed in a part that is not shown"]);
    }
}
