//! The stop card: how a run ended, why, in figures, and what to do next.

use std::fmt::Write as _;
use std::time::Duration;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_report::{NextCommand, Standing};
use backstop_runner::view::OpenQuestion;
use owo_colors::Style;
use unicode_width::UnicodeWidthStr as _;

use super::figures::{
    command_line, count, counted, dollars, duration, limit, money, painted, rounded,
};
use super::question::ways_out;
use super::table::{WIDTH, columns, cut, hanging, wrapped};
use crate::sanitise::harmless;
use crate::shown_commands::complete;

/// What a card tells of.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    pub state: &'a RunState,
    /// What halted it, where it is at hand: it fills in the figures of the next commands.
    pub decision: Option<&'a Decision>,
    pub engine: &'a Engine,
    /// What a person is asked, and when it was looked at.
    pub question: Option<(&'a OpenQuestion, Timestamp)>,
    pub kept: Option<&'a str>,
    pub verification: Option<&'a str>,
    /// Its supervisor is gone and nobody halted it.
    pub interrupted: bool,
    /// Somebody drives it, or did.
    pub supervised: bool,
    /// Its journal was removed by age.
    pub pruned: bool,
    /// The command that shows it, which need not be offered.
    pub without: Option<&'a str>,
}

impl Card<'_> {
    /// The whole card, in 80 columns.
    pub fn show(&self, colour: bool) -> String {
        let mut text = self.headline(colour);
        text.push_str(&self.why());
        text.push('\n');
        text.push_str(&self.figures(colour));
        let next = self.next(colour);
        if !next.is_empty() {
            let _ = write!(text, "\n{next}");
        }
        text
    }

    fn headline(&self, colour: bool) -> String {
        let (glyph, word, style) = appearance(self.state.run_status, self.interrupted);
        let reason = self.state.stop_reason.as_ref();
        let named = match reason {
            Some(reason) if self.state.run_status != RunStatus::Completed => {
                format!(": {}", harmless(&reason.code))
            }
            _ => String::new(),
        };
        let ended = reason.map(|reason| format!("exit {}", reason.exit_code));
        let can_go_on = self.state.resumable && !self.pruned;
        let resumable =
            (can_go_on && (reason.is_some() || self.interrupted)).then(|| "resumable".to_owned());
        let right = ended.into_iter().chain(resumable).collect::<Vec<_>>().join(" · ");
        let lead = format!("{glyph} {word}");
        let named = cut(&named, WIDTH.saturating_sub(lead.width() + right.width() + 2));
        let blanks = WIDTH.saturating_sub(lead.width() + named.width() + right.width());
        let gap = if right.is_empty() { 0 } else { blanks };
        let lead = painted(&lead, style, colour);
        let named = painted(&named, Style::new().bold(), colour);
        format!("{lead}{named}{}{right}\n", " ".repeat(gap))
    }

    /// What happened, and the first thing to know about it.
    fn why(&self) -> String {
        let words = self.standing().why();
        if words.is_empty() { words } else { wrapped(&harmless(&words), INDENT) }
    }

    /// The whole diagnosis, where the card says only a part of it.
    pub fn unsaid(&self) -> Option<&str> {
        let diagnosis = self.state.stop_reason.as_ref()?.diagnosis.as_str();
        let why = self.standing().why();
        let last = diagnosis.rsplit(". ").next().unwrap_or(diagnosis);
        (!why.contains(last)).then_some(diagnosis)
    }

    fn standing(&self) -> Standing<'_> {
        let Self { state, decision, engine, interrupted, supervised, .. } = *self;
        Standing { state, decision, engine, interrupted, supervised }
    }

    fn figures(&self, colour: bool) -> String {
        let rows = [
            ("asks", self.question.map(|(question, _)| harmless(&question.question))),
            ("", self.question.map(|(question, now)| ways_out(question, self.state.run_id, now))),
            ("ran", Some(self.ran())),
            ("spent", self.spent()),
            ("tests", self.tests()),
            ("units", self.units()),
            ("verified", self.verification.map(harmless)),
            ("kept", self.kept.map(harmless)),
            ("report", self.report()),
        ];
        let row = |(name, text): (&str, Option<String>)| text.map(|text| row(name, &text, colour));
        rows.into_iter().filter_map(row).collect()
    }

    /// How to get the report that every halt leaves, unless the next commands say so.
    fn report(&self) -> Option<String> {
        self.state.stop_reason.as_ref()?;
        let command = format!("backstop report {}", self.state.run_id);
        let next = self.standing().next_commands();
        next.iter().all(|next| next.command != command).then(|| complete(&command))
    }

    fn ran(&self) -> String {
        let numbers = &self.state.statistics;
        let active = duration(Duration::from_millis(numbers.active_ms));
        let active = match numbers.iterations {
            0 => format!("{active} active"),
            count => format!("{} · {active} active", counted(count, "iteration", "iterations")),
        };
        match self.engine.facts().waited() {
            waited if waited < WORTH_TELLING => active,
            waited => {
                let waited = duration(Duration::from_secs(waited.as_secs()));
                format!("{active} (and {waited} waiting for a rate limit)")
            }
        }
    }

    /// Tokens and money, each with its limit; nothing where nobody reported any.
    fn spent(&self) -> Option<String> {
        let numbers = &self.state.statistics;
        if numbers.tokens == 0 && money(numbers).is_none() {
            return None;
        }
        let of = |limit: Option<f64>, form: fn(f64) -> String| {
            limit.map(|limit| format!(" of {}", form(limit))).unwrap_or_default()
        };
        let money = match money(numbers) {
            Some(money) => {
                let limit = limit(self.engine, |when| matches!(when, Condition::MaxCost(_)));
                let rest = if numbers.cost_known { "" } else { ", a part is not known" };
                format!("{money}{}{rest}", of(limit, dollars))
            }
            None => "cost not reported".to_owned(),
        };
        let tokens = limit(self.engine, |when| matches!(when, Condition::MaxTokens(_)));
        let of = of(tokens, count);
        let read = self.engine.view().to_json()["tokens_by"]["cache_read"].as_u64().unwrap_or(0);
        let reads = match read {
            0 => String::new(),
            read => format!(" (and {} cache reads)", rounded(read)),
        };
        Some(format!("{money} · {}{of} tokens{reads}", rounded(numbers.tokens)))
    }

    fn tests(&self) -> Option<String> {
        let counts = self.engine.facts().test_counts()?;
        let mut text = format!("{} passed, {} failed", counts.passed, counts.failed);
        if counts.skipped > 0 {
            let _ = write!(text, ", {} skipped", counts.skipped);
        }
        let view = self.engine.view().to_json();
        let names = view["tests"]["failed"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some(first) = names.first().and_then(|name| name.as_str()) {
            let more = match names.len() {
                1 => String::new(),
                many => format!(" and {} more", many - 1),
            };
            let _ = write!(text, " ({}{more})", harmless(first));
        }
        let streak = view["test_failure_streak"].as_u64().unwrap_or(0);
        if streak > 1 {
            let _ = write!(text, " · {streak} failing runs in a row");
        }
        Some(text)
    }

    fn units(&self) -> Option<String> {
        let numbers = &self.state.statistics;
        if numbers.total_units == 0 {
            return None;
        }
        let mut text = format!("{} of {} approved", numbers.units_approved, numbers.total_units);
        for (count, word) in [
            (numbers.units_rejected, "rejected"),
            (numbers.units_failed, "failed"),
            (numbers.units_remaining, "left"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        let _ = write!(text, " · {}", counted(numbers.total_attempts, "attempt", "attempts"));
        Some(text)
    }

    /// The next commands, each with what it is good for.
    fn next(&self, colour: bool) -> String {
        let mut commands = self.standing().next_commands();
        let verb = |next: &NextCommand| next.command.split_whitespace().nth(1).map(str::to_owned);
        commands.retain(|next| self.without.is_none() || verb(next).as_deref() != self.without);
        // Nothing else makes sense of what is left.
        commands.retain(|next| !self.pruned || verb(next).as_deref() == Some("report"));
        commands.iter_mut().for_each(|next| next.command = complete(&next.command));
        // The words stand below each other, beside those commands that leave them room.
        let fits = |next: &&NextCommand| {
            ROW + next.command.width() + GAP.width() + next.good_for.width() <= WIDTH
        };
        let widths = commands.iter().filter(fits).map(|next| next.command.width());
        let widest = widths.max().unwrap_or(0);
        let mut text = String::new();
        for (position, NextCommand { command, good_for }) in commands.iter().enumerate() {
            let name = if position == 0 { "next" } else { "" };
            let name = painted(&columns(name, ROW - INDENT.len()), Style::new().dimmed(), colour);
            let room = WIDTH.saturating_sub(ROW + widest + GAP.width());
            let line = match command.width() <= widest && good_for.width() <= room {
                true => format!("{}{GAP}{good_for}", columns(command, widest)),
                // A command that is cut or folded can't be copied.
                false => command.clone(),
            };
            let _ = writeln!(text, "{INDENT}{name}{}", line.trim_end());
        }
        text
    }
}

/// How a status looks: its glyph, its word, its style.
pub fn appearance(status: RunStatus, interrupted: bool) -> (&'static str, &'static str, Style) {
    let bold = Style::new().bold();
    if interrupted {
        return ("✗", "interrupted", bold.red());
    }
    match status {
        RunStatus::Running => ("▶", "running", bold.cyan()),
        RunStatus::Paused => ("‖", "paused", bold.yellow()),
        RunStatus::Held => ("▲", "held", bold.yellow()),
        RunStatus::Stopped => ("■", "stopped", bold.red()),
        RunStatus::Completed => ("✓", "completed", bold.green()),
        RunStatus::Failed => ("✗", "failed", bold.red()),
    }
}

/// The command that a run supervises, on one line.
pub fn shown_command(command: &[String], columns: usize) -> String {
    cut(&harmless(&command_line(command)), columns)
}

fn row(name: &str, text: &str, colour: bool) -> String {
    let plain = hanging(&format!("{INDENT}{}", columns(name, ROW - INDENT.len())), text);
    if name.is_empty() {
        return plain;
    }
    // Styled after it was measured: what can't be seen has no width.
    plain.replacen(name, &painted(name, Style::new().dimmed(), colour), 1)
}

/// A shorter wait is none that anybody has noticed.
const WORTH_TELLING: Duration = Duration::from_secs(1);

const INDENT: &str = "  ";
const GAP: &str = "   ";
/// Where the text of a row begins.
const ROW: usize = 13;
