//! What the loop takes from its policy.

use std::time::Duration;

use backstop_adapters::{Agent, Translator};
use backstop_core::condition::{Condition, OutputSource, Since};
use backstop_core::facts::Facts;
use backstop_core::policy::{LoopSettings, Policy, StopSignal};

use crate::capture::{Pattern, Reading, Wanted};
use crate::launch::Launch;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopTimes {
    pub iteration_timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    pub stop_signal: StopSignal,
    pub grace: Duration,
    pub finish_within: Duration,
    pub delay: Duration,
    pub hold_wait: Duration,
}

impl LoopTimes {
    pub fn of(policy: &Policy, launch: &Launch) -> Self {
        let given = policy.settings.loop_.as_ref();
        let pick = |choose: fn(&LoopSettings) -> Option<Duration>| given.and_then(choose);
        Self {
            iteration_timeout: pick(|set| set.iteration_timeout.as_ref().map(|period| period.0)),
            idle_timeout: pick(|set| set.idle_timeout.as_ref().map(|period| period.0)),
            stop_signal: stop_signal(policy, agent(policy, launch)),
            grace: grace(policy),
            finish_within: pick(|set| set.finish_within.as_ref().map(|pause| pause.0))
                .unwrap_or(LoopSettings::DEFAULT_FINISH_WITHIN),
            delay: pick(|set| set.delay.as_ref().map(|pause| pause.0)).unwrap_or_default(),
            hold_wait: pick(|set| set.hold_wait.as_ref().map(|pause| pause.0))
                .unwrap_or(LoopSettings::DEFAULT_HOLD_WAIT),
        }
    }
}

impl LoopTimes {
    /// The output has shown whose it is, which the command did not.
    pub fn suit(&mut self, policy: &Policy, agent: Agent) {
        self.stop_signal = stop_signal(policy, Some(agent));
    }
}

/// How long what is told to end has before SIGKILL.
pub fn grace(policy: &Policy) -> Duration {
    let given = policy.settings.loop_.as_ref().and_then(|set| set.grace.as_ref());
    given.map_or(LoopSettings::DEFAULT_GRACE, |pause| pause.0)
}

/// The policy's, else the agent's own: some still report what they used if they are asked their way.
fn stop_signal(policy: &Policy, agent: Option<Agent>) -> StopSignal {
    let given = policy.settings.loop_.as_ref().and_then(|set| set.stop_signal);
    given.unwrap_or_else(|| match agent.and_then(Agent::stop_signal) {
        Some("SIGINT") => StopSignal::Int,
        _ => StopSignal::Term,
    })
}

/// What to look for in the output, and who reads it.
pub fn wanted(policy: &Policy, launch: &Launch, facts: &Facts) -> Wanted {
    Wanted {
        patterns: patterns(policy),
        markers: markers(policy),
        translator: Translator::new(policy)
            .assuming(Agent::model_of_command(&launch.command))
            .going_on_from(facts.thread_totals()),
        reading: Reading::of(policy, &launch.command, launch.raw),
    }
}

/// The agent that the policy names, or the command tells.
fn agent(policy: &Policy, launch: &Launch) -> Option<Agent> {
    Reading::of(policy, &launch.command, launch.raw).known()
}

fn patterns(policy: &Policy) -> Vec<Pattern> {
    let asked = policy.asked().into_iter();
    asked
        .filter_map(|condition| match condition {
            // What the agent itself says is told apart by those who read its format.
            Condition::OutputPattern(wanted) if is_in_output(wanted.r#in) => Some(Pattern {
                key: condition.key(),
                text: wanted.pattern.0.clone(),
                is_regex: wanted.is_regex,
                since_run: wanted.since == Since::Run,
                unless_agent: wanted.r#in == OutputSource::Auto,
            }),
            _ => None,
        })
        .collect()
}

fn is_in_output(source: OutputSource) -> bool {
    matches!(source, OutputSource::Any | OutputSource::Auto)
}

/// Words in the output that mean progress.
fn markers(policy: &Policy) -> Vec<String> {
    let progress = policy.settings.progress.as_ref();
    let words = progress.and_then(|progress| progress.markers.as_ref());
    words.map(|words| words.0.iter().map(|word| word.0.clone()).collect()).unwrap_or_default()
}
