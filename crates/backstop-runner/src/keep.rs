//! The work is kept: what a halt finds in the work tree becomes a commit under a ref of our own.

use std::path::Path;

use backstop_core::id::RunId;

pub use crate::git::GitError;
use crate::git::{Repository, Workbench};
use crate::tree::Tree;

/// Keeps the state of the work tree, tracked and untracked but not ignored, as a commit on top of
/// HEAD. The user's index, HEAD, branches and files stay as they are, and no hook runs.
///
/// Gives the name of the ref; none outside a repository, or in one without anything in it. What an
/// earlier halt kept under the same name stays reachable from it.
///
/// # Errors
/// Git is missing, or the repository is broken or can't be written to.
pub async fn keep(
    cwd: &Path,
    run: RunId,
    iteration: u64,
    message: &str,
    tree: &Tree,
) -> Result<Option<String>, GitError> {
    let Some(repository) = Repository::find(cwd, tree).await? else { return Ok(None) };
    let mut bench = Workbench::for_keeping(&repository, run.as_str());
    let kept = keep_in(&repository, &mut bench, &reference(run, iteration), message, tree).await;
    bench.tidy().await;
    kept
}

/// As [`keep`], of an iteration whose files are about to be put back: under a name of its own, so
/// that what the halt keeps does not take its place.
///
/// # Errors
/// As [`keep`].
pub async fn keep_before_revert(
    cwd: &Path,
    run: RunId,
    iteration: u64,
    message: &str,
    tree: &Tree,
) -> Result<Option<String>, GitError> {
    let Some(repository) = Repository::find(cwd, tree).await? else { return Ok(None) };
    let mut bench = Workbench::for_keeping(&repository, run.as_str());
    let reference = reference_before_revert(run, iteration);
    let kept = keep_in(&repository, &mut bench, &reference, message, tree).await;
    bench.tidy().await;
    kept
}

/// The ref under which an iteration's work is kept.
pub fn reference(run: RunId, iteration: u64) -> String {
    format!("refs/backstop/{run}/{iteration}")
}

/// The ref under which it is kept before files are put back.
pub fn reference_before_revert(run: RunId, iteration: u64) -> String {
    format!("{}-reverted", reference(run, iteration))
}

/// The refs under which work of a run is kept; none outside a repository.
///
/// # Errors
/// Git is missing, or the repository is broken.
pub async fn kept(cwd: &Path, run: RunId, tree: &Tree) -> Result<Vec<String>, GitError> {
    let Some(repository) = Repository::find(cwd, tree).await? else { return Ok(Vec::new()) };
    kept_in(&repository, run, tree).await
}

/// Lets go of the work that was kept of a run, and says under which refs it was. What was kept is
/// gone when git next tidies up, unless something else leads to it.
///
/// # Errors
/// As [`kept`], or the repository can't be written to.
pub async fn let_go(cwd: &Path, run: RunId, tree: &Tree) -> Result<Vec<String>, GitError> {
    let Some(repository) = Repository::find(cwd, tree).await? else { return Ok(Vec::new()) };
    let references = kept_in(&repository, run, tree).await?;
    for reference in &references {
        repository.ask(tree, &["update-ref", "--no-deref", "-d", reference], &[]).await?;
    }
    Ok(references)
}

async fn kept_in(
    repository: &Repository,
    run: RunId,
    tree: &Tree,
) -> Result<Vec<String>, GitError> {
    let place = format!("refs/backstop/{run}/");
    let words = ["for-each-ref", "--format=%(refname)", &place];
    let listed = repository.ask(tree, &words, &[]).await?;
    Ok(listed.lines().map(str::to_owned).collect())
}

async fn keep_in(
    repository: &Repository,
    bench: &mut Workbench,
    reference: &str,
    message: &str,
    tree: &Tree,
) -> Result<Option<String>, GitError> {
    let head = repository.head(tree).await?;
    let state = repository.work_tree(tree, bench).await?.tree;
    let earlier = earlier(repository, reference, tree).await;
    if earlier.as_ref().is_some_and(|(_, kept)| *kept == state) {
        return Ok(Some(reference.to_owned()));
    }
    let commit = match &head {
        None if state == EMPTY_TREE || state == EMPTY_TREE_SHA256 => return Ok(None),
        Some(head) if head.tree == state && earlier.is_none() => head.commit.clone(),
        _ => {
            let parents = head.iter().map(|head| &head.commit);
            let parents = parents.chain(earlier.iter().map(|(commit, _)| commit));
            let mut words = vec!["commit-tree", state.as_str(), "-m", message];
            words.extend(parents.flat_map(|parent| ["-p", parent.as_str()]));
            let identity = IDENTITY.map(|(name, value)| (name.into(), Some(value.into())));
            repository.ask(tree, &words, &identity).await?
        }
    };
    let identity = IDENTITY.map(|(name, value)| (name.into(), Some(value.into())));
    repository.ask(tree, &["update-ref", "--no-deref", reference, &commit], &identity).await?;
    Ok(Some(reference.to_owned()))
}

/// The commit that the ref names already, and its tree.
async fn earlier(
    repository: &Repository,
    reference: &str,
    tree: &Tree,
) -> Option<(String, String)> {
    let kept_tree = format!("{reference}^{{tree}}");
    let answer = repository.ask(tree, &["rev-parse", reference, &kept_tree], &[]).await.ok()?;
    let (commit, tree) = answer.split_once('\n')?;
    Some((commit.to_owned(), tree.to_owned()))
}

/// Whoever the user is, this was not their commit.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "backstop"),
    ("GIT_AUTHOR_EMAIL", "backstop@localhost"),
    ("GIT_COMMITTER_NAME", "backstop"),
    ("GIT_COMMITTER_EMAIL", "backstop@localhost"),
];

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
