//! `jest --json`, and vitest in the same form.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::recognise::Found;
use super::runs::Runs;
use super::{Case, Format, Status, TestReport, lenient};
use crate::closed::closed;
use crate::fields::parse_as;

pub(super) fn read(text: &str) -> Option<Found> {
    documents(
        text,
        Format::JestJson,
        &["\"numTotalTests\"", "\"testResults\""],
        |root: Root, report| {
            let Some(files) = root.test_results else { return false };
            files.into_iter().for_each(|file| file.tell(report));
            true
        },
    )
}

/// Reads the JSON objects of a report: the text itself, or parts of it that begin on a line of their
/// own. `marks` are keys that every such object has.
pub(super) fn documents<T: DeserializeOwned>(
    text: &str,
    format: Format,
    marks: &[&str],
    tell: impl Fn(T, &mut TestReport) -> bool,
) -> Option<Found> {
    let mut marks = Marks { text, places: marks.iter().map(|mark| (*mark, None)).collect() };
    let mut whole: Option<Found> = None;
    let mut from = 0;
    let mut refused = 0;
    while refused < MOST_REFUSED
        && let Some(first) = marks.first_from(from)
    {
        let mut next = first + 1;
        for begin in beginnings(text, from, first) {
            match document(&text[begin..], format, &tell) {
                Document::Report(report, length) => {
                    next = length.map_or(text.len(), |length| begin + length);
                    add(&mut whole, report, begin..next);
                    break;
                }
                Document::Other(length) => next = next.max(begin + length),
                Document::None => refused += 1,
            }
        }
        from = next;
    }
    whole
}

fn add(whole: &mut Option<Found>, mut report: TestReport, place: Range<usize>) {
    report.conclude();
    let mut runs = Runs::default();
    runs.push_report(place.clone(), &report);
    match whole {
        Some(whole) => {
            whole.at = place.end;
            whole.report.merge(report);
            whole.runs.append(runs);
        }
        None => *whole = Some(Found { report, at: place.end, runs }),
    }
}

/// Keys, and where each stands next.
struct Marks<'a> {
    text: &'a str,
    places: Vec<(&'a str, Option<usize>)>,
}

impl Marks<'_> {
    /// Where the first of them stands, if all of them still come.
    fn first_from(&mut self, from: usize) -> Option<usize> {
        let mut first = self.text.len();
        for (mark, place) in &mut self.places {
            if place.is_none_or(|place| place < from) {
                let rest = self.text.as_bytes().get(from..)?;
                *place = Some(from + memchr::memmem::find(rest, mark.as_bytes())?);
            }
            first = first.min(place.unwrap_or(first));
        }
        Some(first)
    }
}

/// Where the object around a mark may begin: on the last line that does, or with the text.
fn beginnings(text: &str, from: usize, mark: usize) -> impl Iterator<Item = usize> {
    let before = &text[from..mark];
    let line = before.rfind("\n{").map(|at| from + at + 1);
    let own =
        before.find(|it: char| !it.is_whitespace()).filter(|at| before[*at..].starts_with('{'));
    line.into_iter().chain(own.map(|at| from + at))
}

/// What a text begins with.
enum Document {
    /// A report, and how long it is, if it has an end.
    Report(TestReport, Option<usize>),
    /// Something else, and how long it is.
    Other(usize),
    None,
}

fn document<T: DeserializeOwned>(
    text: &str,
    format: Format,
    tell: impl Fn(T, &mut TestReport) -> bool,
) -> Document {
    let mut report = TestReport::new(format);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let length = values.byte_offset();
            let root = parse_as(&text.as_bytes()[..length]);
            if root.is_ok_and(|root| tell(root, &mut report)) {
                Document::Report(report, Some(length))
            } else {
                Document::Other(length)
            }
        }
        Some(Err(error)) if error.is_eof() => {
            report.mark_broken("the JSON is cut off");
            // What is whole of it is shown.
            if let Some(root) = closed(text.as_bytes()).and_then(|it| parse_as(&it).ok()) {
                tell(root, &mut report);
            }
            Document::Report(report, None)
        }
        Some(Err(_)) | None => Document::None,
    }
}

/// What is no JSON. Each may be read as far as the text goes.
const MOST_REFUSED: usize = 16;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Root {
    #[serde(default)]
    test_results: Option<Vec<File>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default, deserialize_with = "lenient::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    assertion_results: Vec<Assertion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(default, deserialize_with = "lenient::list")]
    ancestor_titles: Vec<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    /// In milliseconds.
    #[serde(default, deserialize_with = "lenient::number")]
    duration: Option<f64>,
    #[serde(default, deserialize_with = "lenient::list")]
    failure_messages: Vec<String>,
    #[serde(default, deserialize_with = "lenient::number")]
    invocations: Option<f64>,
}

impl File {
    fn tell(self, report: &mut TestReport) {
        let file = self.name.unwrap_or_default();
        let mut has_failed = false;
        for assertion in self.assertion_results {
            let case = assertion.case(&file);
            has_failed |= case.status == Status::Failed;
            report.push(case);
        }
        if self.status.as_deref() == Some("failed") && !has_failed {
            let message = self.message.unwrap_or_default();
            let why = super::first_line(&message).unwrap_or("no test of it failed, but it did");
            report.mark_broken(format!("{file} failed to run: {why}"));
        }
    }
}

impl Assertion {
    fn case(self, file: &str) -> Case {
        let titles = self.ancestor_titles.iter().map(String::as_str);
        let parts = std::iter::once(file).chain(titles).chain(self.title.as_deref());
        let parts: Vec<_> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
        let status = match self.status.as_deref() {
            Some("passed" | "focused") => Status::Passed,
            Some("failed") => Status::Failed,
            _ => Status::Skipped,
        };
        let attempts = if self.invocations.is_some_and(|count| count > 1.0) { 2 } else { 1 };
        Case {
            attempts,
            flaky: attempts > 1 && status == Status::Passed,
            ..Case::new(&parts.join(" > "), status)
                .saying(self.failure_messages.first().map(String::as_str))
                .taking(self.duration.map(|duration| duration / 1000.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use backstop_core::event::TestCounts;

    use super::*;

    #[test]
    fn cases_and_files_that_did_not_load_are_told() {
        let text = r#"
> app@1.0.0 test
> jest --json

{"numTotalTests":3,"success":false,"testResults":[
 {"name":"/app/a.test.js","status":"failed","message":"","assertionResults":[
   {"ancestorTitles":["sum"],"title":"adds","status":"passed","duration":4,"failureMessages":[]},
   {"ancestorTitles":["sum"],"title":"carries","status":"failed","failureMessages":["Error: no\n at x"]},
   {"ancestorTitles":[],"title":"later","status":"todo","failureMessages":[]}]},
 {"name":"/app/b.test.js","status":"failed","message":"SyntaxError: oops","assertionResults":[]}]}
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["/app/a.test.js > sum > carries"]
        );
        assert_eq!(
            report.broken.as_deref(),
            Some("/app/b.test.js failed to run: SyntaxError: oops")
        );
    }

    #[test]
    fn what_is_cut_off_shows_what_is_whole() {
        let text = r#"{"numTotalTests":2,"testResults":[{"name":"a.js","assertionResults":[
            {"title":"adds","status":"failed","duration":1e400},{"title":"carries","stat"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["a.js > adds"]);
        assert_eq!(report.broken.as_deref(), Some("the JSON is cut off"));
    }

    #[test]
    fn a_number_beyond_all_bounds_does_not_lose_the_report() {
        let text = r#"{"numTotalTests":1,"testResults":[{"name":"a.js","assertionResults":[
            {"title":"adds","status":"passed","duration":1e400}]}]}"#;
        let report = read(&format!("{text}\n{text}")).expect("a report").report;
        assert_eq!((report.counts().passed, report.cases[0].seconds), (2, None));
        assert!(report.succeeded());
    }
}
