//! The state directory: where the embedded store and the runs' files lie.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use backstop_core::id::RunId;
use backstop_core::state::RunState;

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

    /// The key that signs checkpoints of the audit.
    pub fn audit_key(&self) -> PathBuf {
        self.root.join("audit.key")
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

    /// Creates the folder, for nobody else to read.
    ///
    /// # Errors
    /// Of the file system.
    pub fn create(&self) -> io::Result<()> {
        create_private(&self.path)
    }

    pub fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// The folder with one file of output per iteration.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// What was piped into `run`, to be fed to every iteration.
    pub fn stdin(&self) -> PathBuf {
        self.path.join("stdin")
    }

    /// One line for every halt of any run of this state directory.
    pub fn log_of_all_runs(&self) -> PathBuf {
        let home = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        home.join("backstop.log")
    }

    /// States of the work tree that were seen in this run.
    pub fn seen_trees(&self) -> PathBuf {
        self.path.join("seen-trees")
    }

    /// What an iteration that starts afresh is told.
    pub fn handoff(&self) -> PathBuf {
        self.path.join("handoff.md")
    }

    /// What it is fed, with that at the end.
    pub fn prompt_with_handoff(&self) -> PathBuf {
        self.path.join("prompt-with-handoff")
    }

    /// What the work tree was like when the current iteration began.
    pub fn iteration_beginning(&self) -> PathBuf {
        self.path.join("iteration-beginning")
    }

    /// Nobody has to compare with it any more. There is none where nothing is guarded.
    pub fn forget_iteration_beginning(&self) {
        let _none = fs::remove_file(self.iteration_beginning());
    }

    /// When others were told of the run.
    pub fn told(&self) -> PathBuf {
        self.path.join("told.json")
    }

    /// What became of every test of the run.
    pub fn test_history(&self) -> PathBuf {
        self.path.join("tests.json")
    }

    /// The run's report for people who read text, as of its last halt.
    pub fn report_markdown(&self) -> PathBuf {
        self.path.join("report.md")
    }

    /// The same as one page for a browser.
    pub fn report_html(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Replaces a file of the run; whoever reads it finds the old or the new one.
    ///
    /// # Errors
    /// Of the file system. The old file is still there then.
    pub fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create()?;
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let replaced = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
        if replaced.is_err() {
            fs::remove_file(&temporary).ok();
        }
        replaced
    }

    /// Replaces `state.json`. Whoever reads it, also after a power cut, finds the old or the new one.
    ///
    /// # Errors
    /// Of the file system. The old file is still there then.
    pub fn write_state(&self, state: &RunState) -> io::Result<()> {
        self.create()?;
        let mut text = serde_json::to_vec_pretty(state)?;
        text.push(b'\n');
        let temporary = self.temporary_state();
        let replaced = write_synced(&temporary, &text)
            .and_then(|()| fs::rename(&temporary, self.state_file()))
            .and_then(|()| File::open(&self.path)?.sync_all());
        if replaced.is_err() {
            fs::remove_file(&temporary).ok();
        }
        replaced
    }

    /// One for each process: two that finish the same halt don't write into one file.
    fn temporary_state(&self) -> PathBuf {
        self.path.join(format!(".state.json.{}", std::process::id()))
    }

    /// Reads `state.json`; none if there is none yet.
    ///
    /// # Errors
    /// Of the file system, or of a file that says something else.
    pub fn read_state(&self) -> io::Result<Option<RunState>> {
        match fs::read(self.state_file()) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Creates a directory and what is missing above it, for nobody else to read.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn write_synced(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use backstop_core::state::{ResumeFrom, RunStatus, Statistics};

    use super::*;

    #[test]
    fn a_state_reads_back_and_is_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Home::new(directory.path()).run(RunId::new(1, 1));
        assert_eq!(folder.read_state().unwrap(), None);
        for status in RunStatus::ALL {
            folder.write_state(&state(status)).unwrap();
            assert_eq!(folder.read_state().unwrap(), Some(state(status)));
        }
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["state.json"], "nothing else is left behind");
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let mode = fs::metadata(folder.state_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_state_that_can_not_be_written_leaves_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Home::new(directory.path()).run(RunId::new(1, 1));
        folder.write_state(&state(RunStatus::Running)).unwrap();
        // In the way of the temporary file.
        fs::create_dir(folder.temporary_state()).unwrap();
        folder.write_state(&state(RunStatus::Stopped)).unwrap_err();
        assert_eq!(folder.read_state().unwrap(), Some(state(RunStatus::Running)));
    }

    #[test]
    fn a_state_that_says_something_else_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Home::new(directory.path()).run(RunId::new(1, 1));
        folder.create().unwrap();
        for text in ["", "{", "{\"run_id\": 1}"] {
            fs::write(folder.state_file(), text).unwrap();
            let error = folder.read_state().unwrap_err();
            assert!(
                matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof),
                "{error:?}"
            );
        }
    }

    fn state(run_status: RunStatus) -> RunState {
        RunState {
            run_id: RunId::new(1, 1),
            run_status,
            stop_reason: None,
            stopped_at: None,
            resumable: true,
            resume_from: ResumeFrom::default(),
            statistics: Statistics::default(),
            policy_hash: "5f2a".to_owned(),
        }
    }
}
