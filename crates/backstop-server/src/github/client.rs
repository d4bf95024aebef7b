//! Speaks to GitHub's REST API: within its limits, and with the token for nobody else.

use std::fmt;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use backstop_core::time::in_words;
use backstop_runner::clock::wall_time;
use backstop_runner::trust::NobodyTrusted;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::outgoing::agent;

/// Asks GitHub. Waits, so it is used on threads where that does no harm.
pub struct Client {
    /// Without a slash at its end.
    base: String,
    token: String,
    agent: Agent,
    pace: Pace,
    /// Until when GitHub wants to hear nothing.
    silent_until: Mutex<Option<Instant>>,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// From the look-up of the name to the last byte of an answer.
    pub exchange: Duration,
    /// The longest that is waited because of a limit; beyond that a call is given up.
    pub longest_wait: Duration,
    /// The wait after a limit that says nothing of its end; it doubles each time.
    pub plain_wait: Duration,
    /// The wait before a question is asked again that got no answer.
    pub retry_wait: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            exchange: Duration::from_secs(20),
            longest_wait: Duration::from_secs(120),
            plain_wait: Duration::from_secs(60),
            retry_wait: Duration::from_secs(1),
        }
    }
}

/// Why GitHub did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{0}` is no address of GitHub's API; write it like https://api.github.com")]
    Address(String),
    #[error("the token for GitHub is empty or has characters that a header can't have")]
    Token,
    #[error(transparent)]
    Trust(#[from] NobodyTrusted),
    #[error("GitHub's rate limit is used up for {}; `{what}` was not done", in_words(*.wait))]
    Limited { what: String, wait: Duration },
    #[error("GitHub answered {status} to `{what}`: {message}")]
    Refused { what: String, status: u16, message: String },
    #[error("GitHub can't be asked `{what}`: {why}")]
    Unreachable { what: String, why: String },
    #[error("GitHub's answer to `{what}` can't be read: {why}")]
    Unreadable { what: String, why: String },
}

impl ClientError {
    /// Whether GitHub said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether GitHub wants to hear less, as its words say where no header does: "You have exceeded a
    /// secondary rate limit" and "You have triggered an abuse detection mechanism".
    fn is_of_limit(&self) -> bool {
        let Self::Refused { status: 403, message, .. } = self else { return false };
        let message = message.to_lowercase();
        ["rate limit", "abuse detection"].iter().any(|words| message.contains(words))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Patch,
}

impl Client {
    /// A client for the API at this address: `https://api.github.com`, or that of a server of one's
    /// own.
    ///
    /// # Errors
    /// An address or a token that can't be one, or a system that trusts no certificate.
    pub fn new(base: &str, token: &str) -> Result<Self, ClientError> {
        let rest = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://"));
        let is_address = rest.is_some_and(|rest| {
            !rest.is_empty()
                && rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#@\\".contains(&byte))
        });
        if !is_address {
            return Err(ClientError::Address(base.to_owned()));
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ClientError::Token);
        }
        let pace = Pace::default();
        Ok(Self {
            agent: agent(base.starts_with("https"), pace.exchange)?,
            base: base.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            pace,
            silent_until: Mutex::default(),
        })
    }

    /// # Errors
    /// A system that trusts no certificate.
    pub fn with_pace(self, pace: Pace) -> Result<Self, ClientError> {
        let agent = agent(self.base.starts_with("https"), pace.exchange)?;
        Ok(Self { agent, pace, ..self })
    }

    /// Asks for something in JSON.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let what = format!("GET {}{path}", self.base);
        let mut response = self.exchange(Method::Get, path, None)?;
        let body = read_all(&mut response, LARGEST_ANSWER)
            .map_err(|why| ClientError::Unreadable { what: what.clone(), why })?;
        serde_json::from_slice(&body)
            .map_err(|error| ClientError::Unreadable { what, why: error.to_string() })
    }

    /// Has something done.
    pub(super) fn order(&self, method: Method, path: &str, body: &Json) -> Result<(), ClientError> {
        self.exchange(method, path, Some(body)).map(drop)
    }

    /// The last bytes of a text that GitHub keeps elsewhere. The token is not sent there.
    pub(super) fn tail(&self, path: &str, most: usize) -> Result<String, ClientError> {
        let what = format!("GET {}{path}", self.base);
        let unreadable = |why: String| ClientError::Unreadable { what: what.clone(), why };
        let mut response = self.exchange(Method::Get, path, None)?;
        if response.status().is_redirection() {
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            let location = location.ok_or_else(|| unreadable("it leads nowhere".to_owned()))?;
            let is_encrypted = location.starts_with("https://");
            if !is_encrypted && (self.base.starts_with("https") || !location.starts_with("http://"))
            {
                return Err(unreadable("it leads to where nothing is encrypted".to_owned()));
            }
            response = self.agent.get(location).call().map_err(|error| {
                ClientError::Unreachable { what: what.clone(), why: told(&error) }
            })?;
            if !response.status().is_success() {
                let status = response.status().as_u16();
                let message = "where it leads to".to_owned();
                return Err(ClientError::Refused { what, status, message });
            }
        }
        let tail = read_tail(&mut response, most).map_err(unreadable)?;
        Ok(String::from_utf8_lossy(&tail).into_owned())
    }

    /// One exchange, with the waits that GitHub's limits ask for. What only asks is asked again
    /// when no answer comes; what orders is not, as it may have been done.
    fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<Response<Body>, ClientError> {
        let what = format!("{} {}{path}", method.name(), self.base);
        let mut attempt = 0;
        loop {
            attempt += 1;
            self.wait_for_silence(&what)?;
            let response = match self.send(method, path, body) {
                Ok(response) => response,
                Err(_) if method == Method::Get && attempt < MOST_ATTEMPTS => {
                    thread::sleep(self.pace.retry_wait * attempt);
                    continue;
                }
                Err(error) => {
                    return Err(ClientError::Unreachable { what, why: told(&error) });
                }
            };
            let status = response.status();
            if status.is_success() || status.is_redirection() {
                return Ok(response);
            }
            let mut limit = self.limit(&response, attempt);
            let mut refused = None;
            if limit.is_none() && !(status.is_server_error() && method == Method::Get) {
                let refusal = refusal(&what, response);
                // Of some limits only the words tell.
                limit = refusal.is_of_limit().then(|| self.plain_wait(attempt));
                refused = Some(refusal);
            }
            match (limit, refused) {
                (Some(wait), _) => {
                    self.be_silent(wait);
                    if attempt >= MOST_ATTEMPTS || wait > self.pace.longest_wait {
                        return Err(ClientError::Limited { what, wait });
                    }
                }
                (None, Some(refusal)) => return Err(refusal),
                (None, None) if attempt < MOST_ATTEMPTS => {
                    thread::sleep(self.pace.retry_wait * attempt);
                }
                (None, None) => {
                    let message = "it has a fault of its own".to_owned();
                    return Err(ClientError::Refused { what, status: status.as_u16(), message });
                }
            }
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<Response<Body>, ureq::Error> {
        let url = format!("{}{path}", self.base);
        let headers = [
            ("Authorization", format!("Bearer {}", self.token)),
            ("Accept", "application/vnd.github+json".to_owned()),
            ("X-GitHub-Api-Version", API_VERSION.to_owned()),
        ];
        match method {
            Method::Get => {
                let request = self.agent.get(&url);
                headers
                    .into_iter()
                    .fold(request, |one, (name, value)| one.header(name, value))
                    .call()
            }
            Method::Post | Method::Patch => {
                let request = match method {
                    Method::Patch => self.agent.patch(&url),
                    _ => self.agent.post(&url),
                };
                let request =
                    headers.into_iter().fold(request, |one, (name, value)| one.header(name, value));
                let text = body.map(Json::to_string).unwrap_or_default();
                request.header("Content-Type", "application/json").send(text)
            }
        }
    }

    /// How long GitHub wants to hear nothing, if that is what it says: `retry-after`, else until
    /// the reset where nothing remains, else a minute, and twice as long each time.
    fn limit(&self, response: &Response<Body>, attempt: u32) -> Option<Duration> {
        let refused = [StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];
        if !refused.contains(&response.status()) {
            return None;
        }
        let number = |name: &str| -> Option<i64> {
            response.headers().get(name)?.to_str().ok()?.trim().parse().ok()
        };
        if let Some(seconds) = number("retry-after") {
            return Some(Duration::from_secs(seconds.max(0).unsigned_abs()));
        }
        if number("x-ratelimit-remaining") == Some(0) {
            let now = wall_time().as_nanos() / 1_000_000_000;
            let left = number("x-ratelimit-reset").map_or(60, |reset| reset.saturating_sub(now));
            return Some(Duration::from_secs(left.max(0).unsigned_abs() + 1));
        }
        let is_limit = response.status() == StatusCode::TOO_MANY_REQUESTS;
        is_limit.then(|| self.plain_wait(attempt))
    }

    /// The wait after a limit that says nothing of its end.
    fn plain_wait(&self, attempt: u32) -> Duration {
        self.pace.plain_wait * 2_u32.saturating_pow(attempt - 1)
    }

    fn be_silent(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait);
        *self.silent_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Waits until GitHub may be asked again, if that is not too long.
    fn wait_for_silence(&self, what: &str) -> Result<(), ClientError> {
        let until = *self.silent_until.lock().unwrap_or_else(PoisonError::into_inner);
        let left =
            until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left > self.pace.longest_wait {
            return Err(ClientError::Limited { what: what.to_owned(), wait: left });
        }
        thread::sleep(left);
        Ok(())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
        }
    }
}

fn refusal(what: &str, mut response: Response<Body>) -> ClientError {
    let status = response.status().as_u16();
    let body = read_all(&mut response, LARGEST_REFUSAL).unwrap_or_default();
    let told = serde_json::from_slice::<Json>(&body).ok();
    let message = told.as_ref().and_then(|told| told["message"].as_str()).unwrap_or("no more");
    let message = message.chars().filter(|character| !character.is_control()).take(200).collect();
    ClientError::Refused { what: what.to_owned(), status, message }
}

/// What went wrong, in words that never hold an address, which may be signed.
fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "the host was not found".to_owned(),
        ureq::Error::Io(error) => format!("the connection failed: {error}"),
        ureq::Error::Rustls(error) => format!("TLS failed: {error}"),
        _ => "the exchange failed".to_owned(),
    }
}

fn read_all(response: &mut Response<Body>, most: u64) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let read = response.body_mut().as_reader().take(most + 1).read_to_end(&mut body);
    read.map_err(|error| error.to_string())?;
    match body.len() as u64 > most {
        true => Err(format!("it is larger than {} MiB", most >> 20)),
        false => Ok(body),
    }
}

/// Reads to the end, or up to what no log should be larger than, and keeps the last part.
fn read_tail(response: &mut Response<Body>, most: usize) -> Result<Vec<u8>, String> {
    let mut reader = response.body_mut().as_reader().take(LARGEST_LOG);
    let (mut tail, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => tail.extend_from_slice(&chunk[..length]),
            Err(error) => return Err(error.to_string()),
        }
        if tail.len() > most * 2 {
            tail.drain(..tail.len() - most);
        }
    }
    tail.drain(..tail.len().saturating_sub(most));
    Ok(tail)
}

const API_VERSION: &str = "2022-11-28";
const MOST_ATTEMPTS: u32 = 3;
const LARGEST_ANSWER: u64 = 8 << 20;
const LARGEST_REFUSAL: u64 = 64 << 10;
const LARGEST_LOG: u64 = 64 << 20;
