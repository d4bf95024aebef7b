//! The record of decisions that must stand up to questions: a chain of rows that nobody changes.
//!
//! Each row's hash covers the hash before it, so that a changed, removed, swapped or inserted row
//! breaks the chain. Only a checkpoint that is kept elsewhere shows that the end was cut off, or
//! that the whole chain was written anew.

mod chain;
mod checkpoint;
mod row;
mod verify;
mod writer;

pub use chain::{Hash, ORIGIN, hash};
pub use checkpoint::{Checkpoint, CheckpointError, Signer, Verifier};
pub use row::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, JsonText, NewAuditRow};
pub use verify::{Finding, Verified, verify};
pub use writer::AuditWriter;
