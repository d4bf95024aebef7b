//! The report of a run, made from its journal, and the files of it that every halt leaves.

use std::io;

use backstop_core::event::Event;
use backstop_core::facts::Facts;
use backstop_core::id::RunId;
use backstop_report::{About, Ending, Report, ReportBuilder};
use backstop_store::{Run, RunFolder, Store, StoreError, StoredPolicy};

use crate::clock::wall_time;
use crate::launch::{Launch, Stdin};
use crate::{journalled, loading};

/// Reads the whole journal of a run, a page at a time, and tells of it.
///
/// # Errors
/// What is stored of the run can't be read.
pub async fn make(store: &dyn Store, run: &Run, interrupted: bool) -> Result<Report, StoreError> {
    let stored = store.policy_fetch(&run.policy_hash).await?.ok_or_else(|| {
        StoreError::Damaged(format!("the policy {} of run {} is gone", run.policy_hash, run.id))
    })?;
    let engine = journalled::engine(loading::policy(&stored)?, Facts::default());
    let mut builder = ReportBuilder::new(about(run, &stored), engine);
    let mut after = 0;
    loop {
        let events = store.event_list(run.id, after, PAGE).await?;
        let is_last = events.len() < PAGE as usize;
        for stored in events {
            after = stored.seq;
            builder.take(Event::from_json(stored.body.as_bytes()).map_err(|error| {
                let what = format!("event {after} of run {} can't be read: {error}", run.id);
                StoreError::Damaged(what)
            })?);
        }
        if is_last {
            break;
        }
    }
    let is_over = run.status.is_halted() || run.pruned;
    let state = if is_over { serde_json::from_value(run.state.clone()).ok() } else { None };
    let (status, pruned, now) = (run.status, run.pruned, wall_time());
    Ok(builder.finish(&Ending { status, state, interrupted, pruned, now }))
}

/// Writes the report of a halted run into its folder. Answers with what went wrong: the journal has
/// everything that it would say, so a report that can't be written is a pity and no fault.
pub async fn write(store: &dyn Store, folder: &RunFolder, run: RunId) -> Option<String> {
    let made = async {
        let run = store.run_fetch(run).await?.ok_or(StoreError::NoRun(run))?;
        make(store, &run, false).await
    };
    let written = match made.await {
        Ok(report) => folder
            .write_whole(&folder.report_markdown(), report.to_markdown().as_bytes())
            .and_then(|()| folder.write_whole(&folder.report_html(), report.to_html().as_bytes())),
        Err(error) => Err(io::Error::other(error)),
    };
    written.err().map(|error| format!("the report could not be written: {error}"))
}

fn about(run: &Run, policy: &StoredPolicy) -> About {
    let launch: Launch = serde_json::from_value(run.launch.clone()).unwrap_or_default();
    let policy_name = launch.policy_name(&policy.hash).unwrap_or(&policy.source_name).to_owned();
    About {
        run: run.id,
        command: run.command.clone(),
        cwd: run.cwd.clone(),
        labels: run.labels.clone(),
        created_at: run.created_at,
        supervised: run.supervised,
        once: launch.once,
        stdin: match launch.stdin {
            Stdin::Nothing => None,
            Stdin::File(path) => Some(path.to_string_lossy().into_owned()),
            Stdin::Kept => Some("what was piped in".to_owned()),
        },
        policy_name,
    }
}

/// Small, so that long journals take no more memory than short ones.
const PAGE: u32 = 4_096;

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;
    use backstop_core::policy::Policy;
    use backstop_store::{Home, Location};

    use super::*;
    use crate::unsupervised::{PinnedPolicy, begin, end};

    #[tokio::test(flavor = "current_thread")]
    async fn a_report_that_is_lost_can_be_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store = backstop_store::open(&Location::Embedded(home.clone())).await.unwrap();
        let pinned = PinnedPolicy {
            policy: Policy::load(b"", Syntax::Toml).unwrap().policy,
            text: None,
            name: "p.toml".to_owned(),
            put_by: "ann".to_owned(),
        };
        let run = begin(&*store, &home, &pinned, &Launch::default()).await.unwrap();
        let ended = end(&*store, &home, run, "ann".to_owned()).await.unwrap();
        assert_eq!(ended.warnings, [""; 0]);
        let files = [home.run(run).report_markdown(), home.run(run).report_html()];
        assert!(files.iter().all(|file| file.exists()));
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        assert_eq!(write(&*store, &home.run(run), run).await, None);
        assert!(files.iter().all(|file| file.exists()));
    }
}
