//! One document of TAP after another.

use std::collections::HashSet;
use std::ops::Range;

use super::{Plan, Point, Reading, is_version};
use crate::report::bounded::MOST_CASES;
use crate::report::recognise::Found;
use crate::report::runs::Runs;
use crate::report::text::Line;
use crate::report::{Format, Status, TestReport};

/// The documents of a text, of which the last is open.
pub(super) struct Documents {
    /// All that have ended, as one.
    whole: TestReport,
    names: HashSet<String>,
    count: usize,
    /// One of them was TAP beyond doubt.
    is_tap: bool,
    open: Document,
    runs: Runs,
    at: usize,
}

struct Document {
    /// From its first line that only TAP has to the last.
    place: Option<Range<usize>>,
    /// The first one is a version. Anything might print the others.
    begins_surely: bool,
    /// The file that `prove` says it runs.
    file: Option<String>,
    reading: Reading,
    /// It began with a plan behind one that was met.
    begins_with_plan: bool,
    /// `prove` has told how the file ended.
    is_judged: bool,
    /// What `prove` says of a file that went wrong in another way than by a failed point.
    complaint: Option<String>,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            place: None,
            begins_surely: false,
            file: None,
            reading: Reading::new(),
            begins_with_plan: false,
            is_judged: false,
            complaint: None,
        }
    }
}

impl Documents {
    pub fn new() -> Self {
        Self {
            whole: TestReport::new(Format::Tap),
            names: HashSet::new(),
            count: 0,
            is_tap: false,
            open: Document::default(),
            runs: Runs::default(),
            at: 0,
        }
    }

    pub fn line(&mut self, line: Line<'_>) {
        let text = line.text;
        if let Some(file) = file_line(text).filter(|_| self.open.may_end()) {
            self.next();
            self.open.file = Some(file.to_owned());
            return;
        }
        if self.open.file.is_some() {
            // The file as a whole is fine: no point of its own.
            if text == "ok" && self.open.reading.is_complete() {
                self.at = line.end;
                return;
            }
            self.open.is_judged |= VERDICTS.iter().any(|verdict| text.starts_with(verdict));
            if text.starts_with("Dubious, ") {
                self.open.complaint = Some(text.to_owned());
                self.open.extend(&line);
            }
        }
        let begins_with_plan = Plan::read(text).is_some() && self.open.reading.plan.is_some();
        if begins_another(&self.open.reading, text) {
            self.next();
            self.open.begins_with_plan = begins_with_plan;
        }
        if self.open.reading.line(text) {
            self.at = line.end;
            self.open.extend(&line);
        }
    }

    /// The open document has ended, if there is anything of it.
    fn next(&mut self) {
        let ended = std::mem::take(&mut self.open);
        if !ended.reading.has_begun() && ended.complaint.is_none() {
            return;
        }
        let is_tap = ended.reading.is_tap() || ended.complaint.is_some();
        self.is_tap |= ended.reading.is_tap();
        self.count += 1;
        let (place, begins_surely) = (ended.place.clone(), ended.begins_surely);
        let mut report = ended.finish();
        if let Some(place) = place.filter(|_| is_tap && (begins_surely || !report.succeeded())) {
            self.runs.push_report(place, &report);
        }
        for case in &mut report.cases {
            // Points without a name are numbered in each document anew.
            if self.names.contains(&case.name) && self.count > 1 {
                case.name = format!("document {} > {}", self.count, case.name);
            }
        }
        let room = MOST_CASES.saturating_sub(self.whole.cases.len());
        self.names.extend(report.cases.iter().take(room).map(|case| case.name.clone()));
        self.whole.merge(report);
    }

    pub fn finish(mut self) -> Option<Found> {
        self.next();
        self.is_tap.then_some(Found { report: self.whole, at: self.at, runs: self.runs })
    }
}

impl Document {
    /// Whether another may begin here: what a test prints in its midst is no file.
    fn may_end(&self) -> bool {
        !self.reading.has_begun()
            || self.reading.is_complete()
            || (self.file.is_some() && self.is_judged)
    }

    fn extend(&mut self, line: &Line<'_>) {
        match &mut self.place {
            Some(place) => place.end = line.end,
            None => {
                self.place = Some(line.begin..line.end);
                self.begins_surely = is_version(line.text);
            }
        }
    }

    fn finish(self) -> TestReport {
        let Self { file, reading, begins_with_plan, complaint, .. } = self;
        // There was no other document behind the second plan.
        let has_two_plans = begins_with_plan && reading.points == 0 && !reading.has_version;
        let mut report = match has_two_plans {
            true => {
                let mut report = TestReport::new(Format::Tap);
                report.mark_broken("there are two plans");
                report
            }
            false if reading.has_begun() => reading.finish(),
            false => TestReport::new(Format::Tap),
        };
        let Some(file) = file else { return report };
        report.rename(|name| format!("{file} > {name}"));
        let has_failed = report.cases.iter().any(|case| case.status == Status::Failed);
        if let Some(complaint) = complaint.filter(|_| !has_failed) {
            report.mark_broken(format!("{file}: {complaint}"));
        }
        report
    }
}

/// Whether a line belongs to another document than the one before it: a version, or what begins
/// one behind a plan that was met.
fn begins_another(document: &Reading, line: &str) -> bool {
    let is_whole = document.is_complete() && document.points > 0;
    if is_version(line) {
        // One that comes late is still the version of what it comes in.
        let has_more = document.plan.is_some() || document.points > 0;
        return is_whole || (document.has_version && has_more);
    }
    is_whole
        && (Plan::read(line).is_some()
            || Point::read(line).is_some_and(|point| point.number == Some(1)))
}

/// The file in `t/sum.t ..`, which is all of the line where `prove` lets it speak for itself.
fn file_line(line: &str) -> Option<&str> {
    let (file, dots) = line.rsplit_once(' ')?;
    let is_file = file.contains(['.', '/']) && !file.contains(char::is_whitespace);
    (is_file && dots.len() >= 2 && dots.bytes().all(|byte| byte == b'.')).then_some(file)
}

/// How `prove` begins to tell how a file ended, other than well.
const VERDICTS: [&str; 4] = ["Dubious, ", "Failed ", "All ", "No subtests run"];
