//! What a replay found, for people and programs.

use backstop_adapters::Outcome;
use backstop_core::event::ErrorCategory;
use backstop_core::verdict::Verdict;
use serde_json::{Value as Json, json};

use super::trial::{SeenError, Trial, Used, WouldDecide, ends_the_run};
use crate::report::{columns, counted, cut, dollars, duration, hanging, percent, rounded, wrapped};
use crate::sanitise::harmless;

/// A replay and what it was of.
pub struct Replayed {
    /// The file or the run.
    pub what: String,
    pub agent: &'static str,
    pub policy_name: String,
    pub trial: Trial,
}

impl Replayed {
    pub fn as_json(&self) -> Json {
        let trial = &self.trial;
        let end = trial.end.as_ref().map(|end| {
            let mut object = json!(end.decision);
            object["exit_code"] = end.exit_code.into();
            object["saved"] = json!(trial.used().since(end.used));
            object
        });
        json!({
            "agent": self.agent,
            "outcome": outcome(trial.outcome),
            "policy": self.policy_name,
            "policy_hash": trial.engine().policy_hash(),
            "launches": trial.launches,
            "events": trial.events,
            "actions": trial.actions,
            "facts": trial.engine().view().to_json(),
            "errors": trial.errors,
            "decisions": trial.decisions,
            "would_end": end,
        })
    }

    /// In lines that fit a terminal.
    pub fn as_text(&self) -> String {
        let mut text = self.headline();
        text.push_str(&self.figures());
        text.push_str(&self.errors());
        text.push_str(&self.timeline());
        text.push('\n');
        text.push_str(&wrapped(&harmless(&self.summary()), ""));
        text
    }

    fn headline(&self) -> String {
        let trial = &self.trial;
        let parts = [
            self.agent.to_owned(),
            outcome(trial.outcome).replace('_', " "),
            counted(trial.launches, "launch", "launches"),
            counted(trial.actions, "action", "actions"),
        ];
        let mut text = hanging("", &harmless(&self.what));
        text.push_str(&wrapped(&parts.join(" · "), "  "));
        text
    }

    fn figures(&self) -> String {
        let facts = self.trial.engine().view().to_json();
        let count = |pointer: &str| facts.pointer(pointer).and_then(Json::as_u64).unwrap_or(0);
        let mut text = String::from("\n");
        let kinds = [
            ("input", "/tokens_by/input"),
            ("output", "/tokens_by/output"),
            ("cache reads", "/tokens_by/cache_read"),
            ("cache writes", "/tokens_by/cache_write"),
        ];
        let used: Vec<_> = kinds
            .iter()
            .map(|(name, pointer)| (name, count(pointer)))
            .filter(|(_, tokens)| *tokens > 0)
            .map(|(name, tokens)| format!("{} {name}", rounded(tokens)))
            .collect();
        let tokens = if used.is_empty() { "not told".to_owned() } else { used.join(" · ") };
        text.push_str(&row("tokens", &tokens));
        let known = facts["cost_usd"].as_f64().unwrap_or(0.0);
        let cost = match (facts["cost_known"].as_bool(), known > 0.0) {
            (Some(true), _) => dollars(known),
            (_, true) => format!("at least {}, a part is not told", dollars(known)),
            (_, false) => "not told".to_owned(),
        };
        text.push_str(&row("cost", &cost));
        let (context_used, limit) = (count("/context/used"), count("/context/limit"));
        if limit > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
            let share = percent(context_used as f64 / limit as f64);
            let words = format!("{} of {} ({share})", rounded(context_used), rounded(limit));
            text.push_str(&row("context", &words));
        }
        let active = self.trial.used().active();
        if active.as_secs() > 0 {
            text.push_str(&row("time", &duration(active)));
        }
        text
    }

    fn errors(&self) -> String {
        let errors = &self.trial.errors;
        let kinds: Vec<_> = [
            ("rate limit", "rate limits"),
            ("transient", "transient"),
            ("recoverable", "recoverable"),
            ("critical", "critical"),
        ]
        .into_iter()
        .map(|(one, many)| {
            let found = errors.iter().filter(|error| kind(error) == one).count() as u64;
            (found, counted(found, one, many))
        })
        .filter(|(found, _)| *found > 0)
        .map(|(_, words)| words)
        .collect();
        let words = if kinds.is_empty() { "none".to_owned() } else { kinds.join(" · ") };
        let mut text = row("errors", &words);
        let groups: Vec<_> = errors.chunk_by(is_same_error).collect();
        for group in groups.iter().take(MOST_SHOWN) {
            text.push_str(&hanging(&" ".repeat(ROW), &error_entry(group)));
        }
        text + &left_out(groups.len(), &" ".repeat(ROW))
    }

    fn timeline(&self) -> String {
        let is_same = |one: &WouldDecide, next: &WouldDecide| {
            (one.verdict, &one.reason) == (next.verdict, &next.reason)
        };
        let groups: Vec<_> = self.trial.decisions.chunk_by(is_same).collect();
        let shown: String =
            groups.iter().take(MOST_SHOWN).map(|group| timeline_entry(group)).collect();
        let gap = if shown.is_empty() { "" } else { "\n" };
        format!("{gap}{shown}{}", left_out(groups.len(), "  "))
    }

    fn summary(&self) -> String {
        let policy = &self.policy_name;
        let Some(end) = &self.trial.end else {
            return format!("Under {policy} it would have gone on to its end.");
        };
        let decision = &end.decision;
        let verb = match decision.verdict {
            Verdict::Complete => "been complete",
            Verdict::Ask => "asked a person",
            Verdict::Hold => "been held",
            _ => "ended",
        };
        let saved = saved(self.trial.used().since(end.used));
        let reason = decision.reason.as_deref().unwrap_or_default();
        format!(
            "Under {policy} it would have {verb} after event {}, in iteration {}: {reason} (exit {}){saved}.",
            decision.event, decision.iteration, end.exit_code,
        )
    }
}

/// `event 17 · rate limit: 5-hour limit reached (92 more until event 611)`
fn error_entry(group: &[SeenError]) -> String {
    let [first, .., last] = group else {
        return group.first().map_or(String::new(), |one| error_words(one) + &until(one));
    };
    let more = more(group.len(), last.event);
    format!("{}{}{more}", error_words(first), until(last))
}

fn error_words(error: &SeenError) -> String {
    let message = cut(&harmless(error.message.trim()), LONGEST_MESSAGE);
    format!("event {} · {}: {message}", error.event, kind(error))
}

fn until(error: &SeenError) -> String {
    error.retry_at.map_or(String::new(), |at| format!(" (until {at})"))
}

fn is_same_error(one: &SeenError, next: &SeenError) -> bool {
    (one.category, one.rate_limited, &one.message)
        == (next.category, next.rate_limited, &next.message)
}

/// Decisions for the same reason are one line, with what was said at first.
fn timeline_entry(group: &[WouldDecide]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let reason = first.reason.as_deref().unwrap_or_default();
    let words = match first.verdict {
        Verdict::Continue => "would go on".to_owned(),
        verdict => format!("would {verdict}: {reason} — {}", first.message),
    };
    let more = match group {
        [_, .., last] => more(group.len(), last.event),
        _ => String::new(),
    };
    let mark = if ends_the_run(first.verdict) { "■ " } else { "  " };
    let place = format!("event {} · iteration {}", first.event, first.iteration);
    hanging(mark, &harmless(&format!("{place} · {words}{more}")))
}

fn more(count: usize, last: u64) -> String {
    format!(" (and {} more until event {last})", count.saturating_sub(1))
}

/// `, and saved 2 iterations, 14m and $2.10`
fn saved(saved: Used) -> String {
    let mut parts = Vec::new();
    if saved.iterations > 0 {
        parts.push(counted(saved.iterations, "iteration", "iterations"));
    }
    if saved.active().as_secs() > 0 {
        parts.push(duration(saved.active()));
    }
    if saved.tokens > 0 {
        parts.push(format!("{} tokens", rounded(saved.tokens)));
    }
    if saved.cost_usd >= 0.0001 {
        parts.push(dollars(saved.cost_usd));
    }
    let Some(last) = parts.pop() else { return String::new() };
    let parts = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    format!(", and saved {parts}")
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::CutOff => "cut_off",
    }
}

fn kind(error: &SeenError) -> &'static str {
    match error.category {
        _ if error.rate_limited => "rate limit",
        ErrorCategory::Transient => "transient",
        ErrorCategory::Recoverable => "recoverable",
        ErrorCategory::Critical => "critical",
    }
}

fn row(name: &str, text: &str) -> String {
    hanging(&columns(&format!("  {name}"), ROW), text)
}

fn left_out(all: usize, indent: &str) -> String {
    match all.saturating_sub(MOST_SHOWN) {
        0 => String::new(),
        more => format!("{indent}and {more} more; --json lists all\n"),
    }
}

/// Where the text of a row begins.
const ROW: usize = 13;
const MOST_SHOWN: usize = 20;
const LONGEST_MESSAGE: usize = 120;
