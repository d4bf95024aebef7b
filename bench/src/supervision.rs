//! Everything about a supervised run, in one run of this program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;

use crate::targets::Target;
use crate::{idling, journal, loops, output, report, resuming, starting, stopping};

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topic {
    Loops,
    Output,
    Stopping,
    Journal,
    Resuming,
    Idling,
    Starting,
    Report,
}

/// Measures the topics, or all of them, and prints; the answer is whether all targets are reached.
pub fn run(program: &Path, disk: &Path, topics: &[Topic]) -> anyhow::Result<bool> {
    let name = format!("backstop-bench-{}", std::process::id());
    let disk = Folder::create(disk.join(&name))?;
    let memory = Folder::create(in_memory().join(&name))?;
    let topics = if topics.is_empty() { Topic::value_variants() } else { topics };
    let mut targets = Vec::new();
    for topic in topics {
        let measured = match topic {
            Topic::Loops => loops::run(program, &memory.0, &disk.0),
            Topic::Output => output::run(program, &disk.0),
            Topic::Stopping => stopping::run(program, &disk.0),
            Topic::Journal => journal::run(program, &disk.0),
            Topic::Resuming => resuming::run(&disk.0),
            Topic::Idling => idling::run(program, &disk.0),
            Topic::Starting => starting::run(program, &memory.0, &disk.0),
            Topic::Report => report::run(program, &disk.0),
        };
        targets.extend(measured.with_context(|| format!("cannot measure {topic:?}"))?);
    }
    println!("\ntargets");
    targets.iter().for_each(|target| println!("{target}"));
    Ok(targets.iter().all(Target::reached))
}

/// A folder that is removed with everything in it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn create(path: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&path).with_context(|| format!("cannot create {path:?}"))?;
        Ok(Self(path.canonicalize()?))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is only in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where nothing waits for a disk, if there is such a place.
fn in_memory() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { shared } else { std::env::temp_dir() }
}
