//! aider: what it prints, and its chat history in Markdown.
//!
//! aider has no format for programs. Its own lines are the same in both, but the history quotes them
//! with `> `, marks what the user said with `####`, and leaves the model's words as they are.

mod cost;
mod fault;
mod report;

use std::sync::LazyLock;

use backstop_core::event::Context;
use backstop_core::time::Timestamp;
use regex::Regex;

use crate::calls::{Call, Returned};
use crate::fence::Fence;
use crate::launch::Launch;
use crate::totals::Tokens;
use crate::{Adapter, Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Record, Shown};
use cost::SessionCost;
use report::Report;

/// Reads what aider prints or keeps.
#[derive(Debug, Default)]
pub struct Aider {
    launch: Launch,
    cost: SessionCost,
    /// A report whose cost may follow on the next line.
    unfinished: Option<String>,
    /// An error that aider may still try to overcome.
    pending: Option<Fault>,
    /// The error because of which it tries again. It stands if nothing comes of that.
    retried: Option<Fault>,
    /// The model's words so far.
    words: String,
    /// The words before them, which the edits that follow come from.
    said: String,
    /// Own lines are quoted, so the rest is the model's.
    is_history: bool,
    /// Own lines are not quoted, so what is quoted is the model's.
    is_screen: bool,
    /// The block of code that the model is in the middle of.
    fence: Fence,
    /// Lines in it that look like aider's own.
    quoted: Vec<String>,
    /// The latest line in it is a report.
    is_after_report: bool,
    /// Anything was printed at all.
    printed: bool,
    /// A program's output is on the screen, which nothing marks there.
    muted: bool,
    /// A message has not been reported yet.
    is_answering: bool,
}

impl Adapter for Aider {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        match record {
            Record::Text(line) => self.line(line, moment, listener),
            // The model may well write JSON.
            Record::Json(bytes) => self.gather(&String::from_utf8_lossy(bytes)),
        }
    }

    fn error_line(&mut self, line: &str, moment: &Moment, _listener: &mut dyn Listener) {
        self.launch.suspect(line, moment);
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.leave_code(moment, listener);
        self.settle(listener);
        self.end_attempts(listener);
        if !self.launch.has_failed() {
            self.launch.result(None, listener);
        }
        let silent = if self.printed { Outcome::Succeeded } else { Outcome::CutOff };
        self.launch.finish(exit, silent, listener)
    }

    fn is_amid(&self) -> bool {
        // Nobody else writes into a history.
        let speaks = self.is_history && !self.words.trim().is_empty();
        let has_failed = self.pending.is_some() || self.launch.has_failed();
        (self.is_answering || speaks) && !has_failed
    }
}

impl Aider {
    fn line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        self.printed |= !line.trim().is_empty();
        if self.is_screen && line.starts_with("Aider v") {
            self.leave_code(moment, listener);
        }
        if self.is_screen && self.is_lost_in_code(line) {
            self.leave_code(moment, listener);
        }
        let before = self.fence;
        if self.is_screen {
            self.fence.pass(line);
        }
        if !self.is_screen || !before.is_open() && !self.fence.is_open() {
            return self.line_outside_code(line, moment, listener);
        }
        self.gather(line);
        self.is_after_report = Report::parse(line).is_some();
        if !self.fence.is_open() {
            self.quoted.clear();
        } else if self.quoted.len() < MOST_QUOTED && OWN.is_match(line) {
            self.quoted.push(line.to_owned());
        }
    }

    /// Whether what seems to be code is none: where a file with blocks of code in it was written, the
    /// end of one may be taken for a beginning. A block that begins inside of one shows it, if a
    /// report came in between: aider ends what it says with that, and no block begins right behind.
    fn is_lost_in_code(&self, line: &str) -> bool {
        let mut next = Fence::default();
        next.pass(line);
        let begins = self.fence.is_open()
            && !self.is_after_report
            && next.is_open()
            && !line.trim_matches(['`', '~']).trim().is_empty();
        begins && self.quoted.iter().any(|line| Report::parse(line).is_some())
    }

    /// A block of code that was never closed is none: an answer was cut off in the middle of it.
    fn leave_code(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        self.fence = Fence::default();
        for line in std::mem::take(&mut self.quoted) {
            self.line_outside_code(&line, moment, listener);
        }
    }

    fn line_outside_code(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) {
        // What a block of code quotes is the model's: aider ends its own lines with two blanks. Not
        // every history has kept them, so elsewhere nobody looks at that.
        let is_code = self.is_history && self.fence.is_open() && !line.ends_with("  ");
        let quoted = line.strip_prefix('>').map(str::trim).filter(|_| !self.is_screen && !is_code);
        if !self.is_screen {
            if line.starts_with("#### ") {
                self.fence = Fence::default();
            } else {
                self.fence.pass(line);
            }
        }
        self.is_history |= quoted.is_some_and(|line| OWN.is_match(line));
        let own = quoted.unwrap_or(line).trim_end();

        if let Some(first) = self.unfinished.take() {
            if let Some(report) = Report::parse(&format!("{first} {}", own.trim_start()))
                && report.cost.is_some()
            {
                self.report(report, listener);
                return;
            }
            self.unfinished = Some(first);
            self.settle(listener);
        }
        if let Some(started) = line.strip_prefix("# aider chat started at ") {
            self.is_history = true;
            self.begin(listener);
            if let Some(at) = local_time(started.trim(), moment) {
                listener.hear(Heard::At(at));
            }
        } else if line.starts_with("#### ") {
            self.give_up(listener);
            self.words.clear();
            self.is_answering = true;
        } else if self.is_history && quoted.is_none() {
            self.gather(line);
        } else if own.starts_with("Tokens: ") || own.contains(" prompt tokens, ") {
            match Report::parse(own) {
                Some(report) if report.cost.is_some() => self.report(report, listener),
                _ => self.unfinished = Some(own.to_owned()),
            }
        } else {
            let is_own = self.own_line(own, moment, listener);
            match (self.is_history, is_own) {
                (true, _) => {}
                (false, true) => self.words.clear(),
                (false, false) => self.gather(line),
            }
        }
    }

    /// A line of aider's own, or not.
    fn own_line(&mut self, line: &str, moment: &Moment, listener: &mut dyn Listener) -> bool {
        if let Some(fault) = fault::of_line(line, moment) {
            self.give_up(listener);
            self.pending = Some(fault);
            self.retried = None;
        } else if line.starts_with("Retrying in ") {
            self.retried = self.pending.take().or(self.retried.take());
            listener.hear(Heard::Shown(Shown::Notice(line)));
        } else if let Some(context) = CONTEXT.captures(line) {
            let figure =
                |name| context.name(name).and_then(|figure| report::number(figure.as_str()));
            if let (Some(used), Some(limit)) = (figure("used"), figure("limit")) {
                listener.hear(Heard::Event(Context::of(used, limit).into()));
            }
        } else if line.contains("exceeded output limit") {
            if let Some(fault) = &mut self.pending {
                fault.kind = FaultKind::OutputLimit;
            }
        } else if let Some(file) = line.strip_prefix("Applied edit to ") {
            // Which edit it was stands only in what the model wrote.
            self.end_message();
            let edit = Call::of_text("edit", file).with_content(&self.said);
            edit.at_once(Returned::default(), listener);
        } else if let Some(command) = line.strip_prefix("Running ") {
            Call::of_text("shell", command).without_result(listener);
            self.muted = true;
        } else if let Some(model) = model(line) {
            self.launch.model = Some(model.to_owned());
        } else if line.starts_with("Aider v") {
            if !self.is_history {
                self.is_screen = true;
                self.begin(listener);
            }
        } else {
            return OWN.is_match(line);
        }
        true
    }

    fn begin(&mut self, listener: &mut dyn Listener) {
        self.settle(listener);
        self.end_attempts(listener);
        // aider says nothing at its end.
        self.launch.begin(None, Outcome::Succeeded, listener);
        self.cost = SessionCost::default();
        self.muted = false;
        self.is_answering = true;
        self.words.clear();
    }

    fn gather(&mut self, line: &str) {
        if !self.muted && self.words.len() < LONGEST_MESSAGE {
            self.words.push_str(line);
            self.words.push('\n');
        }
    }

    fn end_message(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            self.said = words;
        }
    }

    /// A report without a cost was all there was.
    fn settle(&mut self, listener: &mut dyn Listener) {
        if let Some(report) = self.unfinished.take().and_then(|line| Report::parse(&line)) {
            self.report(report, listener);
        }
    }

    /// A message has ended: what it said and what it used.
    fn report(&mut self, report: Report, listener: &mut dyn Listener) {
        self.launch.touch(listener);
        self.give_up(listener);
        self.launch.goes_on();
        self.retried = None;
        self.muted = false;
        self.is_answering = false;
        self.launch.said(self.words.trim(), listener);
        self.end_message();
        let tokens = Tokens {
            // What was sent contains what was written to the cache.
            input: report.sent.saturating_sub(report.cache_write),
            output: report.received,
            cache_read: report.cache_hit,
            cache_write: report.cache_write,
        };
        let cost = report.cost.map(|cost| self.cost.add(cost));
        self.launch.used(tokens, cost, listener);
    }

    /// The launch has ended. While it tried again it can't have come to an end of its own, and why
    /// it had to is why it got no further.
    fn end_attempts(&mut self, listener: &mut dyn Listener) {
        self.give_up(listener);
        if let Some(fault) = self.retried.take() {
            self.launch.touch(listener);
            self.launch.cut_off_by(fault, listener);
        }
    }

    /// No further attempt follows, so the error stands.
    fn give_up(&mut self, listener: &mut dyn Listener) {
        if let Some(fault) = self.pending.take() {
            self.launch.touch(listener);
            self.launch.failed(fault, listener);
        }
    }
}

/// The model that aider says it uses.
fn model(line: &str) -> Option<&str> {
    ["Main model: ", "Model: ", "Models: "]
        .iter()
        .find_map(|prefix| line.strip_prefix(prefix))?
        .split(" with ")
        .next()
}

/// A time without a zone is the user's.
fn local_time(text: &str, moment: &Moment) -> Option<Timestamp> {
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(moment.zone.clone()).ok()?;
    Some(Timestamp::from_jiff(zoned.timestamp()))
}

/// Lines that aider itself prints.
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:
            Aider\ v\d | (?:Main\ |Weak\ |Editor\ )?[Mm]odels?:\  | Git\ repo: | Repo-map: | Tokens:\ 
            | \d+\ prompt\ tokens,\  | Added\  | Applied\ edit\ to\  | Commit\ [0-9a-f]{7} | Running\ 
            | Retrying\ in\ \d | Use\ /help | Warning | litellm\.\w | https://aider\.chat/
            | Output\ tokens: | Total\ tokens:
        )",
    )
    .expect("the pattern is valid")
});

static CONTEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^Input tokens: ~(?<used>[\d,]+) of (?<limit>[\d,]+)")
        .expect("the pattern is valid")
});

const LONGEST_MESSAGE: usize = 256 * 1024;

const MOST_QUOTED: usize = 256;

#[cfg(test)]
mod tests;
