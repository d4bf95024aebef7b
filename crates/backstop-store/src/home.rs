//! The state directory: where the embedded store and the runs' files lie.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use backstop_core::id::RunId;
use serde_json::Value as Json;

/// A state directory. It lies outside the working directory, so that an agent that tidies up its
/// project can't remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `$XDG_STATE_HOME/backstop`, else `~/.local/state/backstop`; none without a home.
    pub fn of_user() -> Option<Self> {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| Self::new(state.join("backstop")))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("backstop.db")
    }

    /// The folder of the runs' folders.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The folder of one run's files.
    pub fn run(&self, run: RunId) -> RunFolder {
        RunFolder { path: self.runs().join(run.as_str()) }
    }
}

/// The files of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// Replaces `state.json`: whoever reads sees the old one or the new one, whole, even after a
    /// power cut.
    ///
    /// # Errors
    /// The folder can't be made or written.
    pub fn write_state(&self, state: &Json) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        // A name of its own, since two processes may be at it.
        let draft = self.path.join(format!("state.json.{}", std::process::id()));
        let written = File::create(&draft).and_then(|mut file| {
            writeln!(file, "{state:#}")?;
            file.sync_all()?;
            fs::rename(&draft, self.state_file())
        });
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        File::open(&self.path)?.sync_all()
    }

    /// The folder with one file of output per iteration.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// What was piped into `run`, to be fed to every iteration.
    pub fn stdin(&self) -> PathBuf {
        self.path.join("stdin")
    }

    /// States of the work tree that were seen in this run.
    pub fn seen_trees(&self) -> PathBuf {
        self.path.join("seen-trees")
    }
}
