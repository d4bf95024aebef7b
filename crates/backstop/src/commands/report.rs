//! `backstop report`: the whole story of a run, to read or to send.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use backstop_report::Report;
use backstop_runner::clock::wall_time;
use backstop_runner::final_report;
use backstop_runner::recovery::{finish_halt, is_interrupted};
use backstop_store::Run;

use crate::args::{ReportArguments, ReportForm};
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &ReportArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let form = form(arguments)?;
    let opened = Opened::existing(&arguments.store)?;
    let run = opened.run(&arguments.run)?;
    // A halt that a crash has cut short is finished first.
    let run = opened.wait(finish_halt(&*opened.store, &opened.home, run.id))?;
    let text = match kept(&opened, &run, form) {
        Some(text) => text,
        None => shown(&made(&opened, &run)?, form),
    };
    match &arguments.output {
        None => terminal.out.write_all(text.as_bytes())?,
        Some(path) => fs::write(path, text)
            .map_err(|source| Error::CannotCreate { path: path.clone(), source })?,
    }
    Ok(exit_code::OK)
}

fn made(opened: &Opened, run: &Run) -> Result<Report, Error> {
    let lease = opened.wait(opened.store.lease_fetch(run.id))?;
    let interrupted = is_interrupted(run, lease.as_ref(), wall_time());
    Ok(opened.wait(final_report::make(&*opened.store, run, interrupted))?)
}

/// What the halt wrote, where the journal that it told of is gone.
fn kept(opened: &Opened, run: &Run, form: ReportForm) -> Option<String> {
    let folder = opened.home.run(run.id);
    let path = match form {
        ReportForm::Md => folder.report_markdown(),
        ReportForm::Html => folder.report_html(),
        ReportForm::Json => return None,
    };
    if run.pruned { fs::read_to_string(path).ok() } else { None }
}

fn shown(report: &Report, form: ReportForm) -> String {
    match form {
        ReportForm::Md => report.to_markdown(),
        ReportForm::Html => report.to_html(),
        ReportForm::Json => report.to_json() + "\n",
    }
}

/// The form that was asked for, else that of the file's name.
fn form(arguments: &ReportArguments) -> Result<ReportForm, Error> {
    let named = arguments.output.as_deref().and_then(Path::extension);
    match (arguments.format, named.and_then(|name| name.to_str())) {
        (Some(form), _) => Ok(form),
        (None, Some("html" | "htm")) => Ok(ReportForm::Html),
        (None, Some("json")) => Ok(ReportForm::Json),
        (None, None | Some("md" | "markdown" | "txt")) => Ok(ReportForm::Md),
        (None, Some(other)) => Err(Error::Usage(format!(
            "a report has no form `{other}`\n\nhint: name one with --format md, html or json"
        ))),
    }
}
