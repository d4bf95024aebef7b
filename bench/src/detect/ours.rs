//! The `repetition` condition, driven by events as a run drives it.

use std::time::Duration;

use anyhow::anyhow;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Action, Event};
use backstop_core::policy::Policy;
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;

use super::{Detector, Step};

/// The condition as it is by default, with other sensitivities, and with the pace of real agents.
/// The first one is held against the targets.
pub fn detectors() -> anyhow::Result<Vec<Detector>> {
    Ok(vec![
        detector("ours, normal", "", None)?,
        detector("ours, normal, 10 s a step", "", Some(Duration::from_secs(10)))?,
        detector("ours, low", r#", sensitivity = "low""#, None)?,
        detector("ours, at the nudge (2.0)", ", score = 2.0", None)?,
        detector("ours, high (warns)", r#", sensitivity = "high""#, None)?,
    ])
}

/// The condition with these fields. Where a trajectory has no times, its steps have none either,
/// unless a pace is given.
fn detector(name: &'static str, fields: &str, pace: Option<Duration>) -> anyhow::Result<Detector> {
    let text = format!("[[rule]]\nwhen = {{ type = \"repetition\"{fields} }}\nthen = \"stop\"\n");
    let policy = Policy::load(text.as_bytes(), Syntax::Toml)
        .map_err(|wrong| anyhow!("the policy is wrong: {wrong:?}"))?
        .policy;
    let alarm = move |steps: &[Step]| {
        let mut engine = Engine::new(policy.clone());
        let mut paced = Timestamp::default();
        steps.iter().position(|step| {
            paced = paced.plus(pace.unwrap_or_default());
            let at = step.at.or(pace.map(|_| paced));
            let mut event = Event::new(Action {
                signature: step.action.clone(),
                kind: step.kind.clone(),
                result_signature: step.result.clone(),
                failed: step.failed,
            });
            event.at = at;
            engine.handle_event(&event, Timestamp::default());
            let now = engine.moment(at.unwrap_or_default());
            engine.decide(now).verdict == Verdict::Stop
        })
    };
    Ok(Detector { name, alarm: Box::new(move |steps| alarm(steps).map(|index| index + 1)) })
}
