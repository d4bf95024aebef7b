//! `state.json` of a run that many may write to at once.

use std::fs::{self, File};
use std::io;

use backstop_core::id::RunId;
use backstop_store::{Home, Store, StoreError};

/// Replaces `state.json` by what the store has now. Answers with what went wrong: the store has
/// everything, so a file that can't be written is a pity and no fault.
///
/// Who comes later must not be overtaken by one who committed earlier and wrote the file later. So
/// the state is read again under a lock: the last one to hold it writes the last state.
pub(super) async fn replace(
    store: &dyn Store,
    home: &Home,
    run: RunId,
) -> Result<Option<String>, StoreError> {
    let folder = home.run(run);
    let complaint = |error: io::Error| {
        Some(format!("`{}` could not be written: {error}", folder.state_file().display()))
    };
    let locked = fs::create_dir_all(folder.path())
        .and_then(|()| File::create(folder.path().join("state.lock")))
        .and_then(|file| file.lock().map(|()| file));
    let _lock = match locked {
        Ok(lock) => lock,
        Err(error) => return Ok(complaint(error)),
    };
    let Some(current) = store.run_fetch(run).await? else { return Ok(None) };
    let text = format!("{:#}\n", current.state);
    let temporary = folder.path().join(format!(".state.json.{}", std::process::id()));
    let written =
        fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, folder.state_file()));
    Ok(written.err().and_then(complaint))
}
