//! How this service asks other machines.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Nobody could be told from somebody else.
#[derive(Debug, thiserror::Error)]
#[error(
    "this system trusts nobody: there are no root certificates; install `ca-certificates`, or name \
     a file by SSL_CERT_FILE"
)]
pub struct TrustsNobody;

/// A client whose exchanges take no longer than this, from the look-up of the name to the last byte.
pub(crate) fn agent(is_encrypted: bool, exchange: Duration) -> Result<Agent, TrustsNobody> {
    let mut trusted = Vec::new();
    if is_encrypted {
        let found = rustls_native_certs::load_native_certs().certs;
        trusted.extend(found.iter().map(|found| Certificate::from_der(found).to_owned()));
        if trusted.is_empty() {
            return Err(TrustsNobody);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(provider)
        .build();
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // Where an answer leads elsewhere, a token must not follow.
        .max_redirects(0)
        .timeout_connect(Some(exchange / 2))
        .timeout_global(Some(exchange))
        .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    Ok(config.into())
}
