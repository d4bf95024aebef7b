//! What happened, as it is told to the engine and kept in the journal: the only input.

use serde::Serialize;

use crate::time::Timestamp;

mod decode;
mod note;
mod payload;
mod reference;
mod schema;
mod shape;

pub use decode::DecodeError;
pub(crate) use decode::number;
pub use note::{Note, Noted, ThreadTotal};
pub use payload::*;
pub use reference::{fields, reference};
pub use schema::{TIME_PATTERN, schema};
pub use shape::{Field, Shape};

/// One thing that happened, with the time at which it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    // First, so that `type` leads each line and a reader knows at once what follows.
    #[serde(flatten)]
    pub kind: EventKind,
    /// Position in the run's journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Wall-clock time; left out where the reader is to fill in its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The run's active time so far, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
}

impl Event {
    /// An event without a time of its own.
    pub fn new(kind: impl Into<EventKind>) -> Self {
        Self { seq: None, at: None, active_ms: None, kind: kind.into() }
    }

    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    #[must_use]
    pub fn active_ms(mut self, active_ms: u64) -> Self {
        self.active_ms = Some(active_ms);
        self
    }

    /// Reads one event from a line of JSON.
    pub fn from_json(line: &[u8]) -> Result<Self, DecodeError> {
        DecodeError::decode(line)
    }

    /// Writes the event as one line of JSON, `type` first.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event has only string keys and finite numbers")
    }
}

/// Declares the event types once: the enum, the names on the wire, the way from and to a payload,
/// and what the reference says of each: its documentation and a line with every field.
macro_rules! event_kinds {
    ($($(#[doc = $doc:literal])* $name:literal => $variant:ident, $example:literal;)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "type")]
        pub enum EventKind {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($variant),)*
        }

        impl EventKind {
            /// Every type's name, in the order of the specification.
            pub const TYPE_NAMES: &'static [&'static str] = &[$($name),*];

            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// What documents say of each type.
            fn described() -> Vec<reference::Described> {
                vec![$(reference::Described::new::<$variant>(
                    $name,
                    concat!($($doc, "\n"),*),
                    $example,
                ),)*]
            }

            fn deserialize_fields<'de, A: serde::de::MapAccess<'de>>(
                type_name: &str,
                fields: A,
            ) -> Result<Self, A::Error> {
                use serde::Deserialize as _;
                let fields = serde::de::value::MapAccessDeserializer::new(fields);
                match type_name {
                    $($name => $variant::deserialize(fields).map(Self::$variant),)*
                    other => Err(serde::de::Error::custom(decode::unknown_type(other))),
                }
            }
        }

        $(impl From<$variant> for EventKind {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })*
    };
}

event_kinds! {
    /// A run began.
    "run_started" => RunStarted,
        r#"{"type":"run_started","run":"4K7Q2M9X1BD3F","policy_hash":"sha256:a427…","command":["./agent.sh"],"cwd":"/srv/project","labels":{"team":"core"},"total_units":8}"#;
    /// The supervised command was started once more. How full the context is starts anew.
    "iteration_started" => IterationStarted,
        r#"{"type":"iteration_started","iteration":1}"#;
    /// The supervised command ended. A time-out, a signal or a code other than 0 is an error.
    "iteration_finished" => IterationFinished,
        r#"{"type":"iteration_finished","iteration":1,"exit_code":1,"signal":null,"timed_out":false,"duration_ms":93000}"#;
    /// An output pattern matched. `key` is the hash of the condition; who doesn't know it leaves it
    /// out and names the pattern as the policy writes it.
    "matched" => Matched,
        r#"{"type":"matched","key":"","pattern":"ALL DONE","stream":"stdout","excerpt":"ALL DONE, bye"}"#;
    /// A unit of work changed. `attempts` is its total so far.
    "unit" => Unit,
        r#"{"type":"unit","id":"frame-3","index":3,"status":"rejected","attempts":2}"#;
    /// The result of one test run. Where names are unknown, `counts` decides.
    "tests" => Tests,
        r#"{"type":"tests","passed":["login"],"failed":["logout"],"skipped":[],"counts":{"passed":1,"failed":1,"skipped":0},"source":"junit"}"#;
    /// Tokens and money spent since the last such event. Leave `cost_usd` out if the price is unknown.
    /// With `basis` `live` it is an estimate, which a later one with `final` replaces.
    "usage" => Usage,
        r#"{"type":"usage","input_tokens":1200,"output_tokens":300,"cache_read_tokens":9000,"cache_write_tokens":0,"cost_usd":0.02,"model":"small","basis":"live"}"#;
    /// How full the context window is, in tokens.
    "context" => Context,
        r#"{"type":"context","used":150000,"limit":200000,"full":false}"#;
    /// Something failed.
    "error" => ErrorSeen,
        r#"{"type":"error","category":"transient","message":"connection reset","signature":"net-reset","retry_at":"2026-05-04T10:00:30Z"}"#;
    /// The work moved on. An approved unit and a newly done task count by themselves.
    "progress" => Progress,
        r#"{"type":"progress","kind":"commit","note":"parser: accept tabs"}"#;
    /// The task list as it is now.
    "tasks" => Tasks,
        r#"{"type":"tasks","total":9,"done":4,"queued":5,"phase":"primary","improvements":0}"#;
    /// An improvement cycle ended with these figures; higher is better.
    "cycle" => Cycle,
        r#"{"type":"cycle","metrics":{"coverage":0.81,"score":7.5}}"#;
    /// One thing that the agent did, and what came back. `kind` is `message`, `empty`, `chant`,
    /// `compaction`, `user`, or anything else for an action.
    "action" => Action,
        r#"{"type":"action","signature":"bash: cargo test","kind":"action","result_signature":"error[E0502] in cache.rs","failed":true}"#;
    /// The answer of a file or script probe. `met` is null if it could not be found out.
    "probe" => Probe,
        r#"{"type":"probe","key":"sha256:9f2c…","met":true,"detail":"found"}"#;
    /// What one failing cycle looked like. Equal hashes are equal failures.
    "failure_signal" => FailureSignal,
        r#"{"type":"failure_signal","hash":"e3b0c4","class":"flaky test"}"#;
    /// A guard was violated.
    "guard" => Guard,
        r#"{"type":"guard","kind":"lockfile","files":["Cargo.lock"]}"#;
    /// The verification ended.
    "verification" => Verification,
        r#"{"type":"verification","outcome":"failed","detail":"2 tests failed"}"#;
    /// A review ended. Equal hashes are the same requests; without one, `requests` are compared.
    "review" => Review,
        r#"{"type":"review","outcome":"changes_requested","hash":"77ab","requests":["add a test"]}"#;
    /// The worker could not go on.
    "worker" => Worker,
        r#"{"type":"worker","status":"rate_limited","detail":"429","retry_at":"2026-05-04T11:00:00Z"}"#;
    /// How full a provider's usage window is, from 0 to 1.
    "quota" => Quota,
        r#"{"type":"quota","window":"5h","used":0.85,"resets_at":"2026-05-04T13:00:00Z"}"#;
    /// An operator changed a limit of this run, by its reason's name.
    "raised" => Raised,
        r#"{"type":"raised","limit":"max_iterations","value":100,"by":"ann","why":"nearly done"}"#;
    /// The machine slept, or the process was stopped, for so long; 0: it stands still from here on.
    "suspended" => Suspended,
        r#"{"type":"suspended","ms":3600000}"#;
    /// How far the work is from what was asked for, from 0 to 1.
    "drift" => Drift,
        r#"{"type":"drift","score":0.3}"#;
    /// A person or a parent process asked for something.
    "signal" => Signal,
        r#"{"type":"signal","kind":"stop","by":"ann"}"#;
    /// A question went out to a person. Active time stands still until it is answered.
    "asked" => Asked,
        r#"{"type":"asked","question":"The same error came four times. Go on?","unheard":false}"#;
    /// A person answered. What fired before is acknowledged.
    "answered" => Answered,
        r#"{"type":"answered","question":"Go on?","answer":"continue","note":"known flake","by":"ann"}"#;
    /// The loop goes on afresh after a recovery.
    "recovered" => Recovered,
        r#"{"type":"recovered","kind":"context","checkpoint":"refs/backstop/4K7Q/3"}"#;
    /// Written by backstop: what was decided.
    "decision" => Decided,
        r#"{"type":"decision","verdict":"stop","reason":"stalled","rule":"no_progress","message":"3 iterations in a row made no progress","streaks":["no_progress"]}"#;
    /// Written by backstop: the run waits until it is let go. Active time stands still.
    "held" => Held,
        r#"{"type":"held","reason":"cost_limit","until":"2026-05-04T12:00:00Z"}"#;
    /// Written by backstop: a held run was let go. What fired before is acknowledged.
    "released" => Released,
        r#"{"type":"released","by":"ann","why":"budget agreed"}"#;
    /// Written by backstop: the run ended or was suspended.
    "halted" => Halted,
        r#"{"type":"halted","reason":"stalled","status":"stopped","message":"3 iterations in a row made no progress"}"#;
    /// Written by backstop: a halted run goes on. What fired before is acknowledged.
    "resumed" => Resumed,
        r#"{"type":"resumed","by":"ann","note":"try the other parser"}"#;
    /// Written by backstop: something worth keeping that changes no fact, such as a signal that was
    /// sent, a process that was left over, a claim that was refused.
    "noted" => Noted,
        r#"{"type":"noted","what":"signalled","detail":"SIGTERM to 3 processes"}"#;
}
