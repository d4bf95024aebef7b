//! A told run, as people and programs see it.

use std::time::Duration;

use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind};
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_runner::launch::Launch;
use backstop_runner::report::{Ended, Phase, Remark, Reporter, Started, Status};
use backstop_runner::tree::Containment;
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr as _;

use super::{Card, Human, JsonLines};

const POLICY: &str = r#"
[limits]
iterations = 100
duration = "8h"
cost_usd = 20

[[rule]]
when = { type = "all_tests_pass" }
then = "complete"

[[rule]]
when = { type = "no_progress", iterations = 3 }
then = "stop"

[[rule]]
when = { type = "repetition" }
then = "warn"

[loop]
idle_timeout = "15m"
"#;

/// A run that is told event by event, to a reporter.
struct Told<R> {
    engine: Engine,
    reporter: R,
    seconds: u64,
    text: String,
}

impl<R: Reporter> Told<R> {
    fn new(policy: &str, reporter: R) -> Self {
        let policy = Policy::load(policy.as_bytes(), Syntax::Toml).expect("a policy").policy;
        Self { engine: Engine::new(policy), reporter, seconds: 0, text: String::new() }
    }

    /// Begins, with the header.
    fn started(mut self, command: &[&str]) -> Self {
        let launch = Launch {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..Launch::default()
        };
        let start = Started {
            run: run(),
            launch: &launch,
            engine: &self.engine,
            containment: Containment::Subreaper,
            policy_name: "preset:default + 3 flags",
            notes: &["no rule limits \x1b[31mtime".to_owned()],
            resumed: false,
        };
        let text = self.reporter.started(&start);
        self.text.push_str(&text);
        self
    }

    /// So many seconds later this happens.
    fn after(mut self, seconds: u64, json: &str) -> Self {
        self.seconds += seconds;
        let event = Event::from_json(json.as_bytes()).expect("an event");
        let event = event.at(self.now()).active_ms(self.seconds * 1_000);
        self.engine.handle_event(&event, self.now());
        let text = self.reporter.event(&event, &self.engine);
        self.text.push_str(&text);
        let decision = self.engine.poll_decision(self.engine.moment(self.now()));
        if matches!(event.kind, EventKind::IterationFinished(_)) || decision.reason.is_some() {
            let text = self.reporter.decided(&decision, &self.engine);
            self.text.push_str(&text);
        }
        self
    }

    fn now(&self) -> Timestamp {
        let start: Timestamp = "2026-05-04T10:00:00Z".parse().unwrap();
        start.plus(Duration::from_secs(self.seconds))
    }

    fn block(&mut self, phase: Phase, columns: usize) -> Vec<String> {
        let now = self.engine.moment(self.now());
        let engine = &self.engine;
        let status = Status { run: run(), engine, now, iteration: 7, phase };
        self.reporter.block(&status, columns)
    }

    /// Ends as the engine decides now.
    fn ended(mut self, kept: Option<&str>) -> String {
        let decision = self.engine.poll_decision(self.engine.moment(self.now()));
        let status = RunStatus::after(decision.verdict);
        let state = RunState::halted(run(), status, &decision, &self.engine);
        let end = Ended {
            state: &state,
            decision: Some(&decision),
            engine: &self.engine,
            kept,
            verification: None,
        };
        let text = self.reporter.halted(&end);
        self.text.push_str(&text);
        self.text
    }
}

fn run() -> RunId {
    "4K7Q2M9X1BD3F".parse().unwrap()
}

fn plain() -> Human {
    Human::new(false)
}

/// Nine iterations; the last three change nothing.
fn stalled<R: Reporter>(reporter: R) -> Told<R> {
    let mut told = Told::new(POLICY, reporter)
        .started(&["claude", "-p", "--output-format", "stream-json", "do it"])
        .after(0, r#"{"type":"run_started","run":"4K7Q2M9X1BD3F"}"#)
        .after(0, r#"{"type":"iteration_started","iteration":1}"#)
        .after(200, r#"{"type":"tests","counts":{"passed":200,"failed":9},"source":"x"}"#)
        .after(10, r#"{"type":"progress","kind":"tree"}"#)
        .after(0, r#"{"type":"progress","kind":"tests"}"#)
        .after(
            0,
            r#"{"type":"usage","input_tokens":600000,"cache_read_tokens":1600000,"cost_usd":1.5}"#,
        )
        .after(
            40,
            r#"{"type":"iteration_finished","iteration":1,"exit_code":0,"duration_ms":250000}"#,
        )
        .after(0, r#"{"type":"iteration_started","iteration":2}"#)
        .after(
            200,
            r#"{"type":"tests","passed":["a"],"failed":["cache::evicts_oldest"],"source":"x"}"#,
        )
        .after(10, r#"{"type":"usage","output_tokens":12345,"cost_usd":3.8}"#)
        .after(
            40,
            r#"{"type":"iteration_finished","iteration":2,"signal":11,"duration_ms":250000}"#,
        );
    for number in 3..5 {
        let start = format!(r#"{{"type":"iteration_started","iteration":{number}}}"#);
        let end = format!(
            r#"{{"type":"iteration_finished","iteration":{number},"exit_code":3,"duration_ms":12}}"#
        );
        told = told.after(0, &start).after(1, r#"{"type":"usage","cost_usd":0}"#).after(0, &end);
    }
    told
}

#[test]
fn a_run_from_its_header_to_its_card() {
    let text = stalled(plain()).ended(Some("refs/backstop/4K7Q2M9X1BD3F/4"));
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    assert_snapshot!(text, @r#"
    backstop 4K7Q2M9X1BD3F  claude -p --output-format stream-json 'do it'
             policy default + 3 flags · containment: sub-reaper
      stops: all tests pass (done) · 100 iterations · 8h · $20
             3 iterations without progress · 15m idle
      note: no rule limits �[31mtime
    ── iteration 1 ─────────────────────────────────────────────────────────────────
    exit 0 · tests 200 passed, 9 failed · progress: tree, tests · $1.50 · 4m 10s
    ── iteration 2 ─────────────────────────────────────────────────────────────────
    ended by SIGSEGV · tests 1 passed, 1 failed (was 9) · $3.80 · 4m 10s
    ── iteration 3 ─────────────────────────────────────────────────────────────────
    ── iteration 4 ────────────────────────────────────────────── 3: exit 3, 12ms ──
    4: exit 3, 12ms

    ■ stopped: stalled                                          exit 126 · resumable
      3 iterations in a row made no progress. Give the agent a hint with `--note`.
      If it did get on, tell backstop what counts: `[progress] markers`, `tasks` or
      `count`.

      ran        4 iterations · 8m 22s active
      spent      $5.30 of $20 · 612k tokens (and 1.6M cache reads)
      tests      1 passed, 1 failed (cache::evicts_oldest) · 2 failing runs in a row
      kept       refs/backstop/4K7Q2M9X1BD3F/4
      report     backstop report 4K7Q2M9X1BD3F

      next       backstop doctor 4K7Q2M9X1BD3F              why, with the evidence
                 backstop resume 4K7Q2M9X1BD3F --note "…"   go on, with a hint
                 backstop replay 4K7Q2M9X1BD3F --preset moderator
    "#);
}

#[test]
fn colour_adds_nothing_but_colour() {
    let bare = stalled(plain()).ended(None);
    let coloured = stalled(Human::new(true)).ended(None);
    assert!(coloured.contains("\x1b["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), bare);
}

#[test]
fn quick_iterations_take_one_line_each() {
    let mut told = Told::new("", plain()).started(&["/bin/true"]);
    told.text.clear();
    for number in 1..=50 {
        let start = format!(r#"{{"type":"iteration_started","iteration":{number}}}"#);
        let end = format!(
            r#"{{"type":"iteration_finished","iteration":{number},"exit_code":0,"duration_ms":1}}"#
        );
        told = told.after(0, &start).after(0, &end);
    }
    assert_eq!(told.text.lines().count(), 50);
    assert_snapshot!(told.text.lines().nth(1).unwrap(), @"── iteration 2 ─────────────────────────────────────────────── 1: exit 0, 1ms ──");
    assert_eq!(told.text.lines().nth(1).unwrap().width(), 80);
}

#[test]
fn the_live_block_shows_the_nearest_limits() {
    let mut told = stalled(plain());
    assert_snapshot!(told.block(Phase::Running, 80).join("\n"), @"
    iteration 7 · 8m 22s · $5.30 · 612k tokens · tests 1/2
    3 of 3 without progress ████████████████   $5.30 of $20 ████▏░░░░░░░░░░░
    ");
    let waiting =
        Phase::Waiting { why: "rate limit".into(), left: Some(Duration::from_millis(270_500)) };
    assert_snapshot!(told.block(waiting, 80).join("\n"), @"
    iteration 7 · waiting 4:31 (rate limit) · 8m 22s · $5.30 · 612k tokens
    3 of 3 without progress ████████████████   $5.30 of $20 ████▏░░░░░░░░░░░
    ");
    let ending = Phase::Ending { left: Duration::from_secs(9) };
    assert_snapshot!(told.block(ending, 60).join("\n"), @"
    iteration 7 · ending, SIGKILL in 0:09 · 8m 22s · $5.30
    3 of 3 without progress █████████   $5.30 of $20 ██▍░░░░░░
    ");
}

#[test]
fn the_live_block_fits_any_width() {
    let long = "a reason that is longer than a line, with \x1b[2J in it and more words ".repeat(3);
    for columns in 40..200 {
        for phase in [
            Phase::Running,
            Phase::Paused,
            Phase::Verifying,
            Phase::Finishing { left: Duration::from_secs(100) },
            Phase::Waiting { why: long.clone(), left: None },
        ] {
            let lines = stalled(plain()).block(phase, columns);
            assert!((1..=2).contains(&lines.len()), "{lines:?}");
            for line in &lines {
                assert!(line.width() <= columns, "{columns}: {line}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
            let full = stalled(Human::new(true)).block(Phase::Running, columns);
            let bare: Vec<_> =
                full.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
            assert!(bare.iter().all(|line| line.width() <= columns), "{bare:?}");
        }
    }
}

#[test]
fn time_moves_the_block_without_any_event() {
    let mut told = stalled(plain());
    let before = told.block(Phase::Running, 80);
    told.seconds += 3600;
    let after = told.block(Phase::Running, 80);
    assert_ne!(before, after);
    assert!(after[1].contains("1h 8m of 8h"), "{after:?}");
}

#[test]
fn a_claim_that_was_refused_and_a_warning_are_said_once() {
    let mut told = Told::new(POLICY, plain());
    for _ in 0..20 {
        let action = r#"{"type":"action","signature":"cargo build","kind":"action","result_signature":"same"}"#;
        told = told.after(1, action);
    }
    told = told.after(
        1,
        r#"{"type":"noted","what":"claim_refused","detail":"verification failed\n\u001b[2J"}"#,
    );
    let text = told.reporter.remark(&Remark::Warning("no cost was reported".to_owned()));
    told.text.push_str(&text);
    assert_snapshot!(told.text, @"
    backstop: warning: repetition: `cargo build` gave the same result 4 times in a
                       row (steps 1–4) (repeat_pair)
    backstop: not done yet: verification failed �[2J
    backstop: warning: no cost was reported
    ");
}

#[test]
fn a_pipeline_that_was_rejected_too_often() {
    let policy = "[[rule]]\nwhen = { type = \"reject_rate\", above = 0.3, min_units = 3 }\nthen = \"stop\"\n";
    let mut told = Told::new(policy, plain())
        .after(0, r#"{"type":"run_started","run":"4K7Q2M9X1BD3F","total_units":8}"#);
    for (index, status) in ["approved", "rejected", "approved", "rejected"].iter().enumerate() {
        let unit = format!(
            r#"{{"type":"unit","id":"f{index}","index":{index},"status":"{status}","attempts":2}}"#
        );
        told = told.after(5, &unit);
    }
    told.text.clear();
    assert_snapshot!(told.ended(None), @"

    ■ stopped: reject_rate                                       exit 42 · resumable
      Reject rate 50% exceeds 30% threshold. Look at the rejected units; the input
      or the acceptance test may be wrong. Then go on with `--raise reject_rate=…`.

      ran        20s active
      units      2 of 8 approved, 2 rejected, 4 left · 8 attempts

      next       backstop report 4K7Q2M9X1BD3F   the whole story
                 backstop resume 4K7Q2M9X1BD3F --raise reject_rate=0.75
                 backstop doctor 4K7Q2M9X1BD3F   why, with the evidence
    ");
}

#[test]
fn a_limit_that_could_not_be_metered() {
    let told =
        Told::new(POLICY, plain()).after(0, r#"{"type":"iteration_started","iteration":1}"#).after(
            9,
            r#"{"type":"iteration_finished","iteration":1,"exit_code":0,"duration_ms":9000}"#,
        );
    assert_snapshot!(told.ended(None), @"
    ── iteration 1 ─────────────────────────────────────────────────────────────────
    exit 0 · 9s

    ▲ held: cost_limit                                          exit 128 · resumable
      No cost was reported for the last iteration, so the limit can't be held. Let
      the command report it (`backstop emit usage`), or go on without this limit.

      ran        1 iteration · 9s active

      next       backstop resume 4K7Q2M9X1BD3F --unmetered allow
                 backstop report 4K7Q2M9X1BD3F   the whole story
                 backstop doctor 4K7Q2M9X1BD3F   why, with the evidence
    ");
}

#[test]
fn work_that_is_done() {
    let told = Told::new(POLICY, plain())
        .after(0, r#"{"type":"iteration_started","iteration":1}"#)
        .after(9, r#"{"type":"tests","counts":{"passed":12,"failed":0},"source":"x"}"#)
        .after(1, r#"{"type":"usage","input_tokens":900,"cost_usd":0.004}"#)
        .after(
            0,
            r#"{"type":"iteration_finished","iteration":1,"exit_code":0,"duration_ms":10000}"#,
        );
    assert_snapshot!(told.ended(None), @"
    ── iteration 1 ─────────────────────────────────────────────────────────────────
    exit 0 · tests 12 passed, 0 failed · 10s

    ✓ completed                                                               exit 0
      All 12 tests pass.

      ran        1 iteration · 10s active
      spent      $0.0040 of $20 · 900 tokens
      tests      12 passed, 0 failed

      next       backstop report 4K7Q2M9X1BD3F   the whole story
                 backstop show 4K7Q2M9X1BD3F     figures and every limit
                 backstop logs 4K7Q2M9X1BD3F     what it printed
    ");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let told = stalled(plain());
    let state = RunState::going_on(run(), RunStatus::Running, &told.engine);
    let card = Card {
        state: &state,
        decision: None,
        engine: &told.engine,
        question: None,
        kept: None,
        verification: None,
        interrupted: true,
        supervised: true,
        pruned: false,
        without: None,
    };
    assert_snapshot!(card.show(false), @"
    ✗ interrupted                                                          resumable
      Its supervisor is gone and halted nothing: killed, or the machine went down.
      Everything that was journalled is kept.

      ran        4 iterations · 8m 22s active
      spent      $5.30 of $20 · 612k tokens (and 1.6M cache reads)
      tests      1 passed, 1 failed (cache::evicts_oldest) · 2 failing runs in a row

      next       backstop resume 4K7Q2M9X1BD3F   go on where it was
                 backstop doctor 4K7Q2M9X1BD3F   why, with the evidence
                 backstop logs 4K7Q2M9X1BD3F     what it printed
    ");
}

#[test]
fn every_line_for_programs_is_an_event_progress_or_the_state() {
    let text = stalled(JsonLines::new()).ended(None);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, others) = lines.split_last().unwrap();
    assert_eq!(last["run_id"], "4K7Q2M9X1BD3F");
    assert_eq!(last["run_status"], "stopped");
    assert!(last.get("type").is_none());
    assert_eq!(others[0]["type"], "remark");
    let types: Vec<_> = others.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(types.len(), others.len());
    for own in ["rule_progress", "remark"] {
        assert!(types.contains(&own) && !EventKind::TYPE_NAMES.contains(&own), "{own}");
    }
    let events: Vec<_> =
        types.iter().filter(|name| !["rule_progress", "remark"].contains(name)).collect();
    assert!(events.iter().all(|name| EventKind::TYPE_NAMES.contains(name)), "{events:?}");
}

#[test]
fn a_rules_progress_is_told_at_most_once_a_second() {
    let mut told = Told::new("[limits]\ntokens = 1_000_000", JsonLines::new());
    let usage = r#"{"type":"usage","input_tokens":10000}"#;
    let of_tokens = |text: &str| {
        text.lines().filter(|line| line.contains("rule_progress") && line.contains("token")).count()
    };
    for _ in 0..10 {
        told = told.after(0, usage);
    }
    assert_eq!(of_tokens(&told.text), 1, "{}", told.text);
    told = told.after(1, usage);
    assert_eq!(of_tokens(&told.text), 2);
    // Too small a move.
    told = told.after(5, r#"{"type":"usage","input_tokens":1}"#);
    told = told.after(5, r#"{"type":"usage","input_tokens":1}"#);
    let before = of_tokens(&told.text);
    told = told.after(5, r#"{"type":"usage","input_tokens":1}"#);
    assert_eq!(of_tokens(&told.text), before);
}
