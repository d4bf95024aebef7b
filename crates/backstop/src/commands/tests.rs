//! `backstop tests`: what test reports say, for people and scripts.

use std::io::Write as _;

use backstop_adapters::report::{Case, Source, Status, TestReport, first_seen};
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
    let (mut files, mut refused) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        match read(path, &arguments.format) {
            Ok(file) => files.push(file),
            Err(error) => refused.push(Refused { name: input::shown(path).to_owned(), error }),
        }
    }
    if files.is_empty() {
        let first = refused.into_iter().next().expect("clap asks for one file at least");
        return Err(first.error);
    }
    let run = TestRun::of(&files);
    if arguments.json {
        let object = run.as_json(&files, &refused);
        let text = serde_json::to_string_pretty(&object).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else {
        write!(terminal.out, "{}", run.as_text(&files, &refused))?;
    }
    // Who looks for the results of all files has not got them.
    if let Some(first) = refused.first() {
        let code = first.error.exit_code();
        refused.iter().for_each(|file| terminal.remark(&format!("error: {}", file.error)));
        return Ok(code);
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

/// A file that says nothing.
struct Refused {
    name: String,
    error: Error,
}

impl Refused {
    fn why(&self) -> String {
        match &self.error {
            Error::BadData { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }
}

fn read(path: &str, format: &Source) -> Result<ReadFile, Error> {
    let bytes = input::read_at_most(path, MOST_BYTES)?;
    let name = input::shown(path).to_owned();
    if let Some(report) = format.read(&bytes) {
        return Ok(ReadFile { name, report });
    }
    let wanted = match format {
        Source::Output(format) => format!("{format} report"),
        Source::Pattern(_) => "line that the pattern matches".to_owned(),
        Source::Auto | Source::Files { .. } => "test report".to_owned(),
    };
    let seen = match first_seen(&bytes) {
        Some(line) => format!("it begins with `{}`", harmless(&line)),
        None => "it is empty".to_owned(),
    };
    Err(Error::BadData { place: name, message: format!("no {wanted}: {seen}") })
}

/// All files as one test run.
struct TestRun {
    merged: TestReport,
}

impl TestRun {
    fn of(files: &[ReadFile]) -> Self {
        let mut reports = files.iter().map(|file| file.report.clone());
        let first = reports.next().expect("without one there is nothing to tell");
        let merged = reports.fold(first, |mut merged, report| {
            merged.merge(report);
            merged
        });
        Self { merged }
    }

    fn cases(&self, status: Status) -> impl Iterator<Item = &Case> {
        self.merged.cases.iter().filter(move |case| case.status == status)
    }

    fn as_json(&self, files: &[ReadFile], refused: &[Refused]) -> Json {
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
            "broken": self.merged.broken.clone().or_else(|| refused.first().map(Refused::why)),
        });
        if files.len() + refused.len() > 1 {
            let read = files.iter().map(|file| {
                json!({
                    "file": file.name,
                    "format": file.report.format,
                    "counts": file.report.counts(),
                    "broken": file.report.broken,
                })
            });
            let refused = refused.iter().map(
                |file| json!({ "file": file.name, "format": null, "counts": null, "broken": file.why() }),
            );
            object["files"] = read.chain(refused).collect();
        }
        object
    }

    fn as_text(&self, files: &[ReadFile], refused: &[Refused]) -> String {
        let mut text = format!("{}  {}\n", summary(&self.merged), formats(files).dimmed());
        if files.len() + refused.len() > 1 {
            text.push('\n');
            let mut list = |name: &str, said: &str, mark: &str| {
                let line = format!("  {}: {said}", harmless(name));
                text.push_str(&format!("{}{mark}\n", cut(&line, WIDTH - mark.len())));
            };
            for file in files {
                let mark = if file.report.broken.is_some() { "  broken" } else { "" };
                list(&file.name, &plain_summary(&file.report), mark);
            }
            refused.iter().for_each(|file| list(&file.name, "not read", ""));
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
fn summary(report: &TestReport) -> String {
    let text = plain_summary(report);
    let has_failed = report.counts_at_last().failed > 0;
    if has_failed { text.red().bold().to_string() } else { text.bold().to_string() }
}

/// Every case is counted, also one that passed when it was tried again.
fn plain_summary(report: &TestReport) -> String {
    let TestCounts { passed, failed, skipped } = report.counts();
    let mut text = format!("{passed} passed, {failed} failed");
    let overcome = failed - report.counts_at_last().failed;
    if overcome > 0 {
        text.push_str(&format!(" ({overcome} passed when tried again)"));
    }
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped"));
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
