//! Claims: which files a run says that it may change, and who else says so of the same.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use backstop_core::glob::Glob;
use backstop_core::id::RunId;
use backstop_core::policy::GuardSettings;
use backstop_core::state::RunStatus;
use backstop_store::{Run, RunFilter, Store, StoreError};

use crate::clock::wall_time;
use crate::tree::orphans;
use crate::{loading, recovery};

/// What a run claims, as seen from the top of its work tree.
#[derive(Debug)]
pub(crate) struct Claims {
    top: PathBuf,
    /// As they were written, and as they read from the top.
    globs: Vec<(String, Glob)>,
}

impl Claims {
    /// Without guards, or without `allow`, a run claims everything.
    pub(crate) fn of(cwd: &Path, settings: Option<&GuardSettings>) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let top = cwd.ancestors().find(is_top).unwrap_or(&cwd).to_owned();
        let folders: Vec<&[u8]> = cwd
            .strip_prefix(&top)
            .map(|below| below.iter().map(OsStrExt::as_bytes).collect())
            .unwrap_or_default();
        let allowed = settings.and_then(|settings| settings.allow.as_ref());
        let globs = match allowed {
            Some(allowed) => allowed
                .0
                .iter()
                .filter_map(|glob| {
                    Some((glob.as_str().to_owned(), glob.seen_from_above(&folders)?))
                })
                .collect(),
            None => Glob::new("**").map(|glob| ("**".to_owned(), glob)).into_iter().collect(),
        };
        Self { top, globs }
    }

    /// A claim of this run that is one of the other too.
    fn shared_with(&self, other: &Self) -> Option<&str> {
        let is_shared =
            |own: &&(String, Glob)| other.globs.iter().any(|(_, glob)| glob.overlaps(&own.1));
        let same_tree = self.top == other.top;
        self.globs.iter().filter(|_| same_tree).find(is_shared).map(|(text, _)| text.as_str())
    }
}

/// The claims that active runs share with this one, each with the run that does.
///
/// # Errors
/// The store can't be asked.
pub(crate) async fn shared(
    store: &dyn Store,
    own: RunId,
    is_new: bool,
    claims: &Claims,
) -> Result<Vec<String>, StoreError> {
    let statuses = vec![RunStatus::Running, RunStatus::Paused];
    let active = store.run_list(&RunFilter { statuses, ..RunFilter::default() }).await?;
    let mut shared = Vec::new();
    // Of two that begin at the same time only the later one yields: names begin with the time.
    let comes_first = |other: &RunId| *other < own || !is_new;
    for run in active.into_iter().filter(|run| run.id != own && comes_first(&run.id)) {
        let Some(lease) = store.lease_fetch(run.id).await? else { continue };
        // A supervisor that was killed may have left behind what it ran.
        let what = match recovery::is_held(&lease, wall_time()) {
            true => "run",
            false if lease.released => continue,
            false if orphans::find(run.id, Some(&lease.holder)).is_empty() => continue,
            false => "left-over processes of run",
        };
        if let Some(glob) = claims.shared_with(&claims_of(store, &run).await?) {
            shared.push(format!("{glob} ({what} {})", run.id));
        }
    }
    Ok(shared)
}

async fn claims_of(store: &dyn Store, run: &Run) -> Result<Claims, StoreError> {
    let stored = store.policy_fetch(&run.policy_hash).await?;
    // What can't be read may claim anything.
    let policy = stored.and_then(|stored| loading::policy(&stored).ok());
    let settings = policy.as_ref().and_then(|policy| policy.settings.guards.as_ref());
    Ok(Claims::of(Path::new(&run.cwd), settings))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use backstop_core::document::Syntax;
    use backstop_core::policy::Policy;
    use rstest::rstest;

    use super::*;

    fn claims(cwd: &Path, allow: Option<&[&str]>) -> Claims {
        let allow = allow.map_or(String::new(), |globs| format!("allow = {globs:?}\n"));
        let text = format!("[limits]\niterations = 1\n[guards]\n{allow}");
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        Claims::of(cwd, policy.settings.guards.as_ref())
    }

    #[rstest]
    #[case("", None, "", None, true)]
    #[case("", None, "web", None, true)]
    #[case("", Some(&["src/**"][..]), "", None, true)]
    #[case("", Some(&["src/**"][..]), "", Some(&["docs/**"][..]), false)]
    #[case("", Some(&["src/**"][..]), "", Some(&["docs/**", "src/core/*.rs"][..]), true)]
    #[case("", Some(&["src/**"][..]), "web", Some(&["src/**"][..]), false)]
    #[case("", Some(&["web/**"][..]), "web", Some(&["src/**"][..]), true)]
    #[case("", Some(&["src/**"][..]), "web", Some(&["../src/a"][..]), true)]
    #[case("web", Some(&["."][..]), "docs", Some(&["."][..]), false)]
    fn two_runs_in_one_repository(
        #[case] one: &str,
        #[case] allow_one: Option<&[&str]>,
        #[case] two: &str,
        #[case] allow_two: Option<&[&str]>,
        #[case] expected: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in [".git", "web", "docs"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let one = claims(&folder.path().join(one), allow_one);
        let two = claims(&folder.path().join(two), allow_two);
        assert_eq!(one.shared_with(&two).is_some(), expected);
        assert_eq!(two.shared_with(&one).is_some(), expected);
    }

    #[test]
    fn other_work_trees_and_other_folders_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["one/.git", "two", "plain/inner"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("two/.git"), "gitdir: ../one/.git/worktrees/two\n").unwrap();
        std::os::unix::fs::symlink(path("one"), path("link")).unwrap();
        let shares = |one: &str, two: &str| {
            claims(&path(one), None).shared_with(&claims(&path(two), None)).is_some()
        };
        assert!(!shares("one", "two"), "a work tree of its own");
        assert!(shares("one", "link"), "the same by another name");
        assert!(shares("plain", "plain"));
        assert!(!shares("plain", "plain/inner"), "no repository says that they belong together");
    }
}
