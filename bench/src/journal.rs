//! Acknowledged events per second, through a run's socket, beside a service with a commit for each.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use backstop_store::testing::sample;
use backstop_store::{Entry, Home, Journal, Lease, NewEvent, SqliteStore, Store, StoredPolicy};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::measure::median;
use crate::plain_service::{self, PlainService};
use crate::supervised::{Backstop, part, part_alone, time};
use crate::targets::Target;

/// What was measured with so many reporters, a round each.
#[derive(Default)]
struct Rates {
    plain: Vec<f64>,
    ours: Vec<f64>,
}

/// All in turn, so that a slow stretch of the disk hits them alike.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, disk.join("journal"))?;
    let mut single = Vec::new();
    let mut rates: [Rates; 2] = Default::default();
    for _ in 0..ROUNDS {
        single.push(commits_per_second(&backstop)?);
        for (reporters, rates) in REPORTERS.into_iter().zip(&mut rates) {
            rates.plain.push(plain_events_per_second(&backstop, reporters)?);
            rates.ours.push(events_per_second(&backstop, reporters)?);
        }
    }
    println!("\nacknowledged events, a commit each and in groups");
    let line = |name: &str, rates: &[f64], times: Option<f64>| {
        let times = times.map(|times| format!("{times:>9.1} x")).unwrap_or_default();
        println!("{name:<44} {:>9.0} /s {times}", median(rates.to_vec()).unwrap_or_default());
    };
    line("commits alone, nobody acknowledged", &single, None);
    let mut targets = Vec::new();
    for ((reporters, rates), (promise, least)) in
        REPORTERS.into_iter().zip(&rates).zip(PROMISES)
    {
        let times = |others: &[f64]| {
            median(rates.ours.iter().zip(others).map(|(ours, other)| ours / other).collect())
        };
        line(&format!("a commit each, {reporters} reporters"), &rates.plain, None);
        line(&format!("a run's socket, {reporters} reporters"), &rates.ours, times(&rates.plain));
        let alone = times(&single).unwrap_or_default();
        println!("{:<44} {:>12} {alone:>9.1} x", "  beside commits alone", "");
        targets.push(Target::at_least(promise, times(&rates.plain), Some(least), "x"));
    }
    targets.push(waits_per_commit(&backstop));
    Ok(targets)
}

/// The child: reporters that each wait for an answer before they send the next event. Tells how
/// many were answered in a second.
pub fn report(reporters: usize, result: &Path) -> anyhow::Result<()> {
    let socket = std::env::var_os("BACKSTOP_SOCKET").context("there is no socket")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rate = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for number in 0..reporters {
            let stream = UnixStream::connect(&socket).await?;
            tasks.spawn(report_in_turn(BufReader::new(stream), number as u64));
        }
        let started = Instant::now();
        let mut events = 0;
        for answered in tasks.join_all().await {
            events += answered?;
        }
        anyhow::Ok(events as f64 / started.elapsed().as_secs_f64())
    })?;
    fs::write(result, format!("{rate}\n"))?;
    Ok(())
}

async fn report_in_turn(mut stream: BufReader<UnixStream>, number: u64) -> anyhow::Result<u64> {
    let (started, mut count, mut answer) = (Instant::now(), 0, String::new());
    while started.elapsed() < TURN {
        stream.write_all(format!("{}\n", line(number + count)).as_bytes()).await?;
        answer.clear();
        stream.read_line(&mut answer).await?;
        ensure!(answer.contains(r#""verdict":"continue""#), "not acknowledged: {answer}");
        count += 1;
    }
    Ok(count)
}

fn commits_per_second(backstop: &Backstop) -> anyhow::Result<f64> {
    let result = backstop.file("result");
    let mut line = part_alone("commit-each")?;
    time(line.arg(backstop.file("plain.db")).arg(&result), &[0])?;
    Ok(fs::read_to_string(result)?.trim().parse()?)
}

fn events_per_second(backstop: &Backstop, reporters: usize) -> anyhow::Result<f64> {
    let result = backstop.file("result");
    let mut line = part("report")?;
    line.extend([reporters.to_string().into(), result.clone().into()]);
    time(&mut backstop.run(&["--once", "--max-tokens", "1000000000"], &line)?, &[0])?;
    Ok(fs::read_to_string(result)?.trim().parse()?)
}

/// The same reporters, answered by the simplest service.
fn plain_events_per_second(backstop: &Backstop, reporters: usize) -> anyhow::Result<f64> {
    let (result, socket) = (backstop.file("result"), backstop.file("plain.sock"));
    let _service = PlainService::start(&socket, &backstop.file("plain.db"))?;
    let mut line = part_alone("report")?;
    line.env("BACKSTOP_SOCKET", socket).arg(reporters.to_string()).arg(&result);
    time(&mut line, &[0])?;
    Ok(fs::read_to_string(result)?.trim().parse()?)
}

/// The simplest durable use of SQLite: an insert is a commit. Tells how many there were in a second.
pub fn commit_each(database: &Path, result: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rate = runtime.block_on(async {
        let mut connection = plain_service::open(database).await?;
        let (started, mut count) = (Instant::now(), 0);
        while started.elapsed() < TURN {
            plain_service::insert(&mut connection, line(count)).await?;
            count += 1;
        }
        anyhow::Ok(count as f64 / started.elapsed().as_secs_f64())
    })?;
    fs::write(result, format!("{rate}\n"))?;
    Ok(())
}

/// How often the disk is waited for in a commit of the journal.
fn waits_per_commit(backstop: &Backstop) -> Target {
    let counted = count_waits(backstop, COMMITS).and_then(|all| {
        // A store that is opened and closed waits too.
        Ok((all, count_waits(backstop, 0)?))
    });
    let measured = match counted {
        Ok((all, beside)) => {
            let of_log = all.of_log.saturating_sub(beside.of_log);
            let of_database = all.of_database.saturating_sub(beside.of_database);
            println!(
                "{:<44} {:>9} commits, {of_log} waits; {of_database} for checkpoints",
                "the journal's writer", all.commits,
            );
            // A checkpoint waits for the log before it moves it, and when it begins anew.
            Some((of_log as f64 - 2.0 * of_database as f64) / all.commits as f64)
        }
        Err(error) => {
            println!("the waits for the disk were not counted: {error:#}");
            None
        }
    };
    Target::at_most("waits for the disk in a commit", measured, Some(1.0), "fsync")
}

struct Waits {
    commits: u64,
    of_log: usize,
    of_database: usize,
}

fn count_waits(backstop: &Backstop, commits: u64) -> anyhow::Result<Waits> {
    let (trace, folder) = (backstop.file("trace"), backstop.file(&format!("{commits}-commits")));
    let output = Command::new("strace")
        .args(["-f", "-y", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .args(part("commit")?)
        .arg(folder)
        .arg(commits.to_string())
        .stdin(Stdio::null())
        .output()
        .context("cannot start strace")?;
    let text = String::from_utf8(output.stdout)?;
    let commits = text.trim().parse().with_context(|| format!("no number: {text:?}"))?;
    let trace = fs::read_to_string(trace)?;
    let waits = |name: &str| trace.lines().filter(|line| line.contains(name)).count();
    Ok(Waits { commits, of_log: waits("backstop.db-wal>"), of_database: waits("backstop.db>") })
}

/// Commits so many times, and says how often that was.
pub fn commit(folder: &Path, times: u64) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let commits = runtime.block_on(async {
        let (store, lease) = store(folder, "{}").await?;
        let journal = Journal::start(store, lease);
        for seq in 1..=times {
            journal.append(Entry { events: vec![event(seq)], ..Entry::default() });
            journal.durable(seq).await?;
        }
        anyhow::Ok(journal.commits())
    })?;
    writeln!(std::io::stdout(), "{commits}")?;
    Ok(())
}

/// A store with a run that can be written, under this policy.
pub async fn store(directory: &Path, policy: &str) -> anyhow::Result<(Arc<dyn Store>, Lease)> {
    let store = SqliteStore::open(&Home::new(directory)).await?;
    store.policy_put(&StoredPolicy { json: policy.to_owned(), ..sample::policy() }).await?;
    let run = sample::run(0);
    store.run_create(&run).await?;
    let lease = store.lease_acquire(run.id, &sample::holder(1), DAY, None).await?;
    Ok((Arc::new(store), lease))
}

pub fn event(seq: u64) -> NewEvent {
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
const COMMITS: u64 = 500;
const DAY: Duration = Duration::from_secs(86_400);
