//! Measures how far the work drifts from what was asked for, where anybody wants to know.

use std::path::PathBuf;

use backstop_core::event::Drift;
use backstop_core::facts::Watch;
use backstop_core::policy::DriftSettings;

use super::iteration::Current;
use super::{Dispatcher, Order, RunError};
use crate::capture::Summary;
use crate::drift::{self, WorkBefore};
use crate::report::Remark;

impl Dispatcher {
    /// Before an iteration: the work as it is, if the iteration's own will be compared.
    pub(super) async fn work_before(
        &mut self,
        iteration: u64,
    ) -> Result<Option<WorkBefore>, RunError> {
        if !self.is_measured(iteration) || self.drift_command().is_some() {
            return Ok(None);
        }
        let (cwd, folder) = (self.launch.cwd.clone(), self.folder.path().join("drift"));
        let tree = self.tree.clone();
        // Where it can't be made git says so.
        drop(self.folder.create());
        match self.look_beside(WorkBefore::look(&cwd, &folder, &tree)).await? {
            Some(Ok(before)) => Ok(before),
            Some(Err(error)) => {
                self.warn_of_drift(&error.to_string());
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// After an iteration: the score, as an event. Where nothing can be compared there is none.
    pub(super) async fn measure_drift(
        &mut self,
        current: &mut Current,
        summary: &Summary,
    ) -> Result<(), RunError> {
        if !self.is_measured(current.number) || self.ordered >= Some(Order::Kill) {
            return Ok(());
        }
        let scored = match self.drift_command() {
            Some(settings) => self.drift_by_command(settings).await?,
            None => self.drift_by_words(current.before.take(), summary).await?,
        };
        match scored {
            Ok(Some(score)) => {
                self.unmeasured_drift = None;
                self.take(Drift { score });
            }
            Ok(None) => {}
            Err(why) => self.warn_of_drift(&why),
        }
        Ok(())
    }

    async fn drift_by_command(
        &mut self,
        settings: DriftSettings,
    ) -> Result<Result<Option<f64>, String>, RunError> {
        let Some(command) = settings.command.clone() else { return Ok(Ok(None)) };
        let (tree, cwd) = (self.tree.clone(), self.launch.cwd.clone());
        let environment = self.environment();
        let scored = self
            .hear_beside(|cancelled| async move {
                drift::by_command(&command, &settings, &tree, &cwd, &environment, cancelled).await
            })
            .await?;
        self.end_leftovers(std::time::Duration::ZERO).await;
        Ok(scored.transpose())
    }

    async fn drift_by_words(
        &mut self,
        before: Option<WorkBefore>,
        summary: &Summary,
    ) -> Result<Result<Option<f64>, String>, RunError> {
        let Some(requirements) = self.requirements() else { return Ok(Ok(None)) };
        let (tree, words) = (self.tree.clone(), summary.words.clone());
        let scored = self.look_beside(async move {
            let changes = match before {
                Some(before) => before.changes(&tree).await.map_err(|error| error.to_string())?,
                None => String::new(),
            };
            let path = requirements.clone();
            // Texts may be long; nobody else waits meanwhile.
            let scored =
                tokio::task::spawn_blocking(move || drift::by_words(&path, &changes, &words)).await;
            match scored {
                Ok(Ok(score)) => Ok(score),
                Ok(Err(error)) => {
                    Err(format!("`{}` can't be read: {error}", requirements.display()))
                }
                Err(_) => Ok(None),
            }
        });
        Ok(scored.await?.unwrap_or(Ok(None)))
    }

    /// Whether the drift is measured in this iteration: somebody reads it, and it can be.
    fn is_measured(&self, iteration: u64) -> bool {
        let policy = self.engine.policy();
        let every = policy.settings.drift.as_ref().and_then(|drift| drift.every);
        let is_due = iteration.is_multiple_of(every.map_or(1, |every| every.0));
        let is_read = policy.settings.drift.is_some()
            || policy.all_rules().any(|rule| rule.when.watches().intersects(Watch::DRIFT));
        is_due && is_read && policy.settings.measures_drift()
    }

    /// Whether a rule only waits for the next measurement of the drift.
    pub(super) fn will_be_measured(&self, rule: usize) -> bool {
        let policy = self.engine.policy();
        let mut rules = policy.all_rules().skip(rule);
        let reads_drift =
            rules.next().is_some_and(|rule| rule.when.watches().intersects(Watch::DRIFT));
        reads_drift && policy.settings.measures_drift()
    }

    fn drift_command(&self) -> Option<DriftSettings> {
        let settings = self.engine.policy().settings.drift.as_ref();
        settings.filter(|drift| drift.command.is_some()).cloned()
    }

    fn requirements(&self) -> Option<PathBuf> {
        let work = self.engine.policy().settings.work.as_ref()?;
        Some(self.launch.cwd.join(&work.requirements.as_ref()?.0))
    }

    /// Says what is wrong when it begins to be, and not after every iteration.
    fn warn_of_drift(&mut self, why: &str) {
        if self.unmeasured_drift.as_deref() == Some(why) {
            return;
        }
        self.unmeasured_drift = Some(why.to_owned());
        self.remark(&Remark::Warning(format!("the drift was not measured: {why}")));
    }
}
