//! A thousand iterations of a command that does nothing, beside loops that do nothing else.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::measure::median;
use crate::supervised::{Backstop, alone, part_alone, time};
use crate::targets::Target;

/// Measures all in turn. In memory nothing waits for a disk; beside it, the same on the disk.
pub fn run(program: &Path, memory: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let in_memory = Backstop::new(program, memory.join("loops"))?;
    let on_disk = Backstop::new(program, disk.join("loops"))?;
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(time(&mut part_alone("spawn-all")?, &[0])?);
        times[1].push(time(&mut bash_loop()?, &[0])?);
        times[2].push(time(&mut ours(&in_memory)?, LIMIT_REACHED)?);
        times[3].push(time(&mut ours(&on_disk)?, LIMIT_REACHED)?);
    }
    println!("\n{ITERATIONS} iterations of /bin/true");
    for (name, times) in NAMES.iter().zip(&times) {
        let each = median(times.clone()).context("nothing was measured")? / f64::from(ITERATIONS);
        println!("{name:<44} {:>9.3} ms each", each * 1e3);
    }
    let beside = |other: usize| {
        median(times[2].iter().zip(&times[other]).map(|(ours, other)| ours / other).collect())
    };
    Ok(vec![
        Target::at_most("iterations beside a minimal loop in Rust", beside(0), Some(1.5), "x"),
        Target::at_most("iterations beside a loop in bash", beside(1), Some(1.2), "x"),
    ])
}

/// The minimal loop, in a process of its own.
pub fn spawn_all() -> anyhow::Result<()> {
    for _ in 0..ITERATIONS {
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ensure!(command.status()?.success(), "/bin/true failed");
    }
    Ok(())
}

fn bash_loop() -> anyhow::Result<Command> {
    let text = format!("i=0; while [ $i -lt {ITERATIONS} ]; do /bin/true; i=$((i+1)); done");
    let mut command = alone("bash".as_ref())?;
    command.args(["-c", &text]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

fn ours(backstop: &Backstop) -> anyhow::Result<Command> {
    backstop.run(&["--max-iterations", &ITERATIONS.to_string()], &["/bin/true"])
}

const NAMES: [&str; 4] = [
    "a minimal loop in Rust",
    "a loop in bash",
    "backstop run",
    "backstop run, its store on the disk",
];
const ITERATIONS: u32 = 1_000;
const ROUNDS: usize = 7;
/// The exit code of a run that had as many iterations as it may.
const LIMIT_REACHED: &[i32] = &[125];
