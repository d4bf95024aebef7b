//! `backstop emit`: something happened; what now?

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use backstop_core::event::Event;
use backstop_core::id::RunId;
use backstop_runner::socket::{Answer, Client, ClientError, inbox, may_emit};
use backstop_runner::unsupervised;
use backstop_store::Run;

use super::operate::{from_client, from_inbox};
use crate::args::{EmitArguments, PrintForm, StoreArguments};
use crate::env_vars::{RUN_ID, SOCKET};
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::remote::{Given, Reporter};
use crate::sanitise::harmless;
use crate::store::Opened;
use crate::terminal::Terminal;

mod words;

use words::Said;

pub fn run(arguments: &EmitArguments, given: &Given, terminal: &mut Terminal) -> Result<u8, Error> {
    let mut told = Told {
        run: arguments.run.clone(),
        given: given.clone(),
        store: arguments.store.clone(),
        print: arguments.print,
        break_when_complete: arguments.break_when_complete,
    };
    if arguments.json.as_deref() == Some(input::STDIN) {
        return emit_lines(&told, terminal);
    }
    let event = match &arguments.json {
        Some(text) => event(text.as_bytes(), "--json")?,
        None => match words::read(&arguments.words, &mut told)? {
            Said::Event(text) => event(text.as_bytes(), "the command line")?,
            Said::Help(text) => {
                write!(terminal.out, "{text}")?;
                return Ok(exit_code::OK);
            }
        },
    };
    let mut way = told.way()?;
    let answer = way.emit(&event, terminal)?;
    told.show(&answer, terminal)
}

/// Reports every line of standard input. The last decision counts.
fn emit_lines(told: &Told, terminal: &mut Terminal) -> Result<u8, Error> {
    let mut way = told.way()?;
    let mut code = exit_code::OK;
    for (number, line) in (1..).zip(input::lines(input::STDIN)?.split(b'\n')) {
        let unreadable = |source| Error::NoInput { path: input::STDIN.to_owned(), source };
        let line = line.map_err(unreadable)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = event(line.trim_ascii(), &format!("<stdin>:{number}"))?;
        let answer = way.emit(&event, terminal)?;
        code = told.show(&answer, terminal)?;
        // Whoever waits for the answer must not wait for the next event, too.
        terminal.out.flush()?;
    }
    Ok(code)
}

fn event(text: &[u8], place: &str) -> Result<Event, Error> {
    Event::from_json(text).map_err(|error| Error::BadData {
        place: place.to_owned(),
        message: format!("this is not an event: {error}"),
    })
}

/// What the flags say, wherever they stand.
struct Told {
    run: Option<String>,
    given: Given,
    store: StoreArguments,
    print: PrintForm,
    break_when_complete: bool,
}

impl Told {
    /// How the run is reached: where only a variable names a server, the supervisor of the run that
    /// this process is part of is nearer.
    fn way(&self) -> Result<Way, Error> {
        let named = self.run.as_deref();
        let is_part = || is_part(named) && std::env::var_os(SOCKET).is_some();
        match self.given.server()? {
            Some(server) if !(self.given.is_by_variable() && is_part()) => {
                let run = named.map(str::to_owned).or_else(|| std::env::var(RUN_ID).ok());
                let run = run.ok_or_else(which_run)?;
                Ok(Way::Server(Box::new(Reporter::new(server, run))))
            }
            _ => Way::open(named, &self.store),
        }
    }

    /// Prints a decision and says with which code to end.
    fn show(&self, answer: &Answer, terminal: &mut Terminal) -> Result<u8, Error> {
        let shown = match self.print {
            PrintForm::Json => writeln!(terminal.out, "{}", answer.to_line()),
            PrintForm::Text => writeln!(terminal.out, "{}", line(answer)),
        };
        let code = match answer.verdict() {
            Some("complete") if self.break_when_complete => exit_code::COMPLETE,
            _ => answer.exit_code(),
        };
        match shown {
            // Whoever stopped reading must still not take a `stop` for a `continue`.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(code),
        }
    }
}

/// `stop  consecutive_fails   2 units in a row failed`.
fn line(answer: &Answer) -> String {
    let verdict = answer.verdict().unwrap_or("stored");
    let lead = match answer.reason() {
        Some(reason) => format!("{verdict}  {reason}"),
        None => verdict.to_owned(),
    };
    harmless(&format!("{lead}   {}", answer.message())).trim_end().to_owned()
}

/// How a run is reached.
pub(super) enum Way {
    /// By the socket of its supervisor.
    Socket(Box<Client>),
    /// By its supervisor's inbox.
    Inbox(Opened, Run),
    /// It has no supervisor.
    Store(Opened, Run),
    /// It is another machine's.
    Server(Box<Reporter>),
}

impl Way {
    /// Finds the run that was named, else the one that this process is part of.
    pub(super) fn open(named: Option<&str>, store: &StoreArguments) -> Result<Self, Error> {
        let surrounding = std::env::var(RUN_ID).ok();
        if let Some(socket) = std::env::var_os(SOCKET).filter(|_| is_part(named)) {
            match Client::report_to(Path::new(&socket)) {
                Ok(client) => return Ok(Self::Socket(Box::new(client))),
                Err(error) if surrounding.is_none() && named.is_none() => {
                    return Err(from_client(error));
                }
                // The run may have got another supervisor since; the store knows.
                Err(_) => {}
            }
        }
        let Some(named) = named.map(str::to_owned).or(surrounding) else {
            return Err(which_run());
        };
        let opened = Opened::new(store)?;
        let run = opened.run(&named)?;
        if !opened.is_supervised(&run)? {
            return Ok(Self::Store(opened, run));
        }
        match Client::reporter(run.id) {
            Ok(client) => Ok(Self::Socket(Box::new(client))),
            Err(ClientError::Unreachable(_)) => Ok(Self::Inbox(opened, run)),
            Err(error) => Err(from_client(error)),
        }
    }

    /// The decision as it is, where somebody can be asked for it.
    pub(super) fn decision(&mut self) -> Result<Option<Answer>, Error> {
        match self {
            Self::Socket(client) => client.decision().map(Some).map_err(from_client),
            Self::Inbox(..) | Self::Store(..) | Self::Server(_) => Ok(None),
        }
    }

    /// Reports what a hook of the agent tells: a supervisor counts it as far as nobody else tells it.
    pub(super) fn hooked(
        &mut self,
        event: &Event,
        terminal: &mut Terminal,
    ) -> Result<Answer, Error> {
        match self {
            Self::Socket(client) => client.hooked(event).map_err(from_client),
            Self::Inbox(opened, run) => {
                let posted = inbox::hooked(&*opened.store, run.id, event, inbox::PATIENCE);
                opened.wait(posted).map_err(from_inbox)
            }
            Self::Store(..) | Self::Server(_) => self.emit(event, terminal),
        }
    }

    pub(super) fn emit(&mut self, event: &Event, terminal: &mut Terminal) -> Result<Answer, Error> {
        match self {
            Self::Socket(client) => client.event(event).map_err(from_client),
            Self::Server(reporter) => {
                may_emit(&event.kind).map_err(|refusal| Error::NotNow(refusal.to_string()))?;
                reporter.emit(event, terminal)
            }
            Self::Inbox(opened, run) => {
                let posted = inbox::event(&*opened.store, run.id, event, inbox::PATIENCE);
                opened.wait(posted).map_err(from_inbox)
            }
            Self::Store(opened, run) => {
                may_emit(&event.kind).map_err(|refusal| Error::NotNow(refusal.to_string()))?;
                let emitted =
                    unsupervised::emit(&*opened.store, &opened.home, run.id, event.clone());
                let outcome = opened.wait(emitted)?;
                for warning in &outcome.warnings {
                    terminal.remark(&format!("warning: {warning}"));
                }
                if let Some(annotation) = &outcome.annotation {
                    write!(terminal.err, "{annotation}")?;
                }
                if outcome.halted_now {
                    terminal.remark(&format!("run {} is {}", run.id, outcome.state.run_status));
                }
                Ok(outcome.answer)
            }
        }
    }
}

/// Whether the run that is meant is the one that this process is part of.
fn is_part(named: Option<&str>) -> bool {
    match (named, std::env::var(RUN_ID)) {
        (None, _) => true,
        (Some(named), Ok(own)) => is_beginning(named, &own),
        (Some(_), Err(_)) => false,
    }
}

fn which_run() -> Error {
    Error::Usage(format!(
        "which run is this about?\n\nhint: name it with --run, or set {RUN_ID}; \
         a supervised command has {SOCKET} already"
    ))
}

/// Whether a name is the beginning of a run's.
fn is_beginning(named: &str, run: &str) -> bool {
    RunId::prefix(named).is_some_and(|prefix| run.starts_with(&prefix))
}
