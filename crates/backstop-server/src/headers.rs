//! Headers of answers that say what a body does not.

use axum::http::HeaderName;

/// The verdict of a decision, whatever form it has.
pub const VERDICT: HeaderName = HeaderName::from_static("backstop-verdict");

/// The code with which a command ends that asked for a decision.
pub const EXIT_CODE: HeaderName = HeaderName::from_static("backstop-exit-code");

/// How a run stands that a report has halted.
pub const HALTED: HeaderName = HeaderName::from_static("backstop-run-halted");

/// The cursor of the page that follows, where a list is the whole body.
pub const NEXT_CURSOR: HeaderName = HeaderName::from_static("backstop-next-cursor");

/// Which request an answer belongs to.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
