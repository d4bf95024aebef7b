//! Loading a long journal to go on from it, beside reading and decoding a file of the same lines.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use backstop_core::event::Event;
use backstop_runner::loading;
use backstop_store::{Batch, Lease, Snapshot, Store, Writer};

use crate::journal::{event, store};
use crate::measure::median;
use crate::targets::Target;

/// Measures a journal without a snapshot, and the same with one.
pub fn run(disk: &Path) -> anyhow::Result<Vec<Target>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(load(&disk.join("resuming")))
}

async fn load(directory: &Path) -> anyhow::Result<Vec<Target>> {
    fs::create_dir_all(directory)?;
    let (store, lease) = store(&directory.join("store"), "{}").await?;
    let file = directory.join("journal.jsonl");
    fs::write(&file, write(&*store, &lease).await?)?;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(read_and_decode(&file)?);
        times[1].push(seconds_to_load(&*store, &lease).await?);
    }
    let loaded = loading::load(&*store, lease.run).await?;
    let facts = serde_json::to_string(loaded.engine.facts())?;
    // As often as a run makes one, the last events are not in it.
    let snapshot = Snapshot { seq: LONG - LONG % SINCE - SINCE, facts };
    store.append(&Batch { snapshot: Some(snapshot), ..batch(&lease) }).await?;
    for _ in 0..ROUNDS {
        times[2].push(seconds_to_load(&*store, &lease).await?);
    }
    println!("\na journal of {LONG} events");
    for (name, times) in NAMES.into_iter().zip(&times) {
        println!("{name:<44} {:>9.3} s", median(times.clone()).unwrap_or_default());
    }
    let beside = |which: usize| {
        median(times[which].iter().zip(&times[0]).map(|(one, plain)| one / plain).collect())
    };
    Ok(vec![
        Target::at_most("resuming beside reading and decoding", beside(1), Some(3.0), "x"),
        Target::at_most("the same from a snapshot", beside(2), Some(3.0), "x"),
    ])
}

/// Writes a long journal, and answers with its lines.
async fn write(store: &dyn Store, lease: &Lease) -> anyhow::Result<String> {
    let mut lines = String::new();
    for first in (1..=LONG).step_by(5_000) {
        let events: Vec<_> = (first..first + 5_000).map(event).collect();
        for event in &events {
            lines.push_str(&event.body);
            lines.push('\n');
        }
        store.append(&Batch { events, ..batch(lease) }).await?;
    }
    Ok(lines)
}

fn batch(lease: &Lease) -> Batch {
    Batch::new(lease.run, Writer::Supervisor(lease.clone()))
}

fn read_and_decode(file: &Path) -> anyhow::Result<f64> {
    let started = Instant::now();
    let text = fs::read(file)?;
    let mut count = 0;
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        black_box(Event::from_json(line)?);
        count += 1;
    }
    ensure!(count == LONG, "{count} lines");
    Ok(started.elapsed().as_secs_f64())
}

async fn seconds_to_load(store: &dyn Store, lease: &Lease) -> anyhow::Result<f64> {
    let started = Instant::now();
    let loaded = loading::load(store, lease.run).await?;
    ensure!(loaded.last_seq == LONG, "the last event was {}", loaded.last_seq);
    black_box(&loaded);
    Ok(started.elapsed().as_secs_f64())
}

const NAMES: [&str; 3] =
    ["a file, read and decoded", "the run, loaded", "the run, loaded from a snapshot"];
const LONG: u64 = 1_000_000;
/// How many events a snapshot may lack.
const SINCE: u64 = 5_000;
const ROUNDS: usize = 3;
