//! The journal: acknowledged events per second beside one commit per event, and reading it back
//! beside reading and decoding a plain file of the same lines.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use backstop_core::event::Event;
use backstop_core::facts::{Facts, ProgressKinds};
use backstop_core::time::Timestamp;
use backstop_store::testing::sample;
use backstop_store::{Batch, Entry, Home, Journal, Lease, NewEvent, SqliteStore, Store, Writer};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::task::JoinSet;

use crate::measure::median;
use crate::targets::Target;

/// Measures in a directory on the disk in question, prints, and says what is to be reached.
pub fn run(directory: &Path) -> anyhow::Result<Vec<Target>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut targets = runtime.block_on(acknowledge(directory))?;
    targets.push(runtime.block_on(read_back(directory))?);
    Ok(targets)
}

/// Single commits, 8 and 64 reporters in turn, so that a slow stretch of the disk hits all alike.
async fn acknowledge(directory: &Path) -> anyhow::Result<Vec<Target>> {
    let mut plain = Plain::create(&directory.join("plain.db")).await?;
    let mut grouped = Grouped::create(&directory.join("acknowledge")).await?;
    let (mut rates, mut commits) = ([const { Vec::new() }; 3], [0.0; 2]);
    for _ in 0..ROUNDS {
        rates[0].push(plain.events_per_second().await?);
        for (place, reporters) in REPORTERS.into_iter().enumerate() {
            let round = grouped.events_per_second(reporters).await?;
            rates[place + 1].push(round.events_per_second);
            commits[place] = round.events_per_commit;
        }
    }
    println!("\nacknowledged events, a commit each and in groups");
    let mut targets = Vec::new();
    let base = rates[0].clone();
    let single = median(base.clone()).context("nothing was measured")?;
    println!("{:<44} {single:>9.0} /s", "one commit per event");
    for (place, (promise, least)) in PROMISES.into_iter().enumerate() {
        let ratio =
            median(rates[place + 1].iter().zip(&base).map(|(one, base)| one / base).collect());
        let rate = median(rates[place + 1].clone()).unwrap_or_default();
        println!(
            "{:<44} {rate:>9.0} /s {:>9.1} x, {:.1} events a commit",
            format!("the journal, {} reporters", REPORTERS[place]),
            ratio.unwrap_or_default(),
            commits[place],
        );
        targets.push(Target::at_least(promise, ratio, Some(least), "x"));
    }
    Ok(targets)
}

/// The simplest durable use of SQLite: an insert is a commit.
struct Plain {
    connection: SqliteConnection,
    next: u64,
}

impl Plain {
    async fn create(database: &Path) -> anyhow::Result<Self> {
        let mut connection = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .disable_statement_logging()
            .connect()
            .await?;
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)").await?;
        Ok(Self { connection, next: 1 })
    }

    async fn events_per_second(&mut self) -> anyhow::Result<f64> {
        let (started, first) = (Instant::now(), self.next);
        while started.elapsed() < TURN {
            sqlx::query("INSERT INTO events (seq, body) VALUES (?1, ?2)")
                .bind(i64::try_from(self.next)?)
                .bind(line(self.next))
                .execute(&mut self.connection)
                .await?;
            self.next += 1;
        }
        Ok((self.next - first) as f64 / started.elapsed().as_secs_f64())
    }
}

/// Reporters that each wait for their event to be acknowledged before they send the next.
struct Grouped {
    journal: Journal,
    next: Arc<AtomicU64>,
}

struct Round {
    events_per_second: f64,
    events_per_commit: f64,
}

impl Grouped {
    async fn create(directory: &Path) -> anyhow::Result<Self> {
        let (store, lease) = store(directory).await?;
        Ok(Self { journal: Journal::start(store, lease), next: Arc::new(AtomicU64::new(1)) })
    }

    async fn events_per_second(&mut self, reporters: usize) -> anyhow::Result<Round> {
        let (started, first) = (Instant::now(), self.next.load(Ordering::Relaxed));
        let commits = self.journal.commits();
        let mut tasks = JoinSet::new();
        for _ in 0..reporters {
            let (journal, next) = (self.journal.clone(), Arc::clone(&self.next));
            tasks.spawn(async move {
                while started.elapsed() < TURN {
                    // One thread, and no wait in between: numbers are handed over in order.
                    let seq = next.fetch_add(1, Ordering::Relaxed);
                    journal.append(Entry { events: vec![event(seq)], ..Entry::default() });
                    journal.durable(seq).await?;
                }
                anyhow::Ok(())
            });
        }
        for result in tasks.join_all().await {
            result?;
        }
        let events = (self.next.load(Ordering::Relaxed) - first) as f64;
        Ok(Round {
            events_per_second: events / started.elapsed().as_secs_f64(),
            events_per_commit: events / (self.journal.commits() - commits) as f64,
        })
    }
}

/// A long journal, read in pages, decoded and folded, beside a file of the same lines, read and
/// decoded.
async fn read_back(directory: &Path) -> anyhow::Result<Target> {
    let file = directory.join("journal.jsonl");
    let (store, lease) = store(&directory.join("read")).await?;
    let mut lines = String::new();
    for first in (1..=LONG).step_by(5_000) {
        let events: Vec<_> = (first..first + 5_000).map(event).collect();
        for event in &events {
            lines.push_str(&event.body);
            lines.push('\n');
        }
        let writer = Writer::Supervisor(lease.clone());
        let run = lease.run;
        let batch =
            Batch { run, writer, events, decisions: Vec::new(), snapshot: None, update: None };
        store.append(&batch).await?;
    }
    fs::write(&file, &lines)?;
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..READS {
        let started = Instant::now();
        let text = fs::read(&file)?;
        let mut count = 0;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            std::hint::black_box(Event::from_json(line)?);
            count += 1;
        }
        ensure!(count == LONG, "{count} lines");
        plain.push(started.elapsed().as_secs_f64());

        let started = Instant::now();
        let mut facts = Facts::default();
        let mut after = 0;
        loop {
            let events = store.event_list(lease.run, after, PAGE).await?;
            for event in &events {
                let decoded = Event::from_json(event.body.as_bytes())?;
                facts.fold(&decoded, Timestamp::default(), ProgressKinds::ALL);
            }
            match events.last() {
                Some(last) => after = last.seq,
                None => break,
            }
        }
        std::hint::black_box(&facts);
        ensure!(after == LONG, "the last event was {after}");
        ours.push(started.elapsed().as_secs_f64());
    }
    let ratio = median(ours.iter().zip(&plain).map(|(ours, plain)| ours / plain).collect());
    println!("\na journal of {LONG} events");
    println!("{:<44} {:>9.2} s", "a file, read and decoded", median(plain).unwrap_or_default());
    println!(
        "{:<44} {:>9.2} s {:>9.1} x",
        "the store, read, decoded and folded",
        median(ours).unwrap_or_default(),
        ratio.unwrap_or_default(),
    );
    Ok(Target::at_most("reading a journal beside reading a file", ratio, Some(3.0), "x"))
}

async fn store(directory: &Path) -> anyhow::Result<(Arc<dyn Store>, Lease)> {
    let store = SqliteStore::open(&Home::new(directory)).await?;
    store.policy_put(&sample::policy()).await?;
    let run = sample::run(0);
    store.run_create(&run).await?;
    let lease = store.lease_acquire(run.id, &sample::holder(1), DAY, None).await?;
    Ok((Arc::new(store), lease))
}

fn event(seq: u64) -> NewEvent {
    NewEvent { seq, at: sample::TIME, kind: "usage", body: line(seq) }
}

/// An event as a run journals it.
fn line(seq: u64) -> String {
    let (second, tokens) = (seq / 20, 20 + seq % 7);
    let time =
        format!("2026-05-04T{:02}:{:02}:{:02}Z", second / 3600 % 24, second / 60 % 60, second % 60);
    format!(
        r#"{{"type":"usage","input_tokens":{tokens},"output_tokens":5,"cache_read_tokens":1200,"cache_write_tokens":30,"cost_usd":0.0001,"model":"m","seq":{seq},"at":"{time}","active_ms":{}}}"#,
        second * 1000,
    )
}

const ROUNDS: usize = 9;
const TURN: Duration = Duration::from_millis(400);
const REPORTERS: [usize; 2] = [8, 64];
const PROMISES: [(&str, f64); 2] = [
    ("acknowledged events of 8 reporters beside a commit each", 4.0),
    ("acknowledged events of 64 reporters beside a commit each", 10.0),
];
const LONG: u64 = 1_000_000;
const PAGE: u32 = 10_000;
const READS: usize = 3;
const DAY: Duration = Duration::from_secs(86_400);
