//! Settings on disk: replaced whole, with a copy of what was there.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Replaces the file, and keeps what it held beside it.
pub fn keeping(path: &Path, old: Option<&str>, new: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    if let Some(old) = old {
        write(&copy_of(path), old, path)?;
    }
    write(path, new, path)
}

/// Replaces the file by what it is without our entries, and removes what was kept. A file of which
/// nothing would be left goes too.
pub fn undo(path: &Path, new: &str) -> io::Result<()> {
    if new.is_empty() {
        fs::remove_file(path)?
    } else {
        write(path, new, path)?
    }
    match fs::remove_file(copy_of(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

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
