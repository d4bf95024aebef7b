//! What a person sees of an agent's output.

use std::io::Read as _;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::support::looping::Loop;
use crate::{MISBEHAVE, call, claude, message, play, result};

/// A session with words, a call that fails, one that succeeds, and a failure at its end.
fn session() -> String {
    let words = message(&json!([{"type": "text", "text": "I look at it.\nTwo parts."}]));
    let [asks, mut answers] = call("make check", "Exit code 2\nmake: nothing to do");
    answers["message"]["content"][0]["is_error"] = json!(true);
    let [mut writes, mut written] = call("make parts", "ok");
    writes["message"]["content"][0]["id"] = json!("toolu_2");
    written["message"]["content"][0]["tool_use_id"] = json!("toolu_2");
    let end = result("API Error: 500 Internal server error", true);
    claude(&[words, asks, answers, writes, written, end])
}

#[test]
fn an_agents_json_is_made_readable() {
    let test = Loop::new().file("stream", &session());
    let ended = test.run(play(&["--once"], "stream"));
    assert_eq!(
        ended.stdout,
        "· model claude-sample-1\nI look at it.\nTwo parts.\n✗ Bash: make check → Exit code 2\n\
         ✓ Bash: make parts\n✗ API Error: 500 Internal server error\n"
    );
}

#[test]
fn calls_side_by_side_are_told_apart() {
    let calls = message(&json!([
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make one"}},
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": "make two"}},
    ]));
    let [_, mut second] = call("", "Exit code 1");
    second["message"]["content"][0]["tool_use_id"] = json!("toolu_2");
    second["message"]["content"][0]["is_error"] = json!(true);
    let [_, first] = call("", "ok");
    let test =
        Loop::new().file("stream", &claude(&[calls, second, first, result("It is done.", false)]));
    let ended = test.run(play(&["--once"], "stream")).exits(0);
    let lines = "✗ Bash: make two → Exit code 1\n✓ Bash: make one\n";
    assert!(ended.stdout.contains(lines), "{}", ended.stdout);
}

#[test]
fn the_log_keeps_what_was_printed() {
    let test = Loop::new().file("stream", &session());
    test.run(play(&["--once"], "stream"));
    let logged = test.run(["logs", "latest"]).exits(0);
    assert!(logged.stdout.contains(r#""subtype":"init""#), "{}", logged.stdout);
}

#[test]
fn the_doctor_shows_it_readable_too() {
    let test = Loop::new().file("stream", &session());
    test.run(play(&["--once"], "stream"));
    let shown = test.run(["doctor", "latest"]).stdout;
    assert!(shown.contains("  ✓ Bash: make parts\n"), "{shown}");
    assert!(!shown.contains(r#""type":"#), "{shown}");
}

#[test]
fn raw_passes_the_bytes_and_understands_them_all_the_same() {
    let test = Loop::new().file("stream", &session());
    let ended = test.run(play(&["--once", "--raw"], "stream"));
    assert_eq!(ended.stdout, session());
    assert_eq!(test.events("usage").last().expect("figures")["basis"], "final");
}

#[test]
fn the_generic_agent_is_not_understood() {
    let test = Loop::new().file("stream", &session());
    let ended = test.run(play(&["--once", "--agent", "generic"], "stream")).exits(0);
    assert_eq!(ended.stdout, session());
    for kind in ["usage", "context", "action", "error"] {
        assert_eq!(test.events(kind), Vec::<Json>::new());
    }
}

#[test]
fn a_single_object_is_made_readable_too() {
    let object = result("The parts are done.", false).to_string();
    for end in ["", "\n"] {
        let test = Loop::new().file("stream", &format!("{object}{end}"));
        let ended = test.run(play(&["--once", "--agent", "claude"], "stream")).exits(0);
        assert_eq!(ended.stdout, "The parts are done.\n");
        assert_eq!(test.state()["facts"]["cost_usd"], 0.01);
    }
}

#[test]
fn a_single_object_over_several_lines_is_made_readable_too() {
    let report = json!({"session_id": "s", "response": "The parts are done.", "stats": {}});
    let pretty = serde_json::to_string_pretty(&report).expect("JSON");
    let test = Loop::new().file("report", &format!("{pretty}\n")).script("gemini", "cat report");
    let ended = test.run(["run", "--once", "--", "./gemini", "-p", "x"]).exits(0);
    assert_eq!(ended.stdout, "The parts are done.\n");
}

#[test]
fn an_answer_in_words_is_shown_once_and_as_it_is() {
    let answer = "Summary:\n[1] first\nsecond\n{\"a\": [1]}\n\u{1b}[1mthird\u{1b}[0m\n";
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let test = Loop::new().file("answer", answer).script(agent, "cat answer");
        let program = format!("./{agent}");
        let ended = test.run(["run", "--once", "--", program.as_str(), "-p", "x"]).exits(0);
        assert_eq!(ended.stdout, answer, "{agent}");
        let named = test.run(play(&["--once", "--agent", agent], "answer")).exits(0);
        assert_eq!(named.stdout, answer, "{agent}");
    }
}

#[test]
fn the_json_of_some_program_passes_byte_by_byte() {
    let lines = "{\"level\":\"info\",\"msg\":\"started\"}\n[1,2,{\"a\":null}]\n  {\"x\" : 1}\r\n\
                 {not json\n\n{\"type\":\"progress\",\"done\":3}\ntext \u{1b}[1mbold\u{1b}[0m\n{\"last\":true}";
    for flags in [&["--once"][..], &["--once", "--raw"], &["--once", "--agent", "generic"]] {
        let test = Loop::new().file("stream", lines);
        let ended = test.run(play(flags, "stream")).exits(0);
        assert_eq!(ended.stdout, lines, "{flags:?}");
    }
}

/// What is shown of a program that prints this and then stays.
#[track_caller]
fn shown_meanwhile(flags: &[&str], printed: &str, expected: &str) {
    let test = Loop::new().file("stream", printed);
    let words =
        [&["run", "--once"], flags, &["--", MISBEHAVE, "play", "stream", "--stay"]].concat();
    let mut command = test.command(words);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it can be started");
    let mut stdout = child.stdout.take().expect("a pipe");
    let (sender, shown) = mpsc::channel();
    let length = expected.len();
    std::thread::spawn(move || {
        let mut bytes = vec![0; length];
        let _gone = stdout.read_exact(&mut bytes).map(|()| sender.send(bytes));
    });
    let bytes = shown.recv_timeout(Duration::from_secs(30)).expect("it is shown at once");
    let _ended = child.kill();
    child.wait().expect("it ended");
    test.is_empty();
    assert_eq!(String::from_utf8(bytes).expect("UTF-8"), expected);
}

#[test]
fn a_line_without_an_end_is_shown_at_once() {
    shown_meanwhile(&[], "Password: ", "Password: ");
    shown_meanwhile(&["--agent", "generic"], "{\"half\":", "{\"half\":");
    shown_meanwhile(&["--raw"], "{\"half\":", "{\"half\":");
    // After a line that is no agent's.
    shown_meanwhile(&[], "{\"a\":1}\n50 %", "{\"a\":1}\n50 %");
}

#[test]
fn an_agents_steps_are_shown_while_it_works() {
    let words = message(&json!([{"type": "text", "text": "I begin."}]));
    // The words of a message are whole when the next step shows that nothing follows.
    let [asks, answers] = call("make", "ok");
    let stream = claude(&[words, asks, answers]);
    shown_meanwhile(&[], &stream, "· model claude-sample-1\nI begin.\n✓ Bash: make\n");
}

#[test]
fn nothing_of_an_agent_reaches_the_terminal_unfiltered() {
    let words =
        message(&json!([{"type": "text", "text": "\u{1b}]0;title\u{7}a\u{1b}[2Jb\u{202e}"}]));
    let test = Loop::new().file("stream", &claude(&[words, result("", false)]));
    let ended = test.run(play(&["--once"], "stream"));
    assert!(!ended.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ended.stdout);
}
