//! `backstop run`: the loop itself.

mod dry_run;
mod flags;
mod guards;
pub mod phrases;
pub mod supervise;

use std::path::PathBuf;
use std::time::Duration;

use backstop_adapters::Agent;
use backstop_core::condition::{Condition, OutputSource};
use backstop_core::diagnostic::Diagnostic;
use backstop_core::policy::{AgentName, Flags, Layers, Policy, Preset, Rule};
use backstop_core::verdict::Verdict;
use backstop_runner::launch::{Launch, PolicyFlags, Stdin};
use backstop_runner::piped::{self, Unread};
use backstop_runner::unsupervised::PinnedPolicy;

use crate::args::RunArguments;
use crate::error::Error;
use crate::input;
use crate::store::caller;
use crate::terminal::Terminal;
use supervise::{Task, View};

/// A run that is ready to begin.
#[derive(Debug)]
pub struct Prepared {
    pub launch: Launch,
    pub pinned: PinnedPolicy,
    pub notes: Vec<String>,
    /// What was piped in.
    pub piped: Option<Vec<u8>>,
}

pub fn run(arguments: &RunArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let prepared = prepare(arguments, terminal)?;
    if arguments.dry_run {
        return dry_run::show(&prepared, terminal);
    }
    let view = View::of(&arguments.view, terminal)?;
    supervise::supervise(Task::Begin(Box::new(prepared)), &view)
}

fn prepare(arguments: &RunArguments, terminal: &mut Terminal) -> Result<Prepared, Error> {
    let mut flags = flags::layer(arguments, OutputSource::Any)?;
    let (named, presets) = (arguments.policy.policy.as_deref(), &arguments.policy.preset);
    let colour = terminal.colours_errors();
    let mut source = layered(named, presets, Some(&flags.layer), colour)?;
    // Only the whole policy says which agent it is.
    if arguments.done.until_output.is_some() {
        let place = phrases::place(&source.policy, &arguments.command);
        flags = flags::layer(arguments, place)?;
        source = layered(named, presets, Some(&flags.layer), colour)?;
    }
    let cwd = std::env::current_dir()
        .map_err(|source| Error::NoInput { path: ".".to_owned(), source })?;
    let lifted = guards::lifted(arguments.guards, &mut source, terminal);
    let (stdin, piped) = stdin_of(arguments, &source.policy, terminal)?;
    let prompt = match (&stdin, &piped) {
        // What is no file can be read only once.
        (Stdin::File(path), _) if path.is_file() => std::fs::read(path).unwrap_or_default(),
        (_, piped) => piped.clone().unwrap_or_default(),
    };
    source.notes.extend(phrases::warnings(&source.policy, &prompt));
    source.notes.extend(late_cost(&source.policy, arguments));
    let launch = Launch {
        command: arguments.command.clone(),
        cwd,
        labels: arguments.labels.iter().cloned().collect(),
        once: arguments.once,
        auto_resume: arguments.auto_resume,
        total_units: arguments.total_units,
        stdin,
        raw: arguments.raw,
        telemetry: arguments.telemetry,
        attended: arguments.attended,
        lifted,
        policy_file: input::policy_path(named),
        flags: PolicyFlags {
            said: flags.kept,
            count: flags.count,
            presets: arguments.policy.preset.clone(),
        },
        ..Launch::default()
    };
    let notes = std::mem::take(&mut source.notes);
    Ok(Prepared { launch, pinned: source.pinned(flags.count), notes, piped })
}

/// A policy for a loop, from all its layers.
pub struct Layered {
    name: String,
    text: Option<String>,
    pub notes: Vec<String>,
    pub policy: Policy,
}

impl Layered {
    /// The policy with its name, which tells how many flags lie over it.
    pub fn pinned(self, flags: usize) -> PinnedPolicy {
        let Self { name, text, policy, .. } = self;
        let name = match flags {
            0 => name,
            1 => format!("{name} + 1 flag"),
            many => format!("{name} + {many} flags"),
        };
        PinnedPolicy { policy, text, name, put_by: caller() }
    }
}

/// Loads the policy that was named, else the nearest one, over presets and under flags.
pub fn layered(
    named: Option<&str>,
    preset_names: &[String],
    flags: Option<&Flags>,
    colour: bool,
) -> Result<Layered, Error> {
    let mut presets = Vec::new();
    for name in preset_names {
        presets.push(input::preset(name)?);
    }
    let document = match named {
        Some(name) => match name.strip_prefix("preset:") {
            Some(preset) => {
                presets.insert(0, input::preset(preset)?);
                None
            }
            None => Some(input::document(name)?),
        },
        None => input::nearest_policy().map(|path| input::document(&path)).transpose()?,
    };
    let layers = Layers {
        presets: &presets,
        document: document.as_ref().map(|document| (document.bytes.as_slice(), document.syntax)),
        flags,
        for_a_loop: true,
    };
    let loaded = layers.load().and_then(|loaded| {
        let unreadable = document.as_ref().map(|found| found.unreadable_reports(&loaded.policy));
        let unreadable = unreadable.filter(|findings| !findings.is_empty());
        unreadable.map_or(Ok(loaded), Err)
    });
    let loaded = match (loaded, &document) {
        (Ok(loaded), _) => loaded,
        (Err(findings), Some(document)) => {
            return Err(Error::Policy(document.refused(findings).render(colour)));
        }
        (Err(findings), None) => {
            let first = findings.first().map(|finding| finding.message.clone());
            return Err(Error::Usage(first.unwrap_or_default()));
        }
    };
    let mut names: Vec<String> = document.iter().map(|document| document.name.clone()).collect();
    names.extend(presets.iter().map(|preset| format!("preset:{}", preset.name())));
    if names.is_empty() {
        names.push(Preset::Default.name().to_owned());
    }
    let name = names.join(" + ");
    backstop_adapters::usable(&loaded.policy)
        .map_err(|why| Error::Policy(format!("{name}: {why}")))?;
    Ok(Layered {
        name,
        text: document.map(|document| document.text()),
        notes: loaded
            .notes
            .iter()
            .cloned()
            .chain(loaded.lints().into_iter().map(|lint| in_one_line(&lint)))
            .collect(),
        policy: loaded.policy,
    })
}

/// What will surprise, short enough for the start of a run.
fn in_one_line(lint: &Diagnostic) -> String {
    let advice = lint.label.as_deref().or(lint.hint.as_deref());
    match advice {
        Some(advice) => format!("{}: {advice}", lint.message),
        None => lint.message.clone(),
    }
}

/// Says so where a limit on money can't be held in the middle of an iteration: Claude tells what it
/// cost only when it ends.
fn late_cost(policy: &Policy, arguments: &RunArguments) -> Option<String> {
    let settings = &policy.settings;
    let agent = settings.loop_.as_ref().and_then(|set| set.agent).unwrap_or_default();
    let is_claude = match agent {
        // Amp prints what Claude prints, but no cost.
        AgentName::Auto => {
            Agent::of_command(&arguments.command) == Some(Agent::Claude)
                && !Agent::is_amp(&arguments.command)
        }
        named => named == AgentName::Claude,
    };
    let is_limited = policy.rules.iter().any(|rule| matches!(rule.when, Condition::MaxCost(_)));
    let is_told = arguments.telemetry || settings.prices.is_some();
    (is_claude && is_limited && !is_told).then(|| {
        "claude tells its cost when it ends, so that `max_cost` is looked at between iterations; \
         `--telemetry` or `[prices]` tell it while it works"
            .to_owned()
    })
}

/// After what time a rule ends the run.
fn longest(policy: &Policy) -> Option<Duration> {
    use Verdict::{Complete, Fail, Kill, Stop};
    let ends = |rule: &&Rule| !rule.shadow && matches!(rule.then, Stop | Kill | Fail | Complete);
    let durations = policy.rules.iter().filter(ends).filter_map(|rule| match &rule.when {
        Condition::MaxDuration(limit) => Some(limit.duration.0),
        _ => None,
    });
    durations.min()
}

/// What every iteration reads: the flag's file, the policy's, what is piped in, or nothing.
fn stdin_of(
    arguments: &RunArguments,
    policy: &Policy,
    terminal: &mut Terminal,
) -> Result<(Stdin, Option<Vec<u8>>), Error> {
    let of_policy = policy.settings.loop_.as_ref().and_then(|set| set.stdin.as_ref());
    let file = arguments.stdin.clone().or_else(|| of_policy.map(|text| PathBuf::from(&text.0)));
    if let Some(path) = file.filter(|path| path.as_os_str() != PIPED) {
        let unreadable = |source| Error::NoInput { path: path.display().to_string(), source };
        let kind = std::fs::File::open(&path).and_then(|file| file.metadata());
        if kind.map_err(unreadable)?.is_dir() {
            return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
        }
        return Ok((Stdin::File(path), None));
    }
    let bytes = piped::read(longest(policy), || {
        terminal.remark(
            "reading standard input until it ends; if nothing is piped in, use `< /dev/null`",
        );
    });
    let bytes = bytes.map_err(|unread| match unread {
        Unread::Io(source) => Error::NoInput { path: "-".to_owned(), source },
        unread => Error::Unread(unread),
    })?;
    match bytes {
        Some(bytes) if !bytes.is_empty() => Ok((Stdin::Kept, Some(bytes))),
        _ => Ok((Stdin::Nothing, None)),
    }
}

/// Names what is piped in, as it does for other programs.
const PIPED: &str = "-";

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;

    use super::*;

    #[test]
    fn standard_input_is_waited_for_as_long_as_a_rule_lets_the_run_last() {
        let longest = |more: &str| {
            let rule = |time: &str, then: &str| {
                let when = format!("when = {{ type = \"max_duration\", duration = \"{time}\" }}");
                format!("[[rule]]\n{when}\nthen = \"{then}\"\n")
            };
            let warns = rule("1s", "warn") + &rule("2s", "stop") + "shadow = true\n";
            let text = format!("limits = {{ unlimited = true }}\n{warns}{more}");
            longest(&Policy::load(text.as_bytes(), Syntax::Toml).expect("a policy").policy)
        };
        assert_eq!(longest(""), None, "none of them ends the run");
        let ends = "[[rule]]\nwhen = { type = \"max_duration\", duration = \"9s\" }\nthen = ";
        for then in ["stop", "kill", "fail"] {
            assert_eq!(longest(&format!("{ends}\"{then}\"\n")), Some(Duration::from_secs(9)));
        }
    }
}
