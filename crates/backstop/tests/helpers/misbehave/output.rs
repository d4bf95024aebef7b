//! Output that is too much, too odd, or ends too early.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::processes::linger;

/// What to write.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Writes lines as fast as it can.
    Flood {
        /// How much: a number, or one with k, M or G (1024 each).
        #[arg(value_parser = bytes)]
        bytes: u64,
        /// Where to: 1 or 2.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
        fd: u8,
    },
    /// Writes a single line without an end.
    HugeLine {
        /// How much: a number, or one with k, M or G (1024 each).
        #[arg(value_parser = bytes)]
        bytes: u64,
    },
    /// Writes NUL, invalid UTF-8, escape sequences and titles of windows.
    Garbage,
    /// Closes standard output and standard error, and goes on.
    CloseStdout {
        /// How long.
        #[arg(long, default_value_t = 1000)]
        milliseconds: u64,
    },
    /// Writes events, each argument as `::backstop ARGUMENT`.
    Report {
        events: Vec<String>,
        /// How long to wait after each.
        #[arg(long, default_value_t = 0)]
        pause_ms: u64,
        /// What to exit with.
        #[arg(long, default_value_t = 0)]
        exit: u8,
        /// Stays after the last one instead of ending.
        #[arg(long)]
        stay: bool,
    },
    /// Reports units one after the other, in the shape that pipelines have.
    Units {
        /// How many.
        count: u64,
        /// The first one's index.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// The status of all: `approved`, `rejected`, `failed`, `in_progress`.
        #[arg(long, default_value = "approved")]
        status: String,
        /// How many attempts each took.
        #[arg(long, default_value_t = 1)]
        attempts: u64,
        /// How long each takes.
        #[arg(long, default_value_t = 0)]
        pause_ms: u64,
    },
    /// Prints its arguments as lines, with a pause after each.
    Say {
        lines: Vec<String>,
        #[arg(long, default_value_t = 0)]
        pause_ms: u64,
        /// To standard error.
        #[arg(long)]
        stderr: bool,
        /// What to exit with.
        #[arg(long, default_value_t = 0)]
        exit: u8,
    },
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        let mut exit = 0;
        match self {
            Self::Flood { bytes, fd } => {
                let line = b"the quick brown fox jumps over the lazy dog, again and again\n";
                let block: Vec<u8> = line.iter().copied().cycle().take(BLOCK).collect();
                match fd {
                    2 => write_much(&mut io::stderr().lock(), &block, bytes)?,
                    _ => write_much(&mut stdout()?, &block, bytes)?,
                }
            }
            Self::HugeLine { bytes } => write_much(&mut stdout()?, &[b'a'; BLOCK], bytes)?,
            Self::Garbage => stdout()?.write_all(GARBAGE)?,
            Self::CloseStdout { milliseconds } => {
                nix::unistd::close(1)?;
                nix::unistd::close(2)?;
                thread::sleep(Duration::from_millis(milliseconds));
            }
            Self::Report { events, pause_ms, exit: code, stay } => {
                say(events.iter().map(|event| format!("::backstop {event}")), pause_ms)?;
                if stay {
                    linger();
                }
                exit = code;
            }
            Self::Units { count, from, status, attempts, pause_ms } => {
                let unit = |index: u64| {
                    format!(
                        r#"::backstop {{"type":"unit","id":"u{index}","index":{index},"status":"{status}","attempts":{attempts}}}"#
                    )
                };
                say((from..from + count).map(unit), pause_ms)?;
            }
            Self::Say { lines, pause_ms, stderr: false, exit: code } => {
                say(lines.into_iter(), pause_ms)?;
                exit = code;
            }
            Self::Say { lines, pause_ms, stderr: true, exit: code } => {
                for line in lines {
                    writeln!(io::stderr(), "{line}")?;
                    thread::sleep(Duration::from_millis(pause_ms));
                }
                exit = code;
            }
        }
        Ok(ExitCode::from(exit))
    }
}

fn say(lines: impl Iterator<Item = String>, pause_ms: u64) -> io::Result<()> {
    let mut stdout = stdout()?;
    for line in lines {
        stdout.write_all(format!("{line}\n").as_bytes())?;
        thread::sleep(Duration::from_millis(pause_ms));
    }
    Ok(())
}

/// Standard output without a buffer, so that every write is one.
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

fn write_much(to: &mut dyn Write, block: &[u8], bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        to.write_all(&block[..length])?;
        left -= u64::try_from(length).unwrap_or(left);
    }
    Ok(())
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'M', 'G']);
    let power = match &text[digits.len()..] {
        "" => 0,
        "k" => 1,
        "M" => 2,
        "G" => 3,
        _ => return Err("one unit is enough".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| format!("`{text}` is no number of bytes"))?;
    number.checked_mul(1024_u64.pow(power)).ok_or_else(|| format!("`{text}` is too much"))
}

const BLOCK: usize = 64 * 1024;

const GARBAGE: &[u8] = b"nul:\0:\n\
    invalid:\xff\xfe\xc3(\xed\xa0\x80:\n\
    \x1b[31mred\x1b[0m \x1b[2J\x1b[H cleared\n\
    \x1b]0;another title\x07 \x1b]52;c;ZXZpbA==\x1b\\ \x1bP+q\x1b\\\n\
    \x9b31m \x85 \xe2\x80\xae reversed\n\
    back\x08\x08\x08\x08 bell\x07 vertical\x0b form\x0c return\rover\n\
    no line end";
