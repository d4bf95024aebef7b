//! What backstop itself stands on: the store, the state directory, containment, git.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use backstop_runner::clock::wall_time;
use backstop_runner::recovery::is_held;
use backstop_runner::tree::{self, Containment, orphans};
use backstop_store::{Home, RunFilter, StoreError};

use super::{Finding, Health};
use crate::args::StoreArguments;
use crate::error::Error;
use crate::report::bytes;
use crate::store::Opened;

/// Everything that is worth knowing, one finding each.
pub fn examine(arguments: &StoreArguments) -> Result<Vec<Finding>, Error> {
    Containment::wanted().map_err(|error| Error::Usage(error.to_string()))?;
    let mut findings = vec![well("version", format!("backstop {}", env!("CARGO_PKG_VERSION")))];
    match Opened::new(arguments) {
        Ok(opened) => {
            findings.push(store(&opened));
            findings.push(state_directory(&opened.home));
            findings.push(containment());
            findings.extend(runs(&opened)?);
        }
        // Who names a store that can't be one has mistyped.
        Err(Error::Usage(message)) => return Err(Error::Usage(message)),
        Err(error) => {
            findings.push(Finding {
                what: "store",
                health: Health::Broken,
                words: error.to_string(),
                hint: hint_for(&error).map(str::to_owned),
            });
            findings.push(containment());
        }
    }
    findings.push(git());
    Ok(findings)
}

/// What helps where a store can't be opened.
fn hint_for(error: &Error) -> Option<&'static str> {
    match error {
        Error::Store(StoreError::Damaged(_)) => Some(OF_DAMAGE),
        // It says itself what is needed.
        Error::Store(StoreError::Newer { .. } | StoreError::OldLibrary { .. }) => None,
        _ => Some("check the directory's owner and free space, or use --store"),
    }
}

fn store(opened: &Opened) -> Finding {
    match opened.wait(opened.store.health()) {
        Ok(health) if health.problems.is_empty() => well(
            "store",
            format!(
                "{} · {} schema {} · {} · {} runs, {} events",
                health.place,
                health.engine,
                health.schema,
                bytes(health.bytes),
                health.runs,
                health.events
            ),
        ),
        Ok(health) => Finding {
            what: "store",
            health: Health::Broken,
            words: format!("{} is damaged: {}", health.place, health.problems.join("; ")),
            hint: Some(OF_DAMAGE.to_owned()),
        },
        Err(error) => {
            Finding { what: "store", health: Health::Broken, words: error.to_string(), hint: None }
        }
    }
}

/// Whether logs and `state.json` can be written. Tried, since rights do not tell all: a disk may
/// be full or mounted read-only.
fn state_directory(home: &Home) -> Finding {
    let root = home.root();
    let trial = root.join(format!(".doctor-{}", std::process::id()));
    let tried = fs::write(&trial, b"x").and_then(|()| fs::remove_file(&trial));
    match tried {
        Ok(()) => well("directory", format!("{} can be written", root.display())),
        Err(error) => Finding {
            what: "directory",
            health: Health::Broken,
            words: format!("{} can't be written: {error}", root.display()),
            hint: Some("check its owner and the free space, or use --store".into()),
        },
    }
}

fn containment() -> Finding {
    let level = tree::containment_available();
    let (health, words, hint) = match level {
        Containment::Cgroup => (Health::Well, "cgroup: no process can escape a stop", None),
        Containment::Subreaper => (
            Health::Well,
            "sub-reaper: processes that leave their group are found and ended",
            Some(
                "with a delegated cgroup nothing can escape at all: \
                 `systemd-run --user --scope -p Delegate=yes backstop run …`",
            ),
        ),
        Containment::Group => (
            Health::Warning,
            "process group only: what calls setsid escapes a stop",
            Some("sub-reaping needs Linux"),
        ),
    };
    Finding { what: "containment", health, words: words.to_owned(), hint: hint.map(str::to_owned) }
}

/// Runs whose supervisor is gone, and processes that one has left behind.
fn runs(opened: &Opened) -> Result<Vec<Finding>, Error> {
    let now = wall_time();
    let mut findings = Vec::new();
    let recent = RunFilter { limit: Some(LOOKED_AT), ..RunFilter::default() };
    for run in opened.wait(opened.store.run_list(&recent))? {
        let lease = opened.wait(opened.store.lease_fetch(run.id))?;
        let is_driven = lease.as_ref().is_some_and(|lease| is_held(lease, now));
        // Processes do not outlive a boot, so old runs have none.
        let is_recent = now.since(run.updated_at) < RECENT || !run.status.is_halted();
        if is_driven || !run.supervised || !is_recent {
            continue;
        }
        let left = orphans::find(run.id, lease.as_ref().map(|lease| &lease.holder));
        if !left.is_empty() {
            let names: Vec<_> =
                left.iter().map(|one| format!("{} {}", one.pid, one.name)).collect();
            findings.push(Finding {
                what: "orphans",
                health: Health::Warning,
                words: format!("run {} has left processes behind: {}", run.id, names.join(", ")),
                hint: Some(format!("backstop doctor {} --end-orphans", run.id)),
            });
        }
        if !run.status.is_halted() {
            findings.push(Finding {
                what: "interrupted",
                health: Health::Warning,
                words: format!("run {} goes on, but its supervisor is gone", run.id),
                hint: Some(format!("backstop resume {}", run.id)),
            });
        }
    }
    if findings.is_empty() {
        findings.push(well("orphans", "no run has left a process behind".to_owned()));
    }
    Ok(findings)
}

fn git() -> Finding {
    let asked = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => {
            well("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => Finding {
            what: "git",
            health: Health::Warning,
            words: "git can't be run: progress is not seen in commits, and work is not kept".into(),
            hint: None,
        },
    }
}

fn well(what: &'static str, words: String) -> Finding {
    Finding { what, health: Health::Well, words, hint: None }
}

const LOOKED_AT: u32 = 50;
const RECENT: Duration = Duration::from_secs(7 * 24 * 3600);

const OF_DAMAGE: &str = "copy it away before anything else, then start with a fresh one";
