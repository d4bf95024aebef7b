//! Runs written down by hand, and what is reported of them.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::{Event, Halted};
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::{RunState, RunStatus};
use backstop_core::time::Timestamp;
use backstop_report::{About, Ending, Report, ReportBuilder};

/// A run that is told event by event, beside the engine that a supervisor would have had.
pub struct Told {
    about: About,
    engine: Engine,
    builder: ReportBuilder,
    seconds: u64,
}

impl Told {
    pub fn new(policy: &str, command: &[&str]) -> Self {
        let policy = Policy::load(policy.as_bytes(), Syntax::Toml).expect("a policy").policy;
        let about = About {
            run: run(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            cwd: "/srv/project".to_owned(),
            labels: [("team".to_owned(), "core".to_owned())].into(),
            created_at: START,
            supervised: true,
            once: false,
            stdin: Some("PROMPT.md".to_owned()),
            policy_name: "backstop.toml".to_owned(),
        };
        let engine = Engine::new(policy);
        let builder = ReportBuilder::new(about.clone(), engine.clone());
        Self { about, engine, builder, seconds: 0 }
    }

    pub fn about(mut self, change: impl FnOnce(&mut About)) -> Self {
        change(&mut self.about);
        self.builder = ReportBuilder::new(self.about.clone(), self.engine.clone());
        self
    }

    /// So many seconds later this happens.
    pub fn after(mut self, seconds: u64, json: &str) -> Self {
        self.seconds += seconds;
        let event =
            Event::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"));
        self.take(event);
        self
    }

    pub fn take(&mut self, event: Event) {
        let event = event.at(self.now()).active_ms(self.seconds * 1_000);
        self.engine.handle_event(&event, self.now());
        self.builder.take(event);
    }

    /// The run as it stands, halted by nobody.
    pub fn going_on(self, status: RunStatus, interrupted: bool) -> Report {
        let now = self.now();
        self.builder.finish(&Ending { status, state: None, interrupted, pruned: false, now })
    }

    /// The run, halted by what its policy says now.
    pub fn halted(mut self) -> Report {
        let decision = self.engine.poll_decision(self.engine.moment(self.now()));
        let status = RunStatus::after(decision.verdict);
        let state = RunState::halted(run(), status, &decision, &self.engine);
        self.journal(&decision, status);
        let ending = Ending {
            status,
            state: Some(state),
            interrupted: false,
            pruned: false,
            now: self.now(),
        };
        self.builder.finish(&ending)
    }

    fn journal(&mut self, decision: &Decision, status: RunStatus) {
        let verdict = decision.verdict.as_str();
        let decided = serde_json::json!({
            "type": "decision",
            "verdict": verdict,
            "reason": decision.reason,
            "rule": decision.rule.as_ref().map(|rule| rule.name.clone()),
            "message": decision.message,
        });
        self.take(Event::from_json(decided.to_string().as_bytes()).expect("an event"));
        self.take(Event::new(Halted {
            reason: decision.reason.clone(),
            status: Some(status.to_string()),
            message: Some(decision.message.clone()),
        }));
    }

    fn now(&self) -> Timestamp {
        START.plus(Duration::from_secs(self.seconds))
    }
}

pub fn run() -> RunId {
    "4K7Q2M9X1BD3F".parse().expect("a name")
}

/// 2026-05-04T10:00:00Z.
const START: Timestamp = Timestamp::from_nanos(1_777_888_800_000_000_000);

pub const POLICY: &str = r#"
[limits]
iterations = 12
duration = "2h"
tokens = 2000000
cost_usd = 20

[work]
requirements = "SPEC.md"
task = "make the cache evict the oldest entry"

[verify]
command = "cargo test"

[[rule]]
when = { type = "all_tests_pass" }
then = "complete"

[[rule]]
when = { type = "no_progress", iterations = 3 }
then = "stop"

[[rule]]
when = { type = "consecutive_errors", count = 4 }
then = "ask"
"#;

/// Tests turn green in five iterations, with an error, a question, a raise and units on the way.
pub fn finished() -> Report {
    let mut told = Told::new(POLICY, &["claude", "-p", "--output-format", "stream-json", "do it"])
        .after(0, r#"{"type":"run_started","run":"4K7Q2M9X1BD3F","total_units":3}"#)
        .after(0, r#"{"type":"noted","what":"containment","detail":"cgroup"}"#);
    let names = |count: u64, from: u64| {
        let names: Vec<_> =
            (from..from + count).map(|number| format!("\"cache::test_{number}\"")).collect();
        names.join(",")
    };
    for iteration in 1..=5_u64 {
        let failed = 5 - iteration;
        told = told
            .after(2, &format!(r#"{{"type":"iteration_started","iteration":{iteration}}}"#))
            .after(
                60,
                r#"{"type":"action","signature":"bash: cargo test","kind":"action","failed":true}"#,
            )
            .after(20, r#"{"type":"action","signature":"edit: src/cache.rs","kind":"action"}"#)
            .after(
                40,
                &format!(
                    r#"{{"type":"usage","input_tokens":{},"output_tokens":9000,"cost_usd":{}}}"#,
                    120_000 + 40_000 * iteration,
                    1.1 + 0.3 * iteration as f64
                ),
            )
            .after(5, r#"{"type":"context","used":90000,"limit":200000}"#);
        if iteration == 2 {
            for _ in 0..3 {
                told = told.after(
                    4,
                    r#"{"type":"error","category":"transient","message":"529 overloaded"}"#,
                );
            }
            told = told
                .after(1, r#"{"type":"decision","verdict":"warn","reason":"error","message":"An error occurred"}"#)
                .after(3, r#"{"type":"asked","question":"The same error came three times. Go on?"}"#)
                .after(90, r#"{"type":"answered","answer":"continue","by":"ann","note":"known outage"}"#);
        }
        told = told
            .after(30, &format!(
                r#"{{"type":"tests","passed":[{}],"failed":[{}],"source":"libtest"}}"#,
                names(15 + iteration, failed),
                names(failed, 0)
            ))
            .after(1, &format!(r#"{{"type":"progress","kind":"commit","note":"cache: fix case {iteration}"}}"#))
            .after(0, r#"{"type":"progress","kind":"tests"}"#)
            .after(10, &format!(
                r#"{{"type":"iteration_finished","iteration":{iteration},"exit_code":{},"duration_ms":{}}}"#,
                u64::from(iteration == 3),
                168_000 + iteration * 1000
            ));
        if iteration == 3 {
            told = told
                .after(1, r#"{"type":"unit","id":"parser","index":1,"status":"rejected","attempts":1}"#)
                .after(1, r#"{"type":"unit","id":"parser","index":1,"status":"approved","attempts":2}"#)
                .after(1, r#"{"type":"unit","id":"cache","index":0,"status":"approved","attempts":1}"#)
                .after(1, r#"{"type":"raised","limit":"max_iterations","value":20,"by":"ann","why":"nearly done"}"#);
        }
        told = told.after(8, &match failed {
            0 => r#"{"type":"verification","outcome":"passed"}"#.to_owned(),
            _ => format!(r#"{{"type":"verification","outcome":"failed","detail":"{failed} tests failed"}}"#),
        });
    }
    told.after(1, r#"{"type":"noted","what":"kept","detail":"refs/backstop/4K7Q2M9X1BD3F/5"}"#)
        .halted()
}

/// Three iterations that come to nothing.
pub fn stalled() -> Report {
    let mut told = Told::new(POLICY, &["./agent.sh"]).after(0, r#"{"type":"run_started"}"#);
    for iteration in 1..=4 {
        told = told
            .after(1, &format!(r#"{{"type":"iteration_started","iteration":{iteration}}}"#))
            .after(
                200,
                r#"{"type":"usage","input_tokens":410000,"output_tokens":12000,"cost_usd":4.2}"#,
            );
        if iteration == 1 {
            told = told.after(1, r#"{"type":"progress","kind":"commit","note":"begin"}"#);
        }
        told = told.after(60, &format!(
            r#"{{"type":"iteration_finished","iteration":{iteration},"exit_code":0,"duration_ms":260000}}"#
        ));
    }
    told.halted()
}

/// A limit that nobody meters: the run is held.
pub fn held() -> Report {
    Told::new("[limits]\ncost_usd = 5\n", &["./agent.sh", "two words"])
        .after(0, r#"{"type":"run_started"}"#)
        .after(0, r#"{"type":"iteration_started","iteration":1}"#)
        .after(9, r#"{"type":"iteration_finished","iteration":1,"exit_code":0,"duration_ms":9000}"#)
        .after(0, r#"{"type":"held","reason":"cost_limit"}"#)
        .halted()
}

/// Nothing has happened yet.
pub fn empty() -> Report {
    Told::new("", &[])
        .about(|about| {
            about.supervised = false;
            about.labels.clear();
            about.stdin = None;
        })
        .going_on(RunStatus::Running, false)
}

/// Everything that others can say tries to be more than text.
pub fn hostile() -> Report {
    let script = "<script>alert(1)</script>";
    let policy = "[limits]\niterations = 1\n\n[[rule]]\nname = \"<b>&\\\"'</b>\"\nwhen = { type = \"no_progress\", iterations = 5 }\nthen = \"stop\"\n[work]\ntask = \"](javascript:alert(1)) | <img src=x onerror=alert(1)>\"\n";
    Told::new(policy, &["sh", "-c", "echo '</pre><script>alert(1)</script>'\n# `x`"])
        .about(|about| {
            about.labels = [("<i>".to_owned(), "\u{202e}evil\u{1b}[2J".to_owned())].into();
            about.cwd = "/tmp/`a`/\"><svg onload=alert(1)>".to_owned();
            about.policy_name = "a&b<c>.toml".to_owned();
        })
        .after(0, r#"{"type":"run_started"}"#)
        .after(1, r#"{"type":"iteration_started","iteration":1}"#)
        .after(1, &format!(r#"{{"type":"error","category":"critical","message":"{script}\u0000\u001b]0;t\u0007"}}"#))
        .after(1, &format!(r#"{{"type":"progress","kind":"commit","note":"[x](http://e.org) {script} **b**"}}"#))
        .after(1, &format!(r#"{{"type":"tests","passed":["a"],"failed":["{script}"],"source":"{script}"}}"#))
        .after(1, r#"{"type":"unit","id":"\"><img src=x>","status":"failed","attempts":3}"#)
        .after(1, r#"{"type":"guard","kind":"scope","files":["</li><script>","a\nb"]}"#)
        .after(1, &format!(r#"{{"type":"asked","question":"{script}"}}"#))
        .after(1, &format!(r#"{{"type":"review","outcome":"changes_requested","requests":["{script}"]}}"#))
        .after(1, &format!(r#"{{"type":"raised","limit":"{script}","value":3,"by":"{script}","why":"x"}}"#))
        .after(1, &format!(r#"{{"type":"decision","verdict":"warn","reason":"{script}","message":"{script}"}}"#))
        .after(1, &format!(r#"{{"type":"cycle","metrics":{{"{script}":1.5}}}}"#))
        .after(1, r#"{"type":"noted","what":"kept","detail":"refs/<x>"}"#)
        .after(1, r#"{"type":"iteration_finished","iteration":1,"exit_code":1,"duration_ms":9000}"#)
        .halted()
}
