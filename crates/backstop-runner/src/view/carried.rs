//! A run as it is carried to those who look at it from another machine: with everything that this
//! machine would show it from.

use std::collections::BTreeMap;

use backstop_adapters::TestHistory;
use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::facts::Facts;
use backstop_core::policy::Policy;
use backstop_core::state::RunState;
use backstop_core::time::Timestamp;
use backstop_store::{DecisionRecord, Run};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Seen;
use crate::journalled;
use crate::loading::Loaded;

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub cwd: String,
    pub command: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// False for a run that a script reports to.
    pub supervised: bool,
    /// The journal was removed by age.
    pub pruned: bool,
}

impl From<&Run> for Origin {
    fn from(run: &Run) -> Self {
        Self {
            created_at: run.created_at,
            updated_at: run.updated_at,
            cwd: run.cwd.clone(),
            command: run.command.clone(),
            labels: run.labels.clone(),
            supervised: run.supervised,
            pruned: run.pruned,
        }
    }
}

/// What a run's state and its facts in words leave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inside {
    /// When it was looked at.
    pub now: Timestamp,
    /// The number of the last event.
    pub last_seq: u64,
    /// What the policy says now.
    pub decision: Decision,
    /// The facts as a snapshot keeps them.
    pub facts: Facts,
    /// The policy in force, but for whom it tells.
    pub policy: Json,
    /// The decisions that came last, oldest first.
    pub decisions: Vec<Past>,
    /// What became of its tests.
    pub tests: Option<TestHistory>,
}

/// A decision that was journalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub seq: u64,
    pub at: Timestamp,
    /// The whole decision.
    pub decision: Json,
}

impl Inside {
    pub fn new(seen: &Seen, decisions: &[DecisionRecord], tests: Option<TestHistory>) -> Self {
        let last = &decisions[decisions.len().saturating_sub(MOST_DECISIONS)..];
        let past = |record: &DecisionRecord| Past {
            seq: record.seq,
            at: record.at,
            decision: serde_json::from_str(&record.body).unwrap_or_default(),
        };
        let mut policy = seen.loaded.engine.policy().to_json();
        // Nothing is shown from it, and the address of a webhook may be a secret.
        if let Some(fields) = policy.as_object_mut() {
            fields.shift_remove("notify");
        }
        Self {
            now: seen.now,
            last_seq: seen.loaded.last_seq,
            decision: seen.decision.clone(),
            facts: seen.loaded.engine.facts().clone(),
            policy,
            decisions: last.iter().map(past).collect(),
            tests,
        }
    }

    /// The decisions as the store keeps them.
    pub fn records(&self) -> Vec<DecisionRecord> {
        let record = |past: &Past| {
            let text = |field: &str| past.decision[field].as_str().map(str::to_owned);
            DecisionRecord {
                seq: past.seq,
                at: past.at,
                verdict: text("verdict").unwrap_or_default(),
                reason: text("reason"),
                policy_hash: text("policy_hash").unwrap_or_default(),
                body: past.decision.to_string(),
            }
        };
        self.decisions.iter().map(record).collect()
    }

    /// The run as it was seen where it is.
    ///
    /// # Errors
    /// The policy can't be read here: another version of backstop wrote it.
    pub fn seen(
        self,
        origin: Origin,
        state: RunState,
        interrupted: bool,
    ) -> Result<Seen, UnreadablePolicy> {
        let policy = Policy::load(self.policy.to_string().as_bytes(), Syntax::Json);
        let policy = policy.map_err(|findings| {
            let first = findings.into_iter().next().map(|finding| finding.message);
            UnreadablePolicy(first.unwrap_or_default())
        })?;
        let run = Run {
            id: state.run_id,
            created_at: origin.created_at,
            updated_at: origin.updated_at,
            cwd: origin.cwd,
            command: origin.command,
            labels: origin.labels,
            policy_hash: state.policy_hash.clone(),
            status: state.run_status,
            state: json!(state),
            launch: Json::Null,
            supervised: origin.supervised,
            pruned: origin.pruned,
        };
        let mut engine = journalled::engine(policy.policy, self.facts);
        let at = super::moment(&engine, &run, interrupted, self.now);
        engine.handle_timeout(at);
        // So that every rule is looked at: the card names their limits.
        engine.decide(at);
        let loaded = Loaded {
            run: run.clone(),
            engine,
            last_seq: self.last_seq,
            snapshot_seq: self.last_seq,
        };
        let (decision, now) = (self.decision, self.now);
        Ok(Seen { run, loaded, state, decision, interrupted, now })
    }
}

/// What another backstop calls a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy of the run can't be read here: {0}")]
pub struct UnreadablePolicy(String);

/// As many as anybody is shown.
const MOST_DECISIONS: usize = 20;
