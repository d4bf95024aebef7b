//! Who is told of what happens to a run, and how.

use std::fmt;

use serde_json::{Value as Json, json};

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::field::{Command, Count, Field, Findings, SetOf, Text, choices, record};

record! {
    /// Who is told.
    #[derive(Default)]
    pub struct NotifySettings {
        /// Of what; left out: halted, asked, held and warn.
        optional on: SetOf<Occasion>,
        /// A URL to post to.
        optional webhook: WebhookUrl,
        /// A command to run.
        optional command: Command,
        /// The environment variable with the secret that signs what is posted; left out: unsigned.
        optional secret_env: VariableName,
        /// Whether the webhook may be on this machine or in a private network; left out: no.
        optional allow_private: bool,
        /// How many go out in an hour, but for those that tell of a halt or a question; left out: 20.
        optional max_per_hour: Count,
        /// Whether a run in a GitHub Action annotates it and adds to its summary; left out: auto.
        optional github: GithubUse,
    }
}

impl NotifySettings {
    /// Whether people want to be told of this.
    pub fn tells(&self, occasion: Occasion) -> bool {
        self.on.as_ref().is_none_or(|on| on.0.contains(&occasion))
    }

    /// How many may go out in an hour.
    pub fn most_per_hour(&self) -> u64 {
        self.max_per_hour.map_or(20, |count| count.0)
    }
}

/// What people are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occasion {
    Halted,
    Asked,
    Held,
    Warn,
}

choices! {
    Occasion {
        "halted" => Halted,
        "asked" => Asked,
        "held" => Held,
        "warn" => Warn,
    }
}

impl Occasion {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Halted => "halted",
            Self::Asked => "asked",
            Self::Held => "held",
            Self::Warn => "warn",
        }
    }
}

/// Whether a GitHub Action shows how a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GithubUse {
    /// When the environment says that this is one.
    #[default]
    Auto,
    On,
    Off,
}

choices! {
    GithubUse {
        "auto" => Auto,
        "on" => On,
        "off" => Off,
    }
}

/// A URL that messages are posted to. Its path may be a secret, so it is shown only as far as its
/// host.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl {
    whole: String,
    /// Where the path begins.
    path: usize,
}

impl WebhookUrl {
    /// # Errors
    /// Why nothing can be posted to it.
    pub fn parse(text: &str) -> Result<Self, Unpostable> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)) {
            return Err(Unpostable::Characters);
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(Unpostable::Scheme);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        if authority.contains('@') {
            return Err(Unpostable::Credentials);
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|inner| inner.split_once(']'))
        {
            Some((address, port)) if address.parse::<core::net::Ipv6Addr>().is_ok() => {
                (address, port)
            }
            Some(_) => return Err(Unpostable::Host),
            None => match authority.find(':') {
                Some(colon) => authority.split_at(colon),
                None => (authority, ""),
            },
        };
        if host.is_empty() || host.contains(['[', ']']) {
            return Err(Unpostable::Host);
        }
        let port = port.strip_prefix(':').unwrap_or(if port.is_empty() { "80" } else { "none" });
        if !port.bytes().all(|byte| byte.is_ascii_digit())
            || port.parse::<u16>().is_ok_and(|port| port == 0)
            || port.parse::<u16>().is_err()
        {
            return Err(Unpostable::Port);
        }
        Ok(Self { whole: text.to_owned(), path: text.len() - rest.len() + end })
    }

    /// All of it: for nobody but the one who posts to it.
    pub fn reveal(&self) -> &str {
        &self.whole
    }

    pub fn is_encrypted(&self) -> bool {
        self.whole.as_bytes().get(4).is_some_and(|byte| byte.eq_ignore_ascii_case(&b's'))
    }
}

/// As people see it: `https://example.org/…`.
impl fmt::Display for WebhookUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, path) = self.whole.split_at(self.path);
        let rest = if path.is_empty() || path == "/" { path } else { "/…" };
        write!(formatter, "{shown}{rest}")
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WebhookUrl({self})")
    }
}

/// Why nothing can be posted to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpostable {
    Characters,
    Scheme,
    Credentials,
    Host,
    Port,
}

impl Unpostable {
    /// What is wrong, and what to do.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Characters => (
                "is not a URL: it has a blank or another character that must be escaped",
                "write such characters as %20",
            ),
            Self::Scheme => {
                ("must begin with `https://` or `http://`", "such as \"https://example.org/hook\"")
            }
            Self::Credentials => {
                ("has a name or a password in it", "sign what is posted instead, by `secret_env`")
            }
            Self::Host => ("has no host", "such as \"https://example.org/hook\""),
            Self::Port => ("has a port that is none", "a port is between 1 and 65535"),
        }
    }
}

impl Field for WebhookUrl {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::read(node, key, findings)?;
        let refuse = |problem: Unpostable| {
            let (what, advice) = problem.words();
            let error = Diagnostic::error(format!("`{key}` {what}"), node.span.clone());
            findings.push(error.label(advice).concealed());
        };
        Self::parse(&text).map_err(refuse).ok()
    }

    fn write(&self) -> Json {
        self.whole.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+([/?#]\\S*)?$" })
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableName(pub String);

impl Field for VariableName {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::read(node, key, findings)?;
        let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !text.as_bytes()[0].is_ascii_digit();
        if is_name {
            return Some(Self(text));
        }
        // It may be what should have stood in the variable.
        let message = format!("`{key}` must be the name of an environment variable");
        let error = Diagnostic::error(message, node.span.clone());
        findings.push(error.label("such as \"BACKSTOP_WEBHOOK_SECRET\"").concealed());
        None
    }

    fn write(&self) -> Json {
        self.0.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://example.org", "https://example.org")]
    #[case("https://example.org/", "https://example.org/")]
    #[case("https://hooks.example.org/services/T0/B0/secret", "https://hooks.example.org/…")]
    #[case("HTTP://example.org:8080/a?token=secret", "HTTP://example.org:8080/…")]
    #[case("http://example.org?token=secret", "http://example.org/…")]
    #[case("http://[::1]:99/secret", "http://[::1]:99/…")]
    #[case("http://127.0.0.1/secret@example.org", "http://127.0.0.1/…")]
    fn a_url_is_shown_up_to_its_host(#[case] text: &str, #[case] shown: &str) {
        let url = WebhookUrl::parse(text).unwrap();
        assert_eq!(url.to_string(), shown);
        assert_eq!(format!("{url:?}"), format!("WebhookUrl({shown})"));
        assert_eq!(url.reveal(), text);
        assert_eq!(url.is_encrypted(), text.starts_with("https"));
    }

    #[rstest]
    #[case("ftp://example.org/", Unpostable::Scheme)]
    #[case("file:///etc/passwd", Unpostable::Scheme)]
    #[case("example.org/hook", Unpostable::Scheme)]
    #[case("//example.org/hook", Unpostable::Scheme)]
    #[case("https:/example.org", Unpostable::Scheme)]
    #[case("https://", Unpostable::Host)]
    #[case("https:///hook", Unpostable::Host)]
    #[case("https://?hook", Unpostable::Host)]
    #[case("https://:443/hook", Unpostable::Host)]
    #[case("https://[::1/hook", Unpostable::Host)]
    #[case("https://[]/hook", Unpostable::Host)]
    #[case("https://[fe80::1%25eth0]/", Unpostable::Host)]
    #[case("https://example.org:/hook", Unpostable::Port)]
    #[case("https://example.org:0/", Unpostable::Port)]
    #[case("https://example.org:65536/", Unpostable::Port)]
    #[case("https://example.org:+80/", Unpostable::Port)]
    #[case("https://[::1]80/", Unpostable::Port)]
    #[case("https://name:word@example.org/", Unpostable::Credentials)]
    #[case("https://name@example.org/", Unpostable::Credentials)]
    #[case("https://exa mple.org/", Unpostable::Characters)]
    #[case("https://example.org/a\nb", Unpostable::Characters)]
    #[case("https://example.org\\@evil/", Unpostable::Characters)]
    #[case("https://exämple.org/", Unpostable::Characters)]
    #[case("https://hooks.example.org/…", Unpostable::Characters)]
    fn what_nothing_can_be_posted_to_is_refused(#[case] text: &str, #[case] why: Unpostable) {
        assert_eq!(WebhookUrl::parse(text), Err(why));
    }
}
