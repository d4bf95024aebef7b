//! `backstop run`: the loop itself.

mod dry_run;
mod flags;
mod guards;
pub mod phrases;
pub mod supervise;

use std::path::PathBuf;

use backstop_core::condition::OutputSource;
use backstop_core::diagnostic::Diagnostic;
use backstop_core::policy::{Layers, Policy, Preset};
use backstop_runner::launch::{Launch, Stdin};
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
    let mut source = policy_of(arguments, &flags.layer, terminal.colours_errors())?;
    // Only the whole policy says which agent it is.
    if arguments.done.until_output.is_some() {
        let place = phrases::place(&source.policy, &arguments.command);
        flags = flags::layer(arguments, place)?;
        source = policy_of(arguments, &flags.layer, terminal.colours_errors())?;
    }
    backstop_adapters::usable(&source.policy)
        .map_err(|why| Error::Policy(format!("{}: {why}", source.name)))?;
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
        ..Launch::default()
    };
    let policy_name = match flags.count {
        0 => source.name,
        1 => format!("{} + 1 flag", source.name),
        many => format!("{} + {many} flags", source.name),
    };
    Ok(Prepared {
        launch,
        pinned: PinnedPolicy {
            policy: source.policy,
            text: source.text,
            name: policy_name,
            put_by: caller(),
        },
        notes: source.notes,
        piped,
    })
}

/// A policy for a loop, from all its layers.
struct Layered {
    name: String,
    text: Option<String>,
    notes: Vec<String>,
    policy: Policy,
}

fn policy_of(
    arguments: &RunArguments,
    flags: &backstop_core::policy::Flags,
    colour: bool,
) -> Result<Layered, Error> {
    let mut presets = Vec::new();
    for name in &arguments.policy.preset {
        presets.push(input::preset(name)?);
    }
    let document = match arguments.policy.policy.as_deref() {
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
        flags: Some(flags),
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
    Ok(Layered {
        name: names.join(" + "),
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

/// What every iteration reads: the flag's file, the policy's, what is piped in, or nothing.
fn stdin_of(
    arguments: &RunArguments,
    policy: &Policy,
    terminal: &mut Terminal,
) -> Result<(Stdin, Option<Vec<u8>>), Error> {
    let of_policy = policy.settings.loop_.as_ref().and_then(|set| set.stdin.as_ref());
    let file = arguments.stdin.clone().or_else(|| of_policy.map(|text| PathBuf::from(&text.0)));
    if let Some(path) = file {
        let unreadable = |source| Error::NoInput { path: path.display().to_string(), source };
        std::fs::File::open(&path).map_err(unreadable)?;
        return Ok((Stdin::File(path), None));
    }
    let piped = input::piped(|| {
        terminal.remark(
            "reading standard input until it ends; if nothing is piped in, use `< /dev/null`",
        );
    });
    match piped.map_err(|source| Error::NoInput { path: "-".to_owned(), source })? {
        Some(bytes) if !bytes.is_empty() => Ok((Stdin::Kept, Some(bytes))),
        _ => Ok((Stdin::Nothing, None)),
    }
}
