//! Work that leaves a trace, so that tests can count and order what happened.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use super::processes::linger;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Adds one to the number in a file and prints it.
    Counter {
        file: PathBuf,
        /// Exits with this code until the number is reached, and with 0 from then on.
        #[arg(long, requires = "until")]
        exit: Option<u8>,
        #[arg(long)]
        until: Option<u64>,
    },
    /// Makes a file.
    Touch {
        file: PathBuf,
        /// Stays afterwards instead of ending.
        #[arg(long)]
        stay: bool,
    },
    /// Appends a line to a file.
    Append { file: PathBuf, line: String },
    /// Reports so many units to the run, and ends without a look at any answer.
    ReportAndGo { units: u32 },
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        match self {
            Self::Counter { file, exit, until } => {
                let before = match fs::read_to_string(&file) {
                    Ok(text) => text.trim().parse::<u64>().map_err(io::Error::other)?,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                    Err(error) => return Err(error),
                };
                let now = before + 1;
                fs::write(&file, format!("{now}\n"))?;
                writeln!(io::stdout(), "{now}")?;
                if let (Some(code), Some(until)) = (exit, until)
                    && now < until
                {
                    return Ok(ExitCode::from(code));
                }
            }
            Self::Touch { file, stay } => {
                fs::write(file, "")?;
                if stay {
                    linger();
                }
            }
            Self::ReportAndGo { units } => {
                let socket = env::var_os("BACKSTOP_SOCKET").unwrap_or_default();
                let lines: String = (0..units)
                    .map(|id| {
                        format!("{{\"type\":\"unit\",\"id\":\"u{id}\",\"status\":\"approved\"}}\n")
                    })
                    .collect();
                UnixStream::connect(socket)?.write_all(lines.as_bytes())?;
            }
            Self::Append { file, line } => {
                let mut file = OpenOptions::new().create(true).append(true).open(file)?;
                file.write_all(format!("{line}\n").as_bytes())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
