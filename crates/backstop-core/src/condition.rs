//! Conditions as data: each can be read, written, described and evaluated.

use serde_json::{Map, Value as Json, json};

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Node, Table, Value, canonical_json, sha256_hex};
use crate::event::LimitValue;
use crate::facts::{Streaks, Watch};
use crate::field::{Field, Findings, Place, Record, object_schema, refuse_unknown_keys};
use crate::reason::ReasonCode;
use crate::time::Wake;

mod budgets;
mod build;
mod errors;
mod expr;
mod judging;
mod kind;
mod measure;
mod output;
mod people;
mod progress;
mod reference;
mod reruns;
mod test_results;
mod units;
pub(crate) mod words;

pub use budgets::{
    ClockTime, ContextUsage, MaxCost, MaxDuration, MaxIterations, MaxTokens, Quota, WallClock,
};
pub use errors::{ConsecutiveErrors, ErrorRate, ExitCode, OnError};
pub use expr::Expr;
pub use judging::{DiminishingReturns, HealthBelow, TasksDone, TopicDrift};
pub use measure::{Measure, Scene, SilentMeters, Truth};
pub use output::{CustomScript, FileContains, FileCreated, OutputPattern, OutputSource, Since};
pub use people::{GuardViolated, ReviewEnded, UserSignal, VerificationEnded, WorkerEnded};
pub use progress::{NoProgress, Repetition, Stagnation};
pub use reference::reference;
pub use reruns::{Cooldown, FailureClass, JobAttempts, NoSignalChange, TotalAttempts, Unresolved};
pub use test_results::{AllTestsPass, SpecificTestsPass, TestFailureStreak};
pub use units::{ConsecutiveFails, MaxAttempts, RejectRate, RetryRate};

pub(crate) use kind::Kind;

/// The deepest that conditions may stand inside each other.
pub const MAX_NESTING: usize = 32;

/// Declares the condition types once, in the order of the specification.
macro_rules! conditions {
    ($($variant:ident($type:ident),)*) => {
        /// A predicate over facts and time.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Condition {
            $($variant($type),)*
            /// All of them are met.
            All(Vec<Condition>),
            /// Any of them is met.
            Any(Vec<Condition>),
            /// It is not met.
            Not(Box<Condition>),
            /// Never met.
            Never,
        }

        $(impl From<$type> for Condition {
            fn from(mut kind: $type) -> Self {
                let nowhere = Node { span: 0..0, value: Value::Null };
                kind.prepare(&nowhere, &mut Findings::default());
                Self::$variant(kind)
            }
        })*

        impl Condition {
            /// The names of all types, in the order of the specification.
            pub const TYPE_NAMES: &'static [&'static str] =
                &[$($type::TYPE,)* "all", "any", "not", "never"];

            /// Its type's name in documents.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $type::TYPE,)*
                    Self::All(_) => "all",
                    Self::Any(_) => "any",
                    Self::Not(_) => "not",
                    Self::Never => "never",
                }
            }

            /// The priority of a rule that does not say its own.
            pub fn priority(&self) -> i32 {
                match self {
                    $(Self::$variant(_) => $type::PRIORITY,)*
                    Self::All(_) | Self::Any(_) => 20,
                    Self::Not(_) => 10,
                    Self::Never => 0,
                }
            }

            /// When it is met, in one plain phrase.
            pub fn describe(&self) -> String {
                match self {
                    $(Self::$variant(kind) => kind.describe(),)*
                    Self::All(parts) => format!("when ALL: [{}]", described(parts, " AND ")),
                    Self::Any(parts) => format!("when ANY: [{}]", described(parts, " OR ")),
                    Self::Not(part) => format!("when NOT: [{}]", part.describe()),
                    Self::Never => "never".to_owned(),
                }
            }

            /// Whether it is met, how far it is, and the figures behind that.
            pub fn measure(&self, scene: &Scene<'_>) -> Measure {
                match self {
                    $(Self::$variant(kind) => kind.measure(scene),)*
                    Self::All(parts) => measure_all(parts, scene),
                    Self::Any(parts) => measure_any(parts, scene),
                    Self::Not(part) => measure_not(part, scene),
                    Self::Never => Measure::plain(false),
                }
            }

            /// Why it is met, or how far it is, in one plain sentence.
            pub fn note(&self, scene: &Scene<'_>) -> String {
                match self {
                    $(Self::$variant(kind) => kind.note(scene, &kind.measure(scene)),)*
                    Self::All(parts) => note_all(parts, scene),
                    Self::Any(parts) => note_any(parts, scene),
                    Self::Not(part) => format!("Not: {}", part.note(scene)),
                    Self::Never => "Never met".to_owned(),
                }
            }

            /// The reason of a rule that does not name its own.
            pub fn reason(&self, scene: &Scene<'_>) -> ReasonCode {
                match self {
                    $(Self::$variant(kind) => kind.reason(scene),)*
                    Self::Any(parts) => parts
                        .iter()
                        .find(|part| part.measure(scene).truth.is_met())
                        .map_or(ReasonCode::ConditionMet, |part| part.reason(scene)),
                    Self::All(_) | Self::Not(_) | Self::Never => ReasonCode::ConditionMet,
                }
            }

            /// When the answer may change by itself.
            pub fn wake(&self, scene: &Scene<'_>) -> Wake {
                match self {
                    $(Self::$variant(kind) => kind.wake(scene),)*
                    _ => self
                        .parts()
                        .iter()
                        .fold(Wake::NEVER, |wake, part| wake.or(part.wake(scene).after(scene.now))),
                }
            }

            /// The groups of facts that it reads.
            pub fn watches(&self) -> Watch {
                match self {
                    $(Self::$variant(kind) => kind.watches(),)*
                    _ => self.parts().iter().fold(Watch::NONE, |all, part| all | part.watches()),
                }
            }

            /// What an acknowledgement of it sets back.
            pub fn streaks(&self) -> Streaks {
                match self {
                    $(Self::$variant(_) => $type::STREAKS,)*
                    _ => self.parts().iter().fold(Streaks::NONE, |all, part| all.union(part.streaks())),
                }
            }

            /// Whether it reads a meter or an expression, which may be unable to answer.
            pub fn reads_a_meter(&self) -> bool {
                match self {
                    $(Self::$variant(_) => $type::METER,)*
                    _ => self.parts().iter().any(Self::reads_a_meter),
                }
            }

            /// Whether its progress, or what it says of it, changes by itself as time passes.
            pub(crate) fn moves(&self) -> bool {
                match self {
                    $(Self::$variant(_) => $type::MOVES,)*
                    _ => self.parts().iter().any(Self::moves),
                }
            }

            /// An operator changed the limit.
            pub(crate) fn raise(&mut self, value: LimitValue) {
                match self {
                    $(Self::$variant(kind) => kind.raise(value),)*
                    Self::All(parts) | Self::Any(parts) => {
                        parts.iter_mut().for_each(|part| part.raise(value));
                    }
                    Self::Not(part) => part.raise(value),
                    Self::Never => {}
                }
            }

            /// The condition as it stands in documents; fields at their defaults are left out.
            pub fn to_json(&self) -> Json {
                let mut map = Map::new();
                map.insert("type".to_owned(), self.type_name().into());
                match self {
                    $(Self::$variant(kind) => kind.write_fields(&mut map),)*
                    Self::All(parts) | Self::Any(parts) => {
                        map.insert("conditions".to_owned(), parts.iter().map(Self::to_json).collect());
                    }
                    Self::Not(part) => {
                        map.insert("condition".to_owned(), part.to_json());
                    }
                    Self::Never => {}
                }
                Json::Object(map)
            }

            fn read_leaf(
                type_name: &str,
                table: &Table,
                node: &Node,
                findings: &mut Findings,
            ) -> Option<Option<Self>> {
                match type_name {
                    $($type::TYPE => Some(read_kind::<$type>(table, node, findings).map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// Name, priority and fields of each simple type, for the reference and the schema.
            pub(crate) fn kinds() -> Vec<KindInfo> {
                vec![$(KindInfo {
                    type_name: $type::TYPE,
                    summary: $type::SUMMARY,
                    example: $type::EXAMPLE,
                    progress: $type::PROGRESS,
                    priority: $type::PRIORITY,
                    schema: schema_of::<$type>(),
                },)*]
            }
        }
    };
}

conditions! {
    OnError(OnError),
    GuardViolated(GuardViolated),
    UserSignal(UserSignal),
    Worker(WorkerEnded),
    ExitCode(ExitCode),
    WallClock(WallClock),
    MaxIterations(MaxIterations),
    MaxDuration(MaxDuration),
    MaxTokens(MaxTokens),
    MaxCost(MaxCost),
    Quota(Quota),
    MaxAttempts(MaxAttempts),
    ConsecutiveErrors(ConsecutiveErrors),
    ConsecutiveFails(ConsecutiveFails),
    RejectRate(RejectRate),
    RetryRate(RetryRate),
    ContextUsage(ContextUsage),
    ErrorRate(ErrorRate),
    TestFailureStreak(TestFailureStreak),
    NoProgress(NoProgress),
    Stagnation(Stagnation),
    Repetition(Repetition),
    FailureClass(FailureClass),
    JobAttempts(JobAttempts),
    TotalAttempts(TotalAttempts),
    NoSignalChange(NoSignalChange),
    Cooldown(Cooldown),
    Unresolved(Unresolved),
    Health(HealthBelow),
    AllTestsPass(AllTestsPass),
    SpecificTestsPass(SpecificTestsPass),
    Verification(VerificationEnded),
    Review(ReviewEnded),
    TasksDone(TasksDone),
    DiminishingReturns(DiminishingReturns),
    TopicDrift(TopicDrift),
    OutputPattern(OutputPattern),
    FileCreated(FileCreated),
    FileContains(FileContains),
    CustomScript(CustomScript),
    Expr(Expr),
}

/// What documents and schemas say of a condition type.
pub(crate) struct KindInfo {
    pub(crate) type_name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) example: &'static str,
    pub(crate) progress: &'static str,
    pub(crate) priority: i32,
    pub(crate) schema: Json,
}

impl Condition {
    /// The conditions that it is made of; none for a simple one.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::All(parts) | Self::Any(parts) => parts,
            Self::Not(part) => std::slice::from_ref(part),
            _ => &[],
        }
    }

    /// The key by which probes and matchers answer it: the hash of its canonical JSON.
    pub fn key(&self) -> String {
        sha256_hex(&canonical_json(&self.to_json()))
    }

    /// Every name by which probes and matchers may answer it.
    pub(crate) fn answer_names(&self) -> Vec<&str> {
        match self {
            // Those who report without knowing keys name the pattern itself.
            Self::OutputPattern(output) => {
                output.key.names().chain([output.pattern.0.as_str()]).collect()
            }
            Self::FileCreated(file) => file.key.names().collect(),
            Self::FileContains(file) => file.key.names().collect(),
            Self::CustomScript(script) => script.key.names().collect(),
            _ => Vec::new(),
        }
    }

    /// The questions that somebody outside must answer: output patterns, files and scripts.
    pub fn asked(&self) -> Vec<&Self> {
        match self {
            Self::OutputPattern(_)
            | Self::FileCreated(_)
            | Self::FileContains(_)
            | Self::CustomScript(_) => vec![self],
            _ => self.parts().iter().flat_map(Self::asked).collect(),
        }
    }

    /// Whether an expression in it reads what any probe or matcher found, not only its own.
    pub(crate) fn reads_all_answers(&self) -> bool {
        match self {
            Self::Expr(expr) => expr.watches().intersects(Watch::PROBES | Watch::MATCHED),
            _ => self.parts().iter().any(Self::reads_all_answers),
        }
    }

    /// Reads a condition from JSON, as it stands in events and requests.
    pub fn from_json(value: &Json) -> Result<Self, Vec<Diagnostic>> {
        let text = value.to_string();
        let node = crate::document::parse(text.as_bytes(), crate::document::Syntax::Json)?;
        let mut findings = Findings { text: text.as_str().into(), ..Findings::default() };
        let condition = Self::read(&node, "condition", &mut findings);
        match condition {
            Some(condition) if findings.list.is_empty() => Ok(condition),
            _ => Err(findings.list),
        }
    }

    fn read_table(table: &Table, node: &Node, findings: &mut Findings) -> Option<Self> {
        let Some(entry) = table.get("type") else {
            findings.push(
                Diagnostic::error("a condition needs a `type`", node.span.clone())
                    .label("such as `type = \"max_iterations\"`"),
            );
            return None;
        };
        let type_name = String::read(&entry.node, "type", findings)?;
        if let Some(leaf) = Self::read_leaf(&type_name, table, node, findings) {
            return leaf;
        }
        match type_name.as_str() {
            "all" => read_parts(table, "all", node, findings).map(Self::All),
            "any" => read_parts(table, "any", node, findings).map(Self::Any),
            "not" => {
                refuse_unknown_keys(table, "not", &["condition"], &["type"], findings);
                let place = Place { name: "not", span: node.span.clone() };
                let part = crate::field::required::<Self>(table, &place, "condition", findings)?;
                Some(Self::Not(Box::new(part)))
            }
            "never" => {
                refuse_unknown_keys(table, "never", &[], &["type"], findings);
                Some(Self::Never)
            }
            unknown => {
                let error = Diagnostic::error(
                    format!("unknown condition `{unknown}`"),
                    entry.node.span.clone(),
                );
                findings.push(match nearest(unknown, Self::TYPE_NAMES.iter().copied()) {
                    Some(near) => error.label(format!("did you mean `{near}`?")),
                    None => error.hint("docs/reference/conditions.md lists them all"),
                });
                None
            }
        }
    }
}

impl Field for Condition {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            findings.wrong_type(
                node,
                key,
                "a condition such as { type = \"max_iterations\", count = 50 }",
            );
            return None;
        };
        let is_composite = ["conditions", "condition"].iter().any(|key| table.get(key).is_some());
        if is_composite && findings.depth >= MAX_NESTING {
            findings.push(
                Diagnostic::error(
                    format!("conditions are nested deeper than {MAX_NESTING}"),
                    node.span.clone(),
                )
                .label("too deep"),
            );
            return None;
        }
        findings.depth += 1;
        let condition = Self::read_table(table, node, findings);
        findings.depth -= 1;
        condition
    }

    fn write(&self) -> Json {
        self.to_json()
    }

    fn schema() -> Json {
        json!({ "$ref": "#/$defs/condition" })
    }
}

/// Reads one of the simple types and computes what follows from its fields.
fn read_kind<K: Kind>(table: &Table, node: &Node, findings: &mut Findings) -> Option<K> {
    let place = Place { name: K::TYPE, span: node.span.clone() };
    let mut kind = K::read_fields(table, &place, &["type"], findings)?;
    kind.prepare(node, findings);
    Some(kind)
}

fn read_parts(
    table: &Table,
    name: &str,
    node: &Node,
    findings: &mut Findings,
) -> Option<Vec<Condition>> {
    refuse_unknown_keys(table, name, &["conditions"], &["type"], findings);
    let place = Place { name, span: node.span.clone() };
    let parts = crate::field::required::<Vec<Condition>>(table, &place, "conditions", findings)?;
    if parts.is_empty() {
        let span = output::value_span(node, "conditions");
        findings.push(
            Diagnostic::error(format!("`{name}` needs at least one condition"), span)
                .label("nothing to look at"),
        );
        return None;
    }
    Some(parts)
}

/// A condition of a simple type as it stands in documents.
fn json_of<K: Kind>(kind: &K) -> Json {
    let mut map = Map::new();
    map.insert("type".to_owned(), K::TYPE.into());
    kind.write_fields(&mut map);
    Json::Object(map)
}

fn schema_of<K: Kind>() -> Json {
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({ "const": K::TYPE }));
    let mut required = vec!["type".into()];
    K::schema_fields(&mut properties, &mut required);
    crate::field::described(object_schema(&properties, &required), K::SUMMARY, None)
}

fn described(parts: &[Condition], between: &str) -> String {
    parts.iter().map(Condition::describe).collect::<Vec<_>>().join(between)
}

#[expect(clippy::cast_precision_loss, reason = "nobody writes 2^53 conditions")]
fn measure_all(parts: &[Condition], scene: &Scene<'_>) -> Measure {
    let mut truth = Truth::Yes;
    let mut sum = 0.0;
    for part in parts {
        let measure = part.measure(scene);
        truth = truth.min(measure.truth);
        sum += measure.progress;
    }
    let mean = (sum / parts.len().max(1) as f64).clamp(0.0, 1.0);
    Measure {
        truth,
        progress: if truth.is_met() { 1.0 } else { mean },
        value: None,
        threshold: None,
    }
}

/// The figures are those of its first met part.
fn measure_any(parts: &[Condition], scene: &Scene<'_>) -> Measure {
    let mut any = Measure::plain(false);
    for part in parts {
        let measure = part.measure(scene);
        if measure.truth.is_met() {
            return Measure { progress: 1.0, ..measure };
        }
        any.truth = any.truth.max(measure.truth);
        any.progress = any.progress.max(measure.progress);
    }
    any
}

fn measure_not(part: &Condition, scene: &Scene<'_>) -> Measure {
    match part.measure(scene).truth {
        Truth::Yes => Measure::plain(false),
        Truth::No => Measure::plain(true),
        Truth::Unknown => Measure::unknown(),
    }
}

fn note_all(parts: &[Condition], scene: &Scene<'_>) -> String {
    let met = parts.iter().filter(|part| part.measure(scene).truth.is_met()).count();
    let notes: Vec<_> = parts.iter().map(|part| part.note(scene)).collect();
    format!("{met}/{} met: {}", parts.len(), notes.join("; "))
}

fn note_any(parts: &[Condition], scene: &Scene<'_>) -> String {
    match parts.iter().find(|part| part.measure(scene).truth.is_met()) {
        Some(met) => met.note(scene),
        None => {
            let notes: Vec<_> = parts.iter().map(|part| part.note(scene)).collect();
            format!("None of {} met: {}", parts.len(), notes.join("; "))
        }
    }
}
