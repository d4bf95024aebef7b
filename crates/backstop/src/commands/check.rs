//! `backstop check`: one decision, from facts or events.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::time::Duration;

use backstop_core::condition::{ClockTime, Condition};
use backstop_core::decision::Decision;
use backstop_core::document::MAX_BYTES;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::{Facts, GivenFacts};
use backstop_core::policy::Policy;
use backstop_core::rerun::{Answer, Request, deployment_env, speaks_of_reruns};
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;

use crate::args::{CheckArguments, Form};
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report;
use crate::terminal::Terminal;

pub fn run(arguments: &CheckArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    refuse_two_inputs(arguments)?;
    let policy = load_policy(arguments, terminal)?;
    let now = arguments.now.unwrap_or_else(|| Timestamp::from_jiff(jiff::Timestamp::now()));
    let given = match &arguments.facts {
        Some(path) => given_facts(path)?.0,
        None => GivenFacts::default(),
    };
    // What is left out counts as nothing used; what is said to be unknown is not "no".
    let meters_are_neutral = !given.say_cost_is_unknown();
    let zone = local_zone(&policy);
    let mut engine = Engine::with_facts(policy, Facts::from(given)).in_zone(zone);
    if meters_are_neutral {
        engine = engine.with_neutral_meters();
    }
    if let Some(path) = &arguments.events {
        read_events(path, |event, _| {
            engine.handle_event(&event, now);
            Ok(())
        })?;
    }
    let last = engine.moment(Timestamp::from_nanos(i64::MIN)).at;
    remark_on_what_is_missing(arguments, last, now, terminal);
    let decision = engine.poll_decision(engine.moment(now));
    let code = match decision.verdict {
        Verdict::Complete if arguments.break_when_complete => exit_code::COMPLETE,
        _ => decision.exit_code(engine.policy()),
    };
    match show(arguments, &engine, &decision, terminal) {
        // Whoever stopped reading early must still not take a `stop` for a `continue`.
        Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(code),
        shown => shown.map(|()| code),
    }
}

/// Refuses to read one standard input twice.
pub fn refuse_two_inputs(arguments: &CheckArguments) -> Result<(), Error> {
    let files = [&arguments.policy, &arguments.facts, &arguments.events];
    if files.into_iter().filter(|path| path.as_deref() == Some(input::STDIN)).count() > 1 {
        return Err(Error::Usage(
            "only one of --policy, --facts and --events can be standard input".to_owned(),
        ));
    }
    Ok(())
}

/// Loads the policy that was named, else the usual one, and says what is worth knowing about it.
pub fn load_policy(arguments: &CheckArguments, terminal: &mut Terminal) -> Result<Policy, Error> {
    let colour = terminal.colours_errors();
    let mut source = input::usable_policy(arguments.policy.as_deref(), colour)?;
    if arguments.policy.is_none() {
        // One that is there for something else leaves re-runs to the preset for them.
        if arguments.form == Some(Form::Rerun) && !speaks_of_reruns(&source.loaded.policy) {
            source = input::usable_policy(Some("preset:rerun"), colour)?;
        }
        terminal.remark(&format!("policy: {}", source.name));
    }
    for note in &source.loaded.notes {
        terminal.remark(&format!("note: {}: {note}", source.name));
    }
    Ok(source.loaded.policy)
}

/// Says so when the question cannot be the one that was meant.
pub fn remark_on_what_is_missing(
    arguments: &CheckArguments,
    last: Timestamp,
    now: Timestamp,
    terminal: &mut Terminal,
) {
    if arguments.facts.is_none() && arguments.events.is_none() {
        terminal.remark("note: neither --facts nor --events was given, so nothing has happened");
    }
    if arguments.events.is_none() || arguments.now.is_some() {
        return;
    }
    if now.since(last) > RECENT && last > Timestamp::default() {
        terminal.remark(&format!(
            "note: decided as of now, but the last event was at {last}; to decide as of then: --now {last}"
        ));
    }
}

/// Older events are a recording, not a run that goes on.
const RECENT: Duration = Duration::from_secs(3600);

/// Reads facts, and keeps what was read.
pub fn given_facts(path: &str) -> Result<(GivenFacts, Vec<u8>), Error> {
    let bytes = input::read(path)?;
    if bytes.len() > MAX_BYTES {
        let message =
            format!("these facts are larger than {} MiB; give events instead", MAX_BYTES >> 20);
        return Err(Error::BadData { place: input::shown(path).to_owned(), message });
    }
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let given = GivenFacts::from_json(text).map_err(|error| Error::BadData {
        place: format!("{}:{}:{}", input::shown(path), error.line, error.column),
        message: format!("these are not facts: {error}"),
    })?;
    Ok((given, text.to_vec()))
}

/// Reads a file of events, one line at a time, so that its size does not matter. Each is handed over
/// with the length of its line.
pub fn read_events(
    path: &str,
    mut take: impl FnMut(Event, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = input::lines(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = lines
            .by_ref()
            .take(MAX_BYTES as u64 + 1)
            .read_until(b'\n', &mut line)
            .map_err(|source| Error::NoInput { path: path.to_owned(), source })?;
        if length == 0 {
            break;
        }
        let place = |column| format!("{}:{number}:{column}", input::shown(path));
        if length > MAX_BYTES {
            let message = format!("this line is longer than {} MiB", MAX_BYTES >> 20);
            return Err(Error::BadData { place: place(1), message });
        }
        let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line);
        let text = text.trim_ascii_end();
        let blanks = text.len() - text.trim_ascii_start().len();
        if text.len() == blanks {
            continue;
        }
        let event = Event::from_json(&text[blanks..]).map_err(|error| Error::BadData {
            place: place(blanks + error.column),
            message: format!("this is not an event: {error}"),
        })?;
        take(event, length)?;
    }
    Ok(())
}

fn show(
    arguments: &CheckArguments,
    engine: &Engine,
    decision: &Decision,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    match arguments.form {
        Some(Form::Rerun) => {
            let answer = Answer::new(engine, decision, request(arguments, decision));
            let text = serde_json::to_string_pretty(&answer).map_err(io::Error::from)?;
            writeln!(terminal.out, "{text}")?;
        }
        None if arguments.json => writeln!(terminal.out, "{}", decision.to_json())?,
        None => {
            let code = decision.exit_code(engine.policy());
            write!(terminal.out, "{}", report::decision(engine.policy(), code, decision))?;
        }
    }
    Ok(())
}

fn request(arguments: &CheckArguments, decision: &Decision) -> Request {
    Request {
        request_id: arguments
            .request_id
            .clone()
            .unwrap_or_else(|| new_request_id(arguments, decision.decided_at)),
        deployment_env: deployment_env(std::env::var("DEPLOY_ENV").ok().as_deref()),
        pr_number: arguments.pr,
        run_id: arguments.run_id,
    }
}

/// Unique enough to find one line in a log: the time, and the process unless the time was given:
/// then the same question has the same answer, to the byte.
pub fn new_request_id(arguments: &CheckArguments, at: Timestamp) -> String {
    let process = if arguments.now.is_some() { 0 } else { std::process::id() };
    format!("req-{:x}-{process:x}", at.as_nanos())
}

/// The machine's zone, looked up only for policies that name a time of day, since that reads files.
fn local_zone(policy: &Policy) -> jiff::tz::TimeZone {
    fn names_a_time_of_day(condition: &Condition) -> bool {
        match condition {
            Condition::WallClock(clock) => matches!(clock.at, ClockTime::Daily(_)),
            other => other.parts().iter().any(names_a_time_of_day),
        }
    }
    if policy.all_rules().any(|rule| names_a_time_of_day(&rule.when)) {
        jiff::tz::TimeZone::system()
    } else {
        jiff::tz::TimeZone::UTC
    }
}

/// What some editors put before the first character.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
