//! What a process sees of its surroundings.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// What to look at.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Says for 0, 1 and 2 whether it is a terminal, and whether there is a controlling one.
    Isatty,
    /// Lists the open descriptors, one per line.
    ListFds,
    /// Prints the environment, or the variables that are named, one per line.
    Env { names: Vec<String> },
    /// Prints process, parent, group and session.
    Ids,
    /// Copies standard input to standard output.
    Cat,
    /// Prints which signals are blocked and which are ignored, as the kernel writes it.
    Signals,
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        let mut out = io::stdout().lock();
        match self {
            Self::Isatty => {
                writeln!(out, "stdin {}", io::stdin().is_terminal())?;
                writeln!(out, "stdout {}", io::stdout().is_terminal())?;
                writeln!(out, "stderr {}", io::stderr().is_terminal())?;
                writeln!(out, "controlling {}", fs::File::open("/dev/tty").is_ok())?;
            }
            Self::ListFds => {
                // Reading the list opens one more, which does not count.
                let mut listed: Vec<u32> = Vec::new();
                for entry in fs::read_dir("/proc/self/fd")? {
                    let entry = entry?;
                    let target = fs::read_link(entry.path()).unwrap_or_default();
                    let is_the_list = target.ends_with(format!("{}/fd", std::process::id()));
                    let number =
                        entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
                    listed.extend(number.filter(|_descriptor| !is_the_list));
                }
                listed.sort_unstable();
                for descriptor in listed {
                    writeln!(out, "{descriptor}")?;
                }
            }
            Self::Env { names } => {
                for (name, value) in env::vars_os() {
                    let wanted = names.is_empty() || names.iter().any(|other| **other == name);
                    if wanted {
                        out.write_all(name.as_bytes())?;
                        out.write_all(b"=")?;
                        out.write_all(value.as_bytes())?;
                        out.write_all(b"\n")?;
                    }
                }
            }
            Self::Ids => {
                let stat = fs::read_to_string("/proc/self/stat")?;
                let rest = stat.rsplit(')').next().unwrap_or_default();
                let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
                writeln!(out, "pid {}", std::process::id())?;
                for (name, at) in [("parent", 1), ("group", 2), ("session", 3)] {
                    writeln!(out, "{name} {}", fields.get(at).unwrap_or(&"?"))?;
                }
            }
            Self::Cat => {
                io::copy(&mut io::stdin().lock(), &mut out)?;
            }
            Self::Signals => {
                for line in fs::read_to_string("/proc/self/status")?.lines() {
                    if line.starts_with("SigBlk") || line.starts_with("SigIgn") {
                        writeln!(out, "{line}")?;
                    }
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
