//! Facts that were given directly instead of being folded from events.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::errors::LastError;
use super::usage::Amounts;
use super::{Facts, people, reruns};
use crate::event::{
    Context, DecodeError, ErrorCategory, Guard, GuardKind, Matched, Probe, Quota, ReviewOutcome,
    SignalKind, Tasks, Tests, VerificationOutcome, WorkerStatus, number,
};
use crate::repetition::Signal;
use crate::time::Timestamp;

/// Facts as a caller states them. What is left out has its neutral value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GivenFacts {
    #[serde(deserialize_with = "number::count")]
    iterations: u64,
    #[serde(deserialize_with = "number::count")]
    active_ms: u64,
    #[serde(deserialize_with = "number::optional_count")]
    tokens: Option<u64>,
    tokens_by: TokensBy,
    #[serde(deserialize_with = "number::optional_amount")]
    cost_usd: Option<f64>,
    cost_known: Option<bool>,
    context: Option<Context>,
    #[serde(deserialize_with = "number::shares")]
    quota: BTreeMap<String, f64>,
    units: Option<UnitCounts>,
    #[serde(deserialize_with = "number::count")]
    attempts: u64,
    #[serde(deserialize_with = "number::count")]
    consecutive_fails: u64,
    #[serde(deserialize_with = "number::optional_share")]
    retry_rate: Option<f64>,
    #[serde(deserialize_with = "number::optional_share")]
    reject_rate: Option<f64>,
    tasks: Option<Tasks>,
    #[serde(deserialize_with = "number::optional_count")]
    ended: Option<u64>,
    #[serde(deserialize_with = "number::optional_count")]
    errored: Option<u64>,
    #[serde(deserialize_with = "number::optional_share")]
    error_rate: Option<f64>,
    #[serde(deserialize_with = "number::count")]
    consecutive_errors: u64,
    last_error: Option<GivenError>,
    tests: Option<Tests>,
    #[serde(deserialize_with = "number::optional_count")]
    test_failure_streak: Option<u64>,
    #[serde(deserialize_with = "number::count")]
    iterations_since_progress: u64,
    #[serde(deserialize_with = "number::optional_count")]
    progress_age_ms: Option<u64>,
    #[serde(deserialize_with = "number::count")]
    cycles: u64,
    improvement: Option<f64>,
    #[serde(deserialize_with = "number::optional_share")]
    health: Option<f64>,
    #[serde(deserialize_with = "number::optional_share")]
    drift: Option<f64>,
    repetition: Option<GivenRepetition>,
    #[serde(deserialize_with = "number::count")]
    job_attempts: u64,
    #[serde(deserialize_with = "number::count")]
    total_attempts: u64,
    failure_class: Option<String>,
    failure_signals: Vec<String>,
    last_changed_at: Option<Timestamp>,
    first_failure_at: Option<Timestamp>,
    guards: Vec<GivenGuard>,
    verification: Option<VerificationOutcome>,
    review: Option<GivenReview>,
    worker: Option<WorkerStatus>,
    signal: Option<SignalKind>,
    exit_code: Option<i32>,
    error_now: Option<bool>,
    matched: Vec<String>,
    probes: BTreeMap<String, Option<bool>>,
    recent_output: Option<String>,
}

impl GivenFacts {
    /// Reads facts from a JSON object.
    pub fn from_json(text: &[u8]) -> Result<Self, DecodeError> {
        DecodeError::decode(text).map(|Object(facts)| facts)
    }

    /// Whether the caller says that iterations have ended and nobody knows what they cost.
    pub fn say_cost_is_unknown(&self) -> bool {
        self.cost_known == Some(false) && self.iterations > 0
    }
}

/// Facts by their names; in a list, which serde would take too, they would have none.
struct Object(GivenFacts);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of facts such as {\"iterations\": 3}")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object, A::Error> {
                GivenFacts::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// What is known of a failed job of CI: the part of the facts that decides about its re-run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureFacts {
    pub job_attempts: u64,
    pub total_attempts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_signals: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_changed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure_at: Option<Timestamp>,
}

impl From<FailureFacts> for Facts {
    fn from(failure: FailureFacts) -> Self {
        Self::from(GivenFacts {
            job_attempts: failure.job_attempts,
            total_attempts: failure.total_attempts,
            failure_class: failure.failure_class,
            failure_signals: failure.failure_signals,
            last_changed_at: failure.last_changed_at,
            first_failure_at: failure.first_failure_at,
            ..GivenFacts::default()
        })
    }
}

/// Values that were given although they could be computed: then they stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Overrides {
    pub(crate) retry_rate: Option<f64>,
    pub(crate) reject_rate: Option<f64>,
    pub(crate) error_rate: Option<f64>,
    pub(crate) health: Option<f64>,
    pub(crate) repetition: Option<GivenRepetition>,
    /// How many tasks ended, and how many in error.
    pub(crate) ended: Option<(u64, u64)>,
}

impl Overrides {
    pub(crate) fn forget_units(&mut self) {
        self.retry_rate = None;
        self.reject_rate = None;
        self.forget_errors();
    }

    pub(crate) fn forget_errors(&mut self) {
        self.error_rate = None;
        self.ended = None;
    }
}

/// The repetition detector's answer, as a caller states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenRepetition {
    #[serde(default)]
    pub(crate) score: f64,
    #[serde(default)]
    pub(crate) kind: Option<Signal>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TokensBy {
    #[serde(deserialize_with = "number::count")]
    input: u64,
    #[serde(deserialize_with = "number::count")]
    output: u64,
    #[serde(deserialize_with = "number::count")]
    cache_read: u64,
    #[serde(deserialize_with = "number::count")]
    cache_write: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UnitCounts {
    #[serde(deserialize_with = "number::optional_count")]
    total: Option<u64>,
    #[serde(deserialize_with = "number::optional_count")]
    attempted: Option<u64>,
    #[serde(deserialize_with = "number::count")]
    approved: u64,
    #[serde(deserialize_with = "number::count")]
    rejected: u64,
    #[serde(deserialize_with = "number::count")]
    failed: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenError {
    #[serde(default)]
    category: Option<ErrorCategory>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    signature: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenReview {
    #[serde(default)]
    outcome: Option<ReviewOutcome>,
    #[serde(default, deserialize_with = "number::count")]
    same_rounds: u64,
}

/// A guard by its kind alone, or with the files that it names.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a guard is `scope`, `protected`, `lockfile`, `dirty` or `collision`, or an object \
                 with that `kind` and its `files`"
)]
enum GivenGuard {
    Kind(GuardKind),
    Guard(Guard),
}

impl From<GivenFacts> for Facts {
    fn from(given: GivenFacts) -> Self {
        let mut facts = Self {
            clock: Clock::at_active(Duration::from_millis(given.active_ms)),
            iterations: given.iterations,
            exit_code: given.exit_code,
            context: given.context.clone(),
            tasks: given.tasks.clone(),
            drift: given.drift,
            verification: given.verification,
            signal: given.signal,
            reruns: reruns(&given),
            reviews: given.review.as_ref().map(reviews).unwrap_or_default(),
            overrides: Overrides {
                retry_rate: given.retry_rate,
                reject_rate: given.reject_rate,
                error_rate: given.error_rate,
                health: given.health,
                repetition: given.repetition.clone(),
                ended: given.ended.map(|ended| (ended, given.errored.unwrap_or(0))),
            },
            ..Self::default()
        };
        facts.give_usage(&given);
        facts.give_units(&given);
        facts.give_errors(&given);
        facts.give_seen(&given);
        facts.progress.iterations_since = given.iterations_since_progress;
        if let Some(age) = given.progress_age_ms {
            facts.progress.count_age_from(facts.clock.active());
            facts.progress.age_then = Duration::from_millis(age);
        }
        facts.cycles.count = given.cycles;
        facts.cycles.improvement = given.improvement;
        if let Some(tests) = &given.tests {
            facts.tests.apply(tests);
        }
        if let Some(streak) = given.test_failure_streak {
            facts.tests.failure_streak = streak;
        }
        if let Some(status) = given.worker {
            facts.worker = people::WorkerState::given(status);
        }
        facts
    }
}

impl Facts {
    fn give_usage(&mut self, given: &GivenFacts) {
        let by = &given.tokens_by;
        let mut amounts = Amounts {
            input: by.input,
            output: by.output,
            cache_read: by.cache_read,
            cache_write: by.cache_write,
            ..Amounts::default()
        };
        self.spent.set_tokens(amounts);
        if let Some(tokens) = given.tokens
            && tokens != self.spent.tokens(false)
        {
            // The sum that was stated counts, whatever its parts.
            amounts = Amounts { input: tokens, output: 0, cache_write: 0, ..amounts };
            self.spent.set_tokens(amounts);
        }
        self.spent.set_cost(given.cost_usd.unwrap_or(0.0));
        self.spent.cost_told = given.cost_known.unwrap_or(given.cost_usd.is_some());
        self.spent.cost_silent = given.say_cost_is_unknown();
        for (window, used) in &given.quota {
            self.quotas.apply(&Quota { window: window.clone(), used: *used, resets_at: None });
        }
    }

    fn give_units(&mut self, given: &GivenFacts) {
        self.units.attempts = given.attempts;
        self.units.consecutive_fails = given.consecutive_fails;
        if let Some(counts) = &given.units {
            self.units.total = counts.total;
            self.units.approved = counts.approved;
            self.units.rejected = counts.rejected;
            self.units.failed = counts.failed;
            self.units.attempted = counts.attempted.unwrap_or(self.units.finished());
        }
    }

    fn give_errors(&mut self, given: &GivenFacts) {
        self.errors.consecutive = given.consecutive_errors;
        self.errors.now = given.error_now.unwrap_or(given.last_error.is_some());
        if let Some(error) = &given.last_error {
            self.errors.last = Some(LastError {
                category: error.category.unwrap_or(ErrorCategory::Recoverable),
                message: error.message.clone(),
                signature: error.signature.clone(),
                retry_at: None,
            });
        }
        if self.errors.now {
            let last = self.errors.last.as_ref();
            let category = last.map_or(ErrorCategory::Recoverable, |error| error.category);
            let message = last.map(|error| error.message.clone()).unwrap_or_default();
            if category == ErrorCategory::Critical {
                self.errors.critical = Some(message.clone());
            }
            self.errors.recent.push_back((category, message));
        }
    }

    fn give_seen(&mut self, given: &GivenFacts) {
        for pattern in &given.matched {
            self.patterns.apply(&Matched {
                key: String::new(),
                pattern: pattern.clone(),
                stream: String::new(),
                excerpt: String::new(),
            });
        }
        self.patterns.recent_output.clone_from(&given.recent_output);
        for (key, met) in &given.probes {
            self.probes.apply(&Probe { key: key.clone(), met: *met, detail: None });
        }
        for guard in &given.guards {
            match guard {
                GivenGuard::Kind(kind) => {
                    self.guards.apply(&Guard { kind: *kind, files: Vec::new() })
                }
                GivenGuard::Guard(guard) => self.guards.apply(guard),
            }
        }
    }
}

fn reruns(given: &GivenFacts) -> reruns::Reruns {
    let mut reruns = reruns::Reruns {
        job_attempts: given.job_attempts,
        total_attempts: given.total_attempts,
        ..reruns::Reruns::default()
    };
    for hash in &given.failure_signals {
        let signal = crate::event::FailureSignal { hash: hash.clone(), class: None };
        reruns.apply(&signal, Timestamp::default());
    }
    reruns.failure_class.clone_from(&given.failure_class);
    reruns.last_changed_at = given.last_changed_at;
    reruns.first_failure_at = given.first_failure_at;
    reruns
}

fn reviews(given: &GivenReview) -> people::Reviews {
    people::Reviews::given(given.outcome, given.same_rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let error = GivenFacts::from_json(br#"{"iteratons": 3}"#).unwrap_err();
        assert_eq!(error.to_string(), "unknown field `iteratons`; did you mean `iterations`?");
    }

    #[test]
    fn a_list_has_no_names() {
        let error = GivenFacts::from_json(b"[50]").unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid type: list, expected an object of facts such as {\"iterations\": 3}"
        );
    }

    #[test]
    fn a_stated_sum_of_tokens_counts_whatever_its_parts() {
        let facts: Facts =
            GivenFacts::from_json(br#"{"tokens": 9, "tokens_by": {"input": 1, "cache_read": 5}}"#)
                .unwrap()
                .into();
        assert_eq!((facts.spent.tokens(false), facts.spent.tokens(true)), (9, 14));
    }

    #[test]
    fn progress_may_be_older_than_the_active_time() {
        let facts: Facts = GivenFacts::from_json(br#"{"progress_age_ms": 1000}"#).unwrap().into();
        assert_eq!(facts.progress.age(Duration::ZERO), Duration::from_secs(1));
    }

    #[test]
    fn guards_come_by_kind_or_with_files() {
        let facts: Facts =
            GivenFacts::from_json(br#"{"guards": ["dirty", {"kind": "scope", "files": ["a"]}]}"#)
                .unwrap()
                .into();
        assert_eq!(facts.guards.violated(Some(GuardKind::Scope)).unwrap().files, ["a"]);
        assert!(facts.guards.violated(Some(GuardKind::Dirty)).is_some());
    }
}
