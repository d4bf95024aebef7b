//! The adapter of Claude Code's stream, with everything behind it, beside a JSON parser alone.

mod borrowed;
mod stream;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use backstop_adapters::{Adapter as _, Claude, Framer, Heard, Moment, Record, Translator};
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::policy::{Policy, Preset};
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

use crate::measure::{Contestant, Measurements};
use crate::targets::Target;
use borrowed::Value;
use stream::Stream;

/// Measures speed and memory and prints them; the answer is whether all targets are reached.
pub fn run() -> anyhow::Result<bool> {
    let mut targets = vec![speed("a synthetic stream", SYNTHETIC, &Stream::new(1).take(CORPUS))?];
    if let Some(recorded) = recorded()? {
        targets.push(speed("recorded streams", RECORDED, &recorded)?);
    }
    targets.extend(memory()?);
    println!("\ntargets");
    for target in &targets {
        println!("{target}");
    }
    Ok(targets.iter().all(Target::reached))
}

/// The whole way from bytes to a decision after every event, beside parsing the same lines.
fn speed(title: &str, promise: &'static str, bytes: &[u8]) -> anyhow::Result<Target> {
    let events = Reading::new().read(bytes);
    ensure!(events > 0, "nothing was read out of {title}");
    let measured = Measurements::take(vec![
        (PARSER, Contestant::new(|| parse(black_box(bytes)))),
        (OURS, Contestant::new(|| Reading::new().read(black_box(bytes)))),
    ]);
    println!("\n{title}: {:.1} MB, {events} events", bytes.len() as f64 / 1e6);
    for name in measured.names() {
        if let Some(time) = measured.nanoseconds(name) {
            println!("{name:<44} {:>9.0} MB/s", bytes.len() as f64 / time * 1e3);
        }
    }
    // Times are compared, so the ratio of speeds is the other way round.
    let share = measured.ratio(PARSER, OURS).map(|ratio| ratio * 100.0);
    Ok(Target::at_least(promise, share, Some(50.0), "%"))
}

/// How many lines are JSON.
fn parse(bytes: &[u8]) -> usize {
    let lines = bytes.split(|&byte| byte == b'\n');
    lines.filter(|line| serde_json::from_slice::<Value<'_>>(line).map(black_box).is_ok()).count()
}

/// A stream that is read, and decided on.
struct Reading {
    framer: Framer,
    adapter: Claude,
    translator: Translator,
    engine: Engine,
    moment: Moment,
    events: u64,
}

impl Reading {
    fn new() -> Self {
        let policy = Policy::preset(Preset::Default);
        Self {
            framer: Framer::new(),
            adapter: Claude::new(),
            translator: Translator::new(&policy),
            engine: Engine::new(policy),
            moment: Moment {
                now: Timestamp::default(),
                is_known: true,
                is_live: false,
                zone: TimeZone::UTC,
                zone_named: |_| None,
            },
            events: 0,
        }
    }

    /// How many events there were so far.
    fn read(&mut self, bytes: &[u8]) -> u64 {
        let Self { framer, adapter, translator, engine, moment, events } = self;
        let mut decide = |heard: Heard<'_>| {
            for kind in translator.events(heard) {
                *events += 1;
                engine.handle_event(&Event::new(kind), moment.now);
                black_box(engine.decide(engine.moment(moment.now)));
            }
        };
        let mut read = |record: Record<'_>| adapter.record(record, moment, &mut decide);
        for chunk in bytes.chunks(CHUNK) {
            framer.push(chunk, &mut read);
        }
        *events
    }
}

/// Recorded streams, where they lie beside the project.
fn recorded() -> anyhow::Result<Option<Vec<u8>>> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/fixtures"));
    let mut all = Vec::new();
    for folder in ["claude-stream", "claude-loops"] {
        let Ok(entries) = root.join(folder).read_dir() else {
            println!("\nrecorded streams: skipped, there are none beside this clone");
            return Ok(None);
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                all.extend(std::fs::read(&path)?);
                all.push(b'\n');
            }
        }
    }
    Ok(Some(all))
}

/// The peak of a process that reads a stream which is longer than any memory would be wasted on.
fn memory() -> anyhow::Result<Vec<Target>> {
    let output = Command::new(std::env::current_exe()?).arg("read-stream").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let mut figures = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || figures.next().context("a figure is missing")?.context("no number");
    let (early, late) = (next()?, next()?);
    println!("\npeak memory after 500 MB {early:.1} MiB, after 2 GB {late:.1} MiB");
    Ok(vec![
        Target::at_most("peak memory over 2 GB", Some(late), Some(64.0), "MiB"),
        Target::at_most("what 2 GB take more than 500 MB", Some(late - early), Some(1.0), "MiB"),
    ])
}

/// Reads a long stream that is made as it is read, and prints the peak of the memory twice.
pub fn read_stream() -> anyhow::Result<()> {
    let mut reading = Reading::new();
    let mut stream = Stream::new(2);
    let mut length = 0;
    let mut early = None;
    while length < LONG {
        let lines = stream.some();
        length += lines.len() as u64;
        reading.read(lines);
        // By then everything is full that has a bound: the last few thousand messages are known.
        if early.is_none() && length > LONG / 4 {
            early = Some(peak()?);
        }
    }
    println!("{} {}", early.unwrap_or_default(), peak()?);
    Ok(())
}

/// The most memory that this process ever held, in MiB.
fn peak() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no peak")?;
    Ok(kibibytes.trim().parse::<f64>()? / 1024.0)
}

const SYNTHETIC: &str = "the adapter, on a synthetic stream, of the parser's speed";
const RECORDED: &str = "the adapter, on recorded streams, of the parser's speed";
const PARSER: &str = "serde_json, into borrowed values";
const OURS: &str = "ours: framed, read, translated, decided";
const CORPUS: usize = 4 << 20;
const LONG: u64 = 2_000_000_000;
const CHUNK: usize = 64 * 1024;
