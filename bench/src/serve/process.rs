//! Servers as processes of their own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use super::load::{ask, post};
use crate::supervised::{Backstop, memory, part};

/// A server that listens. It is killed with this.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    process: Child,
}

impl Server {
    /// `backstop serve` as it is by default, with its log in a file as an init system keeps it. The
    /// policy of the comparison is in force for all.
    pub fn backstop(program: &Path, place: PathBuf, store: &Store) -> anyhow::Result<Self> {
        let log = place.join("log");
        let backstop = Backstop::new(program, place)?;
        let mut line = backstop.command();
        line.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
        match store {
            Store::Embedded => line.arg(backstop.store()),
            Store::Server(url) => line.arg(url),
        };
        let server = Self::start(line.stderr(File::create(log)?))?;
        let policy = include_str!("../../policy.toml");
        let stored = post("POST", "/v1/policies", "application/toml", policy);
        let stored: serde_json::Value = serde_json::from_str(&ask(server.address, &stored)?)?;
        let hash = stored.get("hash").and_then(|hash| hash.as_str()).context("no hash")?;
        let body = serde_json::json!({ "policy_hash": hash }).to_string();
        let activate = post("PUT", "/v1/policies/active/global", "application/json", &body);
        ask(server.address, &activate)?;
        Ok(server)
    }

    /// The bare handler, which answers with these texts.
    pub fn bare(decision: &Path, stop_decision: &Path) -> anyhow::Result<Self> {
        let line = part("answer-constantly")?;
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).arg(decision).arg(stop_decision);
        Self::start(&mut command)
    }

    /// What it holds of the machine's memory, in MiB.
    pub fn memory(&self) -> Option<f64> {
        memory(self.process.id(), "status", "VmRSS")
    }

    /// The most that it ever held.
    pub fn peak_memory(&self) -> Option<f64> {
        memory(self.process.id(), "status", "VmHWM")
    }

    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let said = process.stdout.take().context("no output")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().split_once("://").and_then(|(_, text)| text.parse().ok());
        let address = address.with_context(|| format!("it does not listen: {line:?}"))?;
        Ok(Self { address, process })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the service keeps things.
#[derive(Debug)]
pub enum Store {
    Embedded,
    Server(String),
}
