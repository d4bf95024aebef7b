//! One run as others look at it: where it stands, what is known, and what its policy says now.

use backstop_adapters::TestHistory;
use backstop_core::decision::Decision;
use backstop_core::engine::Engine;
use backstop_core::facts::{Health, View};
use backstop_core::id::RunId;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::{Moment, Timestamp};
use backstop_store::{Home, Run, RunFolder, Store, StoreError};
use serde_json::{Value as Json, json};

mod carried;
pub(crate) mod open_question;

pub use carried::{Inside, Origin, Past, UnreadablePolicy};
pub use open_question::OpenQuestion;

use crate::clock::wall_time;
use crate::loading::{self, Loaded};
use crate::recovery::{finish_halt, is_interrupted};

/// A run and where it stands.
#[derive(Debug)]
pub struct Seen {
    pub run: Run,
    pub loaded: Loaded,
    pub state: RunState,
    /// What the policy says now; for a halted run, what halted it where that still holds.
    pub decision: Decision,
    pub interrupted: bool,
    pub now: Timestamp,
}

impl Seen {
    /// Looks at a run. A halt that a crash has cut short is finished first.
    ///
    /// # Errors
    /// There is no such run, or what is stored of it can't be read.
    pub async fn look(store: &dyn Store, home: &Home, run: RunId) -> Result<Self, StoreError> {
        let now = wall_time();
        let run = finish_halt(store, home, run).await?;
        let lease = store.lease_fetch(run.id).await?;
        let interrupted = is_interrupted(&run, lease.as_ref(), now);
        let mut loaded = loading::load(store, run.id).await?;
        let at = moment(&loaded.engine, &run, interrupted, now);
        let decision = loaded.engine.poll_decision(at);
        let state = state(&run, &loaded);
        Ok(Self { run, loaded, state, decision, interrupted, now })
    }

    /// What a person is asked now.
    pub fn question(&self) -> Option<OpenQuestion> {
        question(&self.loaded.engine, &self.run, self.interrupted)
    }

    /// The object of `state.json`, with the facts.
    pub fn to_json(&self, tests: Option<&TestHistory>) -> Json {
        object(&self.state, self.interrupted, self.question().as_ref(), &self.loaded, tests)
    }
}

/// Nothing happens to a run that nobody drives: it is as it was when its journal ended.
fn moment(engine: &Engine, run: &Run, interrupted: bool, now: Timestamp) -> Moment {
    match run.status.is_halted() || interrupted {
        true => engine.moment(Timestamp::from_nanos(i64::MIN)),
        false => engine.moment(now),
    }
}

/// The object of `state.json`, with the facts.
pub fn object(
    state: &RunState,
    interrupted: bool,
    question: Option<&OpenQuestion>,
    loaded: &Loaded,
    tests: Option<&TestHistory>,
) -> Json {
    let mut object = standing(state, interrupted, question);
    object["facts"] = loaded.engine.view().to_json();
    object["health"] = health_json(&loaded.engine.view());
    if let Some(tests) = tests {
        object["test_history"] = tests_json(tests);
    }
    object
}

/// The object of `state.json`, and what is known of a run beside it. A status is what was recorded
/// last: of a run whose supervisor is gone that is `running`, so `interrupted` is always told.
fn standing(state: &RunState, interrupted: bool, question: Option<&OpenQuestion>) -> Json {
    let mut object = json!(state);
    object["interrupted"] = interrupted.into();
    if let Some(question) = question {
        object["question"] = json!(question);
    }
    object
}

/// A run as it is listed.
#[derive(Debug)]
pub struct Listed {
    pub state: RunState,
    /// Its supervisor is gone.
    pub interrupted: bool,
    /// What a person is asked now.
    pub question: Option<OpenQuestion>,
}

impl Listed {
    /// # Errors
    /// What is stored of the run can't be read.
    pub async fn look(store: &dyn Store, run: &Run, now: Timestamp) -> Result<Self, StoreError> {
        // Nothing can be asked by what has ended, and only what is held may wait for an answer.
        let has_ended = run.pruned || (run.status.is_halted() && run.status != RunStatus::Held);
        if let (true, Ok(state)) = (has_ended, serde_json::from_value(run.state.clone())) {
            return Ok(Self { state, interrupted: false, question: None });
        }
        let lease = store.lease_fetch(run.id).await?;
        let interrupted = is_interrupted(run, lease.as_ref(), now);
        let mut loaded = loading::load(store, run.id).await?;
        let until = if interrupted { Timestamp::from_nanos(i64::MIN) } else { now };
        loaded.engine.handle_timeout(loaded.engine.moment(until));
        let question = question(&loaded.engine, run, interrupted);
        Ok(Self { state: state(run, &loaded), interrupted, question })
    }

    /// The object of `state.json`, and what is known of the run beside it.
    pub fn to_json(&self) -> Json {
        standing(&self.state, self.interrupted, self.question.as_ref())
    }
}

/// What a person is asked. Whether an iteration may start is asked by those only who would start it.
fn question(engine: &Engine, run: &Run, interrupted: bool) -> Option<OpenQuestion> {
    let is_driven = run.supervised && !interrupted && !run.status.is_halted();
    let question = OpenQuestion::of(engine).filter(|open| is_driven || !open.is_of_turn())?;
    // What nobody drives waits for as long as it takes.
    Some(if is_driven { question } else { question.without_end() })
}

/// Where a run stands: as it was left, or as its facts are now.
pub fn state(run: &Run, loaded: &Loaded) -> RunState {
    let stored = || serde_json::from_value(run.state.clone()).ok();
    let kept = if run.status.is_halted() || run.pruned { stored() } else { None };
    kept.unwrap_or_else(|| RunState::going_on(run.id, run.status, &loaded.engine))
}

/// The health of a run, against the limits of its policy.
pub fn health(view: &View<'_>) -> Health {
    view.facts.health(view.now, view.limits)
}

/// What the run has kept of its tests; none where nobody has tested.
pub fn test_history(folder: &RunFolder) -> Option<TestHistory> {
    let bytes = std::fs::read(folder.test_history()).ok()?;
    let history: TestHistory = serde_json::from_slice(&bytes).ok()?;
    (history.runs() > 0).then_some(history)
}

/// The parts of the health, each with its share of the score.
fn health_json(view: &View<'_>) -> Json {
    let health = health(view);
    let parts = health.parts().into_iter().map(|part| {
        let figures = json!({ "value": part.value, "weight": part.weight });
        (part.name.to_owned(), figures)
    });
    json!({ "score": health.score(), "parts": parts.collect::<serde_json::Map<_, _>>() })
}

fn tests_json(history: &TestHistory) -> Json {
    let failing = history.failing().into_iter().map(|(name, streak)| {
        json!({
            "name": name,
            "streak": streak,
            "flaky": history.is_flaky(name),
            "last_error": history.last_error(name),
        })
    });
    let change = history.last_change();
    json!({
        "runs": history.runs(),
        "newly_failing": change.newly_failing,
        "fixed": change.fixed,
        "still_failing": change.still_failing,
        "new": change.new_tests,
        "removed": change.removed,
        "flaky": change.flaky,
        "failing": failing.collect::<Vec<_>>(),
    })
}
