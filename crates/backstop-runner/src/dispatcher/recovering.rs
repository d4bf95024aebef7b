//! Recovery: the next iteration starts afresh, and is told what it must know.

use std::fs;
use std::io;
use std::path::PathBuf;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::event::{Recovered, RecoveryKind};
use backstop_core::verdict::Verdict;

use super::between::Next;
use super::{Dispatcher, RunError, halt};
use crate::handoff::{self, HandOff};
use crate::launch::Stdin;
use crate::report::Remark;

impl Dispatcher {
    /// Between two iterations: keeps what there is, and lets the next one start afresh. An agent
    /// that stands still though it tries different things needs a person.
    pub(super) async fn recover(&mut self, decision: Decision) -> Result<Next, RunError> {
        let rule = decision.rule.as_ref().map(|rule| rule.index);
        let kind = self.kind_of_recovery(rule);
        if self.needs_a_person(kind) {
            return self.intervene(Decision { verdict: Verdict::Ask, ..decision }).await;
        }
        let next = self.recover_from(kind, &decision, &decision.message).await?;
        // What was recovered from is judged again when the next iteration has ended.
        self.set_aside(rule);
        Ok(next)
    }

    /// Whether what is decided now is a recovery that only a person can help with.
    pub(super) fn recovery_needs_a_person(&mut self) -> bool {
        let rule = self.engine.decide(self.clock.now()).rule;
        self.needs_a_person(self.kind_of_recovery(rule))
    }

    fn needs_a_person(&self, kind: RecoveryKind) -> bool {
        let repeats = self.engine.facts().handoff().repeated_action().is_some();
        kind == RecoveryKind::Stagnation && !repeats
    }

    /// The agent itself said that its context is full. Whatever the rules look at, another iteration
    /// with the same context would end the same way.
    pub(super) async fn start_afresh(&mut self, decision: Decision) -> Result<Next, RunError> {
        let most = self.engine.policy().settings.context_recoveries();
        if self.engine.facts().context_recoveries() >= most {
            let end = halt::overflown(decision, most, &self.engine);
            self.record(&end);
            return Ok(Next::Halt(Box::new(end)));
        }
        let why = "The agent says that its context is full";
        let next = self.recover_from(RecoveryKind::Context, &decision, why).await?;
        // Errors that were all a full context are met by this.
        self.latched = self.latched.take().filter(|_| decision.verdict != Verdict::Stop);
        let rule = decision.rule.as_ref().filter(|_| decision.verdict == Verdict::Stop);
        self.set_aside(rule.map(|rule| rule.index));
        Ok(next)
    }

    async fn recover_from(
        &mut self,
        kind: RecoveryKind,
        decision: &Decision,
        why: &str,
    ) -> Result<Next, RunError> {
        let checkpoint = self.keep_work(decision).await?;
        let words = match kind {
            RecoveryKind::Context => "a fresh context",
            RecoveryKind::Stagnation => "a hint to go another way",
            RecoveryKind::Error => "a fresh start",
        };
        self.remark(&Remark::Note(format!("recovering with {words}: {why}")));
        let seq = self.take(Recovered { kind, checkpoint });
        // A crash from here on must not take the same fresh start a second time.
        self.durable(seq).await?;
        Ok(Next::Decide)
    }

    fn kind_of_recovery(&self, rule: Option<usize>) -> RecoveryKind {
        match rule.map(|rule| self.engine.condition(rule)) {
            Some(when) if reads(when, |part| matches!(part, Condition::ContextUsage(_))) => {
                RecoveryKind::Context
            }
            Some(when) if reads(when, |part| matches!(part, Condition::Stagnation(_))) => {
                RecoveryKind::Stagnation
            }
            _ => RecoveryKind::Error,
        }
    }

    /// Writes the hand-off, if the iteration that starts now is to have one.
    pub(super) async fn hand_off(&mut self) -> Result<(), RunError> {
        self.handed_off = None;
        let requests = self.review_requests().to_vec();
        if !self.engine.facts().handoff().is_due() && requests.is_empty() {
            return Ok(());
        }
        let (cwd, tree) = (self.launch.cwd.clone(), self.tree.clone());
        let commits = self.look_beside(handoff::last_commits(&cwd, &tree)).await?;
        let settings = &self.engine.policy().settings;
        let text = HandOff {
            facts: self.engine.facts(),
            work: settings.work.as_ref(),
            cwd: &self.launch.cwd,
            open_task: self.progress.current_task(),
            requests: &requests,
            commits: commits.unwrap_or_default(),
        }
        .text();
        match self.write_hand_off(&text) {
            Ok(path) => self.handed_off = Some(path),
            Err(error) => {
                self.remark(&Remark::Warning(format!("can't write the hand-off: {error}")));
            }
        }
        Ok(())
    }

    fn write_hand_off(&self, text: &str) -> io::Result<PathBuf> {
        let path = self.folder.handoff();
        self.folder.write_whole(&path, text.as_bytes())?;
        if let Some(prompt) = self.prompt_file() {
            let whole = handoff::appended(&fs::read(prompt)?, text);
            self.folder.write_whole(&self.folder.prompt_with_handoff(), &whole)?;
        }
        Ok(path)
    }

    /// What every iteration is fed, where it is fed anything.
    pub(super) fn prompt_file(&self) -> Option<PathBuf> {
        match &self.launch.stdin {
            Stdin::Nothing => None,
            Stdin::File(path) => Some(self.launch.cwd.join(path)),
            Stdin::Kept => Some(self.folder.stdin()),
        }
    }
}

/// Whether a condition is one that is wanted, or has one among its parts.
pub(super) fn reads(when: &Condition, wanted: impl Fn(&Condition) -> bool + Copy) -> bool {
    wanted(when) || when.parts().iter().any(|part| reads(part, wanted))
}
