//! A flood of output through `backstop run`, beside the same flood into `cat >/dev/null`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::measure::median;
use crate::supervised::{Backstop, alone, inner, memory, part};
use crate::targets::Target;

/// Measures both in turn and prints a row for each.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, disk.join("output"))?;
    fs::write(backstop.file("policy.toml"), policy())?;
    let (mut ours, mut others, mut peak) = (Vec::new(), Vec::new(), 0f64);
    for _ in 0..ROUNDS {
        others.push(through_cat()?);
        let flood = through_backstop(&backstop)?;
        ours.push(flood.seconds);
        peak = peak.max(flood.peak);
    }
    let ratios = ours.iter().zip(&others).map(|(ours, others)| ours / others).collect();
    let gigabytes = SIZE as f64 / 1e9;
    println!("\na child that writes {} GiB", SIZE >> 30);
    for (name, times) in [("into cat >/dev/null", others), ("backstop run, 8 patterns, log", ours)]
    {
        let seconds = median(times).context("nothing was measured")?;
        println!("{name:<44} {seconds:>9.2} s  {:>9.2} GB/s", gigabytes / seconds);
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
    let mut shell = alone("sh".as_ref())?;
    let line = part("write-lines")?;
    shell.args(["-c", r#""$@" | cat >/dev/null"#, "sh"]).args(line).stdin(Stdio::null());
    ensure!(shell.status()?.success(), "the child or cat failed");
    Ok(started.elapsed().as_secs_f64())
}

struct Flood {
    seconds: f64,
    /// The most that the supervisor had resident, in MiB.
    peak: f64,
}

/// Until everything was shown, kept and searched, and the run has halted.
fn through_backstop(backstop: &Backstop) -> anyhow::Result<Flood> {
    let policy = backstop.file("policy.toml");
    let options = ["--once".as_ref(), "--policy".as_ref(), policy.as_os_str()];
    let started = Instant::now();
    let mut outer = backstop.run(&options, &part("write-lines")?)?.spawn()?;
    let supervisor = inner(&outer)?;
    let mut peak = 0f64;
    let status = loop {
        if let Some(status) = outer.try_wait()? {
            break status;
        }
        // The kernel keeps the maximum, so that only what is new at the very end can be missed.
        peak = peak.max(memory(supervisor, "status", "VmHWM").unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    };
    ensure!(status.success(), "the run ended with {status}");
    Ok(Flood { seconds: started.elapsed().as_secs_f64(), peak })
}

/// None of them occurs, so all are looked for to the end; parts of them are frequent.
fn policy() -> String {
    let literals =
        ["ALL DONE", "TASK COMPLETE", "fatal: out of memory", "<promise>", "Build succeeded"];
    let expressions = [r"error\[E\d{4}\]", r"(?i)rate limit(ed)?", r"\b\d+ tests? failed\b"];
    let rule = |text: &str, is_regex: bool| {
        format!(
            "[[rule]]\nwhen = {{ type = \"output_pattern\", pattern = '{text}', is_regex = {is_regex} }}\n\
             then = \"stop\"\n\n"
        )
    };
    let literals = literals.into_iter().map(|text| rule(text, false));
    literals.chain(expressions.into_iter().map(|text| rule(text, true))).collect()
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

const SIZE: usize = 4 << 30;
const WRITE: usize = 64 << 10;
const ROUNDS: usize = 3;
