//! Watches directories for the files that are asked about, and falls back to looking now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::resolved_path::ResolvedPath;

/// The watched directories, and which questions depend on what in them.
#[derive(Debug)]
pub(super) struct FileWatch {
    armed: Mutex<Armed>,
    changes: Arc<Changes>,
}

#[derive(Debug, Default)]
struct Armed {
    /// None: nothing can be watched.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// What each question needs.
    needed: BTreeMap<usize, Vec<PathBuf>>,
    trouble: Option<String>,
    has_trouble: bool,
}

/// What the watching thread tells. It must never wait for one who waits for it, so these locks are
/// not those of [`Armed`].
#[derive(Debug, Default)]
struct Changes {
    steps: Mutex<BTreeMap<usize, BTreeSet<PathBuf>>>,
    touched: Mutex<BTreeSet<usize>>,
    wake: Notify,
    is_polling: AtomicBool,
}

impl FileWatch {
    pub(super) fn new() -> Self {
        let changes = Arc::new(Changes::default());
        let heard = Arc::clone(&changes);
        let watcher =
            notify::recommended_watcher(move |event: notify::Result<Event>| match event {
                Ok(event) => heard.take_in(&event),
                // What was missed is unknown.
                Err(_) => heard.touch_all(),
            });
        let this = Self { armed: Mutex::default(), changes };
        {
            let mut armed = lock(&this.armed);
            match watcher {
                Ok(watcher) => armed.watcher = Some(watcher),
                Err(error) => this.poll_instead(&mut armed, &error.to_string()),
            }
        }
        this
    }

    /// One that can't watch.
    #[cfg(test)]
    pub(super) fn polling() -> Self {
        let this = Self { armed: Mutex::default(), changes: Arc::default() };
        this.poll_instead(&mut lock(&this.armed), "it was told so");
        this
    }

    /// Watches what a question depends on, and nothing that no question depends on. May wait for
    /// the file system.
    pub(super) fn arm(&self, question: usize, path: &ResolvedPath) {
        // First, so that nothing that is heard from now on is taken for somebody else's.
        lock(&self.changes.steps).insert(question, path.steps.clone());
        let mut armed = lock(&self.armed);
        let Armed { watcher: Some(watcher), watched, needed, .. } = &mut *armed else { return };
        needed.insert(question, path.folders.clone());
        let mut refusal = None;
        for (place, folder) in path.folders.iter().enumerate() {
            // Also if it is watched: it may be another directory of the same name by now.
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    watched.insert(folder.clone());
                }
                // It went away again; the one above tells when it comes back.
                Err(error) if is_gone(&error) => {
                    watched.remove(folder);
                }
                // Directories high above that can't be read don't often change.
                Err(_) if place + 1 < path.folders.len() => {}
                Err(error) => refusal = Some(refused(folder, &error)),
            }
            if is_remote(folder) && refusal.is_none() {
                refusal = Some(format!(
                    "`{}` is on a network file system, which does not tell of all changes",
                    folder.display()
                ));
            }
        }
        let unneeded: Vec<_> = watched
            .iter()
            .filter(|folder| !needed.values().any(|needed| needed.contains(folder)))
            .cloned()
            .collect();
        for folder in unneeded {
            watched.remove(&folder);
            // It may have gone, and its watch with it.
            drop(watcher.unwatch(&folder));
        }
        if let Some(refusal) = refusal {
            self.poll_instead(&mut armed, &refusal);
        }
    }

    /// The questions that something happened to. Given up, nothing is lost.
    pub(super) async fn touched(&self) -> BTreeSet<usize> {
        loop {
            let touched = std::mem::take(&mut *lock(&self.changes.touched));
            if !touched.is_empty() {
                return touched;
            }
            self.changes.wake.notified().await;
        }
    }

    /// Whether files have to be looked at now and then, watched or not.
    pub(super) fn is_polling(&self) -> bool {
        self.changes.is_polling.load(Ordering::Relaxed)
    }

    /// Why files can't be watched, once.
    pub(super) fn take_trouble(&self) -> Option<String> {
        lock(&self.armed).trouble.take()
    }

    fn poll_instead(&self, armed: &mut Armed, why: &str) {
        self.changes.is_polling.store(true, Ordering::Relaxed);
        // So that one who waits sees that there is something to wait for.
        self.changes.wake.notify_one();
        if !std::mem::replace(&mut armed.has_trouble, true) {
            armed.trouble =
                Some(format!("files are looked at once a second instead of watched: {why}"));
        }
    }
}

impl Changes {
    fn take_in(&self, event: &Event) {
        if event.need_rescan() {
            return self.touch_all();
        }
        let is_change = match event.kind {
            // Looking must not look like a change, or each look would cause the next.
            EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
            _ => true,
        };
        if !is_change {
            return;
        }
        let hit: Vec<_> = {
            let steps = lock(&self.steps);
            let hits = |steps: &BTreeSet<PathBuf>| {
                event.paths.iter().any(|path| {
                    // Also a directory above: it may have gone, with all that was in it.
                    steps.contains(path) || steps.iter().any(|step| step.parent() == Some(path))
                })
            };
            steps.iter().filter(|(_, steps)| hits(steps)).map(|(question, _)| *question).collect()
        };
        self.touch(hit);
    }

    fn touch_all(&self) {
        let all: Vec<_> = lock(&self.steps).keys().copied().collect();
        self.touch(all);
    }

    fn touch(&self, questions: Vec<usize>) {
        if !questions.is_empty() {
            lock(&self.touched).extend(questions);
            self.wake.notify_one();
        }
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

fn refused(folder: &Path, error: &notify::Error) -> String {
    match error.kind {
        ErrorKind::MaxFilesWatch => {
            "too many files are watched already; see `fs.inotify.max_user_watches`".to_owned()
        }
        _ => format!("`{}` can't be watched: {error}", folder.display()),
    }
}

/// Whether others can change files there without this machine's knowing.
#[cfg(target_os = "linux")]
fn is_remote(folder: &Path) -> bool {
    /// AFS, Ceph, CIFS, FUSE, NFS, SMB, SMB 2 and 9P, as `statfs(2)` names them.
    const REMOTE: &[u32] = &[
        0x5346_414F,
        0x00C3_6400,
        0xFF53_4D42,
        0x6573_5546,
        0x6969,
        0x517B,
        0xFE53_4D42,
        0x0102_1997,
    ];
    rustix::fs::statfs(folder).is_ok_and(|file_system| {
        // The same bits in a word of the system's size.
        REMOTE.iter().any(|remote| *remote as rustix::fs::FsWord == file_system.f_type)
    })
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_folder: &Path) -> bool {
    false
}

/// Nothing that holds one of these locks can panic half-way through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn reading_a_file_is_not_a_change_of_it_nor_is_a_change_of_its_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("read"), "text").unwrap();
        let watch = FileWatch::new();
        for (question, name) in ["read", "written"].into_iter().enumerate() {
            watch.arm(question, &ResolvedPath::follow(&root, Path::new(name)).unwrap());
        }
        std::fs::read(root.join("read")).unwrap();
        std::fs::write(root.join("neighbour"), "text").unwrap();
        // Changes are told in their order: when this one is, the others would have been.
        std::fs::write(root.join("written"), "text").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let touched = runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(60), watch.touched()).await
        });
        assert_eq!(touched.unwrap(), BTreeSet::from([1]));
    }

    #[test]
    fn what_no_question_needs_any_longer_is_not_watched() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a")).unwrap();
        let watch = FileWatch::new();
        watch.arm(0, &ResolvedPath::follow(&root, Path::new("a/file")).unwrap());
        assert_eq!(lock(&watch.armed).watched, BTreeSet::from([root.clone(), root.join("a")]));
        watch.arm(0, &ResolvedPath::follow(&root, Path::new("file")).unwrap());
        assert_eq!(lock(&watch.armed).watched, BTreeSet::from([root]));
    }
}
