//! What supervision costs while nothing happens.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::supervised::{Backstop, inner, memory};
use crate::targets::Target;

/// Looks at both processes for a while, with a child that only sleeps.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<Vec<Target>> {
    let backstop = Backstop::new(program, disk.join("idling"))?;
    let seconds = (WARM_UP + LOOK).as_secs() + 2;
    let mut outer = backstop.run(&["--once"], &["sleep", &seconds.to_string()])?.spawn()?;
    let both = [outer.id(), inner(&outer)?];
    std::thread::sleep(WARM_UP);
    let (started, before) = (Instant::now(), used(&both)?);
    std::thread::sleep(LOOK);
    let share = (used(&both)? - before) / started.elapsed().as_secs_f64() * 100.0;
    let mut resident = 0.0;
    println!("\na silent child, for {} s", LOOK.as_secs());
    for (name, pid) in ["the outer process", "the inner process"].into_iter().zip(both) {
        let size = memory(pid, "status", "VmRSS").context("the run has ended")?;
        println!("{name:<44} {size:>9.1} MiB");
        // They are one program and share most of it: what both have is there once.
        resident += memory(pid, "smaps_rollup", "Pss").context("the run has ended")?;
    }
    println!("{:<44} {resident:>9.1} MiB {share:>9.3} % of a core", "both, shared pages once");
    outer.wait()?;
    Ok(vec![
        Target::at_most("resident while idle", Some(resident), Some(20.0), "MiB"),
        Target::at_most("of a core while idle", Some(share), Some(0.5), "%"),
    ])
}

/// Processor time in seconds, of all threads.
fn used(pids: &[u32]) -> anyhow::Result<f64> {
    let mut nanoseconds = 0u64;
    for pid in pids {
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            let first = text.split_whitespace().next().context("an empty schedstat")?;
            nanoseconds += first.parse::<u64>()?;
        }
    }
    Ok(nanoseconds as f64 / 1e9)
}

const WARM_UP: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_secs(15);
