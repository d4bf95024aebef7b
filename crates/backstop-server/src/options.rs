//! How the service listens, and how much it takes on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::github::Github;

/// What `serve` is told.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub address: SocketAddr,
    /// Names beside the loopback ones and the address itself under which clients may reach it.
    pub allowed_hosts: Vec<String>,
    /// Origins (`https://example.org`) beside its own whose pages may ask it.
    pub allowed_origins: Vec<String>,
    pub tls: Option<TlsFiles>,
    /// Speaks without TLS to other machines, since something in front of it does that.
    pub insecure: bool,
    pub limits: Limits,
    /// The collector that is told of every request (OTLP over HTTP): `http://collector:4318`.
    pub otlp: Option<String>,
    /// What GitHub is known by.
    pub github: Github,
}

/// A certificate chain and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How much is taken on before somebody is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub body_bytes: usize,
    pub header_bytes: usize,
    pub headers: usize,
    /// How long the head of a request may take to arrive, and its body.
    pub header_time: Duration,
    pub body_time: Duration,
    /// How long an answer may take.
    pub request_time: Duration,
    /// How long a decision may take. Where the store does not answer in that time, it is a hold.
    pub decision_time: Duration,
    /// How many requests are worked on at once.
    pub requests: usize,
    pub connections: usize,
    /// How many clients may follow runs at once.
    pub live_streams: usize,
    /// How many requests a token, or an address without one, has each second; as many may come at
    /// once. None: any number.
    pub requests_per_second: Option<NonZeroU32>,
    /// How long is waited at the end for what was begun: a request that was let in may need all of
    /// the times above.
    pub shutdown_time: Duration,
}

impl ServeOptions {
    /// Listens there, with nothing allowed that need not be. Programs on the same machine are
    /// trusted not to flood it; others get 100 requests a second.
    pub fn new(address: SocketAddr) -> Self {
        let limits = Limits {
            requests_per_second: if address.ip().is_loopback() {
                None
            } else {
                NonZeroU32::new(100)
            },
            ..Limits::default()
        };
        Self {
            address,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            tls: None,
            insecure: false,
            limits,
            otlp: None,
            github: Github::default(),
        }
    }
}

/// On this machine only.
impl Default for ServeOptions {
    fn default() -> Self {
        Self::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            header_bytes: 32 << 10,
            headers: 64,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            // Clients wait for five seconds.
            decision_time: Duration::from_millis(3_500),
            requests: 512,
            connections: 4_096,
            live_streams: 256,
            requests_per_second: None,
            shutdown_time: Duration::from_secs(50),
        }
    }
}

pub const DEFAULT_PORT: u16 = 7878;
