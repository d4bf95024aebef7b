//! Where a run stands, in words: why, and what to do next. The stop card and every report say the
//! same.

use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::reason::{AnyReason, ReasonCode, Values};
use backstop_core::state::{self, RunState, RunStatus, StopReason};
use serde::Serialize;

/// A run as it was left, or as it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    pub state: &'a RunState,
    /// What halted it, where it is at hand: it fills in the figures of the next commands.
    pub decision: Option<&'a Decision>,
    pub engine: &'a Engine,
    /// Its supervisor is gone and nobody halted it.
    pub interrupted: bool,
    /// Somebody drives it, or did: what nobody drives can't be watched.
    pub supervised: bool,
}

/// A command that makes sense now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextCommand {
    pub command: String,
    /// What it is good for, in a few words; empty where it speaks for itself.
    pub good_for: &'static str,
}

impl Standing<'_> {
    /// What happened, and the first thing to know about it; nothing while the run goes on, unless it
    /// waits.
    pub fn why(&self) -> String {
        if self.interrupted {
            return "Its supervisor is gone and halted nothing: killed, or the machine went down. \
                    Everything that was journalled is kept."
                .to_owned();
        }
        let Some(reason) = &self.state.stop_reason else { return self.waits_for() };
        match self.unmetered() {
            true => format!(
                "{}, so the limit can't be held. {}Let the command report it (`backstop emit \
                 usage`), or go on without this limit.",
                reason.message.trim_end_matches('.'),
                self.how_to_price()
            ),
            false => self.sentences(reason),
        }
    }

    /// What helps where tokens are known and their cost is not.
    fn how_to_price(&self) -> &'static str {
        let code = self.state.stop_reason.as_ref().map(|reason| &*reason.code);
        let is_of_cost = code == Some(ReasonCode::CostLimit.as_str());
        match is_of_cost && self.engine.facts().has_unpriced_tokens() {
            true => {
                "Its tokens are known: set what they cost in `[prices]`, where `[prices.\"*\"]` \
                 counts for models that are not named. "
            }
            false => "",
        }
    }

    fn waits_for(&self) -> String {
        let facts = self.engine.facts();
        if self.state.run_status != RunStatus::Running || !facts.ended_rate_limited() {
            return String::new();
        }
        let until = facts.retry_at().map(|at| {
            let at = at.to_jiff().to_zoned(self.engine.zone().clone());
            format!(" until {}", at.strftime("%Y-%m-%d %H:%M:%S %Z"))
        });
        format!("The agent reached a limit, which is waited out{}.", until.unwrap_or_default())
    }

    /// At most three commands, the most helpful first.
    pub fn next_commands(&self) -> Vec<NextCommand> {
        let run = self.state.run_id;
        let mut commands = Vec::new();
        if let Some(reason) = &self.state.stop_reason {
            let reason = self.engine.policy().reason(&reason.code);
            let values = self.values().with("run", run);
            commands = reason.next_commands(&values);
            commands.extend(self.raising(&reason, &values));
            if self.unmetered() {
                commands.retain(|command| !command.contains(" --raise "));
                commands.insert(0, format!("backstop resume {run} --unmetered allow"));
            }
        }
        let verb = |command: &String| command.split_whitespace().nth(1).map(str::to_owned);
        // Only an open question can be answered, and only a held run released.
        let asks = self.engine.facts().question().is_some();
        let is_held = self.state.run_status == RunStatus::Held;
        commands.retain(|command| match verb(command).as_deref() {
            Some("answer") => asks,
            Some("release") => is_held,
            _ => true,
        });
        let answers = |command: &String| verb(command).as_deref() == Some("answer");
        if asks && !commands.iter().any(answers) {
            commands.insert(0, format!("backstop answer {run} continue"));
        }
        if self.engine.facts().turn().is_some() && !self.interrupted {
            commands.insert(0, format!("backstop answer {run} go"));
        }
        let lets_go = |command: &String| {
            matches!(verb(command).as_deref(), Some("resume" | "release" | "answer"))
        };
        if self.state.run_status == RunStatus::Held && !commands.iter().any(lets_go) {
            commands.insert(0, format!("backstop resume {run}"));
        }
        if self.state.run_status == RunStatus::Paused && self.supervised && !self.interrupted {
            commands.insert(0, format!("backstop pause {run} --continue"));
        }
        let usual: &[&str] = match (self.state.run_status, self.interrupted) {
            (_, true) => &["resume", "doctor", "logs"],
            (RunStatus::Running | RunStatus::Paused, false) if self.supervised => {
                &["attach", "stop", "show"]
            }
            (RunStatus::Running | RunStatus::Paused, false) => &["stop", "show", "doctor"],
            (RunStatus::Completed, false) => &["report", "show", "logs"],
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
        let offered = |command: String| NextCommand { good_for: good_for(&command), command };
        commands.into_iter().map(offered).collect()
    }

    /// How to raise a limit that has a reason of its policy's own: it does not go on otherwise.
    fn raising(&self, reason: &AnyReason<'_>, values: &Values) -> Option<String> {
        let AnyReason::Custom(reason) = reason else { return None };
        let mut limits = self.engine.policy().raisable().into_iter();
        let template = format!("backstop resume {{run}} --raise {}={{raised|VALUE}}", reason.code);
        limits.any(|limit| limit.code == reason.code).then(|| values.fill_command(&template))
    }

    /// Whether it is not the limit that was reached, but nobody can tell how far it is.
    pub(crate) fn unmetered(&self) -> bool {
        let decision = self.decision.filter(|_| self.state.stop_reason.is_some());
        decision.is_some_and(|decision| state::is_unmetered(decision, self.engine))
    }

    /// The message, and what the diagnosis adds to it in two sentences.
    fn sentences(&self, reason: &StopReason) -> String {
        let message = reason.message.trim().trim_end_matches('.');
        if self.state.run_status == RunStatus::Completed {
            return format!("{message}.");
        }
        let values = self.values();
        let figures = ["{value|}", "{threshold|}"].map(|name| values.fill_prose(name));
        let detail = values.fill_prose("{detail|}");
        let is_said = !detail.is_empty() && message.contains(&detail);
        let says_the_same = |sentence: &str| {
            let has_figures = figures
                .iter()
                .all(|figure| !figure.is_empty() && sentence.contains(figure.as_str()));
            let has_detail = is_said && sentence.contains(DETAIL);
            has_figures || has_detail || (!message.is_empty() && sentence.contains(message))
        };
        // What the world said may look like several sentences, so it is put in behind the others.
        let diagnosis = match self.decision {
            Some(_) => {
                let open = if detail.is_empty() { "" } else { DETAIL };
                let reason = self.engine.policy().reason(&reason.code);
                reason.diagnosis(&values.with("detail", open))
            }
            None => reason.diagnosis.clone(),
        };
        let added = diagnosis.split_inclusive(". ").map(str::trim);
        let added = added.filter(|sentence| !says_the_same(sentence)).take(2);
        let added = added.map(|sentence| sentence.replace(DETAIL, &detail));
        let said = (!message.is_empty()).then(|| format!("{message}."));
        said.into_iter().chain(added).collect::<Vec<_>>().join(" ")
    }

    /// What is known of the run, to be filled into texts.
    fn values(&self) -> Values {
        match self.decision {
            Some(decision) => state::values(self.state.run_id, decision, self.engine),
            None => Values::new(),
        }
    }
}

fn good_for(command: &str) -> &'static str {
    let has = |words: &str| command.contains(words);
    match command.split_whitespace().nth(1).unwrap_or("") {
        "doctor" => "why, with the evidence",
        "resume" if has("--raise") => "go on, with more room",
        "resume" if has("--allow-lockfiles") => "go on, let them change",
        "resume" if has("--force-parallel") => "go on beside the other",
        "resume" if has("--note") => "go on, with a hint",
        "resume" if has("--auto-resume") => "go on, by itself next time",
        "resume" => "go on where it was",
        "report" => "the whole story",
        "show" => "figures and every limit",
        "logs" => "what it printed",
        "answer" => "answer its question",
        "release" => "let it go",
        "attach" => "watch it live",
        "stop" => "end it",
        "pause" if has("--continue") => "let it go on",
        "replay" => "what another policy would have done",
        "policy" if has("explain") => "every rule in plain words",
        "policy" if has("apply") => "put an edited policy in force",
        _ => "",
    }
}

const MOST_COMMANDS: usize = 3;

/// Stands for what the world said until the sentences around it are told apart.
const DETAIL: &str = "{detail}";
