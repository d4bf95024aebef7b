//! From the start of `backstop run` to its child's first instruction, beside starting the child.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::measure::median;
use crate::supervised::{Backstop, clock, part, part_alone};
use crate::targets::Target;

/// Starts the child in turn by itself and supervised, in a store that is there already. In memory
/// nothing waits for a disk; beside it, the same on the disk.
pub fn run(program: &Path, memory: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let line = part("say-clock")?;
    let mut direct = part_alone("say-clock")?;
    let in_memory = Backstop::new(program, memory.join("starting"))?;
    let on_disk = Backstop::new(program, disk.join("starting"))?;
    let mut supervised = in_memory.run(&["--once"], &line)?;
    let mut with_disk = on_disk.run(&["--once"], &line)?;
    milliseconds(&mut supervised)?;
    milliseconds(&mut with_disk)?;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..STARTS {
        times[0].push(milliseconds(&mut direct)?);
        times[1].push(milliseconds(&mut supervised)?);
        times[2].push(milliseconds(&mut with_disk)?);
    }
    let more = times[1].iter().zip(&times[0]).map(|(ours, others)| ours - others).collect();
    println!("\nfrom the start to the child's first instruction");
    for (name, times) in NAMES.into_iter().zip(times) {
        println!("{name:<44} {:>9.2} ms", median(times).context("nothing was measured")?);
    }
    Ok(vec![Target::at_most("more than a direct start takes", median(more), Some(10.0), "ms")])
}

/// The child: says at once what time it is.
pub fn say_clock() -> anyhow::Result<()> {
    let now = clock();
    Ok(writeln!(std::io::stdout(), "{now}")?)
}

fn milliseconds(command: &mut Command) -> anyhow::Result<f64> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let started = clock();
    let output = command.spawn()?.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    let said: i64 = text.trim().parse().with_context(|| format!("no time of a clock: {text:?}"))?;
    Ok((said - started) as f64 / 1e6)
}

const NAMES: [&str; 3] =
    ["started directly", "backstop run --once", "backstop run --once, its store on the disk"];
const STARTS: usize = 100;
