//! Answers decisions over HTTP, with audit: for loops and re-run bots on many machines.

pub mod access;
mod api;
mod body;
pub mod data_only;
mod engines;
mod gate;
pub mod github;
mod guard;
mod halts;
pub mod headers;
pub mod in_force;
mod metrics;
pub mod openapi;
pub mod options;
mod outgoing;
pub mod problem;
mod query;
mod rates;
mod readiness;
pub mod rerun;
pub mod route;
pub mod router;
mod schemas;
mod serve;
pub mod service;
mod tls;
mod traces;
mod upkeep;
mod words;
mod work;

pub use access::Caller;
pub use metrics::Metrics;
pub use options::{Limits, ServeOptions, TlsFiles};
pub use serve::{Running, ServeError, serve};
pub use tls::TlsError;
pub use traces::CollectorError;
