//! Hears from GitHub what failed, decides, and runs failed jobs again where that is wished.

use std::sync::Arc;

mod acting;
mod api;
mod client;
mod comment;
mod failures;
mod guarded;
mod payload;
mod signature;
mod webhook;

pub use api::{Job, WorkflowRun};
pub use client::{Client, ClientError, Pace};
pub(crate) use guarded::hold_for_store;
pub use guarded::{
    GuardedAnswer, JobOutcome, Mode, Outcome, RerunError, RerunRequest, rerun, rerun_route,
};
pub use signature::WebhookSecret;
pub(crate) use webhook::LARGEST_DELIVERY;
pub use webhook::receive;

/// What a service knows GitHub by.
#[derive(Clone, Debug, Default)]
pub struct Github {
    /// What deliveries are signed with; without one, none is taken.
    pub secret: Option<WebhookSecret>,
    /// By whom GitHub is asked; without one, only what a delivery says is known, and nothing is done.
    pub client: Option<Arc<Client>>,
}
