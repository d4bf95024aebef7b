//! The rules of other tools, as they are published. Each looks at the steps so far and says whether
//! the last one is one too many.

use backstop_core::normalise::{Style, key};

use super::{Detector, Step};

pub fn detectors() -> Vec<Detector> {
    vec![
        detector("OpenHands V1", |steps| openhands_1(steps, same_with_thought)),
        detector("OpenHands V1, no thoughts", |steps| openhands_1(steps, same_action)),
        detector("OpenHands V0", openhands_0),
        detector("Gemini CLI, 5 equal calls", |steps| all_equal(steps, 5, same_action)),
        detector("doom_loop, 3 equal calls", |steps| all_equal(steps, 3, same_action)),
        detector("novelty, half of last 8", novelty),
        detector("same error, 3 in a row", same_error),
    ]
}

fn detector(name: &'static str, rule: fn(&[Step]) -> bool) -> Detector {
    let alarm = move |steps: &[Step]| (1..=steps.len()).find(|&count| rule(&steps[..count]));
    Detector { name, alarm: Box::new(alarm) }
}

type Same = fn(&Step, &Step) -> bool;

/// Within 20 events since the user last spoke, two for a step: four equal pairs, four equal actions
/// that fail, three messages in a row, or six steps that alternate.
fn openhands_1(steps: &[Step], same: Same) -> bool {
    let steps = last(since_user(steps), 10);
    let same_pair = |one: &Step, other: &Step| same(one, other) && one.result == other.result;
    all_equal(steps, 4, same_pair)
        || (all_equal(steps, 4, same) && last(steps, 4).iter().all(Step::looks_failed))
        || (steps.len() >= 3 && last(steps, 3).iter().all(Step::is_message))
        || alternates(steps, same_pair)
}

/// The same in its older form: what a command printed does not count, three failures are enough, and
/// messages must be equal. Thoughts count there too; they are left out in its favour.
fn openhands_0(steps: &[Step]) -> bool {
    let same_pair = |one: &Step, other: &Step| {
        same_action(one, other) && one.looks_failed() == other.looks_failed()
    };
    let same_message = |one: &Step, other: &Step| {
        one.is_message() && other.is_message() && one.action == other.action
    };
    all_equal(steps, 4, same_pair)
        || (all_equal(steps, 3, same_action) && last(steps, 3).iter().all(Step::looks_failed))
        || all_equal(steps, 3, same_message)
        || alternates(steps, same_pair)
}

/// Of the last eight steps half or more had been there before.
fn novelty(steps: &[Step]) -> bool {
    let seen = |index: &usize| {
        let step = &steps[*index];
        let same = |other: &Step| same_action(other, step) && other.result == step.result;
        steps[..*index].iter().any(same)
    };
    steps.len() >= 8 && (steps.len() - 8..steps.len()).filter(seen).count() >= 4
}

fn same_error(steps: &[Step]) -> bool {
    let error = |step: &Step| {
        let result = step.result.as_ref().filter(|_| step.looks_failed())?;
        Some(key(result.as_bytes(), Style::Error))
    };
    all_equal(steps, 3, |one, other| error(one).is_some() && error(one) == error(other))
}

fn same_action(one: &Step, other: &Step) -> bool {
    one.is_action() && other.is_action() && one.action == other.action
}

fn same_with_thought(one: &Step, other: &Step) -> bool {
    same_action(one, other) && one.thought == other.thought
}

fn all_equal(steps: &[Step], count: usize, same: impl Fn(&Step, &Step) -> bool) -> bool {
    let steps = last(steps, count);
    steps.len() == count && steps.iter().all(|step| same(&steps[0], step))
}

fn alternates(steps: &[Step], same: impl Fn(&Step, &Step) -> bool) -> bool {
    let steps = last(steps, 6);
    steps.len() == 6
        && !same(&steps[0], &steps[1])
        && (2..6).all(|index| same(&steps[index - 2], &steps[index]))
}

fn last(steps: &[Step], count: usize) -> &[Step] {
    &steps[steps.len().saturating_sub(count)..]
}

fn since_user(steps: &[Step]) -> &[Step] {
    let begin = steps.iter().rposition(|step| step.kind == "user").map_or(0, |index| index + 1);
    &steps[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step for each letter; after a slash what came back, after a colon what was thought.
    fn steps(text: &str) -> Vec<Step> {
        let step = |word: &str| {
            let (word, thought) = word.split_once(':').unwrap_or((word, ""));
            let (action, result) = word.split_once('/').unwrap_or((word, "ok"));
            let kind = if action.starts_with('m') { "message" } else { "bash" };
            Step {
                kind: kind.to_owned(),
                thought: thought.to_owned(),
                action: action.to_owned(),
                result: Some(result.to_owned()),
                ..Step::default()
            }
        };
        text.split(' ').map(step).collect()
    }

    #[test]
    fn each_rule_fires_where_it_is_said_to() {
        for (name, text, expected) in [
            ("OpenHands V1", "x a a a a", Some(5)),
            ("OpenHands V1", "a:1 a:2 a:3 a:4", None),
            ("OpenHands V1, no thoughts", "a:1 a:2 a:3 a:4", Some(4)),
            ("OpenHands V1, no thoughts", "a/1 a/2 a/3 a/4", None),
            ("OpenHands V1, no thoughts", "a/error1 a/error2 a/error3 a/error4", Some(4)),
            ("OpenHands V1, no thoughts", "a b a b a b", Some(6)),
            ("OpenHands V1, no thoughts", "m1 m2 m3", Some(3)),
            ("OpenHands V0", "a/1 a/2 a/3 a/4", Some(4)),
            ("OpenHands V0", "a/error1 a/error2 a/error3", Some(3)),
            ("OpenHands V0", "m1 m2 m3", None),
            ("Gemini CLI, 5 equal calls", "a/1 a/2 a/3 a/4 a/5", Some(5)),
            ("Gemini CLI, 5 equal calls", "a a a a b", None),
            ("doom_loop, 3 equal calls", "a b b b", Some(4)),
            ("novelty, half of last 8", "a b c d a b c d", Some(8)),
            ("novelty, half of last 8", "a b c d e a b c", None),
            ("same error, 3 in a row", "a/error7 b/error8 c/error9", Some(3)),
            ("same error, 3 in a row", "a/ok b/ok c/ok", None),
        ] {
            let all = detectors();
            let detector = all.iter().find(|detector| detector.name == name).unwrap();
            assert_eq!((detector.alarm)(&steps(text)), expected, "{name}: {text}");
        }
    }
}
