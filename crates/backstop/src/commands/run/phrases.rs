//! Completion phrases: where they are looked for, and whether the prompt has them too.

use backstop_adapters::Agent;
use backstop_core::condition::{Condition, OutputPattern, OutputSource};
use backstop_core::policy::{AgentName, Policy, Rule};
use backstop_core::verdict::Verdict;

/// Whether the words of an agent can be told from its prompt, its thoughts and what its tools print.
pub(super) fn has_own_words(policy: &Policy, command: &[String]) -> bool {
    let agent = policy.settings.loop_.as_ref().and_then(|set| set.agent).unwrap_or_default();
    match agent {
        AgentName::Generic | AgentName::Jsonl => false,
        AgentName::Auto => Agent::of_command(command).is_some_and(|agent| agent != Agent::Generic),
        _ => true,
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
        && pattern.r#in == OutputSource::Any
        && !pattern.is_regex
        && prompt.contains(pattern.pattern.0.as_str())
}
