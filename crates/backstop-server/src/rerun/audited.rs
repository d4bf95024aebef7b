//! Answers questions, each on record before it is answered.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use backstop_core::facts::FailureFacts;
use backstop_core::rerun::Answer;
use backstop_core::time::Timestamp;
use backstop_store::StoreError;
use backstop_store::audit::NewAuditRow;

use super::deciding::{self, Block, Evidence};
use super::lawbook::Lawbook;
use super::question::{Question, SignalSource};
use crate::deadline::Deadline;
use crate::service::Service;

/// Answers a question. When this returns, the answer is in the audit; if it can't be found or
/// recorded, or not in time, it is HOLD, which is recorded behind it as soon as that can be.
pub async fn answer(service: &Service, question: &mut Question, deadline: Deadline) -> Answer {
    without_secrets(service, &mut question.facts);
    let Ok(standing) = deadline.bounds(pin!(standing(service, question))).await else {
        return held(service, question, "what decides it can't be read in time", &NO_STORE);
    };
    let Standing { lawbook, blocked } = standing;
    let at = to_the_microsecond(service.now());
    let mut evidence = Evidence { blocked, ..Evidence::new(question, at, lawbook.as_deref()) };
    let engines = lawbook.as_ref().map(|lawbook| &*lawbook.engines);
    let request = || deciding::request(question, evidence.deployment_env);
    let answer = deciding::answer(engines, &evidence, request());
    // What is not written when this goes away is not written at all; what is on its way to the disk
    // may be, and is followed by what was answered.
    let recording = pin!(service.audit.append(row(service, question, &evidence, &answer)));
    let block = match deadline.bounds(recording).await {
        Ok(Ok(())) => return answer,
        Ok(Err(fault)) => Block::by_fault("the decision can't be recorded", &fault),
        Err(_late) => Block::by_fault("the decision can't be recorded in time", &NO_STORE),
    };
    evidence.blocked = Some(told(block));
    let request = deciding::request(question, evidence.deployment_env);
    let held = deciding::answer(engines, &evidence, request);
    record_behind(service, row(service, question, &evidence, &held));
    held
}

/// What a decision stands on besides its facts.
struct Standing {
    lawbook: Option<Arc<Lawbook>>,
    blocked: Option<Block>,
}

/// Reads what a decision stands on, and fills in the failures that are remembered.
async fn standing(service: &Service, question: &mut Question) -> Standing {
    let found = service.lawbooks.find(service, &question.repository).await;
    let lawbook = found.as_ref().ok().map(Arc::clone);
    let mut blocked =
        found.err().map(|fault| told(Block::by_fault("the policy in force can't be had", &fault)));
    match service.lawbooks.halted(service, &question.repository).await {
        Ok(Some(order)) => blocked = Some(Block::by_order(&order)),
        Ok(None) => {}
        Err(fault) => {
            blocked.get_or_insert_with(|| {
                told(Block::by_fault("whether a halt order is in force can't be told", &fault))
            });
        }
    }
    if question.signals == SignalSource::Remembered {
        match remembered_signals(service, question).await {
            Ok(signals) => question.facts.failure_signals = signals,
            Err(fault) => {
                blocked.get_or_insert_with(|| {
                    told(Block::by_fault("earlier failures can't be read", &fault))
                });
            }
        }
    }
    Standing { lawbook, blocked }
}

/// The answer to a question that can't be decided, which is recorded as soon as that can be.
pub(crate) fn held(
    service: &Service,
    question: &mut Question,
    what: &str,
    cause: &dyn std::fmt::Display,
) -> Answer {
    let (answer, row) = hold(service, question, what, cause);
    record_behind(service, row);
    answer
}

/// The answer to a question that can't be decided, of which nothing is recorded: nobody has let in
/// who asks.
pub(super) fn held_at_the_door(service: &Service, question: &mut Question) -> Answer {
    hold(service, question, "it can't be told who asks", &NO_STORE).0
}

fn hold(
    service: &Service,
    question: &mut Question,
    what: &str,
    cause: &dyn std::fmt::Display,
) -> (Answer, NewAuditRow) {
    without_secrets(service, &mut question.facts);
    let blocked = Some(told(Block::by_fault(what, cause)));
    let at = to_the_microsecond(service.now());
    let evidence = Evidence { blocked, ..Evidence::new(question, at, None) };
    let request = deciding::request(question, evidence.deployment_env);
    let answer = deciding::answer(None, &evidence, request);
    let row = row(service, question, &evidence, &answer);
    (answer, row)
}

/// Records a hold that has been answered already. It comes behind a decision that is on its way to the
/// disk, as the last that is on record of a request must be what was answered.
fn record_behind(service: &Service, row: NewAuditRow) {
    let Ok(permit) = Arc::clone(&service.held).try_acquire_owned() else {
        tracing::error!("a hold is not recorded: too many are waiting to be");
        return;
    };
    let audit = service.audit.clone();
    drop(service.work.begin(async move {
        let mut waits = RECORD_AGAIN_AFTER.iter();
        while let Err(error) = audit.append(row.clone()).await {
            let Some(wait) = waits.next() else {
                tracing::error!(%error, "a hold can't be recorded");
                break;
            };
            tokio::time::sleep(*wait).await;
        }
        drop(permit);
    }));
}

/// The same where the question itself was not read.
pub(crate) fn held_unread(
    service: &Service,
    request_id: &str,
    what: &str,
    cause: impl std::fmt::Display,
) -> Answer {
    let block = told(Block::by_fault(what, &cause));
    deciding::unread(request_id, to_the_microsecond(service.now()), block)
}

/// What is kept of an answer. Whoever asked gets the id back as it was; what is kept has no secret in it.
fn row(
    service: &Service,
    question: &Question,
    evidence: &Evidence,
    answer: &Answer,
) -> NewAuditRow {
    let mut row = deciding::row(question, evidence, answer);
    if let Cow::Owned(cleaned) = service.redactor.text(&row.request_id) {
        row.request_id = cleaned;
    }
    row
}

/// What a caller says of a failure is kept as evidence, and may be copied from a log.
fn without_secrets(service: &Service, facts: &mut FailureFacts) {
    let clean = |text: &mut String| {
        if let Cow::Owned(cleaned) = service.redactor.text(text) {
            *text = cleaned;
        }
    };
    facts.failure_class.iter_mut().for_each(clean);
    facts.failure_signals.iter_mut().for_each(clean);
}

fn told(block: Block) -> Block {
    tracing::error!(why = block.why, "a question about a re-run was held");
    block
}

/// The hashes of the last failures of the job that failed last in what the question is about, the
/// oldest first. They are those of all runs of the pull request: every push begins another run, and
/// the same failure in each of them is no change.
async fn remembered_signals(
    service: &Service,
    question: &Question,
) -> Result<Vec<String>, StoreError> {
    let mut signals =
        service.store.signal_list(&question.pull_request(), None, MOST_SIGNALS).await?;
    let last = signals.iter().rfind(|signal| question.is_about(signal));
    let Some(job) = last.map(|last| last.job.clone()) else { return Ok(Vec::new()) };
    signals.retain(|signal| signal.job == job);
    Ok(signals.into_iter().map(|signal| signal.hash).collect())
}

/// What the audit keeps of a time, so that what is answered and what is kept are the same.
fn to_the_microsecond(at: Timestamp) -> Timestamp {
    Timestamp::from_nanos(at.as_nanos() - at.as_nanos().rem_euclid(1_000))
}

/// Why most of what can't be had can't be had.
pub(crate) const NO_STORE: &str = "the store can't be used";
/// Of all jobs of a pull request together.
const MOST_SIGNALS: u32 = 256;
/// A store that fails is back soon, or somebody has to look at it.
const RECORD_AGAIN_AFTER: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
