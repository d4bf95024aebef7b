//! Protected files: what judges the work is not changed by it.
//!
//! They are compared by content with what they were when the run began, also after a resumption:
//! what they were is written down outside of the working directory.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstop_core::glob::Glob;
use backstop_store::RunFolder;
use sha2::{Digest as _, Sha256};

use super::walk;
use crate::git::{FileStamp, hexadecimal};
use crate::regular_file;

/// The files that are protected, and what they were.
#[derive(Debug)]
pub(crate) struct Protected {
    cwd: PathBuf,
    folder: RunFolder,
    first: Option<Prints>,
    known: Known,
}

/// What is known of all protected files at one time, and by which globs they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Prints {
    globs: Vec<String>,
    files: BTreeMap<Vec<u8>, Print>,
}

/// What can be compared of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) kind: Kind,
    /// Of its content; of a link, of where it leads to and of what is there.
    pub(super) hash: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Executable,
    Link,
    Other,
}

/// Prints by path, with the stamps of the files that they were taken of.
type Known = BTreeMap<Vec<u8>, (FileStamp, Print)>;

impl Protected {
    pub(crate) fn new(cwd: &Path, folder: RunFolder) -> Self {
        Self { cwd: cwd.to_owned(), folder, first: None, known: Known::new() }
    }

    /// When a run begins: what is there now is what must stay. With `copies`, content is kept too,
    /// so that it can be put back.
    ///
    /// # Errors
    /// Some file can't be found out about, or nothing can be written down.
    pub(crate) async fn begin(&mut self, globs: &[Glob], copies: bool) -> io::Result<()> {
        let files = self.look(globs).await?;
        self.keep(Prints { globs: texts(globs), files }, copies).await
    }

    /// Whether it is known what the files were.
    pub(crate) fn is_known(&self) -> bool {
        self.first.is_some() || self.file().exists()
    }

    /// The files that are not what they were: changed, gone, replaced or new.
    ///
    /// # Errors
    /// Some file can't be found out about, or what it was is not known any more.
    pub(crate) async fn changed(
        &mut self,
        globs: &[Glob],
        copies: bool,
    ) -> io::Result<Vec<Vec<u8>>> {
        let now = self.look(globs).await?;
        let mut first = match self.first.take() {
            Some(first) => first,
            None => read(&self.file())?,
        };
        let added = texts(globs).into_iter().any(|glob| !first.globs.contains(&glob));
        if added {
            // Another policy protects more: what is there now is what it means.
            let old: Vec<Glob> =
                first.globs.iter().filter_map(|text| Glob::new(text).ok()).collect();
            let is_new = |path: &[u8]| !old.iter().any(|glob| glob.is_match(path));
            let more = now.iter().filter(|(path, _)| is_new(path));
            first.files.extend(more.map(|(path, print)| (path.clone(), print.clone())));
            first.globs.extend(texts(globs));
            first.globs.sort();
            first.globs.dedup();
            self.keep(first.clone(), copies).await?;
        }
        let names = |glob: &Glob, path: &[u8]| glob.is_match(path) || walk::begins_with(glob, path);
        let is_meant = |path: &&Vec<u8>| globs.iter().any(|glob| names(glob, path));
        let known = first.files.iter().filter(|(path, print)| now.get(*path) != Some(print));
        let lost = known.map(|(path, _)| path).filter(is_meant);
        let new = now.keys().filter(|path| !first.files.contains_key(*path));
        let mut changed: Vec<Vec<u8>> = lost.chain(new).cloned().collect();
        changed.sort_unstable();
        changed.dedup();
        self.first = Some(first);
        Ok(changed)
    }

    /// What a file was when the run began, and where its content is kept.
    pub(super) fn first(&self, path: &[u8]) -> Option<(&Print, PathBuf)> {
        let print = self.first.as_ref()?.files.get(path)?;
        Some((print, self.copies().join(&print.hash)))
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where files go that are about to be put back.
    pub(super) fn taken_away(&self, iteration: u64) -> PathBuf {
        self.folder.path().join("reverted").join(iteration.to_string())
    }

    async fn look(&mut self, globs: &[Glob]) -> io::Result<BTreeMap<Vec<u8>, Print>> {
        let (cwd, globs, known) =
            (self.cwd.clone(), globs.to_vec(), std::mem::take(&mut self.known));
        let looked = tokio::task::spawn_blocking(move || look(&cwd, &globs, &known));
        let (known, prints) = looked.await.map_err(io::Error::other)??;
        self.known = known;
        Ok(prints)
    }

    async fn keep(&mut self, prints: Prints, copies: bool) -> io::Result<()> {
        let (folder, file) = (self.folder.clone(), self.file());
        let (cwd, place) = (self.cwd.clone(), self.copies());
        let kept = tokio::task::spawn_blocking(move || {
            if copies {
                copy(&cwd, &prints, &place)?;
            }
            folder.write_whole(&file, &written(&prints))?;
            Ok::<_, io::Error>(prints)
        });
        self.first = Some(kept.await.map_err(io::Error::other)??);
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("protected")
    }

    fn copies(&self) -> PathBuf {
        self.folder.path().join("protected-files")
    }
}

fn texts(globs: &[Glob]) -> Vec<String> {
    globs.iter().map(|glob| glob.as_str().to_owned()).collect()
}

fn look(
    cwd: &Path,
    globs: &[Glob],
    known: &Known,
) -> io::Result<(Known, BTreeMap<Vec<u8>, Print>)> {
    let now = SystemTime::now();
    let (mut settled, mut prints) = (Known::new(), BTreeMap::new());
    for (name, (path, metadata)) in walk::find(cwd, globs)? {
        // What a link leads to is as much a part of what is protected as the link.
        let target = if metadata.is_symlink() { fs::metadata(&path).ok() } else { None };
        let stamp = FileStamp::of(target.as_ref().unwrap_or(&metadata));
        let known =
            known.get(&name).filter(|(before, _)| *before == stamp && !metadata.is_symlink());
        let print = match known {
            Some((_, print)) => print.clone(),
            None => print(&path, &metadata, target.as_ref()),
        };
        if stamp.is_settled(now) {
            settled.insert(name.clone(), (stamp, print.clone()));
        }
        prints.insert(name, print);
    }
    Ok((settled, prints))
}

/// One that can't be read is known by its times alone, so that it is not taken for unchanged.
fn print(path: &Path, metadata: &Metadata, target: Option<&Metadata>) -> Print {
    let is_file = metadata.is_file() || target.is_some_and(Metadata::is_file);
    let content = if is_file { hash(path) } else { Ok(String::new()) };
    let content = content.unwrap_or_else(|_| format!("unread {:?}", FileStamp::of(metadata)));
    if metadata.is_symlink() {
        let to = fs::read_link(path).unwrap_or_default();
        let executable = target.is_some_and(|target| target.mode() & 0o111 != 0);
        let mut digest = Sha256::new();
        digest.update(to.as_os_str().as_bytes());
        digest.update([0, u8::from(executable)]);
        digest.update(content);
        return Print { kind: Kind::Link, hash: hexadecimal(&digest.finalize()) };
    }
    let kind = match metadata.is_file() {
        true if metadata.mode() & 0o111 != 0 => Kind::Executable,
        true => Kind::Plain,
        false => Kind::Other,
    };
    let mut hash = content;
    if !is_hash(&hash) {
        hash = hexadecimal(&Sha256::digest(hash));
    }
    Print { kind, hash }
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = regular_file::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hexadecimal(&digest.finalize()));
        }
        digest.update(&buffer[..count]);
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Keeps the content of all files, by their hashes; of a link, where it leads to.
fn copy(cwd: &Path, prints: &Prints, place: &Path) -> io::Result<()> {
    fs::create_dir_all(place)?;
    for (name, print) in &prints.files {
        let (from, to) = (cwd.join(std::ffi::OsStr::from_bytes(name)), place.join(&print.hash));
        match print.kind {
            _ if to.exists() => {}
            Kind::Plain | Kind::Executable => drop(fs::copy(from, to)?),
            Kind::Link => fs::write(to, fs::read_link(from)?.as_os_str().as_bytes())?,
            Kind::Other => {}
        }
    }
    Ok(())
}

/// One record a file, with a zero byte at its end: its kind, its hash, its name.
fn written(prints: &Prints) -> Vec<u8> {
    let globs = serde_json::to_string(&prints.globs).unwrap_or_default();
    let mut bytes = format!("{globs}\0").into_bytes();
    for (name, print) in &prints.files {
        bytes.push(print.kind.letter());
        bytes.push(b' ');
        bytes.extend_from_slice(print.hash.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
    }
    bytes
}

fn read(file: &Path) -> io::Result<Prints> {
    let bytes = fs::read(file).map_err(|error| {
        let why = format!("what the protected files were can't be read: {error}");
        io::Error::new(error.kind(), why)
    })?;
    let damaged = || io::Error::other("what the protected files were is damaged");
    let mut records = bytes.split(|byte| *byte == 0);
    let globs = records.next().and_then(|first| serde_json::from_slice(first).ok());
    let mut prints = Prints { globs: globs.ok_or_else(damaged)?, files: BTreeMap::new() };
    for record in records.filter(|record| !record.is_empty()) {
        let mut fields = record.splitn(3, |byte| *byte == b' ');
        let kind = fields.next().and_then(Kind::of).ok_or_else(damaged)?;
        let hash = fields.next().and_then(|hash| String::from_utf8(hash.to_vec()).ok());
        let hash = hash.filter(|hash| is_hash(hash)).ok_or_else(damaged)?;
        let name = fields.next().ok_or_else(damaged)?;
        prints.files.insert(name.to_vec(), Print { kind, hash });
    }
    if bytes.last() != Some(&0) {
        return Err(damaged());
    }
    Ok(prints)
}

impl Kind {
    const ALL: [Self; 4] = [Self::Plain, Self::Executable, Self::Link, Self::Other];

    fn letter(self) -> u8 {
        match self {
            Self::Plain => b'-',
            Self::Executable => b'x',
            Self::Link => b'l',
            Self::Other => b'?',
        }
    }

    fn of(field: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| field == [kind.letter()])
    }
}

#[cfg(test)]
mod tests;
