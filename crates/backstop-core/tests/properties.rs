//! The engine against the reference, its wake-ups, and what must hold for every run.

use std::collections::BTreeSet;
use std::time::Duration;

use backstop_core::condition::{Condition, Truth};
use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, LimitValue, Raised};
use backstop_core::facts::Facts;
use backstop_core::policy::Policy;
use backstop_core::reference::{Answer, Fired, Reference};
use backstop_core::testing::{self, Happening, Run};
use backstop_core::time::{Moment, Timestamp};
use backstop_core::verdict::Verdict;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MOST_EVENTS: usize = 50;

/// Six times as many cases as proptest's default, or as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.saturating_mul(6), failure_persistence: None, ..usual }
}

/// An engine and a reference that are told the same.
struct Pair {
    engine: Engine,
    reference: Reference,
    /// Time never goes back for those who decide.
    latest: Moment,
}

impl Pair {
    fn new(policy: &Policy) -> Self {
        Self {
            engine: Engine::new(policy.clone()),
            reference: Reference::new(policy.clone()),
            latest: Moment { at: Timestamp::from_nanos(i64::MIN), active: Duration::ZERO },
        }
    }

    fn tell(&mut self, happening: &Happening) {
        self.engine.handle_event(&happening.event, happening.now);
        self.reference.tell(happening.event.clone(), happening.now);
    }

    fn moment(&mut self, now: Timestamp) -> Moment {
        let moment = self.engine.moment(now);
        assert_eq!(moment, self.reference.moment(now), "the clocks differ");
        self.latest.at = self.latest.at.max(moment.at);
        self.latest.active = self.latest.active.max(moment.active);
        self.latest
    }

    fn agree(&mut self, now: Timestamp) -> Result<Answer, TestCaseError> {
        let moment = self.moment(now);
        let decision = self.engine.poll_decision(moment);
        let answer = self.reference.decide(moment);
        agree(&self.engine, &decision, &answer)?;
        Ok(answer)
    }
}

fn agree(engine: &Engine, decision: &Decision, answer: &Answer) -> Result<(), TestCaseError> {
    prop_assert_eq!(fired(decision), answer.fired.clone(), "what fired differs");
    prop_assert_eq!(decision.verdict, answer.verdict);
    prop_assert_eq!(decision.rule.as_ref().map(|rule| rule.index), answer.rule);
    prop_assert_eq!(&decision.reason, &answer.reason);
    let unknown: Vec<_> = decision.unknown.iter().map(|rule| rule.rule).collect();
    prop_assert_eq!(&unknown, &answer.unknown, "what is unknown differs");
    for (rule, found) in answer.found.iter().enumerate() {
        let progress = engine.progress(rule);
        prop_assert!((0.0..=1.0).contains(&progress), "rule {rule} is at {progress}");
        prop_assert!(
            (progress - found.progress).abs() <= 1e-9,
            "rule {rule} is at {progress}, not at {}",
            found.progress
        );
    }
    for shown in &decision.progress {
        prop_assert_eq!(shown.met, answer.found[shown.rule].truth == Truth::Yes);
    }
    prop_assert!((0.0..=1.0).contains(&decision.overall_progress));
    Ok(())
}

/// Everything that a decision says has fired, the winner first.
fn fired(decision: &Decision) -> Vec<Fired> {
    let winner = decision.rule.as_ref().map(|rule| Fired {
        rule: rule.index,
        verdict: decision.verdict,
        reason: decision.reason.clone().unwrap_or_default(),
        shadow: false,
    });
    let others = decision.also_met.iter().map(|other| Fired {
        rule: other.rule,
        verdict: other.verdict,
        reason: other.reason.clone(),
        shadow: other.shadow,
    });
    winner.into_iter().chain(others).collect()
}

fn truths(answer: &Answer) -> Vec<Truth> {
    answer.found.iter().map(|found| found.truth).collect()
}

/// What may not change before the engine's own wake-up.
#[derive(Debug, PartialEq)]
struct Standing {
    verdict: Verdict,
    fired: Vec<Fired>,
    met: Vec<(usize, bool)>,
    unknown: Vec<usize>,
}

fn standing(decision: &Decision) -> Standing {
    Standing {
        verdict: decision.verdict,
        fired: fired(decision),
        met: decision.progress.iter().map(|rule| (rule.rule, rule.met)).collect(),
        unknown: decision.unknown.iter().map(|rule| rule.rule).collect(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_engine_agrees_with_the_reference(run in testing::run(MOST_EVENTS)) {
        let Run { policy, happenings } = run;
        let mut pair = Pair::new(&policy);
        for happening in &happenings {
            pair.tell(happening);
            if let Some(asked) = happening.asked {
                pair.agree(asked)?;
            }
        }
        let last = happenings.last().map_or(Timestamp::default(), |last| last.now);
        pair.agree(last)?;
    }

    #[test]
    fn wake_ups_are_exact(run in testing::run(MOST_EVENTS)) {
        let Run { policy, happenings } = run;
        let mut pair = Pair::new(&policy);
        for happening in &happenings {
            pair.tell(happening);
            let Some(asked) = happening.asked else { continue };
            let before = pair.agree(asked)?;
            let now = pair.latest;
            let decided = pair.engine.poll_decision(now);
            let wake = pair.engine.poll_timeout();
            prop_assert!(wake.at.is_none_or(|at| at > now.at), "a wake-up in the past");
            prop_assert!(wake.active.is_none_or(|active| active > now.active));
            let nanosecond = Duration::from_nanos(1);
            let just_before = [
                wake.at.map(|at| Moment { at: at.minus(nanosecond), ..now }),
                wake.active.map(|active| Moment { active: active - nanosecond, ..now }),
            ];
            for moment in just_before.into_iter().flatten() {
                let early = pair.engine.clone().poll_decision(moment);
                prop_assert_eq!(standing(&early), standing(&decided), "changed before its time");
                let fresh = Engine::with_facts(policy.clone(), pair.engine.facts().clone())
                    .poll_decision(moment);
                prop_assert_eq!(standing(&fresh), standing(&decided), "really changed early");
            }
            for candidate in pair.reference.candidates(now) {
                let then = pair.reference.decide(candidate);
                if truths(&then) == truths(&before) && then.fired == before.fired {
                    continue;
                }
                let by_wall = candidate.at > now.at;
                let noticed = if by_wall {
                    wake.at.is_some_and(|at| at <= candidate.at)
                } else {
                    wake.active.is_some_and(|active| active <= candidate.active)
                };
                prop_assert!(noticed, "nobody wakes for {candidate:?}, only for {wake:?}");
            }
        }
    }

    #[test]
    fn how_events_are_fed_does_not_matter(
        run in testing::run(MOST_EVENTS),
        saved in prop::collection::vec(prop::bool::weighted(0.3), MOST_EVENTS),
    ) {
        let Run { policy, happenings } = run;
        let mut asked = Engine::new(policy.clone());
        let mut batched = Engine::new(policy.clone());
        let mut reloaded = Engine::new(policy.clone());
        // Whoever has once asked at a time can't be told later that it has not come yet.
        let mut latest = Moment::default();
        for (happening, save) in happenings.iter().zip(saved) {
            for engine in [&mut asked, &mut batched, &mut reloaded] {
                engine.handle_event(&happening.event, happening.now);
            }
            let moment = asked.moment(happening.asked.unwrap_or(happening.now));
            latest.at = latest.at.max(moment.at);
            latest.active = latest.active.max(moment.active);
            asked.poll_decision(moment);
            if save {
                let stored = serde_json::to_string(reloaded.facts()).unwrap();
                let facts: Facts = serde_json::from_str(&stored).unwrap();
                prop_assert_eq!(&facts, reloaded.facts());
                reloaded = Engine::with_facts(policy.clone(), facts);
            }
        }
        let decision = asked.poll_decision(latest).to_json();
        prop_assert_eq!(&decision, &batched.poll_decision(latest).to_json(), "batched");
        prop_assert_eq!(&decision, &reloaded.poll_decision(latest).to_json(), "reloaded");
    }

    #[test]
    fn a_policy_reads_what_it_writes(policy in testing::policy()) {
        let hash = policy.hash();
        let toml = policy.to_toml();
        let again = Policy::load(toml.as_bytes(), Syntax::Toml).unwrap().policy;
        prop_assert_eq!(&again.hash(), &hash, "{}", toml);
        let json = policy.to_json().to_string();
        let again = Policy::load(json.as_bytes(), Syntax::Json).unwrap().policy;
        prop_assert_eq!(&again.hash(), &hash, "{}", json);
        // Equal hashes must mean equal decisions.
        prop_assert_eq!(again.rules.len(), policy.rules.len());
        for (one, other) in again.all_rules().zip(policy.all_rules()) {
            prop_assert_eq!(one.to_json(), other.to_json());
            prop_assert_eq!(one.on_unknown, other.on_unknown);
        }
    }

    #[test]
    fn an_event_reads_what_it_writes(event in testing::event()) {
        prop_assert_eq!(Event::from_json(event.to_json().as_bytes()), Ok(event));
    }

    #[test]
    fn a_raised_limit_never_makes_things_worse(
        policy in testing::policy_of(testing::limit()),
        happenings in testing::happenings(MOST_EVENTS),
        raised in prop::sample::select(LIMITS.to_vec()),
    ) {
        let mut engine = Engine::new(policy);
        for happening in &happenings {
            engine.handle_event(&happening.event, happening.now);
        }
        let last = happenings.last().map_or(Timestamp::default(), |last| last.now);
        let moment = engine.moment(last);
        let before = engine.decide(moment);
        let highest = Raised {
            limit: raised.to_owned(),
            value: LimitValue::Number(1e18),
            by: "operator".to_owned(),
            why: "more time".to_owned(),
        };
        engine.handle_event(&Event::new(highest), last);
        let moment = engine.moment(last);
        let after = engine.decide(moment);
        prop_assert!(
            after.verdict.severity() <= before.verdict.severity(),
            "{} became {}", before.verdict, after.verdict
        );
    }
}

/// A property that never meets a case proves nothing.
#[test]
fn generated_runs_reach_every_answer() {
    let mut runner = TestRunner::deterministic();
    let runs = testing::run(MOST_EVENTS);
    let mut seen: BTreeSet<(&'static str, Truth)> = BTreeSet::new();
    let mut verdicts = BTreeSet::new();
    // Most answers come soon; the rarest, a long streak of failing tests, takes its time.
    for _ in 0..12_000 {
        let Run { policy, happenings } = runs.new_tree(&mut runner).unwrap().current();
        let mut engine = Engine::new(policy.clone());
        for happening in &happenings {
            engine.handle_event(&happening.event, happening.now);
        }
        let last = happenings.last().map_or(Timestamp::default(), |last| last.now);
        let decision = engine.poll_decision(engine.moment(last));
        verdicts.insert(decision.verdict.as_str());
        let met: BTreeSet<_> =
            decision.progress.iter().filter(|rule| rule.met).map(|rule| rule.rule).collect();
        let unknown: BTreeSet<_> = decision.unknown.iter().map(|rule| rule.rule).collect();
        for (index, rule) in policy.all_rules().enumerate() {
            let truth = match (met.contains(&index), unknown.contains(&index)) {
                (true, _) => Truth::Yes,
                (false, true) => Truth::Unknown,
                (false, false) => Truth::No,
            };
            seen.insert((rule.when.type_name(), truth));
        }
    }
    assert_eq!(verdicts.len(), 10, "{verdicts:?}");
    let given_directly = ["job_attempts", "total_attempts", "never"];
    for name in Condition::TYPE_NAMES {
        assert!(seen.contains(&(name, Truth::No)), "{name} is never unmet");
        let met = seen.contains(&(name, Truth::Yes));
        assert!(met || given_directly.contains(name), "{name} is never met");
    }
    let silent =
        ["max_tokens", "max_cost", "expr", "file_created", "custom_script", "all", "any", "not"];
    for name in silent {
        assert!(seen.contains(&(name, Truth::Unknown)), "{name} is never unknown");
    }
}

/// The names by which generated limits are raised.
const LIMITS: [&str; 14] = [
    "iterations",
    "tokens",
    "cost_usd",
    "circuit_breaker",
    "max_attempts",
    "max_total_reruns",
    "rate_limited",
    "context_overflow",
    "reject_rate",
    "retry_rate",
    "error_rate",
    "topic_drift",
    "duration",
    "stalled",
];
