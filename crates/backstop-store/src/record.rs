//! What the tables hold.

use std::collections::BTreeMap;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use serde_json::Value as Json;

use crate::StoreError;
use crate::audit::NewAuditRow;
use crate::lease::Lease;

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub cwd: String,
    pub command: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// The policy in force now.
    pub policy_hash: String,
    pub status: RunStatus,
    /// `state.json` as of the last change of status.
    pub state: Json,
    /// How to start it again; the runner's own.
    pub launch: Json,
    /// False for a run of `begin`, `emit` and `end`.
    pub supervised: bool,
    /// The journal was removed by age.
    pub pruned: bool,
}

/// Which runs are meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFilter {
    /// Names that begin like this.
    pub prefix: Option<String>,
    /// Started in this directory.
    pub cwd: Option<String>,
    pub statuses: Vec<RunStatus>,
    /// All of these.
    pub labels: BTreeMap<String, String>,
    /// Only what comes after this one in the list: older ones.
    pub before: Option<RunId>,
    pub limit: Option<u32>,
}

/// A policy as it was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    pub hash: String,
    pub label: Option<String>,
    /// The effective policy as canonical JSON: loading it gives the policy with this hash.
    pub json: String,
    /// The text as its author wrote it, and where from.
    pub source: Option<String>,
    pub source_name: String,
    pub put_by: String,
    pub put_at: Timestamp,
}

/// An event that is not yet in the journal. Its body is the one line of JSON, sequence number and
/// all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: &'static str,
    pub body: String,
}

/// An event of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub body: String,
}

/// A run's facts after an event, to go on from without reading the whole journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub seq: u64,
    pub facts: String,
}

/// A decision that was journalled, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRecord {
    /// Of its event in the journal.
    pub seq: u64,
    pub at: Timestamp,
    pub verdict: String,
    pub reason: Option<String>,
    pub policy_hash: String,
    /// The decision object.
    pub body: String,
}

/// What changes about a run beside its journal.
#[derive(Clone, Debug, PartialEq)]
pub struct RunUpdate {
    pub at: Timestamp,
    pub status: RunStatus,
    pub state: Json,
    pub policy_hash: String,
}

/// Who appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    Supervisor(Lease),
    /// For a run without one; only inside [`crate::Store::append_unsupervised`].
    Unsupervised,
}

/// What is appended at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub run: RunId,
    pub writer: Writer,
    pub events: Vec<NewEvent>,
    pub decisions: Vec<DecisionRecord>,
    pub snapshot: Option<Snapshot>,
    pub update: Option<RunUpdate>,
    /// Decisions that halt or hold the run.
    pub audit: Vec<NewAuditRow>,
    /// For a request that may be sent again. [`crate::StoreError::Repeated`] if it was.
    pub receipt: Option<Receipt>,
}

impl Batch {
    /// Nothing yet.
    pub fn new(run: RunId, writer: Writer) -> Self {
        Self {
            run,
            writer,
            events: Vec::new(),
            decisions: Vec::new(),
            snapshot: None,
            update: None,
            audit: Vec::new(),
            receipt: None,
        }
    }

    /// The lease that it is written under.
    pub(crate) fn lease(&self) -> Result<&Lease, StoreError> {
        match &self.writer {
            Writer::Supervisor(lease) => Ok(lease),
            Writer::Unsupervised => Err(StoreError::Write(
                "a run without a supervisor is written in one transaction with what is read"
                    .to_owned(),
            )),
        }
    }

    /// Whether it can be a piece of a journal. That its first event follows what is there is checked
    /// in the database.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.events.windows(2).any(|pair| pair[0].seq.checked_add(1) != Some(pair[1].seq)) {
            return Err(StoreError::Write("events do not follow each other".to_owned()));
        }
        if self.events.iter().any(|event| event.body.contains('\n')) {
            return Err(StoreError::Write("an event must be a single line".to_owned()));
        }
        Ok(())
    }
}

/// What a caller makes of a run that nobody supervises.
pub(crate) type Decide = Box<dyn FnOnce(Unsupervised) -> Batch + Send>;

/// What is answered to a request that may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub key: String,
    pub answer: String,
}

/// A question to people and what became of it. Both are events of the run's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervention {
    pub run: RunId,
    pub seq: u64,
    pub asked_at: Timestamp,
    pub asked: String,
    pub answered_at: Option<Timestamp>,
    pub answered: Option<String>,
}

/// What an append without a supervisor starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupervised {
    pub run: Run,
    pub policy: StoredPolicy,
    pub snapshot: Option<Snapshot>,
    /// After the snapshot.
    pub events: Vec<StoredEvent>,
}

/// A message for a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxMessage {
    pub number: i64,
    pub body: String,
}

/// What messages that were left together under a key are known by: each by its place.
pub fn keys_of_messages(key: &str, count: usize) -> Vec<String> {
    (0..count).map(|place| format!("{key}:{place}")).collect()
}

/// How a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub place: String,
    pub engine: String,
    pub schema: i64,
    pub bytes: u64,
    pub runs: u64,
    pub events: u64,
    /// What is wrong; empty if nothing is.
    pub problems: Vec<String>,
}
