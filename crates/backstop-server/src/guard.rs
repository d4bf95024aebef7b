//! What stands before every handler: who asks, whether they may, and how much it may cost.
//!
//! One step for all of it, since every layer would cost each request something.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use http_body_util::{LengthLimitError, Limited};

use crate::access::{Caller, Denied};
use crate::body;
use crate::deadline::{Deadline, silent_store, within};
use crate::problem::{Problem, StoreFault};
use crate::rates::Asker;
use crate::route::{Needs, Route};
use crate::service::Service;
use crate::traces;

/// The address that a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A route and what its requests work with.
#[derive(Clone, Debug)]
pub(crate) struct Door(Arc<(Arc<Service>, Route)>);

impl Door {
    pub(crate) fn new(service: Arc<Service>, route: Route) -> Self {
        Self(Arc::new((service, route)))
    }

    /// A handler behind this door.
    pub(crate) fn before<H>(self, handler: H) -> Guarded<H> {
        Guarded { door: self, handler }
    }
}

/// A handler that is reached through its door only. It is a handler itself, since a layer before it
/// would make copies of all that is behind it for each request.
#[derive(Clone, Debug)]
pub(crate) struct Guarded<H> {
    door: Door,
    handler: H,
}

impl<H, T> Handler<T, Arc<Service>> for Guarded<H>
where
    H: Handler<T, Arc<Service>>,
    T: 'static,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, state: Arc<Service>) -> Self::Future {
        let Self { door, handler } = self;
        Box::pin(async move { enter(&door, request, |known| handler.call(known, state)).await })
    }
}

/// Lets a request in to its handler, or answers it.
async fn enter<F: Future<Output = Response>>(
    door: &Door,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let started = Instant::now();
    let (service, route) = &*door.0;
    let response = match admit(service, route, request, handle).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    traces::learn_route(route.path);
    let status = response.status();
    if response.extensions().get::<StoreFault>().is_some() {
        service.metrics.store_failed();
    }
    service.metrics.request(route.verb(), route.path, status.as_u16(), started.elapsed());
    response
}

async fn admit<F: Future<Output = Response>>(
    service: &Service,
    route: &Route,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let (limits, begun) = (&service.limits, Instant::now());
    let decides = route.when_store_fails.is_some() || route.goes_by_memory;
    let longest = if decides { limits.decision_time } else { limits.request_time };
    let caller = match route.needs {
        Needs::Nothing => Ok(None),
        Needs::Scope(_) => match allow(service, route, &parts, longest).await {
            Ok(caller) => Ok(Some(caller)),
            Err(Denied::Refused(problem)) => return Err(problem),
            Err(Denied::Store(error)) => {
                let problem = Problem::store(&error);
                Err(route.when_store_fails.ok_or(problem)?)
            }
        },
    };
    let spent = begun.elapsed();
    let Ok(_permit) = service.requests.try_acquire() else {
        return Err(Problem::busy("too many requests are being worked on; ask again"));
    };
    // Whoever is slow to send has no less time to be answered.
    let body = match &route.body {
        Some(taken) => whole(service, body, taken.most_bytes).await?,
        None => Bytes::new(),
    };
    match caller {
        Ok(caller) => caller.and_then(|caller| parts.extensions.insert(caller)),
        Err(answer) => {
            service.metrics.store_failed();
            return Ok(answer(service, &parts, &body));
        }
    };
    if decides {
        parts.extensions.insert(Deadline::after(longest.saturating_sub(spent)));
    }
    let request = Request::from_parts(parts, Body::from(body));
    let handled = pin!(handle(request));
    let handled = pin!(unless_it_panics(handled));
    let handled = match route.bounds_itself {
        true => Ok(handled.await),
        false => within(limits.request_time.saturating_sub(spent), handled).await,
    };
    match handled {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(panic)) => Err(our_bug(&*panic)),
        Err(_late) => Err(Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "TIMED_OUT",
            "this took too long and was given up; what was begun may still be done",
        )),
    }
}

/// Finds out who asks, and whether they may ask this.
async fn allow(
    service: &Service,
    route: &Route,
    parts: &Parts,
    longest: Duration,
) -> Result<Caller, Denied> {
    let found = match within(longest, pin!(service.access.caller(&parts.headers))).await {
        Ok(found) => found,
        Err(_late) => Err(Denied::Store(silent_store())),
    };
    let found = match found {
        Err(Denied::Store(error)) if route.goes_by_memory => {
            service.access.last_known(&parts.headers).ok_or(Denied::Store(error))
        }
        found => found,
    };
    let caller = match found {
        Ok(caller) => caller,
        Err(denied) => {
            // Who guesses tokens is counted by address.
            count(service, parts, None).map_err(Denied::Refused)?;
            return Err(denied);
        }
    };
    count(service, parts, Some(&caller)).map_err(Denied::Refused)?;
    let Needs::Scope(scope) = route.needs else { return Ok(caller) };
    if caller.has(scope) {
        return Ok(caller);
    }
    tracing::warn!(
        caller = caller.name(),
        route = route.path,
        needs = scope.as_str(),
        "a scope is missing"
    );
    let detail = format!("this needs a token with the scope `{scope}`");
    Err(Denied::Refused(Problem::forbidden(detail)))
}

/// Counts a request for the token, else for the address that it came from.
pub(crate) fn count(
    service: &Service,
    parts: &Parts,
    caller: Option<&Caller>,
) -> Result<(), Problem> {
    if service.rates.is_unlimited() {
        return Ok(());
    }
    let token = caller.and_then(Caller::token).map(|token| Asker::token(&token.hash));
    let address = || parts.extensions.get::<Peer>().map(|peer| Asker::address(peer.0));
    token.or_else(address).map_or(Ok(()), |asker| service.rates.count(asker))
}

/// Reads the body, so that handlers have it at once and need not know what it may be like. A route
/// may take more than is usual, from a few at a time that say so before.
async fn whole(service: &Service, body: Body, most: Option<usize>) -> Result<Bytes, Problem> {
    let limits = &service.limits;
    let announced = axum::body::HttpBody::size_hint(&body).lower();
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    let is_large = most.is_some() && announced > limits.body_bytes;
    let most = most.filter(|_| is_large).unwrap_or(limits.body_bytes);
    let too_large = || {
        let detail = format!("the body is larger than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", detail)
    };
    if announced > most {
        return Err(too_large());
    }
    let _permit =
        match is_large {
            true => Some(service.large_bodies.try_acquire().map_err(|_| {
                Problem::busy("too many large bodies are being read; send it again")
            })?),
            false => None,
        };
    match within(limits.body_time, pin!(body::all_of(Limited::new(body, most)))).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::unreadable(format!("the body can't be read: {error}"))),
        Err(_late) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "TIMED_OUT",
            "the body took too long to arrive",
        )),
    }
}

/// A bug of ours must not take the other requests of a connection with it.
pub(crate) async fn unless_it_panics<F: Future + Unpin>(
    mut future: F,
) -> Result<F::Output, Box<dyn Any + Send>> {
    poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut future).poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

/// What is answered where a panic was caught.
pub(crate) fn our_bug(panic: &(dyn Any + Send)) -> Problem {
    Problem::internal(&words(panic))
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_wherever_it_happens() {
        let after_a_pause = async {
            tokio::task::yield_now().await;
            panic!("late");
        };
        let panic = unless_it_panics(pin!(after_a_pause)).await.unwrap_err();
        assert_eq!(words(&*panic), "late");
        assert_eq!(unless_it_panics(pin!(async { 1 })).await.unwrap(), 1);
    }
}
