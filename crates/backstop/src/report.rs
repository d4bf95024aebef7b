//! Reports for people and programs.

mod card;
mod decision;
mod figures;
mod human;
mod iteration;
mod json_lines;
mod live;
mod question;
mod table;
#[cfg(test)]
mod tests;

pub use card::{Card, appearance, shown_command};
pub use decision::{bars, decision};
pub use figures::{
    age, bytes, command_line, counted, dollars, duration, gauges, painted, percent, rounded,
};
pub use human::Human;
pub use iteration::verified;
pub use json_lines::JsonLines;
pub use question::{lines as question_lines, ways_out};
pub use table::{WIDTH, columns, cut, folded, hanging, wrapped};
