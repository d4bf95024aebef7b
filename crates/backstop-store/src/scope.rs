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

impl FromStr for PolicyScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "global" {
            return Ok(Self::Global);
        }
        let repository = text.strip_prefix("repo:").and_then(|rest| rest.split_once('/'));
        if let Some((owner, name)) = repository
            && !owner.is_empty()
            && !name.is_empty()
            && !name.contains('/')
        {
            // Names of repositories are the same in any case.
            return Ok(Self::Repository(owner.to_lowercase(), name.to_lowercase()));
        }
        let label = text.strip_prefix("label:").and_then(|rest| rest.split_once('='));
        if let Some((key, value)) = label
            && !key.is_empty()
        {
            return Ok(Self::Label(key.to_owned(), value.to_owned()));
        }
        Err(format!("`{text}` is no scope: write `global`, `repo:OWNER/NAME` or `label:KEY=VALUE`"))
    }
}

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
