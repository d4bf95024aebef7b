//! Posting messages to a URL: signed, tried again, and never farther than it may go.

use std::io::Read as _;
use std::thread;
use std::time::Duration;

use backstop_core::policy::WebhookUrl;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};

use super::address::{GuardedResolver, PrivateAddress};
use super::signature::Secret;
use super::{Message, Outcome};
use crate::{chance, clock, trust};

/// A URL that messages are posted to.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub url: WebhookUrl,
    /// None where messages are not signed.
    pub secret: Option<Secret>,
    pub allow_private: bool,
    pub pace: Pace,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The wait before the second attempt; it doubles before each further one.
    pub first_wait: Duration,
    /// The longest wait that the other side may ask for.
    pub longest_wait: Duration,
    pub connect: Duration,
    /// From the look-up of the name to the last byte of the answer.
    pub exchange: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            connect: Duration::from_secs(5),
            exchange: Duration::from_secs(10),
        }
    }
}

impl Webhook {
    /// Posts a message, several times if need be. Waits, so it is called on a thread of its own.
    pub fn deliver(&self, message: &Message) -> Outcome {
        let body = message.to_json();
        let agent = match self.agent() {
            Ok(agent) => agent,
            Err(why) => return Outcome { attempts: 0, result: Err(why) },
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let trouble = match self.post(&agent, message, &body) {
                Ok(done) => return Outcome { attempts, result: Ok(done) },
                Err(trouble) => trouble,
            };
            if !trouble.may_pass || attempts >= MOST_ATTEMPTS {
                return Outcome { attempts, result: Err(trouble.why) };
            }
            thread::sleep(self.wait(attempts, trouble.retry_after));
        }
    }

    fn agent(&self) -> Result<Agent, String> {
        let tls = trust::tls(self.url.is_encrypted()).map_err(|nobody| nobody.to_string())?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // Whoever sets a proxy for others must not decide whom we reach.
            .proxy(None)
            .max_idle_connections(0)
            .timeout_resolve(Some(self.pace.connect))
            .timeout_connect(Some(self.pace.connect))
            .timeout_global(Some(self.pace.exchange))
            .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        let resolver = GuardedResolver { allow_private: self.allow_private };
        Ok(Agent::with_parts(config, DefaultConnector::default(), resolver))
    }

    /// One attempt. Answers with what is worth keeping of it.
    fn post(&self, agent: &Agent, message: &Message, body: &str) -> Result<String, Trouble> {
        let timestamp = clock::wall_time().as_nanos() / 1_000_000_000;
        let mut request = agent
            .post(self.url.reveal())
            .header("Content-Type", "application/json; charset=utf-8")
            .header("X-Backstop-Event", message.event)
            .header("X-Backstop-Delivery", &message.delivery)
            .header("X-Backstop-Timestamp", timestamp.to_string());
        if let Some(secret) = &self.secret {
            request =
                request.header("X-Backstop-Signature", secret.sign(timestamp, body.as_bytes()));
        }
        let mut response = request.send(body).map_err(|error| self.trouble(&error))?;
        let status = response.status().as_u16();
        // Read so that the other side can finish; nobody looks at it, so it may also break off.
        let mut answer = response.body_mut().as_reader().take(MOST_OF_ANSWER);
        let _ignored = std::io::copy(&mut answer, &mut std::io::sink());
        if response.status().is_success() {
            return Ok(format!("it answered {status}"));
        }
        if response.status().is_redirection() {
            return Err(Trouble::lasting(format!(
                "it answered {status}, and redirections are not followed; use the address that it \
                 redirects to"
            )));
        }
        let retry_after = response.headers().get("Retry-After").and_then(|value| {
            let text = value.to_str().ok()?;
            let wait = text.trim().parse().ok().map(Duration::from_secs);
            wait.or_else(|| until(text.trim()))
        });
        Err(Trouble {
            why: format!("it answered {status}"),
            may_pass: matches!(status, 408 | 429 | 500..),
            retry_after,
        })
    }

    /// What went wrong, in words that never hold the URL.
    fn trouble(&self, error: &Error) -> Trouble {
        match error {
            Error::Other(other) if other.is::<PrivateAddress>() => {
                Trouble::lasting(other.to_string())
            }
            Error::BadUri(_) | Error::Http(_) => Trouble::lasting("the URL can't be used"),
            Error::Tls(what) => Trouble::lasting(format!("TLS failed: {what}")),
            Error::Rustls(error) => Trouble::lasting(format!("TLS failed: {error}")),
            Error::Io(error)
                if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) =>
            {
                Trouble::lasting(format!("TLS failed: {error}"))
            }
            Error::Timeout(_) => {
                let most = backstop_core::time::in_words(self.pace.exchange);
                Trouble::passing(format!("no answer within {most}"))
            }
            Error::HostNotFound => Trouble::passing("the host was not found"),
            Error::Io(error) => Trouble::passing(format!("the connection failed: {error}")),
            Error::Protocol(_) => Trouble::passing("its answer was not HTTP, or broke off"),
            _ => Trouble::passing("the exchange failed"),
        }
    }

    /// How long to wait before the next attempt: twice as long each time and up to a quarter more,
    /// so that many runs don't come at once; longer if the other side wants it.
    fn wait(&self, attempts: u32, retry_after: Option<Duration>) -> Duration {
        let base = self.pace.first_wait * 2_u32.pow(attempts - 1);
        let own = base + base / 4 * u32::from(chance::byte()) / 255;
        retry_after.map_or(own, |wanted| wanted.min(self.pace.longest_wait).max(own))
    }
}

/// Why an attempt did not succeed.
struct Trouble {
    why: String,
    /// Another attempt may succeed.
    may_pass: bool,
    retry_after: Option<Duration>,
}

impl Trouble {
    fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: false, retry_after: None }
    }

    fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: true, retry_after: None }
    }
}

/// How long it is until a time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn until(text: &str) -> Option<Duration> {
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Duration::try_from(at.duration_since(clock::wall_time().to_jiff())).ok()
}

const MOST_ATTEMPTS: u32 = 5;
const MOST_OF_ANSWER: u64 = 64 << 10;
