//! How long a program takes from start to exit, beside `/bin/true` started the same way.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::measure::median;

/// Medians in microseconds.
#[derive(Debug)]
pub struct Starts {
    pub backstop: f64,
    pub nothing: f64,
}

/// Starts both in turn, many times.
pub fn measure(backstop: &Path) -> anyhow::Result<Starts> {
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/policy.toml");
    let mut ours = Vec::with_capacity(STARTS);
    let mut others = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        ours.push(microseconds(Command::new(backstop).args(["check", "--policy", policy]))?);
        others.push(microseconds(&mut Command::new("/bin/true"))?);
    }
    let medians = median(ours).zip(median(others)).context("nothing was started")?;
    Ok(Starts { backstop: medians.0, nothing: medians.1 })
}

fn microseconds(command: &mut Command) -> anyhow::Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let elapsed = started.elapsed();
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(elapsed.as_secs_f64() * 1e6)
}

const STARTS: usize = 300;
