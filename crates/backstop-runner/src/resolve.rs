//! Which run somebody means by a few letters.

use std::path::Path;

use backstop_core::id::RunId;
use backstop_store::{Run, RunFilter, Store, StoreError};

/// Why no run was found.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("there are no runs yet")]
    NoneYet,
    #[error("no run is called `{0}`")]
    Unknown(String),
    #[error("`{text}` may be any of {}", listed(candidates))]
    Ambiguous { text: String, candidates: Vec<Run> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds a run by its name, the beginning of it, or `latest`: the newest of this directory, else of
/// all.
pub async fn resolve(store: &dyn Store, text: &str, here: &Path) -> Result<Run, ResolveError> {
    if text.eq_ignore_ascii_case(LATEST) {
        return latest(store, here).await;
    }
    let Some(prefix) = RunId::prefix(text) else {
        return Err(ResolveError::Unknown(text.to_owned()));
    };
    if let Ok(whole) = prefix.parse() {
        return store.run_fetch(whole).await?.ok_or_else(|| ResolveError::Unknown(text.to_owned()));
    }
    let filter = RunFilter { prefix: Some(prefix), limit: Some(MOST), ..RunFilter::default() };
    let mut found = store.run_list(&filter).await?;
    match found.len() {
        0 => Err(ResolveError::Unknown(text.to_owned())),
        1 => Ok(found.remove(0)),
        _ => Err(ResolveError::Ambiguous { text: text.to_owned(), candidates: found }),
    }
}

/// The beginning of a run's name that no other run's name has: where several began at once, it is
/// longer.
///
/// # Errors
/// The store can't be read.
pub async fn shown_name(store: &dyn Store, run: RunId) -> Result<String, StoreError> {
    for length in SHORTEST..RunId::LENGTH {
        let prefix = run.as_str()[..length].to_owned();
        let filter =
            RunFilter { prefix: Some(prefix.clone()), limit: Some(2), ..RunFilter::default() };
        if store.run_list(&filter).await?.len() < 2 {
            return Ok(prefix);
        }
    }
    Ok(run.to_string())
}

async fn latest(store: &dyn Store, here: &Path) -> Result<Run, ResolveError> {
    let newest = |cwd| RunFilter { cwd, limit: Some(1), ..RunFilter::default() };
    let of_here = store.run_list(&newest(Some(here.to_string_lossy().into_owned()))).await?;
    if let Some(run) = of_here.into_iter().next() {
        return Ok(run);
    }
    let of_all = store.run_list(&newest(None)).await?;
    of_all.into_iter().next().ok_or(ResolveError::NoneYet)
}

fn listed(candidates: &[Run]) -> String {
    candidates.iter().map(|run| run.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// The word for the newest run.
pub const LATEST: &str = "latest";

/// Enough for runs that did not begin at once: names begin with the time.
const SHORTEST: usize = 8;
/// How many runs are worth naming to one who was not clear enough.
const MOST: u32 = 8;
