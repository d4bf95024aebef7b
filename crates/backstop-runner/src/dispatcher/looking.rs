//! Looks at the world beside the loop: git, files, probes.
//!
//! Everything else is heard meanwhile, limits count on, and whoever looks keeps no run from its end:
//! a git that hangs is given up like any other process.

use std::future::Future;
use std::time::Duration;

use backstop_core::verdict::Verdict;

use super::{Dispatcher, Order, RunError, guarding};
use crate::probe::Probes;
use crate::progress::ProgressSources;

impl Dispatcher {
    /// Hears everything while something is looked at. None where the look was cut short: a run that
    /// is to end waits a little, one that is to end now waits for none. What was started for the
    /// look is gone then.
    pub(super) async fn look_beside<T>(
        &mut self,
        look: impl Future<Output = T>,
    ) -> Result<Option<T>, RunError> {
        let looked = self.hear_while(look, Self::end_of_looks).await?;
        if looked.is_none() {
            self.end_leftovers(Duration::ZERO).await;
        }
        Ok(looked)
    }

    /// As [`Self::look_beside`], for what is done so that nothing is lost: only who insists on the
    /// end, or a git that does not come to its end, cuts it short.
    pub(super) async fn keep_beside<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<Option<T>, RunError> {
        let patience = if self.is_cut_short { PATIENCE } else { LONGEST_KEEPING };
        let until = self.timers.active() + patience;
        let end = |run: &mut Self| match run.ordered {
            Some(Order::KillNow) => Some(run.timers.active()),
            _ => Some(until),
        };
        let kept = self.hear_while(work, end).await?;
        if kept.is_none() {
            self.end_leftovers(Duration::ZERO).await;
        }
        Ok(kept)
    }

    /// Waits for something, at most until the time that is asked for after everything that happens.
    async fn hear_while<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut end: impl FnMut(&mut Self) -> Option<Duration>,
    ) -> Result<Option<T>, RunError> {
        let mut work = std::pin::pin!(work);
        loop {
            let until = end(self);
            if until.is_some_and(|until| until <= self.timers.active()) {
                self.is_cut_short = true;
                return Ok(None);
            }
            let happening = tokio::select! {
                biased;
                done = &mut work => return Ok(Some(done)),
                happening = self.next(None, until) => happening?,
            };
            self.see_to(happening).await;
            self.decide();
        }
    }

    /// When looks are given up, on the timers' clock: all looks at the end of a run have one time.
    fn end_of_looks(&mut self) -> Option<Duration> {
        let now = self.timers.active();
        let verdict = self.verdict_now();
        let is_to_end = self.ordered.is_some()
            || matches!(verdict, Verdict::Stop | Verdict::Kill | Verdict::Fail);
        let patience = match self.ordered {
            Some(Order::KillNow) => Duration::ZERO,
            Some(Order::Kill) => LAST_LOOKS,
            _ => self.times.finish_within.min(PATIENCE),
        };
        self.looks_end = is_to_end.then(|| {
            let until = now + patience;
            self.looks_end.map_or(until, |known| known.min(until))
        });
        self.looks_end
    }

    /// What is looked at after an iteration is looked at afresh.
    pub(super) fn begin_to_look(&mut self) {
        self.looks_end = None;
        self.is_cut_short = false;
    }

    /// Has something looked at by those who know what progress is. None where it was cut short.
    pub(super) async fn with_progress<T>(
        &mut self,
        look: impl AsyncFnOnce(&mut ProgressSources) -> T,
    ) -> Result<Option<T>, RunError> {
        self.follow_progress_of_policy().await?;
        let away = ProgressSources::away(self.tree.clone());
        let mut progress = std::mem::replace(&mut self.progress, away);
        let looked = self.look_beside(look(&mut progress)).await;
        self.put_back_progress(progress);
        looked
    }

    /// Those who know what progress is are here again. What tests said meanwhile is compared now.
    pub(super) fn put_back_progress(&mut self, progress: ProgressSources) {
        let away = std::mem::replace(&mut self.progress, progress);
        for tests in away.untold_tests() {
            if let Some(made) = self.progress.tests(&tests) {
                self.take(made);
            }
        }
        self.warn_of(|run| run.progress.warnings());
    }

    /// Finds out what there is to look at, if that is not known for the policy in force.
    pub(super) async fn follow_progress_of_policy(&mut self) -> Result<(), RunError> {
        if self.progress_follows.as_deref() == Some(self.engine.policy_hash()) {
            return Ok(());
        }
        let hash = self.engine.policy_hash().to_owned();
        let policy = self.engine.policy().clone();
        let (launch, folder) = (self.launch.clone(), self.folder.clone());
        let (tree, is_read) = (self.tree.clone(), self.progress_is_read);
        let found = async {
            let settings = policy.settings.progress.as_ref();
            let seen = folder.seen_trees();
            let progress = ProgressSources::begin(settings, is_read, &launch.cwd, seen, tree).await;
            guarding::with_guards(progress, &policy, &launch, &folder).await
        };
        let Some((progress, blind)) = self.look_beside(found).await? else { return Ok(()) };
        self.guards.blind = blind;
        let earlier = std::mem::replace(&mut self.progress, progress);
        self.progress.go_on_from(earlier);
        self.progress_follows = Some(hash);
        Ok(())
    }

    /// Before an iteration: what is there now is none of its doing.
    pub(super) async fn take_baseline(&mut self) -> Result<(), RunError> {
        self.has_baseline = self.progress_is_read
            || self.engine.facts().consecutive_errors() > 0
            || self.guards_changes();
        if self.has_baseline {
            let is_undisturbed = self.is_undisturbed();
            let look = async |progress: &mut ProgressSources| {
                progress.baseline_after(is_undisturbed).await
            };
            let told = self.with_progress(look).await?;
            self.take_all(told.into_iter().flatten());
        }
        Ok(())
    }

    /// After an iteration: progress, probes.
    pub(super) async fn look_around(&mut self) -> Result<(), RunError> {
        if self.has_baseline {
            let look = async |progress: &mut ProgressSources| progress.measure().await;
            let made = self.with_progress(look).await?;
            self.take_all(made.into_iter().flatten());
        }
        self.ask_probes().await
    }

    /// Asks all probes. Scripts may take their time, so whoever wants the end at once has none started.
    pub(super) async fn ask_probes(&mut self) -> Result<(), RunError> {
        if self.ordered >= Some(Order::Kill) {
            return Ok(());
        }
        let nobody = Probes::new([], &self.launch.cwd, self.tree.clone());
        let mut probes = std::mem::replace(&mut self.probes, nobody);
        let hash = self.engine.policy_hash().to_owned();
        let answers = self.look_beside(probes.ask_all()).await;
        if matches!(answers, Ok(None)) {
            probes.give_up();
            self.end_leftovers(Duration::ZERO).await;
        }
        // Those of a policy that was put in place meanwhile ask other questions.
        let is_current = self.engine.policy_hash() == hash;
        if is_current {
            self.probes = probes;
        }
        self.take_all(answers?.into_iter().flatten().filter(|_| is_current));
        self.warn_of(|run| run.probes.warnings());
        Ok(())
    }
}

/// How long a run that is to stop waits for looks that are under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long one waits that is to end at once: a git that is well has answered by then.
const LAST_LOOKS: Duration = Duration::from_secs(1);

/// Nothing is lost by a stop, but a git that takes longer than this does not come to its end.
const LONGEST_KEEPING: Duration = Duration::from_secs(60);
