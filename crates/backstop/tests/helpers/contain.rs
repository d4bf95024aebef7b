//! A supervisor with nothing in it but the process tree: runs a program to its end, with another
//! process around it, and leaves nothing behind. For tests of exactly that.
//!
//! `contain RUN GRACE_MS PROGRAM [ARGUMENT…]`. The first line on standard error says who is who:
//! `inner PID outer PID level LEVEL cgroup PATH`, with `-` for no control group. With
//! `CONTAIN_DETACHED` set it goes to the background, and standard output says what became of it.

use std::env;
use std::io::{self, Write};
use std::process::{Command, ExitCode};
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_runner::outer::{self, Detached, Herald, Outcome};
use backstop_runner::signals::{Signal, Signals};
use backstop_runner::tree::{self, Child, Exit, Tree};

fn main() -> io::Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let mut text = || arguments.next().and_then(|next| next.into_string().ok()).unwrap_or_default();
    let run: RunId = text().parse().map_err(io::Error::other)?;
    let grace = Duration::from_millis(text().parse().map_err(io::Error::other)?);
    let mut command = Command::new(text());
    command.args(arguments);

    let mut herald = None;
    if env::var_os("CONTAIN_DETACHED").is_some() {
        match outer::detach()? {
            Detached::Background(background) => herald = Some(background),
            Detached::Foreground(Outcome::Started(run)) => {
                writeln!(io::stdout(), "started {run}")?;
                return Ok(ExitCode::SUCCESS);
            }
            Detached::Foreground(Outcome::Failed { message, code }) => {
                writeln!(io::stdout(), "failed {message}")?;
                return Ok(ExitCode::from(code));
            }
        }
    }
    outer::enter("backstop resume")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(supervise(run, grace, command, herald))?;
    let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

async fn supervise(
    run: RunId,
    grace: Duration,
    mut command: Command,
    herald: Option<Herald>,
) -> io::Result<Exit> {
    let tree = Tree::adopt(run)?;
    let mut signals = Signals::listen()?;
    let mut child = match (tree.spawn(&mut command), herald) {
        (Ok(child), None) => child,
        (Ok(child), Some(herald)) => {
            herald.started(run);
            child
        }
        (Err(error), None) => return Err(error),
        (Err(error), Some(herald)) => {
            herald.failed(error.to_string(), 66);
            return Err(error);
        }
    };
    let holder = tree.holder(Duration::ZERO);
    writeln!(
        io::stderr(),
        "inner {} outer {} level {} cgroup {}",
        holder.pid,
        holder.outer_pid,
        tree.containment().as_str(),
        holder.cgroup.as_deref().unwrap_or("-"),
    )?;
    let exit = wait(&tree, &mut signals, &mut child, grace).await?;
    let swept = tree.sweep(grace).await;
    writeln!(
        io::stderr(),
        "swept {} killed {} unkillable {} cpu_ms {}",
        swept.found.len(),
        swept.killed,
        swept.unkillable.len(),
        tree.cpu_time().as_millis(),
    )?;
    Ok(exit)
}

/// Waits for the child; whoever asks for its end gets it, by SIGKILL after the grace.
async fn wait(
    tree: &Tree,
    signals: &mut Signals,
    child: &mut Child,
    grace: Duration,
) -> io::Result<Exit> {
    let mut kill_at = None;
    let mut tending = tokio::time::interval(Duration::from_millis(200));
    loop {
        let kill_time = async {
            match kill_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            exit = child.wait() => return exit,
            () = kill_time => {
                tree.signal(tree::Signal::SIGKILL, &[]);
                kill_at = None;
            }
            _ = tending.tick() => tree.reap(),
            signal = signals.next() => match signal {
                Signal::Suspend => {
                    tree.stop_all();
                    signals.confirm_suspended();
                }
                Signal::Continue => tree.continue_all(),
                Signal::Resize => {}
                _ => {
                    tree.signal(tree::Signal::SIGTERM, &[]);
                    kill_at = Some(tokio::time::Instant::now() + grace);
                }
            },
        }
    }
}
