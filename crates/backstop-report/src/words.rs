//! What a report says, in words that Markdown and HTML have in common.

use std::time::Duration;

use backstop_core::event::{ProgressKind, TestCounts, VerificationOutcome};
use backstop_core::time::Timestamp;
use serde::Serialize;

use crate::bounded::Kept;
use crate::figures::{command_line, counted, dollars, duration, money, percent, rounded};
use crate::report::{Iteration, Iterations, Report};

/// A line of a list: what it is about, and what there is to say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) says: Says,
}

/// Text, or something that must be read letter by letter, or several of either.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Says {
    Text(String),
    Code(String),
    List { lead: String, entries: Vec<String>, left_out: u64 },
}

/// What was asked for.
pub(crate) fn asked(report: &Report) -> Vec<Row> {
    let asked = &report.asked;
    let mut rows = Rows::default();
    match asked.command.is_empty() {
        true => rows.text("command", "none: a script reported to it".to_owned()),
        false => rows.code("command", command_line(&asked.command)),
    }
    rows.code("directory", asked.cwd.clone());
    if !asked.labels.is_empty() {
        let labels = asked.labels.iter().map(|(key, value)| format!("{key}={value}"));
        rows.text("labels", labels.collect::<Vec<_>>().join(", "));
    }
    rows.optional("task", asked.task.clone());
    rows.optional("requirements", asked.requirements.clone());
    rows.optional("input", asked.stdin.clone());
    rows.0
        .extend(asked.verify.clone().map(|verify| Row { name: "proof", says: Says::Code(verify) }));
    if let Some(at) = asked.started_at {
        rows.text("begun", date(at));
    }
    rows.text("policy", format!("{} ({})", asked.policy, asked.policy_hash));
    rows.0
}

/// What was done.
pub(crate) fn done(report: &Report) -> Vec<Row> {
    let done = &report.done;
    let mut rows = Rows::default();
    if done.iterations.count > 0 {
        rows.text("iterations", iterations(&done.iterations));
    }
    let progress: Vec<_> =
        done.progress.iter().map(|(kind, count)| progress(*kind, *count)).collect();
    if !progress.is_empty() {
        rows.text("progress", progress.join(", "));
    }
    rows.list("commits", &done.commits, |commit| commit.text.clone());
    rows.list("kept as", &done.kept, Clone::clone);
    if let Some(units) = &done.units {
        let mut text = format!("{} of {} approved", units.approved, units.total);
        for (count, word) in
            [(units.rejected, "rejected"), (units.failed, "failed"), (units.remaining, "left")]
        {
            if count > 0 {
                text.push_str(&format!(", {count} {word}"));
            }
        }
        rows.text("units", format!("{text} · {}", counted(units.attempts, "attempt", "attempts")));
        rows.list("troubled units", &units.troubled, |unit| {
            let attempts = counted(unit.attempts, "attempt", "attempts");
            format!("{}: {}, {attempts}", unit.id, plain(&unit.status))
        });
    }
    if let Some(tests) = &done.tests {
        let runs = counted(tests.runs, "run", "runs");
        let (first, last) = (test_counts(tests.first), test_counts(tests.last));
        rows.text(
            "tests",
            match tests.runs {
                1 => format!("{last} (one run)"),
                _ => format!("{first} at first, {last} at last ({runs})"),
            },
        );
        rows.list("tests fixed", &tests.fixed, Clone::clone);
        rows.list("tests broken", &tests.broken, Clone::clone);
        rows.list("still failing", &tests.failing, Clone::clone);
    }
    let figures = &report.figures;
    match (figures.actions, figures.failed_actions) {
        (0, _) => {}
        (actions, 0) => rows.text("actions", actions.to_string()),
        (actions, failed) => rows.text("actions", format!("{actions}, {failed} of them failed")),
    }
    for errors in &done.errors {
        let message =
            if errors.last_message.is_empty() { "no message" } else { &errors.last_message };
        let (count, category) = (errors.count, plain(&errors.category));
        rows.text(
            "errors",
            match count {
                1 => format!("1 {category}: {message}"),
                _ => format!("{count} {category}, the last: {message}"),
            },
        );
    }
    if done.waits.count > 0 {
        let limits = counted(done.waits.count, "limit", "limits");
        let total = period(done.waits.total_ms);
        rows.text("waits", format!("{limits} of the provider, {total} in all"));
    }
    if !done.recoveries.is_empty() {
        let kinds = done.recoveries.iter().map(|(kind, count)| format!("{count} for {kind}"));
        rows.text("recoveries", kinds.collect::<Vec<_>>().join(", "));
    }
    rows.list("questions", &done.questions, |question| {
        let answer = question.answer.map_or("no answer".to_owned(), |answer| plain(&answer));
        let by = question.by.as_deref().map(|by| format!(", {by}")).unwrap_or_default();
        let note = question.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
        format!("{} ({answer}{by}{note})", question.question)
    });
    for guard in &done.guards {
        let files = join(&guard.files);
        rows.text(
            "guards",
            format!("{} violated {}: {files}", plain(&guard.kind), times(guard.count)),
        );
    }
    if let Some(verified) = &done.verification {
        let last = match verified.last {
            VerificationOutcome::Passed => "passed",
            VerificationOutcome::Failed => "failed",
            VerificationOutcome::TimedOut => "took too long",
        };
        let detail = verified.last_detail.as_deref().filter(|detail| !detail.is_empty());
        let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
        let failures = verified.failed + verified.timed_out;
        let often = format!("passed {}, did not {}", times(verified.passed), times(failures));
        rows.text("verification", format!("{last} in the end{detail} · {often}"));
    }
    if let Some(reviews) = &done.reviews {
        let counts = [
            (reviews.approved, "approved"),
            (reviews.changes_requested, "changes requested"),
            (reviews.rejected, "rejected"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, word)| format!("{word} {}", times(*count)));
        rows.text("reviews", counts.collect::<Vec<_>>().join(", "));
        rows.list("requests", &reviews.requests, Clone::clone);
    }
    if done.refused_claims > 0 {
        let claims = counted(done.refused_claims, "claim", "claims");
        rows.text("refused", format!("{claims} to be done, not proven"));
    }
    rows.list("limits raised", &done.raises, |raise| raise.text.clone());
    rows.list("cycles", &done.cycles, |metrics| {
        let figures = metrics.iter().map(|(name, value)| format!("{name} {value}"));
        figures.collect::<Vec<_>>().join(", ")
    });
    rows.0
}

/// Figures of the run, each with its limit.
pub(crate) fn cards(report: &Report) -> Vec<Card> {
    let numbers = &report.figures.statistics;
    let limit = |condition: &str| {
        let limit = report.limits.iter().find(|limit| limit.condition == condition)?;
        let of = limit.words.split_once(" of ").map_or("", |(_, of)| of);
        let of = of.trim_end_matches(" iterations").trim_end_matches(" tokens");
        Some((limit.progress, format!("of {of}")))
    };
    let mut cards = vec![
        Card::new("iterations", numbers.iterations.to_string(), limit("max_iterations")),
        Card::new("active time", period(numbers.active_ms), limit("max_duration")),
    ];
    match (money(numbers), limit("max_cost")) {
        (Some(money), limit) => cards.push(Card::new("cost", money, limit)),
        (None, Some((share, of))) => {
            let limit = Some((share, of.replacen("of ", "limit ", 1)));
            cards.push(Card::new("cost", "not told".to_owned(), limit));
        }
        (None, None) => {}
    }
    if numbers.tokens > 0 || limit("max_tokens").is_some() {
        cards.push(Card::new("tokens", rounded(numbers.tokens), limit("max_tokens")));
    }
    if let Some(tests) = report.figures.tests {
        let total = tests.passed.saturating_add(tests.failed);
        cards.push(Card::new("tests passing", tests.passed.to_string(), part(tests.passed, total)));
    }
    if numbers.total_units > 0 {
        let share = part(numbers.units_approved, numbers.total_units);
        cards.push(Card::new("units approved", numbers.units_approved.to_string(), share));
    }
    if let Some(health) = report.figures.health {
        cards.push(Card::new("health", percent(health.score), Some((health.score, String::new()))));
    }
    cards
}

/// A figure with its limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Card {
    pub(crate) name: &'static str,
    pub(crate) figure: String,
    /// How full it is, and of what: `of $20`.
    pub(crate) limit: Option<(f64, String)>,
}

impl Card {
    fn new(name: &'static str, figure: String, limit: Option<(f64, String)>) -> Self {
        Self { name, figure, limit }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn part(count: u64, total: u64) -> Option<(f64, String)> {
    (total > 0).then(|| (count as f64 / total as f64, format!("of {total}")))
}

#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn text(&mut self, name: &'static str, text: String) {
        self.0.push(Row { name, says: Says::Text(text) });
    }

    fn code(&mut self, name: &'static str, text: String) {
        self.0.push(Row { name, says: Says::Code(text) });
    }

    fn optional(&mut self, name: &'static str, text: Option<String>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    fn list<T>(&mut self, name: &'static str, kept: &Kept<T>, words: impl Fn(&T) -> String) {
        if kept.is_empty() {
            return;
        }
        self.0.push(Row {
            name,
            says: Says::List {
                lead: kept.count().to_string(),
                entries: kept.entries.iter().map(words).collect(),
                left_out: kept.left_out,
            },
        });
    }
}

/// How an iteration ended: `exit 0`, `signal 9`, `took too long`.
pub(crate) fn ending(iteration: &Iteration) -> String {
    match (iteration.timed_out, iteration.signal, iteration.exit_code) {
        (true, _, _) => "took too long".to_owned(),
        (_, Some(signal), _) => format!("signal {signal}"),
        (_, _, Some(code)) => format!("exit {code}"),
        (_, _, None) => "ended".to_owned(),
    }
}

/// The cells of an iteration: its number, how it ended, how long it took, tokens, cost, tests.
pub(crate) fn iteration(iteration: &Iteration) -> [String; 6] {
    let tests = iteration
        .tests
        .map(|tests| format!("{}/{}", tests.passed, tests.passed.saturating_add(tests.failed)));
    let or_nothing = |is_there: bool, text: String| if is_there { text } else { "–".to_owned() };
    [
        iteration.number.to_string(),
        ending(iteration),
        period(iteration.duration_ms),
        or_nothing(iteration.tokens > 0, rounded(iteration.tokens)),
        or_nothing(iteration.cost_usd > 0.0, dollars(iteration.cost_usd)),
        tests.unwrap_or_else(|| "–".to_owned()),
    ]
}

fn iterations(iterations: &Iterations) -> String {
    let failed = match (iterations.count, iterations.failed) {
        (_, 0) => String::new(),
        (1, _) => ", which failed".to_owned(),
        (_, failed) => format!(", {failed} of them failed"),
    };
    let (total, longest) = (period(iterations.total_ms), period(iterations.longest_ms));
    format!("{}{failed} · {total} in all, {longest} the longest", iterations.count)
}

/// `3 commits`, `1 new state of the tree`.
fn progress(kind: ProgressKind, count: u64) -> String {
    let (one, many) = match kind {
        ProgressKind::Task => ("task", "tasks"),
        ProgressKind::PullRequest => ("pull request", "pull requests"),
        ProgressKind::Issue => ("issue", "issues"),
        ProgressKind::Commit => ("commit", "commits"),
        ProgressKind::Tree => ("new state of the tree", "new states of the tree"),
        ProgressKind::Tests => ("better test result", "better test results"),
        ProgressKind::Marker => ("marker", "markers"),
        ProgressKind::Other => ("other step", "other steps"),
    };
    counted(count, one, many)
}

fn join(names: &Kept<String>) -> String {
    let mut text = names.entries.join(", ");
    if names.left_out > 0 {
        text.push_str(&format!(" and {} more", names.left_out));
    }
    text
}

pub(crate) fn test_counts(counts: TestCounts) -> String {
    let skipped = match counts.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    format!("{} passed, {} failed{skipped}", counts.passed, counts.failed)
}

pub(crate) fn times(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

/// Milliseconds as people read them.
pub(crate) fn period(milliseconds: u64) -> String {
    duration(Duration::from_millis(milliseconds))
}

/// `2026-05-04 10:00:00 UTC`.
pub(crate) fn date(at: Timestamp) -> String {
    at.to_jiff().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// `10:00:00`, in UTC.
pub(crate) fn clock(at: Timestamp) -> String {
    at.to_jiff().strftime("%H:%M:%S").to_string()
}

/// How a status looks.
pub(crate) fn glyph(status: &str) -> &'static str {
    match status {
        "running" => "▶",
        "paused" => "‖",
        "held" => "▲",
        "stopped" => "■",
        "completed" => "✓",
        _ => "✗",
    }
}

/// A sentence in its parts: those between backticks are to be read letter by letter.
pub(crate) fn with_code(sentence: &str) -> impl Iterator<Item = (bool, &str)> {
    let ticks = sentence.matches('`').count();
    // Without its partner the last one opens nothing.
    let paired = ticks - ticks % 2;
    let parts = sentence.splitn(paired + 1, '`').enumerate();
    parts.map(|(place, part)| (place % 2 == 1, part))
}

/// An enum by the name that it has in JSON, in plain words.
pub(crate) fn plain(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        _ => String::new(),
    }
}
