//! What starting and waiting costs in a tree, beside the same with the standard library alone.
//!
//! `cargo run --release -p backstop-runner --example spawn_cost [STARTS]`. The contestants take
//! turns, so that a busy machine disturbs them alike; compare the ratio, not the times.

use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use backstop_runner::outer;
use backstop_runner::tree::Tree;

fn main() -> io::Result<()> {
    let starts: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    outer::enter("backstop resume")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare(starts))
}

async fn compare(starts: u32) -> io::Result<()> {
    let tree = Tree::adopt(RunId::new(0, 0))?;
    let mut alone = Vec::new();
    let mut in_tree = Vec::new();
    for _start in 0..starts {
        let begin = Instant::now();
        Command::new(PROGRAM).spawn()?.wait()?;
        alone.push(begin.elapsed());

        let begin = Instant::now();
        let mut child = tree.spawn(&mut Command::new(PROGRAM))?;
        child.wait().await?;
        let nothing = tree.sweep(Duration::ZERO).await;
        in_tree.push(begin.elapsed());
        assert!(nothing.found.is_empty(), "the program left something behind");
    }
    let (alone, in_tree) = (median(&mut alone), median(&mut in_tree));
    writeln!(
        io::stdout(),
        "{starts} starts of {PROGRAM} ({}): alone {alone:?}, in a tree and swept {in_tree:?}, ratio {:.2}",
        tree.containment().as_str(),
        in_tree.as_secs_f64() / alone.as_secs_f64(),
    )
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const PROGRAM: &str = "/bin/true";
