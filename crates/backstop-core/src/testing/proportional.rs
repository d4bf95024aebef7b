//! Whether work takes time in proportion to its size.
//!
//! A measurement that was disturbed is taken again: linear work has an undisturbed one sooner or
//! later, quadratic work never looks linear.

use std::time::{Duration, Instant};

/// Fails if the large work, `factor` times the small one, never took less than two and a half times
/// as long as that; quadratic work takes `factor` times as long as that.
///
/// # Panics
/// Where that is so.
pub fn assert_proportional(
    name: &str,
    factor: u32,
    clock: fn() -> Instant,
    small: impl Fn(),
    large: impl Fn(),
) {
    let mut taken = (Duration::MAX, Duration::MAX);
    for _ in 0..ATTEMPTS {
        taken = (taken.0.min(time(clock, &small)), taken.1.min(time(clock, &large)));
        // The floor keeps the clock's own noise out.
        if taken.1 < taken.0.max(Duration::from_micros(200)) * factor * 5 / 2 {
            return;
        }
    }
    panic!("{name}: {:?}, then {:?} for {factor} times the text", taken.0, taken.1);
}

fn time(clock: fn() -> Instant, work: &impl Fn()) -> Duration {
    let began = clock();
    work();
    clock().duration_since(began)
}

const ATTEMPTS: usize = 20;
