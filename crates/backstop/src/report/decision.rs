//! A decision for people: the verdict, why, what else fired, and how far every rule is.

use std::fmt::Write as _;

use backstop_core::decision::{AlsoMet, Decision, RuleProgress};
use backstop_core::policy::Policy;
use backstop_core::reason::AnyReason;
use backstop_core::verdict::Verdict;
use owo_colors::{OwoColorize as _, Style};
use unicode_width::UnicodeWidthStr as _;

use super::table::{WIDTH, columns, cut, hanging, wrapped};
use crate::sanitise::harmless;

/// The whole report. The code is that of a command which ends by the decision.
pub fn decision(policy: &Policy, exit_code: u8, decision: &Decision) -> String {
    let mut text = headline(decision);
    text.push_str(&bars(decision));
    text.push_str(&also_fired(&decision.also_met));
    text.push_str(&unknown(decision));
    text.push_str(&next(policy, exit_code, decision));
    text
}

fn headline(decision: &Decision) -> String {
    let verdict = decision.verdict.as_str();
    let reason = decision.reason.as_deref().unwrap_or("");
    let lead = if reason.is_empty() { verdict.to_owned() } else { format!("{verdict}  {reason}") };
    let message = harmless(&decision.message);
    let coloured = lead.replacen(verdict, &verdict.style(style(decision.verdict)).to_string(), 1);
    if lead.width() + 3 + message.width() <= WIDTH {
        format!("{coloured}   {message}\n")
    } else {
        format!("{coloured}\n{}", wrapped(&message, "  "))
    }
}

/// How far every rule is.
pub fn bars(decision: &Decision) -> String {
    let winner = decision.rule.as_ref().map(|rule| rule.index);
    let lines: Vec<BarLine> = decision
        .progress
        .iter()
        .map(|rule| BarLine::new(rule, winner == Some(rule.rule)))
        .collect();
    let widest = |width: fn(&BarLine) -> usize| lines.iter().map(width).max().unwrap_or(0);
    let name = widest(|line| line.name.width()).min(NAME);
    // Bars are as long as the longest sentence leaves them room.
    let text = widest(|line| line.note.width() + line.mark.width());
    let bar = WIDTH.saturating_sub(GAPS + name + text).clamp(BAR_SHORTEST, BAR_LONGEST);
    let shown: String = lines.iter().map(|line| line.show(name, bar)).collect();
    if shown.is_empty() { shown } else { format!("\n{shown}") }
}

/// `  reject rate   ████░░░░   37.5% of 30%   ← fired`
struct BarLine {
    name: String,
    progress: f64,
    note: String,
    mark: &'static str,
}

impl BarLine {
    fn new(rule: &RuleProgress, won: bool) -> Self {
        Self {
            name: harmless(&rule.name).replace('_', " "),
            progress: rule.progress,
            note: harmless(without_name(&rule.note, &rule.name)),
            mark: match (won, rule.met) {
                (true, _) => "  ← fired",
                (false, true) => "  ← met",
                (false, false) => "",
            },
        }
    }

    fn show(&self, name_columns: usize, bar_columns: usize) -> String {
        let name = columns(&self.name, name_columns);
        let room = WIDTH - GAPS - name_columns - bar_columns - self.mark.width();
        let note = cut(&self.note, room);
        let mark = match self.mark {
            "" => String::new(),
            mark => mark.bold().to_string(),
        };
        format!("  {name}  {}  {note}{mark}\n", bar(self.progress, bar_columns))
    }
}

/// A sentence that begins with the rule's name says it twice beside that name.
fn without_name<'a>(note: &'a str, name: &str) -> &'a str {
    match note.split_at_checked(name.len()) {
        Some((lead, rest)) if lead.eq_ignore_ascii_case(&name.replace(['_', '-'], " ")) => {
            rest.trim_start_matches([':', ' '])
        }
        _ => note,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "progress lies between 0 and 1"
)]
fn bar(progress: f64, length: usize) -> String {
    // Rounded down, so that a full bar means full.
    let filled = (progress * length as f64).floor().clamp(0.0, length as f64) as usize;
    format!("{}{}", "█".repeat(filled), "░".repeat(length - filled))
}

fn also_fired(others: &[AlsoMet]) -> String {
    let mut text = String::new();
    let widest = others.iter().map(|other| other.reason.width()).max().unwrap_or(0);
    let reason_columns = widest.min(REASON);
    for (position, other) in others.iter().enumerate() {
        let lead = if position == 0 { "\nalso fired\n" } else { "" };
        let shadow = if other.shadow { " (shadow: not acted on)" } else { "" };
        let verdict = columns(other.verdict.as_str(), VERDICT);
        let what = columns(&other.reason, reason_columns);
        let message = format!("{}{shadow}", harmless(&other.message));
        let line = hanging(&format!("  {verdict}  {what}  "), &message);
        let _ = write!(text, "{lead}{line}");
    }
    text
}

fn unknown(decision: &Decision) -> String {
    let mut text = String::new();
    for (position, rule) in decision.unknown.iter().enumerate() {
        let lead = if position == 0 { "\ncould not be evaluated\n" } else { "" };
        let line =
            hanging(&format!("  {}: ", cut(&harmless(&rule.name), 40)), &harmless(&rule.why));
        let _ = write!(text, "{lead}{line}");
    }
    text
}

/// What the verdict means for whoever reads it.
fn next(policy: &Policy, exit_code: u8, decision: &Decision) -> String {
    let Some(code) = &decision.reason else { return String::new() };
    if matches!(decision.verdict, Verdict::Complete | Verdict::Warn) {
        return String::new();
    }
    match policy.reason(code) {
        // No page tells of a policy's own reason, so its author's words stand here.
        AnyReason::Custom(own) => {
            let words = format!("exit {exit_code} · {}. {}", own.title, own.diagnosis);
            format!("\n{}", wrapped(&harmless(&words), ""))
        }
        _ => format!("\nexit {exit_code} · see `backstop reasons {code}` for what to do\n"),
    }
}

fn style(verdict: Verdict) -> Style {
    let style = Style::new().bold();
    match verdict {
        Verdict::Continue | Verdict::Complete => style.green(),
        Verdict::Warn | Verdict::Retry | Verdict::Recover | Verdict::Ask | Verdict::Hold => {
            style.yellow()
        }
        Verdict::Stop | Verdict::Kill | Verdict::Fail => style.red(),
    }
}

/// The longest verdict.
const VERDICT: usize = 8;
/// The longest reason of the registry.
const REASON: usize = 20;
const NAME: usize = 19;
const BAR_SHORTEST: usize = 10;
const BAR_LONGEST: usize = 20;
/// The blanks around name and bar.
const GAPS: usize = 6;
