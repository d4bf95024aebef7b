//! Captures of real agents, read as the runner reads them: bytes into records, the agent found out
//! by its own words, and everything told summed up. The figures were worked out from the raw files
//! by other means.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the captures are files, and a test may fail and say so"
)]

use std::path::Path;

use backstop_adapters::{
    Adapter, Agent, Auto, Exit, FaultKind, Framer, Heard, Moment, Outcome, Record, Voice,
};
use backstop_core::event::{EventKind, Usage};
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

/// What was told of one capture.
#[derive(Debug, Default)]
struct Told {
    agent: Option<Agent>,
    usage: Usage,
    priced: usize,
    actions: usize,
    unanswered: usize,
    quotas: usize,
    launches: usize,
    faults: Vec<FaultKind>,
    retry_at: Option<Timestamp>,
    last_context: Option<(u64, u64)>,
    results: Vec<String>,
    outcome: Option<Outcome>,
}

impl Told {
    fn of(bytes: &[u8], exit: Option<Exit>) -> Self {
        let mut auto = Auto::new();
        let told = Self::by(&mut auto, bytes, exit);
        Self { agent: auto.agent(), ..told }
    }

    fn by(adapter: &mut dyn Adapter, bytes: &[u8], exit: Option<Exit>) -> Self {
        let mut told = Self::default();
        let moment = moment();
        let mut framer = Framer::new();
        let mut records = Vec::new();
        framer.push(bytes, &mut |record| records.push(Owned::of(record)));
        framer.finish(&mut |record| records.push(Owned::of(record)));
        for record in &records {
            adapter.record(record.borrow(), &moment, &mut |heard: Heard<'_>| told.hear(heard));
        }
        let outcome = adapter.finish(exit, &moment, &mut |heard: Heard<'_>| told.hear(heard));
        told.outcome = Some(outcome);
        told
    }

    fn hear(&mut self, heard: Heard<'_>) {
        match heard {
            Heard::Event(EventKind::Usage(usage)) => {
                self.usage.input_tokens += usage.input_tokens;
                self.usage.output_tokens += usage.output_tokens;
                self.usage.cache_read_tokens += usage.cache_read_tokens;
                self.usage.cache_write_tokens += usage.cache_write_tokens;
                if let Some(cost) = usage.cost_usd {
                    *self.usage.cost_usd.get_or_insert(0.0) += cost;
                    self.priced += 1;
                }
            }
            Heard::Event(EventKind::Action(action)) if action.kind == "action" => {
                self.actions += 1;
                self.unanswered += usize::from(action.result_signature.is_none());
            }
            Heard::Event(EventKind::Quota(_)) => self.quotas += 1,
            Heard::Event(EventKind::Context(context)) => {
                self.last_context = Some((context.used, context.limit));
            }
            Heard::Fault(fault) => {
                self.faults.push(fault.kind);
                self.retry_at = fault.retry_at;
            }
            Heard::Launched => self.launches += 1,
            Heard::Said(Voice::Result, words) => self.results.push(words.to_owned()),
            _ => {}
        }
    }
}

enum Owned {
    Json(Vec<u8>),
    Text(String),
}

impl Owned {
    fn of(record: Record<'_>) -> Self {
        match record {
            Record::Json(bytes) => Self::Json(bytes.to_vec()),
            Record::Text(text) => Self::Text(text.to_owned()),
        }
    }

    fn borrow(&self) -> Record<'_> {
        match self {
            Self::Json(bytes) => Record::Json(bytes),
            Self::Text(text) => Record::Text(text),
        }
    }
}

fn moment() -> Moment {
    Moment {
        now: "2026-07-12T00:00:00Z".parse().unwrap(),
        zone: TimeZone::UTC,
        is_known: true,
        is_live: false,
        zone_named: |_| None,
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");

/// A capture, or nothing where they are not at hand.
fn capture(path: &str) -> Option<Vec<u8>> {
    let read = std::fs::read(Path::new(FOLDER).join(path));
    if read.is_err() {
        println!("skipped: no capture {path}");
    }
    read.ok()
}

struct Expected {
    path: &'static str,
    agent: Agent,
    /// Input, output, cache reads and cache writes.
    tokens: [u64; 4],
    /// Dollars, and how far off they may be for their rounding.
    cost: Option<(f64, f64)>,
    actions: usize,
    unanswered: usize,
    launches: usize,
    faults: &'static [FaultKind],
    outcome: Outcome,
}

macro_rules! captures {
    ($($path:literal: $agent:ident $tokens:tt $cost:expr, $actions:literal ($unanswered:literal) actions, $launches:literal launches, $faults:tt => $outcome:ident;)*) => {
        &[$(Expected {
            path: $path,
            agent: Agent::$agent,
            tokens: $tokens,
            cost: $cost,
            actions: $actions,
            unanswered: $unanswered,
            launches: $launches,
            faults: &$faults,
            outcome: Outcome::$outcome,
        },)*]
    };
}

use FaultKind::{InvalidRequest, Network, Other, Overloaded, RateLimited, UnknownModel};

/// One line each: tokens by kind, cost, actions (and those without a result), launches, faults.
#[rustfmt::skip]
const CAPTURES: &[Expected] = captures! {
    "codex/exec-json-0142-edit.jsonl": Codex [9158, 1111, 115_840, 0] None, 7 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-0142-plan.jsonl": Codex [11_588, 2269, 156_032, 0] None, 11 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-1.jsonl": Codex [2946, 7, 0, 0] None, 0 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-2.jsonl": Codex [1048, 129, 4992, 0] None, 1 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-3.jsonl": Codex [1912, 51, 4096, 0] None, 1 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-4.jsonl": Codex [967, 204, 5120, 0] None, 1 (0) actions, 1 launches, [] => Succeeded;
    "codex/exec-json-all-formats-hand.jsonl": Codex [1584, 732, 256, 0] None, 7 (0) actions, 1 launches, [Other, Other] => Failed;
    "codex/exec-json-truncated.jsonl": Codex [0, 0, 0, 0] None, 0 (0) actions, 1 launches, [] => CutOff;
    "codex/exec-json-usage-limit.jsonl": Codex [0, 0, 0, 0] None, 0 (0) actions, 1 launches, [RateLimited] => Failed;
    "codex/exec-text-2025-08.txt": Codex [34_295, 0, 0, 0] None, 5 (0) actions, 1 launches, [] => Succeeded;
    "codex/rollout-2025-09-24-b.jsonl": Codex [29_257, 4808, 120_192, 0] None, 16 (0) actions, 1 launches, [] => Succeeded;
    "codex/rollout-2025-09-25-a.jsonl": Codex [64_514, 6654, 472_320, 0] None, 34 (0) actions, 1 launches, [] => Succeeded;
    "codex/rollout-2026-02-23-small.jsonl": Codex [59_525, 1123, 238_848, 0] None, 5 (0) actions, 1 launches, [] => Succeeded;
    "codex/rollout-2026-02-23-tiny.jsonl": Codex [31_013, 431, 3456, 0] None, 1 (1) actions, 1 launches, [] => CutOff;
    "codex/rollout-schema-coverage-2026-08.jsonl": Codex [12_757, 81, 3584, 0] None, 6 (0) actions, 3 launches, [Other, Other] => CutOff;
    "gemini/session-2025-10-29T10-36-453aa339.json": Gemini [17_665, 563, 4029, 0] None, 3 (0) actions, 1 launches, [] => Succeeded;
    "gemini/session-2025-10-29T10-36-9c9a14e1.json": Gemini [11_068, 363, 0, 0] None, 1 (0) actions, 1 launches, [] => Succeeded;
    "gemini/session-jsonl-v040.jsonl": Gemini [12_422, 228, 11_502, 0] None, 1 (0) actions, 1 launches, [] => Succeeded;
    "gemini/stream-json-success-hand.jsonl": Gemini [100, 50, 0, 0] None, 2 (0) actions, 1 launches, [] => Succeeded;
    "gemini/tool-result-error.json": Gemini [5764, 64, 0, 0] None, 1 (0) actions, 1 launches, [] => CutOff;
    "opencode/run-json-mixed.jsonl": OpenCode [534, 192, 0, 0] Some((0.0123, 1e-9)), 1 (0) actions, 1 launches, [Network] => Failed;
    "opencode/run-json-success.jsonl": OpenCode [22_443, 118, 21_415, 0] Some((0.001, 1e-9)), 1 (0) actions, 1 launches, [] => Succeeded;
    "aider/history-connection-errors.md": Aider [0, 0, 0, 0] None, 0 (0) actions, 3 launches, [Network] => CutOff;
    "aider/history-cost-message-session.md": Aider [200_587, 50_173, 0, 0] Some((1.3029, 0.045)), 4 (0) actions, 9 launches, [] => Succeeded;
    "aider/history-cost-request-session.md": Aider [83_571, 4382, 0, 0] Some((0.2719, 0.015)), 6 (0) actions, 12 launches, [Overloaded] => Succeeded;
    "aider/history-litellm-errors.md": Aider [0, 0, 0, 0] None, 0 (0) actions, 4 launches, [UnknownModel, InvalidRequest] => CutOff;
    "aider/history-thousands-separator.md": Aider [411_371, 36_092, 0, 0] Some((1.4447, 0.04)), 28 (0) actions, 10 launches, [] => Succeeded;
    "aider/swebench-astropy__astropy-14182.md": Aider [223_279, 10_661, 0, 0] Some((2.44724, 1e-6)), 5 (0) actions, 2 launches, [] => Succeeded;
    "aider/swebench-django__django-12915.md": Aider [326_953, 6511, 0, 0] Some((3.38957, 1e-6)), 22 (0) actions, 6 launches, [] => Succeeded;
    "aider/swebench-django__django-14730.md": Aider [636_106, 5466, 0, 0] Some((6.84029, 1e-6)), 16 (0) actions, 6 launches, [] => Succeeded;
    "aider/swebench-matplotlib__matplotlib-23964.md": Aider [158_947, 872, 0, 0] Some((1.355_405, 1e-6)), 3 (0) actions, 2 launches, [] => Succeeded;
    "aider/swebench-pallets__flask-5063.md": Aider [624_299, 14_126, 0, 0] Some((6.535_855, 1e-6)), 13 (0) actions, 6 launches, [] => Succeeded;
    "other-agents/pi-print-mode-events.jsonl": Pi [2650, 406, 0, 0] Some((0.003_462, 1e-9)), 1 (0) actions, 1 launches, [] => Succeeded;
    "other-agents/droid-stream-json.jsonl": Generic [0, 0, 0, 0] None, 0 (0) actions, 0 launches, [] => Succeeded;
    "other-agents/copilot-session-events.jsonl": Generic [0, 0, 0, 0] None, 0 (0) actions, 0 launches, [] => Succeeded;
    "other-agents/copilot-cli-debug-log.txt": Generic [0, 0, 0, 0] None, 0 (0) actions, 0 launches, [] => Succeeded;
};

#[test]
fn captures_are_read_as_they_were_worked_out() {
    let mut wrong = Vec::new();
    for expected in CAPTURES {
        let Some(bytes) = capture(expected.path) else { continue };
        let told = Told::by(expected.agent.adapter().as_mut(), &bytes, None);
        let usage = &told.usage;
        let tokens = [
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        ];
        let cost_agrees = match (usage.cost_usd, expected.cost) {
            (Some(told), Some((expected, tolerance))) => (told - expected).abs() <= tolerance,
            (told, expected) => told.is_none() && expected.is_none(),
        };
        let agrees = tokens == expected.tokens
            && cost_agrees
            && (told.actions, told.unanswered) == (expected.actions, expected.unanswered)
            && told.launches == expected.launches
            && told.faults == expected.faults
            && told.outcome == Some(expected.outcome);
        if !agrees {
            wrong.push(format!("{}: {told:?}", expected.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_capture_is_in_the_table() {
    // What lies in these is read by a test of its own: snapshots of several streams in one file.
    let others = ["gemini/stream-json-snapshots.txt", "other-agents/amp-stream-success-hand.jsonl"];
    for folder in ["codex", "gemini", "opencode", "aider", "other-agents"] {
        let Ok(entries) = std::fs::read_dir(Path::new(FOLDER).join(folder)) else {
            println!("skipped: no captures in {folder}");
            continue;
        };
        for entry in entries {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
            let is_listed = CAPTURES.iter().any(|expected| expected.path == name);
            assert!(is_listed || others.contains(&&*name), "{name}");
        }
    }
}

#[test]
fn captures_tell_their_agent() {
    for expected in CAPTURES {
        let Some(bytes) = capture(expected.path) else { continue };
        let told = Told::of(&bytes, None).agent;
        assert_eq!(told, Some(expected.agent), "{}", expected.path);
    }
}

#[test]
fn a_usage_limit_of_codex_tells_when_it_ends() {
    let Some(bytes) = capture("codex/exec-json-usage-limit.jsonl") else { return };
    let told = Told::of(&bytes, None);
    assert_eq!(told.retry_at, Some("2026-07-12T02:54:00Z".parse().unwrap()));
}

#[test]
fn session_files_of_codex_tell_context_and_quotas() {
    for (path, context, quotas) in [
        ("codex/rollout-2025-09-24-b.jsonl", (16_181, 272_000), 36),
        ("codex/rollout-2026-02-23-small.jsonl", (63_727, 258_400), 24),
        ("codex/rollout-2026-02-23-tiny.jsonl", (34_900, 258_400), 4),
        ("codex/rollout-schema-coverage-2026-08.jsonl", (16_422, 258_400), 1),
    ] {
        let Some(bytes) = capture(path) else { continue };
        let told = Told::of(&bytes, None);
        assert_eq!((told.last_context, told.quotas), (Some(context), quotas), "{path}");
    }
}

#[test]
fn gemini_calls_a_loop_and_too_many_turns_a_success() {
    let Some(bytes) = capture("gemini/stream-json-snapshots.txt") else { return };
    let text = String::from_utf8(bytes).unwrap().replace("<DURATION>", "1");
    let outcomes: Vec<(Vec<FaultKind>, Option<Outcome>)> = text
        .split("exports[")
        .filter(|part| part.contains("\"init\""))
        .map(|part| {
            let stream = &part[part.find('{').unwrap()..part.rfind('}').unwrap() + 1];
            let told = Told::of(stream.as_bytes(), None);
            (told.faults, told.outcome)
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            (vec![FaultKind::Loop], Some(Outcome::Failed)),
            (vec![FaultKind::TurnLimit], Some(Outcome::Failed)),
            (vec![], Some(Outcome::Succeeded)),
        ]
    );
}

#[test]
fn a_failing_exit_status_makes_no_success() {
    for expected in CAPTURES {
        let Some(bytes) = capture(expected.path) else { continue };
        let exit = Exit { code: Some(1), signal: None };
        assert_eq!(
            Told::of(&bytes, Some(exit)).outcome,
            Some(Outcome::Failed),
            "{}",
            expected.path
        );
    }
}

/// The agents that answer in plain words unless they are asked for JSON.
const ANSWERING: [Agent; 7] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Gemini,
    Agent::OpenCode,
    Agent::Cursor,
    Agent::Goose,
    Agent::Pi,
];

#[test]
fn an_answer_in_plain_words_is_the_result() {
    for agent in ANSWERING {
        for answer in ["I fixed it.\n\nAll done.", "{\"answer\": 42}", "The limit is {\"a\": 1}."] {
            let exit = |code| Some(Exit { code: Some(code), signal: None });
            let told = Told::by(agent.adapter().as_mut(), answer.as_bytes(), exit(0));
            assert_eq!(told.outcome, Some(Outcome::Succeeded), "{agent}: {answer}");
            assert_eq!(told.results, [answer], "{agent}");
            assert!(told.faults.is_empty(), "{agent}: {:?}", told.faults);
            let told = Told::by(agent.adapter().as_mut(), answer.as_bytes(), exit(1));
            assert_eq!(told.outcome, Some(Outcome::Failed), "{agent}: {answer}");
        }
    }
}

#[test]
fn no_answer_at_all_is_no_success() {
    let exit = Some(Exit { code: Some(0), signal: None });
    for agent in ANSWERING {
        let told = Told::by(agent.adapter().as_mut(), b"", exit);
        assert_eq!(told.outcome, Some(Outcome::CutOff), "{agent}");
        assert!(told.results.is_empty(), "{agent}");
    }
}

#[test]
fn the_text_of_goose_is_its_answer_only_after_the_last_call() {
    let text = "starting session | provider: openai model: gpt-5\n    session id: 1\n    working \
                directory: /\n\nI look.\n\n─── shell | developer ───\ncommand: cat \
                notes\nTASK_COMPLETE\n\nIt is done.\n";
    let told = Told::by(Agent::Goose.adapter().as_mut(), text.as_bytes(), None);
    assert_eq!(told.results, ["It is done."]);
}

#[test]
fn the_last_message_of_codex_is_its_result() {
    let Some(bytes) = capture("codex/exec-json-1.jsonl") else { return };
    assert_eq!(Told::of(&bytes, None).results, ["4"]);
}

#[test]
fn the_kinds_of_what_failed_are_kinds_of_the_table() {
    // A model at its end of life is refused with 410, by a class that else means a server's failure.
    let line = "# aider chat started at 2026-04-25 07:49:13\n> litellm.APIError: OpenAIException - \
                Error code: 410 - {'title': 'Gone'}  \n";
    assert_eq!(Told::of(line.as_bytes(), None).faults, [InvalidRequest]);
}
