//! What every type of condition can do.

use super::measure::{Measure, Scene};
use crate::document::Node;
use crate::event::LimitValue;
use crate::facts::{Streaks, Watch};
use crate::field::{Findings, Record};
use crate::reason::ReasonCode;
use crate::time::Wake;

/// One type of condition. Its fields are declared by [`record!`](crate::field::record).
pub(crate) trait Kind: Record {
    /// Its name in documents.
    const TYPE: &'static str;
    /// One as it stands in a TOML document, for the reference.
    const EXAMPLE: &'static str;
    /// What its progress is, for the reference.
    const PROGRESS: &'static str = "none until it is met";
    /// The priority of a rule that does not say its own.
    const PRIORITY: i32;
    /// The groups of facts that it reads.
    const WATCHES: Watch;
    /// What an acknowledgement sets back.
    const STREAKS: Streaks = Streaks::NONE;
    /// Whether it reads a meter, or an expression, that may be unable to answer.
    const METER: bool = false;
    /// Whether its progress changes by itself as time passes.
    const MOVES: bool = false;

    /// Computes what follows from the fields; says in `findings` what can never work.
    fn prepare(&mut self, _node: &Node, _findings: &mut Findings) {}

    /// When it is met, in one plain phrase: "after 50 iterations".
    fn describe(&self) -> String;

    fn measure(&self, scene: &Scene<'_>) -> Measure;

    /// Why it is met, or how far it is, in one plain sentence.
    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String;

    /// The reason of a rule that does not name its own.
    fn reason(&self, scene: &Scene<'_>) -> ReasonCode;

    /// The groups of facts that this one reads, where that depends on its fields.
    fn watches(&self) -> Watch {
        Self::WATCHES
    }

    /// When the answer may change by itself.
    fn wake(&self, _scene: &Scene<'_>) -> Wake {
        Wake::NEVER
    }

    /// An operator changed the limit. Conditions without one have nothing to change.
    fn raise(&mut self, _value: LimitValue) {}
}
