//! What people see of a run: a header, a rule per iteration with its result, and the stop card.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{
    Answer, Event, EventKind, IterationFinished, LimitValue, Note, Noted, ProgressKind, Review,
    ReviewOutcome, SignalKind, TestCounts, Verification, WorkerStatus,
};
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::{RunState, RunStatus, Statistics};
use backstop_core::verdict::Verdict;
use backstop_runner::report::{Ended, Remark, Reporter, Started, Status};
use backstop_runner::view::OpenQuestion;
use owo_colors::Style;
use unicode_width::UnicodeWidthStr as _;

use super::card::{Card, shown_command};
use super::figures::{duration, is_limit, painted, wanted};
use super::iteration::{Iteration, outcome, verified};
use super::table::{WIDTH, cut, hanging};
use super::{live, question};
use crate::sanitise::harmless;
use crate::shown_commands::complete;

/// The report for people. Its lines fit 80 columns and read the same without colour.
#[derive(Debug)]
pub struct Human {
    colour: bool,
    run: Option<RunId>,
    iteration: Option<Iteration>,
    /// How an iteration ended that had nothing to show: said in the next rule, so that a thousand
    /// quick ones are a thousand lines and not two.
    untold: Option<String>,
    tests: Option<TestCounts>,
    tasks_done: Option<u64>,
    /// What was said last, so that it is not said again while it stays true.
    said: Option<(Verdict, Option<String>)>,
    /// The rules that warn and were met at the last look: each is told of when it becomes so.
    warned: Vec<usize>,
}

impl Human {
    pub fn new(colour: bool) -> Self {
        Self {
            colour,
            run: None,
            iteration: None,
            untold: None,
            tests: None,
            tasks_done: None,
            said: None,
            warned: Vec::new(),
        }
    }

    /// For a run that goes on already.
    pub fn watching(run: RunId, colour: bool) -> Self {
        Self { run: Some(run), ..Self::new(colour) }
    }

    /// What a person is asked now, and how to answer it.
    pub fn asked(&self, engine: &Engine) -> String {
        let (Some(run), Some(question)) = (self.run, OpenQuestion::of(engine)) else {
            return String::new();
        };
        question::told(&question, run, engine.view().now.at, self.colour)
    }

    /// A line of backstop's own among the output of others.
    fn line(&self, text: &str) -> String {
        self.styled_line("backstop: ", text, Style::new().dimmed())
    }

    fn warning(&self, text: &str) -> String {
        self.styled_line("backstop: warning: ", text, Style::new().yellow())
    }

    fn styled_line(&self, lead: &str, text: &str, style: Style) -> String {
        let plain = hanging(lead, &harmless(&complete(text)));
        plain.replacen(lead, &painted(lead, style, self.colour), 1)
    }

    fn statistics(&self, engine: &Engine) -> Option<Statistics> {
        self.run.map(|run| RunState::going_on(run, RunStatus::Running, engine).statistics)
    }

    fn iteration_started(&mut self, number: Option<u64>, engine: &Engine) -> String {
        self.iteration = Some(Iteration::begin(self.tests, self.statistics(engine)));
        let number = number.map_or(String::new(), |number| format!(" {number}"));
        let lead = format!("── iteration{number} ");
        let tail = self.untold.take().map_or(String::new(), |told| format!(" {told} ──"));
        let line = "─".repeat(WIDTH.saturating_sub(lead.width() + tail.width()));
        painted(&format!("{lead}{line}{tail}"), Style::new().dimmed(), self.colour) + "\n"
    }

    fn iteration_finished(&mut self, end: &IterationFinished, engine: &Engine) -> String {
        let Some(seen) = self.iteration.take() else { return String::new() };
        let mut parts = vec![outcome(end)];
        parts.extend(seen.told(self.statistics(engine).as_ref()));
        let has_nothing_to_show = parts.len() == 1;
        parts.push(duration(Duration::from_millis(end.duration_ms)));
        if has_nothing_to_show && end.duration_ms < QUICK_MS {
            let number = end.iteration.map_or(String::new(), |number| format!("{number}: "));
            self.untold = Some(format!("{number}{}", parts.join(", ")));
            return String::new();
        }
        let text = folded_parts("", &parts);
        painted(text.trim_end(), Style::new().dimmed(), self.colour) + "\n"
    }

    fn verification(&mut self, verification: &Verification) -> String {
        match &mut self.iteration {
            Some(iteration) => {
                iteration.verification = Some(verification.outcome);
                String::new()
            }
            None => {
                let detail = verification.detail.as_deref().filter(|detail| !detail.is_empty());
                let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
                self.line(&format!("{}{detail}", verified(verification.outcome)))
            }
        }
    }

    /// Only what counts as progress is told as such.
    fn progressed(&mut self, kind: ProgressKind, engine: &Engine) {
        let counted = engine.policy().settings.counted_progress();
        if let Some(iteration) = self.iteration.as_mut().filter(|_| counted.contains(kind)) {
            iteration.progress.insert(kind);
        }
    }

    /// What rules warn of that did not the last time.
    fn new_warnings(&mut self, decision: &Decision) -> String {
        let winner = decision.rule.as_ref().filter(|_| decision.verdict == Verdict::Warn);
        let winner = winner.map(|rule| (rule.index, decision.reason.as_deref(), &decision.message));
        let others = decision.also_met.iter();
        let others = others.filter(|met| met.verdict == Verdict::Warn && !met.shadow);
        let others = others.map(|met| (met.rule, Some(met.reason.as_str()), &met.message));
        let mut text = String::new();
        let mut warned = Vec::new();
        for (rule, reason, message) in winner.into_iter().chain(others) {
            if !self.warned.contains(&rule) {
                text.push_str(&self.warning(&format!("{}: {message}", reason.unwrap_or(""))));
            }
            warned.push(rule);
        }
        self.warned = warned;
        text
    }

    fn review(&self, review: &Review) -> String {
        let words = match review.outcome {
            ReviewOutcome::Approved => "approved",
            ReviewOutcome::ChangesRequested => "changes requested",
            ReviewOutcome::Rejected => "rejected",
        };
        let mut text = self.line(&format!("review: {words}"));
        let requests: Vec<&String> = review.requests.iter().flatten().collect();
        for request in requests.iter().take(MOST_REQUESTS) {
            let request = request.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&hanging("  - ", &harmless(&request)));
        }
        if requests.len() > MOST_REQUESTS {
            text.push_str(&format!("  and {} more\n", requests.len() - MOST_REQUESTS));
        }
        text
    }

    fn noted(&self, noted: &Noted, engine: &Engine) -> String {
        let words = match noted.what {
            // The header, the card and warnings tell of these.
            Note::Containment | Note::Kept | Note::Notified | Note::NotNotified => {
                return String::new();
            }
            // Whoever found it out has said so.
            Note::NotReviewed => return String::new(),
            // What was added to it is told as usage.
            Note::ThreadTotal => return String::new(),
            Note::Signalled => "sent",
            Note::Swept => "ended what the command had left behind:",
            Note::Orphans => "ended what an earlier supervisor had left behind:",
            Note::Unkillable => "could not end",
            Note::LeftOut => "not kept in the log:",
            Note::Pretended => "no success:",
            // Its detail is a sentence of its own.
            Note::Leaked => return self.warning(&noted.detail),
            Note::Refused => "refused what the command sent:",
            Note::ClaimRefused => "not done yet:",
            Note::PolicyApplied => "another policy is in force:",
            Note::SetAside => "seen, and not asked again before the next iteration has ended:",
            Note::TurnAsked => return self.asked(engine),
            Note::LetGo => "let go:",
            Note::Skipped => "skipped:",
            Note::Attended => "asking before each iteration:",
            Note::Withdrawn => "no answer is needed any more:",
            Note::GuardLifted => "guard lifted for this run:",
            Note::Reverted => "put back:",
            Note::Unguarded => "the guards could not be checked:",
        };
        let text = format!("{words} {}", noted.detail);
        match noted.what {
            Note::Unkillable | Note::Refused | Note::Unguarded => self.warning(&text),
            _ => self.line(&text),
        }
    }
}

impl Reporter for Human {
    fn started(&mut self, start: &Started<'_>) -> String {
        self.run = Some(start.run);
        self.tests = start.engine.facts().test_counts();
        self.tasks_done = start.engine.facts().tasks().map(|tasks| tasks.done);
        let lead = format!("backstop {}", start.run);
        let policy = start.policy_name.strip_prefix("preset:").unwrap_or(start.policy_name);
        let parts = [
            shown_command(&start.launch.command, LONGEST_COMMAND),
            format!("policy {}", harmless(policy)),
            format!("containment: {}", start.containment.as_str()),
        ];
        let resumed = if start.resumed { "goes on · " } else { "" };
        let mut text = folded_parts(&format!("{lead}  {resumed}"), &parts);
        text = text.replacen(&lead, &painted(&lead, Style::new().bold(), self.colour), 1);
        let stops = stops(start.engine);
        if !stops.is_empty() {
            text.push_str(&folded_parts("  stops: ", &stops));
        }
        for note in start.notes {
            text.push_str(&hanging("  note: ", &harmless(note)));
        }
        text
    }

    fn event(&mut self, event: &Event, engine: &Engine) -> String {
        match &event.kind {
            EventKind::IterationStarted(start) => self.iteration_started(start.iteration, engine),
            EventKind::IterationFinished(end) => self.iteration_finished(end, engine),
            EventKind::Tests(_) => {
                self.tests = engine.facts().test_counts();
                if let Some(iteration) = &mut self.iteration {
                    iteration.tests = self.tests;
                }
                String::new()
            }
            EventKind::Progress(progress) => {
                self.progressed(progress.kind, engine);
                String::new()
            }
            EventKind::Tasks(tasks) => {
                let before = self.tasks_done.replace(tasks.done);
                // What was done before anybody looked is nothing new.
                if before.is_some_and(|before| tasks.done > before) {
                    self.progressed(ProgressKind::Task, engine);
                }
                String::new()
            }
            EventKind::Verification(verification) => self.verification(verification),
            EventKind::Review(review) => self.review(review),
            EventKind::Drift(drift) => {
                if let Some(iteration) = &mut self.iteration {
                    iteration.drift = Some(drift.score);
                }
                String::new()
            }
            EventKind::ErrorSeen(error) => self.line(&format!("error: {}", error.message)),
            EventKind::Worker(worker) => {
                let words = match worker.status {
                    WorkerStatus::Blocked => "the worker is blocked",
                    WorkerStatus::Failed => "the worker failed",
                    WorkerStatus::TimedOut => "the iteration took too long",
                    WorkerStatus::RateLimited => "the provider takes no more for now",
                };
                let detail = worker.detail.as_deref().map(|detail| format!(": {detail}"));
                self.line(&format!("{words}{}", detail.unwrap_or_default()))
            }
            EventKind::Raised(raised) => {
                let value = match raised.value {
                    LimitValue::Number(number) => number.to_string(),
                    LimitValue::Duration(long) => duration(long),
                };
                let why = match raised.why.as_str() {
                    "" => String::new(),
                    why => format!(": {why}"),
                };
                self.line(&format!("{} raised to {value}{}{why}", raised.limit, by(&raised.by)))
            }
            EventKind::Signal(signal) => {
                let words = match signal.kind {
                    SignalKind::Stop => "a stop was asked for",
                    SignalKind::Kill => "a stop at once was asked for",
                    SignalKind::Pause => "a pause was asked for",
                    SignalKind::Resume => "goes on",
                };
                self.line(&format!("{words}{}", by(&signal.by)))
            }
            EventKind::Suspended(suspended) if suspended.ms > 0 => {
                let slept = duration(Duration::from_millis(suspended.ms));
                self.line(&format!("everything stood still for {slept}, which does not count"))
            }
            EventKind::Noted(noted) => self.noted(noted, engine),
            // Where nobody is waited for, the card follows at once and has the question.
            EventKind::Asked(asked) if asked.unheard => String::new(),
            EventKind::Asked(_) => self.asked(engine),
            EventKind::Answered(answered) => {
                let note = answered.note.as_deref().map(|note| format!(": {note}"));
                let answer = match answered.answer {
                    Answer::Fix => "fix",
                    Answer::Continue => "continue",
                    Answer::Abort => "abort",
                };
                let who = by(answered.by.as_deref().unwrap_or_default());
                self.line(&format!("answered{who}: {answer}{}", note.unwrap_or_default()))
            }
            EventKind::Released(released) => {
                let why = released.why.as_deref().map(|why| format!(": {why}"));
                let who = by(released.by.as_deref().unwrap_or_default());
                self.line(&format!("released{who}{}", why.unwrap_or_default()))
            }
            _ => String::new(),
        }
    }

    fn decided(&mut self, decision: &Decision, engine: &Engine) -> String {
        let warnings = self.new_warnings(decision);
        let now = (decision.verdict, decision.reason.clone());
        if matches!(decision.verdict, Verdict::Continue | Verdict::Warn) {
            self.said = None;
            return warnings;
        }
        if self.said.as_ref() == Some(&now) {
            return String::new();
        }
        let reason = decision.reason.as_deref().unwrap_or("");
        let text = format!("{reason}: {}", decision.message);
        let said = match decision.verdict {
            Verdict::Retry | Verdict::Recover => return warnings,
            // Who asked for it knows, and was told when it was heard.
            Verdict::Stop if ["user_stopped", "terminated"].contains(&reason) => {
                return String::new();
            }
            Verdict::Stop if engine.starts_afresh_instead(decision) => return warnings,
            // Between two iterations the card follows at once and says it better; a question says
            // itself what is asked.
            Verdict::Hold | Verdict::Stop if self.iteration.is_some() => {
                let will = if decision.verdict == Verdict::Stop { "stop" } else { "hold" };
                self.warning(&match ends_at_once(engine.policy()) {
                    true => format!("ends this iteration to {will}: {text}"),
                    false => format!("will {will} when this iteration has ended: {text}"),
                })
            }
            _ => return String::new(),
        };
        self.said = Some(now);
        said
    }

    fn remark(&mut self, remark: &Remark) -> String {
        match remark {
            Remark::Note(text) => self.line(text),
            Remark::Warning(text) => self.warning(text),
        }
    }

    fn block(&mut self, status: &Status<'_>, columns: usize) -> Vec<String> {
        live::block(status, columns, self.colour)
    }

    fn halted(&mut self, end: &Ended<'_>) -> String {
        // It waits for as long as it takes, now that nobody waits with it.
        let question = OpenQuestion::of(end.engine).map(OpenQuestion::without_end);
        let now = end.engine.view().now.at;
        let card = Card {
            state: end.state,
            decision: end.decision,
            engine: end.engine,
            question: question.as_ref().map(|question| (question, now)),
            kept: end.kept,
            verification: end.verification,
            interrupted: false,
            supervised: true,
            pruned: false,
            without: None,
        };
        let untold = self
            .untold
            .take()
            .map(|told| painted(&format!("{told}\n"), Style::new().dimmed(), self.colour));
        format!("{}\n{}", untold.unwrap_or_default(), card.show(self.colour))
    }
}

/// Whether a stop leaves an iteration no time to finish.
fn ends_at_once(policy: &Policy) -> bool {
    let settings = policy.settings.loop_.as_ref();
    settings.and_then(|set| set.finish_within).is_some_and(|time| time.0.is_zero())
}

/// What ends the run, in a few words each, success first.
fn stops(engine: &Engine) -> Vec<String> {
    let policy = engine.policy();
    let written = policy.rules.iter().enumerate().filter(|(_, rule)| !rule.shadow);
    let (done, others): (Vec<_>, Vec<_>) =
        written.partition(|(_, rule)| rule.then == Verdict::Complete);
    let words = |index: usize| harmless(&wanted(engine.condition(index)));
    let mut stops: Vec<_> =
        done.into_iter().map(|(index, _)| format!("{} (done)", words(index))).collect();
    for (index, rule) in others.into_iter().filter(|(_, rule)| is_limit(rule)) {
        stops.push(match rule.then {
            Verdict::Hold => format!("{} (holds)", words(index)),
            Verdict::Ask => format!("{} (asks)", words(index)),
            _ => words(index),
        });
    }
    stops.extend(timeouts(policy));
    let left_out = stops.len().saturating_sub(MOST_STOPS);
    if left_out > 1 {
        stops.truncate(MOST_STOPS);
        stops.push(format!("and {left_out} more"));
    }
    stops
}

fn timeouts(policy: &Policy) -> Vec<String> {
    let Some(settings) = &policy.settings.loop_ else { return Vec::new() };
    let idle = settings.idle_timeout.map(|long| format!("{} idle", duration(long.0)));
    let long = settings.iteration_timeout.map(|long| format!("{} in one go", duration(long.0)));
    idle.into_iter().chain(long).collect()
}

/// Parts with dots between them, folded between parts where that is possible.
fn folded_parts(lead: &str, parts: &[String]) -> String {
    let mut text = String::new();
    let mut line = lead.to_owned();
    let indent = " ".repeat(lead.width().min(MOST_INDENT));
    let mut begins = true;
    for part in parts {
        let part = cut(part, WIDTH.saturating_sub(indent.width()));
        let gap = if begins { "" } else { " · " };
        if line.width() + gap.width() + part.width() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = format!("{indent}{part}");
        } else {
            line.push_str(gap);
            line.push_str(&part);
        }
        begins = false;
    }
    text + line.trim_end() + "\n"
}

fn by(who: &str) -> String {
    if who.is_empty() { String::new() } else { format!(" by {who}") }
}

/// The command in the header; the whole one is in `backstop show`.
const LONGEST_COMMAND: usize = 56;
const MOST_STOPS: usize = 9;
const MOST_REQUESTS: usize = 5;
const MOST_INDENT: usize = 9;
/// An iteration that takes longer deserves a line even if it has nothing to show.
const QUICK_MS: u64 = 1_000;
