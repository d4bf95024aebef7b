//! A policy as one document states it, before presets and limits are worked in.

use super::judging::refuse_without_judge;
use super::rule::{Rule, RuleFields, canonical_code};
use super::settings::Settings;
use super::{Dialect, Order, Preset};
use crate::condition::Condition;
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::document::{Node, Table, Value};
use crate::field::{
    Count, Field, Findings, Money, OneOrMany, Period, Record, choices, optional, record,
    refuse_unknown_keys,
};
use crate::reason::{self, CustomReason};
use crate::verdict::Verdict;

/// What one document says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Draft {
    pub(crate) presets: Vec<Preset>,
    pub(crate) label: Option<String>,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) order: Option<Order>,
    pub(crate) stop_on_first: bool,
    pub(crate) limits: Limits,
    pub(crate) limit_places: LimitPlaces,
    pub(crate) rules: Vec<Rule>,
    pub(crate) settings: Settings,
    pub(crate) reasons: Vec<CustomReason>,
}

record! {
    /// Shorthand for the usual rules, and how limits are held.
    #[derive(Default)]
    pub struct Limits {
        /// How many iterations may finish.
        optional iterations: Count,
        /// How long the run may be active.
        optional duration: Period,
        /// How many tokens may be used.
        optional tokens: Count,
        /// How many US dollars may be spent.
        optional cost_usd: Money,
        /// Don't start an iteration that the rest of a budget can't pay for.
        optional preflight: bool,
        /// What to do when nobody reports tokens or cost: hold, or go on without that limit.
        optional unmetered: Unmetered,
        /// Neither a limit on iterations nor on time is wanted.
        optional unlimited: bool,
    }
}

/// What to do when nobody reports what a limit is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmetered {
    Hold,
    Allow,
}

choices! {
    Unmetered {
        "hold" => Hold,
        "allow" => Allow,
    }
}

impl Limits {
    /// The rules that the shorthand stands for.
    pub(crate) fn rules(&self, places: &LimitPlaces) -> Vec<Rule> {
        let conditions = [
            self.iterations.map(|count| Condition::max_iterations(count.0)),
            self.duration.map(|duration| Condition::max_duration(duration.0)),
            self.tokens.map(|count| Condition::max_tokens(count.0)),
            self.cost_usd.map(|usd| Condition::max_cost(usd.0)),
        ];
        let rule = |(when, place): (Option<Condition>, &Option<Span>)| {
            when.map(|when| stop_rule(when, place.clone()))
        };
        conditions.into_iter().zip(places).filter_map(rule).collect()
    }

    /// What remains once the shorthand is written out.
    #[must_use]
    pub(crate) fn without_shorthand(self) -> Self {
        Self { iterations: None, duration: None, tokens: None, cost_usd: None, ..self }
    }
}

/// Where the shorthand stands, in the order of its rules.
pub(crate) type LimitPlaces = [Option<Span>; 4];

fn limit_places(table: &Table) -> LimitPlaces {
    ["iterations", "duration", "tokens", "cost_usd"].map(|key| {
        let Value::Table(limits) = &table.get("limits")?.node.value else { return None };
        let entry = limits.get(key)?;
        Some(entry.key_span.start..entry.node.span.end.max(entry.key_span.end))
    })
}

/// A rule as a user writes it: with the default for what can't be evaluated.
pub(crate) fn stop_rule(when: Condition, span: Option<Span>) -> Rule {
    user_rule(when, Verdict::Stop, span)
}

pub(crate) fn user_rule(when: Condition, then: Verdict, span: Option<Span>) -> Rule {
    let on_unknown = Rule::default_on_unknown(&when, then);
    Rule { on_unknown, span, ..Rule::new(when, then) }
}

impl Draft {
    /// Reads a document in the native form; what is wrong with it is in `findings`.
    pub(crate) fn read(table: &Table, findings: &mut Findings) -> Self {
        let own = [
            "$schema",
            "preset",
            "label",
            "dialect",
            "order",
            "stop_on_first",
            "limits",
            "rule",
            "reason",
        ];
        refuse_unknown_keys(table, "policy", &own, Settings::KEYS, findings);
        let mut draft = Self {
            presets: read::<OneOrMany<Preset>>(table, "preset", findings)
                .map(|presets| presets.0)
                .unwrap_or_default(),
            label: read(table, "label", findings),
            dialect: read(table, "dialect", findings),
            order: read(table, "order", findings),
            stop_on_first: read(table, "stop_on_first", findings).unwrap_or(false),
            limits: read(table, "limits", findings).unwrap_or_default(),
            limit_places: limit_places(table),
            settings: Settings::read(table, findings).unwrap_or_default(),
            ..Self::default()
        };
        refuse_without_judge(table, findings);
        draft.reasons = read_reasons(table, findings);
        draft.rules = read_rules(table, &draft.reasons, findings);
        draft
    }
}

fn read<T: Field>(table: &Table, key: &str, findings: &mut Findings) -> Option<T> {
    optional(table, key, findings).flatten()
}

/// The entries of a `[[table]]`; wrong ones are left out, since they were reported.
fn read_entries<'a>(table: &'a Table, key: &str, findings: &mut Findings) -> &'a [Node] {
    match table.get(key).map(|entry| &entry.node) {
        None => &[],
        Some(Node { value: Value::List(items), .. }) => items,
        Some(node) => {
            findings.wrong_type(node, key, &format!("a list of tables, written `[[{key}]]`"));
            &[]
        }
    }
}

fn read_rules(table: &Table, reasons: &[CustomReason], findings: &mut Findings) -> Vec<Rule> {
    let entries = read_entries(table, "rule", findings);
    entries.iter().filter_map(|node| read_rule(node, reasons, findings)).collect()
}

fn read_rule(node: &Node, reasons: &[CustomReason], findings: &mut Findings) -> Option<Rule> {
    let fields = RuleFields::read(node, "rule", findings);
    let reason = match &node.value {
        Value::Table(table) => table.get("reason").map(|entry| &entry.node),
        _ => None,
    };
    let code = match reason {
        Some(node) => Some(read_reason_code(node, reasons, findings)?),
        None => None,
    };
    let fields = fields?;
    let on_unknown =
        fields.on_unknown.unwrap_or_else(|| Rule::default_on_unknown(&fields.when, fields.then));
    Some(Rule {
        when: fields.when,
        then: fields.then,
        reason: code,
        priority: fields.priority,
        message: fields.message.map(|text| text.0),
        name: fields.name.map(|text| text.0),
        on_unknown,
        shadow: fields.shadow,
        span: Some(type_span(node)),
    })
}

/// A rule's reason: one of the registry, or one that this policy declares.
fn read_reason_code(
    node: &Node,
    reasons: &[CustomReason],
    findings: &mut Findings,
) -> Option<String> {
    let Value::String(written) = &node.value else { return None };
    if let Some(code) = canonical_code(written) {
        return Some(code.to_owned());
    }
    if reasons.iter().any(|own| own.code == *written) {
        return Some(written.clone());
    }
    let own = reasons.iter().map(|own| own.code.as_str());
    let near = nearest(written, own).or_else(|| reason::nearest(written));
    let error = Diagnostic::error(format!("unknown reason `{written}`"), node.span.clone());
    findings.push(match near {
        Some(near) => error.label(format!("did you mean `{near}`?")),
        None => error.hint("declare it with `[[reason]]`, or see `backstop reasons`"),
    });
    None
}

record! {
    /// A reason of the policy's own.
    pub struct ReasonFields {
        /// Its name, in lower case with underscores.
        required code: String,
        /// A few words for people.
        required title: String,
        /// 60 to 63, or 79 to 99.
        required exit_code: i32,
        /// What it means and what to do.
        default diagnosis: String = String::new(),
    }
}

fn read_reasons(table: &Table, findings: &mut Findings) -> Vec<CustomReason> {
    let mut reasons: Vec<(CustomReason, Span)> = Vec::new();
    for node in read_entries(table, "reason", findings) {
        let Some(fields) = ReasonFields::read(node, "reason", findings) else { continue };
        let place = |key: &str| match &node.value {
            Value::Table(table) => table.get(key).map(|entry| entry.node.span.clone()),
            _ => None,
        };
        let Ok(exit_code) = u8::try_from(fields.exit_code) else {
            let message = format!("exit code {} is no exit code", fields.exit_code);
            let span = place("exit_code").unwrap_or(node.span.clone());
            findings.push(Diagnostic::error(message, span).label("use 60 to 63 or 79 to 99"));
            continue;
        };
        let own = CustomReason {
            code: fields.code,
            title: fields.title,
            exit_code,
            diagnosis: fields.diagnosis,
        };
        if let Err(problem) = own.check() {
            let span = place(problem.key()).unwrap_or(node.span.clone());
            findings.push(Diagnostic::error(problem.to_string(), span));
            continue;
        }
        let span = place("code").unwrap_or(node.span.clone());
        if let Some((_, first)) = reasons.iter().find(|(known, _)| known.code == own.code) {
            findings.push(
                Diagnostic::error(format!("reason `{}` is declared twice", own.code), span)
                    .related(first.clone(), "first declared here"),
            );
            continue;
        }
        // By the exit code alone a script tells one reason from another.
        let taken = reasons.iter().find(|(known, _)| known.exit_code == own.exit_code);
        if let Some((known, first)) = taken {
            let message = format!("exit code {exit_code} is that of reason `{}`", known.code);
            let span = place("exit_code").unwrap_or(node.span.clone());
            findings.push(
                Diagnostic::error(message, span)
                    .label("use another one of 60 to 63 or 79 to 99")
                    .related(first.clone(), "declared here"),
            );
            continue;
        }
        reasons.push((own, span));
    }
    reasons.into_iter().map(|(own, _)| own).collect()
}

/// Where the type of a rule's condition stands, which is what a lint underlines.
fn type_span(node: &Node) -> Span {
    let when = match &node.value {
        Value::Table(table) => table.get("when").map(|entry| &entry.node),
        _ => None,
    };
    when.map_or(node.span.clone(), condition_span)
}

/// The `type = "…"` of a condition.
pub(crate) fn condition_span(node: &Node) -> Span {
    match &node.value {
        Value::Table(table) => match table.get("type") {
            Some(entry) => entry.key_span.start..entry.node.span.end.max(entry.key_span.end),
            None => node.span.clone(),
        },
        _ => node.span.clone(),
    }
}

/// The schema of the native form's own keys.
pub(crate) fn schema(properties: &mut serde_json::Map<String, serde_json::Value>) {
    let mut reason = ReasonFields::schema_object();
    reason["properties"]["exit_code"] = serde_json::json!({
        "description": "60 to 63, or 79 to 99.",
        "anyOf": [
            { "type": "integer", "minimum": 60, "maximum": 63 },
            { "type": "integer", "minimum": 79, "maximum": 99 },
        ],
    });
    let entries = [
        (
            "$schema",
            serde_json::json!({ "type": "string", "description": "Where an editor finds this schema." }),
        ),
        ("preset", OneOrMany::<Preset>::schema()),
        ("label", String::schema()),
        ("dialect", Dialect::schema()),
        ("order", Order::schema()),
        ("stop_on_first", bool::schema()),
        ("limits", Limits::schema_object()),
        ("rule", Vec::<RuleFields>::schema()),
        ("reason", serde_json::json!({ "type": "array", "items": reason })),
    ];
    for (key, schema) in entries {
        properties.insert(key.to_owned(), schema);
    }
}
