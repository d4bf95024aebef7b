//! What failed, how it looks, and the question that follows from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use backstop_core::facts::FailureFacts;
use backstop_core::failure_class::{Class, OwnPatterns, classify, signal};
use backstop_core::time::Timestamp;
use backstop_store::{FailureSignal, PullRequest, StoreError};

use super::api::Job;
use super::client::{Client, ClientError};
use crate::rerun::{Question, Repository, SignalSource};
use crate::service::Service;

/// A job that failed.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// With its workflow, where that is known.
    pub(super) job: String,
    pub(super) run: u64,
    pub(super) attempt: u64,
    pub(super) class: Class,
    pub(super) hash: String,
}

impl Failed {
    /// From the step that failed and what is left of its log.
    pub(super) fn new(job: &Job, log_tail: &str, own: &OwnPatterns) -> Self {
        let step = job.failed_step().unwrap_or_default();
        let conclusion = job.conclusion.as_deref().unwrap_or_default();
        let class = match classify(step, log_tail, own) {
            // Nothing in the log, but it ran out of time.
            Class::Unknown if conclusion == "timed_out" => Class::FlakyProbable,
            class => class,
        };
        let look = if log_tail.is_empty() { conclusion } else { log_tail };
        Self {
            job: job.identity(),
            run: job.run_id,
            attempt: job.run_attempt,
            class,
            hash: signal(step, look),
        }
    }
}

/// Asks GitHub on a thread where waiting does no harm.
pub(super) async fn asked<T: Send + 'static>(
    client: &Arc<Client>,
    ask: impl FnOnce(&Client) -> Result<T, ClientError> + Send + 'static,
) -> Result<T, ClientError> {
    let client = Arc::clone(client);
    tokio::task::spawn_blocking(move || ask(&client)).await.unwrap_or_else(|bug| {
        Err(ClientError::Unreachable { what: "anything".to_owned(), why: bug.to_string() })
    })
}

/// Looks at the logs of jobs that failed. A log that can't be had is as good as an empty one.
pub(super) async fn looked_at(
    client: Option<&Arc<Client>>,
    repository: &Repository,
    jobs: Vec<Job>,
    own: OwnPatterns,
) -> Vec<Failed> {
    let Some(client) = client else {
        return jobs.iter().map(|job| Failed::new(job, "", &own)).collect();
    };
    let repository = repository.clone();
    let looking = asked(client, move |client| {
        let look = |(place, job): (usize, &Job)| {
            let log = if place < MOST_LOGS {
                client.log_tail(&repository, job.id)
            } else {
                Ok(String::new())
            };
            let log = log.unwrap_or_else(|error| {
                tracing::warn!(%error, job = job.name(), "the log of a failed job can't be had");
                String::new()
            });
            Failed::new(job, &log, &own)
        };
        Ok(jobs.iter().enumerate().map(look).collect())
    });
    looking.await.unwrap_or_default()
}

/// Remembers failures; the same again changes nothing.
pub(super) async fn remember(
    service: &Service,
    of: &PullRequest,
    failed: &[Failed],
) -> Result<(), StoreError> {
    for one in failed {
        let signal = FailureSignal {
            pull_request: of.clone(),
            job: one.job.clone(),
            workflow_run_id: one.run,
            attempt: one.attempt,
            hash: one.hash.clone(),
            class: Some(one.class.name().to_owned()),
            at: service.now(),
            is_outdated: false,
        };
        service.store.signal_put(&signal).await?;
    }
    Ok(())
}

/// What a question about failures is made from besides what is remembered.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) repository: Repository,
    pub(super) pr_number: u64,
    /// The run that is asked about, if it is one.
    pub(super) run: Option<u64>,
    /// All runs, or suites of another app, whose failures it is about.
    pub(super) about: Vec<u64>,
    /// The highest number of an attempt of any failed job.
    pub(super) attempt: u64,
    /// Runs of the pull request and the number of their latest attempt, as far as GitHub told.
    pub(super) known_runs: Vec<(u64, u64)>,
    pub(super) last_changed_at: Option<Timestamp>,
}

impl Case {
    pub(super) fn pull_request(&self) -> PullRequest {
        PullRequest::new(&self.repository.owner, &self.repository.name, self.pr_number)
    }

    /// Whether it is about a failure that was not followed by a pass.
    pub(super) fn is_about(&self, signal: &FailureSignal) -> bool {
        self.about.contains(&signal.workflow_run_id) && !signal.is_outdated
    }

    /// The question, with the gravest class of what failed now.
    pub(super) async fn question(
        &self,
        service: &Service,
        failed: &[Failed],
        request_id: String,
        actor: &str,
    ) -> Result<Question, StoreError> {
        let earlier = service.store.signal_list(&self.pull_request(), None, MOST_SIGNALS).await?;
        let mut attempts: BTreeMap<u64, u64> = BTreeMap::new();
        let remembered = earlier.iter().map(|signal| (signal.workflow_run_id, signal.attempt));
        let current = self.run.map(|run| (run, self.attempt));
        for (run, attempt) in remembered.chain(self.known_runs.iter().copied()).chain(current) {
            let latest = attempts.entry(run).or_default();
            *latest = attempt.max(*latest);
        }
        let total = attempts.values().map(|attempt| attempt.saturating_sub(1)).sum();
        let of_these = |signal: &&FailureSignal| self.is_about(signal);
        let gravest = failed.iter().map(|one| one.class).max().map(|class| class.name().to_owned());
        let mut question = self.question_unread(request_id, actor);
        let facts = &mut question.facts;
        facts.total_attempts = facts.job_attempts.max(total);
        facts.failure_class = gravest.or_else(|| self.gravest_of(earlier.iter().filter(of_these)));
        facts.first_failure_at = earlier.iter().find(of_these).map(|signal| signal.at);
        Ok(question)
    }

    /// The question as far as it is known without what is remembered.
    pub(super) fn question_unread(&self, request_id: String, actor: &str) -> Question {
        let job_attempts = self.attempt.saturating_sub(1);
        Question {
            repository: self.repository.clone(),
            pr_number: self.pr_number,
            run_id: self.run,
            about: self.about.clone(),
            request_id,
            facts: FailureFacts {
                job_attempts,
                total_attempts: job_attempts,
                last_changed_at: self.last_changed_at,
                ..FailureFacts::default()
            },
            signals: SignalSource::Remembered,
            actor: actor.to_owned(),
        }
    }

    /// The gravest class of what failed last: of each job its latest failure, and of a run those in its
    /// latest attempt, since the jobs that are not in it have passed. Checks are counted one by one.
    fn gravest_of<'a>(&self, signals: impl Iterator<Item = &'a FailureSignal>) -> Option<String> {
        let latest: BTreeMap<&str, &FailureSignal> =
            signals.map(|signal| (signal.job.as_str(), signal)).collect();
        let last = latest.values().map(|signal| signal.attempt).max();
        let counts = |signal: &&&FailureSignal| self.run.is_none() || Some(signal.attempt) == last;
        let classes = latest.values().filter(counts).filter_map(|signal| signal.class.as_deref());
        // The names are in the order of their gravity.
        let gravity = |class: &&str| Class::NAMES.iter().position(|name| name == class);
        classes.max_by_key(gravity).map(str::to_owned)
    }
}

/// Further jobs of the same run hardly fail for another reason.
const MOST_LOGS: usize = 20;
const MOST_SIGNALS: u32 = 256;
