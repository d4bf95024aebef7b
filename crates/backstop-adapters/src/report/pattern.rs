//! Results found by a pattern of the user's own.

use std::str::FromStr;

use backstop_core::event::TestCounts;
use regex::{Captures, Regex, RegexBuilder};

use super::bounded::MOST_BYTES;
use super::text::{decoded, lines, plain, unstamped};
use super::{Case, Format, SourceError, Status, TestReport};

/// A regular expression that finds counts, or a case and its status, in a line.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
}

impl Pattern {
    /// What the output says, if any line matches. Counts of several lines add up; a case that is
    /// named is counted once for each time.
    pub fn read(&self, bytes: &[u8]) -> Option<TestReport> {
        let begin = bytes.len().saturating_sub(MOST_BYTES);
        let text = unstamped(plain(decoded(&bytes[begin..])));
        let mut report = TestReport::new(Format::Regex);
        let mut has_matched = false;
        for line in lines(&text) {
            for found in self.regex.captures_iter(line.text) {
                has_matched |= take(&mut report, &found);
            }
        }
        has_matched.then_some(report)
    }
}

fn take(report: &mut TestReport, found: &Captures<'_>) -> bool {
    let group = |name| found.name(name).map(|group| group.as_str());
    if let (Some(name), Some(status)) = (group("name"), group("status").and_then(status)) {
        report.push(Case::new(name, status));
        return true;
    }
    let count = |name| group(name).and_then(|text| text.replace([',', '_'], "").parse().ok());
    let counts = [count("passed"), count("failed"), count("skipped")];
    report.add_counts(TestCounts {
        passed: counts[0].unwrap_or(0),
        failed: counts[1].unwrap_or(0),
        skipped: counts[2].unwrap_or(0),
    });
    counts.iter().any(Option::is_some)
}

/// The words that runners have for how a case ended.
fn status(word: &str) -> Option<Status> {
    Some(match word.trim().to_lowercase().as_str() {
        "ok" | "pass" | "passed" | "success" | "succeeded" | "✓" | "✔" | "." => Status::Passed,
        "not ok" | "fail" | "failed" | "failure" | "error" | "✗" | "✕" | "✘" | "×" | "f" | "e" => {
            Status::Failed
        }
        "skip" | "skipped" | "ignored" | "pending" | "todo" | "disabled" | "s" => Status::Skipped,
        _ => return None,
    })
}

impl FromStr for Pattern {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let regex = RegexBuilder::new(text)
            .size_limit(MOST_COMPILED)
            .build()
            .map_err(|error| SourceError::Pattern(last_line(&error.to_string())))?;
        let has = |name: &str| regex.capture_names().flatten().any(|group| group == name);
        let counts = ["passed", "failed", "skipped"].into_iter().any(has);
        let cases = has("name") && has("status");
        if !counts && !cases {
            return Err(SourceError::Pattern(
                "it names none of the groups `passed`, `failed`, `skipped`, or `name` with `status`"
                    .to_owned(),
            ));
        }
        Ok(Self { regex })
    }
}

/// The complaint itself, without the drawing above it.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or(text);
    line.trim().trim_start_matches("error: ").to_owned()
}

const MOST_COMPILED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, output: &str) -> Option<TestReport> {
        pattern.parse::<Pattern>().expect("a pattern").read(output.as_bytes())
    }

    #[test]
    fn counts_of_all_lines_add_up() {
        let report = read(
            r"Totals: (?<passed>\d+) passed, (?<failed>\d+) failed(, (?<skipped>\d+) skipped)?",
            "Totals: 3 passed, 1 failed\nnoise\nTotals: 1,000 passed\nTotals: 2 passed, 0 failed, 4 skipped\n",
        )
        .expect("found");
        assert_eq!(report.counts(), TestCounts { passed: 5, failed: 1, skipped: 4 });
        assert!(report.cases.is_empty());
    }

    #[test]
    fn cases_are_named() {
        let report = read(
            r"^\[(?<status>\w+)\] (?<name>.+)$",
            "[PASS] addition\n[FAIL] division by zero\n[INFO] two tests ran\n",
        )
        .expect("found");
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["division by zero"]);
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
    }

    #[test]
    fn no_match_is_no_report() {
        assert_eq!(read(r"(?<passed>\d+) passed", "nothing ran"), None);
    }
}
