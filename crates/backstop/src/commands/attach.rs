//! `backstop attach`: a run that goes on, live again, until it halts.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::time::Duration;

use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind};
use backstop_core::id::RunId;
use backstop_runner::capture::harmless::Harmless;
use backstop_runner::capture::log::{Follow, Followed, LogReader};
use backstop_runner::clock::wall_time;
use backstop_runner::loading;
use backstop_runner::report::{Phase, Reporter as _, Status};
use backstop_runner::socket::Client;
use backstop_runner::view::OpenQuestion;
use tokio::signal::unix::{SignalKind, signal};

use super::logs::{Tail, has_ended, iterations};
use super::look::Look;
use crate::args::AttachArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{Human, question_lines, short, shown_command};
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &AttachArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::new(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    if !run.supervised {
        return Err(Error::NotNow(format!(
            "run {} has no supervisor, so there is nothing to watch\n\nhint: backstop show {}",
            run.id,
            short(run.id)
        )));
    }
    if !opened.wait(has_ended(&*opened.store, run.id))? {
        terminal.remark(&format!(
            "run {} · {} · Ctrl-C lets go of it",
            run.id,
            shown_command(&run.command, 40)
        ));
        let mut watch = Watch::begin(&opened, run.id, terminal)?;
        if opened.wait(watch.until_it_ends(&opened))? == Ending::LetGo {
            terminal.remark(&format!(
                "\nlet go of run {}, which goes on\n\nhint: backstop attach {} · backstop stop {}",
                run.id,
                short(run.id),
                short(run.id)
            ));
            return Ok(exit_code::OK);
        }
    }
    let look = Look::at(&opened, run.id)?;
    write!(terminal.out, "\n{}", look.card().show(true))?;
    match &look.state.stop_reason {
        Some(reason) => Ok(reason.exit_code),
        None => Err(Error::Unreachable(format!("the supervisor of run {} is gone", run.id))),
    }
}

/// Why watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Halted,
    /// The one who watches has had enough.
    LetGo,
}

/// A run while it is watched.
struct Watch {
    run: RunId,
    engine: Engine,
    /// The number of the last event that the engine has taken in.
    last_seq: u64,
    reporter: Human,
    colour: bool,
    iteration: u64,
    output: Follow,
    filter: Harmless,
    /// What was there when watching began; none once it has been shown.
    before: Option<Tail>,
    events: mpsc::Receiver<String>,
    screen: Screen,
}

impl Watch {
    fn begin(opened: &Opened, run: RunId, terminal: &Terminal) -> Result<Self, Error> {
        // Listening begins before the facts are read, so that no event is missed between the two.
        let (sender, events) = mpsc::channel();
        if let Ok(watching) = Client::connect(run).and_then(Client::watch) {
            std::thread::spawn(move || {
                watching
                    .map_while(Result::ok)
                    .take_while(|line| sender.send(line.clone()).is_ok())
                    .count()
            });
        }
        let loaded = opened.wait(loading::load(&*opened.store, run))?;
        let reader = LogReader::new(opened.home.run(run).output());
        let last = iterations(&reader)?.last().copied().unwrap_or(0);
        Ok(Self {
            run,
            iteration: loaded.engine.facts().iterations() + 1,
            last_seq: loaded.last_seq,
            engine: loaded.engine,
            reporter: Human::watching(run, terminal.colours()),
            colour: terminal.colours(),
            output: reader.follow(last),
            filter: Harmless::default(),
            before: Some(Tail::new(LINES_BEFORE)),
            events,
            screen: Screen::new(),
        })
    }

    async fn until_it_ends(&mut self, opened: &Opened) -> Result<Ending, Error> {
        // Listened to from the start: until then, the signal would end this process without a word.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut asked = self.reporter.asked(&self.engine);
        loop {
            let ended = has_ended(&*opened.store, self.run).await?;
            self.take_output()?;
            // What was asked before anybody watched, below what was printed before.
            self.screen.print(&std::mem::take(&mut asked))?;
            self.take_events()?;
            self.draw()?;
            if ended {
                self.screen.clear()?;
                return Ok(Ending::Halted);
            }
            tokio::select! {
                _ = interrupts.recv() => {
                    self.screen.clear()?;
                    return Ok(Ending::LetGo);
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Shows what has come since.
    fn take_output(&mut self) -> Result<(), Error> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let mut shown = String::new();
            match self.output.next(&mut buffer, Duration::ZERO)? {
                Followed::Nothing => break,
                Followed::Bytes(count) => self.filter.push(&buffer[..count], &mut shown),
                Followed::Iteration(number) => {
                    self.filter.finish(&mut shown);
                    shown.push_str(&format!("── iteration {number} ──\n"));
                }
            }
            match &mut self.before {
                Some(tail) => tail.push(&shown),
                None => self.screen.print(&shown)?,
            }
        }
        if let Some(mut tail) = self.before.take() {
            self.screen.print(&tail.take())?;
        }
        Ok(())
    }

    fn take_events(&mut self) -> Result<(), Error> {
        while let Ok(line) = self.events.try_recv() {
            let Ok(event) = Event::from_json(line.as_bytes()) else { continue };
            let seq = event.seq.unwrap_or(self.last_seq + 1);
            if seq <= self.last_seq {
                continue;
            }
            self.last_seq = seq;
            self.engine.handle_event(&event, wall_time());
            let text = self.reporter.event(&event, &self.engine);
            match &event.kind {
                // The output says so itself, in order with what it prints.
                EventKind::IterationStarted(start) => {
                    self.iteration = start.iteration.unwrap_or(self.iteration);
                }
                _ => self.screen.print(&text)?,
            }
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Error> {
        let Some(columns) = self.screen.columns() else { return Ok(()) };
        let now = self.engine.moment(wall_time());
        self.engine.decide(now);
        let question = OpenQuestion::of(&self.engine);
        let phase = match &question {
            Some(_) => Phase::Waiting { why: "for an answer".to_owned(), left: None },
            None => Phase::Running,
        };
        let status =
            Status { run: self.run, engine: &self.engine, now, iteration: self.iteration, phase };
        let asked =
            question.map(|open| question_lines(&open, self.run, wall_time(), columns, self.colour));
        let mut block: Vec<_> = asked.into_iter().flatten().collect();
        block.extend(self.reporter.block(&status, columns));
        self.screen.draw(block)
    }
}

/// Standard output with a block below what is printed, where it is a terminal.
struct Screen {
    is_terminal: bool,
    /// A line that has no end yet: shown when it has one, so that the block stays below it.
    open: String,
    block: Vec<String>,
}

impl Screen {
    fn new() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), open: String::new(), block: Vec::new() }
    }

    /// How wide the block may be; none if there is to be none.
    fn columns(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        // The last column is left free: some terminals wrap when it is filled.
        self.is_terminal
            .then(|| usize::from(size.ws_col).saturating_sub(1))
            .filter(|columns| *columns >= 40)
    }

    fn print(&mut self, text: &str) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if !self.is_terminal {
            out.write_all(text.as_bytes())?;
            return Ok(out.flush()?);
        }
        self.open.push_str(text);
        if self.open.len() > LONGEST_LINE {
            self.open.push('\n');
        }
        if let Some(end) = self.open.rfind('\n') {
            let block = std::mem::take(&mut self.block);
            out.write_all(erase(&block).as_bytes())?;
            out.write_all(&self.open.as_bytes()[..=end])?;
            self.open.drain(..=end);
            out.write_all(shown(&block).as_bytes())?;
            self.block = block;
            out.flush()?;
        }
        Ok(())
    }

    fn draw(&mut self, block: Vec<String>) -> Result<(), Error> {
        if block != self.block {
            let mut out = io::stdout().lock();
            out.write_all(erase(&self.block).as_bytes())?;
            out.write_all(shown(&block).as_bytes())?;
            out.flush()?;
            self.block = block;
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Error> {
        self.draw(Vec::new())?;
        if !self.open.is_empty() {
            self.print("\n")?;
        }
        Ok(())
    }
}

fn shown(block: &[String]) -> String {
    block.iter().map(|line| format!("{line}\n")).collect()
}

/// Back to the line where the block begins, and everything from there on away.
fn erase(block: &[String]) -> String {
    match block.len() {
        0 => String::new(),
        lines => format!("\x1b[{lines}F\x1b[J"),
    }
}

const LINES_BEFORE: usize = 100;
const PAUSE: Duration = Duration::from_millis(200);
const BUFFER: usize = 64 * 1024;
/// A line that has no end is broken here.
const LONGEST_LINE: usize = 64 * 1024;
