//! From a decision to the first signal, and until a tree that ignores it is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use backstop_core::id::RunId;
use backstop_store::{Home, SqliteStore, Store as _};
use nix::sys::signal::{SigSet, Signal};

use crate::measure::quantile;
use crate::supervised::{Backstop, clock, part, told};
use crate::targets::Target;

/// Stops many runs, and waits for the disk as often beside them.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, disk.join("stopping"))?;
    fs::write(backstop.file("policy.toml"), POLICY)?;
    let mut waits = Vec::new();
    let mut stops = Vec::new();
    let mut synced = File::create(backstop.file("synced"))?;
    for number in 0..STOPS {
        waits.push(wait_for_disk(&mut synced)?);
        stops.push(stop(&backstop, number)?);
    }
    let decided = decisions(&backstop, &stops)?;
    let since = |moment: fn(&Stop) -> i64| -> Vec<f64> {
        let pairs = stops.iter().zip(&decided);
        pairs.map(|(stop, decided)| (moment(stop) - decided) as f64 / 1e6).collect()
    };
    let (signalled, gone) = (since(|stop| stop.signalled), since(|stop| stop.gone));
    println!("\n{STOPS} stops of a tree of {LEVELS} that ignores SIGTERM");
    for (name, times) in [
        ("a wait for the disk", &waits),
        ("from the decision to the first signal", &signalled),
        ("from the decision until the tree is gone", &gone),
    ] {
        let of = |share| quantile(times, share).unwrap_or_default();
        println!("{name:<44} {:>9.2} ms {:>9.2} ms at p99", of(0.5), of(0.99));
    }
    let grace = GRACE.as_secs_f64() * 1e3;
    Ok(vec![
        Target::at_most(
            "decision to first signal, p99: 10 ms and a wait for the disk",
            quantile(&signalled, 0.99),
            quantile(&waits, 0.99).map(|wait| wait + 10.0),
            "ms",
        ),
        Target::at_most(
            "tree gone, p99: grace and 100 ms",
            quantile(&gone, 0.99),
            Some(grace + 100.0),
            "ms",
        ),
    ])
}

/// A level of the tree: starts the next one, ignores SIGTERM, and stays. The first one notes when
/// the signal came; the last one says the word that ends the run.
pub fn stay(level: u32, notes: &Path) -> anyhow::Result<()> {
    let terminate: SigSet = [Signal::SIGTERM].into_iter().collect();
    terminate.thread_block()?;
    let run = std::env::var("BACKSTOP_RUN_ID")?;
    let line = format!("{run} {}\n", std::process::id());
    OpenOptions::new().append(true).create(true).open(notes)?.write_all(line.as_bytes())?;
    if level < LEVELS {
        let line = part("stay")?;
        let mut next = Command::new(&line[0]);
        next.args(&line[1..]).arg((level + 1).to_string()).arg(notes).spawn()?;
    } else {
        io::stdout().write_all(b"THE END\n")?;
    }
    loop {
        terminate.wait()?;
        let heard = clock();
        if level == 1 {
            fs::write(heard_at(notes), format!("{heard}\n"))?;
        }
    }
}

/// What was seen of one stop, by the wall clock.
struct Stop {
    run: RunId,
    signalled: i64,
    gone: i64,
}

fn stop(backstop: &Backstop, number: usize) -> anyhow::Result<Stop> {
    let notes = backstop.file(&format!("notes-{number}"));
    let mut line = part("stay")?;
    line.extend(["1".into(), notes.clone().into()]);
    let policy = backstop.file("policy.toml");
    let mut supervisor =
        backstop.run(&["--policy".as_ref(), policy.as_os_str()], &line)?.spawn()?;
    let signalled = told(&heard_at(&notes))?.trim().parse()?;
    let text = fs::read_to_string(&notes)?;
    let (mut run, mut paths) = (None, Vec::new());
    for line in text.lines() {
        let (id, pid) = line.split_once(' ').context("not a note")?;
        run = Some(id.parse().map_err(|_| anyhow::anyhow!("not a run: {id}"))?);
        paths.push(PathBuf::from(format!("/proc/{pid}")));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while paths.iter().any(|path| path.exists()) {
        if Instant::now() > deadline {
            bail!("the tree is not gone");
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let gone = clock();
    supervisor.wait()?;
    Ok(Stop { run: run.context("no notes")?, signalled, gone })
}

/// When each stop was decided, as the journal has it.
fn decisions(backstop: &Backstop, stops: &[Stop]) -> anyhow::Result<Vec<i64>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = SqliteStore::open(&Home::new(backstop.store())).await?;
        let mut times = Vec::new();
        for stop in stops {
            let decisions = store.decision_list(stop.run).await?;
            let kill = decisions.iter().find(|decision| decision.verdict == "kill");
            times.push(kill.context("nothing was decided")?.at.as_nanos());
        }
        Ok(times)
    })
}

/// Milliseconds to write a page and have it on disk.
fn wait_for_disk(file: &mut File) -> io::Result<f64> {
    let started = Instant::now();
    file.write_all(&[7; 4096])?;
    file.sync_data()?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

fn heard_at(notes: &Path) -> PathBuf {
    notes.with_extension("heard")
}

const POLICY: &str = r#"
[[rule]]
when = { type = "output_pattern", pattern = "THE END" }
then = "kill"

[loop]
grace = "100ms"
"#;
const GRACE: Duration = Duration::from_millis(100);
const LEVELS: u32 = 3;
const STOPS: usize = 200;
