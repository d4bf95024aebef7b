//! The documents of older tools, read as policies.
//!
//! Only their stop section is read strictly: the rest belongs to the host document.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::draft::{Draft, condition_span, stop_rule, user_rule};
use super::rule::Rule;
use super::{Order, Preset};
use crate::condition::{
    Condition, ConsecutiveFails, Cooldown, FailureClass, JobAttempts, MaxAttempts, NoSignalChange,
    RejectRate, RetryRate, TotalAttempts, Unresolved,
};
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table, Value};
use crate::field::{
    Count, Field, Findings, Period, Rate, Record, SetOf, Text, choices, optional, record,
};
use crate::reason::ReasonCode;
use crate::verdict::Verdict;

/// Which older tool's document a policy came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Loop,
    Pipeline,
    Rerun,
}

choices! {
    Dialect {
        "loop" => Loop,
        "pipeline" => Pipeline,
        "rerun" => Rerun,
    }
}

impl Dialect {
    /// Recognises a document by its keys; `None` is the native form.
    pub fn of(table: &Table) -> Option<Self> {
        let has = |key: &str| table.get(key).is_some();
        let has_stop_conditions = table.get("retry").is_some_and(
            |retry| matches!(&retry.node.value, Value::Table(retry) if retry.get("stop_conditions").is_some()),
        );
        // A host document may have keys of ours; `[[rule]]` and `dialect` are nobody else's.
        if has("rule") || has("dialect") {
            None
        } else if has("stopRules") {
            Some(Self::Rerun)
        } else if has_stop_conditions {
            Some(Self::Pipeline)
        } else if LOOP_SETS.iter().any(|(key, _)| has(key)) {
            Some(Self::Loop)
        } else if has("preset") || has("limits") {
            None
        } else if has("lawbookVersion") {
            Some(Self::Rerun)
        } else {
            has("retry").then_some(Self::Pipeline)
        }
    }

    pub(crate) fn read(self, table: &Table, findings: &mut Findings) -> Draft {
        let mut draft = match self {
            Self::Loop => read_loop(table, findings),
            Self::Pipeline => read_pipeline(table, findings),
            Self::Rerun => read_rerun(table, findings),
        };
        draft.dialect = Some(self);
        for key in ["limits", "preset"] {
            if let Some(entry) = table.get(key) {
                let message =
                    format!("`{key}` is ignored in a document of the {} dialect", self.name());
                findings.push(
                    Diagnostic::lint(message, entry.key_span.clone())
                        .label("`backstop policy show` writes the native form"),
                );
            }
        }
        draft
    }
}

const LOOP_SETS: [(&str, Verdict); 3] = [
    ("conditions", Verdict::Stop),
    ("success_conditions", Verdict::Complete),
    ("failure_conditions", Verdict::Fail),
];

fn read_loop(table: &Table, findings: &mut Findings) -> Draft {
    warn_of_misspelt(table, &LOOP_SETS.map(|(key, _)| key), findings);
    let mut rules = Vec::new();
    for (key, verdict) in LOOP_SETS {
        let Some(entry) = table.get(key) else { continue };
        let Value::List(items) = &entry.node.value else {
            findings.wrong_type(&entry.node, key, "a list of conditions");
            continue;
        };
        for item in items {
            if let Some(when) = Condition::read(item, key, findings) {
                rules.push(loop_rule(when, verdict, item));
            }
        }
    }
    Draft {
        stop_on_first: optional(table, "stop_on_first", findings).flatten().unwrap_or(false),
        rules,
        ..Draft::default()
    }
}

fn loop_rule(when: Condition, verdict: Verdict, node: &Node) -> Rule {
    let nameless = verdict == Verdict::Fail && has_no_reason_of_its_own(&when);
    let mut rule = user_rule(when, verdict, Some(condition_span(node)));
    rule.reason = nameless.then(|| ReasonCode::FailureCondition.as_str().to_owned());
    rule
}

fn has_no_reason_of_its_own(when: &Condition) -> bool {
    match when {
        Condition::Any(parts) => parts.iter().all(has_no_reason_of_its_own),
        leaf => Rule::new(leaf.clone(), Verdict::Fail).replaces().is_empty(),
    }
}

/// The host document's other keys are ignored, so a misspelt section would be a missing one.
fn warn_of_misspelt(table: &Table, names: &[&str], findings: &mut Findings) {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    for entry in &table.entries {
        let key = entry.key.as_str();
        let close = |name: &&&str| strsim::damerau_levenshtein(&plain(name), &plain(key)) <= 2;
        let meant = if names.contains(&key) { None } else { names.iter().find(close) };
        if let Some(name) = meant {
            findings.push(
                Diagnostic::lint(format!("`{}` is ignored", entry.key), entry.key_span.clone())
                    .label(format!("did you mean `{name}`?")),
            );
        }
    }
}

record! {
    /// The stop section of a pipeline's manifest.
    pub struct StopConditions {
        /// Beyond which share of finished units that took more than one attempt.
        default max_retry_rate: Rate = Rate(0.5),
        /// Beyond which share of finished units that were rejected or failed.
        default max_reject_rate: Rate = Rate(0.3),
        /// After how many rejected or failed units in a row.
        default max_consecutive_fails: Count = Count(3),
        /// After how many attempts over all units.
        default circuit_breaker_limit: Count = Count(50),
    }
}

fn read_pipeline(table: &Table, findings: &mut Findings) -> Draft {
    let section = match table.get("retry").map(|entry| &entry.node) {
        Some(Node { value: Value::Table(retry), .. }) => {
            warn_of_misspelt(retry, &["stop_conditions"], findings);
            optional::<StopConditions>(retry, "stop_conditions", findings)
                .map(|section| (section, retry))
        }
        Some(node) => {
            findings.wrong_type(node, "retry", "a table");
            None
        }
        None => None,
    };
    let Some((section, retry)) = section else { return Draft::default() };
    let Some(limits) = section else {
        return Draft { presets: vec![Preset::Pipeline], ..Draft::default() };
    };
    let span = |key: &str| match retry.get("stop_conditions").map(|entry| &entry.node.value) {
        Some(Value::Table(section)) => section.get(key).map(|entry| entry.key_span.clone()),
        _ => None,
    };
    let one = Count(1);
    let breaker = MaxAttempts { count: limits.circuit_breaker_limit };
    let fails = ConsecutiveFails { count: limits.max_consecutive_fails };
    let rejects = RejectRate { above: limits.max_reject_rate, min_units: one };
    let retries = RetryRate { above: limits.max_retry_rate, min_units: one };
    let mut rules = vec![
        stop_rule(breaker.into(), span("circuit_breaker_limit")),
        stop_rule(fails.into(), span("max_consecutive_fails")),
        stop_rule(rejects.into(), span("max_reject_rate")),
        stop_rule(retries.into(), span("max_retry_rate")),
    ];
    rules[0].name = Some(ReasonCode::CircuitBreaker.as_str().to_owned());
    Draft { order: Some(Order::Priority), rules, ..Draft::default() }
}

/// A number of minutes; 0 switches the rule off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Minutes(f64);

impl Field for Minutes {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let minutes = f64::read(node, key, findings)?;
        if (0.0..=MOST_MINUTES).contains(&minutes) {
            return Some(Self(minutes));
        }
        findings.push(
            Diagnostic::error(
                format!("`{key}` must be between 0 and {MOST_MINUTES} minutes"),
                node.span.clone(),
            )
            .label("0 switches the rule off"),
        );
        None
    }

    fn write(&self) -> Json {
        self.0.into()
    }

    fn schema() -> Json {
        json!({ "type": "number", "minimum": 0, "maximum": MOST_MINUTES })
    }
}

/// A thousand years.
const MOST_MINUTES: f64 = 525_600_000.0;

impl Minutes {
    fn period(self) -> Option<Period> {
        let duration = Duration::from_secs_f64(self.0 * 60.0);
        (!duration.is_zero()).then_some(Period(duration))
    }
}

/// The stop section of a lawbook, by its own keys.
struct StopRules<'a> {
    table: &'a Table,
    findings: &'a mut Findings,
    rules: Vec<Rule>,
}

impl StopRules<'_> {
    const KEYS: [&'static str; 6] = [
        "blockOnFailureClasses",
        "maxRerunsPerJob",
        "maxTotalRerunsPerPr",
        "noSignalChangeThreshold",
        "cooldownMinutes",
        "maxWaitMinutesForGreen",
    ];

    /// Reads a key; one that is left out or null has its default.
    fn value<T: Field>(&mut self, key: &str, default: T) -> T {
        match self.table.get(key) {
            None | Some(crate::document::Entry { node: Node { value: Value::Null, .. }, .. }) => {
                default
            }
            Some(entry) => T::read(&entry.node, key, self.findings).unwrap_or(default),
        }
    }

    fn add(&mut self, key: &str, when: impl Into<Condition>, then: Verdict) {
        let span = self.table.get(key).map(|entry| entry.key_span.clone());
        let mut rule = user_rule(when.into(), then, span);
        rule.name = Some(key.to_owned());
        self.rules.push(rule);
    }

    /// As `any_of` of `failure_class` does: a class of blanks would be contained in every other.
    fn refuse_blank_classes(&mut self, classes: &SetOf<Text>) {
        let key = "blockOnFailureClasses";
        let is_blank = |class: &Text| class.0.trim().is_empty();
        if let Some(entry) = self.table.get(key).filter(|_| classes.0.iter().any(is_blank)) {
            let span = entry.node.span.clone();
            self.findings.push(
                Diagnostic::error(format!("`{key}` holds a blank class"), span)
                    .label("it would match every failure"),
            );
        }
    }

    fn read(mut self) -> Vec<Rule> {
        crate::field::refuse_unknown_keys(self.table, "stopRules", &Self::KEYS, &[], self.findings);
        let classes = ["build deterministic", "lint error", "syntax error"];
        let classes = SetOf(classes.map(|class| Text(class.to_owned())).to_vec());
        let any_of = self.value("blockOnFailureClasses", classes);
        self.refuse_blank_classes(&any_of);
        self.add("blockOnFailureClasses", FailureClass { any_of }, Verdict::Hold);
        let count = self.value("maxRerunsPerJob", Count(2));
        self.add("maxRerunsPerJob", JobAttempts { count }, Verdict::Hold);
        let count = self.value("maxTotalRerunsPerPr", Count(5));
        self.add("maxTotalRerunsPerPr", TotalAttempts { count }, Verdict::Hold);
        let cycles = self.value("noSignalChangeThreshold", Count(2));
        self.add("noSignalChangeThreshold", NoSignalChange { cycles }, Verdict::Hold);
        if let Some(duration) = self.value("cooldownMinutes", Minutes(5.0)).period() {
            self.add("cooldownMinutes", Cooldown { duration }, Verdict::Hold);
        }
        if let Some(duration) = self.value("maxWaitMinutesForGreen", Minutes(0.0)).period() {
            self.add("maxWaitMinutesForGreen", Unresolved { duration }, Verdict::Kill);
        }
        self.rules
    }
}

fn read_rerun(table: &Table, findings: &mut Findings) -> Draft {
    warn_of_misspelt(table, &["stopRules"], findings);
    let label = table.get("lawbookVersion").and_then(|entry| match &entry.node.value {
        Value::String(text) | Value::Datetime(text) => Some(text.clone()),
        // As it was written: `1.10` is another version than `1.1`.
        Value::Integer(_) | Value::Float(_) => {
            findings.text.get(entry.node.span.clone()).map(str::to_owned)
        }
        Value::Null => None,
        _ => {
            findings.wrong_type(&entry.node, "lawbookVersion", "a string");
            None
        }
    });
    let rules = match table.get("stopRules").map(|entry| &entry.node) {
        Some(Node { value: Value::Table(section), .. }) => {
            StopRules { table: section, findings, rules: Vec::new() }.read()
        }
        Some(Node { value: Value::Null, .. }) | None => {
            return Draft { presets: vec![Preset::Rerun], label, ..Draft::default() };
        }
        Some(node) => {
            findings.wrong_type(node, "stopRules", "a table");
            Vec::new()
        }
    };
    Draft { label, order: Some(Order::Priority), rules, ..Draft::default() }
}

/// The schemas of the three dialects, whose host documents may hold anything else.
pub(crate) fn schemas() -> [Json; 3] {
    let conditions = || json!({ "type": "array", "items": Condition::schema() });
    // A key of a lawbook that is null has its default.
    let or_null = |mut schema: Json| {
        schema["type"] = json!([schema["type"], "null"]);
        schema
    };
    [
        json!({
            "title": "loop",
            "type": "object",
            "properties": {
                "conditions": conditions(),
                "success_conditions": conditions(),
                "failure_conditions": conditions(),
                "stop_on_first": { "type": "boolean" },
            },
            "anyOf": LOOP_SETS.map(|(key, _)| json!({ "required": [key] })),
        }),
        json!({
            "title": "pipeline",
            "type": "object",
            "properties": { "retry": {
                "type": "object",
                "properties": { "stop_conditions": StopConditions::schema_object() },
            } },
            "required": ["retry"],
        }),
        json!({
            "title": "rerun",
            "type": "object",
            "properties": {
                "lawbookVersion": { "type": ["string", "number", "null"] },
                "stopRules": {
                    "type": ["object", "null"],
                    "additionalProperties": false,
                    "properties": {
                        "blockOnFailureClasses": or_null(SetOf::<Text>::schema()),
                        "maxRerunsPerJob": or_null(Count::schema()),
                        "maxTotalRerunsPerPr": or_null(Count::schema()),
                        "noSignalChangeThreshold": or_null(Count::schema()),
                        "cooldownMinutes": or_null(Minutes::schema()),
                        "maxWaitMinutesForGreen": or_null(Minutes::schema()),
                    },
                },
            },
            "anyOf": [{ "required": ["stopRules"] }, { "required": ["lawbookVersion"] }],
        }),
    ]
}
