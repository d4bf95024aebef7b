//! Going to the background: the foreground process stays until the run has begun, or has not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use backstop_core::id::RunId;
use nix::unistd::{ForkResult, dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use serde::{Deserialize, Serialize};

use super::fork;

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Detached {
    /// The one that the user waits for; what became of the run's start.
    Foreground(Outcome),
    /// The one that goes on, without a terminal.
    Background(Herald),
}

/// What became of the start of a run in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Started(RunId),
    /// What the background process would have said, and its exit code.
    Failed {
        message: String,
        code: u8,
    },
}

/// Tells the foreground process how it went. Once told, it ends and nobody listens any more.
#[derive(Debug)]
pub struct Herald {
    foreground: UnixStream,
}

impl Herald {
    pub fn started(self, run: RunId) {
        self.tell(&Outcome::Started(run));
    }

    pub fn failed(self, message: impl Into<String>, code: u8) {
        self.tell(&Outcome::Failed { message: message.into(), code });
    }

    fn tell(mut self, outcome: &Outcome) {
        let line = serde_json::to_string(outcome).expect("an outcome has no map with odd keys");
        // Who does not wait any longer does not need to know.
        let _gone = writeln!(self.foreground, "{line}");
    }
}

/// Becomes two processes: one in the background, in a session of its own and with nothing to read
/// or to write to, and the one in the foreground, which waits for what the [`Herald`] tells.
///
/// What is piped in must have been read before: the background process can't.
///
/// # Errors
/// This process has threads already, or the system refuses another process.
pub fn detach() -> io::Result<Detached> {
    let (foreground, background) = UnixStream::pair()?;
    match fork::fork()? {
        ForkResult::Child => {
            drop(foreground);
            setsid()?;
            let nothing = File::options().read(true).write(true).open("/dev/null")?;
            dup2_stdin(&nothing)?;
            dup2_stdout(&nothing)?;
            dup2_stderr(&nothing)?;
            Ok(Detached::Background(Herald { foreground: background }))
        }
        ForkResult::Parent { child: _ } => {
            drop(background);
            Ok(Detached::Foreground(listen(foreground)?))
        }
    }
}

/// One line is the whole message: the end of the channel comes when the run ends.
fn listen(background: UnixStream) -> io::Result<Outcome> {
    let mut line = String::new();
    BufReader::new(background).read_line(&mut line)?;
    Ok(serde_json::from_str(&line).unwrap_or_else(|_ended| Outcome::Failed {
        message: "the run's process ended before the run began".to_owned(),
        code: INTERNAL,
    }))
}

/// As `sysexits.h` has it: our own fault.
const INTERNAL: u8 = 70;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_herald_tells_is_heard_while_others_keep_the_channel_open() {
        let outcomes = [
            Outcome::Started(RunId::new(7, 8)),
            Outcome::Failed { message: "no\nroom".to_owned(), code: 73 },
        ];
        for outcome in outcomes {
            let (foreground, background) = UnixStream::pair().unwrap();
            let _kept_by_others = background.try_clone().unwrap();
            let herald = Herald { foreground: background };
            match outcome.clone() {
                Outcome::Started(run) => herald.started(run),
                Outcome::Failed { message, code } => herald.failed(message, code),
            }
            assert_eq!(listen(foreground).unwrap(), outcome);
        }
    }

    #[test]
    fn a_background_process_that_says_nothing_has_failed() {
        let (foreground, background) = UnixStream::pair().unwrap();
        drop(background);
        assert!(matches!(listen(foreground).unwrap(), Outcome::Failed { code: 70, .. }));
    }
}
