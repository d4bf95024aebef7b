//! Events of every type, with plausible and hostile values, in and out of order.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::Happening;
use crate::condition::Condition;
use crate::event::*;
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// Events as they come, with the times at which decisions are asked for.
pub fn happenings(most: usize) -> impl Strategy<Value = Vec<Happening>> {
    let pauses = vec![0, 0, 1, 500, 999, 1_000, 1_000, 2_000, 5_000, 600_000, 86_400_000];
    let step = (event_kind(), select(pauses.clone()), timing(), prop::option::of(select(pauses)));
    prop::collection::vec(step, 1..most).prop_map(|steps| {
        let mut now = START;
        let mut happenings = Vec::new();
        for (kind, pause, timing, lag) in steps {
            now = now.plus(Duration::from_millis(pause));
            let asked = lag.map(|lag| now.plus(Duration::from_millis(lag)));
            happenings.push(Happening { event: timing.apply(kind, now), now, asked });
            now = now.max(asked.unwrap_or(now));
        }
        happenings
    })
}

/// One event by itself.
pub fn event() -> impl Strategy<Value = Event> {
    (event_kind(), timing()).prop_map(|(kind, timing)| timing.apply(kind, START))
}

/// What happened, of any type.
pub fn event_kind() -> impl Strategy<Value = EventKind> {
    Union::new_weighted(vec![
        (8, iterations().boxed()),
        (6, work().boxed()),
        (6, usage().boxed()),
        (6, errors().boxed()),
        (4, answers().boxed()),
        (5, judges().boxed()),
        (3, operators().boxed()),
        (3, people().boxed()),
    ])
}

/// What an event says of its own time.
#[derive(Clone, Debug)]
struct Timing {
    at: At,
    active_ms: Option<u64>,
}

#[derive(Clone, Debug)]
enum At {
    Missing,
    Now,
    Ago(u64),
    Exactly(i64),
}

impl Timing {
    fn apply(self, kind: EventKind, now: Timestamp) -> Event {
        let at = match self.at {
            At::Missing => None,
            At::Now => Some(now),
            At::Ago(ms) => Some(now.minus(Duration::from_millis(ms))),
            At::Exactly(nanoseconds) => Some(Timestamp::from_nanos(nanoseconds)),
        };
        Event { kind, seq: None, at, active_ms: self.active_ms }
    }
}

fn timing() -> impl Strategy<Value = Timing> {
    let at = prop_oneof![
        30 => Just(At::Missing),
        60 => Just(At::Now),
        10 => select(vec![1_u64, 1_000, 90_000_000]).prop_map(At::Ago),
        1 => select(vec![i64::MIN, 0, 1_900_000_000_000_000_000, i64::MAX]).prop_map(At::Exactly),
    ];
    let active_ms = prop_oneof![
        70 => Just(None),
        25 => select(vec![0_u64, 999, 1_000, 2_000, 5_000, 10_000, 600_000, 3_600_000])
            .prop_map(Some),
        1 => Just(Some(u64::MAX)),
    ];
    (at, active_ms).prop_map(|(at, active_ms)| Timing { at, active_ms })
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "boom", "disk full", "boom 17", "é\u{0}\u{202e}"]).prop_map(str::to_owned)
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![30 => 0_u64..6, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2)]
}

fn share() -> impl Strategy<Value = f64> {
    select(vec![0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.95, 1.0])
}

fn iterations() -> impl Strategy<Value = EventKind> {
    let started = Just(EventKind::from(IterationStarted::default()));
    let finished = (
        select(vec![Some(0), Some(0), Some(0), Some(1), Some(2), Some(-1), None]),
        prop::option::weighted(0.1, Just(9)),
        prop::bool::weighted(0.15),
    )
        .prop_map(|(exit_code, signal, timed_out)| {
            IterationFinished { exit_code, signal, timed_out, ..IterationFinished::default() }
                .into()
        });
    let run = prop::option::of(0_u64..5)
        .prop_map(|total_units| RunStarted { total_units, ..RunStarted::default() }.into());
    prop_oneof![8 => started, 10 => finished, 1 => run]
}

fn work() -> impl Strategy<Value = EventKind> {
    let unit = (
        select(vec!["u1", "u2", "u3"]),
        select(vec![
            UnitStatus::Pending,
            UnitStatus::InProgress,
            UnitStatus::Approved,
            UnitStatus::Rejected,
            UnitStatus::Rejected,
            UnitStatus::Failed,
        ]),
        prop::option::of(count()),
    )
        .prop_map(|(id, status, attempts)| {
            Unit { id: id.to_owned(), index: None, status, attempts }.into()
        });
    let progress = select(vec![
        ProgressKind::Task,
        ProgressKind::Commit,
        ProgressKind::Tree,
        ProgressKind::Marker,
        ProgressKind::Other,
    ])
    .prop_map(|kind| Progress { kind, note: None }.into());
    let tasks = (
        0_u64..4,
        0_u64..4,
        select(vec![0_u64, 0, 0, 1]),
        select(vec![Phase::Primary, Phase::Improvement]),
        prop::option::of(0_u64..2),
    )
        .prop_map(|(total, done, queued, phase, improvements)| {
            Tasks { total, done, queued, phase, improvements }.into()
        });
    let figure = select(vec![0.0, -0.0, 1.0, 2.0, 2.5, 4.0, -4.0, 1e308, -1e308, 1e-300]);
    let cycle =
        prop::collection::btree_map(select(vec!["a".to_owned(), "b".to_owned()]), figure, 0..3)
            .prop_map(|metrics| Cycle { metrics }.into());
    let action = (
        select(vec!["ls", "cargo test", "sleep 5"]),
        select(vec!["", "", "", "message", "empty", "chant", "compaction", "user", "person"]),
        prop::option::of(select(vec!["ok", "error: no"])),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(signature, kind, result, failed)| {
            Action {
                signature: signature.to_owned(),
                kind: kind.to_owned(),
                result_signature: result.map(str::to_owned),
                failed,
            }
            .into()
        });
    Union::new_weighted(vec![
        (5, unit.boxed()),
        (2, progress.boxed()),
        (2, tasks.boxed()),
        (2, cycle.boxed()),
        (3, action.boxed()),
    ])
}

fn usage() -> impl Strategy<Value = EventKind> {
    let cost = select(vec![0.0, 0.1, 0.1, 0.2, 0.25, 0.5, 1.0, 1e-12, f64::MAX]);
    let basis = select(vec![None, None, Some(UsageBasis::Live), Some(UsageBasis::Final)]);
    let usage = (count(), count(), count(), count(), prop::option::of(cost), basis).prop_map(
        |(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd, basis)| {
            let model = None;
            Usage {
                input_tokens,
                output_tokens,
                cache_read_tokens,
                cache_write_tokens,
                cost_usd,
                model,
                basis,
            }
            .into()
        },
    );
    let context = (0_u64..11, select(vec![0_u64, 4, 10, 20]), prop::bool::weighted(0.2))
        .prop_map(|(used, limit, full)| Context { used, limit, full }.into());
    let resets = prop::option::of(select(vec![0_i64, 1, 1_000, 5_000, 700_000]));
    let quota =
        (select(vec!["5h", "weekly"]), share(), resets).prop_map(|(window, used, resets)| {
            let resets_at =
                resets.map(|ms| Timestamp::from_nanos(START.as_nanos() + ms * 1_000_000));
            Quota { window: window.to_owned(), used, resets_at }.into()
        });
    prop_oneof![4 => usage, 2 => context, 2 => quota]
}

fn errors() -> impl Strategy<Value = EventKind> {
    let category =
        select(vec![ErrorCategory::Transient, ErrorCategory::Recoverable, ErrorCategory::Critical]);
    let error = (category, text(), prop::option::weighted(0.2, text())).prop_map(
        |(category, message, signature)| {
            ErrorSeen { category, message, signature, retry_at: None }.into()
        },
    );
    let names = || prop::collection::vec(select(vec!["a", "b", "c"]).prop_map(str::to_owned), 0..3);
    let counts = (count(), select(vec![0_u64, 0, 1, u64::MAX]), 0_u64..2)
        .prop_map(|(passed, failed, skipped)| TestCounts { passed, failed, skipped });
    let failed = prop_oneof![2 => Just(Vec::new()), 1 => names()];
    let tests = (names(), failed, prop::option::weighted(0.2, counts)).prop_map(
        |(passed, failed, counts)| Tests { passed, failed, counts, ..Tests::default() }.into(),
    );
    let signal = (
        select(vec!["same", "same", "other"]),
        prop::option::of(select(vec!["lint", "Build error", "flaky"])),
    )
        .prop_map(|(hash, class)| {
            FailureSignal { hash: hash.to_owned(), class: class.map(str::to_owned) }.into()
        });
    prop_oneof![4 => error, 3 => tests, 2 => signal]
}

/// Answers to a policy's questions; [`address`] gives them their keys.
fn answers() -> impl Strategy<Value = EventKind> {
    let matched = (0_usize..6, select(vec!["DONE", "sha256:DONE", "OK"]), any::<bool>()).prop_map(
        |(number, pattern, named)| {
            let key = if named { format!("{PLACEHOLDER}{number}") } else { String::new() };
            let (stream, excerpt) = (String::new(), String::new());
            Matched { key, pattern: pattern.to_owned(), stream, excerpt }.into()
        },
    );
    let probe = (0_usize..6, select(vec![Some(true), Some(true), Some(false), None])).prop_map(
        |(number, met)| {
            let detail = Some("looked".to_owned());
            Probe { key: format!("{PLACEHOLDER}{number}"), met, detail }.into()
        },
    );
    prop_oneof![matched, probe]
}

fn judges() -> impl Strategy<Value = EventKind> {
    let guard = select(vec![
        GuardKind::Scope,
        GuardKind::Protected,
        GuardKind::Lockfile,
        GuardKind::Dirty,
        GuardKind::Collision,
    ])
    .prop_map(|kind| Guard { kind, files: vec!["f".to_owned()] }.into());
    let verification = select(vec![
        VerificationOutcome::Passed,
        VerificationOutcome::Failed,
        VerificationOutcome::TimedOut,
    ])
    .prop_map(|outcome| Verification { outcome, detail: None }.into());
    let review = (
        select(vec![
            ReviewOutcome::Approved,
            ReviewOutcome::ChangesRequested,
            ReviewOutcome::ChangesRequested,
            ReviewOutcome::Rejected,
        ]),
        select(vec!["", "h1", "h1", "h2"]),
        prop::option::of(prop::collection::vec(text(), 0..2)),
    )
        .prop_map(|(outcome, hash, requests)| {
            Review { outcome, hash: hash.to_owned(), requests }.into()
        });
    let worker = select(vec![
        WorkerStatus::Blocked,
        WorkerStatus::Failed,
        WorkerStatus::TimedOut,
        WorkerStatus::RateLimited,
    ])
    .prop_map(|status| Worker { status, detail: None, retry_at: None }.into());
    let drift = share().prop_map(|score| Drift { score }.into());
    Union::new_weighted(vec![
        (1, guard.boxed()),
        (2, verification.boxed()),
        (3, review.boxed()),
        (3, worker.boxed()),
        (2, drift.boxed()),
    ])
}

fn operators() -> impl Strategy<Value = EventKind> {
    let limits = vec![
        "iterations",
        "duration",
        "tokens",
        "cost_usd",
        "max_iterations",
        "reject_rate",
        "stalled",
        "no_progress",
        "error",
        "cooldown_active",
        "wait_timeout",
        "worker_timeout",
        "health_critical",
        "said_no",
        "no such limit",
        "rate_limited",
    ];
    let number = select(vec![0.0, 0.5, 1.0, 3.0, 1_000.0, 600_000.0, 1e300]);
    let value = prop_oneof![
        number.prop_map(LimitValue::Number),
        select(vec![0_u64, 1, 1_000, 2_000, 600_000, u64::MAX])
            .prop_map(|ms| LimitValue::Duration(Duration::from_millis(ms))),
    ];
    let raised = (select(limits), value).prop_map(|(limit, value)| {
        Raised { limit: limit.to_owned(), value, by: String::new(), why: String::new() }.into()
    });
    let suspended =
        select(vec![0_u64, 1, 1_000, 600_000, u64::MAX]).prop_map(|ms| Suspended { ms }.into());
    let recovered = select(vec![
        RecoveryKind::Context,
        RecoveryKind::Context,
        RecoveryKind::Stagnation,
        RecoveryKind::Error,
    ])
    .prop_map(|kind| Recovered { kind, checkpoint: None }.into());
    prop_oneof![3 => raised, 1 => suspended, 2 => recovered]
}

fn people() -> impl Strategy<Value = EventKind> {
    let signal =
        select(vec![SignalKind::Stop, SignalKind::Kill, SignalKind::Pause, SignalKind::Resume])
            .prop_map(|kind| Signal { kind, by: String::new() }.into());
    let answered = select(vec![Answer::Fix, Answer::Continue, Answer::Abort]).prop_map(|answer| {
        Answered { question: String::new(), answer, note: None, by: None }.into()
    });
    let streaks = prop::collection::vec(
        select(vec![
            "no_progress",
            "stagnation",
            "consecutive_errors",
            "consecutive_fails",
            "test_failure_streak",
            "repetition",
            "worker",
            "same_rounds",
            "signal",
            "of a later version",
        ])
        .prop_map(str::to_owned),
        0..3,
    );
    let verdicts = vec![Verdict::Continue, Verdict::Warn, Verdict::Ask, Verdict::Stop];
    let reasons = vec!["stalled", "error", "repetition", "worker_blocked", "max_iterations"];
    let reason = prop::option::of(select(reasons).prop_map(str::to_owned));
    let streaks = prop::option::of(streaks);
    let decided = (select(verdicts), reason, streaks).prop_map(|(verdict, reason, streaks)| {
        Decided { verdict, reason, rule: None, message: None, streaks }.into()
    });
    Union::new_weighted(vec![
        (4, signal.boxed()),
        (1, Just(EventKind::from(Asked::default())).boxed()),
        (2, answered.boxed()),
        (4, decided.boxed()),
        (1, Just(EventKind::from(Held::default())).boxed()),
        (1, Just(EventKind::from(Released::default())).boxed()),
        (1, Just(EventKind::from(Halted::default())).boxed()),
        (2, Just(EventKind::from(Resumed::default())).boxed()),
    ])
}

/// Gives a generated answer the key of one of the conditions that wait for one like it.
pub(super) fn address(kind: &mut EventKind, asked: &[&Condition]) {
    let is_pattern = |asked: &&&Condition| matches!(asked, Condition::OutputPattern(_));
    match kind {
        EventKind::Matched(matched) => {
            let asked: Vec<_> = asked.iter().filter(is_pattern).collect();
            let Some(number) = placeholder(&matched.key) else { return };
            matched.key = String::new();
            if let Some(Condition::OutputPattern(output)) = asked.get(number % asked.len().max(1)) {
                matched.key = spelt(&asked[number % asked.len()].key(), number);
                matched.pattern.clone_from(&output.pattern.0);
            }
        }
        EventKind::Probe(probe) => {
            let asked: Vec<_> = asked.iter().filter(|asked| !is_pattern(asked)).collect();
            let Some(number) = placeholder(&probe.key) else { return };
            if let Some(condition) = asked.get(number % asked.len().max(1)) {
                probe.key = spelt(&condition.key(), number);
            }
        }
        _ => {}
    }
}

fn placeholder(key: &str) -> Option<usize> {
    key.strip_prefix(PLACEHOLDER)?.parse().ok()
}

/// Callers may leave out the name of the hash.
fn spelt(key: &str, number: usize) -> String {
    if number.is_multiple_of(2) { key } else { key.trim_start_matches("sha256:") }.to_owned()
}

/// Marks a key that is not yet one.
const PLACEHOLDER: &str = "asked:";

/// A few seconds before the clock time that generated policies name.
const START: Timestamp = Timestamp::from_nanos(1_777_877_990_000_000_000);
