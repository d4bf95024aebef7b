//! What several of these tests need.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use backstop_core::id::RunId;
use backstop_runner::tree::Tree;

/// Far more than anything here takes, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// Waits for something that should come soon.
pub async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(done) => done,
        Err(_) => panic!("waited in vain: {what}"),
    }
}

pub fn run_id() -> RunId {
    RunId::new(1_780_000_000_000, 7)
}

pub fn tree() -> Rc<Tree> {
    Rc::new(Tree::adopt(run_id()).unwrap())
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has ended, collected or not.
pub fn is_gone(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')),
        Err(_) => true,
    }
}

/// A repository in a temporary folder.
pub struct TestRepository {
    folder: tempfile::TempDir,
}

impl TestRepository {
    /// With a file `a` and a commit.
    pub fn new() -> Self {
        let this = Self::without_commits();
        this.write("a", "1\n");
        this.commit("first");
        this
    }

    pub fn without_commits() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        this.git(&["init", "-q", "-b", "main", "work"], this.folder.path());
        this
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A place outside the work tree.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn commit(&self, message: &str) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Runs git in the repository; gives what it printed.
    pub fn run(&self, words: &[&str]) -> String {
        self.git(words, &self.path())
    }

    pub fn git(&self, words: &[&str], cwd: &Path) -> String {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always"])
            .args(words)
            .current_dir(cwd)
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "ann"), ("GIT_AUTHOR_EMAIL", "ann@example.org")])
            .envs([("GIT_COMMITTER_NAME", "ann"), ("GIT_COMMITTER_EMAIL", "ann@example.org")])
            .output()
            .unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}
