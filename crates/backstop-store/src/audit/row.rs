//! What a row of the audit says.

use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::chain::Hash;

/// A decision that is to be kept. What its table calls a pull request may be missing: a run has
/// none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewAuditRow {
    pub resource_owner: Option<String>,
    pub resource_repo: Option<String>,
    pub pr_number: Option<u64>,
    pub workflow_run_id: Option<u64>,
    pub request_id: String,
    /// `CONTINUE`, `HOLD` or `KILL`.
    pub decision: String,
    pub reason_code: Option<String>,
    /// A list of sentences.
    pub reasons: JsonText,
    pub recommended_next_step: String,
    pub failure_class: Option<String>,
    pub current_job_attempts: Option<u64>,
    pub total_pr_attempts: Option<u64>,
    pub lawbook_hash: Option<String>,
    pub lawbook_version: Option<String>,
    /// A list of the rules' keys.
    pub applied_rules: JsonText,
    /// Everything that the decision was made from, so that it can be made again.
    pub evidence: JsonText,
    /// Kept to the microsecond, which is what both engines can.
    pub created_at: Timestamp,
    /// The run that it halted or held, and the decision's number in its journal.
    pub run: Option<RunId>,
    pub run_seq: Option<u64>,
    /// Who asked: a token's name, a user, a supervisor.
    pub actor: String,
}

/// A decision as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Counts from 1 without a gap.
    pub number: u64,
    #[serde(flatten)]
    pub row: NewAuditRow,
    pub previous_hash: Hash,
    pub hash: Hash,
}

/// The last row of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AuditHead {
    pub number: u64,
    pub hash: Hash,
}

/// Which rows are meant, and how many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditFilter {
    pub owner: Option<String>,
    pub repo: Option<String>,
    pub pr_number: Option<u64>,
    pub request_id: Option<String>,
    pub decision: Option<String>,
    /// One of these, to the letter; any where there are none.
    pub reason_codes: Vec<String>,
    pub run: Option<RunId>,
    /// Rows after this number when they come oldest first, before it when newest first.
    pub cursor: Option<u64>,
    pub newest_first: bool,
    pub limit: u32,
}

/// A line of the analytics: how often something was decided in the last seven days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub decision: String,
    pub reason_code: Option<String>,
    pub decision_count: u64,
    pub last_occurred_at: Timestamp,
}

/// How many runs were halted or held for a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaltCount {
    pub reason_code: Option<String>,
    pub count: u64,
}

/// JSON as it is stored, to the byte: what is hashed is what lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// Writes a value down.
    pub fn of(value: &impl Serialize) -> Self {
        // Only a map with keys that are no text can fail, and nothing here has one.
        Self(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// What a store holds, whatever it is.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it says; the text itself if somebody has made it something else than JSON.
    pub fn value(&self) -> Json {
        serde_json::from_str(&self.0).unwrap_or_else(|_| Json::String(self.0.clone()))
    }
}

impl Default for JsonText {
    fn default() -> Self {
        Self("null".to_owned())
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// From a row that was sent: what it says is the same, and so is its text as serde writes it.
impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(|value| Self::of(&value))
    }
}
