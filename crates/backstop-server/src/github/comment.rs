//! Tells a decision on the pull request, in one comment that is kept up to date.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backstop_core::rerun::Answer;
use backstop_store::{Delivery, StoreError};

use super::acting::ActingError;
use super::client::{Client, ClientError};
use super::failures::{Failed, asked};
use super::signature::WebhookSecret;
use crate::rerun::Repository;
use crate::service::Service;

/// Writes the comment, or changes the one that was written before. Of several who do so at once,
/// here or beside another service, each finds what the one before has written.
pub(super) async fn tell(
    service: &Service,
    client: &Arc<Client>,
    repository: &Repository,
    number: u64,
    text: &str,
) -> Result<(), ActingError> {
    let _turn = service.comments.lock().await;
    let key = format!("comment:{repository}#{number}").to_lowercase();
    let has_turn = take_turn(service, &key).await?;
    let written = write(client, repository, number, service.github.secret.as_ref(), text).await;
    if has_turn {
        service.store.delivery_forget(&key).await?;
    }
    Ok(written?)
}

/// Waits until no other service writes. False if one never ends: a comment too many is better than
/// none.
async fn take_turn(service: &Service, key: &str) -> Result<bool, StoreError> {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST_TURN {
        let taken = service.store.delivery_take(key, &service.name, service.now()).await?;
        if taken == Delivery::Taken {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    tracing::warn!(key, "another service does not end to write a comment");
    Ok(false)
}

async fn write(
    client: &Arc<Client>,
    repository: &Repository,
    number: u64,
    secret: Option<&WebhookSecret>,
    text: &str,
) -> Result<(), ClientError> {
    let mark = mark(repository, number, secret);
    let body = format!("{mark}\n{text}");
    let repository = repository.clone();
    asked(client, move |client| {
        // The oldest is ours: others can copy the mark only after we have written it.
        let comments = client.comments(&repository, number)?;
        let is_own =
            |body: &Option<String>| body.as_ref().is_some_and(|body| body.starts_with(&mark));
        match comments.iter().find(|comment| is_own(&comment.body)) {
            Some(own) if own.body.as_deref() == Some(&body) => Ok(()),
            Some(own) => client.change_comment(&repository, own.id, &body),
            None => client.comment(&repository, number, &body),
        }
    })
    .await
}

/// What the decision says, for people.
pub(super) fn words(answer: &Answer, failed: &[Failed], done: &str) -> String {
    let mut text = format!("**backstop: {}**", answer.decision);
    if let Some(code) = answer.reason_code {
        let _ = write!(text, " (`{code}`)");
    }
    for reason in &answer.reasons {
        let _ = write!(text, "\n\n{}", plain(reason));
    }
    let _ = write!(text, "\n\n{}", plain(done));
    if !failed.is_empty() {
        text.push_str("\n\n| failed job | attempt | class |\n|---|---|---|");
        for one in failed.iter().take(MOST_JOBS) {
            let _ =
                write!(text, "\n| {} | {} | {} |", plain(&one.job), one.attempt, one.class.name());
        }
    }
    let counts = answer.evidence.attempt_counts;
    let _ = write!(
        text,
        "\n\nRe-runs of this job: {}; of this pull request: {}. Request `{}`, policy `{}`.",
        counts.current_job_attempts,
        counts.total_pr_attempts,
        answer.request_id.replace('`', "'"),
        answer.lawbook_hash,
    );
    text
}

/// A mark that only who knows the secret can make for this pull request.
fn mark(repository: &Repository, number: u64, secret: Option<&WebhookSecret>) -> String {
    let place = format!("{repository}#{number}").to_lowercase();
    let seal = secret.map(|secret| secret.keyed(place.as_bytes())).unwrap_or_default();
    let seal: String = seal.chars().take(32).collect();
    format!("<!-- backstop stop decision {seal} -->")
}

/// Text in which Markdown and HTML obey nothing, and nobody is mentioned.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars().take(LONGEST) {
        match character {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '@' => plain.push_str("@\u{200b}"),
            '\r' | '\n' => plain.push(' '),
            mark if mark.is_ascii_punctuation() && !",.'\"/;:?%=()-".contains(mark) => {
                plain.push('\\');
                plain.push(mark);
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Longer than any exchange with GitHub takes, and than one is left to a service that has died.
const LONGEST_TURN: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const MOST_JOBS: usize = 50;
const LONGEST: usize = 1_000;
