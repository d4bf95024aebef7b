//! The attributes that count, out of all that are exported.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use super::scalar::{Scalar, count};
use crate::lenient::{Lenient, Shape, Text, shaped};

/// Declares each key once, with its name on the wire.
macro_rules! keys {
    ($($variant:ident = $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Key {
            $($variant,)*
        }

        impl Key {
            fn of(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

keys! {
    // Of a resource.
    ServiceName = "service.name",
    ServiceInstance = "service.instance.id",
    // Of Claude Code.
    SessionId = "session.id",
    EventName = "event.name",
    EventSequence = "event.sequence",
    RequestId = "request_id",
    Model = "model",
    Type = "type",
    CostUsd = "cost_usd",
    CostUsdMicros = "cost_usd_micros",
    InputTokens = "input_tokens",
    OutputTokens = "output_tokens",
    CacheReadTokens = "cache_read_tokens",
    CacheCreationTokens = "cache_creation_tokens",
    ErrorText = "error",
    StatusCode = "status_code",
    TotalAttempts = "total_attempts",
    Success = "success",
    ToolName = "tool_name",
    ToolUseId = "tool_use_id",
    ToolInput = "tool_input",
    ToolParameters = "tool_parameters",
    ErrorType = "error_type",
    // Of the conventions for generative AI.
    Operation = "gen_ai.operation.name",
    RequestModel = "gen_ai.request.model",
    ResponseModel = "gen_ai.response.model",
    TokenType = "gen_ai.token.type",
    UsageInput = "gen_ai.usage.input_tokens",
    UsageOutput = "gen_ai.usage.output_tokens",
    UsageCacheRead = "gen_ai.usage.cache_read.input_tokens",
    UsageCacheWrite = "gen_ai.usage.cache_creation.input_tokens",
    UsageCacheWriteLater = "gen_ai.usage.cache_write.input_tokens",
    UsageInputBefore = "gen_ai.usage.prompt_tokens",
    UsageOutputBefore = "gen_ai.usage.completion_tokens",
}

/// The known ones, and what tells this set from every other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes {
    known: Vec<(Key, Scalar)>,
    identity: u64,
}

impl Attributes {
    pub fn get(&self, wanted: Key) -> &Scalar {
        let found = self.known.iter().find(|(key, _)| *key == wanted);
        found.map_or(&Scalar::Nothing, |(_, value)| value)
    }

    pub fn text(&self, key: Key) -> Option<&str> {
        self.get(key).text()
    }

    pub fn amount(&self, key: Key) -> Option<f64> {
        self.get(key).amount()
    }

    /// Tokens and other counts: what is missing is none.
    pub fn count(&self, key: Key) -> u64 {
        self.amount(key).map_or(0, count)
    }

    /// The same for the same attributes in any order, also for those that are not known.
    pub fn identity(&self) -> u64 {
        self.identity
    }
}

impl<'de> Shape<'de> for Attributes {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut attributes = Self::default();
        while let Some(Lenient(pair)) = list.next_element::<Lenient<Pair<'de>>>()? {
            let Some(Pair { key, value }) = pair else { continue };
            let value = value.scalar();
            let mut hasher = DefaultHasher::new();
            (&*key, &value).hash(&mut hasher);
            attributes.identity = attributes.identity.wrapping_add(hasher.finish());
            if let Some(key) = Key::of(&key) {
                attributes.known.push((key, value));
            }
        }
        Ok(attributes)
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pair<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    value: AnyValue,
}

/// A value with its type beside it. Lists and maps count as nothing.
#[derive(Debug, Default)]
pub(super) struct AnyValue(Scalar);

impl AnyValue {
    pub fn scalar(self) -> Scalar {
        self.0
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Typed {
            string_value: Scalar,
            int_value: Scalar,
            double_value: Scalar,
            bool_value: Scalar,
        }
        let Lenient(typed) = Lenient::<Typed>::deserialize(deserializer)?;
        let Typed { string_value, int_value, double_value, bool_value } = typed.unwrap_or_default();
        let all = [string_value, int_value, double_value, bool_value];
        let found = all.into_iter().find(|scalar| !scalar.is_nothing());
        Ok(Self(found.unwrap_or_default()))
    }
}
