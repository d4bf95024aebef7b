//! When guards are checked, and what becomes of a run that violates one.

use std::io;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::event::{Event, EventKind, GuardKind, Note};
use backstop_core::policy::{GuardSettings, Lifted, Policy};
use backstop_core::verdict::Verdict;
use backstop_store::RunFolder;

use super::recovering::reads;
use super::{Dispatcher, RunError, halt};
use crate::git::Repository;
use crate::guards::beginning::{Beginning, Place};
use crate::guards::claims::{self, Claims};
use crate::guards::protected::Protected;
use crate::guards::revert::Sources;
use crate::guards::standing::Standing;
use crate::guards::{self, Violation, protected_files, protected_globs};
use crate::keep;
use crate::launch::Launch;
use crate::progress::{ProgressSources, Witness};
use crate::report::Remark;

/// Has the look at the work tree made for guards too; also says why nobody could look.
pub(crate) async fn with_guards(
    progress: ProgressSources,
    policy: &Policy,
    launch: &Launch,
    folder: &RunFolder,
) -> (ProgressSources, Option<String>) {
    let settings = settings(policy, launch.lifted);
    if !settings.is_some_and(|set| set.watches_changes() || set.requires_clean()) {
        return (progress, None);
    }
    match progress.and_for_guards(&launch.cwd, &folder.seen_trees()).await {
        Ok(progress) => (progress, None),
        Err((progress, error)) => (progress, Some(error.to_string())),
    }
}

/// The guards of a policy, but for those that were lifted when the run was started: they stay
/// lifted, whatever policy is put in place later.
fn settings(policy: &Policy, lifted: Lifted) -> Option<GuardSettings> {
    policy.settings.guards.as_ref()?;
    policy.with_lifted_guards(lifted).settings.guards
}

/// The repository that files are put back from, and the commit.
struct Source {
    repository: Repository,
    commit: Option<String>,
}

impl Dispatcher {
    /// Before anything runs: is the work tree clean, does another run claim the same files, and
    /// are the protected files what they were?
    pub(super) async fn check_guards_at_start(&mut self) -> Result<(), RunError> {
        self.guards.begin_check();
        let Some(settings) = self.guard_settings() else { return Ok(()) };
        let is_new = !self.was_resumed && self.engine.facts().iterations() == 0;
        if is_new {
            self.note_lifted();
        }
        if is_new && settings.requires_clean() {
            self.check_clean().await?;
        }
        if settings.denies_collisions() {
            let own = Claims::of(&self.launch.cwd, Some(&settings));
            match claims::shared(&*self.store, self.run, is_new, &own).await {
                Ok(shared) => {
                    let shared =
                        shared.iter().map(|claim| (GuardKind::Collision, claim.as_bytes()));
                    self.take_all(guards::events(shared));
                }
                Err(error) => self.unguarded(format!("other runs: {error}")),
            }
        }
        let mut stands = Vec::new();
        let mut source = None;
        if settings.watches_changes() {
            (stands, source) = self.check_what_stands(&settings).await?;
        }
        let spoilt = self.spoilt_files(&settings).await?;
        self.violated(self.iteration_number(), &settings, stands, &spoilt, &spoilt, source).await
    }

    /// Puts files back, if the policy says so, and tells of all that violates a guard; of protected
    /// files only of the news.
    async fn violated(
        &mut self,
        iteration: u64,
        settings: &GuardSettings,
        mut violations: Vec<Violation>,
        spoilt: &[Vec<u8>],
        news: &[Vec<u8>],
        source: Option<Source>,
    ) -> Result<(), RunError> {
        // What is protected is told as that, and once.
        violations.retain(|violation| !spoilt.contains(&violation.file.path));
        if violations.is_empty() && spoilt.is_empty() {
            return Ok(());
        }
        if settings.reverts() {
            self.revert(iteration, &violations, spoilt, source).await?;
            self.spoilt_files(settings).await?;
        }
        let files = violations.iter().map(|found| (found.kind, found.file.path.as_slice()));
        let events = guards::events(files.chain(protected_files(news)));
        self.take_all(events);
        Ok(())
    }

    /// Keeps what an iteration begins with. Should nobody see its end, whoever goes on with the run
    /// compares with it.
    pub(super) fn keep_beginning(&mut self) {
        if !self.guards_changes() {
            return;
        }
        let Some(beginning) = Beginning::last_seen(&self.progress) else { return };
        if let Err(error) = Standing::new(beginning).keep(&self.folder) {
            self.unguarded(format!("what the iteration begins with can't be kept: {error}"));
        }
    }

    /// What an iteration changed whose end nobody saw, or that halted the run because of it: a
    /// resumption alone does not put files right.
    async fn check_what_stands(
        &mut self,
        settings: &GuardSettings,
    ) -> Result<(Vec<Violation>, Option<Source>), RunError> {
        let mut standing = match Standing::read(&self.folder) {
            Ok(Some(standing)) => standing,
            Ok(None) => return Ok((Vec::new(), None)),
            Err(error) => {
                self.folder.forget_iteration_beginning();
                self.unguarded(format!("what the iteration began with can't be read: {error}"));
                return Ok((Vec::new(), None));
            }
        };
        let (launch, tree) = (self.launch.clone(), self.tree.clone());
        let remembered = guards::remembered(&self.folder);
        let place = Place { cwd: &launch.cwd, tree: &tree, remembered: &remembered };
        match self.look_beside(standing.violations(place, settings)).await? {
            // What it began with stays, for whoever goes on with the run.
            None => self.guard_check_was_cut_short(),
            Some(Ok((violations, repository))) => {
                self.keep_standing(&mut standing, &violations);
                let commit = standing.commit().map(str::to_owned);
                let source = repository.map(|repository| Source { repository, commit });
                return Ok((violations, source));
            }
            Some(Err(why)) => {
                self.folder.forget_iteration_beginning();
                self.unguarded(format!("what changed: {why}"));
            }
        }
        Ok((Vec::new(), None))
    }

    /// Where files stay that must not, whoever resumes the run looks at them again.
    fn keep_standing(&mut self, standing: &mut Standing, violations: &[Violation]) {
        if violations.is_empty() {
            return self.folder.forget_iteration_beginning();
        }
        standing.narrow(violations);
        if let Err(error) = standing.keep(&self.folder) {
            self.unguarded(format!("what violates a guard can't be kept: {error}"));
        }
    }

    /// A person has seen what a guard's rule fired for, and lets the run go on as it is.
    pub(super) fn let_changes_stay(&self, rule: Option<usize>) {
        let rule = rule.and_then(|index| self.engine.policy().all_rules().nth(index));
        let is_guard = |part: &Condition| matches!(part, Condition::GuardViolated(_));
        if rule.is_some_and(|rule| reads(&rule.when, is_guard)) {
            self.folder.forget_iteration_beginning();
        }
    }

    /// After an iteration: what it changed, and whether it was allowed to.
    pub(super) async fn check_guards_after_iteration(
        &mut self,
        number: u64,
    ) -> Result<(), RunError> {
        self.guards.begin_check();
        self.guards.has_reverted = false;
        let Some(settings) = self.guard_settings() else {
            self.folder.forget_iteration_beginning();
            return Ok(());
        };
        let mut violations = Vec::new();
        if settings.watches_changes() {
            let look = async |progress: &mut ProgressSources| guards::changed(progress).await;
            // Where the end of the iteration was not looked at, nobody can compare.
            let looked = if self.is_cut_short { None } else { self.with_progress(look).await? };
            match looked {
                // What the iteration began with stays, for whoever goes on with the run.
                None => self.guard_check_was_cut_short(),
                Some(Ok(changed)) => {
                    violations = guards::out_of_scope(&settings, changed);
                    match Standing::read(&self.folder) {
                        Ok(Some(mut standing)) => self.keep_standing(&mut standing, &violations),
                        Ok(None) => {}
                        Err(error) => self.unguarded(format!("what it began with: {error}")),
                    }
                }
                Some(Err(why)) => {
                    self.folder.forget_iteration_beginning();
                    let why = self.guards.blind.clone().unwrap_or(why);
                    self.unguarded(format!("what changed: {why}"));
                }
            }
        }
        let known = self.guards.spoilt.clone();
        let spoilt = self.spoilt_files(&settings).await?;
        let news: Vec<Vec<u8>> =
            spoilt.iter().filter(|path| !known.contains(*path)).cloned().collect();
        self.violated(number, &settings, violations, &spoilt, &news, None).await
    }

    /// A run whose guards could not be checked does not go on, unless it ends for something worse or
    /// its end is why there was no time for them.
    pub(super) fn held_unless_guarded(&mut self, decision: Decision) -> Decision {
        let Some(why) = &self.guards.unchecked else { return decision };
        let stops = decision.verdict == Verdict::Stop
            || self.ordered.is_some() && decision.verdict != Verdict::Complete;
        if matches!(decision.verdict, Verdict::Fail | Verdict::Kill)
            || self.guards.is_cut_short && stops
        {
            return decision;
        }
        let held = halt::unguarded(decision, why, &self.engine);
        self.record(&held);
        held
    }

    /// The rule that says that the work is done, although what judges it was changed.
    pub(super) fn spoilt(&self, decision: &Decision) -> Option<usize> {
        let is_claim = decision.verdict == Verdict::Complete && !self.guards.spoilt.is_empty();
        decision.rule.as_ref().filter(|_| is_claim).map(|rule| rule.index)
    }

    /// Whether guards want to know what an iteration changed.
    pub(super) fn guards_changes(&self) -> bool {
        self.guard_settings().is_some_and(|settings| settings.watches_changes())
    }

    /// Whether nothing was at work since the last iteration but backstop itself.
    pub(super) fn is_undisturbed(&self) -> bool {
        let policy = self.engine.policy();
        let settings = &policy.settings;
        let runs_commands = settings.verify.is_some()
            || settings.review.is_some()
            || settings.drift.is_some()
            || settings.notify.as_ref().is_some_and(|notify| notify.command.is_some());
        let runs_scripts =
            || policy.asked().into_iter().any(|asked| matches!(asked, Condition::CustomScript(_)));
        !runs_commands && !self.guards.has_reverted && !runs_scripts()
    }

    fn guard_settings(&self) -> Option<GuardSettings> {
        settings(self.engine.policy(), self.launch.lifted)
    }

    fn note_lifted(&mut self) {
        for what in self.launch.lifted.in_words() {
            self.note(Note::GuardLifted, what);
        }
    }

    async fn check_clean(&mut self) -> Result<(), RunError> {
        let look = async |progress: &mut ProgressSources| progress.baseline().await;
        let Some(told) = self.with_progress(look).await? else {
            self.guard_check_was_cut_short();
            return Ok(());
        };
        self.take_all(told);
        if let Some(why) = self.guards.blind.clone() {
            self.unguarded(format!("whether the work tree is clean: {why}"));
            return Ok(());
        }
        let dirty: Result<Vec<Vec<u8>>, String> = match self.progress.witness() {
            Some(Witness::Git(git)) => match git.last_look() {
                Ok(Some(look)) => Ok(look
                    .entries
                    .keys()
                    .map(|path| git.repository().seen_from_here(path))
                    .collect()),
                Ok(None) => Err("nobody could look".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            Some(Witness::Files(_)) | None => {
                let text = "there is no repository, so nobody knows whether the work tree is clean";
                self.remark(&Remark::Warning(text.to_owned()));
                Ok(Vec::new())
            }
        };
        match dirty {
            Ok(dirty) => {
                let files = dirty.iter().map(|path| (GuardKind::Dirty, path.as_slice()));
                self.take_all(guards::events(files));
            }
            Err(why) => self.unguarded(format!("whether the work tree is clean: {why}")),
        }
        Ok(())
    }

    /// Looks at the protected files, and remembers which of them are not what they were.
    async fn spoilt_files(&mut self, settings: &GuardSettings) -> Result<Vec<Vec<u8>>, RunError> {
        let globs = protected_globs(settings);
        if globs.is_empty() {
            self.guards.spoilt.clear();
            return Ok(Vec::new());
        }
        let begins = !self.guards.protected.is_known() && self.has_nothing_to_lose().await;
        let mut protected = self.take_protected();
        let looked = self
            .look_beside(async {
                match begins {
                    true => protected.begin(globs, settings.reverts()).await.map(|()| Vec::new()),
                    false => protected.changed(globs, settings.reverts()).await,
                }
            })
            .await;
        self.guards.protected = protected;
        match looked? {
            Some(changed) => Ok(self.taken_for_spoilt(changed)),
            None => {
                self.guard_check_was_cut_short();
                Ok(Vec::new())
            }
        }
    }

    /// Lends out what is known of the protected files: it must be put back.
    fn take_protected(&mut self) -> Protected {
        let meanwhile = Protected::new(&self.launch.cwd, self.folder.clone());
        std::mem::replace(&mut self.guards.protected, meanwhile)
    }

    fn taken_for_spoilt(&mut self, changed: io::Result<Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
        match changed {
            Ok(changed) => {
                self.guards.spoilt = changed.iter().cloned().collect();
                changed
            }
            Err(error) => {
                self.unguarded(format!("protected files: {error}"));
                Vec::new()
            }
        }
    }

    /// Whether nobody has written down yet what the protected files are: nothing has run so far, or
    /// the policy that the run began with protected none. Else the record was lost, and that is no
    /// reason to take what is there now for what was.
    async fn has_nothing_to_lose(&self) -> bool {
        if self.engine.facts().iterations() == 0 {
            return true;
        }
        let first =
            self.store.event_list(self.run, 0, 1).await.ok().and_then(|mut first| first.pop());
        let first = first.and_then(|stored| Event::from_json(stored.body.as_bytes()).ok());
        let Some(EventKind::RunStarted(started)) = first.map(|event| event.kind) else {
            return false;
        };
        let stored = self.store.policy_fetch(&started.policy_hash).await.ok().flatten();
        let policy = stored.and_then(|stored| crate::loading::policy(&stored).ok());
        let guards = policy.map(|policy| policy.settings.guards);
        guards.is_some_and(|guards| guards.is_none_or(|guards| protected_globs(&guards).is_empty()))
    }

    fn guard_check_was_cut_short(&mut self) {
        if !self.guards.is_cut_short {
            self.guards.is_cut_short = true;
            self.unguarded("the check was cut short, because the run was to end".to_owned());
        }
    }

    fn unguarded(&mut self, why: String) {
        self.note(Note::Unguarded, why.clone());
        self.guards.unchecked = Some(why);
    }

    /// Puts the files back, once everything is kept: from where those say who compared, else from what
    /// the iteration that was measured last began with.
    async fn revert(
        &mut self,
        number: u64,
        violations: &[Violation],
        spoilt: &[Vec<u8>],
        source: Option<Source>,
    ) -> Result<(), RunError> {
        let (run, tree, folder) = (self.run, self.tree.clone(), self.folder.clone());
        let cwd = self.launch.cwd.clone();
        let protected = self.take_protected();
        // Kept and put back go together: a run that is to stop waits for both.
        let away = ProgressSources::away(tree.clone());
        let progress = std::mem::replace(&mut self.progress, away);
        let repository = match (&source, progress.witness()) {
            (Some(Source { repository, commit }), _) => Some((repository, commit.as_deref())),
            (None, Some(Witness::Git(git))) => Some((git.repository(), git.commit_before())),
            (None, _) => None,
        };
        let sources = Sources {
            run,
            iteration: number,
            cwd: &cwd,
            folder: &folder,
            tree: &tree,
            repository,
            protected: &protected,
        };
        let done = self.keep_beside(sources.put_back(violations, spoilt)).await;
        self.put_back_progress(progress);
        self.guards.protected = protected;
        let (reverted, kept) = match done? {
            Some(Ok(done)) => done,
            Some(Err(error)) => {
                let text = format!("nothing was put back, since it could not be kept: {error}");
                self.remark(&Remark::Warning(text));
                return Ok(());
            }
            None => {
                // Nobody knows how far it came, so what is there now is looked at afresh.
                self.guards.has_reverted = true;
                let kept = keep::reference_before_revert(run, number);
                let told = format!("cut short, since the run was to end; see {kept}");
                self.remark(&Remark::Warning(format!("putting files back was {told}")));
                self.note(Note::Reverted, told);
                return Ok(());
            }
        };
        if reverted.left.is_empty() {
            // What is there from now on is none of the iteration's doing.
            self.folder.forget_iteration_beginning();
        }
        if let Some(told) = reverted.told(kept.as_deref()) {
            self.guards.has_reverted = true;
            self.note(Note::Reverted, told);
        }
        for left in reverted.left {
            self.remark(&Remark::Warning(format!("not put back: {left}")));
        }
        Ok(())
    }
}
