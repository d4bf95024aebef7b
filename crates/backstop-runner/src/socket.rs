//! How others reach a supervised run: two Unix sockets, and an inbox in the store beside them.
//!
//! `report.sock` is the child's: it takes events and answers each with the decision. `operate.sock`
//! is the operator's: stop, pause, raise, watch. Both speak lines of JSON, one answer a line.
//!
//! That the child is kept from the second socket stops accidents, not malice: it runs as the same
//! user, who may do anything to the run.

pub mod inbox;

mod answer;
mod client;
mod connection;
mod place;
mod protocol;
mod reporters;
mod server;
mod stream;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use client::{Client, ClientError, Watching};
pub(crate) use connection::{closed, hand_over};
pub use place::{Place, PlaceError};
pub use protocol::{
    Order, Refusal, Reply, Request, Source, What, error_line, may_emit, may_report, read_operation,
    read_report,
};
pub use reporters::Reporters;
pub use server::{Durable, Server, Settings, durable_in};
