//! What a run must not write down: the values of variables that hold secrets, and what looks like
//! one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use backstop_core::event::{Event, EventKind, Note, Noted};
use backstop_core::policy::Policy;
use backstop_core::redact::{REDACTED, Redactor, is_secret_name};

/// What this process's variables and a policy say.
pub fn redactor(policy: &Policy) -> Redactor {
    let settings = policy.settings.secrets.as_ref();
    let names = settings.iter().flat_map(|set| &set.env).flat_map(|names| &names.0);
    let names: Vec<&str> = names.map(|name| name.0.as_str()).collect();
    let patterns = settings.iter().flat_map(|set| &set.patterns).flat_map(|list| &list.0);
    let patterns: Vec<&str> = patterns.map(|pattern| pattern.0.as_str()).collect();
    with(&names, &patterns)
}

/// What this process's variables say alone.
pub fn of_environment() -> Redactor {
    with(&[], &[])
}

fn with(names: &[&str], patterns: &[&str]) -> Redactor {
    let named = |name: &str| is_secret_name(name) || names.contains(&name);
    let values: Vec<String> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(named))
        .filter_map(|(_, value)| value.into_string().ok())
        .collect();
    Redactor::new(values.iter().map(String::as_str), patterns.iter().copied())
}

/// The words of a command, as they may be shown: also without what a flag or a variable that is
/// called like a secret is set to.
pub fn words(redactor: &Redactor, words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut is_told = false;
    let shown = |word: String| {
        if std::mem::take(&mut is_told) && !word.starts_with('-') {
            return REDACTED.to_owned();
        }
        let (name, value) = word.split_once('=').map_or((&*word, None), |(n, v)| (n, Some(v)));
        let called = name.trim_start_matches('-').replace('-', "_");
        match value {
            Some(_) if is_secret_name(&called) => format!("{name}={REDACTED}"),
            _ => {
                is_told = value.is_none() && word.starts_with('-') && is_secret_name(&called);
                redactor.text(&word).into_owned()
            }
        }
    };
    words.into_iter().map(shown).collect()
}

/// Labels, as they may be written down.
pub fn labels(redactor: &Redactor, labels: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let clean = |text: String| redactor.text(&text).into_owned();
    labels.into_iter().map(|(key, value)| (clean(key), clean(value))).collect()
}

/// An event without secrets, with its line for the journal.
pub fn clean(redactor: &Redactor, event: Event) -> (Event, String) {
    let body = event.to_json();
    let cleaned = match redactor.text(&body) {
        Cow::Borrowed(_) => return (event, body),
        Cow::Owned(cleaned) => cleaned,
    };
    // What is put in place of a secret is a text inside a text, so the line is still an event. If
    // ever it were not, that something happened is kept, and not what.
    let event = Event::from_json(cleaned.as_bytes()).unwrap_or_else(|_| {
        let detail =
            format!("a `{}` event was left out with the secret in it", event.kind.type_name());
        Event { kind: EventKind::Noted(Noted { what: Note::LeftOut, detail }), ..event }
    });
    let body = event.to_json();
    (event, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_no_secret_behind_what_is_escaped_in_it() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
        for before in ["push failed:\t", "line\n", "\r", "\u{8}", "\u{b}", "\x1b[1;31m", "\"", "\\"]
        {
            let told = serde_json::json!({
                "type": "error", "category": "recoverable", "message": format!("{before}{token}"),
            });
            let event = Event::from_json(told.to_string().as_bytes()).expect("an event");
            let (event, line) = clean(&Redactor::new([], []), event);
            let EventKind::ErrorSeen(error) = event.kind else { panic!("{line}") };
            assert_eq!(error.message, format!("{before}{REDACTED}"));
            assert!(!line.contains(token), "{line}");
        }
    }

    #[test]
    fn a_command_is_shown_without_what_its_flags_keep_secret() {
        let shown = |line: &str| {
            let redactor = Redactor::new(["canary-7f3d91aa"], []);
            words(&redactor, line.split(' ').map(str::to_owned)).join(" ")
        };
        for (line, expected) in [
            ("deploy --api-key abc now", "deploy --api-key [redacted] now"),
            ("deploy --deploy-token=abc now", "deploy --deploy-token=[redacted] now"),
            ("env DB_PASSWORD=abc=d ./x", "env DB_PASSWORD=[redacted] ./x"),
            ("deploy --password --force x", "deploy --password --force x"),
            ("claude --max-tokens 5 token", "claude --max-tokens 5 token"),
            ("echo canary-7f3d91aa", "echo [redacted]"),
        ] {
            assert_eq!(shown(line), expected);
        }
    }
}
