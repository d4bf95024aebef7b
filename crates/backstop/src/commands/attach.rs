//! `backstop attach`: a run that goes on, live again, until it halts.

use std::io::Write as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind, Note};
use backstop_core::id::RunId;
use backstop_runner::capture::log::{Follow, Followed, LogReader};
use backstop_runner::capture::{Reading, Transcript};
use backstop_runner::clock::wall_time;
use backstop_runner::loading;
use backstop_runner::prompt::Choice;
use backstop_runner::report::{Phase, Reporter as _, Status};
use backstop_runner::socket::{Client, Order};
use backstop_runner::view::OpenQuestion;
use backstop_store::Run;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::asked::Asked;
use self::screen::Screen;
use super::logs::{Tail, has_ended, iterations};
use super::look::Look;
use super::operate::{order, refuse_if_supervised};
use crate::args::AttachArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{Human, question_lines, shown_command};
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

mod asked;
mod screen;

pub fn run(arguments: &AttachArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    if !run.supervised {
        return Err(Error::NotNow(format!(
            "run {} has no supervisor, so there is nothing to watch\n\nhint: backstop show {}",
            run.id, run.id
        )));
    }
    if !opened.wait(has_ended(&*opened.store, run.id))? {
        terminal.remark(&format!(
            "run {} · {} · Ctrl-C lets go of it",
            run.id,
            shown_command(&run.command, 40)
        ));
        let mut watch = Watch::begin(&opened, &run, arguments.raw, terminal)?;
        if watch_until_it_ends(&mut watch, &opened, &run)? == Ending::LetGo {
            terminal.remark(&format!(
                "\nlet go of run {}, which goes on\n\nhint: backstop attach {} · backstop stop {}",
                run.id, run.id, run.id
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

/// Watches, and passes on what whoever watches answers.
fn watch_until_it_ends(watch: &mut Watch, opened: &Opened, run: &Run) -> Result<Ending, Error> {
    loop {
        let (choice, note) = match opened.wait(watch.until_something_is_up(opened))? {
            Up::Ended(ending) => return Ok(ending),
            Up::Answered(choice, note) => (choice, note),
        };
        let answered = refuse_if_supervised(opened, "answer")
            .and_then(|()| order(opened, run, &Order::Answer { choice, note, by: caller() }));
        // Somebody else was faster, or it was too late: the run says so, and is watched on.
        if let Err(error) = answered {
            watch.screen.print(&format!("{error}\n"))?;
        }
    }
}

/// Why watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Halted,
    /// The one who watches has had enough.
    LetGo,
}

/// What watching is interrupted for.
enum Up {
    Ended(Ending),
    Answered(Choice, Option<String>),
}

/// A run while it is watched.
struct Watch {
    run: RunId,
    engine: Engine,
    /// The number of the last event that the engine has taken in.
    last_seq: u64,
    reporter: Human,
    colour: bool,
    /// The last iteration that is known to have started.
    iteration: u64,
    /// The one whose output comes next, while its beginning was not told yet; and since when.
    held_back: Option<(u64, Instant)>,
    output: Follow,
    transcript: Transcript,
    /// What was there when watching began; none once it has been shown.
    before: Option<Tail>,
    events: mpsc::Receiver<String>,
    interrupts: Signal,
    /// What was asked before anybody watched, until it is shown.
    asked_before: Option<String>,
    asked: Option<Asked>,
    screen: Screen,
}

impl Watch {
    fn begin(opened: &Opened, run: &Run, raw: bool, terminal: &Terminal) -> Result<Self, Error> {
        let command = &run.command;
        let run = run.id;
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
        let mut loaded = opened.wait(loading::load(&*opened.store, run))?;
        let now = loaded.engine.moment(wall_time());
        loaded.engine.decide(now);
        // Listened to from the start: until then, the signal would end this process without a word.
        let interrupts = opened.wait(async { signal(SignalKind::interrupt()) })?;
        let reporter = Human::watching(run, terminal.colours());
        let screen = Screen::new();
        // On a terminal it stands below everything else for as long as it is open.
        let is_shown_below = screen.columns().is_some();
        let asked_before = (!is_shown_below).then(|| reporter.asked(&loaded.engine));
        let reader = LogReader::new(opened.home.run(run).output());
        let last = iterations(&reader)?.last().copied().unwrap_or(0);
        Ok(Self {
            run,
            transcript: Transcript::new(Reading::of(loaded.engine.policy(), command, raw)),
            iteration: last,
            held_back: None,
            last_seq: loaded.last_seq,
            engine: loaded.engine,
            reporter,
            colour: terminal.colours(),
            output: reader.follow(last),
            before: Some(Tail::new(LINES_BEFORE)),
            events,
            interrupts,
            asked_before,
            asked: None,
            screen,
        })
    }

    async fn until_something_is_up(&mut self, opened: &Opened) -> Result<Up, Error> {
        loop {
            let ended = has_ended(&*opened.store, self.run).await?;
            self.take_output()?;
            self.before_is_shown()?;
            // Below what was printed before.
            if let Some(asked) = self.asked_before.take() {
                self.screen.print(&asked)?;
            }
            self.take_events()?;
            self.draw()?;
            if ended {
                self.end_output()?;
                self.screen.clear()?;
                return Ok(Up::Ended(Ending::Halted));
            }
            tokio::select! {
                _ = self.interrupts.recv() => {
                    self.screen.clear()?;
                    return Ok(Up::Ended(Ending::LetGo));
                }
                answer = Asked::typed(self.asked.as_mut()) => {
                    if let Some((choice, note)) = answer {
                        return Ok(Up::Answered(choice, note));
                    }
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Shows what has come since. What an iteration prints comes below the line that says that it
    /// has started, and above all that is told of its end.
    fn take_output(&mut self) -> Result<(), Error> {
        if let Some((number, since)) = self.held_back {
            if number > self.iteration {
                if since.elapsed() < LONGEST_HELD_BACK {
                    return Ok(());
                }
                // Whoever was to tell it is gone, or too slow.
                self.iteration = number;
                self.screen.print(&plain_beginning(number))?;
            }
            self.held_back = None;
        }
        let mut buffer = vec![0; BUFFER];
        loop {
            let mut shown = String::new();
            match self.output.next(&mut buffer, Duration::ZERO)? {
                Followed::Nothing => return Ok(()),
                Followed::Bytes(count) => self.transcript.push(&buffer[..count], &mut shown),
                Followed::Iteration(number) => {
                    self.transcript.finish(&mut shown);
                    if self.before.is_some() {
                        shown.push_str(&plain_beginning(number));
                    } else if number > self.iteration {
                        self.screen.print(&shown)?;
                        self.held_back = Some((number, Instant::now()));
                        return Ok(());
                    }
                }
            }
            match &mut self.before {
                Some(tail) => tail.push(&shown),
                None => self.screen.print(&shown)?,
            }
        }
    }

    /// The iteration has printed its last: shows what only that tells.
    fn end_output(&mut self) -> Result<(), Error> {
        let mut rest = String::new();
        self.transcript.finish(&mut rest);
        self.screen.print(&rest)
    }

    /// From here on everything is shown as it comes.
    fn before_is_shown(&mut self) -> Result<(), Error> {
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
            // What was printed before it happened is in the log by now.
            self.take_output()?;
            match &event.kind {
                EventKind::IterationStarted(start) => {
                    let number = start.iteration.unwrap_or(self.iteration + 1);
                    if number > self.iteration {
                        self.iteration = number;
                        self.screen.print(&text)?;
                    }
                }
                EventKind::IterationFinished(_) => {
                    self.end_output()?;
                    self.screen.print(&text)?;
                }
                // The block shows it for as long as it is open.
                kind if asks(kind) && self.screen.columns().is_some() => {}
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
        Asked::follow(&mut self.asked, question.as_ref());
        let phase = match (&self.asked, &question) {
            (Some(asked), _) => asked.phase(wall_time()),
            (None, Some(_)) => Phase::Waiting { why: "for an answer".to_owned(), left: None },
            (None, None) => Phase::Running,
        };
        let status =
            Status { run: self.run, engine: &self.engine, now, iteration: self.iteration, phase };
        // Without a keyboard it is said how else it is answered.
        let asked = question
            .filter(|_| self.asked.is_none())
            .map(|open| question_lines(&open, self.run, wall_time(), columns, self.colour));
        let mut block: Vec<_> = asked.into_iter().flatten().collect();
        block.extend(self.reporter.block(&status, columns));
        self.screen.draw(block)
    }
}

/// What is said where nobody tells how the iteration before it ended.
fn plain_beginning(number: u64) -> String {
    format!("── iteration {number} ──\n")
}

fn asks(kind: &EventKind) -> bool {
    match kind {
        EventKind::Asked(_) => true,
        EventKind::Noted(noted) => noted.what == Note::TurnAsked,
        _ => false,
    }
}

const LINES_BEFORE: usize = 100;
const PAUSE: Duration = Duration::from_millis(200);
/// For how long output waits for the line that belongs above it.
const LONGEST_HELD_BACK: Duration = Duration::from_secs(2);
const BUFFER: usize = 64 * 1024;
