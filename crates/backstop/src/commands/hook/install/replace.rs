//! Settings on disk: replaced whole, with a copy of what was there.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Replaces the file, and keeps what it held beside it. An empty copy stands for a project without the
/// folder; the user's own folder stays in any case. That the file itself was empty is said in words.
pub fn keeping(path: &Path, old: Option<&str>, new: &str, is_users: bool) -> io::Result<()> {
    let mut is_ours = false;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        is_ours = !is_users && !folder.exists();
        fs::create_dir_all(folder)?;
    }
    match old {
        Some("") => write(&copy_of(path), WAS_EMPTY, path)?,
        Some(old) => write(&copy_of(path), old, path)?,
        None if is_ours => write(&copy_of(path), "", path)?,
        None => {}
    }
    write(path, new, path)
}

/// What the file held, from the copy; none if there was no file.
pub fn kept(copy: Option<String>) -> Option<String> {
    let copy = copy.filter(|copy| !copy.is_empty())?;
    Some(if copy == WAS_EMPTY { String::new() } else { copy })
}

/// Replaces the file by what it is without our entries, and removes what was kept. A file of which
/// nothing would be left goes too, unless it was there before, and its folder if that came with it and
/// holds nothing else.
pub fn undo(path: &Path, new: &str) -> io::Result<()> {
    let copy = fs::read(copy_of(path)).ok();
    let is_ours = copy.as_ref().is_some_and(Vec::is_empty);
    let was_empty = copy.is_some_and(|copy| copy == WAS_EMPTY.as_bytes());
    if new.is_empty() && !was_empty {
        fs::remove_file(path)?
    } else {
        write(path, new, path)?
    }
    match fs::remove_file(copy_of(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Some(folder) = path.parent().filter(|_| new.is_empty() && is_ours) {
        // One that holds something else is not removed by this.
        fs::remove_dir(folder).ok();
    }
    Ok(())
}

/// No settings could be this.
const WAS_EMPTY: &str = "(the file was empty)\n";

/// Where the file as it was is kept.
pub fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".before-backstop");
    path.with_file_name(name)
}

/// Whoever reads the file finds the old or the new one. A link stays one.
fn write(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        if let Ok(data) = fs::metadata(like) {
            file.set_permissions(data.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&temporary, &path));
    if replaced.is_err() {
        fs::remove_file(&temporary).ok();
    }
    replaced
}
