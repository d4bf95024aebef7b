//! A server with a certificate of somebody whom only those trust who are told to.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::elsewhere::Elsewhere;
use crate::support::looping::Loop;

/// Writes the certificate of an issuer, and one of the server's with its key; answers with flags.
fn certificates(test: &Loop, names: &[&str]) -> [String; 4] {
    let key = KeyPair::generate().expect("a key");
    let mut issuer = CertificateParams::new(Vec::new()).expect("no names");
    issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let place = test.work().display().to_string();
    issuer.distinguished_name.push(DnType::CommonName, place);
    let issuer = CertifiedIssuer::self_signed(issuer, key).expect("an issuer");
    let own = KeyPair::generate().expect("a key");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let server = CertificateParams::new(names).expect("names");
    let server = server.signed_by(&own, &issuer).expect("a certificate");
    let write = |name: &str, text: String| {
        let path = test.work().join(name);
        fs::write(&path, text).expect("it can be written");
        path.display().to_string()
    };
    write("issuer.pem", issuer.pem());
    let certificate = write("cert.pem", server.pem());
    let key = write("key.pem", own.serialize_pem());
    ["--tls-cert".to_owned(), certificate, "--tls-key".to_owned(), key]
}

#[test]
fn an_issuer_of_one_s_own_is_named_by_a_variable() {
    let there = Loop::new();
    let flags = certificates(&there, &["localhost"]);
    let test = Elsewhere::serving(there, &flags);
    let issuer = test.there.work().join("issuer.pem").display().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(&issuer, folder.path().join("issuer.pem")).expect("a copy");
    let folder = folder.path().display().to_string();
    let url = test.url.replace("127.0.0.1", "localhost");
    let ask = |url: &str, variable: &str, place: &str| {
        let mut command = test.here.command(["--server", url, "ls"]);
        test.here.launch(command.env(variable, place)).ends()
    };
    ask(&url, "SSL_CERT_FILE", &issuer).exits(0);
    ask(&url, "SSL_CERT_DIR", &folder).exits(0);
    // Somebody else who issues certificates.
    certificates(&test.here, &["localhost"]);
    let other = test.here.work().join("issuer.pem").display().to_string();
    ask(&url, "SSL_CERT_FILE", &other).refused(74, &["UnknownIssuer", "SSL_CERT_FILE", "issuer"]);
    ask(&url, "SSL_CERT_FILE", "./nowhere.pem")
        .refused(74, &["SSL_CERT_FILE names `./nowhere.pem`", "can't be read"]);
    ask(&url, "SSL_CERT_DIR", "./nowhere").refused(74, &["SSL_CERT_DIR names `./nowhere`"]);
    ask(&test.url, "SSL_CERT_FILE", &issuer).refused(74, &["for other names"]);
}

#[test]
fn a_certificate_that_issues_others_is_no_server_s() {
    let there = Loop::new();
    let mut made = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = made.self_signed(&key).expect("a certificate");
    let place = |name: &str| there.work().join(name).display().to_string();
    fs::write(place("cert.pem"), certificate.pem()).expect("it can be written");
    fs::write(place("key.pem"), key.serialize_pem()).expect("it can be written");
    let trusted = place("cert.pem");
    let flags =
        ["--tls-cert".to_owned(), trusted.clone(), "--tls-key".to_owned(), place("key.pem")];
    let test = Elsewhere::serving(there, &flags);
    let url = test.url.replace("127.0.0.1", "localhost");
    let mut command = test.here.command(["--server", &url, "ls"]);
    let asked = test.here.launch(command.env("SSL_CERT_FILE", &trusted)).ends();
    asked.refused(74, &["CA:FALSE"]);
}
