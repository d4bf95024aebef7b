//! Who may ask the server for what: tokens, of which only hashes are kept.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use backstop_core::time::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::audit::Hash;

/// What a token lets its bearer do. Each stands for itself, but `admin` includes them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// See everything.
    Read,
    /// Begin runs, add events to them and ask for decisions.
    Report,
    /// Stop, release and answer runs; run jobs again.
    Operate,
    /// Put policies in force and manage tokens.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Read, Self::Report, Self::Operate, Self::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Report => "report",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no scope; there are read, report, operate, admin"))
    }
}

/// A token as it is remembered. The token itself is seen once, when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenRecord {
    /// Short, and no secret: what it is called when it is listed and revoked.
    pub id: String,
    pub name: String,
    #[serde(skip)]
    pub hash: Hash,
    pub scopes: BTreeSet<Scope>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl TokenRecord {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A token while it is made or shown: the one place where it is whole.
pub struct Secret(String);

impl Secret {
    /// From 256 bits of chance.
    pub fn new(chance: &[u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", Hash(*chance)))
    }

    /// What a bearer sent.
    pub fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// What is kept of it, and looked for. Nobody guesses 256 bits, so a plain hash will do: it
    /// need not be slow.
    pub fn hash(&self) -> Hash {
        Hash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// A name for it that gives nothing away: the beginning of its hash.
    pub fn id(&self) -> String {
        self.hash().to_string()[..ID_LENGTH].to_owned()
    }

    /// The token itself, to be printed once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }
}

/// So that tools which look for leaked secrets know one of ours.
const PREFIX: &str = "bks_";
const ID_LENGTH: usize = 8;
