//! A file that an agent or a benchmark left behind.

use std::io::{Cursor, Read};

use backstop_adapters::trajectory::{self, Kind};
use backstop_adapters::{Adapter, Agent, Auto, Framer, Heard, Moment, Outcome, Record, closed};
use backstop_core::facts::Facts;
use backstop_core::policy::{AgentName, Policy};
use backstop_runner::capture::Reading;
use backstop_runner::clock::wall_time;
use backstop_runner::journalled;
use jiff::tz::TimeZone;

use super::feed::Feed;
use super::trial::Trial;
use crate::error::Error;
use crate::input;
use crate::sanitise::harmless;

/// What an agent printed, or the trajectory of one.
pub struct Capture {
    content: Content,
    /// It is one value, and its end is missing.
    is_cut: bool,
}

enum Content {
    Stream {
        path: String,
        agent: Agent,
        reader: Reader,
        bytes: Box<dyn Read>,
        /// One of its first records tells a time.
        is_dated: bool,
    },
    Trajectory {
        kind: Kind,
        bytes: Vec<u8>,
    },
}

/// Who reads a stream.
enum Reader {
    /// Several agents may have written to one log. Whose it seems to be may still be in doubt: two
    /// open their streams alike, and what only one of them prints may come late.
    Finding {
        auto: Box<Auto>,
        is_doubtful: bool,
    },
    Given(Box<dyn Adapter>),
}

impl Reader {
    fn adapter(&mut self) -> &mut dyn Adapter {
        match self {
            Self::Finding { auto, .. } => auto.as_mut(),
            Self::Given(adapter) => adapter.as_mut(),
        }
    }

    /// Whose stream it was that seemed to be this agent's.
    fn in_truth(&self, agent: Agent) -> Agent {
        match self {
            Self::Finding { auto, is_doubtful: true } => auto.agent().unwrap_or(agent),
            _ => agent,
        }
    }
}

impl Capture {
    /// Opens a file and finds out whose it is, unless that is given.
    pub fn open(path: &str, given: Option<Agent>, policy: &Policy) -> Result<Self, Error> {
        let unreadable = |source| Error::NoInput { path: path.to_owned(), source };
        let mut rest = input::open(path)?;
        let mut bytes = Vec::new();
        let whole = |content| Self { content, is_cut: false };
        let cut = |content| Self { content, is_cut: true };
        let adapter = |agent: Agent| {
            agent.adapter_for(policy).map_err(|error| {
                Error::Policy(format!("error: the policy's [jsonl] can't be used: {error}"))
            })
        };
        let stream = |agent: Agent, reader, head: Vec<u8>, rest: Box<dyn Read>| Content::Stream {
            path: path.to_owned(),
            agent,
            reader,
            is_dated: is_dated(agent, &head),
            bytes: Box::new(Cursor::new(head).chain(rest)),
        };
        let recognised = |(agent, is_doubtful), head, rest| {
            let auto = Box::new(Auto::beginning_with(agent));
            stream(agent, Reader::Finding { auto, is_doubtful }, head, rest)
        };
        rest.by_ref().take(GLANCE).read_to_end(&mut bytes).map_err(unreadable)?;
        if let Some(agent) = given {
            return Ok(whole(stream(agent, Reader::Given(adapter(agent)?), bytes, rest)));
        }
        // Streams are known by their beginning, and are read on from there however long they are.
        // A trajectory may be one value that only its end makes whole.
        if trajectory::recognise(&bytes).is_none()
            && let Some(seen) = agent_of(&bytes)
        {
            return Ok(whole(recognised(seen, bytes, rest)));
        }
        rest.by_ref().take(MOST - GLANCE).read_to_end(&mut bytes).map_err(unreadable)?;
        if let Some(kind) = trajectory::recognise(&bytes) {
            return Ok(match kind.with_last_closed(&bytes) {
                Some(bytes) => cut(Content::Trajectory { kind, bytes }),
                None => whole(Content::Trajectory { kind, bytes }),
            });
        }
        if let Some(seen) = agent_of(&bytes) {
            return Ok(whole(recognised(seen, bytes, rest)));
        }
        // One value whose end is missing still tells what is complete in it.
        if let Some(bytes) = closed(&bytes) {
            if let Some(kind) = trajectory::recognise(&bytes) {
                return Ok(cut(Content::Trajectory { kind, bytes }));
            }
            if let Some(seen) = agent_of(&bytes) {
                return Ok(cut(recognised(seen, bytes, Box::new(std::io::empty()))));
            }
        }
        match agent_named(policy) {
            Some(agent) => Ok(whole(stream(agent, Reader::Given(adapter(agent)?), bytes, rest))),
            None => Err(unknown(path, &bytes)),
        }
    }

    /// Reads all of it as if the agent ran now, and says whose it was.
    pub fn replay(self, policy: Policy) -> Result<(&'static str, Trial), Error> {
        let mut moment = present();
        let tells_words = match &self.content {
            Content::Stream { agent, .. } => {
                Reading::of(&policy, &[], false).tells_words_of(Some(*agent))
            }
            Content::Trajectory { .. } => true,
        };
        let trial = Trial::new(journalled::engine(policy, Facts::default()));
        // What an agent says of its end may stand before what is missing.
        let ended = |outcome| if self.is_cut { Outcome::CutOff } else { outcome };
        match self.content {
            Content::Trajectory { kind, bytes } => {
                let mut feed = Feed::of_steps(trial, moment.now);
                let outcome = kind.read(&bytes, &moment, &mut feed);
                Ok((kind.name(), feed.finish(ended(outcome))))
            }
            Content::Stream { path, agent, mut reader, mut bytes, is_dated } => {
                // What comes before the first time in a file of last year was not said now.
                moment.is_known = !is_dated;
                let mut feed = Feed::of_records(trial, moment.now);
                if !tells_words {
                    feed = feed.unclaimed();
                }
                let adapter = reader.adapter();
                let mut framer = Framer::new();
                let mut read = |record: Record<'_>| {
                    adapter.record(record, &moment, &mut feed);
                    feed.printed(record);
                    moment.now = feed.now();
                    moment.is_known |= feed.has_time();
                };
                let mut chunk = vec![0; CHUNK];
                loop {
                    match bytes.read(&mut chunk) {
                        Ok(0) => break,
                        Ok(length) => framer.push(&chunk[..length], &mut read),
                        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(source) => return Err(Error::NoInput { path, source }),
                    }
                }
                framer.finish(&mut read);
                let outcome = adapter.finish(None, &moment, &mut feed);
                Ok((reader.in_truth(agent).name(), feed.finish(ended(outcome))))
            }
        }
    }
}

/// Now, which is when something was said that nothing tells the time of.
fn present() -> Moment {
    Moment {
        now: wall_time(),
        is_known: true,
        is_live: false,
        zone: TimeZone::system(),
        zone_named: |name| TimeZone::get(name).ok(),
    }
}

/// Whether a stream that begins so tells when it was written.
fn is_dated(agent: Agent, head: &[u8]) -> bool {
    let (mut adapter, moment, mut is_dated) = (agent.adapter(), present(), false);
    let mut hear = |heard: Heard<'_>| is_dated |= matches!(heard, Heard::At(_));
    let mut read = |record: Record<'_>| adapter.record(record, &moment, &mut hear);
    let mut framer = Framer::new();
    framer.push(head, &mut read);
    framer.finish(&mut read);
    is_dated
}

/// The agent that the first telling record names, or a later one where that is in doubt; and
/// whether it still is.
fn agent_of(bytes: &[u8]) -> Option<(Agent, bool)> {
    let mut found: Option<Agent> = None;
    let mut is_doubtful = false;
    let mut framer = Framer::new();
    let mut look = |record: Record<'_>| match found {
        None => {
            found = Agent::of_first_record(&record);
            is_doubtful = found.is_some() && Agent::is_doubtful(&record);
        }
        Some(agent) if is_doubtful => {
            let other = agent.in_truth(&record);
            is_doubtful = other.is_none();
            found = other.or(found);
        }
        Some(_) => {}
    };
    framer.push(bytes, &mut look);
    framer.finish(&mut look);
    Some((found?, is_doubtful))
}

/// The agent that the policy names: the last resort, since a capture usually speaks for itself.
fn agent_named(policy: &Policy) -> Option<Agent> {
    let name = policy.settings.loop_.as_ref()?.agent?;
    if name == AgentName::Auto { None } else { name.name().parse().ok() }
}

fn unknown(path: &str, bytes: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(GLIMPSE)]);
    let seen = match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => {
            format!("it begins with `{}`", crate::report::cut(&harmless(line), LONGEST_SEEN))
        }
        None => "it is empty".to_owned(),
    };
    Error::BadData {
        place: input::shown(path).to_owned(),
        message: format!(
            "no agent's output and no trajectory that is known: {seen}\n\nhint: name the agent with --agent"
        ),
    }
}

/// What is looked at before the rest is read.
const GLANCE: u64 = 1 << 20;
/// A trajectory is one value, and has to fit into memory.
const MOST: u64 = 1 << 30;
const CHUNK: usize = 64 * 1024;
const GLIMPSE: usize = 4096;
const LONGEST_SEEN: usize = 50;
