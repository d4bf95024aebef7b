//! How many notifications go out in an hour.
//!
//! What went out is kept in a file of the run: a run that is resumed, or that many processes report
//! to, has one hour and not one for each of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstop_core::policy::Occasion;
use backstop_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Counts what went out in the last hour.
#[derive(Debug)]
pub(super) struct Limits {
    most: u64,
    kept_in: Option<PathBuf>,
    /// What is known where there is no file, or none that can be read and written.
    known: GoneOut,
}

/// What went out in the last hour, and what did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GoneOut {
    /// Oldest first.
    at: Vec<Timestamp>,
    /// How many were left out since the last one that went out.
    left_out: u64,
}

impl Limits {
    pub(super) fn new(most: u64) -> Self {
        Self { most, kept_in: None, known: GoneOut::default() }
    }

    pub(super) fn keep_in(&mut self, file: PathBuf) {
        self.kept_in = Some(file);
    }

    /// Another policy has another limit; what was sent stays counted.
    pub(super) fn set(&mut self, most: u64) {
        self.most = most;
    }

    /// Whether one more may go out now, and how many were left out before it. What a person waits
    /// for always goes out.
    pub(super) fn admit(&mut self, occasion: Occasion, now: Timestamp) -> Option<u64> {
        let file = self.kept_in.as_deref().and_then(|path| open(path).ok());
        if let Some(known) = file.as_ref().and_then(|file| read(file).ok()) {
            self.known = known;
        }
        let admitted = self.known.admit(self.most, occasion, now);
        if let Some(file) = file {
            // If it can't be written, this process still counts what it sends itself.
            let _kept = write(&file, &self.known);
        }
        admitted
    }
}

impl GoneOut {
    fn admit(&mut self, most: u64, occasion: Occasion, now: Timestamp) -> Option<u64> {
        // What is dated ahead of now was sent before the clock was set back.
        self.at.retain(|&sent| sent <= now && now.since(sent) < HOUR);
        let is_awaited = matches!(occasion, Occasion::Halted | Occasion::Asked);
        if self.at.len() as u64 >= most && !is_awaited {
            self.left_out += 1;
            return None;
        }
        self.at.push(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

/// The file, locked: others may send for the same run.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}

/// What it holds. A new one holds nothing, also no word against what is known without it.
fn read(mut file: &File) -> io::Result<GoneOut> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

fn write(mut file: &File, gone_out: &GoneOut) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(gone_out)?)
}

const HOUR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_nanos(60_000_000_000 * (30_000_000 + minutes))
    }

    #[test]
    fn more_than_the_limit_is_left_out_counted_and_let_through_an_hour_later() {
        let mut sent = GoneOut::default();
        let mut admit = |occasion, minutes| sent.admit(2, occasion, at(minutes));
        assert_eq!(admit(Occasion::Warn, 0), Some(0));
        assert_eq!(admit(Occasion::Held, 10), Some(0));
        assert_eq!(admit(Occasion::Warn, 11), None);
        assert_eq!(admit(Occasion::Held, 59), None);
        assert_eq!(admit(Occasion::Warn, 60), Some(2));
        assert_eq!(admit(Occasion::Warn, 61), None);
        assert_eq!(admit(Occasion::Warn, 70), Some(1));
    }

    #[test]
    fn halts_and_questions_go_out_whatever_the_limit_says() {
        let mut sent = GoneOut::default();
        assert_eq!(sent.admit(1, Occasion::Warn, at(0)), Some(0));
        assert_eq!(sent.admit(1, Occasion::Warn, at(0)), None);
        assert_eq!(sent.admit(1, Occasion::Asked, at(0)), Some(1));
        assert_eq!(sent.admit(1, Occasion::Halted, at(0)), Some(0));
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_nothing_from_going_out() {
        let mut sent = GoneOut::default();
        assert_eq!(sent.admit(1, Occasion::Warn, at(600)), Some(0));
        assert_eq!(sent.admit(1, Occasion::Warn, at(0)), Some(0));
        assert_eq!(sent.admit(1, Occasion::Warn, at(1)), None);
    }

    #[test]
    fn all_who_send_for_a_run_share_its_hour() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("told");
        let [mut first, mut second] = [Limits::new(2), Limits::new(2)];
        first.keep_in(file.clone());
        second.keep_in(file.clone());
        assert_eq!(first.admit(Occasion::Warn, at(0)), Some(0));
        assert_eq!(second.admit(Occasion::Warn, at(1)), Some(0));
        assert_eq!(first.admit(Occasion::Warn, at(2)), None);
        assert_eq!(second.admit(Occasion::Halted, at(3)), Some(1));
        std::fs::write(&file, "not what was written").expect("a file");
        assert_eq!(first.admit(Occasion::Warn, at(4)), None, "what it knew still counts");
    }
}
