//! A look in the middle of an iteration, before it is ended because the work seems to stand still.

use std::collections::BTreeSet;

use super::{Dispatcher, RunError};
use crate::progress::ProgressSources;

impl Dispatcher {
    /// What git and files show is measured when an iteration ends, so one that lasts long seems to
    /// stand still however much it commits. Before that counts, somebody looks: once for each time
    /// that a rule is met. `looked` holds the rules for which this was done.
    pub(super) async fn look_before_a_standstill(
        &mut self,
        looked: &mut BTreeSet<usize>,
    ) -> Result<(), RunError> {
        if !self.has_baseline || self.standstill_rules.is_empty() {
            return Ok(());
        }
        self.engine.decide(self.clock.now());
        looked.retain(|rule| self.engine.counts(*rule));
        let rules = self.standstill_rules.iter().copied();
        let met: Vec<usize> =
            rules.filter(|rule| self.engine.counts(*rule) && looked.insert(*rule)).collect();
        if met.is_empty() {
            return Ok(());
        }
        // Nothing is decided by them until it is known whether they are right.
        met.iter().for_each(|rule| self.engine.refuse_claim(*rule));
        let hash = self.engine.policy_hash().to_owned();
        let look = async |progress: &mut ProgressSources| progress.glance().await;
        let made = self.with_progress(look).await;
        if self.engine.policy_hash() == hash {
            met.iter().for_each(|rule| self.engine.admit_claim(*rule));
        } else {
            looked.clear();
        }
        self.take_all(made?.into_iter().flatten());
        // Whoever moves on from here may stand still once more before anything else happens.
        self.engine.decide(self.clock.now());
        looked.retain(|rule| self.engine.counts(*rule));
        Ok(())
    }
}
