//! Makes an answer from facts, a lawbook and a time, now or again.

use std::sync::LazyLock;

use backstop_core::facts::FailureFacts;
use backstop_core::policy::Policy;
use backstop_core::rerun::{
    Answer, AttemptCounts, Evidence as AnswerEvidence, Metadata, Request, Target, Thresholds,
    deployment_env,
};
use backstop_core::time::Timestamp;
use backstop_store::HaltOrder;
use backstop_store::audit::{AuditRow, JsonText, NewAuditRow};
use serde::{Deserialize, Serialize};

use super::lawbook::{Lawbook, ready};
use super::question::{Question, SignalSource};
use crate::engines::EnginePool;

/// Everything that an answer is made from besides the policy: what the audit keeps as evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    pub(super) facts: FailureFacts,
    pub(super) signals: SignalSource,
    pub(super) evaluated_at: Timestamp,
    pub(super) deployment_env: DeploymentEnv,
    /// Why nobody may go on, whatever the lawbook says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blocked: Option<Block>,
    /// Where the policy was put in force; none for the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) policy_scope: Option<String>,
}

/// The limits are kept for people: they follow from the policy.
#[derive(Serialize)]
struct Kept<'a> {
    #[serde(flatten)]
    evidence: &'a Evidence,
    thresholds: Thresholds,
}

/// Where this service runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeploymentEnv {
    Prod,
    Staging,
}

impl DeploymentEnv {
    /// It is where it was when it started.
    pub(crate) fn here() -> Self {
        static HERE: LazyLock<DeploymentEnv> = LazyLock::new(|| {
            let variable = std::env::var("DEPLOY_ENV").ok();
            match deployment_env(variable.as_deref()) {
                "prod" => DeploymentEnv::Prod,
                _ => DeploymentEnv::Staging,
            }
        });
        *HERE
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Prod => "prod",
            Self::Staging => "staging",
        }
    }
}

/// What stands above the lawbook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    /// The key among the applied rules.
    pub(super) rule: String,
    /// In one sentence.
    pub(super) why: String,
}

impl Block {
    /// Something that a decision needs could not be had.
    pub(super) fn by_fault(what: &str, cause: &dyn std::fmt::Display) -> Self {
        let why = format!("No decision can be made, so nothing may go on: {what}: {cause}");
        Self { rule: "fault".to_owned(), why }
    }

    pub(super) fn by_order(order: &HaltOrder) -> Self {
        let why = order.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        let why = format!("A halt order by {} is in force since {}{why}", order.by, order.at);
        Self { rule: "halt_order".to_owned(), why }
    }
}

/// The answer, and the same whenever it is made from the same.
pub(super) fn answer(
    engines: Option<&EnginePool>,
    evidence: &Evidence,
    request: Request,
) -> Answer {
    let answer = match engines {
        Some(engines) => engines.with(evidence.facts.clone().into(), |engine| {
            let decision = engine.poll_winner(engine.moment(evidence.evaluated_at));
            Answer::new(engine, &decision, request)
        }),
        None => undecided(evidence, request),
    };
    match &evidence.blocked {
        Some(block) => blocked(answer, block.clone()),
        None => answer,
    }
}

/// The answer to a question that was not read.
pub(super) fn unread(request_id: &str, at: Timestamp, block: Block) -> Answer {
    let evidence = Evidence {
        facts: FailureFacts::default(),
        signals: SignalSource::Given,
        evaluated_at: at,
        deployment_env: DeploymentEnv::here(),
        blocked: Some(block),
        policy_scope: None,
    };
    let request = Request {
        request_id: request_id.to_owned(),
        deployment_env: evidence.deployment_env.as_str(),
        pr_number: None,
        run_id: None,
    };
    answer(None, &evidence, request)
}

/// What is known without a lawbook.
fn undecided(evidence: &Evidence, request: Request) -> Answer {
    Answer {
        schema_version: "1.0",
        request_id: request.request_id,
        lawbook_hash: UNKNOWN_LAWBOOK.to_owned(),
        deployment_env: request.deployment_env,
        target: Target { pr_number: request.pr_number, run_id: request.run_id },
        decision: "HOLD",
        reason_code: None,
        reasons: Vec::new(),
        recommended_next_step: "MANUAL_REVIEW",
        evidence: AnswerEvidence {
            attempt_counts: AttemptCounts {
                current_job_attempts: evidence.facts.job_attempts,
                total_pr_attempts: evidence.facts.total_attempts,
            },
            thresholds: Thresholds::default(),
            applied_rules: Vec::new(),
        },
        metadata: Metadata { evaluated_at: evidence.evaluated_at, lawbook_version: None },
    }
}

fn blocked(mut answer: Answer, block: Block) -> Answer {
    answer.decision = "HOLD";
    answer.reason_code = Some("LAWBOOK_BLOCK");
    answer.reasons = vec![block.why];
    answer.recommended_next_step = "MANUAL_REVIEW";
    answer.evidence.applied_rules = vec![block.rule];
    answer
}

/// What is echoed.
pub(super) fn request(question: &Question, env: DeploymentEnv) -> Request {
    Request {
        request_id: question.request_id.clone(),
        deployment_env: env.as_str(),
        pr_number: Some(question.pr_number),
        run_id: question.run_id,
    }
}

/// The row of the audit that tells of an answer.
pub(super) fn row(question: &Question, evidence: &Evidence, answer: &Answer) -> NewAuditRow {
    let lawbook_hash = Some(&answer.lawbook_hash).filter(|hash| *hash != UNKNOWN_LAWBOOK);
    NewAuditRow {
        resource_owner: Some(question.repository.owner.clone()),
        resource_repo: Some(question.repository.name.clone()),
        pr_number: Some(question.pr_number),
        workflow_run_id: question.run_id,
        request_id: question.request_id.clone(),
        decision: answer.decision.to_owned(),
        reason_code: answer.reason_code.map(str::to_owned),
        reasons: JsonText::of(&answer.reasons),
        recommended_next_step: answer.recommended_next_step.to_owned(),
        failure_class: evidence.facts.failure_class.clone(),
        current_job_attempts: Some(evidence.facts.job_attempts),
        total_pr_attempts: Some(evidence.facts.total_attempts),
        lawbook_hash: lawbook_hash.cloned(),
        lawbook_version: answer.metadata.lawbook_version.clone(),
        applied_rules: JsonText::of(&answer.evidence.applied_rules),
        evidence: JsonText::of(&Kept { evidence, thresholds: answer.evidence.thresholds }),
        created_at: evidence.evaluated_at,
        run: None,
        run_seq: None,
        actor: question.actor.clone(),
    }
}

/// Why an answer can't be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMadeAgain {
    #[error("row {number} is no answer about a re-run: {why}")]
    Evidence { number: u64, why: String },
    #[error("row {number} was decided by the policy {wanted}, not by {given}")]
    Policy { number: u64, wanted: String, given: String },
}

/// Makes answers again that a policy has given, or that were given without one.
#[derive(Debug)]
pub struct Remaker {
    engines: Option<EnginePool>,
}

impl Remaker {
    /// To compile the policy takes longer than to ask it, so that it is done once for all rows.
    pub fn new(policy: Option<&Policy>) -> Self {
        Self { engines: policy.map(ready) }
    }

    /// Makes the answer of a row of the audit again, to the byte, from its evidence and the policy
    /// whose hash it names; from its evidence alone if it names none.
    ///
    /// # Errors
    /// The row is no answer about a re-run, or the policy is another one.
    pub fn remake(&self, row: &AuditRow) -> Result<Answer, NotMadeAgain> {
        let number = row.number;
        let unusable = |why: String| NotMadeAgain::Evidence { number, why };
        let evidence: Evidence = serde_json::from_str(row.row.evidence.as_str())
            .map_err(|error| unusable(error.to_string()))?;
        let given = self.engines.as_ref().map(EnginePool::policy_hash);
        if row.row.lawbook_hash.as_deref() != given {
            let named = |hash: Option<&str>| hash.unwrap_or(UNKNOWN_LAWBOOK).to_owned();
            let (wanted, given) = (named(row.row.lawbook_hash.as_deref()), named(given));
            return Err(NotMadeAgain::Policy { number, wanted, given });
        }
        let request = Request {
            request_id: row.row.request_id.clone(),
            deployment_env: evidence.deployment_env.as_str(),
            pr_number: row.row.pr_number,
            run_id: row.row.workflow_run_id,
        };
        Ok(answer(self.engines.as_ref(), &evidence, request))
    }
}

/// The same for a single row.
///
/// # Errors
/// As [`Remaker::remake`].
pub fn remake(row: &AuditRow, policy: Option<&Policy>) -> Result<Answer, NotMadeAgain> {
    Remaker::new(policy).remake(row)
}

impl Evidence {
    pub(super) fn new(question: &Question, at: Timestamp, lawbook: Option<&Lawbook>) -> Self {
        Self {
            facts: question.facts.clone(),
            signals: question.signals,
            evaluated_at: at,
            deployment_env: DeploymentEnv::here(),
            blocked: None,
            policy_scope: lawbook
                .and_then(|lawbook| lawbook.scope.as_ref())
                .map(ToString::to_string),
        }
    }
}

/// What the answer calls a lawbook that can't be had.
const UNKNOWN_LAWBOOK: &str = "unknown";
