//! The address of a server, and whether a token may travel there.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;
use ureq::http::uri::Scheme;

use crate::env_vars::TOKEN;
use crate::error::Error;
use crate::sanitise::harmless;

/// Where a server is: `https://backstop.example.org`, with a path before the API's own where a proxy
/// puts one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Without a slash at its end.
    base: String,
    pub is_encrypted: bool,
    is_loopback: bool,
}

impl Address {
    /// # Errors
    /// The text is no address of a server, or has more in it than that.
    pub fn new(text: &str) -> Result<Self, Error> {
        let refused = |why: &str| {
            Error::Usage(format!(
                "`{}` is no address of a server: {why}\n\n\
                 hint: write it like `https://backstop.example.org` or `http://127.0.0.1:7878`",
                harmless(&without_password(text))
            ))
        };
        let uri: Uri = text.trim().parse().map_err(|_| refused("it can't be read"))?;
        let is_encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(refused("it must begin with `https://` or `http://`")),
        };
        let authority = uri.authority().map(ureq::http::uri::Authority::as_str);
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refused("the host is missing"))?;
        if authority.is_some_and(|authority| authority.contains('@')) {
            return Err(refused(&format!("a password has no place in it; {TOKEN} holds a token")));
        }
        if uri.query().is_some() {
            return Err(refused("nothing can stand after a question mark"));
        }
        Ok(Self {
            base: uri.to_string().trim_end_matches('/').to_owned(),
            is_encrypted,
            is_loopback: is_loopback(host),
        })
    }

    /// Refuses to send a token where everybody on the way could read it.
    ///
    /// # Errors
    /// Nothing is encrypted, and it is not only this machine that hears it.
    pub fn check_token(&self) -> Result<(), Error> {
        if self.is_encrypted || self.is_loopback {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{self} is not encrypted: the token of {TOKEN} would travel in the open\n\n\
             hint: use https (`backstop serve --tls-cert … --tls-key …`), or a tunnel to 127.0.0.1"
        )))
    }

    pub fn with(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&harmless(&self.base))
    }
}

/// A part of a path, so that nothing in it is taken for more than a name.
pub fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            // A dot too: `..` would lead elsewhere.
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || bare.eq_ignore_ascii_case("localhost")
}

/// The text as it may be shown: who wrote a password into it need not find it in a log.
fn without_password(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_only_where_nobody_else_can_read_it() {
        for (text, may_travel) in [
            ("https://backstop.example.org", true),
            ("https://10.0.0.1:8443/backstop/", true),
            ("http://127.0.0.1:7878", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:7878", true),
            ("http://LOCALHOST:1", true),
            ("http://10.0.0.1:7878", false),
            ("http://localhost.example.org", false),
            ("http://127.0.0.1.example.org", false),
            ("http://[::ffff:10.0.0.1]", false),
        ] {
            let address = Address::new(text).expect(text);
            assert_eq!(address.check_token().is_ok(), may_travel, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "backstop.example.org",
            "ftp://example.org",
            "https://",
            "https://ann:secret@example.org",
            "https://example.org/?a=b",
            "https://exa mple.org",
            "-",
        ] {
            let error = Address::new(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("write it like"), "{error}");
        }
    }

    #[test]
    fn a_path_before_the_own_one_stays() {
        let address = Address::new("https://example.org/tools/").expect("an address");
        assert_eq!(address.with("/v1/runs"), "https://example.org/tools/v1/runs");
        assert_eq!(segment("../a b?"), "%2E%2E%2Fa%20b%3F");
    }
}
