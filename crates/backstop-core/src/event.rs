//! What happened, as it is told to the engine and kept in the journal: the only input.

use serde::Serialize;

use crate::time::Timestamp;

mod decode;
mod payload;

pub use decode::DecodeError;
pub(crate) use decode::number;
pub use payload::*;

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

/// Declares the event types once: the enum, the names on the wire, and the way from and to a payload.
macro_rules! event_kinds {
    ($($name:literal => $variant:ident,)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "type")]
        pub enum EventKind {
            $(#[serde(rename = $name)] $variant($variant),)*
        }

        impl EventKind {
            /// Every type's name, in the order of the specification.
            pub const TYPE_NAMES: &'static [&'static str] = &[$($name),*];

            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
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
    "run_started" => RunStarted,
    "iteration_started" => IterationStarted,
    "iteration_finished" => IterationFinished,
    "matched" => Matched,
    "unit" => Unit,
    "tests" => Tests,
    "usage" => Usage,
    "context" => Context,
    "error" => ErrorSeen,
    "progress" => Progress,
    "tasks" => Tasks,
    "cycle" => Cycle,
    "action" => Action,
    "probe" => Probe,
    "failure_signal" => FailureSignal,
    "guard" => Guard,
    "verification" => Verification,
    "review" => Review,
    "worker" => Worker,
    "quota" => Quota,
    "raised" => Raised,
    "suspended" => Suspended,
    "drift" => Drift,
    "signal" => Signal,
    "asked" => Asked,
    "answered" => Answered,
    "recovered" => Recovered,
    "decision" => Decided,
    "held" => Held,
    "released" => Released,
    "halted" => Halted,
    "resumed" => Resumed,
}
