//! Reports for people.

mod decision;
mod table;

pub use decision::decision;
pub use table::{columns, folded, hanging, wrapped};
