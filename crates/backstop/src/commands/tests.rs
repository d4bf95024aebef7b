//! `backstop tests`: what test reports say, for people and scripts.

use std::io::Write as _;

use backstop_adapters::report::{Case, Format, Status, TestReport, first_seen, recognise};
use backstop_core::event::TestCounts;
use backstop_core::reason::ReasonCode;
use owo_colors::OwoColorize as _;
use serde_json::{Value as Json, json};

use crate::args::TestsArguments;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report::{WIDTH, cut, hanging};
use crate::sanitise::harmless;
use crate::terminal::Terminal;

pub fn run(arguments: &TestsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let files = arguments
        .files
        .iter()
        .map(|path| read(path, arguments.format))
        .collect::<Result<Vec<_>, Error>>()?;
    let run = TestRun::of(&files);
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&run.as_json(&files)).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else {
        write!(terminal.out, "{}", run.as_text(&files))?;
    }
    if let Some(why) = &run.merged.broken {
        let named = files.iter().find(|file| file.report.broken.as_ref() == Some(why));
        let name = named.map_or("", |file| file.name.as_str());
        terminal.remark(&format!("error: the report is broken: {}\n --> {}", harmless(why), name));
        return Ok(exit_code::BAD_DATA);
    }
    Ok(if run.merged.succeeded() {
        exit_code::OK
    } else {
        ReasonCode::VerificationFailed.reason().exit_code
    })
}

/// A file and what it says.
struct ReadFile {
    name: String,
    report: TestReport,
}

fn read(path: &str, format: Option<Format>) -> Result<ReadFile, Error> {
    let bytes = input::read_at_most(path, MOST_BYTES)?;
    let name = input::shown(path).to_owned();
    match recognise(&bytes, format) {
        Some(report) => Ok(ReadFile { name, report }),
        None => {
            let wanted =
                format.map_or("test report".to_owned(), |format| format!("{format} report"));
            let seen = match first_seen(&bytes) {
                Some(line) => format!("it begins with `{}`", harmless(&line)),
                None => "it is empty".to_owned(),
            };
            Err(Error::BadData { place: name, message: format!("no {wanted}: {seen}") })
        }
    }
}

/// All files as one test run.
struct TestRun {
    merged: TestReport,
}

impl TestRun {
    fn of(files: &[ReadFile]) -> Self {
        let mut reports = files.iter().map(|file| file.report.clone());
        let first = reports.next().expect("clap asks for one file at least");
        let merged = reports.fold(first, |mut merged, report| {
            merged.merge(report);
            merged
        });
        Self { merged }
    }

    fn cases(&self, status: Status) -> impl Iterator<Item = &Case> {
        self.merged.cases.iter().filter(move |case| case.status == status)
    }

    fn as_json(&self, files: &[ReadFile]) -> Json {
        let names = |status| self.merged.names(status).collect::<Vec<_>>();
        let failures: Vec<_> = self
            .cases(Status::Failed)
            .map(|case| json!({ "name": case.name, "message": case.message }))
            .collect();
        let flaky = self.merged.cases.iter().filter(|case| case.flaky).map(|case| &case.name);
        let overcome = self.merged.cases.iter().filter(|case| case.overcome);
        let mut object = json!({
            "format": formats(files),
            "passed": names(Status::Passed),
            "failed": names(Status::Failed),
            "skipped": names(Status::Skipped),
            "counts": self.merged.counts(),
            "failures": failures,
            "flaky": flaky.collect::<Vec<_>>(),
            "overcome": overcome.map(|case| &case.name).collect::<Vec<_>>(),
            "broken": self.merged.broken,
        });
        if let [_, _, ..] = files {
            let files: Vec<_> = files
                .iter()
                .map(|file| {
                    json!({
                        "file": file.name,
                        "format": file.report.format,
                        "counts": file.report.counts(),
                        "broken": file.report.broken,
                    })
                })
                .collect();
            object["files"] = files.into();
        }
        object
    }

    fn as_text(&self, files: &[ReadFile]) -> String {
        let mut text =
            format!("{}  {}\n", summary(self.merged.counts_at_last()), formats(files).dimmed());
        if let [_, _, ..] = files {
            text.push('\n');
            for file in files {
                let mark = if file.report.broken.is_some() { "  broken" } else { "" };
                let counts = file.report.counts_at_last();
                let line = format!("  {}: {}", harmless(&file.name), plain_summary(counts));
                text.push_str(&format!("{}{mark}\n", cut(&line, WIDTH - mark.len())));
            }
        }
        // What passed when it was tried again is among the flaky ones.
        let failed: Vec<_> = self.cases(Status::Failed).filter(|case| !case.overcome).collect();
        if !failed.is_empty() {
            text.push('\n');
        }
        for case in failed.iter().take(MOST_SHOWN) {
            text.push_str(&format!("{} {}", "failed".red().bold(), hung(&case.name, 7)));
            if let Some(line) = case.first_line() {
                text.push_str(&format!("       {}\n", cut(&harmless(line), WIDTH - 7)));
            }
        }
        if failed.len() > MOST_SHOWN {
            let more = failed.len() - MOST_SHOWN;
            text.push_str(&format!("and {more} more; --json lists them all\n"));
        }
        let flaky: Vec<_> = self.merged.cases.iter().filter(|case| case.flaky).collect();
        if !flaky.is_empty() {
            text.push('\n');
        }
        for case in flaky.iter().take(MOST_SHOWN) {
            text.push_str(&format!("{}  {}", "flaky".yellow().bold(), hung(&case.name, 7)));
        }
        text
    }
}

/// `3 passed, 1 failed`, with the figure that matters in colour.
fn summary(counts: TestCounts) -> String {
    let text = plain_summary(counts);
    if counts.failed > 0 { text.red().bold().to_string() } else { text.bold().to_string() }
}

fn plain_summary(counts: TestCounts) -> String {
    let mut text = format!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.skipped > 0 {
        text.push_str(&format!(", {} skipped", counts.skipped));
    }
    text
}

/// The formats of the files, each once.
fn formats(files: &[ReadFile]) -> String {
    let mut names: Vec<_> = files.iter().map(|file| file.report.format.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// A name behind so many columns, folded below itself.
fn hung(name: &str, columns: usize) -> String {
    hanging(&" ".repeat(columns), &harmless(name)).trim_start().to_owned()
}

/// More failures than anybody reads on a terminal.
const MOST_SHOWN: usize = 50;

/// What is read of a file. Adapters look at 64 MiB, and at the end of what is longer.
const MOST_BYTES: u64 = 1 << 30;
