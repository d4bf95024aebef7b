//! Reports as real runners wrote them, and input that no runner would write.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the tests read recorded reports, and say so where there are none"
)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use backstop_adapters::report::{Format, Source, Status, TestReport, recognise};
use proptest::prelude::*;

#[path = "reports/again.rs"]
mod again;
#[path = "reports/bounds.rs"]
mod bounds;
#[path = "reports/pairs.rs"]
mod pairs;
#[path = "reports/sessions.rs"]
mod sessions;

/// Where recorded reports are, on machines that have them.
fn recorded() -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures"));
    let found = root.is_dir().then_some(root);
    if found.is_none() {
        eprintln!("skipped: there are no recorded reports beside this clone");
    }
    found
}

/// What a report must hold.
struct Expected<'a> {
    file: &'a str,
    format: &'a str,
    counts: [&'a str; 3],
    state: &'a str,
}

fn table() -> Vec<Expected<'static>> {
    include_str!("reports/table.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let [file, format, passed, failed, skipped, state] = words[..] else {
                panic!("six columns: {line}")
            };
            Expected { file, format, counts: [passed, failed, skipped], state }
        })
        .collect()
}

fn told(report: Option<&TestReport>) -> String {
    report.map_or("- - - - none".to_owned(), |report| {
        let counts = report.counts();
        let state = if report.broken.is_some() { "broken" } else { "whole" };
        let [passed, failed, skipped] = [counts.passed, counts.failed, counts.skipped];
        format!("{} {passed} {failed} {skipped} {state}", report.format)
    })
}

#[test]
fn every_recorded_report_is_read_as_it_is() {
    let Some(root) = recorded() else { return };
    let mut wrong = Vec::new();
    for expected in table() {
        let bytes = fs::read(root.join(expected.file)).expect("can be read");
        let report = recognise(&bytes, None);
        let wanted =
            format!("{} {} {}", expected.format, expected.counts.join(" "), expected.state);
        if told(report.as_ref()) != wanted {
            let why = report.as_ref().and_then(|report| report.broken.clone());
            wrong.push(format!(
                "{}: {} instead of {wanted} {why:?}",
                expected.file,
                told(report.as_ref())
            ));
        }
        // Who names the format gets the same.
        if let Some(report) = report {
            assert_eq!(recognise(&bytes, Some(report.format)), Some(report), "{}", expected.file);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recorded_report_is_in_the_table() {
    let Some(root) = recorded() else { return };
    let listed: Vec<_> = table().iter().map(|expected| expected.file).collect();
    for folder in ["junit", "go-test-json", "libtest-json", "tap", "ctrf", "test-text"] {
        let mut folders = vec![root.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("can be read") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(&root).expect("below").to_string_lossy().into_owned();
                let is_reading = name.ends_with(".results.json") || name.ends_with(".report.json");
                if path.is_dir() {
                    folders.push(path);
                } else if !is_reading {
                    assert!(listed.contains(&name.as_str()), "{name}");
                }
            }
        }
    }
}

/// The names that another reader found in the same output.
#[test]
fn names_are_those_that_others_found() {
    let Some(root) = recorded() else { return };
    for name in [
        "matplotlib__matplotlib-21568",
        "pydata__xarray-7233",
        "django__django-11119",
        "sphinx-doc__sphinx-8459",
    ] {
        let folder = root.join("test-text/python");
        let reading =
            fs::read_to_string(folder.join(format!("{name}.report.json"))).expect("can be read");
        let reading: serde_json::Value = serde_json::from_str(&reading).expect("JSON");
        let report = fs::read(folder.join(format!("{name}.txt"))).expect("can be read");
        let report = recognise(&report, None).expect("a report");
        let statuses = &reading[name]["tests_status"];
        for group in ["FAIL_TO_PASS", "PASS_TO_PASS"] {
            for (key, status) in [("success", Status::Passed), ("failure", Status::Failed)] {
                let found: Vec<_> = report.names(status).collect();
                for test in statuses[group][key].as_array().expect("a list") {
                    let test = test.as_str().expect("a name");
                    // That reader cuts names at the first blank.
                    let is_it = |name: &&str| *name == test || name.split(' ').next() == Some(test);
                    assert!(found.iter().any(is_it), "{name}: {test} {key}");
                }
            }
        }
    }
}

/// Small reports of every format that is recognised.
const SAMPLES: [&str; 15] = [
    "<testsuite name='s'><testcase classname='a' name='b'><failure message='m'>x</failure></testcase><testcase name='c'/></testsuite>",
    include_str!("../samples/reports/cargo-two-binaries.txt"),
    "{\"type\":\"suite\",\"event\":\"started\",\"test_count\":1}\n{\"type\":\"test\",\"name\":\"a\",\"event\":\"ok\"}\n{\"type\":\"suite\",\"event\":\"ok\"}\n",
    "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
    "=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \tp\t0.1s\n",
    "== test session starts ==\na.py::b PASSED [100%]\n== short test summary info ==\nFAILED a.py::c - m\n== 1 failed, 1 passed in 0.1s ==\n",
    "test_a (m.C) ... ok\n----\nRan 1 test in 0.1s\n\nOK\n",
    "PASS a.test.js\n  s\n    ✓ b (1 ms)\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n",
    " ✓ a.test.ts (1 test) 1ms\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n",
    "  s\n    ✔ a\n    1) b\n\n  1 passing (3ms)\n  1 failing\n\n  1) s\n       b:\n     Error: x\n",
    "▶ s\n  ✔ a (1.5ms)\n✔ s (2ms)\n✖ b (1ms)\nℹ tests 2\nℹ suites 1\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 9\n\n✖ failing tests:\n\n✖ b (1ms)\n  Error: x\n",
    "TAP version 14\n1..2\nok 1 - a\nnot ok 2 - b # todo c\n  ---\n  message: x\n  ...\n",
    "{\"reportFormat\":\"CTRF\",\"results\":{\"tool\":{},\"summary\":{},\"tests\":[{\"name\":\"a\",\"status\":\"passed\"}]}}",
    "Finished in 0.1 seconds\n2 examples, 1 failure\nrspec ./a.rb:1 # b\n",
    "   PASS [ 0.1s] a b\n Summary [ 0.1s] 1 test run: 1 passed, 0 skipped\n",
];

#[test]
fn samples_are_reports() {
    for sample in SAMPLES {
        assert!(recognise(sample.as_bytes(), None).is_some(), "{sample}");
    }
}

/// The same tests, counted by hand: eleven, of which two are to be done and two skipped.
#[test]
fn node_tells_the_same_in_every_build() {
    for printed in [
        include_str!("../samples/reports/node-20.txt"),
        include_str!("../samples/reports/node-24.txt"),
    ] {
        let report = recognise(printed.as_bytes(), None).expect("a report");
        assert_eq!(told(Some(&report)), "node 5 2 4 whole");
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["rejects zero", "sum > deep > breaks"]
        );
        assert!(report.last_error().is_some_and(|error| error.ends_with("bad (thing)")));
    }
}

#[test]
fn a_report_is_found_in_a_log_with_colours_and_in_any_encoding() {
    let log = "\u{1b}[32m> app@1.0.0 test\u{1b}[0m\r\nhello\r\n== \u{1b}[31m1 failed\u{1b}[0m, \u{1b}[32m2 passed\u{1b}[0m in 0.1s ==\r\nnpm ERR! done\r\n";
    let utf16 = |text: &str| -> Vec<u8> {
        let mark = [0xff, 0xfe];
        mark.into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    for bytes in [log.as_bytes().to_vec(), utf16(log)] {
        assert_eq!(told(recognise(&bytes, None).as_ref()), "pytest 2 1 0 whole");
    }
}

/// As CI services keep their logs.
#[test]
fn a_time_before_every_line_does_no_harm() {
    let before: [fn(usize) -> String; 4] = [
        |line| format!("2026-01-15T10:00:{:02}.1234567Z ", line % 60),
        |line| format!("test\tRun tests\t2026-01-15T10:00:{:02}.1234567Z ", line % 60),
        |line| format!("[2026-01-15T10:00:{:02}.123Z] ", line % 60),
        |line| format!("2026-01-15T10:00:{:02}.123456Z 00O ", line % 60),
    ];
    for sample in SAMPLES {
        let expected = recognise(sample.as_bytes(), None);
        for stamp in before {
            for (head, end) in [("", "\n"), ("\u{feff}", "\n"), ("", "\r\n")] {
                let lines = sample.lines().enumerate();
                let log: String =
                    lines.map(|(at, line)| format!("{}{line}{end}", stamp(at))).collect();
                let report = recognise(format!("{head}{log}").as_bytes(), None);
                assert_eq!(told(report.as_ref()), told(expected.as_ref()), "{log}");
            }
        }
    }
}

#[test]
fn every_format_is_read_in_any_encoding() {
    for sample in SAMPLES {
        let expected = recognise(sample.as_bytes(), None);
        let windows = sample.replace('\n', "\r\n");
        let coloured: String =
            sample.lines().map(|line| format!("\u{1b}[1m{line}\u{1b}[0m\n")).collect();
        for text in [sample.to_owned(), windows, coloured] {
            let sixteen = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
                "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
            };
            let marked = format!("\u{feff}{text}").into_bytes();
            for bytes in [sixteen(u16::to_le_bytes), sixteen(u16::to_be_bytes), marked] {
                let report = recognise(&bytes, None);
                assert_eq!(told(report.as_ref()), told(expected.as_ref()), "{text:?}");
            }
        }
    }
}

#[test]
fn the_outer_runner_has_the_last_word() {
    let inner = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let outer = format!("{inner}== 3 passed in 0.1s ==\n");
    assert_eq!(told(recognise(outer.as_bytes(), None).as_ref()), "pytest 3 0 0 whole");
    let hint = recognise(outer.as_bytes(), Some(Format::Libtest));
    assert_eq!(told(hint.as_ref()), "libtest 1 0 0 whole");
}

#[test]
fn prose_is_no_report() {
    for text in [
        "5 passed, 2 failed\n",
        "All 12 tests passed in 3s!\n",
        "The tests ran: 3 passing, 1 failing.\n",
        "Tests: 5 passed\n",
        "I ran the tests and got `test result: ok`.\n",
        "OK\nFAILED\nPASS\nFAIL\n",
        "{\"type\":\"result\",\"event\":\"ok\"}\n{\"Action\":\"unknown\"}\n",
        "<html><body><testsuite/></body></html>",
        "[1, 2, 3]",
        "",
    ] {
        assert_eq!(recognise(text.as_bytes(), None), None, "{text}");
    }
}

#[test]
fn hostile_sizes_and_depths_are_survived_quickly() {
    let deep_xml = format!("<testsuite>{}", "<a>".repeat(100_000));
    let deep_suites = format!("<testsuites>{}", "<testsuite name='x'>".repeat(100_000));
    let deep_json = format!("{{\"reportFormat\":\"CTRF\",\"results\":{}", "[".repeat(10_000));
    let deep_line = format!("{{\"Action\":\"pass\",\"x\":{}", "{\"a\":".repeat(10_000));
    let long_line = "a".repeat(50_000_000);
    let long_json = format!("{{\"type\":\"test\",\"event\":\"ok\",\"name\":\"{long_line}\"}}");
    let attributes: String = (0..100_000).map(|number| format!(" a{number}='1'")).collect();
    let many_attributes = format!("<testsuite><testcase name='x'{attributes}/></testsuite>");
    let entities = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><testsuite><testcase name='&b;'/></testsuite>";
    let failures = format!("running 99999 tests\nfailures:\n{}", "    a::b\n".repeat(50_000));
    for text in [
        &deep_xml,
        &deep_suites,
        &deep_json,
        &deep_line,
        &long_line,
        &long_json,
        &many_attributes,
        entities,
        &failures,
    ] {
        let begun = Instant::now();
        let report = recognise(text.as_bytes(), None);
        let taken = begun.elapsed();
        assert!(taken < Duration::from_secs(20), "{taken:?} for {}", &text[..60.min(text.len())]);
        if let Some(report) = report {
            assert!(report.cases.iter().all(|case| case.name.len() <= 1024));
        }
    }
}

#[test]
fn an_event_stays_small() {
    let points: String =
        (0..30_000).map(|number| format!("ok {} - t{number}\n", number + 1)).collect();
    let report = recognise(format!("1..30000\n{points}").as_bytes(), None).expect("a report");
    let event = report.event();
    assert_eq!((event.passed.len(), event.counts.map(|counts| counts.passed)), (0, Some(30_000)));
    let few = recognise(b"1..2\nok 1 - a\nnot ok 2 - b\n", None).expect("a report").event();
    assert_eq!(
        (few.passed, few.failed, few.source.as_str()),
        (vec!["a".to_owned()], vec!["b".to_owned()], "tap")
    );
}

#[test]
fn a_broken_run_is_told_as_a_failure() {
    let report = recognise(b"1..3\nok 1 - a\n", None).expect("a report");
    let event = report.event();
    assert_eq!(event.counts.map(|counts| counts.failed), Some(1));
    assert_eq!(event.failed, ["the test run: 3 tests were planned, 1 ran"]);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = recognise(&bytes, None);
        let source: Source = r"regex:(?<status>\w+) (?<name>\w+)".parse().expect("a pattern");
        let _ = source.read(&bytes);
    }

    #[test]
    fn any_change_is_survived(
        sample in 0..SAMPLES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..20),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (place, byte, kind) in changes {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => { bytes.remove(place); }
                _ => bytes.truncate(place),
            }
        }
        if let Some(report) = recognise(&bytes, None) {
            let counts = report.counts();
            prop_assert!(report.broken.is_some() || counts.failed > 0 || report.succeeded());
            let _ = (report.event(), report.last_error());
        }
    }

    /// A file that was cut anywhere is never taken for a success, if a whole one was no success.
    #[test]
    fn a_cut_junit_file_is_broken(cut in 0..SAMPLES[0].len()) {
        if let Some(report) = recognise(&SAMPLES[0].as_bytes()[..cut], None) {
            prop_assert!(!report.succeeded(), "{report:?}");
        }
    }
}
