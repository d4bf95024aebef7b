//! Completion phrases: where they are looked for, and whether the prompt has them too.

use backstop_adapters::Agent;
use backstop_core::condition::{Condition, OutputPattern, OutputSource};
use backstop_core::policy::{AgentName, Policy, Rule};
use backstop_core::verdict::Verdict;

/// Where a phrase of the command line is looked for: in the words of an agent, wherever they can be
/// told from its prompt, its thoughts and what its tools print.
pub(super) fn place(policy: &Policy, command: &[String]) -> OutputSource {
    let settings = &policy.settings;
    let agent = settings.loop_.as_ref().and_then(|set| set.agent).unwrap_or_default();
    let is_mapped = settings.jsonl.as_ref().is_some_and(|mapping| mapping.message.is_some());
    match (agent, Agent::of_command(command)) {
        (AgentName::Generic, _) => OutputSource::Any,
        (AgentName::Jsonl, _) if !is_mapped => OutputSource::Any,
        // A script may start one, and its output will tell.
        (AgentName::Auto, None | Some(Agent::Generic)) => OutputSource::Auto,
        _ => OutputSource::Assistant,
    }
}

/// A warning for each phrase that a prompt has too.
pub(super) fn warnings(policy: &Policy, prompt: &[u8]) -> Vec<String> {
    let prompt = String::from_utf8_lossy(prompt);
    let asked = policy.rules.iter().flat_map(|rule| {
        rule.when.asked().into_iter().filter_map(move |asked| match asked {
            Condition::OutputPattern(pattern) => Some((rule, pattern)),
            _ => None,
        })
    });
    let echoed = asked.filter(|(rule, pattern)| is_met_by_echo(rule, pattern, &prompt));
    echoed
        .map(|(_, pattern)| {
            let phrase = &pattern.pattern.0;
            format!("the prompt contains `{phrase}` too: an echo of it would complete the run")
        })
        .collect()
}

/// Whether a prompt that is echoed would complete the run.
pub fn is_met_by_echo(rule: &Rule, pattern: &OutputPattern, prompt: &str) -> bool {
    rule.then == Verdict::Complete
        && matches!(pattern.r#in, OutputSource::Any | OutputSource::Auto)
        && pattern.matches(prompt)
}
