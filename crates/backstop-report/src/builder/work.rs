//! What was done, counted: progress, errors, units, people, judges.

use std::collections::BTreeMap;

use backstop_core::event::{
    Answered, ErrorCategory, ErrorSeen, EventKind, Guard, LimitValue, Note, Noted, Progress,
    ProgressKind, Raised, Review, ReviewOutcome, Unit, UnitStatus, Verification,
    VerificationOutcome, WorkerStatus,
};
use backstop_core::facts::Facts;
use backstop_core::state::RunState;
use backstop_core::time::{Timestamp, millis};

use crate::bounded::{Bounded, Kept};
use crate::figures::duration;
use crate::report::{
    Done, Errors, GuardSeen, Iterations, Noticed, Question, Reviews, TroubledUnit, Units, Verified,
    Waits, recovery_name,
};
use crate::text::cut;

/// Counts of everything that happened.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) actions: u64,
    pub(super) failed_actions: u64,
    progress: BTreeMap<ProgressKind, u64>,
    commits: Bounded<Noticed>,
    kept: Bounded<String>,
    /// Units that did not go well at once: their status and attempts.
    troubled: BTreeMap<String, (UnitStatus, u64)>,
    troubled_left_out: u64,
    errors: Vec<Errors>,
    rate_limits: u64,
    recoveries: BTreeMap<&'static str, u64>,
    questions: Bounded<Question>,
    guards: Vec<GuardSeen>,
    verification: Option<Verified>,
    reviews: Option<Reviews>,
    refused_claims: u64,
    raises: Bounded<Noticed>,
    cycles: Bounded<BTreeMap<String, f64>>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            actions: 0,
            failed_actions: 0,
            progress: BTreeMap::new(),
            commits: Bounded::new(10, 40),
            kept: Bounded::new(1, 4),
            troubled: BTreeMap::new(),
            troubled_left_out: 0,
            errors: Vec::new(),
            rate_limits: 0,
            recoveries: BTreeMap::new(),
            questions: Bounded::new(5, 15),
            guards: Vec::new(),
            verification: None,
            reviews: None,
            refused_claims: 0,
            raises: Bounded::new(5, 15),
            cycles: Bounded::new(2, 18),
        }
    }
}

impl Work {
    pub(super) fn take(&mut self, kind: EventKind, at: Option<Timestamp>) {
        match kind {
            EventKind::Action(action) => {
                self.actions += 1;
                self.failed_actions += u64::from(action.failed);
            }
            EventKind::Progress(progress) => self.progress(&progress, at),
            EventKind::Unit(unit) => self.unit(&unit),
            EventKind::ErrorSeen(error) => self.error(&error, at),
            EventKind::Worker(worker) if worker.status == WorkerStatus::RateLimited => {
                self.rate_limits += 1;
            }
            EventKind::Recovered(recovered) => {
                *self.recoveries.entry(recovery_name(recovered.kind)).or_default() += 1;
            }
            EventKind::Asked(asked) => self.questions.push(Question {
                at,
                question: cut(&asked.question, LONGEST),
                answer: None,
                by: None,
                note: None,
            }),
            EventKind::Answered(answered) => self.answered(&answered, at),
            EventKind::Guard(guard) => self.guard(guard),
            EventKind::Verification(verification) => self.verified(verification),
            EventKind::Review(review) => self.reviewed(review),
            EventKind::Raised(raised) => {
                self.raises.push(Noticed { at, text: raise_in_words(&raised) });
            }
            EventKind::Cycle(cycle) => {
                let metrics = cycle.metrics.into_iter().take(MOST_METRICS);
                self.cycles.push(metrics.collect());
            }
            EventKind::Noted(Noted { what: Note::Kept, detail }) => {
                self.kept.push(cut(&detail, LONGEST));
            }
            EventKind::Noted(Noted { what: Note::ClaimRefused, .. }) => self.refused_claims += 1,
            _ => {}
        }
    }

    /// What was done, but for the iterations and tests, which others count.
    pub(super) fn finish(self, state: &RunState, facts: &Facts) -> Done {
        let numbers = &state.statistics;
        let mut troubled: Vec<_> = self
            .troubled
            .into_iter()
            .map(|(id, (status, attempts))| TroubledUnit { id, status, attempts })
            .collect();
        // Equal ones stay in the order of their names.
        troubled.sort_by_key(|unit| std::cmp::Reverse(unit.attempts));
        let mut troubled = Kept::first_of(troubled, MOST_SHOWN);
        troubled.left_out += self.troubled_left_out;
        Done {
            iterations: Iterations {
                count: 0,
                failed: 0,
                total_ms: 0,
                longest_ms: 0,
                list: Kept::first_of(Vec::new(), 0),
            },
            progress: self.progress,
            commits: self.commits.into_kept(),
            kept: self.kept.into_kept(),
            units: (numbers.total_units > 0).then_some(Units {
                total: numbers.total_units,
                approved: numbers.units_approved,
                rejected: numbers.units_rejected,
                failed: numbers.units_failed,
                remaining: numbers.units_remaining,
                attempts: numbers.total_attempts,
                troubled,
            }),
            tests: None,
            errors: self.errors,
            waits: Waits { count: self.rate_limits, total_ms: millis(facts.waited()) },
            recoveries: self.recoveries,
            questions: self.questions.into_kept(),
            guards: self.guards,
            verification: self.verification,
            reviews: self.reviews,
            refused_claims: self.refused_claims,
            raises: self.raises.into_kept(),
            cycles: self.cycles.into_kept(),
        }
    }

    fn progress(&mut self, progress: &Progress, at: Option<Timestamp>) {
        *self.progress.entry(progress.kind).or_default() += 1;
        if progress.kind == ProgressKind::Commit {
            let text = cut(progress.note.as_deref().unwrap_or("a commit"), LONGEST);
            self.commits.push(Noticed { at, text });
        }
    }

    fn unit(&mut self, unit: &Unit) {
        let attempts = unit.attempts.unwrap_or(1);
        let unsuccessful = matches!(unit.status, UnitStatus::Rejected | UnitStatus::Failed);
        let name = cut(&unit.id, LONGEST_NAME);
        if !unsuccessful && attempts <= 1 {
            self.troubled.remove(&name);
        } else if self.troubled.len() < MOST_TROUBLED || self.troubled.contains_key(&name) {
            self.troubled.insert(name, (unit.status, attempts));
        } else {
            self.troubled_left_out += 1;
        }
    }

    fn error(&mut self, error: &ErrorSeen, at: Option<Timestamp>) {
        let place = self.errors.iter().position(|errors| errors.category == error.category);
        let place = place.unwrap_or_else(|| {
            let (category, last_message) = (error.category, String::new());
            self.errors.push(Errors { category, count: 0, last_message, last_at: None });
            self.errors.sort_by_key(|errors| severity(errors.category));
            let found = self.errors.iter().position(|errors| errors.category == category);
            found.unwrap_or_default()
        });
        let errors = &mut self.errors[place];
        errors.count += 1;
        errors.last_message = cut(&error.message, LONGEST);
        errors.last_at = at;
    }

    fn answered(&mut self, answered: &Answered, at: Option<Timestamp>) {
        let text = |text: &Option<String>| text.as_deref().map(|text| cut(text, LONGEST));
        let (by, note) = (text(&answered.by), text(&answered.note));
        match self.questions.last_mut().filter(|question| question.answer.is_none()) {
            Some(question) => {
                question.answer = Some(answered.answer);
                question.by = by;
                question.note = note;
            }
            None => self.questions.push(Question {
                at,
                question: cut(&answered.question, LONGEST),
                answer: Some(answered.answer),
                by,
                note,
            }),
        }
    }

    fn guard(&mut self, guard: Guard) {
        let place = self.guards.iter().position(|seen| seen.kind == guard.kind);
        let place = place.unwrap_or_else(|| {
            let files = Kept::first_of(Vec::new(), 0);
            self.guards.push(GuardSeen { kind: guard.kind, count: 0, files });
            self.guards.len() - 1
        });
        let seen = &mut self.guards[place];
        seen.count += 1;
        for file in guard.files {
            let file = cut(&file, LONGEST_NAME);
            if seen.files.entries.contains(&file) {
                continue;
            }
            match seen.files.entries.len() < MOST_SHOWN {
                true => seen.files.entries.push(file),
                false => seen.files.left_out += 1,
            }
        }
    }

    fn verified(&mut self, verification: Verification) {
        let Verification { outcome, detail } = verification;
        let seen = self.verification.get_or_insert(Verified {
            passed: 0,
            failed: 0,
            timed_out: 0,
            last: outcome,
            last_detail: None,
        });
        match outcome {
            VerificationOutcome::Passed => seen.passed += 1,
            VerificationOutcome::Failed => seen.failed += 1,
            VerificationOutcome::TimedOut => seen.timed_out += 1,
        }
        seen.last = outcome;
        seen.last_detail = detail.map(|detail| cut(&detail, LONGEST));
    }

    fn reviewed(&mut self, review: Review) {
        let seen = self.reviews.get_or_insert(Reviews {
            approved: 0,
            changes_requested: 0,
            rejected: 0,
            last: review.outcome,
            requests: Kept::first_of(Vec::new(), 0),
        });
        match review.outcome {
            ReviewOutcome::Approved => seen.approved += 1,
            ReviewOutcome::ChangesRequested => seen.changes_requested += 1,
            ReviewOutcome::Rejected => seen.rejected += 1,
        }
        seen.last = review.outcome;
        let requests = review.requests.unwrap_or_default();
        let requests = requests.iter().map(|request| cut(request, LONGEST)).collect();
        seen.requests = Kept::first_of(requests, MOST_SHOWN);
    }
}

/// An operator's change of a limit, in words.
pub(super) fn raise_in_words(raised: &Raised) -> String {
    let value = match raised.value {
        LimitValue::Number(number) => number.to_string(),
        LimitValue::Duration(time) => duration(time),
    };
    let by = if raised.by.is_empty() { String::new() } else { format!(" by {}", raised.by) };
    let why = if raised.why.is_empty() { String::new() } else { format!(": {}", raised.why) };
    cut(&format!("{} raised to {value}{by}{why}", raised.limit), LONGEST)
}

/// The gravest first.
const fn severity(category: ErrorCategory) -> u8 {
    match category {
        ErrorCategory::Critical => 0,
        ErrorCategory::Recoverable => 1,
        ErrorCategory::Transient => 2,
    }
}

/// As much of a message as a reader takes in.
pub(super) const LONGEST: usize = 400;
const LONGEST_NAME: usize = 200;
const MOST_SHOWN: usize = 20;
const MOST_TROUBLED: usize = 1_000;
const MOST_METRICS: usize = 8;
