//! What the files of a session tell of tokens, read on from where they were left.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstop_adapters::hook::{HookAgent, HookEvent, Transcript, TranscriptReader};
use backstop_adapters::{Price, Prices};
use backstop_core::event::{EventKind, Usage};
use backstop_core::policy::{OnUnknown, Policy, Rule};

use super::Hook;
use super::session::Notes;

/// What was used since the last hook. A file that can't be read tells nothing: where a limit wants
/// to know, the policy holds the run for want of figures.
pub fn news(hook: &Hook<'_>, policy: &Policy, notes: &mut Notes) -> Vec<EventKind> {
    let mut events = read_on(hook, Path::new(hook.input.transcript_path()), notes);
    for path in sub_agents(hook) {
        let others = read_on(hook, &path, notes);
        // Another context than the main loop's.
        events.extend(others.into_iter().filter(|event| !matches!(event, EventKind::Context(_))));
    }
    let prices = prices(policy);
    for event in &mut events {
        if let EventKind::Usage(usage) = event {
            notes.metered = true;
            usage.cost_usd = prices.cost(usage.model.as_deref(), usage);
        }
    }
    events
}

/// The same when the agent stops: its answer is written beside the call of the hook, so where it counts
/// whether there are figures, they are waited for a little.
pub fn awaited_news(hook: &Hook<'_>, policy: &Policy, notes: &mut Notes) -> Vec<EventKind> {
    let mut events = news(hook, policy, notes);
    for _ in 0..MOST_LOOKS {
        if !owes_figures(hook, policy, notes) {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        events.extend(news(hook, policy, notes));
    }
    events
}

/// Whether a limit wants figures of this turn that the transcript, which can be read, has not told.
pub fn owes_figures(hook: &Hook<'_>, policy: &Policy, notes: &Notes) -> bool {
    let wants = |rule: &Rule| rule.when.reads_a_meter() && rule.on_unknown != OnUnknown::Ignore;
    let path = || file_of(Path::new(hook.input.transcript_path()));
    let is_known = || path().is_some_and(|path| notes.transcripts.contains_key(&path));
    !notes.metered && policy.all_rules().any(wants) && is_known()
}

/// What a turn has used that came to nothing.
pub fn nothing_used() -> EventKind {
    Usage { cost_usd: Some(0.0), ..Usage::default() }.into()
}

/// What a resumed session has used before was used without us. It is read all the same, so that
/// running totals go on from there.
pub fn skip(hook: &Hook<'_>, notes: &mut Notes) {
    read_on(hook, Path::new(hook.input.transcript_path()), notes);
    for path in all_sub_agents(hook) {
        read_on(hook, &path, notes);
    }
}

/// The files of those who work for the agent, as far as this hook is about them. When the agent or its
/// session ends, nobody is left out.
fn sub_agents(hook: &Hook<'_>) -> Vec<PathBuf> {
    let mut paths = match hook.event {
        HookEvent::Stop | HookEvent::StopFailure | HookEvent::SessionEnd => all_sub_agents(hook),
        _ => Vec::new(),
    };
    let id = hook.input.agent_id();
    let is_name = |id: &str| id.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it));
    if let Some(folder) = folder_of_sub_agents(hook).filter(|_| !id.is_empty() && is_name(id)) {
        paths.push(folder.join(format!("agent-{id}.jsonl")));
    }
    let told = Some(hook.input.agent_transcript_path()).filter(|path| !path.is_empty());
    paths.extend(told.map(PathBuf::from));
    paths
}

/// The files of all who have worked for the agent in its session, in the order of their names.
fn all_sub_agents(hook: &Hook<'_>) -> Vec<PathBuf> {
    let entries = folder_of_sub_agents(hook).and_then(|folder| std::fs::read_dir(folder).ok());
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .flat_map(|entries| entries.flatten().take(MOST_ENTRIES))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    paths
}

/// Claude Code keeps them in a folder beside the session's own file, of the same name.
fn folder_of_sub_agents(hook: &Hook<'_>) -> Option<PathBuf> {
    let session = hook.input.transcript_path().strip_suffix(".jsonl")?;
    let is_claude = hook.agent == HookAgent::ClaudeCode;
    is_claude.then(|| expanded(Path::new(session)).join("subagents"))
}

fn read_on(hook: &Hook<'_>, path: &Path, notes: &mut Notes) -> Vec<EventKind> {
    let Some(path) = file_of(path) else { return Vec::new() };
    let known = notes.transcripts.get(&path).cloned();
    if known.is_none() && notes.transcripts.len() >= MOST_TRANSCRIPTS {
        return Vec::new();
    }
    let mut state = known.unwrap_or_default();
    let Some((file, length)) = open(Path::new(&path)) else { return Vec::new() };
    // A file that shrank was replaced; nothing in it is counted twice.
    state.offset = state.offset.min(length);
    let model = notes.model.clone();
    let Some((state, events)) = read(hook, state, &model, file) else { return Vec::new() };
    notes.transcripts.insert(path, state);
    events
}

fn read(
    hook: &Hook<'_>,
    state: Transcript,
    model: &str,
    mut file: File,
) -> Option<(Transcript, Vec<EventKind>)> {
    file.seek(SeekFrom::Start(state.offset)).ok()?;
    let mut reader = TranscriptReader::new(hook.agent, state, model, &hook.moment());
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(reader.finish()),
            Ok(length) => reader.push(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Opens a file and nothing else: a pipe would be waited for.
fn open(path: &Path) -> Option<(File, u64)> {
    let data = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((File::open(path).ok()?, data.len()))
}

/// The one name of a file, however it is called: what is known by two would be counted twice.
fn file_of(path: &Path) -> Option<String> {
    if path.as_os_str().is_empty() || path.as_os_str().len() > LONGEST_PATH {
        return None;
    }
    let path = std::fs::canonicalize(expanded(path)).ok()?;
    path.into_os_string().into_string().ok()
}

/// Agents write their user's home as `~`.
fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.into(),
    }
}

fn prices(policy: &Policy) -> Prices {
    let table = policy.settings.prices.iter().flat_map(|table| &table.0);
    let prices = table.map(|(model, price)| {
        let price = Price {
            input: price.input.0,
            output: price.output.0,
            cache_read: price.cache_read.map(|price| price.0),
            cache_write: price.cache_write.map(|price| price.0),
        };
        (model.clone(), price)
    });
    // The policy has been checked for the same.
    Prices::try_from(prices.collect::<std::collections::BTreeMap<_, _>>()).unwrap_or_default()
}

/// An agent waits for its hooks, and so does the next step of its user.
const MOST_LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

const LONGEST_PATH: usize = 4096;
/// One for the session and one for each sub-agent; a session with more has counted enough.
const MOST_TRANSCRIPTS: usize = 256;
/// So many names of a folder are looked at.
const MOST_ENTRIES: usize = 4096;
