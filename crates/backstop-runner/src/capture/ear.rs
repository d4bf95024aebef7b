//! Understands what an agent prints: what it means, and what a person wants to see of it.
//!
//! The bytes of an agent that prints JSON are no good to read. As soon as it has printed a record, its
//! words, calls and errors are shown in their place. Until then everything is shown as it comes; only a
//! line that begins like JSON is held back until its end.

use backstop_adapters::{
    Agent, Auto, Exit, Framer, Heard, JsonlMapping, Moment, Outcome, Record, Totals,
};
use backstop_core::policy::{AgentName, Policy};
use jiff::tz::TimeZone;

use super::readable::Readable;
use crate::clock;

/// Who reads the output, and whether people see it as it is.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What the policy says.
    pub agent: AgentName,
    /// What the command tells.
    pub of_command: Option<Agent>,
    /// The command is that agent's own, so nobody else speaks.
    pub is_alone: bool,
    /// The command asks it for records.
    pub is_asked_for_records: bool,
    pub mapping: Option<JsonlMapping>,
    /// The bytes are shown as they are.
    pub raw: bool,
}

impl Reading {
    /// Who reads the output of this command under this policy.
    pub fn of(policy: &Policy, command: &[String], raw: bool) -> Self {
        let settings = &policy.settings;
        Self {
            agent: settings.loop_.as_ref().and_then(|set| set.agent).unwrap_or_default(),
            of_command: Agent::of_command(command),
            is_alone: Agent::is_alone_in(command),
            is_asked_for_records: Agent::is_asked_for_records(command),
            // A mapping that can't be used was refused when the policy was loaded.
            mapping: settings.jsonl.as_ref().and_then(|set| JsonlMapping::try_from(set).ok()),
            raw,
        }
    }

    /// The agent that is known before it has said anything.
    pub fn known(&self) -> Option<Agent> {
        match self.agent {
            AgentName::Auto => self.of_command,
            AgentName::Claude => Some(Agent::Claude),
            AgentName::Codex => Some(Agent::Codex),
            AgentName::Gemini => Some(Agent::Gemini),
            AgentName::OpenCode => Some(Agent::OpenCode),
            AgentName::Aider => Some(Agent::Aider),
            AgentName::Cursor => Some(Agent::Cursor),
            AgentName::Goose => Some(Agent::Goose),
            AgentName::Pi => Some(Agent::Pi),
            AgentName::Jsonl => Some(Agent::Jsonl),
            AgentName::Generic => Some(Agent::Generic),
        }
    }

    /// Whether this agent's own words can be told from the rest of its output.
    pub fn tells_words_of(&self, agent: Option<Agent>) -> bool {
        match agent {
            None | Some(Agent::Generic) => false,
            Some(Agent::Jsonl) => self.mapping.as_ref().is_some_and(JsonlMapping::tells_words),
            Some(_) => true,
        }
    }
}

/// Listens to one iteration.
#[derive(Debug)]
pub(super) struct Ear {
    framer: Framer,
    adapter: Reader,
    zone: TimeZone,
    view: View,
    readable: Readable,
    /// The beginning of a line that may be JSON.
    held: Vec<u8>,
    at_line_start: bool,
    /// Bytes that were heard while nobody knew whose they are.
    unknown: usize,
    /// A record of the agent's has come.
    has_record: bool,
    /// The latest agent that has printed a record.
    recorded: Option<Agent>,
    /// An agent that has answered in words.
    answered: Option<Agent>,
    /// The standard error's last line, as far as it has come.
    error_line: Vec<u8>,
    /// Anything came there.
    has_errors: bool,
}

enum Reader {
    Known(Agent, Box<dyn backstop_adapters::Adapter>),
    Unknown(Box<Auto>),
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Reader").field(&self.agent()).finish()
    }
}

/// What a person sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// The bytes, for good.
    Raw,
    /// The bytes, as long as they are not the JSON of an agent.
    Undecided,
    /// What is in the JSON.
    Readable,
}

impl Reader {
    fn new(reading: &Reading) -> Option<Self> {
        let is_asked = reading.is_asked_for_records;
        Some(match (reading.known(), &reading.mapping) {
            (Some(Agent::Generic), _) => return None,
            (Some(agent), _) if reading.agent == AgentName::Auto && reading.is_alone => {
                let alone = Auto::alone_with(agent);
                Self::Unknown(Box::new(alone.asked_for_records(is_asked)))
            }
            // What the command tells is whom it starts first.
            (Some(agent), _) if reading.agent == AgentName::Auto => {
                let beginning = Auto::beginning_with(agent);
                Self::Unknown(Box::new(beginning.asked_for_records(is_asked)))
            }
            (Some(Agent::Jsonl), Some(mapping)) => {
                let reader = backstop_adapters::Jsonl::new(mapping.clone());
                Self::Known(Agent::Jsonl, Box::new(reader))
            }
            (Some(agent), _) => {
                let mut adapter = agent.adapter();
                if is_asked {
                    adapter.expect_records();
                }
                Self::Known(agent, adapter)
            }
            (None, _) => Self::Unknown(Box::default()),
        })
    }

    fn agent(&self) -> Option<Agent> {
        match self {
            Self::Known(agent, _) => Some(*agent),
            Self::Unknown(auto) => auto.agent(),
        }
    }

    /// Whether the last record may be another agent's first, which the next one tells.
    fn is_undecided(&self) -> bool {
        matches!(self, Self::Unknown(auto) if auto.is_undecided())
    }

    /// Whether what the agent prints is shown as it is, line by line.
    fn is_plain(&self) -> bool {
        self.agent().is_some_and(|agent| !agent.prints_json())
    }

    /// Whether JSON that told nothing is no agent's: a script may print some of its own.
    fn disowns(&self, json: &[u8]) -> bool {
        // Nearly every record of every agent has a type.
        self.agent() != Some(Agent::Jsonl)
            && memchr::memmem::find(json, b"\"type\"").is_none()
            && serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok()
    }

    fn get(&mut self) -> &mut dyn backstop_adapters::Adapter {
        match self {
            Self::Known(_, adapter) => adapter.as_mut(),
            Self::Unknown(auto) => auto.as_mut(),
        }
    }
}

impl Ear {
    /// None where nothing is to be understood.
    pub fn new(reading: &Reading, colour: bool, columns: usize) -> Option<Self> {
        let adapter = Reader::new(reading)?;
        let plain = adapter.agent().is_some_and(|agent| !agent.prints_json());
        Some(Self {
            framer: Framer::new(),
            adapter,
            zone: TimeZone::system(),
            view: if reading.raw || plain { View::Raw } else { View::Undecided },
            readable: Readable::new(colour, columns),
            held: Vec::new(),
            at_line_start: true,
            unknown: 0,
            has_record: false,
            recorded: None,
            answered: None,
            error_line: Vec::new(),
            has_errors: false,
        })
    }

    /// What is made readable is shown in so many columns from now on.
    pub fn resized(&mut self, columns: usize) {
        self.readable.resized(columns);
    }

    /// The totals that the next launch goes on from.
    pub fn totals(&mut self) -> Option<Totals> {
        self.adapter.get().totals()
    }

    /// What earlier launches have told already.
    pub fn go_on_from(&mut self, totals: Totals) {
        self.adapter.get().go_on_from(totals);
    }

    /// Whose output it is, as far as is known.
    pub fn agent(&self) -> Option<Agent> {
        self.adapter.agent()
    }

    /// The latest agent that has printed a record.
    pub fn recorded(&self) -> Option<Agent> {
        self.recorded
    }

    /// Whether how the command exits tells more than what it said: agents have a last word, and who
    /// said something on its standard error may have said why it fails.
    pub fn needs_exit(&self) -> bool {
        self.agent().is_some_and(|agent| agent != Agent::Generic) || self.has_errors
    }

    /// Whether there were agents, and none of them answered in words.
    pub fn heard_only_records(&self) -> bool {
        self.has_record && self.answered.is_none()
    }

    /// As much of these bytes as may be heard at once by those who want to know what came before an
    /// agent did: a line, or all lines that are certain to be none of an agent's.
    pub fn piece_of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match self.length_of_plain(bytes) {
            0 => &bytes[..memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)],
            plain => &bytes[..plain],
        }
    }

    /// Whether much has come and nobody knows whose it is: some program, most likely.
    fn is_skimming(&self) -> bool {
        match self.agent() {
            None => self.unknown > MOST_UNKNOWN,
            Some(agent) => agent == Agent::Generic,
        }
    }

    /// The bytes before the next line that is worth reading: of some program's output only what
    /// begins like a record.
    fn length_of_plain(&self, bytes: &[u8]) -> usize {
        if !self.is_skimming() || !self.held.is_empty() || self.framer.is_amid() {
            return 0;
        }
        let begins =
            |line: usize| (line > 0 || self.at_line_start) && bytes.get(line) == Some(&b'{');
        if self.agent().is_none() {
            let next = || memchr::memmem::find(bytes, b"\n{").map_or(bytes.len(), |end| end + 1);
            return if begins(0) { 0 } else { next() };
        }
        // Its records are many, and only one with which an agent begins counts.
        let sign = Agent::sign_of_beginning(bytes);
        let before = &bytes[..sign.unwrap_or(bytes.len())];
        let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        match sign {
            _ if begins(line) => line,
            None => bytes.len(),
            Some(sign) => {
                memchr::memchr(b'\n', &bytes[sign..]).map_or(bytes.len(), |end| sign + end + 1)
            }
        }
    }

    /// Hears bytes of the standard output; `show` gets what a person should see.
    pub fn listen(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
        show: &mut dyn FnMut(&[u8]),
    ) {
        let was_skimming = self.is_skimming();
        if self.agent().is_none() {
            self.unknown = self.unknown.saturating_add(bytes.len());
        }
        if !self.is_skimming() {
            return self.attend(bytes, hear, show);
        }
        if !was_skimming && !self.at_line_start && self.held.is_empty() {
            // The line that it is in the middle of is none that would be read.
            self.framer = Framer::new();
        }
        let mut rest = bytes;
        while !rest.is_empty() && self.is_skimming() {
            let plain = self.length_of_plain(rest);
            let piece = if plain == 0 { self.piece_of(rest) } else { &rest[..plain] };
            rest = &rest[piece.len()..];
            if plain == 0 {
                self.attend(piece, hear, show);
            } else {
                show(piece);
            }
            self.at_line_start = piece.ends_with(b"\n");
        }
        if !rest.is_empty() {
            self.attend(rest, hear, show);
        }
    }

    /// Hears bytes of which any may count.
    fn attend(
        &mut self,
        bytes: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
        show: &mut dyn FnMut(&[u8]),
    ) {
        match self.view {
            View::Raw => {
                show(bytes);
                self.understand(Some(bytes), hear, &mut |_| {});
                self.at_line_start = bytes.last().map_or(self.at_line_start, |it| *it == b'\n');
            }
            View::Readable => self.understand(Some(bytes), hear, show),
            View::Undecided => {
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    self.attend_to_line(line, hear, show);
                }
            }
        }
    }

    /// Hears a line, or a part of one, while it is not clear what it is.
    fn attend_to_line(
        &mut self,
        line: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
        show: &mut dyn FnMut(&[u8]),
    ) {
        if self.view != View::Undecided {
            return self.attend(line, hear, show);
        }
        let begins = self.at_line_start && matches!(line.first(), Some(b'{' | b'['));
        let is_whole = line.ends_with(b"\n");
        self.at_line_start = is_whole;
        if !begins && self.held.is_empty() {
            show(line);
            return self.understand(Some(line), hear, &mut |_| {});
        }
        self.held.extend_from_slice(line);
        // What it shows must not come before it is known that it may.
        let mut shown = Vec::new();
        self.understand(Some(line), hear, &mut |text| shown.extend_from_slice(text));
        if is_whole && self.has_record {
            self.view = View::Readable;
            self.held = Vec::new();
            show(&shown);
        } else if (is_whole && !self.awaits_record()) || self.held.len() > MOST_HELD {
            show(&std::mem::take(&mut self.held));
        }
    }

    /// Whether a value over several lines may become a record, which is known of those alone who print
    /// such, or what looks like another agent's first record may be just that.
    fn awaits_record(&self) -> bool {
        // After two bytes nobody knows their encoding, and so neither what they are.
        let opens = matches!(self.held.trim_ascii(), b"{" | b"[");
        let is_amid = opens || self.framer.is_amid();
        self.agent().is_some_and(Agent::prints_json) && is_amid || self.adapter.is_undecided()
    }

    /// Hears bytes of the standard error, which are shown as they are.
    pub fn listen_to_errors(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Heard<'_>)) {
        self.has_errors = true;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_ERROR_LINE.saturating_sub(self.error_line.len());
            self.error_line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.error_line_ended(hear);
            }
        }
    }

    fn error_line_ended(&mut self, hear: &mut dyn FnMut(Heard<'_>)) {
        let line = std::mem::take(&mut self.error_line);
        let line = String::from_utf8_lossy(&line);
        let line = backstop_adapters::without_escapes(line.trim_end());
        if !line.is_empty() {
            let moment = moment(&self.zone);
            self.adapter.get().error_line(&line, &moment, &mut |heard: Heard<'_>| hear(heard));
        }
    }

    /// The agent has ended: what only its end shows.
    pub fn finish(
        &mut self,
        exit: Option<Exit>,
        hear: &mut dyn FnMut(Heard<'_>),
        show: &mut dyn FnMut(&[u8]),
    ) -> Outcome {
        self.error_line_ended(hear);
        let held = std::mem::take(&mut self.held);
        let mut shown = Vec::new();
        self.understand(None, hear, &mut |text| shown.extend_from_slice(text));
        // JSON that ends without a line's end, as one object does.
        if self.view == View::Undecided && self.has_record && !held.is_empty() {
            self.view = View::Readable;
        } else {
            show(&held);
        }
        let (readable, is_readable) = (&mut self.readable, self.view == View::Readable);
        let moment = moment(&self.zone);
        let outcome = self.adapter.get().finish(exit, &moment, &mut |heard: Heard<'_>| {
            if let (Heard::Shown(thing), true) = (&heard, is_readable) {
                readable.show(*thing, &mut |text| shown.extend_from_slice(text));
            }
            hear(heard);
        });
        if is_readable {
            readable.finish(&mut |text| shown.extend_from_slice(text));
            show(&shown);
        }
        outcome
    }

    /// Reads more, or the rest.
    fn understand(
        &mut self,
        bytes: Option<&[u8]>,
        hear: &mut dyn FnMut(Heard<'_>),
        show: &mut dyn FnMut(&[u8]),
    ) {
        let Self { framer, adapter, readable, view, zone, has_record, recorded, answered, .. } =
            self;
        let mut emit = |record: Record<'_>| {
            let (was_plain, mut is_told, mut is_shown) = (adapter.is_plain(), false, false);
            let mut tells_more = false;
            adapter.get().record(record, &moment(zone), &mut |heard: Heard<'_>| {
                is_told = true;
                tells_more |= !matches!(heard, Heard::Shown(_));
                if let (Heard::Shown(thing), false) = (&heard, was_plain) {
                    is_shown = true;
                    readable.show(*thing, show);
                }
                hear(heard);
            });
            let agent = adapter.agent().filter(|agent| *agent != Agent::Generic);
            if agent != *recorded {
                // A record that is only shown is quoted among the agent's words.
                let is_quoted = is_shown && !tells_more;
                if agent.is_some_and(|agent| agent.prints(&record)) && !is_quoted {
                    *has_record = true;
                    *recorded = agent;
                    // What came before were no words of one that prints records.
                    answered.take_if(|answered| Some(*answered) == agent);
                } else if agent.is_some() && !is_blank(&record) {
                    *answered = agent;
                }
            }
            match record {
                _ if *view != View::Readable || is_shown => {}
                Record::Text(line) => readable.pass(line, show),
                Record::Json(bytes) if was_plain || !is_told && adapter.disowns(bytes) => {
                    readable.pass(&String::from_utf8_lossy(bytes), show);
                }
                Record::Json(_) => {}
            }
        };
        match bytes {
            Some(bytes) => framer.push(bytes, &mut emit),
            None => framer.finish(&mut emit),
        }
    }
}

fn is_blank(record: &Record<'_>) -> bool {
    matches!(record, Record::Text(line) if line.trim().is_empty())
}

/// Now, for those who read what an agent says.
pub(crate) fn moment(zone: &TimeZone) -> Moment {
    let zone_named = |name: &str| TimeZone::get(name).ok();
    Moment {
        now: clock::wall_time(),
        is_known: true,
        is_live: true,
        zone: zone.clone(),
        zone_named,
    }
}

/// So much of an unknown program's output is read, in case that it is an agent's.
const MOST_UNKNOWN: usize = 1 << 20;

/// A line that begins like JSON and is longer is shown as it comes.
const MOST_HELD: usize = 1 << 20;

const LONGEST_ERROR_LINE: usize = 64 << 10;
