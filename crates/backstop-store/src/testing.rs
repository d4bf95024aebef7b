//! Test tools: a suite that every engine passes, a store that fails on demand or is busy, a server to
//! throw away with a pooler before it, and samples.

#[expect(clippy::expect_used, reason = "a store that can't be kept busy is a test that fails")]
mod blocked;
#[expect(clippy::unwrap_used, reason = "a case that can't go on is a test that fails")]
pub mod conformance;
mod failing;
#[expect(clippy::expect_used, reason = "a pooler that does not start is a test that fails")]
pub mod pooler;
#[expect(clippy::expect_used, reason = "a server that does not start is a test that fails")]
pub mod postgres;
pub mod sample;

pub use blocked::BlockedWrites;
pub(crate) use failing::fail_as_the_environment_says;
pub use failing::{FAILURE_VARIABLE, FailingStore, Failure, FailureKind};
