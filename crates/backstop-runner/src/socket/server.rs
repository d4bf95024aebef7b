//! The run's end of its sockets.

use std::fmt;
use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use backstop_store::Journal;
use tokio::net::UnixListener;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::connection::{self, Door};
use super::place::Place;
use super::protocol::Request;
use super::reporters::Reporters;

/// Waits until an event is on disk, and says so if it can't be.
pub type Durable =
    Arc<dyn Fn(u64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// Waits for a run's journal.
pub fn durable_in(journal: Journal) -> Durable {
    Arc::new(move |seq| {
        let journal = journal.clone();
        Box::pin(async move { journal.durable(seq).await.map_err(|error| error.to_string()) })
    })
}

/// What a server needs of the run that it speaks for.
#[derive(Clone)]
pub struct Settings {
    pub place: Place,
    /// To the one who owns the run.
    pub requests: mpsc::Sender<Request>,
    pub durable: Durable,
    /// Every journalled event as its line. A watcher who is too slow for its capacity is dropped.
    pub journalled: broadcast::Sender<Arc<str>>,
    /// Whether a process is inside the supervised tree, and so may not operate: the run is one of
    /// [`crate::ancestry::runs`].
    pub is_supervised: Arc<dyn Fn(u32) -> bool + Send + Sync>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Settings").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Both sockets, open until this is dropped.
#[derive(Debug)]
pub struct Server {
    place: Place,
    bound: Vec<Bound>,
    listeners: Vec<JoinHandle<()>>,
    closing: watch::Sender<bool>,
    reporters: Reporters,
}

impl Server {
    /// Opens both sockets. What an earlier supervisor left there is replaced: who holds the run's
    /// lease is the only one who may.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let (closing, _) = watch::channel(false);
        let mut server = Self {
            place: settings.place.clone(),
            bound: Vec::new(),
            listeners: Vec::new(),
            closing,
            reporters: Reporters::default(),
        };
        let settings = Arc::new(settings);
        for (door, path, most) in [
            (Door::Report, server.place.report(), MOST_REPORTERS),
            (Door::Operate, server.place.operate(), MOST_OPERATORS),
        ] {
            let (listener, bound) = bind(&path)?;
            server.bound.push(bound);
            let reporters = (door == Door::Report).then(|| server.reporters.clone());
            if let Some(reporters) = &reporters {
                reporters.listen(listener.as_fd());
            }
            let doorway = Doorway { door, most, reporters };
            let closing = server.closing.subscribe();
            let accepting = accept(listener, doorway, Arc::clone(&settings), closing);
            server.listeners.push(tokio::spawn(accepting));
        }
        Ok(server)
    }

    /// What the child finds in `BACKSTOP_SOCKET`.
    pub fn report_path(&self) -> PathBuf {
        self.place.report()
    }

    /// Those who report, to see whether all of them were heard.
    pub fn reporters(&self) -> Reporters {
        self.reporters.clone()
    }

    /// Takes no more requests, and waits a little until those that were taken are answered and
    /// watchers have been told everything.
    pub async fn finish(mut self, within: Duration) {
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(within, async {
            for listener in &mut self.listeners {
                let _ = listener.await;
            }
        })
        .await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The connections belong to the listeners' tasks and end with them.
        self.listeners.iter().for_each(JoinHandle::abort);
        self.bound.iter().for_each(Bound::remove);
        let _ = fs::remove_dir(self.place.path());
    }
}

/// A socket's file, to be removed only as long as it is ours: another supervisor may have taken
/// the run over and put its own there.
#[derive(Debug)]
struct Bound {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Bound {
    fn remove(&self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind(path: &Path) -> io::Result<(UnixListener, Bound)> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    let found = fs::symlink_metadata(path)?;
    Ok((listener, Bound { path: path.to_owned(), device: found.dev(), inode: found.ino() }))
}

/// A way in, and how many may be there at the same time.
struct Doorway {
    door: Door,
    most: usize,
    reporters: Option<Reporters>,
}

/// Accepts until the run ends. Each connection is a task of its own, so that one that hangs keeps
/// nobody waiting.
async fn accept(
    listener: UnixListener,
    doorway: Doorway,
    settings: Arc<Settings>,
    mut closing: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let told = closing.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < doorway.most => {
                    let reporters = doorway.reporters.as_ref();
                    let entered = reporters.and_then(|all| all.enter(stream.as_fd()));
                    let (settings, told) = (Arc::clone(&settings), told.clone());
                    let serving = connection::serve(stream, doorway.door, settings, told, entered);
                    connections.spawn(serving);
                }
                Ok((stream, _)) => connection::turn_away(&stream),
                // Out of file descriptors, most likely: wait until there are some again.
                Err(_) => tokio::time::sleep(AFTER_ACCEPT_ERROR).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = connection::closed(&mut closing) => break,
        }
    }
    while connections.join_next().await.is_some() {}
}

/// Each has its own limit, so that hanging reporters can't lock the operator out.
const MOST_REPORTERS: usize = 256;
const MOST_OPERATORS: usize = 64;

const AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);
