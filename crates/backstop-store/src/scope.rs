//! Where a policy is in force.

use std::fmt;
use std::str::FromStr;

use backstop_core::time::Timestamp;
use serde::Serialize;

/// What a policy is in force for. The narrowest wins: a repository before a label before all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyScope {
    Global,
    /// `key=value`.
    Label(String, String),
    /// `owner/name`.
    Repository(String, String),
}

impl fmt::Display for PolicyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Repository(owner, name) => write!(f, "repo:{owner}/{name}"),
            Self::Label(key, value) => write!(f, "label:{key}={value}"),
        }
    }
}

impl PolicyScope {
    /// A scope as it is remembered: what was taken once is read, also where it would be refused now.
    pub(crate) fn remembered(text: &str) -> Option<Self> {
        if text == "global" {
            return Some(Self::Global);
        }
        if let Some((owner, name)) =
            text.strip_prefix("repo:").and_then(|rest| rest.split_once('/'))
        {
            // Names of repositories are the same in any case.
            return Some(Self::Repository(owner.to_lowercase(), name.to_lowercase()));
        }
        let (key, value) = text.strip_prefix("label:")?.split_once('=')?;
        (!key.is_empty()).then(|| Self::Label(key.to_owned(), value.to_owned()))
    }
}

impl FromStr for PolicyScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::remembered(text) {
            Some(Self::Repository(owner, name))
                if !is_repository_name(&owner) || !is_repository_name(&name) =>
            {
                Err(format!("`{text}` is no scope: there is no such repository on GitHub"))
            }
            Some(scope) => Ok(scope),
            None => Err(format!(
                "`{text}` is no scope: write `global`, `repo:OWNER/NAME` or `label:KEY=VALUE`"
            )),
        }
    }
}

/// Whether an owner or a repository can be called so, which also keeps the name harmless in
/// addresses.
pub fn is_repository_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !matches!(text, "." | "..")
}

const LONGEST_NAME: usize = 100;

impl Serialize for PolicyScope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A policy was put in force somewhere, or the one there was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Activation {
    pub scope: PolicyScope,
    /// None: since then the next wider scope counts.
    pub policy_hash: Option<String>,
    pub by: String,
    pub at: Timestamp,
}

/// One that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastActivation {
    /// The later, the larger.
    pub number: u64,
    pub activation: Activation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_of_something_that_can_be() {
        for (text, scope) in [
            ("global", PolicyScope::Global),
            ("repo:Acme/App.js", PolicyScope::Repository("acme".to_owned(), "app.js".to_owned())),
            ("label:team=a=b", PolicyScope::Label("team".to_owned(), "a=b".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(scope));
        }
        let long = format!("repo:acme/{}", "x".repeat(101));
        for text in [
            "",
            "Global",
            "repo:acme",
            "repo:acme/",
            "repo:/app",
            "repo:acme/app/more",
            "repo:a b/app",
            "repo:acme/..",
            "repo:acme/äpp",
            "repo:acme/app?x",
            &long,
            "label:team",
            "label:=blue",
        ] {
            let refused = text.parse::<PolicyScope>().unwrap_err();
            assert!(refused.contains("is no scope"), "{refused}");
        }
    }

    #[test]
    fn what_was_taken_once_is_still_read() {
        let scope = PolicyScope::Repository("a b".to_owned(), "app".to_owned());
        assert_eq!(PolicyScope::remembered(&scope.to_string()), Some(scope));
    }
}
