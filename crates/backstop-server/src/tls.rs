//! TLS, from a certificate and a key in files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::options::TlsFiles;

/// Why there is no TLS to speak.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the {what} `{path}` can't be read: {cause}")]
    Unreadable { what: &'static str, path: String, cause: io::Error },
    /// The file is there, with something else in it.
    #[error("there is no {what} in `{path}`: {cause}")]
    Absent { what: &'static str, path: String, cause: String },
    #[error("the certificate `{certificate}` and the key `{key}` can't be used: {cause}")]
    Unusable { certificate: String, key: String, cause: String },
}

impl TlsError {
    fn of_file(what: &'static str, path: &Path, error: pem::Error) -> Self {
        let path = shown(path);
        match error {
            pem::Error::Io(cause) => Self::Unreadable { what, path, cause },
            // It says nothing of what is in a key.
            other => Self::Absent { what, path, cause: other.to_string() },
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Reads the files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let no_certificate = |error| TlsError::of_file("certificate", &files.certificate, error);
    let chain = CertificateDer::pem_file_iter(&files.certificate).map_err(no_certificate)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(no_certificate)?;
    if chain.is_empty() {
        return Err(no_certificate(pem::Error::NoItemsFound));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| TlsError::of_file("key", &files.key, error))?;
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
