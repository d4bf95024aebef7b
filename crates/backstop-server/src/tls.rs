//! TLS, from a certificate and a key in files.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::options::TlsFiles;

/// Why there is no TLS to speak.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate `{path}` can't be read: {cause}")]
    Certificate { path: String, cause: String },
    #[error("the key `{path}` can't be read: {cause}")]
    Key { path: String, cause: String },
    #[error("the certificate `{certificate}` and the key `{key}` can't be used: {cause}")]
    Unusable { certificate: String, key: String, cause: String },
}

/// Reads the files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let shown = |path: &Path| path.display().to_string();
    let unreadable =
        |cause: String| TlsError::Certificate { path: shown(&files.certificate), cause };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .map_err(|error| unreadable(error.to_string()))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable("there is no certificate in it".to_owned()));
    }
    // The cause of a key that can't be read says nothing of what is in it.
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| TlsError::Key { path: shown(&files.key), cause: error.to_string() })?;
    let unusable = |error: rustls::Error| TlsError::Unusable {
        certificate: shown(&files.certificate),
        key: shown(&files.key),
        cause: error.to_string(),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
