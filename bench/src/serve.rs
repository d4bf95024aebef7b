//! `backstop serve` beside a bare handler of the same library, and what it keeps.

mod audit;
mod bare;
mod deciding;
mod load;
mod open_runs;
mod process;
mod views;

use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;

pub use self::bare::answer_constantly;
use crate::supervision::Folder;
use crate::targets::Target;

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topic {
    /// Decisions of which nothing is kept
    Decide,
    /// Decisions that are on record before they are answered, in the embedded database
    Sqlite,
    /// The same with a database server
    Postgres,
    /// Reports to many runs
    Runs,
    /// The check of the chain
    Audit,
    /// What people read of the audit
    Views,
}

/// Measures the topics, or all of them, and prints; the answer is whether all targets are reached.
pub fn run(program: &Path, disk: &Path, rows: u64, topics: &[Topic]) -> anyhow::Result<bool> {
    let disk = Folder::create(disk.join(format!("backstop-bench-{}", std::process::id())))?;
    let topics = if topics.is_empty() { Topic::value_variants() } else { topics };
    let mut targets = Vec::new();
    for topic in topics {
        let place = disk.path().join(format!("{topic:?}").to_lowercase());
        let measured = match topic {
            Topic::Decide => deciding::stateless(program, place),
            Topic::Sqlite => deciding::on_sqlite(program, place),
            Topic::Postgres => deciding::on_postgres(program, place),
            Topic::Runs => open_runs::run(program, &place),
            Topic::Audit => audit::run(program, place, rows),
            Topic::Views => views::run(rows),
        };
        targets.extend(measured.with_context(|| format!("cannot measure {topic:?}"))?);
    }
    println!("\ntargets");
    targets.iter().for_each(|target| println!("{target}"));
    Ok(targets.iter().all(Target::reached))
}
