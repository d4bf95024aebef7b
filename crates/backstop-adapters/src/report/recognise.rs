//! Finds out by its content what a report is.

use super::bounded::{MOST_BYTES, shortened};
use super::runs::{Runs, first_gone_wrong};
use super::text::{decoded, plain, unstamped};
use super::{
    Format, TestReport, ctrf, go, go_json, jest, jest_json, junit, libtest, libtest_json, maven,
    mocha, nextest, node, pytest, rspec, sympy, tap, unittest, vitest,
};

/// A report, where its last word stands in the text, and the runs that it tells of.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) report: TestReport,
    pub(super) at: usize,
    pub(super) runs: Runs,
}

/// The test report that these bytes hold: a file, or the whole output of a command.
///
/// Where `hint` names a format, only that one is looked for. Otherwise, of all that is found, the
/// one that has the last word counts: a runner whose tests run other runners speaks after them. If
/// a run that is no part of another one went wrong before it, it is no success. Prose that mentions
/// tests is no report.
pub fn recognise(bytes: &[u8], hint: Option<Format>) -> Option<TestReport> {
    let text = unstamped(plain(decoded(kept(bytes))));
    let readers = READERS.iter().filter(|(format, _)| hint.is_none_or(|hint| hint == *format));
    let mut found: Vec<Found> = readers.filter_map(|(_, read)| read(&text)).collect();
    found.iter_mut().for_each(|found| found.report.conclude());
    // Of equals the first of the table. One without a test is told only if there are none at all.
    let rank = |at: &usize| (!found[*at].report.is_empty(), found[*at].at);
    let last = (0..found.len()).rev().max_by_key(rank).map(|last| {
        let earlier = gone_wrong_before(&found[last], &found);
        let mut report = found.swap_remove(last).report;
        if let Some(earlier) = earlier {
            report.mark_broken(earlier);
        }
        report
    });
    let given = || {
        let mut report = ctrf::read_given(&text).filter(|_| hint == Some(Format::Ctrf))?.report;
        report.conclude();
        Some(report)
    };
    let mut report = last.or_else(given)?;
    if bytes.len() > MOST_BYTES && report.format.is_structured() {
        report.mark_broken("larger than 64 MiB: only a part was read");
    }
    Some(report)
}

/// What went wrong in a run that the last report does not tell of.
fn gone_wrong_before(last: &Found, found: &[Found]) -> Option<String> {
    // A report that is bad tells so itself. One that is good may be that of its last run alone.
    let is_told = |report: &TestReport| report.format == last.report.format && !report.succeeded();
    first_gone_wrong(
        found.iter().map(|found| (found.report.format, &found.runs, is_told(&found.report))),
    )
}

/// What is read of very long output: its end, where the summaries are. A document that is cut at
/// its beginning is none, so of those the beginning is read.
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
    pub(crate) fn names_are_unique(self) -> bool {
        matches!(self, Self::Junit | Self::Ctrf | Self::Pytest)
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
