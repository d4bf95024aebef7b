//! `backstop prune`: removes what old runs left behind, but not what is known of them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_store::{Run, RunFilter, RunFolder};

use super::operate::refuse_if_supervised;
use crate::args::PruneArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{age, bytes, columns, duration, short, shown_command};
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &PruneArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    refuse_if_supervised(&opened, "prune")?;
    let now = wall_time();
    let before = now.minus(arguments.older);
    let old = old_runs(&opened, before)?;
    let mut freed = 0;
    let mut count = 0;
    if !arguments.dry_run {
        opened.wait(opened.store.run_prune(before))?;
    }
    for run in &old {
        let folder = opened.home.run(run.id);
        let size = size_of(folder.path())
            - kept_files(&folder).iter().map(|file| size_of(file)).sum::<u64>();
        // A journal that is gone and logs that are gone: somebody was here before.
        if run.pruned && size == 0 {
            continue;
        }
        if !arguments.dry_run {
            remove_files(&folder)?;
        }
        count += 1;
        freed += size;
        let command = shown_command(&run.command, 30);
        writeln!(
            terminal.out,
            "{}  {}  {}  {:>8}  {command}",
            short(run.id),
            columns(run.status.as_str(), 9),
            columns(&format!("halted {}", age(run.updated_at, now)), 16),
            bytes(size),
        )?;
    }
    let what = if count == 1 { "run" } else { "runs" };
    let older = duration(arguments.older);
    writeln!(
        terminal.out,
        "{}",
        match (count, arguments.dry_run) {
            (0, _) => format!("no run halted more than {older} ago has anything to remove"),
            (_, true) =>
                format!("would remove journals and logs of {count} {what} ({})", bytes(freed)),
            (_, false) => format!("removed journals and logs of {count} {what} ({})", bytes(freed)),
        }
    )?;
    Ok(exit_code::OK)
}

/// Runs that halted before then. One that goes on is never among them.
fn old_runs(opened: &Opened, before: Timestamp) -> Result<Vec<Run>, Error> {
    let statuses = RunStatus::ALL.into_iter().filter(|status| status.is_halted()).collect();
    let filter = RunFilter { statuses, ..RunFilter::default() };
    let halted = opened.wait(opened.store.run_list(&filter))?;
    Ok(halted.into_iter().filter(|run| run.updated_at < before).collect())
}

/// What tells of the run itself, and stays.
fn kept_files(folder: &RunFolder) -> [PathBuf; 3] {
    [folder.state_file(), folder.report_markdown(), folder.report_html()]
}

/// Removes everything of a run but its `state.json` and its report.
fn remove_files(folder: &RunFolder) -> Result<(), Error> {
    let entries = match fs::read_dir(folder.path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if kept_files(folder).contains(&entry.path()) {
            continue;
        }
        // A link is removed itself, not what it leads to.
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// The bytes of a file, or of everything below a folder; nothing for what can't be read.
fn size_of(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size_of(&entry.path())).sum()
}
