//! JUnit XML: no schema is binding, so only what all dialects share is relied on.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::bounded::{MOST_NAME, MOST_TEXT, append, shortened};
use super::recognise::Found;
use super::text::seconds;
use super::{Case, Format, Status, TestReport};

/// Reads the documents that the text holds, or begins to hold.
pub(super) fn read(text: &str) -> Option<Found> {
    let begin = beginning(text)?;
    let mut reader = Reader::from_str(&text[begin..]);
    reader.config_mut().allow_dangling_amp = true;
    let mut reading = Reading::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => reading.start(&element),
            Ok(Event::Empty(element)) => {
                reading.start(&element);
                reading.end();
            }
            Ok(Event::End(_)) => reading.end(),
            Ok(Event::Text(words)) => reading.text(&words),
            Ok(Event::CData(words)) => reading.text(&words),
            Ok(Event::GeneralRef(name)) => reading.text(&resolved(&name)),
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                reading.malformed(&error.to_string());
                break;
            }
        }
        if reading.is_foreign {
            break;
        }
    }
    let end = begin + usize::try_from(reader.buffer_position()).unwrap_or(text.len());
    reading.finish().map(|report| Found { report, at: end.min(text.len()) })
}

/// Where the first document begins: at the text's own beginning, or on a line of its own in a log.
fn beginning(text: &str) -> Option<usize> {
    let first = text.find(|character: char| !character.is_whitespace())?;
    if text[first..].starts_with('<') {
        return Some(first);
    }
    memchr::memmem::find_iter(text.as_bytes(), b"<testsuite").find(|at| {
        let line = &text[..*at];
        let line = line.rfind('\n').map_or(line, |end| &line[end + 1..]);
        line.trim().is_empty()
    })
}

/// What has been read so far.
struct Reading {
    report: TestReport,
    /// Names of the elements that are open, as far as they are suites.
    suites: Vec<Suite>,
    depth: usize,
    case: Option<OpenCase>,
    is_junit: bool,
    is_foreign: bool,
}

struct Suite {
    depth: usize,
    name: String,
    file: String,
}

/// A case whose end has not come yet.
struct OpenCase {
    depth: usize,
    name: String,
    status: Option<Status>,
    seconds: Option<f64>,
    attempts: u32,
    flaky: bool,
    /// It is not expected to pass yet, as Node's runner marks it.
    is_todo: bool,
    message: String,
    /// The depth of the element whose text is the message.
    listening: Option<usize>,
}

impl Reading {
    fn new() -> Self {
        Self {
            report: TestReport::new(Format::Junit),
            suites: Vec::new(),
            depth: 0,
            case: None,
            is_junit: false,
            is_foreign: false,
        }
    }

    fn start(&mut self, element: &BytesStart<'_>) {
        self.depth += 1;
        let name = element.local_name().as_ref().to_ascii_lowercase();
        if self.depth == 1 {
            let is_root = matches!(name.as_str(), "testsuites" | "testsuite");
            self.is_junit |= is_root;
            // A second document in the same text may be anything; the first decides.
            self.is_foreign = !is_root;
        }
        match (&mut self.case, name.as_str()) {
            (Some(case), _) => case.child(&name, element, self.depth),
            (None, "testsuite" | "testsuites") => self.suites.push(Suite {
                depth: self.depth,
                name: attribute(element, "name").unwrap_or_default(),
                file: attribute(element, "file").unwrap_or_default(),
            }),
            (None, "testcase") => self.case = Some(self.open_case(element)),
            // What fails outside of any case is the suite itself.
            (None, "failure" | "error") => {
                let suite = self.suites.last().map_or("", |suite| suite.name.as_str());
                let message = attribute(element, "message").unwrap_or_default();
                self.report.mark_broken(
                    format!("suite {suite}: {message}").trim_end_matches([':', ' ']).to_owned(),
                );
            }
            (None, _) => {}
        }
    }

    fn open_case(&self, element: &BytesStart<'_>) -> OpenCase {
        let name = attribute(element, "name").unwrap_or_default();
        let suite = self.suites.last();
        let group = attribute(element, "classname")
            .or_else(|| attribute(element, "file"))
            .or_else(|| suite.map(|suite| suite.file.clone()).filter(|file| !file.is_empty()))
            .or_else(|| suite.map(|suite| suite.name.clone()))
            .unwrap_or_default();
        let name =
            if group.is_empty() || group == name { name } else { format!("{group}::{name}") };
        let told = |key: &str| attribute(element, key).unwrap_or_default().to_lowercase();
        // Google's framework marks what did not run by attributes alone.
        let status = match (told("status").as_str(), told("result").as_str()) {
            ("notrun" | "disabled" | "skipped" | "ignored", _)
            | (_, "skipped" | "suppressed" | "ignored") => Some(Status::Skipped),
            ("failed" | "failure" | "fail" | "error" | "errored", _)
            | (_, "failed" | "failure" | "error") => Some(Status::Failed),
            _ => None,
        };
        OpenCase {
            depth: self.depth,
            name,
            status,
            seconds: attribute(element, "time").as_deref().and_then(seconds),
            attempts: 1,
            flaky: false,
            is_todo: false,
            message: String::new(),
            listening: None,
        }
    }

    fn end(&mut self) {
        if let Some(case) = &mut self.case
            && case.listening == Some(self.depth)
        {
            case.listening = None;
        }
        if let Some(case) = self.case.take_if(|case| case.depth == self.depth) {
            self.report.push(case.close());
        }
        if self.suites.last().is_some_and(|suite| suite.depth == self.depth) {
            self.suites.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn text(&mut self, words: &str) {
        if let Some(case) = &mut self.case
            && case.listening.is_some()
        {
            append(&mut case.message, words, MOST_TEXT);
        }
    }

    fn malformed(&mut self, error: &str) {
        // What follows a whole document is a log's business.
        if self.depth > 0 || !self.is_junit {
            self.report.mark_broken(format!("the XML is malformed: {error}"));
        }
    }

    fn finish(mut self) -> Option<TestReport> {
        if !self.is_junit {
            return None;
        }
        if self.depth > 0 && !self.is_foreign {
            self.report.mark_broken("the XML is cut off");
        }
        // A case that was cut off is known only if its failure was already told.
        if let Some(case) = self.case
            && case.status == Some(Status::Failed)
        {
            self.report.push(case.close());
        }
        Some(self.report)
    }
}

impl OpenCase {
    /// An element inside of the case, at any depth.
    fn child(&mut self, name: &str, element: &BytesStart<'_>, depth: usize) {
        if depth != self.depth + 1 {
            return;
        }
        match name {
            "failure" | "error" if self.is_todo => {}
            "skipped" if attribute(element, "type").as_deref() == Some("todo") => {
                self.is_todo = true;
                self.status = Some(Status::Skipped);
                self.listen(element, depth);
            }
            "failure" | "error" => {
                // Of several failures the first is told.
                if self.status != Some(Status::Failed) || self.message.is_empty() {
                    self.listen(element, depth);
                }
                self.status = Some(Status::Failed);
            }
            "skipped" | "skip" | "ignored" | "disabled" | "pending"
                if self.status != Some(Status::Failed) =>
            {
                self.status = Some(Status::Skipped);
                self.listen(element, depth);
            }
            "flakyfailure" | "flakyerror" => {
                self.flaky = true;
                self.attempts = self.attempts.saturating_add(1);
            }
            "rerunfailure" | "rerunerror" => self.attempts = self.attempts.saturating_add(1),
            _ => {}
        }
    }

    /// Takes the message from the attribute, or else from the text that follows.
    fn listen(&mut self, element: &BytesStart<'_>, depth: usize) {
        self.message.clear();
        match attribute(element, "message") {
            Some(message) => append(&mut self.message, &message, MOST_TEXT),
            None => self.listening = Some(depth),
        }
    }

    fn close(self) -> Case {
        let status = self.status.unwrap_or(Status::Passed);
        let passed_late = status == Status::Passed && (self.flaky || self.attempts > 1);
        Case {
            attempts: self.attempts,
            flaky: passed_late,
            ..Case::new(&self.name, status).saying(Some(&self.message)).taking(self.seconds)
        }
    }
}

/// The value of an attribute that is there and not empty.
fn attribute(element: &BytesStart<'_>, key: &str) -> Option<String> {
    let found = element
        .attributes()
        // Looking for repeated keys would take time in the square of their number.
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref().eq_ignore_ascii_case(key))?;
    let raw = shortened(&found.value, 8 * MOST_NAME);
    let value = unescape(&raw).unwrap_or(Cow::Borrowed(&raw));
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// The character that a reference stands for; entities of the document's own stay as they are,
/// so that nothing grows.
fn resolved(name: &str) -> String {
    let reference = format!("&{name};");
    unescape(&reference).map(Cow::into_owned).unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::todo(
        "<skipped type='todo' message='later'/><failure message='no'/>",
        Status::Skipped,
        "later"
    )]
    #[case::todo_at_last(
        "<failure message='no'/><skipped type='todo' message='later'/>",
        Status::Skipped,
        "later"
    )]
    #[case::skipped_and_failed(
        "<skipped message='later'/><failure message='no'/>",
        Status::Failed,
        "no"
    )]
    #[case::failed("<failure type='todo' message='no'/>", Status::Failed, "no")]
    fn what_is_still_to_be_done_may_fail(
        #[case] inside: &str,
        #[case] status: Status,
        #[case] said: &str,
    ) {
        let text = format!("<testsuite><testcase name='a'>{inside}</testcase></testsuite>");
        let case = read(&text).expect("a report").report.cases.remove(0);
        assert_eq!((case.status, case.first_line()), (status, Some(said)));
    }
}
