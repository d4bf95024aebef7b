//! What a run must not write down: the values of variables that hold secrets, and what looks like
//! one.

use backstop_core::event::{Event, EventKind, Note, Noted};
use backstop_core::policy::Policy;
use backstop_core::redact::{Redactor, is_secret_name};

/// What this process's variables and a policy say.
pub fn redactor(policy: &Policy) -> Redactor {
    let settings = policy.settings.secrets.as_ref();
    let named = |name: &str| {
        let mut names = settings.iter().flat_map(|set| &set.env).flat_map(|names| &names.0);
        is_secret_name(name) || names.any(|known| known.0 == name)
    };
    let values: Vec<String> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(named))
        .filter_map(|(_, value)| value.into_string().ok())
        .collect();
    let patterns = settings.iter().flat_map(|set| &set.patterns).flat_map(|list| &list.0);
    Redactor::new(values.iter().map(String::as_str), patterns.map(|pattern| pattern.0.as_str()))
}

/// An event without secrets, with its line for the journal.
pub fn clean(redactor: &Redactor, event: Event) -> (Event, String) {
    let body = event.to_json();
    let cleaned = match redactor.text(&body) {
        std::borrow::Cow::Borrowed(_) => return (event, body),
        std::borrow::Cow::Owned(cleaned) => cleaned,
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
