//! `backstop prune`: removes what old runs left behind, but not what is known of them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_runner::keep;
use backstop_runner::tree::Tree;
use backstop_store::{Run, RunFilter, RunFolder};

use super::operate::refuse_if_supervised;
use crate::args::PruneArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{age, bytes, columns, duration, shown_command};
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &PruneArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    refuse_if_supervised(&opened, "prune")?;
    let now = wall_time();
    let before = now.minus(arguments.older);
    let old = old_runs(&opened, before)?;
    let (mut freed, mut count, mut references) = (0, 0, 0);
    if !arguments.dry_run {
        opened.wait(opened.store.run_prune(before))?;
    }
    for run in &old {
        let folder = opened.home.run(run.id);
        let size = size_of(folder.path())
            - kept_files(&folder).iter().map(|file| size_of(file)).sum::<u64>();
        let kept = kept_work(&opened, run, arguments.dry_run, terminal);
        references += kept;
        // A journal that is gone and logs that are gone: somebody was here before.
        if run.pruned && size == 0 && kept == 0 {
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
            run.id,
            columns(run.status.as_str(), 9),
            columns(&format!("halted {}", age(run.updated_at, now)), 16),
            bytes(size),
        )?;
    }
    let what = if count == 1 { "run" } else { "runs" };
    let older = duration(arguments.older);
    let kept = match references {
        0 => String::new(),
        1 => ", and 1 state of work that was kept in git".to_owned(),
        many => format!(", and {many} states of work that were kept in git"),
    };
    writeln!(
        terminal.out,
        "{}",
        match (count, arguments.dry_run) {
            (0, _) => format!("no run halted more than {older} ago has anything to remove"),
            (_, true) =>
                format!("would remove journals and logs of {count} {what} ({}){kept}", bytes(freed)),
            (_, false) =>
                format!("removed journals and logs of {count} {what} ({}){kept}", bytes(freed)),
        }
    )?;
    Ok(exit_code::OK)
}

/// Lets go of the work that was kept of a run in its repository, if that is still there. Says how
/// many states there were.
fn kept_work(opened: &Opened, run: &Run, is_dry: bool, terminal: &mut Terminal) -> usize {
    let (cwd, tree) = (Path::new(&run.cwd), Tree::of_groups(run.id));
    if !cwd.is_dir() {
        return 0;
    }
    let references = match is_dry {
        true => opened.wait(keep::kept(cwd, run.id, &tree)),
        false => opened.wait(keep::let_go(cwd, run.id, &tree)),
    };
    match references {
        Ok(references) => references.len(),
        Err(error) => {
            let run = run.id;
            terminal.remark(&format!("warning: the work kept of run {run} stays in git: {error}"));
            0
        }
    }
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
