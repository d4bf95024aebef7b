//! Generators of policies and runs, and the bodies of the fuzz targets, for the tests of this and
//! other crates.
//!
//! Thresholds and values come from small ranges, so that borders are hit often.

mod conditions;
mod events;
pub mod fuzz;
mod policies;
pub mod proportional;
pub mod smoke;

use std::fmt;

use proptest::prelude::*;

use crate::event::Event;
use crate::policy::Policy;
use crate::time::Timestamp;

pub use conditions::{condition, leaf, limits as limit};
pub use events::{event, event_kind, happenings};
pub use policies::{policy, policy_document, policy_of};

/// An event as it is told, and whether somebody asks for a decision after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    pub event: Event,
    /// When it is told: the time of an event that carries none.
    pub now: Timestamp,
    /// When a decision is asked for, if at all, before the next event.
    pub asked: Option<Timestamp>,
}

/// A policy, and events that answer its questions.
#[derive(Clone, PartialEq)]
pub struct Run {
    pub policy: Policy,
    pub happenings: Vec<Happening>,
}

/// As a person would write it down: the policy in TOML, then the events, one a line.
impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "\n{}", self.policy.to_toml())?;
        for Happening { event, now, asked } in &self.happenings {
            write!(formatter, "{now} {}", event.to_json())?;
            match asked {
                Some(asked) => writeln!(formatter, "  asked at {asked}")?,
                None => writeln!(formatter)?,
            }
        }
        Ok(())
    }
}

/// A policy with a sequence of up to so many events.
pub fn run(most_events: usize) -> impl Strategy<Value = Run> {
    (policy(), happenings(most_events)).prop_map(|(policy, mut happenings)| {
        address(&policy, &mut happenings);
        Run { policy, happenings }
    })
}

/// Turns the placeholders of generated probes and matches into keys of a policy's own conditions.
pub fn address(policy: &Policy, happenings: &mut [Happening]) {
    let asked = policy.asked();
    for happening in happenings {
        events::address(&mut happening.event.kind, &asked);
    }
}
