//! `backstop hook`: an agent tells what it does, step by step, and is told what to do.
//!
//! The answer is what is printed, never the exit code: agents take 2 for a block and any other code
//! for a hook that is broken, so it is 0 whatever happens, but for a command line that is wrong.

use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use backstop_adapters::hook::{Act, Answer, HookAgent, HookEvent, HookInput};
use backstop_core::policy::OnFailure;

use crate::args::{HookArguments, HookCommand};
use crate::error::Error;
use crate::exit_code;
use crate::sanitise::harmless;
use crate::terminal::Terminal;

mod failure;
mod install;
mod own_run;
mod session;
mod stopping;
mod supervised_run;
mod transcripts;
mod tree_path;
mod world;

use failure::Failure;

pub fn run(command: &HookCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    let (agent, arguments) = match command {
        HookCommand::ClaudeCode(arguments) => (HookAgent::ClaudeCode, arguments),
        HookCommand::Codex(arguments) => (HookAgent::Codex, arguments),
        HookCommand::Install(arguments) => return install::run(arguments, terminal),
    };
    let input = read().and_then(|bytes| Ok(HookInput::read(&bytes)?));
    let event = input.as_ref().map_or(HookEvent::Other, HookInput::event);
    let answer = match &input {
        // Most of what agents tell is none of our business, and must cost nothing.
        Ok(_) if event == HookEvent::Other => return Ok(exit_code::OK),
        Ok(input) => {
            let hook = Hook { agent, event, input, arguments };
            catch_unwind(AssertUnwindSafe(|| hook.judge(terminal)))
                .unwrap_or_else(|_| Err(Failure::Panicked))
                .unwrap_or_else(|failure| hook.failed(&failure, terminal))
        }
        Err(failure) => {
            let on_failure = failure::setting(arguments.policy.as_deref(), &here(agent));
            told(failure, failure.answer(on_failure), terminal)
        }
    };
    if let Some(line) = answer.render(event) {
        writeln!(terminal.out, "{line}")?;
    }
    Ok(exit_code::OK)
}

/// One call of an agent.
struct Hook<'a> {
    agent: HookAgent,
    event: HookEvent,
    input: &'a HookInput,
    arguments: &'a HookArguments,
}

impl Hook<'_> {
    /// What the agent is answered: as part of the run that it is in, else of its session's own.
    fn judge(&self, terminal: &mut Terminal) -> Result<Answer, Failure> {
        match std::env::var(crate::env_vars::RUN_ID) {
            Ok(run) if !run.is_empty() => supervised_run::judge(self, &run, terminal),
            _ => own_run::judge(self),
        }
    }

    fn failed(&self, failure: &Failure, terminal: &mut Terminal) -> Answer {
        let on_failure = match failure {
            // What can't be read can't say what to do either.
            Failure::Policy(_) => OnFailure::Closed,
            _ => failure::setting(self.arguments.policy.as_deref(), &self.cwd()),
        };
        told(failure, failure.answer(on_failure), terminal)
    }

    /// The directory that the agent works in.
    fn cwd(&self) -> std::path::PathBuf {
        match self.input.cwd() {
            "" => here(self.agent),
            cwd => cwd.into(),
        }
    }

    /// The time and place of what the agent says.
    fn moment(&self) -> backstop_adapters::Moment {
        backstop_adapters::Moment {
            now: backstop_runner::clock::wall_time(),
            zone: jiff::tz::TimeZone::system(),
            is_known: true,
            is_live: false,
            zone_named: |name| jiff::tz::TimeZone::get(name).ok(),
        }
    }
}

/// Where the agent works if it does not say: Claude Code names its project, since the directory that
/// it calls from moves with its commands.
fn here(agent: HookAgent) -> std::path::PathBuf {
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").filter(|project| !project.is_empty());
    match project {
        Some(project) if agent == HookAgent::ClaudeCode => project.into(),
        _ => std::env::current_dir().unwrap_or_default(),
    }
}

/// Says on standard error, too, what went wrong: agents keep that where their users can find it.
fn told(failure: &Failure, answer: Answer, terminal: &mut Terminal) -> Answer {
    for line in failure.to_string().lines() {
        terminal.remark(&harmless(line));
    }
    answer
}

fn read() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin();
    stdin.lock().take(MOST_INPUT).read_to_end(&mut bytes).map_err(Error::from)?;
    Ok(bytes)
}

/// What to answer in a run that has ended, or that a person has to let go.
fn halted(run: &str, is_held: bool, reason: Option<&str>, message: &str) -> Act {
    let what = if is_held { "holds" } else { "stopped" };
    let code = reason.map(|code| format!(" ({code})")).unwrap_or_default();
    let message = message.trim_end_matches('.');
    Act::Halt(format!(
        "backstop {what} run {run}: {message}{code}. `backstop show {run}` tells more, \
         and how it can go on."
    ))
}

/// A tool writes whole files by its arguments; what is larger is no honest input.
const MOST_INPUT: u64 = 256 << 20;
