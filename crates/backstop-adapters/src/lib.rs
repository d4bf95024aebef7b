//! Reads what agents and test runners print, and tells it as events of the core.
//!
//! Bytes go in, as they come; what was [heard](Heard) comes out. Nothing here reads a clock, a file,
//! the environment or the network: the time and the zone are handed in, and whoever calls decides
//! what becomes of an event.

mod adapter;
mod excerpt;
mod fault;
mod history;
pub mod report;

pub use adapter::{Adapter, Exit, Heard, Listener, Moment, Outcome, Record, Shown, Voice};
pub use excerpt::excerpt;
pub use fault::{Fault, FaultKind};
pub use history::{Change, TestHistory};
