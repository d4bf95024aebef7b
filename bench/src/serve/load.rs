//! Clients that ask and wait for the answer before they ask again, over connections that stay open.
//!
//! They do as little as they can, since they share the machine with who answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Requests as they go over the wire. They are asked in turn.
#[derive(Clone, Debug)]
pub struct Requests {
    all: Arc<[Vec<u8>]>,
    next: Arc<AtomicUsize>,
}

impl Requests {
    pub fn new(all: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { all: all.into_iter().collect(), next: Arc::default() }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    fn next(&self) -> &[u8] {
        &self.all[self.next.fetch_add(1, Ordering::Relaxed) % self.all.len()]
    }
}

/// What came of a round.
#[derive(Debug, Default)]
pub struct Round {
    pub each_second: f64,
    /// How long each answer took, in milliseconds.
    pub waits: Vec<f64>,
}

/// When a round is over.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Passed(Duration),
    /// So many were asked.
    Asked(usize),
}

/// Asks over many connections at once.
pub fn drive(address: SocketAddr, requests: &Requests, until: Until) -> anyhow::Result<Round> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(Client::connect(address).await?);
        }
        let started = Instant::now();
        let (end, left) = match until {
            Until::Passed(time) => (Some(started + time), usize::MAX),
            Until::Asked(count) => (None, count),
        };
        let left = Arc::new(AtomicUsize::new(left));
        let asking = clients.into_iter().map(|mut client| {
            let (requests, left) = (requests.clone(), Arc::clone(&left));
            tokio::spawn(async move {
                let mut waits = Vec::new();
                while end.is_none_or(|end| Instant::now() < end) && takes_one(&left) {
                    let asked = Instant::now();
                    client.ask(requests.next()).await?;
                    waits.push(asked.elapsed().as_secs_f64() * 1e3);
                }
                anyhow::Ok(waits)
            })
        });
        let mut waits = Vec::new();
        for client in asking.collect::<Vec<_>>() {
            waits.extend(client.await??);
        }
        let each_second = waits.len() as f64 / started.elapsed().as_secs_f64();
        Ok(Round { each_second, waits })
    })
}

fn takes_one(left: &AtomicUsize) -> bool {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    taken.is_ok()
}

/// Asks once, and gives the body of the answer.
pub fn ask(address: SocketAddr, request: &[u8]) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = Client::connect(address).await?;
        let body = client.ask(request).await?;
        Ok(String::from_utf8_lossy(body).into_owned())
    })
}

/// A request with a body of JSON.
pub fn post(method: &str, path: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: {kind}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A request without one.
pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n\r\n").into_bytes()
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; LONGEST_ANSWER] })
    }

    async fn ask(&mut self, request: &[u8]) -> anyhow::Result<&[u8]> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let mut whole = None;
        while whole.is_none_or(|(_, end)| filled < end) {
            ensure!(filled < self.buffer.len(), "an answer is longer than expected");
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            ensure!(read > 0, "the connection was closed");
            filled += read;
            whole = match whole {
                None => extent(&self.buffer[..filled])?,
                known => known,
            };
        }
        let (start, end) = whole.unwrap_or_default();
        if !self.buffer.starts_with(b"HTTP/1.1 20") {
            bail!("{}", String::from_utf8_lossy(&self.buffer[..filled]));
        }
        Ok(&self.buffer[start..end])
    }
}

/// Where the body of an answer begins and ends, once its head is there.
fn extent(bytes: &[u8]) -> anyhow::Result<Option<(usize, usize)>> {
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..head])?;
    let length = text.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.context("an answer does not say how long it is")?;
    Ok(Some((head + 4, head + 4 + length)))
}

/// As many as bots that ask at once when a whole organisation's jobs fail: what is on record is
/// committed together.
const CONNECTIONS: usize = 128;
const LONGEST_ANSWER: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_it_says() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(extent(answer).unwrap(), Some((39, 41)));
        assert_eq!(extent(&answer[..38]).unwrap(), None);
        assert!(extent(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn requests_come_in_turn() {
        let requests = Requests::new([vec![1], vec![2]]);
        let asked: Vec<_> = (0..3).map(|_| requests.next()[0]).collect();
        assert_eq!(asked, [1, 2, 1]);
    }
}
