//! Whom this machine trusts when it asks others over TLS.

use std::sync::Arc;

use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Whom this system trusts is trusted here; `SSL_CERT_FILE` names others, as elsewhere. Where nothing
/// is encrypted nobody need be trusted, and the system is not asked.
///
/// # Errors
/// Something is to be encrypted, and there are no root certificates.
pub fn tls(is_encrypted: bool) -> Result<TlsConfig, NobodyTrusted> {
    let mut trusted = Vec::new();
    if is_encrypted {
        let found = rustls_native_certs::load_native_certs().certs;
        trusted.extend(found.iter().map(|found| Certificate::from_der(found).to_owned()));
        if trusted.is_empty() {
            return Err(NobodyTrusted);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// Nobody can be told from an impostor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this system trusts nobody: there are no root certificates; install `ca-certificates`, or name \
     a file by SSL_CERT_FILE"
)]
pub struct NobodyTrusted;
