//! Any program at all.

use crate::{Adapter, Exit, Listener, Moment, Outcome, Record};

/// Reads nothing out of the output: what a program prints is no error channel, and whose words they
/// are nobody knows. Only its exit status counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generic;

impl Adapter for Generic {
    fn record(&mut self, _record: Record<'_>, _moment: &Moment, _listener: &mut dyn Listener) {}

    fn finish(
        &mut self,
        exit: Option<Exit>,
        _moment: &Moment,
        _listener: &mut dyn Listener,
    ) -> Outcome {
        match exit {
            Some(exit) if !exit.succeeded() => Outcome::Failed,
            _ => Outcome::Succeeded,
        }
    }
}
