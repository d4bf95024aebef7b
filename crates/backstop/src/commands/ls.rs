//! `backstop ls`: the runs, newest first.

use std::io::Write as _;

use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use backstop_runner::clock::wall_time;
use backstop_runner::resolve::shown_name;
use backstop_runner::view::Listed;
use backstop_store::{Run, RunFilter};
use owo_colors::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::args::{LsArguments, ShownStatus};
use crate::error::Error;
use crate::exit_code;
use crate::report::{
    age, appearance, columns, cut, dollars, duration, hanging, painted, shown_command, ways_out,
};
use crate::sanitise::harmless;
use crate::store::{Opened, here};
use crate::terminal::Terminal;

pub fn run(arguments: &LsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let now = wall_time();
    let rows = rows(&opened, arguments, now)?;
    if rows.is_empty() && !arguments.json {
        terminal.remark(&nothing(&opened, arguments)?);
    } else {
        print(&rows, arguments.json, arguments.all, now, terminal)?;
    }
    Ok(exit_code::OK)
}

/// Prints a list that is not empty, or may be.
pub fn print(
    rows: &[Row],
    as_json: bool,
    with_directory: bool,
    now: Timestamp,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if !as_json {
        let width = terminal.columns();
        write!(terminal.out, "{}", table(rows, with_directory, width, now))?;
        write!(terminal.out, "{}", questions(rows, now))?;
        return Ok(());
    }
    for row in rows {
        writeln!(terminal.out, "{}", row.listed.to_json())?;
    }
    Ok(())
}

/// A run as it is listed.
#[derive(Debug)]
pub struct Row {
    /// What it may be called.
    pub name: String,
    pub listed: Listed,
    pub created_at: Timestamp,
    pub cwd: String,
    pub command: Vec<String>,
}

fn rows(opened: &Opened, arguments: &LsArguments, now: Timestamp) -> Result<Vec<Row>, Error> {
    let statuses = statuses(arguments);
    // Who is interrupted is not known to the store, so what is left of these is counted here.
    let counts_here =
        statuses.contains(&RunStatus::Running) || statuses.contains(&RunStatus::Paused);
    let filter = RunFilter {
        prefix: None,
        cwd: (!arguments.all).then(|| here().to_string_lossy().into_owned()),
        statuses,
        labels: arguments.label.iter().cloned().collect(),
        before: None,
        limit: (!counts_here).then_some(arguments.limit),
    };
    let mut rows = Vec::new();
    for run in opened.wait(opened.store.run_list(&filter))? {
        if rows.len() >= arguments.limit as usize {
            break;
        }
        let row = row(opened, run, arguments.json, now)?;
        if row.is_wanted(arguments) {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn row(opened: &Opened, run: Run, as_json: bool, now: Timestamp) -> Result<Row, Error> {
    let listed = opened.wait(Listed::look(&*opened.store, &run, now))?;
    let Run { id, created_at, cwd, command, .. } = run;
    // Programs read the whole name.
    let name = match as_json {
        true => id.to_string(),
        false => opened.wait(shown_name(&*opened.store, id))?,
    };
    Ok(Row { name, listed, created_at, cwd, command })
}

impl Row {
    /// Whether it has a status that was asked for.
    pub fn is_wanted(&self, arguments: &LsArguments) -> bool {
        arguments.status.is_empty() || arguments.status.contains(&self.shown_status())
    }

    fn shown_status(&self) -> ShownStatus {
        match self.listed.state.run_status {
            _ if self.listed.interrupted => ShownStatus::Interrupted,
            RunStatus::Running => ShownStatus::Running,
            RunStatus::Paused => ShownStatus::Paused,
            RunStatus::Held => ShownStatus::Held,
            RunStatus::Stopped => ShownStatus::Stopped,
            RunStatus::Completed => ShownStatus::Completed,
            RunStatus::Failed => ShownStatus::Failed,
        }
    }

    /// The word for its status, and how it looks: one that waits for an answer has a question mark.
    fn status(&self) -> (String, Style) {
        let (_, word, style) = appearance(self.listed.state.run_status, self.listed.interrupted);
        match self.listed.question {
            Some(_) => (format!("{word} ?"), Style::new().bold().yellow()),
            None => (word.to_owned(), style),
        }
    }

    fn cells(&self, now: Timestamp) -> [String; CELLS] {
        let state = &self.listed.state;
        let numbers = &state.statistics;
        let reason = state.stop_reason.as_ref().map(|reason| harmless(&reason.code));
        let (word, _) = self.status();
        [
            self.name.clone(),
            word.clone(),
            // What is completed has that for its reason, too.
            reason.filter(|reason| *reason != word).unwrap_or_default(),
            numbers.iterations.to_string(),
            duration(std::time::Duration::from_millis(numbers.active_ms)),
            match (numbers.cost_known, numbers.cost_usd > 0.0) {
                (true, _) => dollars(numbers.cost_usd),
                (false, true) => format!("{}+", dollars(numbers.cost_usd)),
                (false, false) => "–".to_owned(),
            },
            age(self.created_at, now),
        ]
    }
}

fn table(rows: &[Row], with_directory: bool, width: usize, now: Timestamp) -> String {
    let cells: Vec<_> = rows.iter().map(|row| row.cells(now)).collect();
    let mut widths = HEADS.map(|head| head.width());
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width()).min(WIDEST);
        }
    }
    let taken = |widths: &[usize; CELLS]| widths.iter().map(|width| width + GAP).sum::<usize>();
    // Where there is too little room, the command gives way, and only then the reason.
    let missing = taken(&widths).saturating_sub(width + GAP);
    widths[REASON] = widths[REASON].saturating_sub(missing).max(HEADS[REASON].width());
    let rest = width.saturating_sub(taken(&widths));
    let rest = if rest < NARROWEST { 0 } else { rest };
    let line = |cells: &[String; CELLS], last: &str| {
        let mut line = String::new();
        for (position, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = cut(cell, width);
            let blanks = " ".repeat(width - cell.width());
            let is_number = (3..=5).contains(&position);
            line.push_str(&if is_number { blanks + &cell } else { cell + &blanks });
            line.push_str("  ");
        }
        let last = if rest == 0 { String::new() } else { cut(last, rest) };
        format!("{line}{last}").trim_end().to_owned()
    };
    let heads =
        line(&HEADS.map(str::to_owned), if with_directory { "where, what" } else { "what" });
    let mut text = painted(&heads, Style::new().dimmed(), true) + "\n";
    for (row, cells) in rows.iter().zip(&cells) {
        let command = shown_command(&row.command, rest);
        let last = match with_directory {
            true => format!("{}  {command}", harmless(&ending(&row.cwd, rest / 2))),
            false => command,
        };
        let (word, style) = row.status();
        let word = columns(&word, widths[1]);
        let coloured = painted(&word, style, true);
        text.push_str(&line(cells, &last).replacen(&word, &coloured, 1));
        text.push('\n');
    }
    text
}

/// What those runs ask that wait for an answer, and how to give it.
fn questions(rows: &[Row], now: Timestamp) -> String {
    let mut text = String::new();
    for row in rows {
        let Some(question) = &row.listed.question else { continue };
        let run = row.listed.state.run_id;
        let lead = format!("{} ? ", row.name);
        let asked = hanging(&lead, &harmless(&question.question));
        let how = hanging(&" ".repeat(lead.width()), &ways_out(question, run, now));
        text.push_str(&format!("\n{asked}{how}"));
    }
    text
}

/// The end of a path, which says most.
fn ending(path: &str, columns: usize) -> String {
    let mut kept = String::new();
    for part in path.rsplit('/').filter(|part| !part.is_empty()) {
        if !kept.is_empty() && kept.width() + part.width() + 2 > columns {
            return format!("…{kept}");
        }
        kept = format!("/{part}{kept}");
    }
    kept
}

/// Why the list is empty.
fn nothing(opened: &Opened, arguments: &LsArguments) -> Result<String, Error> {
    let any = RunFilter { limit: Some(1), ..RunFilter::default() };
    let is_empty = opened.wait(opened.store.run_list(&any))?.is_empty();
    Ok(match (is_empty, arguments.all) {
        (true, _) => "there are no runs yet".to_owned(),
        (false, true) => "no run is like that".to_owned(),
        (false, false) => {
            "no run of this directory is like that\n\nhint: `backstop ls --all` lists those of others"
                .to_owned()
        }
    })
}

/// The statuses under which the store has the runs that are asked for; none for all.
pub fn statuses(arguments: &LsArguments) -> Vec<RunStatus> {
    let mut statuses: Vec<_> = arguments.status.iter().flat_map(|status| stored(*status)).collect();
    statuses.dedup();
    statuses
}

/// The statuses under which the store may have such a run.
fn stored(status: ShownStatus) -> Vec<RunStatus> {
    match status {
        ShownStatus::Running => vec![RunStatus::Running],
        ShownStatus::Paused => vec![RunStatus::Paused],
        ShownStatus::Held => vec![RunStatus::Held],
        ShownStatus::Stopped => vec![RunStatus::Stopped],
        ShownStatus::Completed => vec![RunStatus::Completed],
        ShownStatus::Failed => vec![RunStatus::Failed],
        ShownStatus::Interrupted => vec![RunStatus::Running, RunStatus::Paused],
    }
}

const CELLS: usize = 7;
const HEADS: [&str; CELLS] = ["run", "status", "reason", "iterations", "active", "cost", "begun"];
const REASON: usize = 2;
const GAP: usize = 2;
/// The longest reason of the registry.
const WIDEST: usize = 20;
/// With less room than that a command says nothing.
const NARROWEST: usize = 4;
