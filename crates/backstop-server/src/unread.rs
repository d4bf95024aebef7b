//! The rest of a body that nobody read: what was refused early is still on its way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::{Request, header};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// A body of which the rest is taken off the wire when it is dropped. Most clients send all of it
/// before they read the answer: to hang up on them meanwhile would take the answer from them.
#[derive(Debug)]
pub(crate) struct Unread {
    body: Option<Incoming>,
}

impl Unread {
    /// The body of a request. Whoever waits for a sign before sending it gets none if it is refused.
    pub(crate) fn of(request: Request<Incoming>) -> Request<axum::body::Body> {
        let (parts, body) = request.into_parts();
        let body = match body.is_end_stream() || parts.headers.contains_key(header::EXPECT) {
            true => axum::body::Body::new(body),
            false => axum::body::Body::new(Self { body: Some(body) }),
        };
        Request::from_parts(parts, body)
    }
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        if let Some(rest) = self.body.take().filter(|body| !body.is_end_stream()) {
            // The answer need not wait for it; the connection does.
            tokio::spawn(timeout(AT_MOST, discard(rest)));
        }
    }
}

async fn discard(mut rest: Incoming) {
    let mut bytes = 0;
    while let Ok(Some(Ok(frame))) = timeout(BETWEEN_PIECES, rest.frame()).await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > MOST_BYTES {
            return;
        }
    }
}

const MOST_BYTES: usize = 32 << 20;
const AT_MOST: Duration = Duration::from_secs(5);
/// Who sends nothing for so long does not send.
const BETWEEN_PIECES: Duration = Duration::from_secs(1);
