//! What is remembered of an agent's session from one hook to the next.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstop_adapters::hook::{HookAgent, Transcript};
use backstop_core::document::sha256_hex;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;
use backstop_store::Home;
use serde::{Deserialize, Serialize};

/// Notes about a session. The store knows the run without them; they save looking for it, and say
/// how far the transcripts were read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    pub run: Option<RunId>,
    /// How many turns there were.
    pub iteration: u64,
    /// When the turn began that is under way.
    pub turn_since: Option<Timestamp>,
    /// When the agent stopped, while it is still open what its turn has used.
    pub stopped_at: Option<Timestamp>,
    /// A transcript has told what this turn used.
    pub metered: bool,
    /// How often in a row the agent wanted to stop and was sent back.
    pub sent_back: u64,
    /// The agent did something since it was sent back.
    pub acted: bool,
    pub model: String,
    pub transcripts: BTreeMap<String, Transcript>,
}

impl Notes {
    /// Whether a turn is under way in which the agent has not stopped.
    pub fn is_working(&self) -> bool {
        self.turn_since.is_some() && self.stopped_at.is_none()
    }

    /// The turn that is under way is none: its run has ended before it. The next one has its number.
    /// One in which the agent had stopped is a turn, of which only the figures are late.
    pub fn forget_turn(&mut self) {
        if self.stopped_at.is_none() && self.turn_since.take().is_some() {
            self.iteration = self.iteration.saturating_sub(1);
        }
    }
}

/// The notes of a session, held so that no other hook changes them.
pub struct Session {
    path: PathBuf,
    pub notes: Notes,
    /// Dropped last, which lets the next hook go on.
    _lock: File,
}

impl Session {
    /// Waits for other hooks of the session, and reads its notes.
    ///
    /// # Errors
    /// Of the file system.
    pub fn lock(place: &Place) -> io::Result<Self> {
        let folder = place.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(place.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(Self { path: place.path.clone(), notes: place.peek(), _lock: lock })
    }

    /// Writes the notes down; whoever reads them finds the old or the new ones.
    ///
    /// # Errors
    /// Of the file system.
    pub fn save(&self) -> io::Result<()> {
        let temporary = self.path.with_extension("new");
        let text = serde_json::to_vec(&self.notes)?;
        fs::write(&temporary, text)?;
        fs::rename(&temporary, &self.path)
    }
}

/// Where the notes of a session are.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
}

impl Place {
    pub fn new(home: &Home, agent: HookAgent, session: &str) -> Self {
        // Whatever the agent calls its session, it must not lead out of the folder.
        let hash = sha256_hex(session);
        let hash = hash.rsplit(':').next().unwrap_or(&hash);
        let name = format!("{}-{}.json", agent.name(), hash.get(..32).unwrap_or(hash));
        Self { path: home.root().join("sessions").join(name) }
    }

    /// The notes as they are. Those that can't be read are none: the store knows the rest.
    pub fn peek(&self) -> Notes {
        let text = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Removes the notes of sessions that nobody has gone on with for long.
    pub fn tidy(&self) {
        let Some(entries) = self.path.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
            return;
        };
        let now = SystemTime::now();
        for entry in entries.flatten().take(MOST_TIDIED) {
            let modified = entry.metadata().and_then(|data| data.modified());
            let age = modified.ok().and_then(|time| now.duration_since(time).ok());
            if age.is_some_and(|age| age > KEPT) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

/// Agents keep their own transcripts for a month.
const KEPT: Duration = Duration::from_secs(60 * 24 * 60 * 60);
const MOST_TIDIED: usize = 10_000;
