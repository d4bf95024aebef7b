//! Reports of tests: no failure is lost.

use backstop_adapters::report::{Format, TestReport, recognise};

use super::quoting;
use super::told::seeds;

/// Samples of every format, each of which has a failure or more.
fn samples() -> Vec<(Format, String)> {
    let mut samples = Vec::new();
    for format in Format::readable() {
        let own = seeds("reports", &format.name().replace('-', "_"));
        assert!(!own.is_empty(), "{} has no sample", format.name());
        samples.extend(own.into_iter().map(|(_, text)| (format, text)));
    }
    samples
}

/// Those whose lines stand for themselves, so that others' lines may come between.
fn samples_of_lines() -> impl Iterator<Item = (Format, String)> {
    samples().into_iter().filter(|(format, _)| {
        !matches!(format, Format::Junit | Format::Ctrf | Format::JestJson | Format::RspecJson)
    })
}

fn read(format: Format, text: &str) -> Option<TestReport> {
    recognise(text.as_bytes(), Some(format))
}

#[test]
fn the_encoding_makes_no_difference() {
    for (format, text) in samples() {
        let expected = read(format, &text);
        assert!(expected.is_some(), "{}", format.name());
        for (unit, mark) in [
            (u16::to_le_bytes as fn(u16) -> [u8; 2], "\u{feff}"),
            (u16::to_be_bytes, "\u{feff}"),
            (u16::to_le_bytes, ""),
            (u16::to_be_bytes, ""),
        ] {
            let units = mark.encode_utf16().chain(text.encode_utf16());
            let bytes: Vec<u8> = units.flat_map(unit).collect();
            assert_eq!(recognise(&bytes, Some(format)), expected, "{}", format.name());
        }
        assert_eq!(read(format, &format!("\u{feff}{text}")), expected, "{}", format.name());
        assert_eq!(read(format, &text.replace('\n', "\r\n")), expected, "{}", format.name());
    }
}

#[test]
fn colours_make_no_difference() {
    for (format, text) in samples_of_lines() {
        let coloured = text.lines().map(|line| format!("\x1b[2m{line}\x1b[0m"));
        let coloured: Vec<_> = coloured.collect();
        assert_eq!(read(format, &coloured.join("\n")), read(format, &text), "{}", format.name());
    }
}

#[test]
fn a_report_that_is_cut_off_is_no_success() {
    for (format, text) in samples() {
        let whole = read(format, &text).expect("a report");
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let Some(cut) = read(format, &text[..end]) else { continue };
            let cases = |report: &TestReport| report.counts().passed + report.counts().skipped;
            let same = whole.succeeded() && cases(&cut) == cases(&whole);
            assert!(!cut.succeeded() || same, "{} cut at {end}: {cut:?}", format.name());
        }
    }
}

#[test]
fn other_programs_lines_around_make_no_difference() {
    let long = "x".repeat(50 << 20);
    for (format, text) in samples() {
        let expected = read(format, &text).expect("a report");
        for other in ["npm warn deprecated inflight@1.0.6", "[DEBUG] 429 Too Many Requests", &long]
        {
            let mixed = format!("{other}\n{text}\nKilled\n");
            let report = read(format, &mixed).expect("a report");
            assert_eq!(report.counts(), expected.counts(), "{}", format.name());
            assert_eq!(report.succeeded(), expected.succeeded(), "{}", format.name());
        }
    }
}

#[test]
fn lines_of_the_standard_error_between_lose_no_failure() {
    for (format, text) in samples_of_lines() {
        let expected = read(format, &text).expect("a report");
        for other in ["npm warn deprecated inflight@1.0.6", "(node:1) Warning: ECONNRESET"] {
            let lines: Vec<&str> = text.lines().collect();
            let report = read(format, &lines.join(&format!("\n{other}\n")))
                .unwrap_or_else(|| panic!("{} is none any more", format.name()));
            assert_eq!(report.counts(), expected.counts(), "{}", format.name());
        }
    }
}

#[test]
fn absurd_numbers_are_survived() {
    for (format, text) in samples() {
        for number in ["-1", "1e999", "18446744073709551616", "99999999999999999999999", "1,5", ""]
        {
            let report = read(format, &with_numbers(&text, number));
            if let Some(report) = report {
                let counts = report.counts();
                let all = [counts.passed, counts.failed, counts.skipped];
                assert!(
                    all.iter().all(|count| *count < 1_000),
                    "{} with {number}: {counts:?}",
                    format.name()
                );
            }
        }
    }
}

/// The text with this number in the place of every other.
fn with_numbers(text: &str, number: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.');
        let end = digits.map_or(rest.len(), |length| start + length);
        replaced.push_str(&rest[..start]);
        replaced.push_str(number);
        rest = &rest[end..];
    }
    replaced + rest
}

#[test]
fn nesting_without_end_hides_no_failure() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for (format, text) in samples().into_iter().filter(|(_, text)| text.starts_with('{')) {
        let expected = read(format, &text).expect("a report");
        let nested = format!("{{\"deep\":{deep},{}", &text[1..]);
        if let Some(report) = read(format, &nested) {
            assert_eq!(report.succeeded(), expected.succeeded(), "{}", format.name());
        }
    }
}

#[test]
fn texts_of_limits_are_no_report() {
    assert_eq!(recognise(quoting::everything().as_bytes(), None), None);
}
