//! A call of `backstop hook` from start to exit, in a session whose journal is long, beside
//! programs that do nothing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use backstop_runner::loading;
use backstop_store::{Batch, Home, RunFilter, Snapshot, SqliteStore, Store, Writer};
use serde_json::{Value, json};

use crate::journal::event;
use crate::measure::{median, quantile};
use crate::supervised::Backstop;
use crate::supervision::Folder;
use crate::targets::Target;

/// Measures calls before and after a tool, and prints them; the answer is whether all targets are
/// reached.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<bool> {
    let folder = Folder::create(disk.join(format!("backstop-bench-{}", std::process::id())))?;
    let session = Session { backstop: Backstop::new(program, folder.path().join("hook"))? };
    fs::write(session.backstop.work().join("backstop.toml"), POLICY)?;
    session.call("SessionStart", &json!({ "source": "startup" }))?;
    session.fill()?;
    let mut times = [const { Vec::new() }; 4];
    for round in 0..CALLS {
        // Another command each time: an agent that repeats itself is stopped.
        let tool = json!({
            "tool_name": "Bash",
            "tool_input": { "command": format!("cargo test -p part_{round}") },
            "tool_response": { "stdout": format!("part_{round} passed"), "stderr": "" },
        });
        times[0].push(session.call("PreToolUse", &tool)?);
        times[1].push(session.call("PostToolUse", &tool)?);
        times[2].push(milliseconds(&mut Command::new("/bin/true"), "")?);
        times[3].push(milliseconds(Command::new("python3").args(["-c", "pass"]), "")?);
    }
    println!("\na hook from start to exit, in a journal of {LONG} events");
    for (name, own) in NAMES.into_iter().zip(&times) {
        let [middle, high] = [0.5, 0.99].map(|share| quantile(own, share).unwrap_or_default());
        let ratio = median(own.iter().zip(&times[2]).map(|(one, other)| one / other).collect());
        println!(
            "{name:<28} {middle:>8.2} ms {high:>8.2} ms at the 99th percentile {:>8.1} x /bin/true",
            ratio.unwrap_or_default()
        );
    }
    let targets = [
        Target::at_most("a call before a tool", median(times[0].clone()), Some(15.0), "ms"),
        Target::at_most("a call after a tool", median(times[1].clone()), Some(15.0), "ms"),
    ];
    println!("\ntargets");
    targets.iter().for_each(|target| println!("{target}"));
    Ok(targets.iter().all(Target::reached))
}

/// A session of Claude Code, with a store of its own.
struct Session {
    backstop: Backstop,
}

impl Session {
    /// How long a call takes, in milliseconds. It must let the agent go on.
    fn call(&self, event: &str, fields: &Value) -> anyhow::Result<f64> {
        let mut input = json!({
            "session_id": SESSION, "cwd": self.backstop.work(), "hook_event_name": event,
            "permission_mode": "default",
        });
        let all = input.as_object_mut().zip(fields.as_object());
        let (all, fields) = all.context("the input is an object")?;
        all.extend(fields.clone());
        let mut command = self.backstop.command();
        command.args(["hook", "claude-code", "--store"]).arg(self.backstop.store());
        milliseconds(&mut command, &input.to_string())
    }

    /// Makes the journal of the session's run long, as calls would: with the facts after each part.
    fn fill(&self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let store = SqliteStore::open(&Home::new(self.backstop.store())).await?;
            let runs = store.run_list(&RunFilter::default()).await?;
            let run = runs.first().context("the session has no run")?.id;
            let loading::Loaded { mut engine, last_seq, .. } = loading::load(&store, run).await?;
            for first in (last_seq + 1..=LONG).step_by(PART) {
                let events: Vec<_> = (first..=LONG).take(PART).map(event).collect();
                for event in &events {
                    let event = Event::from_json(event.body.as_bytes())?;
                    engine.handle_event(&event, Timestamp::default());
                }
                let seq = first + events.len() as u64 - 1;
                let facts = serde_json::to_string(engine.facts())?;
                let snapshot = Some(Snapshot { seq, facts });
                append(
                    &store,
                    run,
                    Batch { events, snapshot, ..Batch::new(run, Writer::Unsupervised) },
                )
                .await?;
            }
            let loaded = loading::load(&store, run).await?;
            ensure!(loaded.last_seq == LONG, "the last event is {}", loaded.last_seq);
            Ok(())
        })
    }
}

async fn append(store: &SqliteStore, run: RunId, batch: Batch) -> anyhow::Result<()> {
    Ok(store.append_unsupervised(run, Box::new(move |_| batch)).await?)
}

/// From before the start to after the exit. Programs that are asked to let an agent go on say
/// nothing.
fn milliseconds(command: &mut Command, input: &str) -> anyhow::Result<f64> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    if let Some(mut stdin) = child.stdin.take()
        && !input.is_empty()
    {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let elapsed = started.elapsed();
    let said = [output.stdout, output.stderr].concat();
    ensure!(
        output.status.success() && said.is_empty(),
        "{command:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&said)
    );
    Ok(elapsed.as_secs_f64() * 1e3)
}

const NAMES: [&str; 4] = ["before a tool", "after a tool", "/bin/true", "python3 -c pass"];
const SESSION: &str = "0a1b2c3d";
const LONG: u64 = 1_000_000;
const PART: usize = 5_000;
const CALLS: usize = 200;
/// Rules of several kinds, none of which fires.
const POLICY: &str = r#"
[limits]
iterations = 1000000

[[rule]]
when = { type = "consecutive_fails", count = 3 }
then = "stop"

[[rule]]
when = { type = "repetition" }
then = "stop"
"#;
