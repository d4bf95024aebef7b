//! Where agents export what they measure: OTLP in JSON over HTTP, on a port of this machine.
//!
//! Other users of the machine reach the port too, so each run has a secret, which only its command
//! is told. An export is acknowledged once it is on disk.

mod answer;
mod environment;
mod exchange;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::chance;
use crate::socket::{self, Durable, Request, closed};
use environment::Environment;
use exchange::Exchange;

/// The way to the one who owns the run.
#[derive(Clone)]
pub struct Inlet {
    pub requests: mpsc::Sender<Request>,
    pub durable: Durable,
}

impl Inlet {
    /// The same as the sockets have.
    pub fn of(sockets: &socket::Settings) -> Self {
        Self { requests: sockets.requests.clone(), durable: Arc::clone(&sockets.durable) }
    }
}

impl fmt::Debug for Inlet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inlet").finish_non_exhaustive()
    }
}

/// An open port, until this is dropped.
#[derive(Debug)]
pub struct Receiver {
    environment: Environment,
    address: SocketAddr,
    listener: JoinHandle<()>,
    closing: watch::Sender<bool>,
}

impl Receiver {
    /// Opens a port that the system picks.
    ///
    /// # Errors
    /// There is none to be had, or no randomness for the secret.
    pub async fn start(inlet: Inlet) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let secret = chance::secret()?;
        let environment = Environment::new(address, &secret, |name| std::env::var_os(name));
        let (closing, told) = watch::channel(false);
        let exchange = Arc::new(Exchange::new(inlet, secret));
        let listener = tokio::spawn(accept(listener, exchange, told));
        Ok(Self { environment, address, listener, closing })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What tells a command to export, and where to.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        self.environment.variables.clone()
    }

    /// What the user should know of it.
    pub fn notes(&self) -> Vec<String> {
        self.environment.notes.clone()
    }

    /// Takes no more exports, and waits a little until those that were taken are answered.
    pub async fn finish(mut self, within: Duration) {
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(within, &mut self.listener).await;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // The connections belong to the listener's task and end with it.
        self.listener.abort();
    }
}

/// Accepts until the run ends. Each connection is a task of its own, so that one that hangs keeps
/// nobody waiting.
async fn accept(
    listener: TcpListener,
    exchange: Arc<Exchange>,
    mut closing: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let told = closing.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < MOST_CONNECTIONS => {
                    connections.spawn(serve(stream, Arc::clone(&exchange), told.clone()));
                }
                Ok((stream, _)) => turn_away(&stream),
                // Out of file descriptors, most likely: wait until there are some again.
                Err(_) => tokio::time::sleep(AFTER_ACCEPT_ERROR).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = closed(&mut closing) => break,
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Answers one client until it leaves, is too slow, or the run ends.
async fn serve(stream: TcpStream, exchange: Arc<Exchange>, mut closing: watch::Receiver<bool>) {
    let service = service_fn(move |request| {
        let exchange = Arc::clone(&exchange);
        async move { exchange.answer(request).await }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(MOST_HEADERS);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A client that went away in the middle is no concern of the run's.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closed(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Tells a client that there are too many, if it can be told without waiting.
fn turn_away(stream: &TcpStream) {
    let _ = stream.try_write(
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
          Content-Length: 0\r\n\r\n",
    );
}

const MOST_CONNECTIONS: usize = 64;

/// How long a client may take for a request's head, or be silent between two requests.
const PATIENCE: Duration = Duration::from_secs(30);

const MOST_HEADERS: usize = 64 << 10;

const AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);
