//! The stop card: how a run ended, why, in figures, and what to do next.

use std::fmt::Write as _;
use std::time::Duration;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::reason::Values;
use backstop_core::state::{self, RunState, RunStatus, StopReason};
use owo_colors::Style;
use unicode_width::UnicodeWidthStr as _;

use super::figures::{
    command_line, count, counted, dollars, duration, limit, painted, rounded, short,
};
use super::table::{WIDTH, columns, cut, hanging, wrapped};
use crate::sanitise::harmless;

/// What a card tells of.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    pub state: &'a RunState,
    /// What halted it, where it is at hand: it fills in the figures of the next commands.
    pub decision: Option<&'a Decision>,
    pub engine: &'a Engine,
    pub kept: Option<&'a str>,
    pub verification: Option<&'a str>,
    /// Its supervisor is gone and nobody halted it.
    pub interrupted: bool,
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
        let resumable = (self.state.resumable && (reason.is_some() || self.interrupted))
            .then(|| "resumable".to_owned());
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
        if self.interrupted {
            return wrapped(
                "Its supervisor is gone and halted nothing: killed, or the machine went down. \
                 Everything that was journalled is kept.",
                INDENT,
            );
        }
        let Some(reason) = &self.state.stop_reason else { return String::new() };
        let words = match self.unmetered() {
            true => format!(
                "{}, so the limit can't be held. Let the command report it (`backstop emit usage`), \
                 or go on without this limit.",
                reason.message.trim_end_matches('.')
            ),
            false => self.sentences(reason),
        };
        wrapped(&harmless(&words), INDENT)
    }

    /// Whether it is not the limit that was reached, but nobody can tell how far it is.
    fn unmetered(&self) -> bool {
        let Some(decision) = self.decision.filter(|_| self.state.stop_reason.is_some()) else {
            return false;
        };
        let winner = decision.rule.as_ref().map(|rule| rule.index);
        let is_meter = winner.is_some_and(|index| {
            let when = self.engine.condition(index);
            matches!(when, Condition::MaxCost(_) | Condition::MaxTokens(_))
        });
        is_meter && decision.unknown.iter().any(|rule| Some(rule.rule) == winner)
    }

    /// The message, and what the diagnosis adds to it in two sentences.
    fn sentences(&self, reason: &StopReason) -> String {
        let message = reason.message.trim().trim_end_matches('.');
        if self.state.run_status == RunStatus::Completed {
            return format!("{message}.");
        }
        let values = self.values();
        let figures = ["{value|}", "{threshold|}"].map(|name| values.fill_prose(name));
        let says_the_same = |sentence: &str| {
            let has_figures = figures
                .iter()
                .all(|figure| !figure.is_empty() && sentence.contains(figure.as_str()));
            has_figures || (!message.is_empty() && sentence.contains(message))
        };
        let added = reason.diagnosis.split_inclusive(". ").map(str::trim);
        let added = added.filter(|sentence| !says_the_same(sentence)).take(2);
        let said = (!message.is_empty()).then(|| format!("{message}."));
        said.iter().map(String::as_str).chain(added).collect::<Vec<_>>().join(" ")
    }

    /// What is known of the run, to be filled into texts.
    fn values(&self) -> Values {
        match self.decision {
            Some(decision) => state::values(self.state.run_id, decision, self.engine),
            None => Values::new(),
        }
    }

    fn figures(&self, colour: bool) -> String {
        let rows = [
            ("ran", Some(self.ran())),
            ("spent", self.spent()),
            ("tests", self.tests()),
            ("units", self.units()),
            ("verified", self.verification.map(harmless)),
            ("kept", self.kept.map(harmless)),
        ];
        let row = |(name, text): (&str, Option<String>)| text.map(|text| row(name, &text, colour));
        rows.into_iter().filter_map(row).collect()
    }

    fn ran(&self) -> String {
        let numbers = &self.state.statistics;
        let active = duration(Duration::from_millis(numbers.active_ms));
        match numbers.iterations {
            0 => format!("{active} active"),
            count => format!("{} · {active} active", counted(count, "iteration", "iterations")),
        }
    }

    /// Tokens and money, each with its limit; nothing where nobody reported any.
    fn spent(&self) -> Option<String> {
        let numbers = &self.state.statistics;
        if numbers.tokens == 0 && !numbers.cost_known {
            return None;
        }
        let of = |limit: Option<f64>, form: fn(f64) -> String| {
            limit.map(|limit| format!(" of {}", form(limit))).unwrap_or_default()
        };
        let money = match numbers.cost_known {
            true => {
                let limit = limit(self.engine, |when| matches!(when, Condition::MaxCost(_)));
                format!("{}{}", dollars(numbers.cost_usd), of(limit, dollars))
            }
            false => "cost not reported".to_owned(),
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
        let commands = self.commands();
        // The words stand below each other, beside those commands that leave them room.
        let fits = |command: &&String| {
            ROW + command.width() + GAP.width() + good_for(command).width() <= WIDTH
        };
        let widest = commands.iter().filter(fits).map(|command| command.width()).max().unwrap_or(0);
        let mut text = String::new();
        for (position, command) in commands.iter().enumerate() {
            let name = if position == 0 { "next" } else { "" };
            let name = painted(&columns(name, ROW - INDENT.len()), Style::new().dimmed(), colour);
            let words = good_for(command);
            let room = WIDTH.saturating_sub(ROW + widest + GAP.width());
            let line = match command.width() <= widest && words.width() <= room {
                true => format!("{}{GAP}{words}", columns(command, widest)),
                // A command that is cut or folded can't be copied.
                false => command.clone(),
            };
            let _ = writeln!(text, "{INDENT}{name}{}", line.trim_end());
        }
        text
    }

    fn commands(&self) -> Vec<String> {
        let run = short(self.state.run_id);
        let mut commands = Vec::new();
        if let Some(reason) = &self.state.stop_reason {
            let reason = self.engine.policy().reason(&reason.code);
            commands = reason.next_commands(&self.values().with("run", &run));
            commands.retain(|command| is_there(command));
            if self.unmetered() {
                commands.retain(|command| !command.contains(" --raise "));
                commands.insert(0, format!("backstop resume {run} --unmetered allow"));
            }
        }
        let lets_go = |command: &String| {
            let verb = command.split_whitespace().nth(1);
            matches!(verb, Some("resume" | "release" | "answer"))
        };
        if self.state.run_status == RunStatus::Held && !commands.iter().any(lets_go) {
            commands.insert(0, format!("backstop resume {run}"));
        }
        let usual: &[&str] = match (self.state.run_status, self.interrupted) {
            (_, true) => &["resume", "doctor", "logs"],
            (RunStatus::Running | RunStatus::Paused, false) => &["attach", "stop", "show"],
            (RunStatus::Completed, false) => &["show", "logs"],
            _ => &["doctor", "resume", "logs"],
        };
        let resumes = commands.iter().any(|command| command.starts_with("backstop resume "));
        for verb in usual {
            let command = format!("backstop {verb} {run}");
            let is_there = commands.contains(&command) || (*verb == "resume" && resumes);
            if commands.len() < MOST_COMMANDS && !is_there {
                commands.push(command);
            }
        }
        commands.truncate(MOST_COMMANDS);
        commands
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
    // Styled after it was measured: what can't be seen has no width.
    let plain = hanging(&format!("{INDENT}{}", columns(name, ROW - INDENT.len())), text);
    plain.replacen(name, &painted(name, Style::new().dimmed(), colour), 1)
}

/// Whether a command can be given: reasons also name those that are still to come.
fn is_there(command: &str) -> bool {
    let verb = command.split_whitespace().nth(1).unwrap_or("");
    !TO_COME.contains(&verb)
}

fn good_for(command: &str) -> &'static str {
    let has = |words: &str| command.contains(words);
    match command.split_whitespace().nth(1).unwrap_or("") {
        "doctor" => "why, with the evidence",
        "resume" if has("--raise") => "go on, with more room",
        "resume" if has("--note") => "go on, with a hint",
        "resume" if has("--auto-resume") => "go on, by itself next time",
        "resume" => "go on where it was",
        "show" => "figures and every limit",
        "logs" => "what it printed",
        "answer" => "answer its question",
        "release" => "let it go",
        "attach" => "watch it live",
        "stop" => "end it",
        "replay" => "what another policy would have done",
        "policy" if has("explain") => "every rule in plain words",
        "policy" if has("apply") => "put an edited policy in force",
        _ => "",
    }
}

const INDENT: &str = "  ";
const GAP: &str = "   ";
/// Where the text of a row begins.
const ROW: usize = 13;
const MOST_COMMANDS: usize = 3;
const TO_COME: [&str; 1] = ["report"];
