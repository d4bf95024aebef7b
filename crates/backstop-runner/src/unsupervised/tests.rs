//! Runs without a supervisor on a real store.

use std::sync::Arc;

use backstop_core::document::Syntax;
use backstop_core::event::LimitValue;
use backstop_store::{Location, open};
use tempfile::TempDir;

use super::*;
use backstop_core::event::EventKind;

struct Fixture {
    store: Arc<dyn Store>,
    home: Home,
    run: RunId,
    runtime: tokio::runtime::Runtime,
    _folder: TempDir,
}

impl Fixture {
    fn new(policy: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let store = runtime.block_on(open(&Location::Embedded(home.clone()))).unwrap();
        let launch = Launch { cwd: folder.path().to_owned(), ..Launch::default() };
        let policy = pinned(policy);
        let begun = begin(&*store, &home, &policy, &launch);
        let run = runtime.block_on(begun).unwrap();
        Self { store, home, run, runtime, _folder: folder }
    }

    fn emit(&self, line: &str) -> Outcome {
        let event = Event::from_json(line.as_bytes()).unwrap();
        let emitted = emit(&*self.store, &self.home, self.run, event);
        self.runtime.block_on(emitted).unwrap()
    }

    fn fail(&self, id: &str) -> Outcome {
        self.emit(&format!(r#"{{"type":"unit","id":"{id}","status":"failed"}}"#))
    }

    fn reopen(&self) -> Result<Outcome, UnsupervisedError> {
        let by = Some("ann".to_owned());
        self.runtime.block_on(reopen(&*self.store, &self.home, self.run, Vec::new(), by, None))
    }

    /// The types of all journalled events.
    fn journal(&self) -> Vec<&'static str> {
        self.events().iter().map(|event| event.kind.type_name()).collect()
    }

    fn events(&self) -> Vec<Event> {
        let stored = self.runtime.block_on(self.store.event_list(self.run, 0, 1000)).unwrap();
        stored.iter().map(|event| Event::from_json(event.body.as_bytes()).unwrap()).collect()
    }

    fn status(&self) -> RunStatus {
        self.runtime.block_on(self.store.run_fetch(self.run)).unwrap().unwrap().status
    }
}

fn pinned(policy: &str) -> PinnedPolicy {
    PinnedPolicy {
        policy: Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy,
        text: Some(policy.to_owned()),
        name: "p.toml".to_owned(),
        put_by: "ann".to_owned(),
    }
}

const TWO_FAILS: &str = "[[rule]]\nwhen = { type = \"consecutive_fails\", count = 2 }\n\
                         then = \"stop\"\n";

#[test]
fn a_halt_is_journalled_in_order_and_once() {
    let fixture = Fixture::new(TWO_FAILS);
    assert!(!fixture.fail("a").halted_now);
    let outcome = fixture.fail("b");
    assert!(outcome.halted_now);
    assert_eq!(outcome.answer.exit_code(), 41);
    let expected = ["run_started", "unit", "unit", "decision", "halted"];
    assert_eq!(fixture.journal(), expected);
    assert!(!fixture.fail("c").halted_now);
    assert_eq!(fixture.journal()[5..], ["unit"]);
    assert_eq!(fixture.status(), RunStatus::Stopped);
    let EventKind::Decided(decided) = &fixture.events()[3].kind else { panic!("a decision") };
    assert_eq!(decided.streaks.as_deref(), Some(&["consecutive_fails".to_owned()][..]));
    let decisions = fixture.runtime.block_on(fixture.store.decision_list(fixture.run)).unwrap();
    assert_eq!((decisions.len(), decisions[0].seq), (1, 4));
}

#[test]
fn a_run_that_goes_on_again_is_not_asked_twice() {
    let fixture = Fixture::new(TWO_FAILS);
    assert!(matches!(fixture.reopen(), Err(UnsupervisedError::GoesOn { .. })));
    fixture.fail("a");
    fixture.fail("b");
    assert_eq!(fixture.reopen().unwrap().answer.verdict(), Some("continue"));
    assert_eq!(fixture.status(), RunStatus::Running);
    assert_eq!(fixture.fail("c").answer.verdict(), Some("continue"));
    assert_eq!(fixture.fail("d").answer.verdict(), Some("stop"));
    assert_eq!(fixture.status(), RunStatus::Stopped);
}

#[test]
fn a_decision_is_journalled_only_when_it_changes() {
    let fixture = Fixture::new(
        "[[rule]]\nwhen = { type = \"consecutive_fails\", count = 1 }\nthen = \"warn\"\n",
    );
    fixture.fail("a");
    fixture.fail("b");
    fixture.emit(r#"{"type":"unit","id":"c","status":"approved"}"#);
    let expected = ["run_started", "unit", "decision", "unit", "unit", "decision"];
    assert_eq!(fixture.journal(), expected);
    assert_eq!(fixture.status(), RunStatus::Running);
}

#[test]
fn what_holds_before_anything_happened_halts_at_the_first_report() {
    let fixture = Fixture::new(
        "[[rule]]\nwhen = { type = \"wall_clock\", at = \"2020-01-01T00:00:00Z\" }\n\
         then = \"hold\"\n",
    );
    let outcome = fixture.emit(r#"{"type":"drift","score":0.1}"#);
    assert_eq!(outcome.answer.verdict(), Some("hold"));
    assert_eq!(fixture.status(), RunStatus::Held);
    assert_eq!(fixture.journal(), ["run_started", "drift", "decision", "halted"]);
}

#[test]
fn facts_after_the_journal_equal_the_facts_that_were_kept() {
    let fixture = Fixture::new(TWO_FAILS);
    fixture.fail("a");
    fixture.fail("b");
    fixture.reopen().unwrap();
    fixture.emit(r#"{"type":"usage","input_tokens":5,"cost_usd":0.25}"#);
    let mut replayed = journalled::engine(pinned(TWO_FAILS).policy, Facts::default());
    for event in fixture.events() {
        replayed.handle_event(&event, Timestamp::default());
    }
    let kept = fixture.runtime.block_on(fixture.store.snapshot_fetch(fixture.run)).unwrap();
    let kept = kept.unwrap();
    assert_eq!(kept.seq, fixture.events().len() as u64);
    assert_eq!(&serde_json::from_str::<Facts>(&kept.facts).unwrap(), replayed.facts());
}

#[test]
fn an_event_from_the_future_is_taken_in_now() {
    let fixture = Fixture::new(TWO_FAILS);
    fixture.emit(r#"{"type":"drift","score":0.1,"at":"2200-01-01T00:00:00Z","seq":99}"#);
    let event = &fixture.events()[1];
    assert!(event.at.unwrap() <= wall_time());
    assert_eq!(event.seq, Some(2));
}

#[test]
fn time_while_halted_does_not_count() {
    let fixture = Fixture::new(TWO_FAILS);
    fixture.fail("a");
    fixture.fail("b");
    let halted = fixture.events().last().unwrap().at.unwrap();
    let mut engine = journalled::engine(pinned(TWO_FAILS).policy, Facts::default());
    for event in fixture.events() {
        engine.handle_event(&event, Timestamp::default());
    }
    let hour = std::time::Duration::from_secs(3600);
    assert_eq!(engine.moment(halted.plus(hour)).active, engine.moment(halted).active);
}

#[test]
fn a_raised_total_lets_a_stopped_run_go_on() {
    let fixture = Fixture::new("[limits]\niterations = 1\n");
    let iteration = r#"{"type":"iteration_finished","exit_code":0}"#;
    assert_eq!(fixture.emit(iteration).answer.exit_code(), 125);
    let raises = vec![Raise { limit: "max_iterations".to_owned(), value: LimitValue::Number(3.0) }];
    let (by, why) = ("ann".to_owned(), "agreed".to_owned());
    let raised = raise(&*fixture.store, &fixture.home, fixture.run, raises, by, why);
    let outcome = fixture.runtime.block_on(raised).unwrap();
    // It is still halted, and the answer says so.
    assert_eq!(outcome.answer.verdict(), Some("stop"));
    fixture.reopen().unwrap();
    assert_eq!(fixture.emit(iteration).answer.verdict(), Some("continue"));
    assert_eq!(fixture.emit(iteration).answer.verdict(), Some("stop"));
}

#[test]
fn a_report_with_a_key_counts_once() {
    let fixture = Fixture::new(TWO_FAILS);
    let report = |key: &str, ids: &[&str]| {
        let line = |id: &&str| format!(r#"{{"type":"unit","id":"{id}","status":"failed"}}"#);
        let lines: Vec<_> = ids.iter().map(line).collect();
        let events = lines.iter().map(|line| Event::from_json(line.as_bytes()).unwrap()).collect();
        let key = ReportKey { key: key.to_owned(), digest: lines.join("") };
        let reported = report(&*fixture.store, fixture.run, events, Some(key), Vec::new());
        fixture.runtime.block_on(reported)
    };
    let taken = |key: &str, ids: &[&str]| match report(key, ids).unwrap() {
        Reported::Now(outcome) | Reported::Unsettled(outcome) => outcome.answer,
        Reported::Before(answer) => panic!("{answer:?}"),
    };
    let first = taken("1", &["a"]);
    let halting = taken("2", &["b", "c"]);
    assert_eq!((first.verdict(), halting.verdict()), (Some("continue"), Some("stop")));
    let after = taken("3", &["d"]);
    let journal = fixture.journal();
    for (key, ids, answer) in
        [("1", &["a"][..], first), ("2", &["b", "c"][..], halting), ("3", &["d"][..], after)]
    {
        assert_eq!(report(key, ids).unwrap(), Reported::Before(answer));
    }
    assert!(matches!(report("1", &["x"]), Err(UnsupervisedError::KeyUsed { .. })));
    assert_eq!(fixture.journal(), journal);
}

#[test]
fn names_of_runs_differ() {
    let now = wall_time();
    let names: std::collections::BTreeSet<_> = (0..100).map(|_| new_run_id(now)).collect();
    assert!(names.len() > 90, "{}", names.len());
}
