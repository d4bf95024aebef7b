//! Normalising takes time in proportion to the text, whatever the text.

use std::hint::black_box;
use std::time::{Duration, Instant};

use backstop_core::normalise::{Style, key};

const STYLES: [Style; 4] = [
    Style::Action,
    Style::Observation,
    Style::Masked,
    Style::Error,
];

/// Units that, repeated, make every place look like the beginning of some noise.
const ADVERSARIES: [&str; 12] = [
    "a", "1-", "1:", "12:30:0", "a-", "a/", "-/", "1s ", "\x1b]", "\x1b[1;", "Mon, 1", "://1:",
];

#[test]
fn eight_times_the_text_takes_about_eight_times_as_long() {
    for unit in ADVERSARIES {
        for style in STYLES {
            let text = unit.repeat(1024 * 1024 / unit.len());
            let (part, whole) = (
                fastest(&text[..text.len() / 8], style),
                fastest(&text, style),
            );
            // Quadratic work would take 64 times as long. The floor keeps the clock's own noise out.
            let floor = Duration::from_micros(200);
            assert!(
                whole < part.max(floor) * 24,
                "{style:?} of {unit:?}: {part:?} for an eighth, {whole:?} for the whole"
            );
        }
    }
}

fn fastest(text: &str, style: Style) -> Duration {
    let run = || {
        let began = now();
        black_box(key(black_box(text.as_bytes()), style));
        now() - began
    };
    (0..2).map(|_| run()).min().unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this measures how long the core takes"
)]
fn now() -> Instant {
    Instant::now()
}
