//! The files that some globs name, wherever they lie: tracked, untracked or ignored.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use backstop_core::glob::{Glob, Reached};

/// A folder that is still to be read.
struct Folder<'a> {
    path: PathBuf,
    /// As seen from the working directory, with a `/` at its end.
    name: Vec<u8>,
    reached: Vec<(&'a Glob, Reached)>,
}

/// Finds the files. Folders in which nothing can be found are not read, and links are followed
/// only where a glob names them letter by letter.
///
/// # Errors
/// A folder in which something might be can't be read.
pub(super) fn find(
    cwd: &Path,
    globs: &[Glob],
) -> io::Result<BTreeMap<Vec<u8>, (PathBuf, Metadata)>> {
    let mut found = BTreeMap::new();
    let mut open = starts(cwd, globs);
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder.path) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => continue,
            Err(error) => return Err(told(&folder.path, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| told(&folder.path, &error))?;
            let base = entry.file_name();
            if IGNORED.iter().any(|ignored| base == *ignored) {
                continue;
            }
            let reached: Vec<_> = reach(&folder.reached, base.as_bytes());
            if reached.is_empty() {
                continue;
            }
            let path = entry.path();
            let name = [&folder.name[..], base.as_bytes()].concat();
            let kind = entry.file_type().map_err(|error| told(&path, &error))?;
            let is_named = reached.iter().any(|(glob, reached)| glob.accepts(reached));
            let leads_on = kind.is_symlink()
                && path.is_dir()
                && reached.iter().any(|(glob, _)| begins_with(glob, &name));
            if kind.is_dir() || leads_on {
                let below = reach(&reached, b"/");
                let is_git =
                    base == ".git" && !below.iter().any(|(glob, _)| begins_with(glob, &name));
                if !below.is_empty() && !is_git && name.len() < LONGEST_NAME {
                    let name = [&name[..], b"/"].concat();
                    open.push(Folder { path: path.clone(), name, reached: below });
                }
            }
            if !kind.is_dir() && (is_named || leads_on) {
                match path.symlink_metadata() {
                    Ok(metadata) => drop(found.insert(name, (path, metadata))),
                    Err(error) if is_gone(&error) => {}
                    Err(error) => return Err(told(&path, &error)),
                }
            }
        }
    }
    Ok(found)
}

/// The working directory, and the folders above it that globs lead up to.
fn starts<'a>(cwd: &Path, globs: &'a [Glob]) -> Vec<Folder<'a>> {
    let mut open: Vec<Folder<'a>> = Vec::new();
    for glob in globs {
        let levels = (1..=MOST_LEVELS).take_while(|levels| glob.leads_up(*levels)).count();
        let name = b"../".repeat(levels);
        let path = cwd.join(OsStr::from_bytes(&name));
        let reached = glob.reach(&glob.start(), &name);
        match open.iter_mut().find(|folder| folder.name == name) {
            Some(folder) => folder.reached.push((glob, reached)),
            None => open.push(Folder { path, name, reached: vec![(glob, reached)] }),
        }
    }
    open
}

fn reach<'a>(from: &[(&'a Glob, Reached)], part: &[u8]) -> Vec<(&'a Glob, Reached)> {
    let next = from.iter().map(|(glob, reached)| (*glob, glob.reach(reached, part)));
    next.filter(|(_, reached)| !reached.is_nowhere()).collect()
}

/// Whether a glob names a path, or what is below it, letter by letter.
pub(super) fn begins_with(glob: &Glob, name: &[u8]) -> bool {
    let text = glob.as_str().as_bytes();
    let text = text.strip_prefix(b"./").unwrap_or(text);
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn told(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// What running tests leaves behind and judges nothing.
const IGNORED: &[&str] =
    &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store"];
/// A folder that was mounted into itself ends somewhere.
const LONGEST_NAME: usize = 4096;
const MOST_LEVELS: usize = 64;
