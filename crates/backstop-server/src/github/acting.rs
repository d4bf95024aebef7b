//! Runs failed jobs again, once for each attempt, whoever tells of it how often.

use std::sync::Arc;

use backstop_store::StoreError;

use super::client::{Client, ClientError};
use super::failures::asked;
use crate::rerun::Repository;
use crate::service::Service;

/// Why jobs were not run again.
#[derive(Debug, thiserror::Error)]
pub enum ActingError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs the failed jobs of a run's attempt again. Answers with what was done, in a sentence.
pub(super) async fn rerun_failed(
    service: &Service,
    client: &Arc<Client>,
    repository: &Repository,
    run: u64,
    attempt: u64,
) -> Result<String, ActingError> {
    let of = repository.clone();
    let now = asked(client, move |client| client.run(&of, run)).await?;
    if now.run_attempt != attempt {
        return Ok(format!(
            "Nothing was run again: attempt {} has begun already.",
            now.run_attempt
        ));
    }
    if now.status.as_deref() != Some("completed") {
        return Ok("Nothing is run again before the whole run has ended.".to_owned());
    }
    if attempt > MOST_ATTEMPTS {
        return Ok(format!("Nothing was run again: this run has had {attempt} attempts."));
    }
    // Told of twice, or to two machines, it is done once.
    let key = format!("rerun:{}:{run}:{attempt}", repository.to_string().to_lowercase());
    if !service.store.delivery_take(&key, service.now()).await? {
        return Ok("The failed jobs have been run again already.".to_owned());
    }
    let of = repository.clone();
    match asked(client, move |client| client.rerun_failed_jobs(&of, run)).await {
        Ok(()) => Ok("The failed jobs are run again.".to_owned()),
        Err(error) => {
            service.store.delivery_forget(&key).await?;
            Err(error.into())
        }
    }
}

/// GitHub refuses the 51st; somebody may want to run it again by hand.
pub(super) const MOST_ATTEMPTS: u64 = 40;
