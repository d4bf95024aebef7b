//! The report of a run with a million events, by the program that people call.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::ensure;
use backstop_core::policy::{Policy, Preset};
use backstop_store::testing::sample;
use backstop_store::{Batch, NewEvent, Writer};

use crate::journal::store;
use crate::measure::median;
use crate::supervised::{Backstop, memory};
use crate::targets::Target;

/// Writes a long journal of all that an agent's run is made of, and has it told.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, disk.join("report"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(write(&backstop))?;
    let (mut times, mut peak) = (Vec::new(), 0f64);
    for _ in 0..ROUNDS {
        let told = tell(&backstop)?;
        times.push(told.seconds);
        peak = peak.max(told.peak);
    }
    let page = fs::metadata(backstop.file("report.html"))?.len();
    println!("\nthe report of {EVENTS} events, a page of {} kB", page / 1000);
    for seconds in &times {
        println!("{:<44} {seconds:>9.2} s", "backstop report");
    }
    println!("{:<44} {peak:>9.1} MiB", "its peak memory");
    Ok(vec![
        Target::at_most("the report of a million events", median(times), Some(2.0), "s"),
        Target::at_most("peak memory of that report", Some(peak), Some(64.0), "MiB"),
    ])
}

async fn write(backstop: &Backstop) -> anyhow::Result<()> {
    let policy = Policy::preset(Preset::Moderator).to_json().to_string();
    let (store, lease) = store(&backstop.store(), &policy).await?;
    for first in (1..=EVENTS).step_by(5_000) {
        let events = (first..first + 5_000).map(event).collect();
        let writer = Writer::Supervisor(lease.clone());
        let batch = Batch { events, ..Batch::new(lease.run, writer) };
        store.append(&batch).await?;
    }
    Ok(())
}

/// Iterations of fifty events: actions and figures, now and then an error, tests and a commit.
fn event(seq: u64) -> NewEvent {
    let iteration = seq / 50 + 1;
    let (kind, fields) = match seq % 50 {
        0 => ("iteration_started", format!(r#""iteration":{iteration}"#)),
        49 => (
            "iteration_finished",
            format!(r#""iteration":{iteration},"exit_code":0,"timed_out":false,"duration_ms":49000"#),
        ),
        48 => ("progress", format!(r#""kind":"commit","note":"step {iteration}""#)),
        47 => (
            "tests",
            r#""passed":["cache::evicts","cache::keeps"],"failed":["cache::ages"],"skipped":[],"source":"libtest""#
                .to_owned(),
        ),
        46 => ("error", format!(r#""category":"recoverable","message":"error {} of many""#, seq % 7)),
        place if place % 2 == 0 => (
            "usage",
            r#""input_tokens":20,"output_tokens":5,"cache_read_tokens":1200,"cache_write_tokens":30,"cost_usd":0.0001,"model":"m""#
                .to_owned(),
        ),
        place => (
            "action",
            format!(r#""signature":"edit src/part_{place}.rs","kind":"action","result_signature":"ok {seq}""#),
        ),
    };
    let at = sample::TIME.plus(Duration::from_millis(seq * 500));
    let body = format!(
        r#"{{"type":"{kind}",{fields},"seq":{seq},"at":"{at}","active_ms":{}}}"#,
        seq * 500
    );
    NewEvent { seq, at, kind, body }
}

struct Told {
    seconds: f64,
    peak: f64,
}

fn tell(backstop: &Backstop) -> anyhow::Result<Told> {
    let started = Instant::now();
    let run = sample::run_id(0).to_string();
    let mut line = backstop.call("report");
    line.arg(run).arg("--output").arg(backstop.file("report.html")).stdin(Stdio::null());
    let mut child = line.spawn()?;
    let mut peak = 0f64;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // The kernel keeps the maximum, so that only what is new at the very end can be missed.
        peak = peak.max(memory(child.id(), "status", "VmHWM").unwrap_or_default());
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(status.success(), "the report ended with {status}");
    Ok(Told { seconds: started.elapsed().as_secs_f64(), peak })
}

const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 3;
