//! The table of section 4: when each condition is met, and how far it is.

use std::time::Duration;

use super::history::{History, SeenError};
use super::view::View;
use super::work::{number, rate};
use crate::condition::{ClockTime, Condition, Repetition, Since, Truth};
use crate::event::{ErrorCategory, Phase, SignalKind, Tasks};
use crate::repetition::{Thresholds, judge};
use crate::time::{Moment, Timestamp};

/// Whether a condition is met, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub truth: Truth,
    pub progress: f64,
}

/// What conditions look at: the list, and the limits that the health is measured against.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) history: &'a History<'a>,
    pub(super) token_limit: Option<u64>,
    pub(super) error_rate_limit: Option<f64>,
}

impl<'a> Scene<'a> {
    /// The strictest of each kind of limit counts for the health.
    pub(super) fn new(history: &'a History<'a>, conditions: &[Condition]) -> Self {
        let tokens = conditions.iter().filter_map(|condition| match condition {
            Condition::MaxTokens(limit) => Some(limit.count.0),
            _ => None,
        });
        let rates = conditions.iter().filter_map(|condition| match condition {
            Condition::ErrorRate(limit) => Some(limit.at_least.0),
            _ => None,
        });
        Self { history, token_limit: tokens.min(), error_rate_limit: rates.reduce(f64::min) }
    }

    /// Section 9.3.
    pub(super) fn health(&self) -> f64 {
        let history = self.history;
        let left = |used: Option<f64>| (1.0 - used.unwrap_or(0.0)).clamp(0.0, 1.0);
        let tokens = self.token_limit.map(|limit| number(history.tokens(false)) / number(limit));
        let errors = self.error_rate_limit.filter(|limit| *limit > 0.0);
        let errors = errors.map(|limit| history.error_rate() / limit);
        let recent = history.progress_age() < TEN_MINUTES;
        0.30 * left(tokens)
            + 0.25 * left(history.context_share())
            + 0.25 * left(errors)
            + 0.20 * if recent { 1.0 } else { 0.0 }
    }
}

pub(super) fn find(condition: &Condition, scene: &Scene<'_>) -> Found {
    let history = scene.history;
    match condition {
        Condition::OnError(wanted) => {
            let pattern = wanted.pattern.as_ref().map_or("", |pattern| pattern.0.as_str());
            let acknowledged = history.counts_from("consecutive_errors", history.told.len());
            let fits = |error: &&SeenError| match wanted.category {
                // A critical error counts until somebody has seen it.
                Some(ErrorCategory::Critical) => error.category == ErrorCategory::Critical,
                Some(category) => {
                    error.position >= history.errors_from() && error.category == category
                }
                None => error.position >= history.errors_from(),
            };
            let errors = history.errors();
            let mut seen =
                errors.iter().filter(|error| error.position >= acknowledged).filter(fits);
            plain(match wanted.category {
                Some(ErrorCategory::Critical) => {
                    seen.next_back().is_some_and(|error| error.message.contains(pattern))
                }
                _ => seen.any(|error| error.message.contains(pattern)),
            })
        }
        Condition::GuardViolated(wanted) => {
            let mut guards = history.guards().into_iter();
            plain(guards.any(|kind| wanted.kind.is_none_or(|wanted| kind == wanted)))
        }
        Condition::UserSignal(_) => {
            let signalled = matches!(history.signal(), Some(SignalKind::Stop | SignalKind::Kill));
            plain(signalled || history.has_aborted())
        }
        Condition::Worker(wanted) => {
            let worker = history.worker().filter(|(status, _)| *status == wanted.status);
            count(worker.map_or(0, |(_, in_a_row)| in_a_row), wanted.in_a_row.0)
        }
        Condition::ExitCode(wanted) => {
            plain(history.exit_code().is_some_and(|code| wanted.any_of.0.contains(&code)))
        }
        Condition::WallClock(clock) => plain(history.now.at >= due(clock.at, history)),
        Condition::MaxIterations(limit) => count(history.iterations(), limit.count.0),
        Condition::MaxDuration(limit) => duration(history.now.active, limit.duration.0),
        Condition::MaxTokens(limit) => {
            let found = count(history.tokens(limit.cache_reads), limit.count.0);
            unless_silent(found, history.are_tokens_silent())
        }
        Condition::MaxCost(limit) => {
            let found = at_least(history.cost_usd(), limit.usd.0);
            unless_silent(found, history.is_cost_silent())
        }
        Condition::Quota(limit) => at_least(history.quota_used(&limit.window.0), limit.at_least.0),
        Condition::MaxAttempts(limit) => count(history.attempts(), limit.count.0),
        Condition::ConsecutiveErrors(limit) => {
            let latest = history.errors().last().map(|error| error.category);
            let fits = limit.category.is_none() || limit.category == latest;
            only_if(fits, count(history.consecutive_errors(), limit.count.0))
        }
        Condition::ConsecutiveFails(limit) => count(history.consecutive_fails(), limit.count.0),
        Condition::RejectRate(limit) => {
            let (finished, unsuccessful, _) = history.finished_units();
            let found = above(rate(unsuccessful, finished), limit.above.0);
            only_if(finished >= limit.min_units.0, found)
        }
        Condition::RetryRate(limit) => {
            let (finished, _, retried) = history.finished_units();
            only_if(finished >= limit.min_units.0, above(rate(retried, finished), limit.above.0))
        }
        Condition::ContextUsage(limit) => match history.context_share() {
            Some(share) => at_least(share, limit.at_least.0),
            None => plain(false),
        },
        Condition::ErrorRate(limit) => {
            let (ended, errored) = history.ended_and_errored();
            only_if(ended >= limit.min_tasks.0, at_least(rate(errored, ended), limit.at_least.0))
        }
        Condition::TestFailureStreak(limit) => count(history.test_failure_streak(), limit.count.0),
        Condition::NoProgress(limit) => {
            count(history.iterations_since_progress(), limit.iterations.0)
        }
        Condition::Stagnation(limit) => duration(history.progress_age(), limit.duration.0),
        Condition::Repetition(limit) => {
            plain(judge(&history.repetition(), &thresholds(limit)).is_some())
        }
        Condition::FailureClass(wanted) => {
            let class = history.failure_class().map(|class| class.trim().to_lowercase());
            let mut blocked = wanted.any_of.0.iter().map(|class| class.0.trim().to_lowercase());
            plain(class.is_some_and(|class| blocked.any(|blocked| class.contains(&blocked))))
        }
        // Nothing but facts that are given directly counts re-runs of jobs.
        Condition::JobAttempts(limit) => count(0, limit.count.0),
        Condition::TotalAttempts(limit) => count(0, limit.count.0),
        Condition::NoSignalChange(limit) => count(history.equal_failures(), limit.cycles.0),
        Condition::Cooldown(limit) => match history.last_changed_at() {
            Some(changed) => {
                let passed = history.now.at.since(changed);
                let part_left = 1.0 - share(seconds(passed), seconds(limit.duration.0));
                Found { truth: truth(passed < limit.duration.0), progress: part_left }
            }
            None => plain(false),
        },
        Condition::Unresolved(limit) => match history.first_failure_at() {
            Some(first) => duration(history.now.at.since(first), limit.duration.0),
            None => plain(false),
        },
        Condition::Health(limit) => plain(scene.health() < limit.below.0),
        Condition::AllTestsPass(_) => {
            let counts = history.tests().map(super::judges::counts).unwrap_or_default();
            let total = counts.passed.saturating_add(counts.failed);
            let progress = rate(counts.passed, total);
            Found { truth: truth(counts.passed > 0 && counts.failed == 0), progress }
        }
        Condition::SpecificTestsPass(wanted) => {
            let passes = |name: &str| {
                let named = |names: &[String]| names.iter().any(|other| other == name);
                history.tests().is_some_and(|run| named(&run.passed) && !named(&run.failed))
            };
            let passed = wanted.tests.0.iter().filter(|test| passes(&test.0)).count();
            count(passed as u64, wanted.tests.0.len() as u64)
        }
        Condition::Verification(wanted) => plain(history.verification() == Some(wanted.outcome)),
        Condition::Review(wanted) => {
            let fits = history.review() == Some(wanted.outcome);
            match wanted.same_rounds {
                Some(rounds) => only_if(fits, count(history.same_rounds(), rounds.0)),
                None => plain(fits),
            }
        }
        Condition::TasksDone(_) => match history.tasks() {
            Some(tasks) => Found {
                truth: truth(primary_tasks_done(tasks) && !improvements_left(tasks)),
                progress: if tasks.total == 0 {
                    0.0
                } else {
                    rate(tasks.done, tasks.total).min(1.0)
                },
            },
            None => plain(false),
        },
        Condition::DiminishingReturns(limit) => {
            let small = history.improvement().is_some_and(|gain| gain < limit.below.0);
            let late = history
                .tasks()
                .is_some_and(|tasks| primary_tasks_done(tasks) && improvements_left(tasks));
            let cycles = count(history.cycles(), limit.cycles.0);
            match small && (cycles.truth == Truth::Yes || late) {
                true => plain(true),
                false => Found { truth: Truth::No, ..cycles },
            }
        }
        Condition::TopicDrift(limit) => match history.measured_drift() {
            Some(score) => above(score, limit.above.0),
            None => unless_silent(above(0.0, limit.above.0), history.iterations() > 0),
        },
        Condition::OutputPattern(pattern) => {
            let whole_run = pattern.since == Since::Run;
            plain(history.has_matched(&condition.key(), &pattern.pattern.0, whole_run))
        }
        Condition::FileCreated(_) | Condition::FileContains(_) | Condition::CustomScript(_) => {
            match history.probe(&condition.key()) {
                Some(Some(met)) => plain(met),
                Some(None) => unknown(),
                None => plain(false),
            }
        }
        Condition::Expr(expr) => {
            let answer = expr.expression.as_ref().map(|cel| cel.evaluate(&View { scene }));
            match answer {
                Some(Ok(met)) => plain(met),
                Some(Err(_)) | None => unknown(),
            }
        }
        Condition::All(parts) => all(&found_each(parts, scene)),
        Condition::Any(parts) => any(&found_each(parts, scene)),
        Condition::Not(part) => match find(part, scene).truth {
            Truth::Yes => plain(false),
            Truth::No => plain(true),
            Truth::Unknown => unknown(),
        },
        Condition::Never => plain(false),
    }
}

/// Adds every moment after which a condition may find something else by time alone.
pub(super) fn candidates(condition: &Condition, history: &History<'_>, into: &mut Vec<Moment>) {
    let now = history.now;
    let mut at = |at: Timestamp| into.push(Moment { at, ..now });
    match condition {
        Condition::WallClock(clock) => at(due(clock.at, history)),
        Condition::Quota(quota) => {
            let reset = history.quota(&quota.window.0).and_then(|quota| quota.resets_at);
            reset.into_iter().for_each(at);
        }
        Condition::Cooldown(limit) => {
            let changed = history.last_changed_at();
            changed.into_iter().for_each(|changed| at(changed.plus(limit.duration.0)));
        }
        Condition::Unresolved(limit) => {
            let first = history.first_failure_at();
            first.into_iter().for_each(|first| at(first.plus(limit.duration.0)));
        }
        Condition::MaxDuration(limit) => into.push(Moment { active: limit.duration.0, ..now }),
        Condition::Stagnation(limit) => {
            let active = history.progress_active().saturating_add(limit.duration.0);
            into.push(Moment { active, ..now });
        }
        Condition::Health(_) => {
            let active = history.progress_active().saturating_add(TEN_MINUTES);
            into.push(Moment { active, ..now });
        }
        _ => condition.parts().iter().for_each(|part| candidates(part, history, into)),
    }
}

fn found_each(parts: &[Condition], scene: &Scene<'_>) -> Vec<Found> {
    parts.iter().map(|part| find(part, scene)).collect()
}

/// "`all`: no if one is no, else unknown if one is unknown"; the mean of their progress.
fn all(parts: &[Found]) -> Found {
    let has = |truth: Truth| parts.iter().any(|part| part.truth == truth);
    let mean = parts.iter().map(|part| part.progress).sum::<f64>() / number(parts.len() as u64);
    match (has(Truth::No), has(Truth::Unknown)) {
        (true, _) => Found { truth: Truth::No, progress: mean },
        (false, true) => Found { truth: Truth::Unknown, progress: mean },
        (false, false) => plain(true),
    }
}

/// `any` likewise; the most of their progress.
fn any(parts: &[Found]) -> Found {
    let has = |truth: Truth| parts.iter().any(|part| part.truth == truth);
    let most = parts.iter().map(|part| part.progress).fold(0.0, f64::max);
    match (has(Truth::Yes), has(Truth::Unknown)) {
        (true, _) => plain(true),
        (false, true) => Found { truth: Truth::Unknown, progress: most },
        (false, false) => Found { truth: Truth::No, progress: most },
    }
}

/// "Met is 1; `–` is 0 until met."
fn plain(met: bool) -> Found {
    Found { truth: truth(met), progress: if met { 1.0 } else { 0.0 } }
}

fn unknown() -> Found {
    Found { truth: Truth::Unknown, progress: 0.0 }
}

fn count(value: u64, threshold: u64) -> Found {
    part(value >= threshold, number(value), number(threshold))
}

fn duration(value: Duration, threshold: Duration) -> Found {
    part(value >= threshold, seconds(value), seconds(threshold))
}

fn at_least(value: f64, threshold: f64) -> Found {
    part(value >= threshold, value, threshold)
}

/// *Exclusive*: at its threshold it is full, and not met.
fn above(value: f64, threshold: f64) -> Found {
    part(value > threshold, value, threshold)
}

fn part(met: bool, value: f64, threshold: f64) -> Found {
    if met { plain(true) } else { Found { truth: Truth::No, progress: share(value, threshold) } }
}

fn share(value: f64, threshold: f64) -> f64 {
    if value >= threshold { 1.0 } else { value / threshold }
}

/// Too few samples, or of another kind: not met, however far it is.
fn only_if(enough: bool, found: Found) -> Found {
    if enough { found } else { Found { truth: Truth::No, ..found } }
}

/// What was spent is spent; below the limit, a silent meter says nothing.
fn unless_silent(found: Found, silent: bool) -> Found {
    match found.truth {
        Truth::No if silent => Found { truth: Truth::Unknown, ..found },
        _ => found,
    }
}

fn truth(met: bool) -> Truth {
    if met { Truth::Yes } else { Truth::No }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// "at least one task is known, the queue is empty, all primary tasks are done"
fn primary_tasks_done(tasks: &Tasks) -> bool {
    tasks.total >= 1 && tasks.queued == 0 && tasks.done >= tasks.total
}

fn improvements_left(tasks: &Tasks) -> bool {
    tasks.phase == Phase::Improvement && tasks.improvements.is_some_and(|open| open > 0)
}

/// The first time from the run's start on at which clocks in UTC show that time.
fn due(clock: ClockTime, history: &History<'_>) -> Timestamp {
    match clock {
        ClockTime::At(at) => at,
        ClockTime::Daily(time) => {
            let start = i128::from(history.start().as_nanos());
            let of_day = time.duration_since(jiff::civil::Time::midnight()).as_nanos();
            let today = start.div_euclid(DAY) * DAY + of_day;
            let due = if today >= start { today } else { today + DAY };
            Timestamp::from_nanos(i64::try_from(due).unwrap_or(i64::MAX))
        }
    }
}

/// Each threshold that the condition names, else that of its sensitivity.
fn thresholds(limit: &Repetition) -> Thresholds {
    let mut thresholds = Thresholds::for_sensitivity(limit.sensitivity);
    let counts = [
        (limit.repeat_pair, &mut thresholds.repeat_pair),
        (limit.repeat_action, &mut thresholds.repeat_action),
        (limit.repeat_error, &mut thresholds.repeat_error),
        (limit.cycle, &mut thresholds.cycle),
        (limit.monologue, &mut thresholds.monologue),
        (limit.monologue_equal, &mut thresholds.monologue_equal),
        (limit.empty, &mut thresholds.empty),
        (limit.content_chant, &mut thresholds.content_chant),
        (limit.compaction, &mut thresholds.compaction),
    ];
    for (own, threshold) in counts {
        if let Some(own) = own {
            *threshold = u32::try_from(own.0).unwrap_or(u32::MAX);
        }
    }
    if let Some(own) = limit.novelty {
        thresholds.novelty = own.0;
    }
    if let Some(own) = limit.score {
        thresholds.score = own.0;
    }
    if let Some(own) = limit.max_wait {
        thresholds.max_wait = own.0;
    }
    if let Some(own) = limit.max_wait_cost {
        thresholds.max_wait_cost = own.0;
    }
    thresholds
}

const TEN_MINUTES: Duration = Duration::from_secs(600);
const DAY: i128 = 86_400_000_000_000;
