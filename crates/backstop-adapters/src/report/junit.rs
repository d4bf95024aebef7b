//! JUnit XML: no schema is binding, so only what all dialects share is relied on.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader};

use super::bounded::{MOST_NAME, MOST_TEXT, append, shortened};
use super::origin::{Origin, Seen};
use super::recognise::Found;
use super::runs::Runs;
use super::text::seconds;
use super::{Case, Format, Status, TestReport};

/// Reads the documents that the text holds, or begins to hold.
pub(super) fn read(text: &str) -> Option<Found> {
    let mut reading = Reading::new();
    let mut next = own_beginning(text).or_else(|| beginning_after(text, 0));
    let mut refused = 0;
    while let Some(begin) = next.filter(|_| refused < MOST_REFUSED) {
        let end = reading.document(text, begin);
        refused += usize::from(reading.documents.last().is_none_or(|it| it.place.start != begin));
        next = beginning_after(text, end);
    }
    reading.finish()
}

/// Where the text begins, if that may be a document with anything before its root.
fn own_beginning(text: &str) -> Option<usize> {
    let first = text.find(|character: char| !character.is_whitespace())?;
    text[first..].starts_with('<').then_some(first)
}

/// Where the next document of a log begins: on a line of its own, or right behind another one.
fn beginning_after(text: &str, from: usize) -> Option<usize> {
    memchr::memmem::find_iter(&text.as_bytes()[from..], b"<testsuite").map(|at| from + at).find(
        |at| {
            let least = text.floor_char_boundary(at.saturating_sub(MOST_DECLARATION)).max(from);
            let before = &text[least..*at];
            let line = before.rsplit('\n').next().unwrap_or(before).trim();
            let is_begun = least == from || before.contains('\n');
            let is_declared = line.starts_with("<?xml") && line.ends_with("?>");
            is_begun && (line.is_empty() || is_declared)
        },
    )
}

/// What has been read so far.
struct Reading {
    report: TestReport,
    /// Names of the elements that are open, as far as they are suites.
    suites: Vec<Suite>,
    /// The suites of this document, and the cases that are in none.
    seen: Seen,
    depth: usize,
    case: Option<OpenCase>,
    has_root: bool,
    is_foreign: bool,
    /// What went wrong outside of any case.
    suite_error: Option<String>,
    documents: Vec<Document>,
}

/// A document that has ended.
struct Document {
    place: Range<usize>,
    failed: u64,
    cases: Range<usize>,
    broken: Option<String>,
}

struct Suite {
    depth: usize,
    name: String,
    file: String,
    origin: Origin,
    /// It is not only a list of others.
    is_suite: bool,
}

/// A case whose end has not come yet.
struct OpenCase {
    depth: usize,
    name: String,
    origin: Origin,
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
            seen: Seen::default(),
            depth: 0,
            case: None,
            has_root: false,
            is_foreign: false,
            suite_error: None,
            documents: Vec::new(),
        }
    }

    fn start(&mut self, element: &BytesStart<'_>) {
        self.depth += 1;
        let name = element.local_name().as_ref().to_ascii_lowercase();
        if self.depth == 1 {
            self.has_root = true;
            self.is_foreign = !matches!(name.as_str(), "testsuites" | "testsuite");
        }
        match (&mut self.case, name.as_str()) {
            (Some(case), _) => case.child(&name, element, self.depth),
            (None, "testsuite") => self.open_suite(element, true),
            (None, "testsuites") => self.open_suite(element, false),
            (None, "testcase") => self.case = Some(self.open_case(element)),
            // What fails outside of any case is the suite itself.
            (None, "failure" | "error") => {
                let suite = self.suites.last().map_or("", |suite| suite.name.as_str());
                let message = attribute(element, "message").unwrap_or_default();
                let error = format!("suite {suite}: {message}");
                self.suite_error
                    .get_or_insert_with(|| error.trim_end_matches([':', ' ']).to_owned());
            }
            (None, _) => {}
        }
    }

    /// Runners that try a test again list the attempts in one suite. Two suites that are called the
    /// same are those of two files, browsers or machines, unless they are in different documents: those
    /// may be two runs.
    fn open_suite(&mut self, element: &BytesStart<'_>, is_suite: bool) {
        let told = |key| attribute(element, key).unwrap_or_default();
        let (name, file) = (told("name"), told("file"));
        let around = self.suites.last().map_or_else(Origin::default, |suite| suite.origin);
        let origin = if is_suite {
            let own = (&name, &file, told("package"), told("hostname"));
            self.seen.next(around.within(own))
        } else {
            around
        };
        self.suites.push(Suite { depth: self.depth, name, file, origin, is_suite });
    }

    /// Where a case stands. Of those that are in no suite nothing says that they are attempts at the
    /// same test.
    fn origin(&mut self, element: &BytesStart<'_>, name: &str) -> Origin {
        let suite = self.suites.last().filter(|suite| suite.is_suite);
        let own = suite.map(|suite| suite.origin.within(attribute(element, "file")));
        own.unwrap_or_else(|| {
            let told = Origin::default().within((name, attribute(element, "file")));
            self.seen.next(told)
        })
    }

    fn open_case(&mut self, element: &BytesStart<'_>) -> OpenCase {
        let name = attribute(element, "name").unwrap_or_default();
        let suite = self.suites.last();
        let group = attribute(element, "classname")
            .or_else(|| attribute(element, "file"))
            .or_else(|| suite.map(|suite| suite.file.clone()).filter(|file| !file.is_empty()))
            .or_else(|| suite.map(|suite| suite.name.clone()))
            .unwrap_or_default();
        let name =
            if group.is_empty() || group == name { name } else { format!("{group}::{name}") };
        let origin = self.origin(element, &name);
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
            origin,
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

    /// Reads one document; where it ends.
    fn document(&mut self, text: &str, begin: usize) -> usize {
        let mut reader = Reader::from_str(&text[begin..]);
        reader.config_mut().allow_dangling_amp = true;
        let before = (self.report.counts().failed, self.report.cases.len());
        let mut broken = None;
        let mut end = begin;
        (self.depth, self.has_root, self.case) = (0, false, None);
        self.suites.clear();
        self.seen = Seen::default();
        loop {
            match reader.read_event() {
                Ok(Event::Start(element)) => self.start(&element),
                Ok(Event::Empty(element)) => {
                    self.start(&element);
                    self.end();
                }
                Ok(Event::End(_)) => self.end(),
                Ok(Event::Text(words)) => self.text(&words),
                Ok(Event::CData(words)) => self.text(&words),
                Ok(Event::GeneralRef(name)) => self.text(&resolved(&name)),
                Ok(Event::Eof) => {
                    broken = (self.depth > 0).then(|| "the XML is cut off".to_owned());
                    end = text.len();
                    break;
                }
                Ok(_) => {}
                Err(error) => {
                    broken = Some(format!("the XML is malformed: {error}"));
                    // What opens and never closes takes all of the text with it.
                    if self.has_root && matches!(error, Error::Syntax(_)) {
                        end = text.len();
                    }
                    break;
                }
            }
            end = begin + usize::try_from(reader.buffer_position()).unwrap_or(text.len());
            if self.is_foreign || (self.has_root && self.depth == 0) {
                break;
            }
        }
        let end = text.ceil_char_boundary(end.max(begin + 1).min(text.len()));
        if !std::mem::take(&mut self.is_foreign) && self.has_root {
            self.close(broken, begin..end, before);
        }
        end
    }

    fn close(&mut self, broken: Option<String>, place: Range<usize>, before: (u64, usize)) {
        // A case that was cut off is known only if its failure was already told.
        if let Some(case) = self.case.take()
            && case.status == Some(Status::Failed)
        {
            self.report.push(case.close());
        }
        let (failed, cases) = before;
        self.documents.push(Document {
            failed: self.report.counts().failed.saturating_sub(failed),
            cases: cases..self.report.cases.len(),
            broken: broken.or_else(|| self.suite_error.take()),
            place,
        });
    }

    fn finish(mut self) -> Option<Found> {
        let at = self.documents.last()?.place.end;
        // What failed in one document may have passed in another one that was written later.
        self.report.match_attempts();
        let mut runs = Runs::default();
        for document in self.documents {
            let cases = &self.report.cases[document.cases];
            let overcome = cases.iter().filter(|case| case.overcome).count() as u64;
            let failed = document.failed.saturating_sub(overcome);
            runs.push(document.place, failed, document.broken.as_deref());
            if let Some(broken) = document.broken {
                self.report.mark_broken(broken);
            }
        }
        Some(Found { report: self.report, at, runs })
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
            ..Case::new(&self.name, status)
                .from(self.origin)
                .saying(Some(&self.message))
                .taking(self.seconds)
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

/// Tags that only look like the beginning of a document. Each may be as long as the text.
const MOST_REFUSED: usize = 16;

/// What may stand before the root of a document on the same line.
const MOST_DECLARATION: usize = 256;

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

    const FAILED: &str = "><failure/></testcase>";

    #[rstest]
    #[case::names("<testsuite name='a'>", "<testsuite name='b'>", "", "")]
    #[case::hosts(
        "<testsuite name='a' hostname='chromium'>",
        "<testsuite name='a' hostname='firefox'>",
        "",
        ""
    )]
    #[case::nothing_at_all("<testsuite name='a'>", "<testsuite name='a'>", "", "")]
    #[case::around(
        "<testsuite name='a'><testsuite name='deep'>",
        "</testsuite><testsuite name='b'><testsuite name='deep'>",
        "",
        ""
    )]
    #[case::files("<testsuite name='a'>", "", " file='a.js'", " file='b.js'")]
    #[case::no_suite("", "", "", "")]
    fn the_same_name_elsewhere_is_another_test(
        #[case] first: &str,
        #[case] second: &str,
        #[case] one: &str,
        #[case] other: &str,
    ) {
        let close = if first.is_empty() { "" } else { "</testsuite>" };
        let between = if second.is_empty() { "" } else { close };
        let last = if second.starts_with("</") { "</testsuite></testsuite>" } else { close };
        let text = format!(
            "<testsuites>{first}<testcase classname='C' name='works'{one}{FAILED}{between}{second}\
             <testcase classname='C' name='works'{other}/>{last}</testsuites>"
        );
        let report = read(&text).expect("a report").report;
        assert_eq!(report.broken, None, "{text}");
        assert_eq!(report.counts_at_last().failed, 1, "{text}");
        assert!(report.cases.iter().all(|case| !case.flaky && !case.overcome), "{text}");
    }

    #[rstest]
    #[case::one_suite("")]
    #[case::two_documents(
        "</testsuite></testsuites>\n<testsuites><testsuite name='a' hostname='h'>"
    )]
    fn the_same_name_in_the_same_suite_is_another_attempt(#[case] between: &str) {
        let text = format!(
            "<testsuites><testsuite name='a' hostname='h'><testcase name='works'{FAILED}{between}\
             <testcase name='works'/></testsuite></testsuites>"
        );
        let report = read(&text).expect("a report").report;
        assert!(report.succeeded());
        assert!(report.cases[0].overcome && report.cases[1].flaky);
    }
}
