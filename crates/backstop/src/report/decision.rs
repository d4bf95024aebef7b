//! A decision for people: the verdict, why, what else fired, and how far every rule is.

use std::fmt::Write as _;

use backstop_core::decision::{AlsoMet, Decision, RuleProgress};
use backstop_core::engine::Engine;
use backstop_core::reason::AnyReason;
use backstop_core::verdict::Verdict;
use owo_colors::{OwoColorize as _, Style};

use super::table::{WIDTH, columns, cut, wrapped};
use crate::sanitise::harmless;

/// The whole report.
pub fn decision(engine: &Engine, decision: &Decision) -> String {
    let mut text = headline(decision);
    let winner = decision.rule.as_ref().map(|rule| rule.index);
    if !decision.progress.is_empty() {
        text.push('\n');
    }
    for rule in &decision.progress {
        text.push_str(&bar_line(rule, winner == Some(rule.rule)));
    }
    text.push_str(&also_fired(&decision.also_met));
    text.push_str(&unknown(decision));
    text.push_str(&next(engine, decision));
    text
}

fn headline(decision: &Decision) -> String {
    let verdict = decision.verdict.as_str();
    let reason = decision.reason.as_deref().unwrap_or("");
    let lead = if reason.is_empty() { verdict.to_owned() } else { format!("{verdict}  {reason}") };
    let message = harmless(&decision.message);
    let coloured = lead.replacen(verdict, &verdict.style(style(decision.verdict)).to_string(), 1);
    if lead.chars().count() + 3 + message.chars().count() <= WIDTH {
        format!("{coloured}   {message}\n")
    } else {
        format!("{coloured}\n{}", wrapped(&message, "  "))
    }
}

/// `  reject rate   ████░░░░   37.5% of 30%   ← fired`
fn bar_line(rule: &RuleProgress, won: bool) -> String {
    let name = columns(&harmless(&rule.name).replace('_', " "), NAME);
    let mark = match (won, rule.met) {
        (true, _) => "  ← fired",
        (false, true) => "  ← met",
        (false, false) => "",
    };
    let room = WIDTH - 2 - NAME - 1 - BAR - 2 - mark.chars().count();
    let note = cut(&harmless(without_name(&rule.note, &rule.name)), room);
    format!("  {name} {}  {note}{}\n", bar(rule.progress), mark.bold())
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
fn bar(progress: f64) -> String {
    // Rounded down, so that a full bar means full.
    let filled = (progress * BAR as f64).floor().clamp(0.0, BAR as f64) as usize;
    format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled))
}

fn also_fired(others: &[AlsoMet]) -> String {
    let mut text = String::new();
    for (position, other) in others.iter().enumerate() {
        let lead = if position == 0 { "\nalso fired\n" } else { "" };
        let shadow = if other.shadow { " (shadow: not acted on)" } else { "" };
        let line =
            format!("{}  {}{shadow}  {}", other.verdict, other.reason, harmless(&other.message));
        let _ = write!(text, "{lead}{}", wrapped(&line, "  "));
    }
    text
}

fn unknown(decision: &Decision) -> String {
    let mut text = String::new();
    for (position, rule) in decision.unknown.iter().enumerate() {
        let lead = if position == 0 { "\ncould not be evaluated\n" } else { "" };
        let line = format!("{}: {}", harmless(&rule.name), harmless(&rule.why));
        let _ = write!(text, "{lead}{}", wrapped(&line, "  "));
    }
    text
}

/// What the verdict means for whoever reads it.
fn next(engine: &Engine, decision: &Decision) -> String {
    let Some(code) = &decision.reason else { return String::new() };
    if matches!(decision.verdict, Verdict::Complete | Verdict::Warn) {
        return String::new();
    }
    let exit_code = decision.exit_code(engine.policy());
    match engine.policy().reason(code) {
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

const NAME: usize = 19;
const BAR: usize = 20;
