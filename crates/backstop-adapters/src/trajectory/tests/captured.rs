//! The captured trajectories, if they lie beside the project: steps, figures and outcomes as they
//! were worked out from the raw files.

use std::path::Path;

use backstop_core::event::{EventKind, UsageBasis};
use backstop_core::repetition::{Chant, Detector, Signal, Step, StepKind};

use super::moment;
use crate::trajectory::{Kind, recognise};
use crate::{FaultKind, Heard, Outcome, Voice};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");

/// A trajectory: its file, who wrote it, its runs.
type Captured = (&'static str, Kind, &'static [Run]);

/// Steps; messages and empty answers; dollars; tokens in, from the cache, out; outcome; fault.
type Run = (usize, usize, f64, [u64; 3], Outcome, Option<FaultKind>);

const DONE: (Outcome, Option<FaultKind>) = (Outcome::Succeeded, None);
const SPENT: (Outcome, Option<FaultKind>) = (Outcome::Failed, Some(FaultKind::BudgetLimit));

const fn run(
    steps: usize,
    talk: usize,
    dollars: f64,
    tokens: [u64; 3],
    (outcome, fault): (Outcome, Option<FaultKind>),
) -> Run {
    (steps, talk, dollars, tokens, outcome, fault)
}

#[rustfmt::skip]
const CAPTURED: &[Captured] = &[
    ("trajectories/swe-agent/alternating/deepseek-chat-v2__fasterxml__jackson-databind-1113.traj",
        Kind::SweAgent, &[run(24, 0, 3.0501, [295540, 0, 3157], SPENT)]),
    ("trajectories/swe-agent/alternating/deepseek-chat-v2__google__gson-1391.traj",
        Kind::SweAgent, &[run(29, 0, 3.0076, [295119, 0, 1881], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-chat-v2__apache__dubbo-7041.traj",
        Kind::SweAgent, &[run(26, 0, 3.0809, [300633, 0, 2486], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-chat-v2__fasterxml__jackson-databind-3851.traj",
        Kind::SweAgent, &[run(21, 0, 3.1838, [305853, 0, 4174], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-chat-v2__fasterxml__jackson-databind-4189.traj",
        Kind::SweAgent, &[run(24, 0, 3.0999, [295881, 0, 4702], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-chat-v2__fasterxml__jackson-dataformat-xml-590.traj",
        Kind::SweAgent, &[run(16, 0, 3.1527, [303715, 0, 3853], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-coder-v2__fasterxml__jackson-core-1053.traj",
        Kind::SweAgent, &[run(38, 0, 3.0732, [605495, 0, 3046], SPENT)]),
    ("trajectories/swe-agent/loop/deepseek-coder-v2__fasterxml__jackson-core-1182.traj",
        Kind::SweAgent, &[run(54, 0, 3.0142, [592743, 0, 3368], SPENT)]),
    ("trajectories/swe-agent/loop/doubao-pro-128k__fasterxml__jackson-core-729.traj",
        Kind::SweAgent, &[run(38, 1, 2.1753, [424906, 0, 3388], DONE)]),
    ("trajectories/swe-agent/loop/doubao-pro-128k__fasterxml__jackson-databind-3621.traj",
        Kind::SweAgent, &[run(32, 0, 3.0004, [560602, 0, 13158], SPENT)]),
    ("trajectories/swe-agent/loop/doubao-pro-128k__fasterxml__jackson-dataformat-xml-590.traj",
        Kind::SweAgent, &[run(31, 1, 3.0056, [570371, 0, 10251], SPENT)]),
    ("trajectories/swe-agent/loop/doubao-pro-128k__google__gson-1391.traj",
        Kind::SweAgent, &[run(42, 0, 3.0201, [582670, 0, 7119], SPENT)]),
    ("trajectories/swe-agent/loop/doubao-pro-128k__googlecontainertools__jib-2536.traj",
        Kind::SweAgent, &[run(35, 0, 3.1168, [594410, 0, 9650], SPENT)]),
    ("trajectories/swe-agent/loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-core-380.traj",
        Kind::SweAgent, &[run(18, 0, 1.9890, [190554, 0, 2781], DONE)]),
    ("trajectories/swe-agent/loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-databind-4159.traj",
        Kind::SweAgent, &[run(29, 0, 3.0866, [298807, 0, 3284], SPENT)]),
    ("trajectories/swe-agent/loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-databind-4230.traj",
        Kind::SweAgent, &[run(25, 0, 3.0484, [292236, 0, 4200], SPENT)]),
    ("trajectories/swe-agent/loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-databind-4365.traj",
        Kind::SweAgent, &[run(28, 0, 3.1177, [298641, 0, 4377], SPENT)]),
    ("trajectories/swe-agent/loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-databind-4615.traj",
        Kind::SweAgent, &[run(26, 0, 3.0527, [297469, 0, 2601], SPENT)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-core-150.traj",
        Kind::SweAgent, &[run(13, 0, 1.5020, [145018, 0, 1728], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-core-891.traj",
        Kind::SweAgent, &[run(9, 0, 1.2473, [119218, 0, 1838], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-core-922.traj",
        Kind::SweAgent, &[run(12, 0, 1.5180, [145946, 0, 1952], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-databind-2036.traj",
        Kind::SweAgent, &[run(9, 0, 0.9912, [94893, 0, 1409], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-databind-3509.traj",
        Kind::SweAgent, &[run(8, 0, 0.9065, [86761, 0, 1296], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-databind-3701.traj",
        Kind::SweAgent, &[run(10, 0, 1.1334, [109995, 0, 1115], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-databind-4048.traj",
        Kind::SweAgent, &[run(14, 0, 1.8014, [173343, 0, 2266], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-chat-v2__fasterxml__jackson-databind-4468.traj",
        Kind::SweAgent, &[run(10, 0, 1.0797, [104675, 0, 1099], DONE)]),
    ("trajectories/swe-agent/no-loop/deepseek-coder-v2__fasterxml__jackson-databind-4609.traj",
        Kind::SweAgent, &[run(11, 0, 0.6867, [131641, 0, 1903], DONE)]),
    ("trajectories/swe-agent/no-loop/doubao-pro-128k__fasterxml__jackson-databind-4426.traj",
        Kind::SweAgent, &[run(11, 0, 0.6920, [134878, 0, 1175], DONE)]),
    ("trajectories/swe-agent/no-loop/gpt-4o-2024-05-13__google__gson-1093.traj",
        Kind::SweAgent, &[run(14, 0, 1.3916, [135372, 0, 1264], DONE)]),
    ("trajectories/swe-agent/no-loop/gpt-4o-mini-2024-07-18__fasterxml__jackson-databind-3626.traj",
        Kind::SweAgent, &[run(23, 0, 2.5255, [244159, 0, 2797], DONE)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-chat-v2__fasterxml__jackson-core-729.traj",
        Kind::SweAgent, &[run(32, 0, 3.0808, [303564, 0, 1505], SPENT)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-coder-v2__fasterxml__jackson-core-980.traj",
        Kind::SweAgent, &[run(58, 0, 3.0098, [594625, 0, 2444], SPENT)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-coder-v2__fasterxml__jackson-databind-1650.traj",
        Kind::SweAgent, &[run(36, 0, 3.0398, [589234, 0, 6245], SPENT)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-coder-v2__fasterxml__jackson-databind-3860.traj",
        Kind::SweAgent, &[run(33, 0, 3.0847, [600755, 0, 5395], SPENT)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-coder-v2__fasterxml__jackson-databind-4249.traj",
        Kind::SweAgent, &[run(60, 0, 3.0325, [599121, 0, 2462], SPENT)]),
    ("trajectories/swe-agent/repeats-scattered/deepseek-coder-v2__googlecontainertools__jib-2542.traj",
        Kind::SweAgent, &[run(33, 0, 3.1101, [604022, 0, 6000], SPENT)]),
    ("trajectories/swe-agent/vendor/i_got_id_demo.traj",
        Kind::SweAgent, &[run(21, 0, 0.0000, [0, 0, 0], DONE)]),
    ("trajectories/swe-agent/vendor/marshmallow-code__marshmallow-1867.traj",
        Kind::SweAgent, &[run(11, 0, 0.0000, [0, 0, 0], DONE)]),
    ("trajectories/swe-agent/vendor/pydicom__pydicom-1458.traj",
        Kind::SweAgent, &[run(12, 0, 1.2672, [122612, 0, 1369], DONE)]),
    ("trajectories/mini-swe-agent/astropy__astropy-13033.traj.json",
        Kind::MiniSweAgent, &[run(12, 5, 0.0175, [12275, 75392, 6287], DONE)]),
    ("trajectories/mini-swe-agent/django__django-11163.traj.json",
        Kind::MiniSweAgent, &[run(20, 6, 0.0231, [16236, 162688, 7493], DONE)]),
    ("trajectories/mini-swe-agent/django__django-15467.traj.json",
        Kind::MiniSweAgent, &[run(16, 5, 0.0215, [25651, 125312, 5970], DONE)]),
    ("trajectories/mini-swe-agent/django__django-16429.traj.json",
        Kind::MiniSweAgent, &[run(17, 13, 0.0273, [22973, 156032, 8824], DONE)]),
    ("trajectories/mini-swe-agent/scikit-learn__scikit-learn-12973.traj.json",
        Kind::MiniSweAgent, &[run(18, 41, 0.0470, [66263, 393088, 10328], DONE)]),
    ("trajectories/mini-swe-agent/sphinx-doc__sphinx-9658.traj.json",
        Kind::MiniSweAgent, &[run(13, 3, 0.0163, [17083, 108544, 4651], DONE)]),
    ("trajectories/mini-swe-agent/vendor-github_issue.traj.json",
        Kind::MiniSweAgent, &[run(10, 0, 0.0000, [0, 0, 0], DONE)]),
    ("trajectories/openhands/multi-swe-bench-output.jsonl", Kind::OpenHands, &[
        run(21, 1, 0.0, [565158, 0, 2558], DONE),
        run(33, 0, 0.0, [410169, 0, 5156], (Outcome::Failed, None)),
        run(49, 1, 0.0, [938015, 0, 5627], (Outcome::Failed, Some(FaultKind::TurnLimit))),
    ]),
    ("trajectories/openhands/runtime-traj-basic.json",
        Kind::OpenHands, &[run(1, 0, 0.0, [0, 0, 0], DONE)]),
    ("trajectories/openhands/sdk-goal-events.jsonl",
        Kind::OpenHandsSdk, &[run(3, 0, 0.0, [39265, 68193, 1347], (Outcome::CutOff, None))]),
    ("trajectories/terminal-bench/blind-maze-explorer-5x5.results.json",
        Kind::TerminalBench, &[run(0, 0, 0.0, [0, 0, 0], (Outcome::Failed, Some(FaultKind::Other)))]),
    ("trajectories/terminal-bench/configure-git-webserver.results.json",
        Kind::TerminalBench, &[run(0, 0, 0.0, [0, 0, 0], (Outcome::Succeeded, Some(FaultKind::Other)))]),
    ("trajectories/terminal-bench/git-workflow-hack.results.json",
        Kind::TerminalBench, &[run(0, 0, 0.0, [0, 0, 0], (Outcome::Succeeded, Some(FaultKind::Other)))]),
    ("trajectories/terminal-bench/modernize-fortran-build.results.json",
        Kind::TerminalBench, &[run(0, 0, 0.0, [0, 0, 0], DONE)]),
    // The rest of this file are single events whose contents were taken out.
    ("other-agents/copilot-session-events.jsonl", Kind::Copilot, &[
        run(2, 1, 0.0, [100, 5, 15], (Outcome::Succeeded, Some(FaultKind::InvalidRequest))),
        run(0, 0, 0.0, [0, 0, 0], (Outcome::CutOff, None)),
        run(0, 0, 0.0, [0, 0, 0], (Outcome::CutOff, None)),
    ]),
    ("other-agents/droid-stream-json.jsonl",
        Kind::Droid, &[run(1, 0, 0.0, [0, 0, 0], DONE)]),
];

#[test]
fn everything_captured_is_read_as_it_was_worked_out() {
    for (file, kind, expected) in CAPTURED {
        let Some(bytes) = read_file(file) else { continue };
        assert_eq!(recognise(&bytes), Some(*kind), "{file}");
        let runs = runs(&bytes, *kind);
        assert_eq!(runs.len(), expected.len(), "runs of {file}");
        for (found, expected) in runs.iter().zip(*expected) {
            assert!((found.2 - expected.2).abs() < 5e-5, "{file} cost {} dollars", found.2);
            assert_eq!((found.0, found.1, found.3), (expected.0, expected.1, expected.3), "{file}");
            assert_eq!((found.4, found.5), (expected.4, expected.5), "{file}");
        }
    }
}

#[test]
fn what_a_terminal_showed_is_no_trajectory() {
    for file in [
        "trajectories/openhands/stuck-pane-1.txt",
        "trajectories/openhands/stuck-pane-5.txt",
        "other-agents/copilot-cli-debug-log.txt",
        "other-agents/pi-print-mode-events.jsonl",
    ] {
        let Some(bytes) = read_file(file) else { continue };
        assert_eq!(recognise(&bytes), None, "{file}");
    }
}

/// How many runs of each label the detector calls stuck, at its normal thresholds, and of how many.
/// Nothing that does not loop may be among them, and nothing that does may be missing.
#[test]
fn labelled_runs_are_told_apart() {
    let labels = [
        ("swe-agent/loop", 16, 16),
        ("swe-agent/alternating", 2, 2),
        ("swe-agent/repeats-scattered", 6, 6),
        ("swe-agent/no-loop", 0, 12),
        ("swe-agent/vendor", 0, 3),
        // Nobody has labelled these; three of them answered with nothing, three times in a row.
        ("mini-swe-agent", 3, 7),
        ("openhands", 0, 5),
    ];
    for (label, stuck, of) in labels {
        let mut found = (0, 0);
        for (file, kind, _) in CAPTURED {
            if !file.starts_with(&format!("trajectories/{label}/")) {
                continue;
            }
            let Some(bytes) = read_file(file) else { return };
            for alarm in alarms(&bytes, *kind) {
                found = (found.0 + usize::from(alarm.is_some()), found.1 + 1);
            }
        }
        println!("{label}: {} of {} are stuck", found.0, found.1);
        assert_eq!(found, (stuck, of), "{label}");
    }
}

/// The first signal at its threshold in each run, if there is one.
fn alarms(bytes: &[u8], kind: Kind) -> Vec<Option<Signal>> {
    let mut runs: Vec<(Detector, Option<Signal>)> = Vec::new();
    kind.read(bytes, &moment(), &mut |heard: Heard<'_>| {
        if heard == Heard::Launched {
            runs.push((Detector::new(), None));
        }
        let Some((detector, alarm)) = runs.last_mut() else { return };
        let (kind, action, result, failed) = match &heard {
            Heard::Event(EventKind::Action(action)) => {
                let result = action.result_signature.clone();
                (StepKind::from(&*action.kind), action.signature.clone(), result, action.failed)
            }
            Heard::Said(Voice::Assistant, words) => match Chant::find(words) {
                Some(phrase) => (StepKind::Chant, phrase, None, false),
                None => return,
            },
            _ => return,
        };
        detector.observe(&Step {
            kind,
            action: action.as_bytes(),
            result: result.as_deref().map(str::as_bytes),
            failed,
            active_ms: 0,
            cost_usd: 0.0,
            turn: Some(detector.reading().steps),
        });
        *alarm = alarm.or(detector.reading().kind);
    });
    runs.into_iter().map(|(_, alarm)| alarm).collect()
}

fn runs(bytes: &[u8], kind: Kind) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    kind.read(bytes, &moment(), &mut |heard: Heard<'_>| {
        if heard == Heard::Launched {
            runs.push((0, 0, 0.0, [0; 3], Outcome::CutOff, None));
        }
        let Some(run) = runs.last_mut() else { return };
        match heard {
            Heard::Event(EventKind::Action(action)) => match action.kind.as_str() {
                "message" | "empty" => run.1 += 1,
                "user" => {}
                _ => run.0 += 1,
            },
            Heard::Event(EventKind::Usage(usage)) if usage.basis == Some(UsageBasis::Final) => {
                run.2 = usage.cost_usd.unwrap_or(0.0);
                run.3 = [usage.input_tokens, usage.cache_read_tokens, usage.output_tokens];
            }
            Heard::Fault(fault) => run.5 = Some(fault.kind),
            Heard::Ended(outcome) => run.4 = outcome,
            _ => {}
        }
    });
    runs
}

/// A file, unless nothing was captured on this machine.
#[expect(clippy::disallowed_methods, reason = "tests read what the adapters themselves may not")]
fn read_file(name: &str) -> Option<Vec<u8>> {
    let bytes = Path::new(FOLDER).is_dir().then(|| std::fs::read(Path::new(FOLDER).join(name)));
    if bytes.is_none() {
        println!("skipped {name}: {FOLDER} is not there");
    }
    bytes.map(Result::unwrap)
}
