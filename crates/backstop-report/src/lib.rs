//! The report of a run: what was asked, what was done, why it ended, and what to do next.
//!
//! [`ReportBuilder`] takes the events of a journal one by one, in memory that does not grow with
//! their number, and makes a [`Report`] of them: data for programs, with Markdown and one page of
//! HTML for people. Pure: the time and the events come in, text goes out.

mod bounded;
mod builder;
pub mod figures;
mod html;
mod markdown;
mod report;
mod series;
mod standing;
pub mod text;
mod words;

pub use bounded::Kept;
pub use builder::{About, Ending, ReportBuilder};
pub use report::*;
pub use standing::{NextCommand, Standing};
