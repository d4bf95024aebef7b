//! From the events of a journal to a report, one event at a time.

use std::collections::BTreeMap;

use backstop_core::condition::Condition;
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind};
use backstop_core::id::RunId;
use backstop_core::policy::{self, Command};
use backstop_core::state::{RunState, RunStatus, StopReason};
use backstop_core::time::{Moment, Timestamp, millis};

use crate::figures::{command_line, counted, limit};
use crate::report::{Asked, Decisions, Ended, Figures, Health, Next, OverTime, Point, Report};
use crate::series::Series;
use crate::standing::Standing;

mod iterations;
mod rules;
mod test_runs;
mod timeline;
mod work;

use iterations::Iterating;
use rules::Rules;
use test_runs::TestRuns;
use timeline::Timeline;
use work::Work;

/// What is known of a run beside its journal.
#[derive(Clone, Debug)]
pub struct About {
    pub run: RunId,
    pub command: Vec<String>,
    pub cwd: String,
    pub labels: BTreeMap<String, String>,
    pub created_at: Timestamp,
    pub supervised: bool,
    pub once: bool,
    /// What every iteration reads, in words.
    pub stdin: Option<String>,
    /// Where the policy came from.
    pub policy_name: String,
}

/// How the run stands when its report is made.
#[derive(Clone, Debug)]
pub struct Ending {
    pub status: RunStatus,
    /// As the halt left it; none for a run that goes on.
    pub state: Option<RunState>,
    /// Its supervisor is gone and nobody halted it.
    pub interrupted: bool,
    /// Its journal was removed.
    pub pruned: bool,
    pub now: Timestamp,
}

/// Folds events into a report. What it keeps is bounded: figures over time are thinned out, lists
/// keep their beginning and their end, and each says what it left out.
#[derive(Debug)]
pub struct ReportBuilder {
    about: About,
    engine: Engine,
    rules: Rules,
    iterations: Iterating,
    tests: TestRuns,
    timeline: Timeline,
    work: Work,
    points: Series<Point>,
    events: u64,
    first_at: Option<Timestamp>,
}

impl ReportBuilder {
    /// `engine` has the run's policy and has seen nothing yet.
    pub fn new(about: About, mut engine: Engine) -> Self {
        engine.decide(Moment::default());
        Self {
            rules: Rules::new(&engine),
            iterations: Iterating::default(),
            tests: TestRuns::default(),
            timeline: Timeline::default(),
            work: Work::default(),
            points: Series::new(MOST_POINTS),
            events: 0,
            first_at: None,
            about,
            engine,
        }
    }

    /// Takes in the next event of the journal.
    pub fn take(&mut self, event: Event) {
        // Every event of a journal has a time of its own.
        self.engine.handle_event(&event, Timestamp::default());
        self.events += 1;
        self.first_at = self.first_at.or(event.at);
        let now = self.engine.moment(LAST);
        if self.points.wants(now.active) {
            self.sample(now);
        } else if rules::may_turn(&event.kind) && self.rules.may_look() {
            self.engine.decide(now);
            self.rules.look(&self.engine, now.at);
        }
        self.iterations.take(&event, self.engine.facts());
        self.timeline.take(&event, now);
        match event.kind {
            EventKind::Tests(tests) => self.tests.take(tests, now),
            kind => self.work.take(kind, event.at),
        }
    }

    /// The report of the run as it stands now.
    pub fn finish(mut self, ending: &Ending) -> Report {
        let stands_still = ending.status.is_halted() || ending.interrupted;
        let now = self.engine.moment(if stands_still { LAST } else { ending.now });
        let decision = self.engine.poll_decision(now);
        if self.events > 0 {
            let point = self.point(now);
            self.rules.look(&self.engine, now.at);
            self.points.set_last(now.active, point);
        }
        let going_on = || RunState::going_on(self.about.run, ending.status, &self.engine);
        let state = &ending.state.clone().unwrap_or_else(going_on);
        let halting = state.stop_reason.as_ref().map(|reason| reason.code.as_str());
        let is_halting = halting == decision.reason.as_deref();
        let standing = Standing {
            state,
            decision: is_halting.then_some(&decision),
            engine: &self.engine,
            interrupted: ending.interrupted,
            supervised: self.about.supervised,
        };
        let mut commands = standing.next_commands();
        // Whoever reads this has it already.
        commands.retain(|next| !next.command.starts_with("backstop report "));
        let reason = halting.map(|code| self.engine.policy().reason(code));
        let next = Next { step: reason.map(|reason| reason.next_step()), commands };
        let ended = state.stop_reason.as_ref().map(|reason| self.ended(reason, &standing));
        let asked = self.asked();
        let figures = self.figures(state, now);
        let summary = summary(&standing, &decision);
        let over_time = self.over_time();
        let limits = self.rules.limits(&self.engine);
        let nearly = self.rules.nearly(&self.engine);
        let (mattered, timeline) = self.timeline.finish();
        let mut done = self.work.finish(state, self.engine.facts());
        done.iterations = self.iterations.finish();
        let (tests, test_points) = self.tests.finish();
        done.tests = tests;
        let mut notes = Vec::new();
        if ending.pruned {
            notes.push("Its journal was removed by age: only its last figures are left.");
        }
        if timeline.policy_changed {
            notes.push(
                "The policy was changed while it ran: limits and health are measured by the last.",
            );
        }
        Report {
            version: Report::VERSION,
            run: self.about.run,
            status: if ending.interrupted { "interrupted" } else { state.run_status.as_str() },
            summary,
            reported_at: ending.now,
            asked,
            ended,
            figures,
            limits,
            done,
            decisions: Decisions { mattered, nearly },
            timeline: timeline.entries,
            series: OverTime { points: self.points.into_points(), tests: test_points, ..over_time },
            next,
            notes: notes.into_iter().map(str::to_owned).collect(),
        }
    }

    fn sample(&mut self, now: Moment) {
        self.engine.decide(now);
        self.rules.look(&self.engine, now.at);
        let point = self.point(now);
        self.points.push(now.active, point);
    }

    fn point(&self, now: Moment) -> Point {
        let view = self.engine.view();
        Point {
            at: now.at,
            active_ms: millis(now.active),
            iteration: view.facts.iterations(),
            tokens: view.facts.tokens(),
            cost_usd: view.facts.cost_usd(),
            health: view.facts.health(view.now, view.limits).score(),
            progress: self.rules.drawn_progress(&self.engine),
        }
    }

    fn asked(&self) -> Asked {
        let about = &self.about;
        let settings = &self.engine.policy().settings;
        let work = settings.work.as_ref();
        Asked {
            command: about.command.clone(),
            cwd: about.cwd.clone(),
            labels: about.labels.clone(),
            started_at: Some(self.first_at.unwrap_or(about.created_at)),
            supervised: about.supervised,
            once: about.once,
            requirements: work
                .and_then(|work| work.requirements.as_ref())
                .map(|text| text.0.clone()),
            task: work.and_then(|work| work.task.as_ref()).map(|text| text.0.clone()),
            stdin: about.stdin.clone(),
            verify: settings.verify.as_ref().map(|verify| {
                let stages = verify.stages();
                let commands: Vec<_> =
                    stages.iter().map(|stage| shell_words(&stage.command)).collect();
                commands.join(" && ")
            }),
            policy: about.policy_name.clone(),
            policy_hash: self.engine.policy_hash().to_owned(),
            rules: policy::explain(self.engine.policy()),
        }
    }

    fn ended(&self, reason: &StopReason, standing: &Standing<'_>) -> Ended {
        let state = standing.state;
        Ended {
            reason: reason.code.clone(),
            title: match (standing.unmetered(), reason.condition.as_deref()) {
                (true, Some("max_cost")) => "Cost not known".to_owned(),
                (true, _) => "Usage not known".to_owned(),
                (false, _) => self.engine.policy().reason(&reason.code).title().to_owned(),
            },
            message: reason.message.clone(),
            diagnosis: reason.diagnosis.clone(),
            condition: reason.condition.clone(),
            value: reason.value,
            threshold: reason.threshold,
            exit_code: reason.exit_code,
            at: state.stopped_at,
            resumable: state.resumable,
        }
    }

    fn figures(&self, state: &RunState, now: Moment) -> Figures {
        let view = self.engine.view();
        let health = view.facts.health(view.now, view.limits);
        Figures {
            statistics: state.statistics.clone(),
            wall_ms: self.first_at.map_or(0, |first| millis(now.at.since(first))),
            events: self.events,
            actions: self.work.actions,
            failed_actions: self.work.failed_actions,
            tests: view.facts.test_counts(),
            health: (self.events > 0).then(|| Health {
                score: health.score(),
                tokens_left: health.tokens_left,
                context_left: health.context_left,
                errors_left: health.errors_left,
                recent_progress: health.recent_progress,
            }),
        }
    }

    fn over_time(&self) -> OverTime {
        let engine = &self.engine;
        OverTime {
            limits: self.rules.drawn_names(engine),
            token_limit: limit(engine, |when| matches!(when, Condition::MaxTokens(_))),
            cost_limit: limit(engine, |when| matches!(when, Condition::MaxCost(_))),
            health_limit: limit(engine, |when| matches!(when, Condition::Health(_))),
            ..OverTime::default()
        }
    }
}

/// One sentence for somebody who reads nothing else.
fn summary(standing: &Standing<'_>, now: &Decision) -> String {
    let state = standing.state;
    let iterations = counted(state.statistics.iterations, "iteration", "iterations");
    match (&state.stop_reason, state.run_status) {
        _ if standing.interrupted || standing.unmetered() => standing.why(),
        (Some(reason), _) => format!("{}.", reason.message.trim_end_matches('.')),
        (None, RunStatus::Paused) => format!("It is paused after {iterations}."),
        (None, _) => match now.reason {
            Some(_) => format!("It goes on after {iterations}: {}.", lowered(&now.message)),
            None => format!("It goes on after {iterations}."),
        },
    }
}

/// A command of the policy as it would be typed.
fn shell_words(command: &Command) -> String {
    match command {
        Command::Shell(text) => text.clone(),
        Command::Program(words) => command_line(words),
    }
}

/// The message as it follows a colon.
fn lowered(message: &str) -> String {
    let mut characters = message.trim_end_matches('.').chars();
    let first = characters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

/// Asked for this time the clock answers with that of the last event.
const LAST: Timestamp = Timestamp::from_nanos(i64::MIN);
/// As many as a chart can show.
const MOST_POINTS: usize = 512;
