//! One iteration: start the command, hear what it says, bring it to its end, look at what it did.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use backstop_adapters::{Agent, Outcome};
use backstop_core::decision::{Decision, RuleName};
use backstop_core::event::{
    ErrorCategory, ErrorSeen, Event, EventKind, IterationFinished, IterationStarted, Matched, Note,
    UnitStatus, Worker, WorkerStatus,
};
use backstop_core::policy::AgentName;
use backstop_core::time::millis;
use backstop_core::verdict::Verdict;

use super::ending::{Ending, Step};
use super::idle::Idle;
use super::tellers::Tellers;
use super::{Dispatcher, Exporting, Happening, Order, RunError};
use crate::capture::harmless::harmless;
use crate::capture::{Captured, Summary};
use crate::drift::WorkBefore;
use crate::proof::Proof;
use crate::report::{Phase, Remark};
use crate::signals::Signal;
use crate::socket::may_report;
use crate::tree::{Child, Exit, Leftover};

/// An iteration in progress.
pub(super) struct Current {
    pub(super) number: u64,
    began: Duration,
    ending: Ending,
    idle: Idle,
    timed_out: Option<&'static str>,
    /// The work as it was when it began, to see how far it drifts.
    pub(super) before: Option<WorkBefore>,
}

impl Dispatcher {
    /// Runs the command once and decides on what it did.
    pub(super) async fn iteration(&mut self) -> Result<Decision, RunError> {
        let number = self.iteration_number();
        self.begin_to_look();
        self.take_baseline().await?;
        self.keep_beginning();
        self.hand_off().await?;
        let before = self.work_before(number).await?;
        if self.is_cut_short {
            // Nothing new starts in a run that is to end.
            return Ok(self.decision());
        }
        let seq = self.take(IterationStarted { iteration: Some(number) });
        self.start_on_record(seq).await?;
        // What was refused or seen before and still holds is no news of this iteration's.
        self.engine.admit_what_ceased();
        self.told = Told::default();
        self.begin_exports();
        self.summary = None;
        self.let_pass.clear();
        self.phase = Phase::Running;
        let mut child = match self.start(number).await {
            Ok(child) => child,
            Err(problem) => return self.could_not_start(number, problem).await,
        };
        let mut current = Current {
            number,
            began: self.timers.active(),
            ending: Ending::No,
            idle: Idle::new(self.times.idle_timeout, self.timers.active()),
            timed_out: None,
            before,
        };
        let exit = self.until_exit(&mut child, &mut current).await?;
        drop(child);
        self.finish(&mut current, exit).await
    }

    /// Hears everything until the main process has ended; none if it could not be ended.
    async fn until_exit(
        &mut self,
        child: &mut Child,
        current: &mut Current,
    ) -> Result<Option<Exit>, RunError> {
        let mut looked = BTreeSet::new();
        loop {
            if current.ending == Ending::No {
                self.look_before_a_standstill(&mut looked).await?;
            }
            let verdict = self.verdict_in_iteration();
            if verdict == Verdict::Ask && self.asking.is_none() {
                self.look_for_service().await;
                if self.can_ask() {
                    let decision = self.engine.poll_decision(self.clock.now());
                    self.put_question(&Decision { verdict, ..decision });
                }
            }
            self.press(&mut current.ending, verdict).await?;
            if current.ending == Ending::No {
                self.show_question();
            }
            self.told.may_begin = current.ending == Ending::No;
            let deadline = self.deadline(current);
            match self.next(Some(child), deadline).await? {
                Happening::Exited(exit) => return Ok(Some(exit)),
                Happening::Captured(captured) => self.heard(captured).await,
                Happening::Asked(request) => self.answer(request).await,
                Happening::Signalled(signal) => self.signalled(signal).await,
                Happening::Answered(answers) => self.take_all(answers),
                Happening::Typed(bytes) => self.typed(&bytes),
                Happening::Due => {
                    self.tell_long_refused();
                    self.look_at_times(current);
                    if self.step(&mut current.ending).await? == Step::GiveUp {
                        let detail = format!(
                            "the main process ({}) does not end, not even by SIGKILL",
                            child.pid()
                        );
                        self.note(Note::Unkillable, detail.clone());
                        self.remark(&Remark::Warning(detail));
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// An agent that stands still though it tries different things needs a person, and may work on
    /// while one thinks about it.
    fn verdict_in_iteration(&mut self) -> Verdict {
        match self.decide() {
            Verdict::Recover if self.recovery_needs_a_person() => Verdict::Ask,
            verdict => verdict,
        }
    }

    fn deadline(&self, current: &Current) -> Option<Duration> {
        let timeout = self.times.iteration_timeout.map(|timeout| current.began + timeout);
        let open = current.timed_out.is_none() && current.ending == Ending::No;
        let own = open.then(|| [timeout, current.idle.deadline()]).into_iter().flatten();
        let refused = self.telemetry.as_ref().and_then(Exporting::gives_up_at);
        own.chain([current.ending.deadline(), refused]).flatten().min()
    }

    /// The iteration's own time-outs.
    fn look_at_times(&mut self, current: &mut Current) {
        if current.timed_out.is_some() || current.ending != Ending::No {
            return;
        }
        let now = self.timers.active();
        let late = self.times.iteration_timeout.is_some_and(|most| now >= current.began + most);
        let idle = current.idle.look(now, self.pump.quiet_for(), || self.tree.cpu_time());
        current.timed_out = if late {
            Some("the iteration ran past its time-out")
        } else if idle {
            Some("there was no output and no work for too long")
        } else {
            None
        };
        if current.timed_out.is_some() {
            // The ladder's first step is due at once.
            current.ending = Ending::Finishing { until: now };
        }
    }

    async fn start(&mut self, number: u64) -> Result<Child, StartProblem> {
        let (program, arguments) = self
            .launch
            .command
            .split_first()
            .ok_or_else(|| StartProblem::Program("no command was given".to_owned()))?;
        let stdin = self.stdin()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.launch.cwd)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .envs(self.environment())
            .envs(self.telemetry.iter().flat_map(Exporting::environment));
        let mut child = self.tree.spawn(&mut command).map_err(|error| {
            StartProblem::Program(start_error(program, &self.launch.cwd, &error))
        })?;
        if let (Some(stdout), Some(stderr)) = (child.take_stdout(), child.take_stderr()) {
            self.pump.begin(number, OwnedFd::from(stdout), OwnedFd::from(stderr));
        }
        Ok(child)
    }

    fn stdin(&self) -> Result<Stdio, StartProblem> {
        let Some(prompt) = self.prompt_file() else { return Ok(Stdio::null()) };
        let path = match self.handed_off {
            Some(_) => self.folder.prompt_with_handoff(),
            None => prompt,
        };
        let unreadable = |error| {
            StartProblem::Program(format!(
                "can't read `{}` for standard input: {error}",
                path.display()
            ))
        };
        std::fs::File::open(&path).map(Stdio::from).map_err(unreadable)
    }

    async fn could_not_start(
        &mut self,
        number: u64,
        problem: StartProblem,
    ) -> Result<Decision, RunError> {
        let StartProblem::Program(detail) = problem;
        self.engine.admit_claims();
        self.take(Worker { status: WorkerStatus::Failed, detail: Some(detail), retry_at: None });
        self.take(IterationFinished { iteration: Some(number), ..IterationFinished::default() });
        Ok(self.decision())
    }

    /// Takes in what the child's output says; the summary of an iteration's output ends it.
    pub(super) async fn heard(&mut self, captured: Captured) {
        self.journal.room().await;
        match captured {
            Captured::Matched { key, pattern, stream, excerpt } => {
                self.take(Matched { key, pattern, stream: stream.to_owned(), excerpt });
            }
            Captured::Marker { word } => {
                self.take(crate::progress::marker(&word));
            }
            Captured::Directive { json, .. } => self.directive(&json),
            Captured::OversizedDirective => {
                self.refused_line("a `::backstop` line is longer than 1 MiB");
            }
            Captured::LogFailed(error) => {
                self.note(Note::LeftOut, format!("output is not kept from here on: {error}"));
            }
            Captured::Recognised(agent) => self.times.suit(self.engine.policy(), agent),
            Captured::Printed(agent) => self.told.tellers.printed(agent),
            Captured::Event(event) => {
                let mut event = *event;
                let owed = self.told_by_output(&mut event);
                self.reported(event);
                self.tell_cost(owed);
            }
            Captured::Finished(summary) => self.summary = Some(summary),
        }
    }

    /// A `::backstop {…}` line.
    fn directive(&mut self, json: &[u8]) {
        let event = match Event::from_json(json) {
            Ok(event) => event,
            Err(error) => {
                return self.refused_line(&format!("a `::backstop` line is not an event: {error}"));
            }
        };
        match may_report(&event.kind) {
            Ok(()) => {
                self.reported(event.kind);
            }
            Err(refusal) => self.refused_line(&refusal.to_string()),
        }
    }

    pub(super) fn refused_line(&mut self, why: &str) {
        self.note(Note::Refused, why);
    }

    /// Takes in what the supervised side reports, and what follows from it.
    pub(super) fn reported(&mut self, kind: EventKind) -> u64 {
        if let Some(noted) = self.refuse_own_approval(&kind) {
            return noted;
        }
        let progress = match &kind {
            EventKind::Tests(tests) => self.progress.tests(tests),
            _ => None,
        };
        self.told.hear(&kind);
        let seq = self.take(kind);
        match progress {
            Some(progress) => self.take(progress),
            None => seq,
        }
    }

    /// A signal of the system: from the keyboard, a parent, a closing terminal.
    pub(super) async fn signalled(&mut self, signal: Signal) {
        let name = match signal {
            Signal::Interrupt => "SIGINT",
            Signal::Quit => "SIGQUIT",
            Signal::Terminate => "SIGTERM",
            Signal::Hangup | Signal::OuterDied => "SIGHUP",
            Signal::Resize => return self.pump.resized(),
            Signal::Suspend => return self.suspend().await,
            Signal::Continue => return,
        };
        let order = match self.ordered {
            Some(Order::Kill | Order::KillNow) => Order::KillNow,
            _ if signal == Signal::Quit => Order::KillNow,
            _ => Order::Kill,
        };
        self.order(order, name);
    }

    /// What is left of an iteration whose main process has ended.
    async fn finish(
        &mut self,
        current: &mut Current,
        exit: Option<Exit>,
    ) -> Result<Decision, RunError> {
        let duration = self.timers.active().saturating_sub(current.began);
        self.keeping_up.took(duration);
        let summary = match self.summary.take().filter(|end| end.iteration == current.number) {
            Some(summary) => summary,
            None => self.drain(current.number, exit, current.ending != Ending::No).await?,
        };
        self.sweep().await;
        self.hear_reporters().await?;
        if summary.left_out > 0 {
            let detail = format!("{} bytes of iteration {}", summary.left_out, current.number);
            self.note(Note::LeftOut, detail);
        }
        if summary.leaked {
            self.note(Note::Leaked, "a left-over process held the output open");
        }
        self.tell_refused();
        self.tell_what_it_died_of();
        if let Some(detail) = current.timed_out {
            self.take(Worker {
                status: WorkerStatus::TimedOut,
                detail: Some(detail.to_owned()),
                retry_at: None,
            });
        }
        // Who exits with 0 when told to end has not done its work.
        let sent = current.ending.sent(self.times.stop_signal);
        let pretends = exit.is_some_and(Exit::is_success) && sent.is_none() && {
            let was_heard = !summary.last_line.is_empty();
            match summary.agent {
                Some((_, Outcome::Failed)) => true,
                Some((_, Outcome::CutOff)) => was_heard || self.must_be_heard(),
                _ => false,
            }
        };
        // Who was told to end may call that a failure; it is none.
        self.told.failed = matches!(summary.agent, Some((_, Outcome::Failed))) && sent.is_none();
        self.told.killed_by = exit.and_then(|exit| exit.signal).filter(|_| sent.is_none());
        let finished = IterationFinished {
            iteration: Some(current.number),
            exit_code: exit.and_then(|exit| exit.code).filter(|_| sent.is_none() && !pretends),
            signal: exit.and_then(|exit| exit.signal).or(sent),
            timed_out: current.timed_out.is_some(),
            duration_ms: millis(duration),
        };
        let on_purpose = sent.is_some() && current.timed_out.is_none();
        let speaks = !self.told.error && !on_purpose && !self.engine.facts().is_rate_limited();
        if let Some(how) = bad_exit(&finished).filter(|_| speaks) {
            let error = self.error_of(&how, &summary);
            self.take(error);
        }
        self.look_for_test_results(current.number, &summary);
        if pretends {
            self.note_pretence(&summary, speaks);
        }
        self.begin_to_look();
        self.look_around().await?;
        self.check_guards_after_iteration(current.number).await?;
        let verification = self.verify().await?;
        if current.ending == Ending::No {
            self.warn_of_missing_tests();
        }
        let review = self.review_iteration().await?;
        self.measure_drift(current, &summary).await?;
        self.engine.admit_claims();
        for rule in std::mem::take(&mut self.let_pass) {
            self.engine.refuse_claim(rule);
        }
        self.take(finished);
        let proof = Proof { verification, review };
        let proof = match self.reviews_every_iteration() {
            true => proof,
            false => self.review_claim(proof).await?,
        };
        let decision = self.judge(proof);
        Ok(self.held_unless_guarded(decision))
    }

    /// Whether an agent that is silent has not done what was asked of it: one that the policy
    /// names, or that prints records, unless a shell may have written them elsewhere.
    fn must_be_heard(&self) -> bool {
        let command = &self.launch.command;
        let settings = self.engine.policy().settings.loop_.as_ref();
        let is_named =
            settings.and_then(|set| set.agent).is_some_and(|agent| agent != AgentName::Auto);
        let is_redirected =
            !Agent::is_alone_in(command) && command.iter().any(|word| word.contains('>'));
        is_named || Agent::is_asked_for_records(command) && !is_redirected
    }

    /// A bad exit as an error, with the last line that the command said where errors are said. What
    /// it printed is its work: no rule on errors may fire for that.
    fn error_of(&self, how: &str, summary: &Summary) -> ErrorSeen {
        let said = harmless(summary.last_error_line.as_bytes());
        let message = match said.trim() {
            "" => how.to_owned(),
            said => format!("{how}: {said}"),
        };
        let words = self.engine.policy().settings.errors.as_ref();
        let category = words.and_then(|words| words.category(&message));
        ErrorSeen {
            category: category.unwrap_or(ErrorCategory::Recoverable),
            message,
            signature: None,
            retry_at: None,
        }
    }

    /// An agent that exits with 0 and says that it failed, or says nothing where it always has a
    /// last word, has not succeeded: its exit status is not kept.
    fn note_pretence(&mut self, summary: &Summary, speaks: bool) {
        let Some((agent, outcome)) = summary.agent else { return };
        let what = match outcome {
            Outcome::CutOff => "ended without a result",
            Outcome::Failed | Outcome::Succeeded => "says that it failed",
        };
        self.told.pretended = true;
        self.note(Note::Pretended, format!("{agent} exited with 0 and {what}"));
        if speaks {
            self.take(ErrorSeen {
                category: ErrorCategory::Recoverable,
                message: format!("{agent} {what}"),
                signature: None,
                retry_at: None,
            });
        }
    }

    /// Ends what the main process has left behind.
    async fn sweep(&mut self) {
        if self.tree.leftovers().is_empty() {
            return;
        }
        let swept = self.tree.sweep(self.times.grace.min(LEFTOVER_GRACE)).await;
        if !swept.found.is_empty() {
            self.note(Note::Swept, names(&swept.found));
        }
        if !swept.unkillable.is_empty() {
            let left = swept.unkillable.iter();
            let left: Vec<_> = left.map(ToString::to_string).collect();
            self.note(Note::Unkillable, left.join(", "));
        }
    }

    pub(super) fn warn_of(&mut self, warnings: impl FnOnce(&mut Self) -> Vec<String>) {
        for warning in warnings(self) {
            self.remark(&Remark::Warning(warning));
        }
    }
}

/// What the supervised side has told in the current iteration.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(super) error: bool,
    /// The units that were told of before the iteration was to end: those may finish.
    units: BTreeSet<String>,
    /// The unit that finished last, which may be told of once more.
    last_finished: Option<String>,
    /// A unit that begins now is fine: nothing has ended the iteration yet.
    may_begin: bool,
    /// Another unit began although nothing new was to start.
    pub(super) new_unit: bool,
    /// Who told what.
    pub(super) tellers: Tellers,
    /// The agent exited with 0 although it had failed.
    pub(super) pretended: bool,
    /// The agent says that it failed.
    pub(super) failed: bool,
    /// The signal that ended the command, if it was not ours.
    pub(super) killed_by: Option<i32>,
    /// The rule for which the iteration was to end.
    pub(super) ended_for: Option<RuleName>,
}

impl Told {
    fn hear(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ErrorSeen(_) => self.error = true,
            EventKind::Unit(unit) if self.may_begin => {
                if unit.status == UnitStatus::InProgress {
                    self.units.insert(unit.id.clone());
                } else {
                    // What has finished and begins again is new.
                    self.units.remove(&unit.id);
                    self.last_finished = Some(unit.id.clone());
                }
            }
            EventKind::Unit(unit) if unit.status != UnitStatus::Pending => {
                let is_told_again = self.last_finished.as_deref() == Some(unit.id.as_str());
                self.new_unit |= !self.units.contains(&unit.id) && !is_told_again;
            }
            _ => {}
        }
    }
}

/// Why an iteration could not start.
enum StartProblem {
    Program(String),
}

fn names(left: &[Leftover]) -> String {
    left.iter().map(|process| process.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// How a bad exit came about.
fn bad_exit(end: &IterationFinished) -> Option<String> {
    Some(match (end.timed_out, end.signal, end.exit_code) {
        (true, _, _) => "timed out".to_owned(),
        (_, Some(signal), _) => format!("killed by signal {signal}"),
        (_, None, Some(code)) if code != 0 => format!("exit status {code}"),
        _ => return None,
    })
}

fn start_error(program: &str, cwd: &std::path::Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound if !cwd.is_dir() => {
            format!("the working directory `{}` is gone", cwd.display())
        }
        std::io::ErrorKind::NotFound => format!("`{program}` was not found"),
        std::io::ErrorKind::PermissionDenied => format!("`{program}` can't be executed"),
        _ => format!("`{program}` can't be started: {error}"),
    }
}

/// How long left-over processes have between SIGTERM and SIGKILL: nobody waits for them.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
