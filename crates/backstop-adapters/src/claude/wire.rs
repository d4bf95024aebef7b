//! The records of Claude Code, as far as anything in them counts.
//!
//! Everything is borrowed from the line, and a field of an unexpected type counts as absent: one
//! odd value must not hide the rest of its record.

pub(super) use crate::lenient::{Flag, Lenient, Number, Text};

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::lenient::{Shape, shaped};

/// One record of a stream or a transcript, or an error of the API that stands alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub subtype: Text<'a>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// Transcripts spell it so.
    #[serde(borrow, rename = "sessionId")]
    pub transcript_id: Text<'a>,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    #[serde(rename = "isSidechain")]
    pub sidechain: Flag,
    #[serde(rename = "isMeta")]
    pub meta: Flag,
    #[serde(rename = "isCompactSummary")]
    pub compact_summary: Flag,
    #[serde(rename = "isApiErrorMessage")]
    pub transcript_api_error: Flag,
    #[serde(rename = "is_api_error_message")]
    pub api_error: Flag,
    #[serde(rename = "apiErrorStatus")]
    pub transcript_api_status: Number,
    #[serde(rename = "api_error_status")]
    pub api_status: Number,
    #[serde(borrow)]
    pub message: Lenient<Message<'a>>,
    #[serde(borrow)]
    pub error: Trouble<'a>,
    #[serde(borrow)]
    pub event: Lenient<StreamEvent<'a>>,
    #[serde(borrow)]
    pub rate_limit_info: Lenient<RateLimit<'a>>,
    // The result.
    pub is_error: Flag,
    #[serde(borrow)]
    pub result: Text<'a>,
    #[serde(borrow)]
    pub errors: Texts<'a>,
    #[serde(borrow)]
    pub terminal_reason: Text<'a>,
    #[serde(borrow)]
    pub uuid: Text<'a>,
    #[serde(borrow)]
    pub permission_denials: Denials<'a>,
    pub num_turns: Number,
    pub duration_ms: Number,
    pub total_cost_usd: Number,
    pub cost_usd: Number,
    pub total_cost: Number,
    pub usage: Lenient<Counts>,
    #[serde(rename = "modelUsage")]
    pub model_usage: Lenient<BTreeMap<String, Lenient<ModelCounts>>>,
    // Other records.
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub content: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    pub attempt: Number,
    pub max_retries: Number,
    pub retry_delay_ms: Number,
    /// Some exports hold a whole transcript in one object.
    #[serde(borrow)]
    pub loglines: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub stop_reason: Text<'a>,
    pub usage: Lenient<Counts>,
    #[serde(borrow)]
    pub content: Content<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub content: Content<'a>,
    pub is_error: Flag,
}

/// An event of the API's own stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub message: Lenient<Message<'a>>,
    pub usage: Lenient<Counts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit<'a> {
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow, rename = "rateLimitType")]
    pub window: Text<'a>,
    #[serde(rename = "resetsAt")]
    pub resets_at: Number,
    pub utilization: Number,
    #[serde(borrow, rename = "overageStatus")]
    pub overage_status: Text<'a>,
    #[serde(rename = "isUsingOverage")]
    pub using_overage: Flag,
    #[serde(borrow, rename = "errorCode")]
    pub error_code: Text<'a>,
    #[serde(rename = "unifiedWindows")]
    pub windows: Lenient<BTreeMap<String, Lenient<Window>>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    pub utilization: Number,
    #[serde(rename = "resetsAt")]
    pub resets_at: Number,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    pub input_tokens: Number,
    pub output_tokens: Number,
    pub cache_creation_input_tokens: Number,
    pub cache_read_input_tokens: Number,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelCounts {
    #[serde(rename = "inputTokens", alias = "input_tokens")]
    pub input: Number,
    #[serde(rename = "outputTokens", alias = "output_tokens")]
    pub output: Number,
    #[serde(rename = "cacheReadInputTokens", alias = "cache_read_input_tokens")]
    pub cache_read: Number,
    #[serde(rename = "cacheCreationInputTokens", alias = "cache_creation_input_tokens")]
    pub cache_write: Number,
    #[serde(rename = "contextWindow")]
    pub context_window: Number,
}

impl ModelCounts {
    /// Whether none of its counts is a number that no count can be.
    pub fn is_sound(&self) -> bool {
        [self.input, self.output, self.cache_read, self.cache_write].iter().all(Number::is_sound)
    }
}

/// What a message or the answer of a tool holds.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Nothing,
    Text(Text<'a>),
    Blocks(Vec<Block<'a>>),
}

impl<'a> Content<'a> {
    /// The text in it, all parts together.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => {
                let texts = blocks.iter().map(|block| &*block.text);
                let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
                match texts[..] {
                    [] => Cow::Borrowed(""),
                    [only] => Cow::Borrowed(only),
                    _ => Cow::Owned(texts.join("\n")),
                }
            }
        }
    }

    pub fn blocks(&self) -> &[Block<'a>] {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Nothing | Self::Text(_) => &[],
        }
    }
}

impl<'de: 'a, 'a> Shape<'de> for Content<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self::Text(Text(text))
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element::<Lenient<Block<'a>>>()? {
            blocks.extend(block.0);
        }
        Ok(Self::Blocks(blocks))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// A failure: the name of its category, or an object with a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TroubleFields<'a> {
    #[serde(borrow, rename = "type")]
    category: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    formatted: Text<'a>,
    status: Number,
}

/// A failure: the name of its category, or an object with a message.
#[derive(Debug, Default)]
pub(super) struct Trouble<'a> {
    pub category: Text<'a>,
    pub message: Text<'a>,
    pub status: Number,
}

impl<'de: 'a, 'a> Shape<'de> for Trouble<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        Self { category: Text(text), ..Self::default() }
    }

    fn object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let fields = TroubleFields::deserialize(MapAccessDeserializer::new(map))?;
        let TroubleFields { category, message, formatted, status } = fields;
        let message = if message.is_empty() { formatted } else { message };
        Ok(Self { category, message, status })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Trouble<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// A call that nobody allowed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial<'a> {
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub tool_input: Option<&'a RawValue>,
}

/// The calls of a result that nobody allowed.
#[derive(Debug, Default)]
pub(super) struct Denials<'a>(pub Vec<Denial<'a>>);

impl<'de: 'a, 'a> Shape<'de> for Denials<'a> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut denials = Vec::new();
        while let Some(denial) = list.next_element::<Lenient<Denial<'a>>>()? {
            denials.extend(denial.0);
        }
        Ok(Self(denials))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Denials<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}

/// The texts of a list.
#[derive(Debug, Default)]
pub(super) struct Texts<'a>(pub Vec<Text<'a>>);

impl<'de: 'a, 'a> Shape<'de> for Texts<'a> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        Ok(Self(texts))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        shaped(deserializer)
    }
}
