//! TLS.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use crate::support::{Server, connect, request};
use backstop_server::{ServeError, ServeOptions, TlsFiles, serve};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

fn files(folder: &std::path::Path) -> (TlsFiles, rustls::pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert.der().clone())
}

#[test]
fn requests_are_answered_over_tls_and_only_so() {
    let folder = tempfile::tempdir().unwrap();
    let (files, certificate) = files(folder.path());
    let server = Server::with(|options| options.tls = Some(files), |store| store);
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, connect(server.address));
    stream.write_all(request("GET", "/healthz", &[], "").as_bytes()).unwrap();
    let answer = crate::support::read_answer(&mut stream).unwrap();
    assert_eq!(answer.status, 200);
    // Who does not speak it gets nothing.
    let mut plain = connect(server.address);
    plain.write_all(request("GET", "/healthz", &[], "").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _cut_off = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP"), "{bytes:?}");
}

#[test]
fn files_that_can_not_be_used_keep_it_from_starting() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = files(folder.path());
    let garbage = folder.path().join("garbage.pem");
    std::fs::write(&garbage, "nothing of the kind").unwrap();
    let missing = folder.path().join("missing.pem");
    for bad in [garbage, missing] {
        for tls in [
            TlsFiles { certificate: bad.clone(), ..good.clone() },
            TlsFiles { key: bad.clone(), ..good.clone() },
        ] {
            let address = "127.0.0.1:0".parse().unwrap();
            let options = ServeOptions { tls: Some(tls), ..ServeOptions::new(address) };
            let started =
                server.wait(serve(options, Arc::clone(&server.store), server.home.clone()));
            let error = started.unwrap_err();
            assert!(matches!(error, ServeError::Tls(_)), "{error}");
            assert!(error.to_string().contains(bad.to_str().unwrap()), "{error}");
        }
    }
}
