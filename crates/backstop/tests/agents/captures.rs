//! Real captures, played line by line as the agent printed them: limits fire in the middle.

use std::path::Path;

use crate::support::looping::Loop;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");

/// Prints the lines of a capture one by one, and stays when it has printed all.
const PLAYER: &str = "while IFS= read -r line || [ -n \"$line\" ]; do\n\
    printf '%s\\n' \"$line\"; sleep $PAUSE\n\
    done < capture\n\
    touch all-printed\n\
    exec sleep 300";

struct Played {
    capture: &'static str,
    flags: &'static [&'static str],
    exit: i32,
    /// The seconds between two lines of one that must be ended before it has printed everything.
    pause: Option<&'static str>,
}

#[test]
fn launches_of_one_process_count_together_also_those_without_a_result() {
    let capture = Path::new(FIXTURES).join("claude-loops/relaunch-loop-c-already-done.jsonl");
    let Ok(text) = std::fs::read_to_string(&capture) else {
        println!("skipped: there is no {}", capture.display());
        return;
    };
    let test = Loop::new().file("capture", &text);
    test.run(["run", "--once", "--", "cat", "capture"]);
    let replayed = test.run(["replay", "capture", "--json"]).json();
    assert_eq!(replayed["facts"]["tokens"], 318_151);
    assert_eq!(test.state()["facts"]["tokens"], 318_151);
}

#[test]
fn limits_fire_while_a_capture_plays() {
    if !Path::new(FIXTURES).is_dir() {
        println!("skipped: there are no captures at {FIXTURES}");
        return;
    }
    for Played { capture, flags, exit, pause } in [
        // 122,105 tokens in all, which a live count reaches step by step.
        Played {
            capture: "claude-stream/error-max-turns-1.jsonl",
            flags: &["--max-tokens", "60000"],
            exit: 127,
            pause: Some("0.05"),
        },
        Played {
            capture: "claude-stream/truncated-no-result.jsonl",
            flags: &["--max-tokens", "1000"],
            exit: 127,
            pause: Some("0.05"),
        },
        Played {
            capture: "opencode/run-json-success.jsonl",
            flags: &["--max-tokens", "11000"],
            exit: 127,
            pause: Some("1"),
        },
        // Codex tells its tokens with the end of a turn, which is the last that it prints.
        Played {
            capture: "codex/exec-json-1.jsonl",
            flags: &["--max-tokens", "1000"],
            exit: 127,
            pause: None,
        },
        Played {
            capture: "claude-stream/api-error-credit-balance.json",
            flags: &[],
            exit: 13,
            pause: None,
        },
    ] {
        let text = std::fs::read_to_string(Path::new(FIXTURES).join(capture)).expect("a capture");
        let test = Loop::new()
            .file("capture", &text)
            .script("agent.sh", PLAYER)
            .variable("PAUSE", pause.unwrap_or("0"));
        let run = ["run", "--max-iterations", "5", "--finish-within", "0s", "--grace", "1s"];
        let words = [&run, flags, &["--", "./agent.sh"]].concat();
        test.run(words).exits(exit);
        test.leaves_nothing();
        assert!(!(pause.is_some() && test.exists("all-printed")), "{capture}");
        assert_eq!(test.state()["facts"]["iterations"], 1, "{capture}");
    }
}
