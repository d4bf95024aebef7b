//! One way to run the real binary: in a folder of its own, with a clean environment.

#![expect(dead_code, reason = "each test file uses the part that it needs")]

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value as Json;
use tempfile::TempDir;

pub mod database;
pub mod looping;
pub mod planted;
pub mod schema;
pub mod serving;

/// The time of all decisions that show it.
pub const NOW: &str = "2026-05-04T10:00:00Z";

/// A folder with files and a call of the binary in it.
pub struct Test {
    folder: TempDir,
    directory: PathBuf,
    stdin: Vec<u8>,
    environment: Vec<(String, String)>,
}

impl Test {
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let directory = folder.path().to_owned();
        Self { folder, directory, stdin: Vec::new(), environment: Vec::new() }
    }

    /// Writes a file, and the folders above it.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("can be created");
        std::fs::write(path, content).expect("can be written");
        self
    }

    #[must_use]
    pub fn folder(self, name: &str) -> Self {
        std::fs::create_dir_all(self.folder.path().join(name)).expect("can be created");
        self
    }

    /// Runs in this folder instead of the top one.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.directory = self.folder.path().join(name);
        self
    }

    #[must_use]
    pub fn stdin(mut self, text: impl AsRef<[u8]>) -> Self {
        self.stdin = text.as_ref().to_vec();
        self
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).expect("can be read")
    }

    /// Runs the binary and takes what it says.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Ended {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(&self.directory).env_clear();
        command.env("HOME", self.folder.path()).env("TZ", "UTC").env("NO_COLOR", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ended::new(&command.write_stdin(self.stdin.clone()).output().expect("the binary runs"))
    }
}

/// What a call said and how it ended.
#[derive(Debug, PartialEq)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    /// None if a signal ended it.
    pub code: Option<i32>,
}

impl Ended {
    pub fn new(output: &Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout.clone()).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("UTF-8"),
            code: output.status.code(),
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Ended with this code, said these words on standard error, and nothing on standard output.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing in:\n{}", self.stderr);
        }
    }

    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}

/// Where the real binary is.
pub const BINARY: &str = env!("CARGO_BIN_EXE_backstop");

/// The keys of an object, in order.
#[track_caller]
pub fn keys(object: &Json) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}
