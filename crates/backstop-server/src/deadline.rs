//! How long a decision may take.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use backstop_store::StoreError;
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use crate::options::Limits;

/// When whoever asked must have a decision. Handlers take it as an argument; the guard has begun it
/// before it asked the store for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(left: Duration) -> Self {
        Self(Instant::now() + left)
    }

    /// Waits for something until then.
    pub(crate) async fn bounds<F: Future + Unpin>(self, future: F) -> Result<F::Output, Elapsed> {
        until(|| self.0, future).await
    }
}

/// Without a guard it begins when the handler does.
impl<S: Sync> FromRequestParts<S> for Deadline {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let begun = parts.extensions.get::<Self>().copied();
        Ok(begun.unwrap_or_else(|| Self::after(Limits::default().decision_time)))
    }
}

/// What a store is that has not answered by then.
pub(crate) fn silent_store() -> StoreError {
    StoreError::Read("it does not answer".to_owned())
}

/// Waits so long at most. What is ready at once, as most is, needs no timer. It takes what is pinned: a
/// future that holds another one by its value has room for it twice.
pub(crate) async fn within<F: Future + Unpin>(
    limit: Duration,
    future: F,
) -> Result<F::Output, Elapsed> {
    until(|| Instant::now() + limit, future).await
}

async fn until<F: Future + Unpin>(
    end: impl FnOnce() -> Instant,
    mut future: F,
) -> Result<F::Output, Elapsed> {
    match poll_fn(|context| Poll::Ready(Pin::new(&mut future).poll(context))).await {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => timeout_at(end().into(), future).await,
    }
}
