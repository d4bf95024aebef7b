//! The detector against a plain reference, across a restart, and over a very long run.

use backstop_core::repetition::{Detector, Signal, Step, StepKind};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Told {
    pause: u64,
    action: usize,
    result: Option<usize>,
    failed: bool,
}

fn told() -> impl Strategy<Value = Vec<Told>> {
    let step = (
        prop::sample::select(vec![0_u64, 900, 900, 6000]),
        0_usize..6,
        prop::option::weighted(0.9, 0_usize..6),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(pause, action, result, failed)| Told { pause, action, result, failed });
    prop::collection::vec(step, 0..120)
}

fn word(index: usize) -> &'static str {
    ["kilo", "lima", "mike", "oscar", "papa", "tango"][index]
}

/// The first three results are short, the others long enough to tell something.
fn result_text(result: usize) -> String {
    word(result).repeat(if result < 3 { 1 } else { 100 })
}

fn feed(detector: &mut Detector, steps: &[Told], now: &mut u64) {
    for step in steps {
        *now += step.pause;
        let result = step.result.map(result_text);
        detector.observe(&Step {
            kind: StepKind::Action,
            action: word(step.action).as_bytes(),
            result: result.as_deref().map(str::as_bytes),
            failed: step.failed,
            active_ms: *now,
            cost_usd: 0.0,
            turn: None,
        });
    }
}

/// The rules of the score as plainly as they can be said, looking back over everything.
fn reference(steps: &[Told]) -> f64 {
    let mut score: f64 = 0.0;
    let (mut now, mut pace) = (0, 0);
    let mut called: Vec<(u64, &Told)> = Vec::new();
    let mut units: Vec<(u64, &Told)> = Vec::new();
    for step in steps {
        now += step.pause;
        let same = |other: &Told| {
            (other.action, other.result, other.failed) == (step.action, step.result, step.failed)
        };
        let called_in_parallel = called.iter().any(|&(at, other)| at == now && same(other));
        let before = called.last().copied();
        called.push((now, step));
        if called_in_parallel {
            continue;
        }
        let same_action = before.is_some_and(|(_, other)| other.action == step.action);
        let gap = before.map_or(0, |(at, _)| now - at);
        let waited = !step.failed && same_action && gap >= 5000.max(2 * pace);
        if !same_action && gap > 0 {
            pace = if pace == 0 { gap } else { pace - pace / 4 + gap.min(4 * pace) / 4 };
        }
        if waited {
            if !before.is_some_and(|(_, other)| same(other)) {
                score = (score - 0.25).max(0.0);
            }
            continue;
        }
        let telling = |told: &Told| told.failed || told.result >= Some(3);
        let weight = units.iter().rev().take(32).filter(|(at, _)| *at != now).map(|(_, other)| {
            let same_result = step.result.is_some() && other.result == step.result;
            if same_result && same(other) {
                1.0
            } else if same_result && step.failed && other.failed {
                0.7
            } else if same_result && telling(step) && telling(other) {
                0.5
            } else if other.action == step.action {
                0.4
            } else {
                0.0
            }
        });
        score = (score + weight.fold(0.0, f64::max) - 0.25).max(0.0);
        units.push((now, step));
    }
    score
}

proptest! {
    #[test]
    fn the_score_agrees_with_the_reference(steps in told()) {
        let (mut detector, mut now) = (Detector::new(), 0);
        for (index, step) in steps.iter().enumerate() {
            feed(&mut detector, std::slice::from_ref(step), &mut now);
            let score = detector.reading().score;
            prop_assert_eq!(score, reference(&steps[..=index]), "after step {}", index + 1);
        }
    }

    #[test]
    fn a_stored_state_goes_on_exactly(steps in told(), at in 0_usize..120) {
        let at = at.min(steps.len());
        let (mut whole, mut now) = (Detector::new(), 0);
        feed(&mut whole, &steps, &mut now);
        let (mut parts, mut now) = (Detector::new(), 0);
        feed(&mut parts, &steps[..at], &mut now);
        let stored = serde_json::to_string(&parts).unwrap();
        let mut parts: Detector = serde_json::from_str(&stored).unwrap();
        feed(&mut parts, &steps[at..], &mut now);
        prop_assert_eq!(parts.reading(), whole.reading());
        prop_assert_eq!(parts.evidence(), whole.evidence());
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn any_bytes_are_taken(
        action in prop::collection::vec(any::<u8>(), 0..300),
        result in prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
        failed in any::<bool>(),
        active_ms in any::<u64>(),
        cost_usd in any::<f64>(),
        turn in any::<Option<u64>>(),
    ) {
        let mut detector = Detector::new();
        for kind in ["action", "message", "empty", "compaction", "user", "action"] {
            detector.observe(&Step {
                kind: kind.into(),
                action: &action,
                result: result.as_deref(),
                failed,
                active_ms,
                cost_usd,
                turn,
            });
        }
        detector.observe_error(&action);
        let stored = serde_json::to_string(&detector).unwrap();
        prop_assert_eq!(serde_json::from_str::<Detector>(&stored).unwrap(), detector);
    }
}

#[test]
fn a_slow_agent_that_repeats_itself_does_not_wait() {
    let step = |action, pause| Told { pause, action, result: Some(4), failed: false };
    for (pace, pause, repeats) in
        [(10_000, 10_000, true), (10_000, 60_000, false), (1_000, 6_000, false)]
    {
        let (mut detector, mut now) = (Detector::new(), 0);
        feed(&mut detector, &[step(0, pace), step(1, pace), step(2, pace)], &mut now);
        feed(&mut detector, &vec![step(3, pause); 6], &mut now);
        let reading = detector.reading();
        assert_eq!(reading.kind == Some(Signal::RepeatPair), repeats, "{pace} {pause} {reading:?}");
    }
}

#[test]
fn the_state_does_not_grow() {
    let (mut detector, mut largest) = (Detector::new(), 0);
    for number in 0_u64..1_000_000 {
        let action = format!("command {}", number % 1000);
        let result = format!("result {number}");
        detector.observe(&Step {
            kind: if number % 7 == 0 { StepKind::Message } else { StepKind::Action },
            action: action.as_bytes(),
            result: Some(result.as_bytes()),
            failed: number % 3 == 0,
            active_ms: number * 100,
            cost_usd: number as f64 / 100.0,
            turn: Some(number),
        });
        if number % 100_000 == 99_999 {
            largest = largest.max(serde_json::to_string(&detector).unwrap().len());
        }
    }
    assert!(largest < 20 * 1024, "{largest}");
}

#[test]
fn a_state_with_absurd_numbers_does_no_harm() {
    let (mut detector, mut now) = (Detector::new(), 0);
    let step = Told { pause: 900, action: 0, result: Some(0), failed: true };
    feed(&mut detector, &vec![step.clone(); 5], &mut now);
    let mut stored = serde_json::to_value(&detector).unwrap();
    make_absurd(&mut stored);
    let mut detector: Detector = serde_json::from_value(stored).unwrap();
    for pause in [0, 900, 6000] {
        feed(&mut detector, &vec![Told { pause, ..step.clone() }; 70], &mut now);
        detector.observe_error(b"error");
        for signal in Signal::ALL {
            detector.evidence_for(signal);
        }
        detector.progress();
    }
}

/// Every whole number becomes the largest that its field may take.
fn make_absurd(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            for (name, field) in map.iter_mut() {
                match name.as_str() {
                    "normaliser" => {}
                    "counts" if field.is_array() => fill(field, u16::MAX.into()),
                    "runs" => fill(field, u32::MAX.into()),
                    "count" | "added" | "nudged_steps" => *field = u32::MAX.into(),
                    "seen" => *field = u8::MAX.into(),
                    _ => make_absurd(field),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(make_absurd),
        serde_json::Value::Number(number) if number.is_u64() => *value = u64::MAX.into(),
        _ => {}
    }
}

fn fill(array: &mut serde_json::Value, number: u64) {
    for item in array.as_array_mut().into_iter().flatten() {
        *item = number.into();
    }
}
