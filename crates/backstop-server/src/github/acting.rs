//! Runs failed jobs again, once for each attempt, whoever tells of it how often.

use std::sync::Arc;

use backstop_store::{Delivery, StoreError};

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
    let key = format!("rerun:{}:{run}:{attempt}", repository.to_string().to_lowercase());
    let of = repository.clone();
    let order = move |client: &Client| client.rerun_failed_jobs(&of, run);
    Ok(match once(service, client, &key, order).await? {
        true => "The failed jobs are run again.".to_owned(),
        false => "The failed jobs have been run again already.".to_owned(),
    })
}

/// Gives an order to GitHub that is given once, however often and on however many machines it is
/// wished. False if it was given before. What is cut off in between may be given anew: GitHub counts
/// attempts, and is asked which one it is at before.
pub(super) async fn once(
    service: &Service,
    client: &Arc<Client>,
    key: &str,
    order: impl FnOnce(&Client) -> Result<(), ClientError> + Send + 'static,
) -> Result<bool, ActingError> {
    let taken = service.store.delivery_take(key, &service.name, service.now()).await?;
    if taken != Delivery::Taken {
        return Ok(false);
    }
    if let Err(error) = asked(client, order).await {
        service.store.delivery_forget(key).await?;
        return Err(error.into());
    }
    // It is given, whether or not that can be noted.
    if let Err(error) = service.store.delivery_done(key).await {
        tracing::error!(%error, key, "an order to GitHub can't be noted as given");
    }
    Ok(true)
}

/// GitHub refuses the 51st; somebody may want to run it again by hand.
pub(super) const MOST_ATTEMPTS: u64 = 40;
