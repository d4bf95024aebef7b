//! Proof that a message came from here, for those who know the secret.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What messages are signed with. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// None for an empty one, which proves nothing.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    /// The signature of a body that is sent at a time, in seconds since 1970: HMAC-SHA256 over
    /// both, with a full stop between them. So an old message can't be sent again as a new one.
    pub fn sign(&self, timestamp: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("keys may have any length");
        mac.update(timestamp.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let digest = mac.finalize().into_bytes();
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={hex}")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf '1700000000.{"event":"test"}' | openssl dgst -sha256 -hmac 'It is a secret'`
    #[test]
    fn signatures_are_those_that_others_compute() {
        let secret = Secret::new("It is a secret").unwrap();
        assert_eq!(secret.sign(1_700_000_000, br#"{"event":"test"}"#), KNOWN);
        assert_ne!(secret.sign(1_700_000_001, br#"{"event":"test"}"#), KNOWN);
        assert_ne!(secret.sign(1_700_000_000, br#"{"event":"tesu"}"#), KNOWN);
    }

    #[test]
    fn a_secret_is_not_shown_and_not_empty() {
        assert_eq!(format!("{:?}", Secret::new("word").unwrap()), "Secret");
        assert_eq!(Secret::new(""), None);
    }

    const KNOWN: &str = "sha256=a60359f711d195f19806a6f1eb6fb4a56cdac185cac7f4ae35dd8b4db887e5e9";
}
