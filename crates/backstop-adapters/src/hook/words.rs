//! Patterns in what the agent says when it stops.

use backstop_core::condition::{Condition, OutputPattern};
use backstop_core::event::{Matched, Progress, ProgressKind};
use backstop_core::policy::Policy;
use regex::{Regex, RegexBuilder};

use crate::excerpt;

/// The patterns of a policy that the agent's last message matches. It is all the output that a hook
/// sees, and it is the agent's own words and its result at once, so every pattern is looked for.
pub fn matches(policy: &Policy, message: &str) -> Vec<Matched> {
    let asked = policy.asked().into_iter();
    asked
        .filter_map(|condition| match condition {
            Condition::OutputPattern(wanted) => Some((condition, wanted)),
            _ => None,
        })
        .filter_map(|(condition, wanted)| {
            let line = matching_line(wanted, message)?;
            Some(Matched {
                key: condition.key(),
                pattern: wanted.pattern.0.clone(),
                stream: "assistant".to_owned(),
                excerpt: excerpt(line.trim()).into_owned(),
            })
        })
        .collect()
}

/// The words of progress that the message holds.
pub fn markers(policy: &Policy, message: &str) -> Vec<Progress> {
    let progress = policy.settings.progress.as_ref();
    let words = progress.and_then(|progress| progress.markers.as_ref());
    let words = words.into_iter().flat_map(|words| &words.0);
    words
        .filter(|word| !word.0.is_empty() && message.contains(word.0.as_str()))
        .map(|word| Progress { kind: ProgressKind::Marker, note: Some(word.0.clone()) })
        .collect()
}

/// The line in which a pattern is found.
fn matching_line<'a>(wanted: &OutputPattern, message: &'a str) -> Option<&'a str> {
    let at = if wanted.is_regex {
        regex(&wanted.pattern.0)?.find(message)?.start()
    } else {
        message.find(&wanted.pattern.0)?
    };
    let start = message[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = message[at..].find('\n').map_or(message.len(), |end| at + end);
    Some(&message[start..end])
}

/// As the output of a supervised command is searched.
fn regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(LARGEST_REGEX).build().ok()
}

const LARGEST_REGEX: usize = 10 << 20;
