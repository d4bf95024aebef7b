//! A real service on loopback, and a client that sends exactly what it is told.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use backstop_core::time::Timestamp;
use backstop_server::access::new_token;
use backstop_server::{Running, ServeOptions, serve};
use backstop_store::access::{Scope, TokenRecord};
use backstop_store::testing::BlockedWrites;
use backstop_store::{Home, Location, Store};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A service with a store of its own.
pub struct Server {
    pub running: Option<Running>,
    pub store: Arc<dyn Store>,
    pub home: Home,
    pub runtime: Runtime,
    pub address: SocketAddr,
    _folder: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::with(|_| {}, |store| store)
    }

    /// With other options, or with something around its store.
    pub fn with(
        change: impl FnOnce(&mut ServeOptions),
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Embedded(Home::new(folder.path()));
        Self::at(&location, folder, change, wrap)
    }

    /// With a store that is somewhere else; the files of its runs are in this folder.
    pub fn at(
        location: &Location,
        folder: TempDir,
        change: impl FnOnce(&mut ServeOptions),
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        let home = Home::new(folder.path());
        let store = runtime.block_on(backstop_store::open(location)).unwrap();
        let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        let served = serve(options, wrap(Arc::clone(&store)), home.clone());
        let running = runtime.block_on(served).unwrap();
        let address = running.address;
        Self { running: Some(running), store, home, runtime, address, _folder: folder }
    }

    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// A token with these scopes, put into the store behind the service's back.
    pub fn token(&self, scopes: &[Scope]) -> String {
        self.token_until(scopes, None)
    }

    pub fn token_until(&self, scopes: &[Scope], expires_at: Option<Timestamp>) -> String {
        let secret = new_token().unwrap();
        let record = TokenRecord {
            id: secret.id(),
            name: "a test".to_owned(),
            hash: secret.hash(),
            scopes: scopes.iter().copied().collect(),
            created_by: "a test".to_owned(),
            created_at: backstop_runner::clock::wall_time(),
            expires_at,
            revoked_at: None,
        };
        self.wait(self.store.token_put(&record)).unwrap();
        secret.reveal().to_owned()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], body)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(self.address, method, path, headers, body)
    }

    /// Has the store work on a run until it is let go on: nothing else is written meanwhile.
    pub fn block_writes(&self, run: &str) -> BlockedWrites {
        self.wait(BlockedWrites::begin(Arc::clone(&self.store), run.parse().unwrap()))
    }

    pub fn shutdown(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.shutdown());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The problem's code.
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

/// One request on a connection of its own.
pub fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request(method, path, headers, body).as_bytes()).unwrap();
    read_answer(&mut stream).unwrap()
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The text of a request. Headers that are given stand in for those that would be added.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let is_given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !is_given("host") {
        text.push_str("host: localhost\r\n");
    }
    if !is_given("connection") {
        text.push_str("connection: close\r\n");
    }
    if !body.is_empty() && !is_given("content-length") && !is_given("transfer-encoding") {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n" + body
}

/// Reads one answer; none if the other side hung up without one.
pub fn read_answer(stream: &mut impl Read) -> Option<Answer> {
    let head = read_head(stream)?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: String::new() };
    let mut bytes = Vec::new();
    match answer.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
        Some(length) => {
            bytes.resize(length, 0);
            stream.read_exact(&mut bytes).ok()?;
        }
        None => {
            stream.read_to_end(&mut bytes).ok()?;
        }
    }
    answer.body = String::from_utf8(bytes).unwrap();
    Some(answer)
}

/// Reads up to the empty line.
pub fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}
