//! The other end of a run's sockets, for commands: one question, one answer, and no patience
//! beyond its time-out.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use backstop_core::event::Event;
use backstop_core::id::RunId;
use serde_json::json;

use super::answer::Answer;
use super::place::Place;
use super::protocol::Order;

/// A connection to a run.
#[derive(Debug)]
pub struct Client {
    lines: BufReader<UnixStream>,
    door: Door,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Report,
    Operate,
}

/// Why a run did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens: there is another way, the inbox.
    #[error("the run's supervisor can't be reached: {0}")]
    Unreachable(io::Error),
    /// It was reached, and what became of the question is not known.
    #[error("the run's supervisor gave no answer: {0}")]
    NoAnswer(io::Error),
    #[error("the run's supervisor gave an answer that is none: {0}")]
    Unclear(String),
    #[error("{0}")]
    Refused(String),
}

impl Client {
    /// Connects as an operator, wherever the run's sockets are.
    pub fn connect(run: RunId) -> Result<Self, ClientError> {
        Self::find(run, |place| Self::operate_at(&place.operate()))
    }

    /// Connects as one who reports, wherever the run's sockets are.
    pub fn reporter(run: RunId) -> Result<Self, ClientError> {
        Self::find(run, |place| Self::report_to(&place.report()))
    }

    fn find(
        run: RunId,
        connect: impl Fn(&Place) -> Result<Self, ClientError>,
    ) -> Result<Self, ClientError> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for place in Place::candidates(run) {
            match connect(&place) {
                Ok(client) => return Ok(client),
                Err(ClientError::Unreachable(error)) => refused = error,
                Err(other) => return Err(other),
            }
        }
        Err(ClientError::Unreachable(refused))
    }

    /// Connects as an operator to a socket by its name.
    pub fn operate_at(path: &Path) -> Result<Self, ClientError> {
        Self::open(path, Door::Operate)
    }

    /// Connects as the supervised side, to what `BACKSTOP_SOCKET` names.
    pub fn report_to(path: &Path) -> Result<Self, ClientError> {
        Self::open(path, Door::Report)
    }

    fn open(path: &Path, door: Door) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(ClientError::Unreachable)?;
        let lines = BufReader::new(stream);
        let client = Self { lines, door };
        client.set_timeout(Some(TIMEOUT)).map_err(ClientError::Unreachable)?;
        Ok(client)
    }

    /// How long an answer may take; for ever with none.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.lines.get_ref().set_read_timeout(timeout)?;
        self.lines.get_ref().set_write_timeout(timeout)
    }

    /// Sends an event and waits until it is stored and judged.
    pub fn event(&mut self, event: &Event) -> Result<Answer, ClientError> {
        let line = match self.door {
            Door::Report => event.to_json(),
            Door::Operate => event_order(event),
        };
        self.ask(&line)
    }

    /// The same for what a hook of the agent tells.
    pub fn hooked(&mut self, event: &Event) -> Result<Answer, ClientError> {
        let line = match self.door {
            Door::Report => json!({ "hooked": event }).to_string(),
            Door::Operate => hooked_order(event),
        };
        self.ask(&line)
    }

    /// Asks for the decision as it is.
    pub fn decision(&mut self) -> Result<Answer, ClientError> {
        self.ask(r#"{"ask":"decision"}"#)
    }

    pub fn order(&mut self, order: &Order) -> Result<Answer, ClientError> {
        self.ask(&order_line(order))
    }

    /// Every event from now on, as its line of JSON.
    pub fn watch(mut self) -> Result<Watching, ClientError> {
        self.ask(r#"{"do":"watch"}"#)?;
        self.set_timeout(None).map_err(ClientError::NoAnswer)?;
        Ok(Watching { lines: self.lines })
    }

    /// Sends a line and reads the one that answers it.
    pub fn ask(&mut self, line: &str) -> Result<Answer, ClientError> {
        let sent = self.lines.get_mut().write_all(format!("{line}\n").as_bytes());
        // Who turned us away has said why before it hung up, so look before giving up.
        let answer = read_line(&mut self.lines);
        let text = match (sent, answer) {
            (_, Ok(Some(text))) => text,
            (Err(error), _) | (Ok(()), Err(error)) => return Err(ClientError::NoAnswer(error)),
            (Ok(()), Ok(None)) => {
                return Err(ClientError::NoAnswer(io::ErrorKind::UnexpectedEof.into()));
            }
        };
        let answer = Answer::read(&text).ok_or(ClientError::Unclear(text))?;
        match answer.error() {
            Some(message) => Err(ClientError::Refused(message.to_owned())),
            None => Ok(answer),
        }
    }
}

/// The events of a run as they come.
#[derive(Debug)]
pub struct Watching {
    lines: BufReader<UnixStream>,
}

impl Watching {
    /// How long to wait for the next event; for ever with none.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.lines.get_ref().set_read_timeout(timeout)
    }
}

/// Ends when the run does.
impl Iterator for Watching {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        read_line(&mut self.lines).transpose()
    }
}

/// An event as an operator's order, for the socket and for the inbox.
pub(super) fn event_order(event: &Event) -> String {
    json!({ "do": "event", "event": event }).to_string()
}

/// The same for what a hook of the agent tells.
pub(super) fn hooked_order(event: &Event) -> String {
    json!({ "do": "event", "hooked": event }).to_string()
}

pub(super) fn order_line(order: &Order) -> String {
    serde_json::to_string(order).expect("an order has only string keys and finite numbers")
}

fn read_line(lines: &mut BufReader<UnixStream>) -> io::Result<Option<String>> {
    let mut text = String::new();
    let length = lines.read_line(&mut text)?;
    Ok((length > 0).then(|| text.trim_end().to_owned()))
}

/// A commit on a slow disk takes a second or two; a supervisor that is stopped takes for ever.
const TIMEOUT: Duration = Duration::from_secs(10);
