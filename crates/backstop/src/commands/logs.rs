//! `backstop logs`: what a run printed, made harmless.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_runner::capture::Transcript;
use backstop_runner::capture::harmless::Harmless;
use backstop_runner::capture::log::{Followed, LogReader};
use backstop_runner::clock::wall_time;
use backstop_runner::recovery::is_interrupted;
use backstop_runner::tree::identity;
use backstop_store::{Run, Store};

use crate::args::LogsArguments;
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &LogsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    if arguments.raw && io::stdout().is_terminal() {
        return Err(Error::Usage(
            "--raw would let the program's control sequences rule this terminal\n\n\
             hint: redirect it to a file or a pipe"
                .to_owned(),
        ));
    }
    let opened = Opened::existing(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    let reader = LogReader::new(opened.home.run(run.id).output());
    let iterations = iterations(&reader)?;
    if iterations.is_empty()
        && let Some(place) = elsewhere(&opened, &run)?
    {
        return Err(Error::Missing(format!(
            "the log of run {} is {place}\n\n\
             hint: `backstop show {} --events` tells what happened from anywhere",
            run.id, run.id
        )));
    }
    if iterations.is_empty() && !arguments.follow {
        let why =
            if run.pruned { "its logs were removed by age" } else { "it has printed nothing" };
        terminal.remark(&format!("run {}: {why}", run.id));
        return Ok(exit_code::OK);
    }
    if let Some(wanted) = arguments.iteration.filter(|wanted| !iterations.contains(wanted)) {
        return Err(Error::Missing(format!(
            "iteration {wanted} of run {} has printed nothing\n\nhint: there are {}",
            run.id,
            ranges(&iterations)
        )));
    }
    let mut print = Print::new(arguments);
    if arguments.follow {
        follow(&opened, run.id, &reader, &mut print)?;
    } else {
        let wanted = iterations
            .iter()
            .filter(|number| arguments.iteration.is_none_or(|only| only == **number));
        for number in wanted {
            if iterations.len() > 1 && arguments.iteration.is_none() {
                print.heading(*number)?;
            }
            let mut log = reader.open(*number)?;
            let mut buffer = vec![0; BUFFER];
            while !print.is_full() {
                match log.read(&mut buffer)? {
                    0 => break,
                    count => print.bytes(&buffer[..count])?,
                }
            }
        }
    }
    print.finish()?;
    Ok(exit_code::OK)
}

/// Where a run's files are, if they are not here.
fn elsewhere(opened: &Opened, run: &Run) -> Result<Option<String>, Error> {
    if !run.supervised || run.pruned || opened.home.run(run.id).path().exists() {
        return Ok(None);
    }
    let lease = opened.wait(opened.store.lease_fetch(run.id))?;
    Ok(lease.map(|lease| {
        let theirs = "in the state directory of whoever ran it";
        match lease.holder.host {
            // Whether it was ever here can't be told.
            host if host == identity::host() => {
                let here = opened.home.root().display();
                format!("not in `{here}`: it was removed, or is {theirs}")
            }
            host => format!("on `{host}`, {theirs}"),
        }
    }))
}

/// The iterations that have printed something; none where there is no log.
pub fn iterations(reader: &LogReader) -> Result<Vec<u64>, Error> {
    match reader.iterations() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => Ok(other?),
    }
}

fn follow(opened: &Opened, run: RunId, reader: &LogReader, print: &mut Print) -> Result<(), Error> {
    let mut output = reader.follow(0);
    let mut buffer = vec![0; BUFFER];
    let mut ended = false;
    loop {
        match output.next(&mut buffer, if ended { Duration::ZERO } else { PATIENCE })? {
            Followed::Iteration(number) => print.heading(number)?,
            Followed::Bytes(count) => print.bytes(&buffer[..count])?,
            // What was written before the run halted has been read now.
            Followed::Nothing if ended => return Ok(()),
            Followed::Nothing => {
                print.caught_up()?;
                ended = opened.wait(has_ended(&*opened.store, run))?;
            }
        }
    }
}

/// Whether nothing more will come of a run.
pub async fn has_ended(store: &dyn Store, run: RunId) -> Result<bool, Error> {
    let Some(run) = store.run_fetch(run).await? else { return Ok(true) };
    let lease = store.lease_fetch(run.id).await?;
    Ok(run.status.is_halted() || is_interrupted(&run, lease.as_ref(), wall_time()))
}

/// The last lines of a run's output, as people see them.
pub fn last_lines(
    reader: &LogReader,
    mut transcript: Transcript,
    most: usize,
) -> Result<Vec<String>, Error> {
    let mut tail = Tail::new(most);
    let Some(last) = iterations(reader)?.last().copied() else { return Ok(Vec::new()) };
    let mut log = reader.open(last)?;
    let (mut buffer, mut shown) = (vec![0; BUFFER], String::new());
    loop {
        let count = log.read(&mut buffer)?;
        match count {
            0 => transcript.finish(&mut shown),
            count => transcript.push(&buffer[..count], &mut shown),
        }
        tail.push(&shown);
        shown.clear();
        if count == 0 {
            return Ok(tail.lines.into_iter().map(|line| line.text).collect());
        }
    }
}

/// The last lines of what was pushed.
#[derive(Debug)]
pub struct Tail {
    most: usize,
    lines: VecDeque<Line>,
    /// How many of them are no headings.
    kept: usize,
    /// The last line may still grow.
    open: bool,
}

#[derive(Debug)]
struct Line {
    text: String,
    /// It is ours, and none of the lines that were asked for.
    is_heading: bool,
}

impl Tail {
    pub fn new(most: usize) -> Self {
        Self { most, lines: VecDeque::new(), kept: 0, open: false }
    }

    pub fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            match self.lines.back_mut() {
                Some(line) if self.open => line.text.push_str(piece),
                _ => {
                    self.lines.push_back(Line { text: piece.to_owned(), is_heading: false });
                    self.kept += 1;
                }
            }
            self.open = !piece.ends_with('\n');
            self.shorten();
            // A line without an end must not fill the memory.
            let last = self.lines.back_mut().map(|line| &mut line.text);
            if let Some(text) = last.filter(|text| text.len() > LONGEST_LINE) {
                text.drain(..text.ceil_char_boundary(text.len() - LONGEST_LINE));
            }
        }
    }

    fn heading(&mut self, text: String) {
        self.lines.push_back(Line { text, is_heading: true });
        self.open = false;
    }

    /// Leaves out what is too much, and the heading of which nothing else is left.
    fn shorten(&mut self) {
        if self.kept <= self.most {
            return;
        }
        while self.kept > self.most || self.lines.front().is_some_and(|line| line.is_heading) {
            let Some(first) = self.lines.pop_front() else { return };
            self.kept -= usize::from(!first.is_heading);
        }
    }

    pub fn take(&mut self) -> String {
        (self.open, self.kept) = (false, 0);
        self.lines.drain(..).map(|line| line.text).collect()
    }
}

/// Where the output goes, and how much of it.
struct Print {
    raw: bool,
    filter: Harmless,
    shown: String,
    /// Lines that may still be printed.
    left: Option<usize>,
    tail: Option<Tail>,
    at_line_start: bool,
    out: io::StdoutLock<'static>,
}

impl Print {
    fn new(arguments: &LogsArguments) -> Self {
        Self {
            raw: arguments.raw,
            filter: Harmless::default(),
            shown: String::new(),
            left: arguments.head,
            tail: arguments.tail.map(Tail::new),
            at_line_start: true,
            out: io::stdout().lock(),
        }
    }

    fn heading(&mut self, iteration: u64) -> Result<(), Error> {
        if self.raw {
            return Ok(());
        }
        self.filter.finish(&mut self.shown);
        if !self.at_line_start || !self.shown.ends_with(['\n']) && !self.shown.is_empty() {
            self.shown.push('\n');
        }
        self.flush()?;
        let lead = format!("── iteration {iteration} ");
        let line = "─".repeat(40_usize.saturating_sub(lead.chars().count()));
        let heading = format!("{lead}{line}\n");
        if let Some(tail) = &mut self.tail {
            tail.heading(heading);
        } else if !self.is_full() {
            self.out.write_all(heading.as_bytes())?;
        }
        self.at_line_start = true;
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.raw {
            self.out.write_all(bytes)?;
            return Ok(());
        }
        self.filter.push(bytes, &mut self.shown);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        let text = std::mem::take(&mut self.shown);
        if let Some(last) = text.chars().last() {
            self.at_line_start = last == '\n';
        }
        if let Some(tail) = &mut self.tail {
            tail.push(&text);
            return Ok(());
        }
        for line in text.split_inclusive('\n') {
            match &mut self.left {
                Some(0) => return Ok(()),
                Some(left) if line.ends_with('\n') => *left -= 1,
                _ => {}
            }
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    /// Everything that was there has been read: from now on, what comes is printed at once.
    fn caught_up(&mut self) -> Result<(), Error> {
        if let Some(mut tail) = self.tail.take() {
            self.out.write_all(tail.take().as_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.filter.finish(&mut self.shown);
        self.flush()?;
        self.caught_up()
    }
}

/// `1–7, 9`.
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

const BUFFER: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_millis(500);
const LONGEST_LINE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_lines_however_they_come() {
        let mut tail = Tail::new(2);
        for piece in ["one\ntw", "o\nthr", "ee\nfo", "ur"] {
            tail.push(piece);
        }
        assert_eq!(tail.take(), "three\nfour");
        assert_eq!(tail.take(), "");
        tail.push(&"x".repeat(3 * LONGEST_LINE));
        tail.push("y");
        let last = tail.take();
        assert_eq!((last.len(), last.ends_with("xy")), (LONGEST_LINE, true));
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1–3, 7, 9–10");
    }
}
