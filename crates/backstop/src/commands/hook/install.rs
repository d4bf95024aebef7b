//! `backstop hook install`: has an agent call backstop at every step.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstop_adapters::hook::HookAgent;
use backstop_runner::piped::{self, Unread};
use similar::TextDiff;

use super::tree_path::is_in_repository;
use crate::args::HookInstallArguments;
use crate::error::Error;
use crate::exit_code;
use crate::terminal::Terminal;

mod program;
mod replace;
mod settings;

use settings::Settings;

pub fn run(arguments: &HookInstallArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let agent = arguments.agent.0;
    let path = file(agent, arguments.user)?;
    let old = read(&path)?;
    let settings = Settings::new(&path, old.as_deref().unwrap_or_default());
    let (new, deed) = if arguments.undo {
        let kept = replace::kept(read(&replace::copy_of(&path))?);
        (settings.without(agent, kept.as_deref())?, "no longer calls backstop")
    } else {
        let program = program::name()?;
        let which = if program.is_on_path { "found on the PATH" } else { "not on the PATH" };
        terminal.remark(&format!("program: {} ({which})", program.word));
        if settings.disable_hooks() {
            terminal.remark(
                "`disableAllHooks` is set in this file: until it is not, no hook is called",
            );
        }
        (settings.with(agent, &program.word)?, "calls backstop at every step")
    };
    if old.as_deref().unwrap_or_default() == new {
        let already = if arguments.undo { "does not call backstop" } else { ALREADY };
        writeln!(terminal.out, "nothing to do: {agent} {already} ({})", path.display())?;
        return Ok(exit_code::OK);
    }
    show(&path, old.as_deref().unwrap_or_default(), &new, terminal)?;
    if arguments.dry_run {
        return Ok(exit_code::OK);
    }
    if !arguments.yes && !agreed(&path, terminal)? {
        return Ok(exit_code::OK);
    }
    let cannot = |source| Error::CannotCreate { path: path.clone(), source };
    if arguments.undo {
        replace::undo(&path, &new).map_err(cannot)?;
    } else {
        replace::keeping(&path, old.as_deref(), &new, arguments.user).map_err(cannot)?;
    }
    let here = std::env::current_dir().unwrap_or_default();
    if !arguments.undo && !arguments.user && is_in_repository(&here) {
        terminal.remark(&format!(
            "commit {}, or have git ignore it: a policy with `require_clean`, as `backstop init` \
             writes it, refuses to begin beside what is not committed",
            path.parent().unwrap_or(&path).display()
        ));
    }
    let did = if path.exists() { "wrote" } else { "removed" };
    writeln!(terminal.out, "{did} {}: {agent} {deed}", path.display())?;
    Ok(exit_code::OK)
}

const ALREADY: &str = "calls backstop at every step already";

/// The file in which an agent looks for hooks.
fn file(agent: HookAgent, user: bool) -> Result<PathBuf, Error> {
    let (variable, folder, name) = match agent {
        HookAgent::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        HookAgent::Codex => ("CODEX_HOME", ".codex", "hooks.json"),
    };
    if !user {
        return Ok(Path::new(folder).join(name));
    }
    let named =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|at| at.is_absolute());
    let folder = named(variable).or_else(|| named("HOME").map(|home| home.join(folder)));
    folder.map(|folder| folder.join(name)).ok_or_else(|| {
        Error::Usage("there is no home directory\n\nhint: --project needs none".to_owned())
    })
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    let unreadable = |source| Error::NoInput { path: path.display().to_string(), source };
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(unreadable(io::Error::other("it is not UTF-8"))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

fn show(path: &Path, old: &str, new: &str, terminal: &mut Terminal) -> Result<(), Error> {
    let name = path.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    write!(terminal.out, "{}", diff.unified_diff().context_radius(3).header(&name, &name))?;
    Ok(terminal.out.flush()?)
}

/// Asks whoever sits there. Where nobody does, and no answer is piped in, a script means what it says:
/// the change is shown, and can be undone.
fn agreed(path: &Path, terminal: &mut Terminal) -> Result<bool, Error> {
    let stdin = io::stdin();
    let mut answer = String::new();
    if stdin.is_terminal() && io::stderr().is_terminal() {
        write!(terminal.err, "write {}? [y/N] ", path.display())?;
        terminal.err.flush()?;
        stdin.lock().read_line(&mut answer)?;
    } else {
        match piped::read(Some(PATIENCE), || {}) {
            Ok(piped) => answer = String::from_utf8_lossy(&piped.unwrap_or_default()).into_owned(),
            // A pipe that is only left open holds no answer.
            Err(Unread::Late(_)) => {}
            Err(Unread::Io(source)) => {
                return Err(Error::NoInput { path: "-".to_owned(), source });
            }
            Err(unread) => return Err(Error::Unread(unread)),
        }
        if answer.trim().is_empty() {
            return Ok(true);
        }
    }
    let answer = answer.lines().next().unwrap_or_default();
    let agreed = matches!(answer.trim(), "y" | "Y" | "yes");
    if !agreed {
        terminal.remark("nothing was written");
    }
    Ok(agreed)
}

/// How long an answer that is piped in is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
