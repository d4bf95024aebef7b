//! A run's journal as server-sent events: everything after a number, then whatever comes.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use backstop_core::id::RunId;
use backstop_store::StoredEvent;
use hyper::body::Frame;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::problem::Problem;
use crate::service::Service;

/// The number of the last event that a client has seen, which it says when it comes back.
pub(crate) fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let refused = |why: &str| Problem::invalid("Last-Event-ID", why);
    let mut values = headers.get_all("last-event-id").iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(refused("there can be one `Last-Event-ID` only"));
    }
    let text = value.to_str().ok().map(str::trim);
    let digits = text
        .filter(|text| text.len() <= MOST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse().ok());
    let unclear = || refused("`Last-Event-ID` must be a whole number of at most 15 digits");
    number.map(Some).ok_or_else(unclear)
}

/// Tells of everything after an event until the client goes, its token ends or the service ends.
pub(crate) fn follow(
    service: &Arc<Service>,
    run: RunId,
    after: u64,
    asked_with: HeaderMap,
) -> Result<Response, Problem> {
    let permit = Arc::clone(&service.live_streams).try_acquire_owned();
    let permit = permit.map_err(|_| Problem::busy("too many follow runs already; ask again"))?;
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(tell(Arc::clone(service), run, after, asked_with, sender));
    let body = Body::new(Stream { receiver, _permit: permit });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

async fn tell(
    service: Arc<Service>,
    run: RunId,
    mut after: u64,
    asked_with: HeaderMap,
    sender: mpsc::Sender<Bytes>,
) {
    // Something comes at once, so that the client knows that it is connected.
    let mut next = Some(Bytes::from_static(b": here\n\n"));
    loop {
        if let Some(bytes) = next.take() {
            // A token may have been revoked since, or have expired. Who comes back is told so.
            if service.access.caller(&asked_with).await.is_err() {
                return;
            }
            let sent = tokio::select! {
                sent = sender.send(bytes) => sent.is_ok(),
                () = service.closing.cancelled() => false,
            };
            if !sent {
                return;
            }
        }
        let found = match service.store.event_list(run, after, PAGE).await {
            Ok(found) => found,
            Err(error) => {
                // The client comes back by itself, with the number of the last one it has seen.
                tracing::error!(%error, %run, "a stream ends: the store failed");
                service.metrics.store_failed();
                return;
            }
        };
        if let Some(last) = found.last() {
            after = last.seq;
            next = Some(lines(&found));
            continue;
        }
        let changed = tokio::select! {
            changed = service.store.changed(run, after, HEARTBEAT) => changed,
            () = service.closing.cancelled() => return,
            () = sender.closed() => return,
        };
        if changed.is_err() {
            return;
        }
        // Where nothing came it says that it is still there.
        if service.store.event_list(run, after, 1).await.is_ok_and(|found| found.is_empty()) {
            next = Some(Bytes::from_static(b": still here\n\n"));
        }
    }
}

fn lines(events: &[StoredEvent]) -> Bytes {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    let mut text = String::new();
    for event in events {
        let kind = serde_json::from_str::<Kind<'_>>(&event.body);
        let kind = kind.as_ref().map_or("event", |kind| &kind.kind);
        // A line of a journal has no line ends in it.
        let _ = write!(text, "id: {}\nevent: {kind}\ndata: {}\n\n", event.seq, event.body);
    }
    Bytes::from(text)
}

/// A body that ends when there is nobody left to tell.
struct Stream {
    receiver: mpsc::Receiver<Bytes>,
    _permit: OwnedSemaphorePermit,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// As every client can hold it; more events no journal has.
const MOST_DIGITS: usize = 15;
const WAITING: usize = 4;
const PAGE: u32 = 500;
const HEARTBEAT: Duration = Duration::from_secs(15);
