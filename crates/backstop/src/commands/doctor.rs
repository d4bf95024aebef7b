//! `backstop doctor`: whether everything is in place, or why a run stopped and what to do.

use std::io::Write as _;
use std::time::Duration;

use backstop_core::policy::LoopSettings;
use backstop_runner::capture::log::LogReader;
use backstop_runner::capture::{Reading, Transcript};
use backstop_runner::recovery::is_held;
use backstop_runner::tree::{Leftover, orphans};
use backstop_store::LeaseRecord;
use owo_colors::Style;
use serde_json::json;

use super::logs::last_lines;
use super::look::Look;
use super::show::{last_decisions, local_time};
use crate::args::DoctorArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{Card, WIDTH, columns, cut, gauges, hanging, painted, wrapped};
use crate::sanitise::harmless;
use crate::shown_commands::complete;
use crate::store::Opened;
use crate::terminal::Terminal;

mod surroundings;

pub fn run(arguments: &DoctorArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    match &arguments.run {
        None => surroundings(arguments, terminal),
        Some(name) => {
            let opened = Opened::new(&arguments.store)?;
            let run = opened.run(name)?;
            let look = Look::at(&opened, run.id)?;
            let lease = opened.wait(opened.store.lease_fetch(run.id))?;
            let patient = Patient::examine(&opened, &look, lease)?;
            if arguments.end_orphans {
                return end_orphans(&patient, terminal);
            }
            match arguments.json {
                true => writeln!(terminal.out, "{:#}", patient.json())?,
                false => write!(terminal.out, "{}", patient.page(&opened)?)?,
            }
            Ok(exit_code::OK)
        }
    }
}

/// How one thing is.
#[derive(Debug)]
pub struct Finding {
    pub what: &'static str,
    pub health: Health,
    pub words: String,
    pub hint: Option<String>,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Well,
    /// It works, but not as well as it could.
    Warning,
    /// Nothing can be remembered like this.
    Broken,
}

impl Finding {
    fn show(&self) -> String {
        let (mark, style) = match self.health {
            Health::Well => ("✓", Style::new().green()),
            Health::Warning => ("!", Style::new().yellow()),
            Health::Broken => ("✗", Style::new().red()),
        };
        let lead = format!("{mark} {}  ", columns(self.what, WHAT));
        let mut text = hanging(&lead, &harmless(&self.words));
        if let Some(hint) = &self.hint {
            let indent = " ".repeat(WHAT + 4);
            text.push_str(&wrapped(&format!("hint: {}", complete(hint)), &indent));
        }
        text.replacen(mark, &painted(mark, style, true), 1)
    }

    fn json(&self) -> serde_json::Value {
        let health = match self.health {
            Health::Well => "ok",
            Health::Warning => "warning",
            Health::Broken => "broken",
        };
        json!({ "what": self.what, "health": health, "words": self.words, "hint": self.hint })
    }
}

fn surroundings(arguments: &DoctorArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let findings = surroundings::examine(&arguments.store)?;
    if arguments.json {
        let list: Vec<_> = findings.iter().map(Finding::json).collect();
        writeln!(terminal.out, "{:#}", json!(list))?;
    } else {
        for finding in &findings {
            write!(terminal.out, "{}", finding.show())?;
        }
    }
    let is_broken = findings.iter().any(|finding| finding.health == Health::Broken);
    Ok(if is_broken { exit_code::IO } else { exit_code::OK })
}

/// A run and what speaks for the reason that it stopped.
struct Patient<'a> {
    look: &'a Look,
    lease: Option<LeaseRecord>,
    orphans: Vec<Leftover>,
    last_lines: Vec<String>,
}

impl<'a> Patient<'a> {
    fn examine(opened: &Opened, look: &'a Look, lease: Option<LeaseRecord>) -> Result<Self, Error> {
        let is_driven = lease.as_ref().is_some_and(|lease| is_held(lease, look.now));
        // What belongs to a run that somebody supervises is no orphan.
        let orphans = match is_driven || !look.run.supervised {
            true => Vec::new(),
            false => orphans::find(look.run.id, lease.as_ref().map(|lease| &lease.holder)),
        };
        let reader = LogReader::new(opened.home.run(look.run.id).output());
        let reading = Reading::of(look.loaded.engine.policy(), &look.run.command, false);
        let last_lines = last_lines(&reader, Transcript::new(reading), LAST_LINES)?;
        Ok(Self { look, lease, orphans, last_lines })
    }

    fn is_driven(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| is_held(lease, self.look.now))
    }

    fn page(&self, opened: &Opened) -> Result<String, Error> {
        let look = self.look;
        let card = Card { without: Some("doctor"), ..look.card() };
        let mut text = card.show(true);
        if let Some(unsaid) = card.unsaid() {
            text.push_str(&heading("what it means"));
            text.push_str(&wrapped(&harmless(unsaid), "  "));
        }
        let facts = look.loaded.engine.view().to_json();
        if let Some(message) =
            facts["last_error"]["message"].as_str().filter(|text| !text.is_empty())
        {
            let category = facts["last_error"]["category"].as_str().unwrap_or("unknown");
            text.push_str(&heading("last error"));
            text.push_str(&hanging("  ", &harmless(&format!("{message} ({category})"))));
        }
        let nearest = gauges(&look.loaded.engine, Duration::ZERO);
        let nearest: Vec<_> = nearest.iter().filter(|gauge| gauge.progress > 0.0).take(3).collect();
        if !nearest.is_empty() {
            text.push_str(&heading("nearest limits"));
            let words = nearest.iter().map(|gauge| format!("  {}\n", gauge.words));
            text.extend(words);
        }
        let decisions = opened.wait(opened.store.decision_list(look.run.id))?;
        text.push_str(&last_decisions(&decisions, LAST_DECISIONS));
        if !self.last_lines.is_empty() {
            text.push_str(&heading("last lines of output"));
            for line in &self.last_lines {
                text.push_str(&format!("  {}\n", cut(&harmless(line.trim_end()), WIDTH - 2)));
            }
        }
        text.push_str(&self.supervisor());
        text.push_str(&self.orphans());
        Ok(text)
    }

    fn supervisor(&self) -> String {
        let Some(lease) = self.lease.as_ref().filter(|lease| !lease.released) else {
            return String::new();
        };
        let holder = &lease.holder;
        let words = match self.is_driven() {
            true => format!("process {} on {}", holder.pid, holder.host),
            false => format!(
                "process {} on {} is gone; its lease ends {}",
                holder.pid,
                holder.host,
                local_time(lease.expires_at)
            ),
        };
        format!("{}  {}\n", heading("supervisor"), harmless(&words))
    }

    fn orphans(&self) -> String {
        if self.orphans.is_empty() {
            return String::new();
        }
        let mut text = heading("processes that were left behind");
        for orphan in &self.orphans {
            text.push_str(&format!("  {:>7}  {}\n", orphan.pid, harmless(&orphan.name)));
        }
        let run = self.look.run.id;
        text + &complete(&format!("  end them: backstop doctor {run} --end-orphans\n"))
    }

    fn json(&self) -> serde_json::Value {
        let look = self.look;
        let gauges = gauges(&look.loaded.engine, Duration::ZERO);
        let nearest = gauges
            .iter()
            .take(3)
            .map(|gauge| json!({ "progress": gauge.progress, "words": gauge.words }));
        let orphans =
            self.orphans.iter().map(|orphan| json!({ "pid": orphan.pid, "name": orphan.name }));
        let mut object = json!(look.state);
        object["interrupted"] = look.interrupted.into();
        object["last_error"] = look.loaded.engine.view().to_json()["last_error"].clone();
        object["nearest_limits"] = nearest.collect();
        object["last_lines"] = json!(self.last_lines);
        object["orphans"] = orphans.collect();
        object
    }
}

fn end_orphans(patient: &Patient<'_>, terminal: &mut Terminal) -> Result<u8, Error> {
    let run = patient.look.run.id;
    if patient.is_driven() {
        return Err(Error::NotNow(format!(
            "run {run} is supervised, so its processes are no orphans\n\nhint: backstop stop {run}"
        )));
    }
    let settings = patient.look.loaded.engine.policy().settings.loop_.as_ref();
    let grace = settings.and_then(|settings| settings.grace).map(|grace| grace.0);
    let holder = patient.lease.as_ref().map(|lease| &lease.holder);
    let swept = orphans::end(run, holder, grace.unwrap_or(LoopSettings::DEFAULT_GRACE));
    let names = |left: &[Leftover]| {
        let named = left.iter().map(|one| format!("{} ({})", one.pid, harmless(&one.name)));
        named.collect::<Vec<_>>().join(", ")
    };
    if swept.found.is_empty() {
        writeln!(terminal.out, "run {run} has left no process behind")?;
    } else {
        writeln!(terminal.out, "ended: {}", names(&swept.found))?;
    }
    if !swept.unkillable.is_empty() {
        return Err(Error::Unreachable(format!("could not end {}", names(&swept.unkillable))));
    }
    Ok(exit_code::OK)
}

fn heading(text: &str) -> String {
    format!("\n{text}\n")
}

const WHAT: usize = 11;
const LAST_LINES: usize = 10;
const LAST_DECISIONS: usize = 3;
