//! `cargo test -- --format json`, and nextest in the same form.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::Deserialize;

use super::recognise::Found;
use super::runs::Runs;
use super::text::lines;
use super::{Case, Format, Status, TestReport, lenient};
use crate::tail::objects;

pub(super) fn read(text: &str) -> Option<Found> {
    let mut reading = Reading {
        report: TestReport::new(Format::LibtestJson),
        cases: Vec::new(),
        places: HashMap::new(),
        open_suites: 0,
        running: BTreeSet::new(),
        build_error: None,
        begun: None,
        failed: 0,
        runs: Runs::default(),
        at: None,
    };
    for line in lines(text) {
        // What a test prints without a line end stands before the next event.
        for json in objects(line.whole) {
            let mut sound = None;
            let Some(record) = lenient::record::<Record<'_>>(json, &mut sound) else { continue };
            if reading.record(&record) {
                reading.at = Some(line.end);
                reading.follow(&record, line.begin..line.end);
            }
        }
        if reading.open_suites == 0 && line.text.starts_with("error: could not compile") {
            reading.build_error = Some(line.text.to_owned());
            reading.runs.push(line.begin..line.end, 0, Some(line.text));
        }
    }
    reading.finish()
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    /// A benchmark has none: it is told when it is over.
    #[serde(default, borrow)]
    event: Cow<'a, str>,
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    /// Newer files have a number, older ones a string with a unit, or another key.
    #[serde(default, alias = "duration", deserialize_with = "lenient::number")]
    exec_time: Option<f64>,
    #[serde(default, borrow)]
    stdout: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    reason: Option<Cow<'a, str>>,
}

struct Reading {
    report: TestReport,
    cases: Vec<Case>,
    /// Where the latest case of each name stands.
    places: HashMap<String, usize>,
    open_suites: u64,
    running: BTreeSet<String>,
    build_error: Option<String>,
    /// Where the first of the suites that are open began.
    begun: Option<usize>,
    /// How many tests have failed since.
    failed: u64,
    runs: Runs,
    at: Option<usize>,
}

impl Reading {
    /// Takes in an event; says whether it was one.
    fn record(&mut self, record: &Record<'_>) -> bool {
        match (record.kind.as_ref(), record.event.as_ref(), &record.name) {
            ("suite", "started", _) => self.open_suites += 1,
            ("suite", "ok" | "failed", _) => self.open_suites = self.open_suites.saturating_sub(1),
            ("test", "started", Some(name)) => {
                self.running.insert(plain_name(name).0.into_owned());
            }
            ("bench", _, Some(name)) if self.open_suites > 0 => {
                let case = case(name, Status::Passed, record);
                self.running.remove(&case.name);
                self.add(case);
            }
            // A warning that it is slow; its end is still to come.
            ("test", "timeout", Some(_)) => {}
            ("test", event, Some(name)) => {
                let status = match event {
                    "ok" => Status::Passed,
                    "failed" => Status::Failed,
                    "ignored" => Status::Skipped,
                    _ => return false,
                };
                let case = case(name, status, record);
                self.running.remove(&case.name);
                self.add(case);
            }
            _ => return false,
        }
        true
    }

    /// Suites that run at the same time are one run.
    fn follow(&mut self, record: &Record<'_>, place: Range<usize>) {
        let begun = *self.begun.get_or_insert(place.start);
        let is_bad = record.event == "failed";
        self.failed += u64::from(is_bad && record.kind == "test");
        if self.open_suites > 0 {
            return;
        }
        // A test that failed may have been tried again.
        let failed = if is_bad { self.failed.max(1) } else { 0 };
        self.runs.push(begun..place.end, failed, None);
        (self.begun, self.failed) = (None, 0);
    }

    /// Another attempt at a case changes it; the same name without a number is another case.
    fn add(&mut self, case: Case) {
        let before = match case.attempts {
            0 | 1 => None,
            _ => self.places.get(&case.name).and_then(|place| self.cases.get_mut(*place)),
        };
        match before {
            Some(before) => {
                before.try_again(&case);
                before.attempts = before.attempts.max(case.attempts);
            }
            None => {
                self.places.insert(case.name.clone(), self.cases.len());
                self.cases.push(case);
            }
        }
    }

    fn finish(mut self) -> Option<Found> {
        let at = self.at?;
        for case in std::mem::take(&mut self.cases) {
            self.report.push(case);
        }
        if let Some(error) = self.build_error {
            self.report.mark_broken(format!("the build failed: {error}"));
        }
        if self.open_suites > 0 {
            let why = "a test binary ended without a result";
            self.runs.push(self.begun.unwrap_or(at)..at, 0, Some(why));
            self.report.mark_broken(why);
            for name in &self.running {
                let case = Case::new(name, Status::Failed);
                self.report.push(case.saying(Some("did not finish")));
            }
        }
        Some(Found { report: self.report, at, runs: self.runs })
    }
}

fn case(name: &str, status: Status, record: &Record<'_>) -> Case {
    let (name, attempts) = plain_name(name);
    let said = match status {
        Status::Passed => None,
        Status::Failed => record.stdout.as_deref().or(record.reason.as_deref()),
        Status::Skipped => None,
    };
    let said = said.filter(|said| !said.trim().is_empty()).or(record.message.as_deref());
    Case {
        attempts,
        flaky: status == Status::Passed && attempts > 1,
        ..Case::new(&name, status).saying(said).taking(record.exec_time)
    }
}

/// nextest writes `crate::binary$module::test#2` for the second attempt.
fn plain_name(name: &str) -> (Cow<'_, str>, u32) {
    let attempt = name.rsplit_once('#').and_then(|(name, attempt)| {
        let is_number = attempt.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some((name, attempt.parse().ok()?))
    });
    let (name, attempts) = attempt.unwrap_or((name, 1));
    match name.split_once('$') {
        Some((binary, test)) => (Cow::Owned(format!("{binary}::{test}")), attempts),
        None => (Cow::Borrowed(name), attempts),
    }
}

#[cfg(test)]
mod tests {
    use backstop_core::event::TestCounts;

    use super::*;

    #[test]
    fn nextest_tells_attempts_in_the_name() {
        let text = r#"
{"type":"suite","event":"started","test_count":3,"nextest":{"crate":"ledger","test_binary":"ledger","kind":"lib"}}
{"type":"test","event":"started","name":"ledger::ledger$sums::adds"}
{"type":"test","event":"ok","name":"ledger::ledger$sums::adds#2","exec_time":0.01}
{"type":"test","event":"timeout","name":"ledger::ledger$sums::slow"}
{"type":"test","event":"failed","name":"ledger::ledger$sums::slow","exec_time":61.0,"stdout":"","message":"too slow"}
{"type":"test","event":"ignored","name":"ledger::ledger$sums::huge"}
{"type":"suite","event":"failed","passed":1,"failed":1,"ignored":1,"measured":0,"filtered_out":0,"exec_time":61.1}
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 1 });
        let first = &report.cases[0];
        assert_eq!(
            (first.name.as_str(), first.attempts, first.flaky),
            ("ledger::ledger::sums::adds", 2, true)
        );
        assert_eq!(report.last_error(), Some("too slow"));
    }

    #[test]
    fn the_last_attempt_decides() {
        for name in ["c::c$t", "t"] {
            for first in [format!("{name}#1"), name.to_owned()] {
                let text = format!(
                    r#"{{"type":"suite","event":"started","test_count":1}}
{{"type":"test","event":"started","name":"{name}"}}
{{"type":"test","event":"failed","name":"{first}","stdout":"boom"}}
{{"type":"test","event":"ok","name":"{name}#2"}}
{{"type":"suite","event":"ok","passed":1,"failed":0}}
"#
                );
                let report = read(&text).expect("a report").report;
                assert!(report.succeeded());
                assert_eq!(report.counts(), TestCounts { passed: 1, failed: 0, skipped: 0 });
                assert_eq!((report.cases[0].flaky, report.cases[0].attempts), (true, 2));
                let text = text.replace("\"ok\",\"name\"", "\"failed\",\"name\"");
                let report = read(&text).expect("a report").report;
                assert_eq!(report.counts(), TestCounts { passed: 0, failed: 1, skipped: 0 });
            }
        }
    }

    #[test]
    fn the_same_name_in_another_binary_is_another_case() {
        let suite = r#"{"type":"suite","event":"started","test_count":1}
{"type":"test","event":"ok","name":"t"}
{"type":"suite","event":"ok"}
"#;
        let report = read(&suite.repeat(2)).expect("a report").report;
        assert_eq!(report.counts().passed, 2);
    }

    #[test]
    fn an_event_may_follow_what_a_test_printed() {
        let text = r#"{"type":"suite","event":"started","test_count":2}
one, two{"type":"test","event":"ok","name":"a"}
{"type":"test","event":"ok","name":"b"}
it printed '{"type":"test","event":"ok","name":"c"}'
it printed {"type":"other","event":"ok"}
{"type":"suite","event":"ok"}
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(report.broken, None);
    }

    #[test]
    fn a_suite_without_an_end_breaks_the_report() {
        let text = r#"{ "type": "suite", "event": "started", "test_count": 2 }
{ "type": "test", "event": "started", "name": "a" }
{ "type": "test", "event": "started", "name": "b" }
{ "type": "test", "name": "a", "event": "ok" }
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert!(report.broken.is_some());
    }

    #[test]
    fn a_number_beyond_all_bounds_does_not_lose_an_event() {
        let text = r#"{"type":"suite","event":"started","test_count":2}
{"type":"test","event":"ok","name":"b"}{"type":"test","event":"failed","name":"a","exec_time":1e400}
{"type":"suite","event":"ok","passed":1}
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_benchmark_that_ran_to_its_end_has_passed() {
        let text = r#"{"type":"suite","event":"started","test_count":2}
{"type":"test","event":"started","name":"adds"}
{"type":"bench","name":"adds","median":100.5,"deviation":3.1}
{"type":"test","event":"started","name":"breaks"}
{"type":"test","event":"failed","name":"breaks"}
{"type":"suite","event":"failed","passed":0,"failed":1,"measured":1}
"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Passed).collect::<Vec<_>>(), ["adds"]);
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["breaks"]);
        assert_eq!(report.broken, None);
    }
}
