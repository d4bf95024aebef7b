//! Asks a server: within a time, for a bounded answer, and with the token for nobody else.

use std::fmt;
use std::io::Read as _;
use std::time::Duration;

use backstop_core::time::in_words;
use backstop_runner::trust;
use backstop_store::access::Scope;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::{Agent, Body};

use super::address::Address;
use super::refusal;
use crate::env_vars::TOKEN;
use crate::error::Error;

/// A server elsewhere.
pub struct Server {
    address: Address,
    token: Option<String>,
    agent: Agent,
}

impl Server {
    /// # Errors
    /// The address can't be used, the token may not travel there, or nobody can be trusted.
    pub fn new(url: &str) -> Result<Self, Error> {
        let address = Address::new(url)?;
        let token = token()?;
        if token.is_some() {
            address.check_token()?;
        }
        let nobody = |error: trust::NobodyTrusted| Error::Unreachable(error.to_string());
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // Where an answer leads elsewhere, the token must not follow.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(EXCHANGE))
            .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")))
            .tls_config(trust::tls(address.is_encrypted).map_err(nobody)?);
        if !address.is_encrypted {
            // A proxy would read what nothing hides.
            config = config.proxy(None);
        }
        Ok(Self { address, token, agent: config.build().into() })
    }

    pub fn get(&self, path: &str, query: &[(&str, String)], needs: Scope) -> Result<Reply, Error> {
        let ask = || {
            let mut request = self.agent.get(self.address.with(path));
            for (name, value) in query {
                request = request.query(name, value);
            }
            if let Some(value) = self.authorization() {
                request = request.header("Authorization", value);
            }
            request.header("Accept", ACCEPTED).call()
        };
        self.take(self.again_if_lost(ask), needs)
    }

    pub fn post(&self, path: &str, body: &Json, needs: Scope) -> Result<Reply, Error> {
        self.take(self.send(path, &body.to_string(), &[]), needs)
    }

    /// The same for what may be said twice: it carries a key by which the server knows it again.
    pub fn post_once(
        &self,
        path: &str,
        body: &str,
        key: &str,
        needs: Scope,
    ) -> Result<Reply, Error> {
        let headers = [("Idempotency-Key", key.to_owned())];
        self.take(self.again_if_lost(|| self.send(path, body, &headers)), needs)
    }

    /// The same for a question that changes nothing.
    pub fn ask(
        &self,
        path: &str,
        body: &Json,
        headers: &[(&str, String)],
        needs: Scope,
    ) -> Result<Reply, Error> {
        let body = body.to_string();
        self.take(self.again_if_lost(|| self.send(path, &body, headers)), needs)
    }

    fn send(
        &self,
        path: &str,
        body: &str,
        headers: &[(&str, String)],
    ) -> Result<Response<Body>, ureq::Error> {
        let mut request = self.agent.post(self.address.with(path));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        request.header("Accept", ACCEPTED).header("Content-Type", "application/json").send(body)
    }

    fn authorization(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("Bearer {token}"))
    }

    /// A connection may be cut while nobody is at fault, as when the server is started anew.
    fn again_if_lost<T>(&self, ask: impl Fn() -> Result<T, ureq::Error>) -> Result<T, ureq::Error> {
        match ask() {
            Err(error) if is_lost(&error) => ask(),
            answered => answered,
        }
    }

    fn take(
        &self,
        asked: Result<Response<Body>, ureq::Error>,
        needs: Scope,
    ) -> Result<Reply, Error> {
        let mut response = asked.map_err(|error| self.not_asked(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(LARGEST + 1).read_to_end(&mut body);
        read.map_err(|error| self.unreachable(&format!("its answer broke off: {error}")))?;
        if body.len() as u64 > LARGEST {
            let most = LARGEST >> 20;
            return Err(self.unreachable(&format!("its answer is larger than {most} MiB")));
        }
        if !status.is_success() {
            return Err(self.refused(status, &body, needs));
        }
        Ok(Reply { address: self.address.clone(), headers, body })
    }

    fn refused(&self, status: StatusCode, body: &[u8], needs: Scope) -> Error {
        let has_token = self.token.is_some();
        refusal::read(status, body).map_or_else(
            || self.stranger(status),
            |refusal| refusal.error(&self.address, needs, has_token),
        )
    }

    fn stranger(&self, status: StatusCode) -> Error {
        let why = match status.is_redirection() {
            true => "which leads elsewhere; name the address that it leads to".to_owned(),
            false => "which is no answer of `backstop serve`".to_owned(),
        };
        self.unreachable(&format!("it answered {}, {why}", status.as_u16()))
    }

    fn not_asked(&self, error: &ureq::Error) -> Error {
        match trust::advice(error) {
            Some(advice) => self.hinting(&told(error), advice),
            None => self.unreachable(&told(error)),
        }
    }

    /// It can't be told what is there, or what it thinks.
    pub fn unreachable(&self, why: &str) -> Error {
        let hint = "is `backstop serve` running there, is the address right, and does a firewall \
             or proxy let you through?";
        self.hinting(why, hint)
    }

    fn hinting(&self, why: &str, hint: &str) -> Error {
        let why = crate::sanitise::harmless(why);
        Error::Unreachable(format!("{} can't be asked: {why}\n\nhint: {hint}", self.address))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Reply {
    address: Address,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    /// The answer as what it should be.
    ///
    /// # Errors
    /// It is something else: nobody knows what answers there.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Error::Unreachable(format!(
                "what {} answered can't be understood: {}\n\n\
                 hint: is it `backstop serve`, and of the same version as this?",
                self.address,
                crate::sanitise::harmless(&error.to_string())
            ))
        })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The token, which stands in the environment only: a flag could be seen by everybody on the machine.
fn token() -> Result<Option<String>, Error> {
    let Some(value) = std::env::var_os(TOKEN).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.to_str().map(str::trim);
    match text.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(Error::Usage(format!(
            "{TOKEN} holds no token: it has characters in it that a token can't have"
        ))),
    }
}

/// Whether the connection was there and went away.
fn is_lost(error: &ureq::Error) -> bool {
    use std::io::ErrorKind;
    match error {
        ureq::Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::NotConnected
        ),
        ureq::Error::Protocol(_) => true,
        _ => false,
    }
}

fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no answer within {}", in_words(EXCHANGE)),
        ureq::Error::HostNotFound => "the host was not found".to_owned(),
        ureq::Error::Io(error) => format!("the connection failed: {error}"),
        ureq::Error::Rustls(error) => format!("TLS failed: {error}"),
        ureq::Error::Tls(what) => format!("TLS failed: {what}"),
        ureq::Error::Protocol(_) => "its answer was not HTTP, or broke off".to_owned(),
        other => other.to_string(),
    }
}

const ACCEPTED: &str = "application/json, application/problem+json";
const CONNECT: Duration = Duration::from_secs(10);
/// Longer than a server takes at most, so that it can say itself what took so long.
const EXCHANGE: Duration = Duration::from_secs(60);
const LARGEST: u64 = 32 << 20;
