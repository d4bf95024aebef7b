//! A flood of output through the pump, beside the same flood into `cat >/dev/null`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use backstop_runner::capture::{Captured, Pattern, Pump, Setup, Sinks};
use tokio::sync::mpsc;

use crate::measure::median;
use crate::targets::Target;

/// Measures both in turn and prints a row for each.
pub fn run() -> anyhow::Result<Vec<Target>> {
    let folder = std::env::temp_dir().join(format!("backstop-bench-{}", std::process::id()));
    let (mut ours, mut others, mut peak) = (Vec::new(), Vec::new(), 0f64);
    for _ in 0..ROUNDS {
        others.push(through_cat()?);
        forget_peak_memory()?;
        ours.push(through_pump(&folder)?);
        peak = peak.max(peak_memory()?);
        std::fs::remove_dir_all(&folder).context("cannot remove the logs")?;
    }
    let ratios = ours.iter().zip(&others).map(|(ours, others)| ours / others).collect();
    let gigabytes = SIZE as f64 / 1e9;
    println!("\na child that writes {} GiB", SIZE >> 30);
    for (name, times) in [("cat >/dev/null", others), ("the pump, 8 patterns, log", ours)] {
        let seconds = median(times).context("nothing was measured")?;
        println!("  {name:<28} {seconds:>6.2} s  {:>6.2} GB/s", gigabytes / seconds);
    }
    Ok(vec![
        Target::at_most("output beside cat", median(ratios), Some(1.5), "x"),
        Target::at_most("peak memory under a flood", Some(peak), Some(32.0), "MiB"),
    ])
}

/// The child: writes lines as programs do, as fast as it can.
pub fn write_lines() -> anyhow::Result<()> {
    let text = text();
    let mut stdout = io::stdout().lock();
    let mut left = SIZE;
    while left > 0 {
        for chunk in text.chunks(WRITE) {
            let chunk = &chunk[..chunk.len().min(left)];
            stdout.write_all(chunk)?;
            left -= chunk.len();
        }
    }
    Ok(())
}

/// Seconds until both have ended.
fn through_cat() -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut child = child()?.stdout(Stdio::piped()).spawn()?;
    let pipe = child.stdout.take().context("the child has no output")?;
    let status = Command::new("cat").stdin(pipe).stdout(Stdio::null()).status()?;
    ensure!(status.success() && child.wait()?.success(), "the child or cat failed");
    Ok(started.elapsed().as_secs_f64())
}

/// Seconds until everything was shown, kept and searched.
fn through_pump(folder: &Path) -> anyhow::Result<f64> {
    let nothing = || File::options().write(true).open("/dev/null").map(OwnedFd::from);
    let sinks = Sinks { stdout: Some(nothing()?), stderr: Some(nothing()?), own: Some(nothing()?) };
    let setup = Setup {
        sinks,
        patterns: patterns(),
        markers: Vec::new(),
        output_folder: folder.to_owned(),
        live: None,
    };
    let (sender, mut events) = mpsc::channel(64);
    let pump = Pump::start(setup, sender)?;
    let started = Instant::now();
    let mut child = child()?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pipes = child.stdout.take().zip(child.stderr.take());
    let (stdout, stderr) = pipes.context("the child has no output")?;
    pump.begin(1, stdout.into(), stderr.into());
    ensure!(child.wait()?.success(), "the child failed");
    pump.finish();
    match events.blocking_recv() {
        Some(Captured::Finished(summary)) if summary.bytes == SIZE as u64 => {}
        other => bail!("not what was written: {other:?}"),
    }
    Ok(started.elapsed().as_secs_f64())
}

fn child() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("write-lines").stdin(Stdio::null());
    Ok(command)
}

/// None of them occurs, so all are looked for to the end; parts of them are frequent.
fn patterns() -> Vec<Pattern> {
    let literals =
        ["ALL DONE", "TASK COMPLETE", "fatal: out of memory", "<promise>", "Build succeeded"];
    let expressions = [r"error\[E\d{4}\]", r"(?i)rate limit(ed)?", r"\b\d+ tests? failed\b"];
    let literals = literals.map(|text| (text, false));
    let expressions = expressions.map(|text| (text, true));
    let pattern = |(text, is_regex): (&str, bool)| Pattern {
        key: text.to_owned(),
        text: text.to_owned(),
        is_regex,
        since_run: false,
    };
    literals.into_iter().chain(expressions).map(pattern).collect()
}

/// A few hundred kilobytes such as builds and tests print.
fn text() -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0..4_000u64 {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let lines = [
            format!("   Compiling parser-{}.{} (/home/user/project)\n", hash % 9, hash % 31),
            format!("test parser::tests::case_{number} ... ok\n"),
            format!("warning: unused variable `value_{number}`, error count {}\n", hash % 7),
            format!(
                "{{\"type\":\"message\",\"id\":\"{hash:x}\",\"text\":\"All {number} done\"}}\n"
            ),
            format!(
                "running {} tests, {} passed; 0 failed in 0.{number} s\n",
                hash % 99,
                hash % 99
            ),
        ];
        text.extend_from_slice(lines[(hash >> 40) as usize % lines.len()].as_bytes());
    }
    text
}

fn forget_peak_memory() -> anyhow::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of memory")
}

/// The most that was resident, in MiB.
fn peak_memory() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.context("no peak of memory is known")? / 1024.0)
}

const SIZE: usize = 4 << 30;
const WRITE: usize = 64 << 10;
const ROUNDS: usize = 3;
