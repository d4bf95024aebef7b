//! Finds out by its content what a report is.

use super::bounded::{MOST_BYTES, shortened};
use super::text::{decoded, plain, unstamped};
use super::{
    Format, TestReport, ctrf, go, go_json, jest, jest_json, junit, libtest, libtest_json, maven,
    mocha, nextest, pytest, rspec, sympy, tap, unittest, vitest,
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
/// that has the last word counts: a runner whose tests run other runners speaks after them. Prose
/// that mentions tests is no report.
pub fn recognise(bytes: &[u8], hint: Option<Format>) -> Option<TestReport> {
    let text = unstamped(plain(decoded(kept(bytes))));
    let readers = READERS.iter().filter(|(format, _)| hint.is_none_or(|hint| hint == *format));
    let mut best: Option<Found> = None;
    for (_, read) in readers {
        if let Some(found) = read(&text)
            && best.as_ref().is_none_or(|best| found.at > best.at)
        {
            best = Some(found);
        }
    }
    if hint == Some(Format::Ctrf) {
        best = best.or_else(|| ctrf::read_given(&text));
    }
    let mut report = best?.report;
    if bytes.len() > MOST_BYTES && report.format.is_structured() {
        report.mark_broken("larger than 64 MiB: only a part was read");
    }
    report.conclude();
    Some(report)
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
    (Format::Rspec, rspec::read),
    (Format::Maven, maven::read),
    (Format::Sympy, sympy::read),
    (Format::Tap, tap::read),
];
