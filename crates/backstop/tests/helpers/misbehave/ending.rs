//! Ways to end, or not to.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, raise};

/// How to end.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Does nothing for so many seconds.
    Sleep { seconds: f64 },
    /// Exits with a code.
    Exit { code: u8 },
    /// Sends itself a signal, such as `SIGKILL` or `SIGSEGV`.
    DieBy { signal: Signal },
    /// Uses so many seconds of a processor's time, however long it waits for its turn, and writes
    /// nothing.
    EatCpu { seconds: f64 },
    /// Says `ready` and ends with a code when it gets SIGTERM, after so long.
    SlowTerm {
        #[arg(long, default_value_t = 200)]
        milliseconds: u64,
        #[arg(long, default_value_t = 0)]
        exit: u8,
    },
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        match self {
            Self::Sleep { seconds } => thread::sleep(duration(seconds)?),
            Self::Exit { code } => return Ok(ExitCode::from(code)),
            Self::DieBy { signal } => {
                raise(signal)?;
                return Ok(ExitCode::FAILURE);
            }
            Self::EatCpu { seconds } => {
                let enough = duration(seconds)?;
                let mut number = 0_u64;
                while processor_time()? < enough {
                    for _ in 0..100_000 {
                        number = std::hint::black_box(number.wrapping_mul(31).wrapping_add(7));
                    }
                }
            }
            Self::SlowTerm { milliseconds, exit } => {
                let signals: nix::sys::signal::SigSet = [Signal::SIGTERM].into_iter().collect();
                signals.thread_block()?;
                writeln!(io::stdout(), "ready")?;
                signals.wait()?;
                thread::sleep(Duration::from_millis(milliseconds));
                return Ok(ExitCode::from(exit));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What this process has used of processors until now.
fn processor_time() -> io::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // After its name, which may have blanks in it, and its state; in hundredths of a second.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Ok(Duration::from_millis(ticks * 10))
}

fn duration(seconds: f64) -> io::Result<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(io::Error::other)
}
