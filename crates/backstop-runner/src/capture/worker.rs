//! The thread that moves output from the child's pipes to all who want it.

use std::io::{PipeReader, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use backstop_adapters::{Agent, Exit, Heard, Totals, Translator};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};
use tokio::sync::mpsc::Sender;

use super::directive::{DirectiveScanner, Line};
use super::display::Display;
use super::ear::Ear;
use super::log_writer::{Limits, LogWriter};
use super::matcher::{Found, Matcher};
use super::pump::{Command, Shared};
use super::unclaimed::Unclaimed;
use super::window::{View, Window};
use super::words::LastWords;
use super::{BadPattern, Captured, Reading, STREAMS, Setup, Summary, Wanted};

/// The thread's state.
#[derive(Debug)]
pub(super) struct Worker {
    orders: Receiver<Command>,
    woken: PipeReader,
    shared: Arc<Shared>,
    streams: [Stream; 2],
    /// Between `begin` and `finish`.
    iteration: Option<Summary>,
    display: Display,
    log: LogWriter,
    listener: Listener,
    reading: Reading,
    colour: bool,
    /// Understands the output of the iteration, if there is anything to be understood.
    ear: Option<Ear>,
    /// What agents that tell totals have told in earlier iterations.
    totals: Option<Totals>,
}

/// One of the child's streams.
#[derive(Debug)]
struct Stream {
    pipe: Option<OwnedFd>,
    /// Its pipe was made large, as far as that can be done.
    is_large: bool,
    window: Window,
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gave {
    Bytes(usize),
    Nothing,
    End,
}

/// Those who look for something in the output, and the one whom they tell.
#[derive(Debug)]
struct Listener {
    matcher: Matcher,
    /// Looks for what counts only as long as there is no agent.
    unclaimed: Option<Unclaimed>,
    translator: Translator,
    scanner: DirectiveScanner,
    words: LastWords,
    events: Sender<Captured>,
}

impl Worker {
    pub fn new(
        setup: Setup,
        orders: Receiver<Command>,
        woken: PipeReader,
        shared: Arc<Shared>,
        events: Sender<Captured>,
    ) -> Result<Self, BadPattern> {
        let reading = setup.wanted.reading.clone();
        let translator = setup.wanted.translator.clone();
        let (matcher, unclaimed) = searches(setup.wanted)?;
        let stream = || Stream { pipe: None, is_large: false, window: Window::new() };
        let display = Display::new(setup.sinks, setup.live, shared.hurry());
        Ok(Self {
            orders,
            woken,
            shared,
            streams: [stream(), stream()],
            iteration: None,
            display,
            log: LogWriter::new(setup.output_folder, Limits::USUAL, setup.redactor),
            listener: Listener {
                matcher,
                unclaimed,
                translator,
                scanner: DirectiveScanner::new(),
                words: LastWords::default(),
                events,
            },
            reading,
            colour: setup.colour,
            ear: None,
            totals: None,
        })
    }

    pub fn run(mut self) {
        loop {
            let ready = self.wait();
            if ready.orders && self.obey().is_none() {
                break;
            }
            for source in 0..STREAMS.len() {
                if ready.streams[source] {
                    self.move_some(source);
                }
            }
            // Nothing more can come, so nobody need ask first: the end of most programs.
            let needs_exit = self.ear.as_ref().is_some_and(Ear::needs_exit);
            if !needs_exit && self.streams.iter().all(|stream| stream.pipe.is_none()) {
                self.finish(None);
            }
            if let Some(screen) = self.display.screen() {
                screen.draw();
            }
        }
        self.finish(None);
        if let Some(screen) = self.display.screen() {
            screen.leave();
        }
    }

    /// Sleeps until there is something to do.
    fn wait(&mut self) -> Ready {
        let due = self.display.screen().and_then(|screen| screen.due());
        let mut sources = Vec::with_capacity(3);
        sources.push(PollFd::new(&self.woken, PollFlags::IN));
        let mut places = [None; 2];
        for (stream, place) in self.streams.iter().zip(&mut places) {
            if let Some(pipe) = &stream.pipe {
                *place = Some(sources.len());
                sources.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        match poll(&mut sources, due.map(rounded_up).as_ref()) {
            Ok(_) => {
                let is_ready = |place: usize| !sources[place].revents().is_empty();
                Ready {
                    orders: is_ready(0),
                    streams: places.map(|place| place.is_some_and(is_ready)),
                }
            }
            Err(_) => Ready { orders: false, streams: [false; 2] },
        }
    }

    /// Does everything that was ordered; none if that is to stop.
    fn obey(&mut self) -> Option<()> {
        let mut emptied = [0; 64];
        while matches!(self.woken.read(&mut emptied), Ok(count) if count == emptied.len()) {}
        if let Some(block) = self.shared.take_block()
            && let Some(screen) = self.display.screen()
        {
            screen.want(block);
        }
        loop {
            match self.orders.try_recv() {
                Ok(Command::Begin { iteration, streams }) => self.begin(iteration, streams),
                Ok(Command::Finish(exit)) => self.finish(exit),
                Ok(Command::Print(text)) => self.display.print(&text),
                Ok(Command::LeaveScreen(done)) => {
                    if let Some(screen) = self.display.screen() {
                        screen.leave();
                    }
                    // Nobody may be waiting any more.
                    let _ = done.send(());
                }
                Ok(Command::EnterScreen) => {
                    if let Some(screen) = self.display.screen() {
                        screen.enter();
                    }
                }
                Ok(Command::LookFor(wanted)) => {
                    self.reading = wanted.reading.clone();
                    // What can't be compiled was refused when the policy was loaded.
                    self.listener.translator = wanted.translator.clone();
                    if let Ok((matcher, unclaimed)) = searches(*wanted) {
                        self.listener.matcher = matcher;
                        self.listener.unclaimed = unclaimed;
                    }
                }
                Ok(Command::Resized) => {
                    if let Some(screen) = self.display.screen() {
                        screen.resized();
                    }
                    if let Some(ear) = &mut self.ear {
                        ear.resized(self.display.columns());
                    }
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => return Some(()),
            }
        }
    }

    fn begin(&mut self, iteration: u64, pipes: [OwnedFd; 2]) {
        self.finish(None);
        for (stream, pipe) in self.streams.iter_mut().zip(pipes) {
            stream.window.clear();
            stream.is_large = false;
            // A pipe that can't be made non-blocking is no pipe of ours; reading it could hang.
            stream.pipe = ioctl_fionbio(&pipe, true).is_ok().then_some(pipe);
        }
        self.iteration = Some(Summary { iteration, ..Summary::default() });
        self.log.begin(iteration);
        self.ear = Ear::new(&self.reading, self.colour, self.display.columns());
        if let (Some(ear), Some(totals)) = (&mut self.ear, self.totals.take()) {
            ear.go_on_from(totals);
        }
        self.listener.matcher.begin();
        self.listener.unclaimed.iter_mut().for_each(Unclaimed::begin);
        if self.reading.tells_words_of(self.ear.as_ref().and_then(Ear::agent)) {
            self.listener.claim();
        }
        self.listener.translator.events(Heard::Launched);
        self.listener.scanner.begin();
        self.shared.note_output();
    }

    /// Moves what is in the pipes now, closes them, and says what there was.
    fn finish(&mut self, exit: Option<Exit>) {
        let Some(mut summary) = self.iteration.clone() else { return };
        for source in 0..STREAMS.len() {
            summary.leaked |= self.drain(source);
            self.close(source);
        }
        if let Some(mut ear) = self.ear.take() {
            let (listener, display) = (&mut self.listener, &mut self.display);
            let outcome = ear.finish(exit, &mut |heard| listener.understand(heard), &mut |text| {
                display.write(0, text);
            });
            if self.reading.tells_words_of(ear.agent()) {
                self.listener.claim();
            }
            let agent = ear.agent().filter(|agent| *agent != Agent::Generic);
            summary.agent = agent.map(|agent| (agent, outcome));
            summary.only_records = ear.heard_only_records();
            self.totals = ear.totals();
        }
        self.listener.search_unclaimed(Unclaimed::end);
        let (left_out, failure) = self.log.end();
        self.listener.log_failed(failure);
        let [stdout, stderr] = &self.streams;
        summary.bytes = self.iteration.take().map_or(0, |counted| counted.bytes);
        summary.left_out = left_out;
        summary.words = self.listener.words.take();
        summary.last_line = stdout.window.last_line();
        summary.last_error_line = stderr.window.last_line();
        self.listener.say(Captured::Finished(summary));
    }

    /// Moves what is in the pipe. Answers whether somebody still holds its other end: they could
    /// write for ever, so only what was there at the beginning is waited for.
    fn drain(&mut self, source: usize) -> bool {
        let Some(pipe) = &self.streams[source].pipe else { return false };
        let mut left = ioctl_fionread(pipe).unwrap_or(0);
        loop {
            match self.move_some(source) {
                Gave::End => return false,
                Gave::Nothing => return true,
                Gave::Bytes(_) if left == 0 => return true,
                Gave::Bytes(count) => left = left.saturating_sub(count as u64),
            }
        }
    }

    /// Reads once from a stream and hands on what came.
    fn move_some(&mut self, source: usize) -> Gave {
        let reading = self.streams[source].read();
        match reading {
            Gave::Nothing => {}
            Gave::End => self.close(source),
            Gave::Bytes(count) => {
                self.shared.set_moving(true);
                if let Some(summary) = &mut self.iteration {
                    summary.bytes += count as u64;
                }
                let window = &self.streams[source].window;
                self.listener.log_failed(self.log.write(source, window.fresh()));
                // Before the terminal, which may be stopped: what it shows must not delay a stop.
                self.listener.hear(source, &window.view());
                let fresh = window.fresh();
                let (listener, display) = (&mut self.listener, &mut self.display);
                match &mut self.ear {
                    Some(ear) if source == 0 => {
                        let (before, recorded) = (ear.agent(), ear.recorded());
                        let mut rest = fresh;
                        while !rest.is_empty() {
                            let piece =
                                if listener.is_searching() { ear.piece_of(rest) } else { rest };
                            rest = &rest[piece.len()..];
                            listener.search_unclaimed(|search, report| {
                                search.hear_lines(piece, report)
                            });
                            let hear = &mut |heard: Heard<'_>| listener.understand(heard);
                            ear.listen(piece, hear, &mut |text| display.write(source, text));
                            if self.reading.tells_words_of(ear.agent()) {
                                listener.claim();
                            }
                            listener.search_unclaimed(Unclaimed::line_was_read);
                        }
                        if let Some(agent) = ear.agent().filter(|_| ear.agent() != before) {
                            listener.say(Captured::Recognised(agent));
                        }
                        if let Some(agent) = ear.recorded().filter(|by| Some(*by) != recorded) {
                            listener.say(Captured::Printed(agent));
                        }
                    }
                    Some(ear) => {
                        ear.listen_to_errors(fresh, &mut |heard| listener.understand(heard));
                        listener
                            .search_unclaimed(|search, report| search.hear(source, fresh, report));
                        display.write(source, fresh);
                    }
                    None => {
                        listener
                            .search_unclaimed(|search, report| search.hear(source, fresh, report));
                        display.write(source, fresh);
                    }
                }
                self.shared.note_output();
                self.shared.set_moving(false);
            }
        }
        reading
    }

    fn close(&mut self, source: usize) {
        if self.streams[source].pipe.take().is_some() {
            self.listener.hear(source, &self.streams[source].window.last_view());
        }
    }
}

/// Who has something for us.
#[derive(Clone, Copy, Debug)]
struct Ready {
    orders: bool,
    streams: [bool; 2],
}

impl Stream {
    fn read(&mut self) -> Gave {
        let Some(pipe) = &self.pipe else { return Gave::End };
        loop {
            match rustix::io::read(pipe.as_fd(), self.window.room()) {
                Ok(0) => return Gave::End,
                Ok(count) => {
                    if count >= USUAL_PIPE_SIZE && !self.is_large {
                        enlarge(pipe);
                        self.is_large = true;
                    }
                    self.window.filled(count);
                    return Gave::Bytes(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Gave::Nothing,
                Err(_) => return Gave::End,
            }
        }
    }
}

impl Listener {
    /// Hands on what an agent's output means.
    fn understand(&mut self, heard: Heard<'_>) {
        if let Heard::Said(_, words) = &heard {
            self.words.hear(words);
        }
        // An iteration is a launch of ours, whatever the agent calls one.
        if heard != Heard::Launched {
            for event in self.translator.events(heard) {
                self.say(Captured::Event(Box::new(event)));
            }
        }
    }

    fn hear(&mut self, source: usize, view: &View<'_>) {
        let Self { matcher, scanner, events, .. } = self;
        matcher.look(view, |found| say(events, found.captured(source)));
        if source == 0 {
            scanner.scan(view, |line| {
                say(
                    events,
                    match line {
                        Line::Directive(json) => {
                            Captured::Directive { stream: STREAMS[source], json }
                        }
                        Line::Oversized => Captured::OversizedDirective,
                    },
                );
            });
        }
    }

    /// Whether something is looked for that counts only as long as there is no agent: only line by
    /// line can it be told what came before one did.
    fn is_searching(&self) -> bool {
        self.unclaimed.as_ref().is_some_and(|search| !search.is_claimed())
    }

    fn claim(&mut self) {
        self.unclaimed.iter_mut().for_each(Unclaimed::claim);
    }

    /// Looks for what counts only as long as there is no agent.
    fn search_unclaimed(
        &mut self,
        search: impl FnOnce(&mut Unclaimed, &mut dyn FnMut(usize, Found)),
    ) {
        let Self { unclaimed, events, .. } = self;
        if let Some(unclaimed) = unclaimed.as_mut().filter(|unclaimed| !unclaimed.is_claimed()) {
            search(unclaimed, &mut |source, found| say(events, found.captured(source)));
        }
    }

    fn log_failed(&self, failure: Option<std::io::Error>) {
        if let Some(error) = failure {
            self.say(Captured::LogFailed(error));
        }
    }

    fn say(&self, captured: Captured) {
        say(&self.events, captured);
    }
}

impl Found {
    fn captured(self, source: usize) -> Captured {
        match self {
            Self::Marker { word } => Captured::Marker { word },
            Self::Pattern { key, text: pattern, excerpt } => {
                Captured::Matched { key, pattern, stream: STREAMS[source], excerpt }
            }
        }
    }
}

/// Those who look in all output, and those who look as long as there is no agent.
fn searches(mut wanted: Wanted) -> Result<(Matcher, Option<Unclaimed>), BadPattern> {
    let unclaimed = wanted.patterns.extract_if(.., |pattern| pattern.unless_agent).collect();
    Ok((Matcher::new(wanted)?, Unclaimed::new(unclaimed)?))
}

/// Waits while the dispatcher is behind, and the child with us. Without a dispatcher nobody wants
/// to know.
fn say(events: &Sender<Captured>, captured: Captured) {
    let _ = events.blocking_send(captured);
}

/// A large pipe lets a child that writes much run on while we are busy. It works without.
#[cfg(target_os = "linux")]
fn enlarge(pipe: &OwnedFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_SIZE);
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_pipe: &OwnedFd) {}

pub(super) fn rounded_up(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The most that a user may ask for, usually.
#[cfg(target_os = "linux")]
const PIPE_SIZE: usize = 1 << 20;

/// Who fills a pipe of this size writes much.
const USUAL_PIPE_SIZE: usize = 64 << 10;
