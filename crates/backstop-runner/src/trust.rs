//! Whom this machine trusts when it asks others over TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::CertificateError;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Whom this system trusts is trusted here; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, as
/// elsewhere. Where nothing is encrypted nobody need be trusted, and the system is not asked.
///
/// # Errors
/// Something is to be encrypted, and there are no root certificates, or not those that were named.
pub fn tls(is_encrypted: bool) -> Result<TlsConfig, NobodyTrusted> {
    let mut trusted = Vec::new();
    if is_encrypted {
        refuse_unreadable()?;
        let found = rustls_native_certs::load_native_certs().certs;
        trusted.extend(found.iter().map(|found| Certificate::from_der(found).to_owned()));
        if trusted.is_empty() {
            return Err(NobodyTrusted::AtAll);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// What was named and is not there would be passed over.
fn refuse_unreadable() -> Result<(), NobodyTrusted> {
    let named = |variable| std::env::var_os(variable).filter(|place| !place.is_empty());
    let refuse = |variable, place: &Path, error: std::io::Error| {
        let (place, why) = (place.display().to_string(), error.to_string());
        Err(NobodyTrusted::Named { variable, place, why })
    };
    if let Some(file) = named(FILE)
        && let Err(error) = std::fs::File::open(&file)
    {
        return refuse(FILE, Path::new(&file), error);
    }
    let directories = named(DIRECTORY).unwrap_or_default();
    for directory in std::env::split_paths(&directories).filter(|one| *one != Path::new("")) {
        if let Err(error) = std::fs::read_dir(&directory) {
            return refuse(DIRECTORY, &directory, error);
        }
    }
    Ok(())
}

/// Nobody can be told from an impostor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NobodyTrusted {
    #[error(
        "this system trusts nobody: there are no root certificates; install `ca-certificates`, or \
         name a file by SSL_CERT_FILE"
    )]
    AtAll,
    #[error("{variable} names `{place}`, which can't be read: {why}")]
    Named { variable: &'static str, place: String, why: String },
}

/// What helps against a certificate that was not believed; none if it is about something else.
pub fn advice(error: &ureq::Error) -> Option<&'static str> {
    let fault = match error {
        ureq::Error::Rustls(fault) => fault,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref::<rustls::Error>()?,
        _ => return None,
    };
    let rustls::Error::InvalidCertificate(why) = fault else { return None };
    Some(match why {
        // Another authority of the same name has signed otherwise.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "who issued its certificate is not trusted here; name the issuer's certificate (PEM) by \
             SSL_CERT_FILE, or a directory of such files by SSL_CERT_DIR"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for other names; call it by one of them"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired, or the clock of this machine is wrong"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet, or the clock of this machine is wrong"
        }
        // The library that looks at certificates has more reasons than the one around it.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is one for issuing others, which no server may show; make one with \
             `basicConstraints=CA:FALSE`"
        }
        _ => "its certificate can't be used; look at it with `openssl s_client`",
    })
}

const FILE: &str = "SSL_CERT_FILE";
const DIRECTORY: &str = "SSL_CERT_DIR";
