//! What happened, as a person would retell it.

use backstop_core::event::{
    Answer, Decided, Event, EventKind, GuardKind, IterationFinished, Note, Noted, ProgressKind,
    ReviewOutcome, SignalKind, TestCounts, UnitStatus, VerificationOutcome, WorkerStatus,
};
use backstop_core::time::{Moment as Now, millis};
use backstop_core::verdict::Verdict;
use serde::Serialize;

use super::test_runs::counts;
use super::work::{LONGEST, raise_in_words};
use crate::bounded::{Bounded, Kept};
use crate::figures::{counted, duration};
use crate::report::{DecisionSeen, Mark, Moment, recovery_name};
use crate::text::cut;

/// The entries that matter: turns of the run, which are few, and steps of the work, which may be
/// many. Each kind is bounded by itself, so that steps never push out a turn.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    turns: Bounded<Moment>,
    steps: Bounded<Moment>,
    decisions: Bounded<DecisionSeen>,
    order: u64,
    tests: Option<TestCounts>,
    tasks_done: Option<u64>,
    cycles: u64,
    policy_changed: bool,
}

/// The timeline when all events are in.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) entries: Kept<Moment>,
    pub(super) policy_changed: bool,
}

/// What there is to tell of an event.
enum Entry {
    Turn(Mark, String),
    Step(Mark, String),
}

use Entry::{Step, Turn};
use Mark::{Attention, Bad, Good, Person, Plain, Run};

impl Default for Timeline {
    fn default() -> Self {
        Self {
            turns: Bounded::new(40, 80),
            steps: Bounded::new(30, 90),
            decisions: Bounded::new(15, 25),
            order: 0,
            tests: None,
            tasks_done: None,
            cycles: 0,
            policy_changed: false,
        }
    }
}

impl Timeline {
    pub(super) fn take(&mut self, event: &Event, now: Now) {
        let Some(entry) = self.entry(event) else { return };
        self.order += 1;
        let (list, mark, text) = match entry {
            Turn(mark, text) => (&mut self.turns, mark, text),
            Step(mark, text) => (&mut self.steps, mark, text),
        };
        let text = cut(&text, LONGEST);
        if let Some(last) = list.last_mut().filter(|last| last.text == text) {
            last.times += 1;
            return;
        }
        let (at, active_ms) = (event.at, millis(now.active));
        list.push(Moment { at, active_ms, mark, text, times: 1, order: self.order });
    }

    pub(super) fn finish(self) -> (Kept<DecisionSeen>, Told) {
        let (turns, steps) = (self.turns.into_kept(), self.steps.into_kept());
        let left_out = turns.left_out + steps.left_out;
        let mut entries = turns.entries;
        entries.extend(steps.entries);
        entries.sort_by_key(|entry| entry.order);
        let entries = Kept { gap_after: entries.len(), entries, left_out };
        let told = Told { entries, policy_changed: self.policy_changed };
        (self.decisions.into_kept(), told)
    }

    fn entry(&mut self, event: &Event) -> Option<Entry> {
        Some(match &event.kind {
            EventKind::RunStarted(_) => Turn(Run, "The run began".to_owned()),
            EventKind::IterationFinished(end) => iteration(end),
            EventKind::Unit(unit) => {
                let (mark, word) = match unit.status {
                    UnitStatus::Approved => (Good, "approved"),
                    UnitStatus::Rejected => (Bad, "rejected"),
                    UnitStatus::Failed => (Bad, "failed"),
                    UnitStatus::Pending | UnitStatus::InProgress => return None,
                };
                let attempts = unit.attempts.filter(|attempts| *attempts > 1);
                let after = attempts.map(|attempts| format!(", attempt {attempts}"));
                Step(mark, format!("Unit {} {word}{}", unit.id, after.unwrap_or_default()))
            }
            EventKind::Tests(tests) => self.tested(counts(tests))?,
            EventKind::ErrorSeen(error) => {
                Step(Bad, format!("Error ({}): {}", name(&error.category), error.message))
            }
            EventKind::Progress(progress) => {
                let what = match progress.kind {
                    ProgressKind::Commit => "Commit",
                    ProgressKind::PullRequest => "Pull request",
                    ProgressKind::Issue => "Issue",
                    ProgressKind::Task => "Task",
                    _ => return None,
                };
                let note = progress.note.as_deref().map(|note| format!(": {note}"));
                Step(Good, format!("{what}{}", note.unwrap_or_default()))
            }
            EventKind::Tasks(tasks) => {
                if self.tasks_done.replace(tasks.done) == Some(tasks.done) {
                    return None;
                }
                Step(Good, format!("{} of {} tasks done", tasks.done, tasks.total))
            }
            EventKind::Cycle(cycle) => {
                self.cycles += 1;
                let figures =
                    cycle.metrics.iter().take(4).map(|(name, value)| format!("{name} {value}"));
                let figures = figures.collect::<Vec<_>>().join(", ");
                Step(Plain, format!("Cycle {} ended: {figures}", self.cycles))
            }
            EventKind::Guard(guard) => {
                Turn(Bad, format!("{}: {}", guard_in_words(guard.kind), some_of(&guard.files)))
            }
            EventKind::Verification(verification) => {
                let (mark, words) = match verification.outcome {
                    VerificationOutcome::Passed => (Good, "The verification passed"),
                    VerificationOutcome::Failed => (Bad, "The verification failed"),
                    VerificationOutcome::TimedOut => (Bad, "The verification took too long"),
                };
                Step(mark, format!("{words}{}", after_colon(verification.detail.as_deref())))
            }
            EventKind::Review(review) => {
                let (mark, words) = match review.outcome {
                    ReviewOutcome::Approved => (Good, "The review approved".to_owned()),
                    ReviewOutcome::Rejected => (Bad, "The review rejected the work".to_owned()),
                    ReviewOutcome::ChangesRequested => {
                        let count = review.requests.as_ref().map_or(0, Vec::len) as u64;
                        let changes = counted(count, "change", "changes");
                        (Attention, format!("The review asked for {changes}"))
                    }
                };
                Step(mark, words)
            }
            EventKind::Worker(worker) => {
                let words = match worker.status {
                    WorkerStatus::Blocked => "The worker is blocked",
                    WorkerStatus::Failed => "The worker failed",
                    WorkerStatus::TimedOut => "The worker took too long",
                    WorkerStatus::RateLimited => "The provider took no more",
                };
                Step(Bad, format!("{words}{}", after_colon(worker.detail.as_deref())))
            }
            EventKind::Raised(raised) => Turn(Person, format!("Limit {}", raise_in_words(raised))),
            EventKind::Suspended(suspended) if suspended.ms >= LONG_SLEEP_MS => {
                let time = duration(std::time::Duration::from_millis(suspended.ms));
                Turn(Plain, format!("Nobody drove it for {time}"))
            }
            EventKind::Signal(signal) => {
                let words = match signal.kind {
                    SignalKind::Stop => "A stop was asked for",
                    SignalKind::Kill => "It was told to end at once",
                    SignalKind::Pause => "It was paused",
                    SignalKind::Resume => "It was let go on",
                };
                Turn(Person, format!("{words}{}", by(Some(&signal.by))))
            }
            EventKind::Asked(asked) => {
                let nobody = if asked.unheard { " Nobody was there to ask." } else { "" };
                Turn(Attention, format!("Asked: {}{nobody}", asked.question))
            }
            EventKind::Answered(answered) => {
                let answer = match answered.answer {
                    Answer::Fix => "fix",
                    Answer::Continue => "continue",
                    Answer::Abort => "abort",
                };
                let note = after_colon(answered.note.as_deref());
                Turn(Person, format!("Answered {answer}{}{note}", by(answered.by.as_ref())))
            }
            EventKind::Recovered(recovered) => {
                let kind = recovery_name(recovered.kind);
                Turn(Attention, format!("Went on afresh after a recovery ({kind})"))
            }
            EventKind::Decided(decided) => return self.decided(decided, event),
            EventKind::Held(held) => {
                let until = held.until.map(|until| format!(" until {until}"));
                Turn(Attention, format!("Held{}", until.unwrap_or_default()))
            }
            EventKind::Released(released) => {
                let why = after_colon(released.why.as_deref());
                Turn(Person, format!("Released{}{why}", by(released.by.as_ref())))
            }
            EventKind::Halted(halted) => {
                let status = halted.status.as_deref().unwrap_or("halted");
                let reason = halted.reason.as_deref().filter(|reason| *reason != status);
                let reason = after_colon(reason);
                Turn(Run, format!("Halted, {status}{reason}"))
            }
            EventKind::Resumed(resumed) => {
                let note = after_colon(resumed.note.as_deref());
                Turn(Run, format!("Resumed{}{note}", by(resumed.by.as_ref())))
            }
            EventKind::Noted(noted) => return self.noted(noted),
            _ => return None,
        })
    }

    /// Test runs are told of when their result changed.
    fn tested(&mut self, counts: TestCounts) -> Option<Entry> {
        let before = self.tests.replace(counts);
        if before
            .is_some_and(|before| (before.passed, before.failed) == (counts.passed, counts.failed))
        {
            return None;
        }
        let mark = match before {
            _ if counts.failed == 0 => Good,
            Some(before) if counts.failed < before.failed => Good,
            Some(before) if counts.failed == before.failed => Plain,
            _ => Bad,
        };
        Some(Step(mark, format!("Tests: {} passed, {} failed", counts.passed, counts.failed)))
    }

    fn decided(&mut self, decided: &Decided, event: &Event) -> Option<Entry> {
        if decided.verdict == Verdict::Continue {
            return None;
        }
        let message = cut(decided.message.as_deref().unwrap_or(""), LONGEST);
        let is_same = |last: &DecisionSeen| {
            last.verdict == decided.verdict
                && last.reason == decided.reason
                && last.message == message
        };
        match self.decisions.last_mut().filter(|last| is_same(last)) {
            Some(last) => last.times += 1,
            None => self.decisions.push(DecisionSeen {
                at: event.at,
                verdict: decided.verdict,
                reason: decided.reason.clone(),
                rule: decided.rule.clone(),
                message: message.clone(),
                times: 1,
            }),
        }
        let mark = if decided.verdict == Verdict::Complete { Good } else { Attention };
        let reason = decided.reason.as_deref().map(|reason| format!(", {reason}"));
        let message = after_colon(Some(&message));
        let text =
            format!("Decided: {}{}{message}", decided.verdict.as_str(), reason.unwrap_or_default());
        // Warnings come and go with the work; the others turn the run.
        Some(match decided.verdict {
            Verdict::Warn | Verdict::Retry => Step(mark, text),
            _ => Turn(mark, text),
        })
    }

    fn noted(&mut self, noted: &Noted) -> Option<Entry> {
        let detail = &noted.detail;
        Some(match noted.what {
            Note::Containment | Note::LeftOut | Note::Leaked | Note::Swept => return None,
            // What was added to it is counted as usage.
            Note::ThreadTotal => return None,
            // What became of it is told.
            Note::TurnAsked => return None,
            Note::LetGo => Step(Person, format!("Let go by a person: {detail}")),
            Note::Kept => Step(Plain, format!("The work was kept as {detail}")),
            Note::ClaimRefused => {
                Step(Attention, format!("A claim to be done was refused: {detail}"))
            }
            Note::PolicyApplied => {
                self.policy_changed = true;
                Turn(Person, format!("Another policy was put in place: {detail}"))
            }
            Note::Unkillable => Turn(Bad, format!("A process could not be ended: {detail}")),
            Note::Signalled => Step(Plain, format!("Told to end: {detail}")),
            other => {
                let what = name(&other).replace('_', " ");
                let what = what.chars().enumerate().map(|(place, letter)| {
                    if place == 0 { letter.to_ascii_uppercase() } else { letter }
                });
                Turn(Plain, format!("{}{}", what.collect::<String>(), after_colon(Some(detail))))
            }
        })
    }
}

fn iteration(end: &IterationFinished) -> Entry {
    let time = duration(std::time::Duration::from_millis(end.duration_ms));
    let number = end.iteration.map(|number| format!(" {number}")).unwrap_or_default();
    match (end.timed_out, end.signal, end.exit_code) {
        (true, _, _) => Step(Bad, format!("Iteration{number} took too long: {time}")),
        (_, Some(signal), _) => {
            Step(Bad, format!("Iteration{number} died by signal {signal} after {time}"))
        }
        (_, _, Some(0)) => Step(Plain, format!("Iteration{number} ended well after {time}")),
        (_, _, Some(code)) => {
            Step(Bad, format!("Iteration{number} exited with {code} after {time}"))
        }
        (_, _, None) => Step(Plain, format!("Iteration{number} ended after {time}")),
    }
}

const fn guard_in_words(kind: GuardKind) -> &'static str {
    match kind {
        GuardKind::Scope => "Touched what it must not",
        GuardKind::Protected => "Changed a protected file",
        GuardKind::Lockfile => "Changed a lock file",
        GuardKind::Dirty => "The work tree was not clean",
        GuardKind::Collision => "Another run claims the same files",
    }
}

fn some_of(names: &[String]) -> String {
    let some = names.iter().take(5).map(|name| cut(name, 80)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(5) {
        0 => some,
        more => format!("{some} and {more} more"),
    }
}

fn by(who: Option<&String>) -> String {
    let named = who.filter(|who| !who.is_empty());
    named.map(|who| format!(" by {who}")).unwrap_or_default()
}

fn after_colon(text: Option<&str>) -> String {
    let said = text.filter(|text| !text.is_empty());
    said.map(|text| format!(": {text}")).unwrap_or_default()
}

/// An enum by the name that it has in JSON.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Shorter gaps are nobody's story.
const LONG_SLEEP_MS: u64 = 60_000;
