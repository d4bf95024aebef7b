//! What the engine knows: the fold of all events.
//!
//! The same events in the same order always give the same facts. Their size does not grow with
//! the number of events; only units and tests, which have names, may grow with their number.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::{
    Answer, Context, Decided, ErrorCategory, Event, EventKind, IterationFinished, LimitValue, Note,
    Noted, ProgressKind, Raised, RecoveryKind, Signal, SignalKind, Tasks, UsageBasis,
    VerificationOutcome,
};
use crate::reason;
use crate::repetition::{self, Detector, Reading, Step, StepKind};
use crate::time::{Moment, Timestamp, millis};
use crate::verdict::Verdict;

mod clock;
mod cycles;
mod errors;
mod given;
mod handoff;
mod health;
mod known;
mod people;
mod progress;
mod reruns;
mod seen;
mod spending;
mod streak;
mod test_runs;
mod threads;
mod units;
mod usage;
mod view;
mod waits;
mod watch;

pub use given::{FailureFacts, GivenFacts};
pub use handoff::HandOff;
pub use health::{Health, HealthLimits, HealthPart};
pub use progress::ProgressKinds;
pub use streak::{Streak, Streaks};
pub use view::View;
pub use watch::Watch;

pub(crate) use given::Overrides;
pub(crate) use seen::{ProbeAnswer, bare};
pub(crate) use spending::Taken;
pub(crate) use usage::{CostGap, context_share};

use clock::{Clock, Wait};

/// Everything that is known of a run. Serialise it to go on later exactly where it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    clock: Clock,
    events: u64,
    pub(crate) iterations: u64,
    pub(crate) exit_code: Option<i32>,
    pub(crate) spent: usage::Spent,
    #[serde(default)]
    pub(crate) spending: spending::Spending,
    pub(crate) context: Option<Context>,
    pub(crate) quotas: usage::Quotas,
    pub(crate) units: units::Units,
    pub(crate) errors: errors::Errors,
    pub(crate) tests: test_runs::TestRuns,
    pub(crate) progress: progress::ProgressMade,
    pub(crate) tasks: Option<Tasks>,
    pub(crate) cycles: cycles::Cycles,
    pub(crate) drift: Option<f64>,
    /// Absent until the first action, so that runs without an adapter don't carry it.
    repetition: Option<Detector>,
    pub(crate) reruns: reruns::Reruns,
    pub(crate) guards: people::Guards,
    pub(crate) verification: Option<VerificationOutcome>,
    pub(crate) reviews: people::Reviews,
    pub(crate) worker: people::WorkerState,
    #[serde(default)]
    waits: waits::Waits,
    #[serde(default)]
    threads: threads::Threads,
    pub(crate) signal: Option<SignalKind>,
    /// Who asked for the stop, and why if they said so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stopped_by: String,
    pub(crate) answer: Option<Answer>,
    /// What a person is asked and has not answered.
    #[serde(default)]
    question: Option<String>,
    /// The iteration that waits for a person to let it start, in words.
    #[serde(default)]
    turn: Option<String>,
    /// When a person was asked last.
    #[serde(default)]
    asked_at: Option<Timestamp>,
    /// The iteration is not run, because a person said so.
    #[serde(default)]
    skipping: bool,
    #[serde(default)]
    handoff: HandOff,
    /// Whether a person wants to be asked before each iteration, where that was changed.
    #[serde(default)]
    attended: Option<bool>,
    pub(crate) patterns: seen::Patterns,
    pub(crate) probes: seen::Probes,
    pub(crate) raises: BTreeMap<String, LimitValue>,
    acknowledgements: u64,
    /// What the rules that fired last read, until it is acknowledged; none before any decision.
    fired: Option<Streaks>,
    pub(crate) overrides: Overrides,
}

impl Facts {
    /// Takes in one event and says which groups of facts it changed.
    ///
    /// `now` stands in for the time of an event that carries none. An event from the past is
    /// accepted, but time does not go back for it.
    pub fn fold(&mut self, event: &Event, now: Timestamp, counted: ProgressKinds) -> Watch {
        let slept = match &event.kind {
            EventKind::Suspended(suspended) => Duration::from_millis(suspended.ms),
            _ => Duration::ZERO,
        };
        let now = self.clock.advance(event.at.unwrap_or(now), event.active_ms, slept);
        if is_sign_of_work(&event.kind) {
            self.clock.done_waiting(Wait::RateLimit);
        }
        self.events = self.events.saturating_add(1);
        let changed = self.apply(event, now, counted);
        // The first event sets the run's start, whatever it is.
        if self.events == 1 { changed | Watch::START } else { changed }
    }

    fn apply(&mut self, event: &Event, now: Moment, counted: ProgressKinds) -> Watch {
        match &event.kind {
            EventKind::RunStarted(started) => {
                self.units.total = started.total_units;
                Watch::UNITS
            }
            EventKind::IterationStarted(_) => self.iteration_started(now),
            EventKind::IterationFinished(end) => self.iteration_finished(end, now),
            EventKind::Matched(matched) => {
                self.patterns.apply(matched);
                Watch::MATCHED
            }
            EventKind::Unit(unit) => {
                self.overrides.forget_units();
                let approved = self.units.apply(unit);
                let changed = Watch::UNITS | Watch::ERRORS;
                if approved { changed | self.success() | self.made_progress(now) } else { changed }
            }
            EventKind::Tests(tests) => {
                let clean = self.tests.apply(tests);
                if clean { Watch::TESTS | self.success() } else { Watch::TESTS }
            }
            EventKind::Usage(usage) => {
                self.spent.apply(usage);
                if usage.cost_usd.is_some() || usage.basis == Some(UsageBasis::Final) {
                    Watch::TOKENS | Watch::COST | Watch::METERS
                } else {
                    Watch::TOKENS | Watch::METERS
                }
            }
            EventKind::Context(context) => {
                self.context = Some(context.clone());
                Watch::CONTEXT
            }
            EventKind::ErrorSeen(error) => {
                self.errors.apply(error);
                self.overrides.forget_errors();
                // An outage that comes again and again is not the agent going in circles.
                if error.category != ErrorCategory::Transient {
                    let seen = error.signature.as_deref().unwrap_or(&error.message);
                    self.detector().observe_error(seen.as_bytes());
                    self.overrides.repetition = None;
                }
                Watch::ERRORS | Watch::REPETITION
            }
            EventKind::Progress(progress) if counted.contains(progress.kind) => {
                self.reruns.last_changed_at = Some(now.at);
                Watch::RERUN | self.success() | self.made_progress(now)
            }
            EventKind::Progress(_) => Watch::NONE,
            EventKind::Suspended(suspended) if suspended.ms == 0 => {
                self.clock.wait(Wait::Continuation);
                Watch::NONE
            }
            EventKind::Suspended(suspended) => {
                self.clock.done_waiting(Wait::Continuation);
                // Nobody could answer meanwhile: that time is not taken from the question's.
                let slept = Duration::from_millis(suspended.ms);
                self.asked_at = self.asked_at.map(|asked| asked.plus(slept).min(now.at));
                Watch::NONE
            }
            EventKind::Tasks(tasks) => {
                // What was done before anybody looked is nothing new.
                let done_before = self.tasks.as_ref().map_or(tasks.done, |tasks| tasks.done);
                self.tasks = Some(tasks.clone());
                if tasks.done > done_before && counted.contains(ProgressKind::Task) {
                    Watch::TASKS | self.made_progress(now)
                } else {
                    Watch::TASKS
                }
            }
            EventKind::Cycle(cycle) => {
                self.cycles.apply(&cycle.metrics);
                Watch::CYCLES
            }
            EventKind::Action(action) => {
                // Steps at the same instant are one batch, unless nobody said when they were.
                let timed = event.at.is_some() || event.active_ms.is_some();
                let step = Step {
                    kind: StepKind::from(action.kind.as_str()),
                    action: action.signature.as_bytes(),
                    result: action.result_signature.as_deref().map(str::as_bytes),
                    failed: action.failed,
                    active_ms: millis(now.active),
                    cost_usd: self.spent.cost_usd(),
                    turn: (!timed).then_some(self.events),
                };
                self.detector().observe(&step);
                self.overrides.repetition = None;
                self.handoff.acted(action);
                Watch::REPETITION
            }
            EventKind::Probe(probe) => {
                self.probes.apply(probe);
                Watch::PROBES
            }
            EventKind::FailureSignal(signal) => {
                self.reruns.apply(signal, now.at);
                Watch::RERUN
            }
            EventKind::Guard(guard) => {
                self.guards.apply(guard);
                Watch::GUARDS
            }
            EventKind::Verification(verification) => {
                self.verification = Some(verification.outcome);
                self.handoff.verified(verification);
                Watch::VERIFICATION
            }
            EventKind::Review(review) => {
                self.reviews.apply(review);
                Watch::REVIEW
            }
            EventKind::Worker(worker) => {
                self.worker.apply(worker);
                if self.worker.is_rate_limited() {
                    self.clock.wait(Wait::RateLimit);
                }
                Watch::WORKER
            }
            EventKind::Quota(quota) => {
                self.quotas.apply(quota);
                Watch::QUOTA
            }
            EventKind::Raised(raised) => self.raised(raised),
            EventKind::Drift(drift) => {
                self.drift = Some(drift.score);
                Watch::DRIFT
            }
            EventKind::Signal(signal) => self.signalled(signal),
            EventKind::Asked(asked) => {
                self.question = Some(asked.question.clone());
                self.asked_at = Some(now.at);
                self.clock.wait(Wait::Answer);
                Watch::NONE
            }
            EventKind::Answered(answered) => {
                self.answer = Some(answered.answer);
                self.question = None;
                self.handoff.answered(answered);
                self.clock.done_waiting(Wait::Answer);
                match answered.answer {
                    // Who wants the run to end has not let it go on.
                    Answer::Abort => Watch::SIGNAL,
                    Answer::Fix | Answer::Continue => self.acknowledge(now),
                }
            }
            EventKind::Recovered(recovered) => {
                self.errors.ended_on_purpose = true;
                self.progress.recovered(recovered.kind);
                self.handoff.recovered(recovered);
                if recovered.kind == RecoveryKind::Context {
                    // It was given up; the next iteration fills another.
                    self.context = None;
                }
                Watch::RECOVERIES | Watch::CONTEXT
            }
            EventKind::Decided(decided) => {
                self.decided(decided);
                Watch::NONE
            }
            EventKind::Noted(noted) => {
                self.noted(noted, now);
                Watch::NONE
            }
            EventKind::Held(_) => {
                self.clock.wait(Wait::Release);
                Watch::NONE
            }
            EventKind::Halted(_) => {
                self.turn = None;
                let limited = self.ended_rate_limited().then_some(self.worker.retry_at);
                self.waits.halted(now, limited);
                self.clock.wait(Wait::Resume);
                Watch::NONE
            }
            // A hold may end with a resumption, and a question that nobody answered with either.
            EventKind::Released(_) => self.goes_on(now),
            EventKind::Resumed(resumed) => {
                self.handoff.resumed(resumed);
                self.waits.resumed(resumed, now);
                self.goes_on(now)
            }
        }
    }

    fn noted(&mut self, noted: &Noted, now: Moment) {
        match noted.what {
            Note::Withdrawn => {
                self.question = None;
                self.turn = None;
                self.clock.done_waiting(Wait::Answer);
            }
            Note::TurnAsked => {
                self.turn = Some(errors::shortened(&noted.detail).to_owned());
                self.asked_at = Some(now.at);
                self.clock.wait(Wait::Answer);
            }
            Note::ThreadTotal => self.threads.apply(noted),
            Note::ClaimRefused => self.handoff.claim_refused(&noted.detail),
            Note::LetGo | Note::Skipped => {
                self.turn = None;
                self.skipping = noted.what == Note::Skipped;
                self.clock.done_waiting(Wait::Answer);
            }
            Note::Attended => {
                self.attended = Some(noted.detail.starts_with("on"));
                self.turn = self.turn.take().filter(|_| self.attended == Some(true));
            }
            _ => {}
        }
    }

    fn iteration_started(&mut self, now: Moment) -> Watch {
        self.turn = None;
        self.skipping = false;
        self.waits.end(now);
        self.handoff.iteration_started();
        self.spent.iteration_started();
        self.spending.iteration_started(&self.spent, now.active);
        self.context = None;
        if let Some(detector) = &mut self.repetition {
            detector.launched();
        }
        self.errors.iteration_started();
        self.progress.iteration_started();
        self.worker.iteration_started();
        self.patterns.iteration_started();
        Watch::CONTEXT | Watch::COST | Watch::ERRORS | Watch::MATCHED | Watch::REPETITION
    }

    fn iteration_finished(&mut self, end: &IterationFinished, now: Moment) -> Watch {
        if self.skipping {
            // It counts and did nothing: neither work nor the lack of it.
            self.iterations = self.iterations.saturating_add(1);
            return Watch::ITERATIONS;
        }
        self.spending.iteration_finished(&self.spent, now.active);
        // A provider's limit says nothing about the work: neither failure nor lack of progress.
        let excused = self.worker.is_rate_limited();
        self.iterations = self.iterations.saturating_add(1);
        self.exit_code = end.exit_code;
        if let Some(made) = self.errors.iteration_finished(end, excused) {
            self.detector().observe_error(made.message.as_bytes());
        }
        self.overrides.forget_errors();
        self.progress.iteration_finished(excused);
        let ending = match (excused, self.errors.now_transient()) {
            (true, _) => usage::Ending::Refused,
            (false, true) => usage::Ending::Interrupted,
            (false, false) => usage::Ending::Worked,
        };
        // It may also have finished by itself, as it may after a stop.
        let by_stop = self.is_stop_asked_for() && end.signal.is_some() && !end.timed_out;
        self.spent.iteration_finished(ending, by_stop);
        self.worker.iteration_finished(end.timed_out);
        if !excused {
            self.handoff.iteration_finished();
        }
        if self.ended_rate_limited() {
            self.waits.begin(now, self.worker.retry_at);
        }
        Watch::ITERATIONS
            | Watch::EXIT
            | Watch::ERRORS
            | Watch::REPETITION
            | Watch::PROGRESS
            | Watch::COST
            | Watch::METERS
            | Watch::WORKER
    }

    /// The run was let go by a person who has seen what held it up.
    fn goes_on(&mut self, now: Moment) -> Watch {
        self.question = None;
        self.turn = None;
        self.clock.goes_on();
        self.acknowledge(now)
    }

    fn success(&mut self) -> Watch {
        self.errors.success();
        self.overrides.forget_errors();
        Watch::ERRORS
    }

    fn made_progress(&mut self, now: Moment) -> Watch {
        self.progress.made(now.active);
        if let Some(detector) = &mut self.repetition {
            detector.progress();
        }
        Watch::PROGRESS | Watch::RECOVERIES | Watch::REPETITION
    }

    fn raised(&mut self, raised: &Raised) -> Watch {
        let limit = reason::limit_code(&raised.limit);
        if self.raises.len() < MOST_RAISES || self.raises.contains_key(limit) {
            self.raises.insert(limit.to_owned(), raised.value);
        }
        // Any rule may carry the raised reason, so all of them are looked at again.
        Watch::ALL
    }

    fn signalled(&mut self, signal: &Signal) -> Watch {
        let kind = signal.kind;
        self.errors.ended_on_purpose |= kind != SignalKind::Resume;
        match kind {
            SignalKind::Pause => self.clock.wait(Wait::Unpause),
            SignalKind::Resume => self.clock.done_waiting(Wait::Unpause),
            SignalKind::Stop | SignalKind::Kill => {}
        }
        // A stop that was asked for stands until it is acknowledged: pausing does not undo it.
        let stops = matches!(kind, SignalKind::Stop | SignalKind::Kill);
        let stopping = self.is_stop_asked_for();
        if stops || !stopping {
            self.signal = Some(kind);
            if !stopping {
                errors::shortened(&signal.by).clone_into(&mut self.stopped_by);
            }
        }
        Watch::SIGNAL
    }

    fn decided(&mut self, decided: &Decided) {
        self.errors.told_to_end |= !matches!(
            decided.verdict,
            Verdict::Continue | Verdict::Warn | Verdict::Retry | Verdict::Ask
        );
        self.fired = Some(match (decided.verdict, &decided.streaks, &decided.reason) {
            (Verdict::Continue, _, _) => Streaks::NONE,
            (_, Some(names), _) => Streaks::named(names),
            (_, None, Some(code)) => Streaks::of_reason(code),
            (_, None, None) => Streaks::ALL,
        });
    }

    /// A person looked at what fired and let the run go on: what they saw is not asked again.
    fn acknowledge(&mut self, now: Moment) -> Watch {
        self.acknowledgements = self.acknowledgements.saturating_add(1);
        // Where no decision was ever recorded, everything that counts in a row was seen. Where the
        // last one was to go on, nothing was: the run crashed, and nobody looked at it.
        let streaks = self.fired.unwrap_or(Streaks::ALL);
        self.fired = self.fired.map(|_| Streaks::NONE);
        for streak in Streak::ALL.into_iter().filter(|streak| streaks.contains(*streak)) {
            match streak {
                Streak::NoProgress => self.progress.iterations_since = 0,
                Streak::Stagnation => self.progress.count_age_from(now.active),
                Streak::ConsecutiveErrors => self.errors.acknowledged(),
                Streak::ConsecutiveFails => self.units.forget_streak(),
                Streak::TestFailures => self.tests.failure_streak = 0,
                Streak::Repetition => self.repetition = None,
                Streak::Worker => self.worker = people::WorkerState::default(),
                Streak::SameRounds => self.reviews.same_rounds = 0,
                Streak::Signal => {
                    if self.is_stop_asked_for() {
                        self.spent.stop_was_seen();
                    }
                    self.signal = None;
                    self.stopped_by.clear();
                    self.answer = None;
                }
                Streak::Guards => self.guards = people::Guards::default(),
            }
        }
        Watch::ALL
    }

    fn detector(&mut self) -> &mut Detector {
        self.repetition.get_or_insert_with(Detector::new)
    }

    /// Both clocks at a time after the last event, as far as the events tell.
    pub fn moment(&self, now: Timestamp) -> Moment {
        self.clock.moment(now)
    }

    /// When the run began.
    pub(crate) fn start(&self, now: Moment) -> Timestamp {
        self.clock.start(now)
    }

    /// The run's active time at the last event.
    pub fn active(&self) -> Duration {
        self.clock.active()
    }

    /// When the last event happened; none before the first.
    pub fn last_event_at(&self) -> Option<Timestamp> {
        (self.events > 0).then(|| self.clock.moment(Timestamp::from_nanos(i64::MIN)).at)
    }

    /// The repetition detector's state; none before the first action or error.
    pub(crate) fn repetition(&self) -> Option<Reading> {
        self.repetition.as_ref().map(Detector::reading)
    }

    /// What speaks for a signal, in one sentence.
    pub(crate) fn repetition_evidence(&self, signal: repetition::Signal) -> Option<String> {
        self.repetition.as_ref().map(|detector| detector.evidence_for(signal).sentence)
    }

    /// Finished units that took more than one attempt, of all that finished.
    pub(crate) fn retry_rate(&self) -> f64 {
        let derived = || rate(self.units.retried(), self.units.finished());
        self.overrides.retry_rate.unwrap_or_else(derived)
    }

    /// Units that ended rejected or failed, of all that finished.
    pub(crate) fn reject_rate(&self) -> f64 {
        let derived = || rate(self.units.unsuccessful(), self.units.finished());
        self.overrides.reject_rate.unwrap_or_else(derived)
    }

    /// Tasks that ended in error, of all that ended.
    pub(crate) fn error_rate(&self) -> f64 {
        let (ended, errored) = self.ended_and_errored();
        self.overrides.error_rate.unwrap_or_else(|| rate(errored, ended))
    }

    /// How many units a rate was taken over. A rate that was given without a number of units
    /// stands for at least one.
    pub(crate) fn units_behind(&self, rate: f64) -> u64 {
        let units = &self.units;
        let finished = if units.finished() == 0 { units.attempted } else { units.finished() };
        finished.max(u64::from(rate > 0.0))
    }

    /// Units where units are reported, else iterations: how many ended, and how many in error.
    pub(crate) fn ended_and_errored(&self) -> (u64, u64) {
        if let Some(given) = self.overrides.ended {
            given
        } else if self.units.reported() {
            (self.units.finished(), self.units.unsuccessful())
        } else {
            (self.errors.iterations_ended, self.errors.iterations_errored)
        }
    }
}

/// Whether the event shows that a wait for a rate limit is over.
fn is_sign_of_work(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::IterationStarted(_)
            | EventKind::Unit(_)
            | EventKind::Tests(_)
            | EventKind::Usage(_)
            | EventKind::Context(_)
            | EventKind::Progress(_)
            | EventKind::Tasks(_)
            | EventKind::Cycle(_)
            | EventKind::Action(_)
    )
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Bounds what a journal of invented limit names can take up.
const MOST_RAISES: usize = 256;
