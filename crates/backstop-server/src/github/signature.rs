//! Proof that a delivery came from GitHub.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// What GitHub signs deliveries with. It is never shown.
#[derive(Clone)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// None for an empty one, which proves nothing.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    /// Whether `sha256=…` is the signature of this body. Takes as long for any wrong one.
    pub fn signed(&self, body: &[u8], signature: &[u8]) -> bool {
        let own = format!("sha256={}", self.keyed(body));
        own.as_bytes().ct_eq(signature).into()
    }

    /// HMAC-SHA256 as hexadecimal digits.
    pub(super) fn keyed(&self, text: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("keys may have any length");
        mac.update(text);
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in GitHub's own documentation.
    #[test]
    fn signatures_are_those_that_github_computes() {
        let secret = WebhookSecret::new("It's a Secret to Everybody").unwrap();
        assert!(secret.signed(b"Hello, World!", KNOWN.as_bytes()));
        assert!(!secret.signed(b"Hello, World?", KNOWN.as_bytes()));
        for place in 0..KNOWN.len() {
            let mut forged = KNOWN.as_bytes().to_vec();
            forged[place] ^= 1;
            assert!(!secret.signed(b"Hello, World!", &forged), "{place}");
            assert!(!secret.signed(b"Hello, World!", &KNOWN.as_bytes()[..place]), "{place}");
        }
        assert!(WebhookSecret::new("").is_none());
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
    }

    const KNOWN: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
}
