//! Figures as the terminal shows them: those of every report, and style.

pub use backstop_report::figures::{
    Gauge, age, bytes, command_line, count, counted, dollars, duration, gauges, is_limit, limit,
    money, percent, rounded, wanted,
};
use owo_colors::{OwoColorize as _, Style};

/// The text in a style, where colour is shown.
pub fn painted(text: &str, style: Style, colour: bool) -> String {
    if colour { text.style(style).to_string() } else { text.to_owned() }
}
