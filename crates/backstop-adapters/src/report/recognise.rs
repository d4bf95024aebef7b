//! Finds out by its content what a report is.

use super::bounded::{MOST_BYTES, shortened};
use super::text::{decoded, plain, unstamped};
use super::{
    Format, TestReport, ctrf, go, go_json, jest, jest_json, junit, libtest, libtest_json, maven,
    mocha, nextest, node, pytest, rspec, sympy, tap, unittest, vitest,
};

/// A report, and where its last word stands in the text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) report: TestReport,
    pub(super) at: usize,
}

/// The test report that these bytes hold: a file, or the whole output of a command.
///
/// Where `hint` names a format, only that one is looked for. Otherwise, of all that is found, the one
/// that has the last word counts: a runner whose tests run other runners speaks after them. If
/// another one had failed before this one began, it is no success. Prose that mentions tests is no
/// report.
pub fn recognise(bytes: &[u8], hint: Option<Format>) -> Option<TestReport> {
    let text = unstamped(plain(decoded(kept(bytes))));
    let readers = READERS.iter().filter(|(format, _)| hint.is_none_or(|hint| hint == *format));
    let mut found: Vec<(Found, Read)> =
        readers.filter_map(|(_, read)| Some((read(&text)?, *read))).collect();
    // Of equals the first of the table, which is last here.
    found.reverse();
    found.sort_by_key(|(found, _)| found.at);
    let last = found.pop().map(|(last, read)| {
        let failed_before = failed_before(&last, read, found, &text);
        let mut report = last.report;
        if let Some(earlier) = failed_before {
            report.mark_broken(earlier);
        }
        report
    });
    let given = || ctrf::read_given(&text).filter(|_| hint == Some(Format::Ctrf));
    let mut report = last.or_else(|| Some(given()?.report))?;
    if bytes.len() > MOST_BYTES && report.format.is_structured() {
        report.mark_broken("larger than 64 MiB: only a part was read");
    }
    report.conclude();
    Some(report)
}

/// What another runner said before the last one began, if it failed: commands in a row, of which the
/// status of the last one alone is known.
///
/// One that spoke in the middle of another is a part of it, and it is for that one to say what its
/// failure means.
fn failed_before(
    last: &Found,
    read_last: Read,
    others: Vec<(Found, Read)>,
    text: &str,
) -> Option<String> {
    if !last.report.format.tells_its_beginning() {
        return None;
    }
    others.into_iter().find_map(|(Found { mut report, at }, _)| {
        report.conclude();
        let failed = report.counts_at_last().failed;
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        let is_apart = failed > 0 && read_last(&text[..end]).is_none();
        is_apart.then(|| format!("{failed} failed in the {} run before it", report.format))
    })
}

/// What is read of very long output: its end, where the summaries are. A document that is cut at its
/// beginning is none, so of those the beginning is read.
fn kept(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= MOST_BYTES {
        return bytes;
    }
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'<' | b'[') => &bytes[..MOST_BYTES],
        _ => {
            let tail = &bytes[bytes.len() - MOST_BYTES..];
            // From the next line on, so that no line is read half.
            memchr::memchr(b'\n', tail).map_or(tail, |end| &tail[end + 1..])
        }
    }
}

impl Format {
    /// Whether the same name again means the same case. Elsewhere it may be that of another binary,
    /// package or assertion.
    pub(super) fn names_are_unique(self) -> bool {
        matches!(self, Self::Junit | Self::Ctrf | Self::Pytest)
    }

    /// Whether something of it is read as soon as its first test is over. Of the others the beginning
    /// is a row of dots, or a case's name.
    fn tells_its_beginning(self) -> bool {
        !matches!(self, Self::Unittest | Self::Rspec | Self::Mocha | Self::Node | Self::Sympy)
    }

    /// Whether a part of a report is no report.
    fn is_structured(self) -> bool {
        matches!(self, Self::Junit | Self::Ctrf | Self::JestJson | Self::RspecJson | Self::Tap)
    }
}

/// The first line of what is no report, to be shown in a message.
pub fn first_seen(bytes: &[u8]) -> Option<String> {
    let text = plain(decoded(&bytes[..bytes.len().min(4096)]));
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, 60).into_owned())
}

type Read = fn(&str) -> Option<Found>;

/// Every format that is recognised by its content.
const READERS: &[(Format, Read)] = &[
    (Format::Junit, junit::read),
    (Format::Ctrf, ctrf::read),
    (Format::JestJson, jest_json::read),
    (Format::RspecJson, rspec::read_json),
    (Format::GoJson, go_json::read),
    (Format::LibtestJson, libtest_json::read),
    (Format::Nextest, nextest::read),
    (Format::Libtest, libtest::read),
    (Format::Pytest, pytest::read),
    (Format::Unittest, unittest::read),
    (Format::Go, go::read),
    (Format::Jest, jest::read),
    (Format::Vitest, vitest::read),
    (Format::Mocha, mocha::read),
    (Format::Node, node::read),
    (Format::Rspec, rspec::read),
    (Format::Maven, maven::read),
    (Format::Sympy, sympy::read),
    (Format::Tap, tap::read),
];

#[cfg(test)]
mod tests {
    use super::*;

    const PYTEST_FAILED: &str = "\
        ============================= test session starts ==============================\n\
        collected 2 items\n\n\
        test_a.py .F                                                             [100%]\n\n\
        =========================== short test summary info ============================\n\
        FAILED test_a.py::test_b - assert 1 == 2\n\
        ========================= 1 failed, 1 passed in 0.03s ==========================\n";
    const CARGO_PASSED: &str = "\nrunning 1 test\ntest works ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
        finished in 0.00s\n";

    #[test]
    fn a_runner_that_failed_before_another_one_is_not_forgotten() {
        let text = format!("{PYTEST_FAILED}{CARGO_PASSED}");
        let report = recognise(text.as_bytes(), None).expect("a report");
        assert_eq!((report.format, report.counts().passed), (Format::Libtest, 1));
        assert_eq!(report.broken.as_deref(), Some("1 failed in the pytest run before it"));
        assert!(!report.succeeded());
        let named = recognise(text.as_bytes(), Some(Format::Libtest)).expect("a report");
        assert!(named.succeeded());
    }

    #[test]
    fn a_runner_within_another_one_is_a_part_of_it() {
        let within = CARGO_PASSED.replace("test works", &format!("{PYTEST_FAILED}test works"));
        let report = recognise(within.as_bytes(), None).expect("a report");
        assert!(report.succeeded(), "{report:?}");
    }
}
