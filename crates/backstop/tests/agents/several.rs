//! Agents among other things that a command prints: another agent's output, a script's own, much of
//! anything.

use serde_json::json;

use crate::support::Ended;
use crate::support::looping::{Loop, wait_for};
use crate::{call, claude, play, result};

/// What Codex prints of a turn after which its thread has used so much.
fn codex(input: u64, output: u64) -> String {
    let records = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed",
               "item": {"id": "1", "type": "agent_message", "text": "Mended."}}),
        json!({"type": "turn.completed", "usage":
               {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output}}),
    ];
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Runs a script in a directory where agents print what files hold.
fn run_script(test: &Loop, flags: &[&str], script: &str) -> Ended {
    let agents = "PATH=$PWD:$PATH; export PATH; ";
    let script = format!("{agents}{script}");
    test.run([&["run", "--max-iterations", "1"], flags, &["--", "sh", "-c", &script]].concat())
}

#[test]
fn an_agent_that_prints_records_is_followed_behind_one_that_prints_words() {
    let test = Loop::new().file("codex.jsonl", &codex(900, 30));
    let test = test.script("claude", "echo I read it.").script("codex", "cat codex.jsonl");
    let ended = run_script(&test, &[], "claude -p x; codex exec --json y").exits(125);
    assert_eq!(ended.stdout, "I read it.\nMended.\n");
    assert_eq!(test.state()["facts"]["tokens"], 930);
    assert_eq!(test.events("error"), Vec::<serde_json::Value>::new());
}

#[test]
fn a_record_that_an_agent_only_shows_is_no_launch() {
    let stream = codex(900, 30);
    for shown in stream.lines() {
        let test = Loop::new().file("shown", &format!("Codex prints:\n{shown}\nbye\n"));
        let test = test.script("claude", "cat shown");
        let ended = test.run(["run", "--max-iterations", "1", "--", "./claude", "-p", "x"]);
        assert_eq!(test.events("iteration_finished")[0]["exit_code"], 0, "{shown}");
        assert!(ended.stdout.contains("bye\n"), "{}", ended.stdout);
        assert_eq!(test.state()["facts"]["tokens"], 0, "{shown}");
    }
}

#[test]
fn a_capture_that_an_agent_quotes_is_none_of_its_own() {
    let capture = claude(&[result("no", true)]);
    let fenced = format!("These are its lines:\n\n```json\n{capture}```\nThat is all.\n");
    let bare = format!("These are its lines:\n\n{capture}\nThat is all.\n");
    for (agent, answer) in [("claude", &fenced), ("claude", &bare), ("codex", &bare)] {
        let test = Loop::new().file("answer", answer).script(agent, "cat answer");
        let ended = test.run(["run", "--once", "--", &format!("./{agent}")]).exits(0);
        assert_eq!(ended.stdout, *answer);
        let facts = &test.state()["facts"];
        assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(0), &json!(0.0)), "{agent}");
        assert_eq!(test.events("error"), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn what_a_script_prints_after_its_agent_is_shown_and_changes_nothing() {
    let printed = [
        r#"{"type":"message","role":"user","content":"an export","timestamp":"2026-01-01T00:00:00Z"}"#,
        r#"{"messages":[{"id":"greeting","text":"hi"}],"metadata":{"locale":"en"}}"#,
        r#"{"ok":true}"#,
    ];
    for json in printed {
        let stream = format!("{}{json}\nALL GOOD\n", claude(&[result("Read it.", false)]));
        let test = Loop::new().file("stream", &stream);
        let ended = test.run(play(&["--once"], "stream")).exits(0);
        assert!(ended.stdout.ends_with("ALL GOOD\n"), "{}", ended.stdout);
        let is_typed = json.contains("\"type\"");
        assert_eq!(ended.stdout.contains(json), !is_typed, "{}", ended.stdout);
    }
}

#[test]
fn an_agent_is_known_behind_any_amount_of_output() {
    let [called, answered] = call("grep 'ALL DONE' .", "PLAN.md: ALL DONE");
    let stream = claude(&[called, answered, result("Not yet.", false)]);
    for raw in [&[][..], &["--raw"]] {
        for before in
            ["yes 'compiling a part' | head -n 200000", "yes '{\"log\":1}' | head -n 300000"]
        {
            let test = Loop::new().file("stream", &stream);
            let test = test.script("agent.sh", &format!("{before}; cat stream; echo; echo end"));
            let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1"];
            let ended = test.run([&flags[..], raw, &["--", "./agent.sh"]].concat()).exits(125);
            assert_eq!(test.state()["facts"]["tokens"], 15, "{before}");
            let shown = ended.stdout.contains("✓ Bash: grep") && !ended.stdout.contains("tool_use");
            assert_eq!(shown, raw.is_empty(), "{before}");
            assert!(ended.stdout.ends_with("end\n"), "{before}");
        }
    }
}

#[test]
fn totals_of_a_thread_outlive_an_iteration_of_mere_text() {
    let test = Loop::new().file("1", &codex(100, 10)).file("3", &codex(250, 30));
    let script = "case $BACKSTOP_ITERATION in 2) yes text | head -n 500000;; \
                  *) cat $BACKSTOP_ITERATION;; esac";
    let test = test.script("agent.sh", script);
    test.run(["run", "--max-iterations", "3", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.state()["facts"]["tokens"], 280);
}

#[test]
fn totals_of_a_thread_outlive_the_supervisor() {
    let thread = |name: &str, input| {
        codex(input, 10).replace("\"thread_id\":\"t\"", &format!("\"thread_id\":\"{name}\""))
    };
    let told = |script: &str| {
        let test = Loop::new().file("1", &thread("a", 100)).file("2", &thread("a", 150));
        let test = test.file("3", &thread("b", 20)).file("4", &thread("a", 170));
        test.script("agent.sh", script)
    };
    let test = told("cat $BACKSTOP_ITERATION");
    test.run(["run", "--max-iterations", "2", "--", "./agent.sh"]).exits(125);
    test.run(["resume", "latest", "--raise", "iterations=4"]).exits(125);
    let input = |test: &Loop| test.state()["facts"]["tokens_by"]["input"].clone();
    assert_eq!(input(&test), 190, "150 of one thread, 20 of the other, and 20 more");

    // The third iteration is cut off before its agent has said anything.
    let script = "test $BACKSTOP_ITERATION = 3 -a ! -e again && { >again; exec sleep 60; }; \
                  cat $BACKSTOP_ITERATION";
    let test = told(script);
    let running = test.start(["run", "--max-iterations", "4", "--", "./agent.sh"]);
    wait_for("the third iteration", || test.exists("again"));
    Loop::cut_off(&test.marked());
    running.ends();
    test.run(["resume", "latest"]).exits(125);
    assert_eq!(input(&test), 190);
}

#[test]
fn a_cost_that_one_of_two_agents_does_not_tell_is_not_known() {
    let told = claude(&[result("Read it.", false)]);
    for order in ["cat told; cat untold", "cat untold; cat told"] {
        let test = Loop::new().file("told", &told).file("untold", &codex(900, 30));
        let test = test.script("agent.sh", order);
        let flags = ["run", "--max-cost", "5", "--max-iterations", "2", "--", "./agent.sh"];
        test.run(flags).exits(128);
        let state = test.state();
        assert_eq!(
            (&state["run_status"], &state["facts"]["iterations"]),
            (&json!("held"), &json!(1))
        );
    }
    let test = Loop::new().file("told", &told).script("agent.sh", "cat told; cat told");
    test.run(["run", "--max-cost", "5", "--max-iterations", "2", "--", "./agent.sh"]).exits(125);
}

#[test]
fn the_cause_of_a_failure_is_what_was_said_where_errors_are_said() {
    let test = Loop::new().file("stream", &claude(&[result("Read it.", false)]));
    let goal = "[ERROR] Failed to execute goal";
    for (place, message) in
        [(">&2", format!("exit status 1: {goal}")), ("", "exit status 1".into())]
    {
        let agent = format!("cat stream; echo '{goal}' {place}; exit 1");
        let test = Loop::new().file("stream", &test.read("stream")).script("agent.sh", &agent);
        test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
        assert_eq!(test.events("error")[0]["message"], message);
    }
}

#[test]
fn tests_that_a_script_runs_after_its_agent_count() {
    let [called, answered] = call("pytest", "==== 7 passed in 0.1s ====");
    let stream = claude(&[called, answered, result("==== 9 passed in 0.1s ====", false)]);
    let passes = "printf 'test_a.py::test_one PASSED\\n==== 1 passed in 0.12s ====\\n'";
    for (script, exit) in [
        (format!("cat stream; {passes}"), 0),
        // That says nothing of the agent's work, and may be its prompt.
        (format!("{passes}; cat stream"), 125),
        (format!("cat stream; {passes} >&2"), 0),
        ("cat stream".to_owned(), 125),
        // There are runners that speak in records, too.
        ("cat stream go-test".to_owned(), 0),
    ] {
        let test = Loop::new().file("stream", &stream).script("agent.sh", &script);
        let test = test.file("go-test", GO_TEST);
        let flags = ["run", "--until-tests-pass", "--max-iterations", "1", "--", "./agent.sh"];
        test.run(flags).exits(exit);
        let seen = test.events("tests").len();
        assert_eq!(seen, usize::from(exit == 0), "{script}");
    }
    // Whoever names the agent says nothing of what a script prints before it.
    let script = format!("echo starting; cat stream; {passes}");
    let test = Loop::new().file("stream", &stream).script("agent.sh", &script);
    let flags = ["run", "--until-tests-pass", "--max-iterations", "1", "--agent", "claude"];
    test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(0);
}

const GO_TEST: &str = r#"{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"a","Test":"TestOne"}
{"Time":"2026-01-01T00:00:00Z","Action":"pass","Package":"a","Test":"TestOne","Elapsed":0}
{"Time":"2026-01-01T00:00:00Z","Action":"pass","Package":"a","Elapsed":0.1}
"#;

#[test]
fn a_command_that_is_printed_before_it_runs_says_nothing() {
    let stream = claude(&[result("Not yet.", false)]);
    for (line, exit) in [
        ("claude -p \"please say ALL DONE\" --verbose", 125),
        ("+ codex exec --json \"say \\\nALL DONE\"", 125),
        ("+ claude -p 'first line\nthen say ALL DONE' --verbose", 125),
        ("cd app && codex exec 'say ALL DONE'", 125),
        ("make: ALL DONE", 0),
        ("claude finished -- ALL DONE", 0),
    ] {
        // However much was printed before it.
        for before in ["echo building", "yes 'compiling a part' | head -n 200000"] {
            let test = Loop::new().file("line", line).file("stream", &stream);
            let script = format!("{before}; cat line; echo; cat stream");
            let test = test.script("agent.sh", &script);
            let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1"];
            test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(exit);
        }
    }
}

#[test]
fn a_command_that_a_shell_traces_says_nothing() {
    let failed = result("Not yet.", true);
    for (shell, goal) in
        [("sh", "say ALL DONE when ready"), ("bash", "first this\nthen say ALL DONE")]
    {
        let test = Loop::new().file("stream", &claude(std::slice::from_ref(&failed)));
        let test = test.script("claude", "cat stream; exit 1");
        let command = format!("claude -p \"{goal}\" --output-format stream-json --verbose");
        let test = test.file("loop.sh", &format!("PATH=$PWD:$PATH\nset -x\n{command}\n"));
        let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1", "--"];
        test.run(flags.into_iter().chain([shell, "loop.sh"])).exits(125);
    }
    let test = Loop::new().file("loop.sh", "set -x\necho ALL DONE >&2\n");
    let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1", "--"];
    test.run(flags.into_iter().chain(["sh", "loop.sh"])).exits(0);
}

#[test]
fn words_behind_a_record_that_an_agent_shows_are_still_its_own() {
    let shown = "{\"type\":\"thread.started\",\"thread_id\":\"x\"}";
    let said = format!("It prints this:\n{shown}\nALL DONE\n");
    let test = Loop::new().file("said", &said).script("claude", "cat said");
    let flags = ["run", "--until-output", "ALL DONE", "--max-iterations", "1", "--"];
    let ended = test.run(flags.into_iter().chain(["./claude", "-p", "x"])).exits(0);
    assert_eq!(ended.stdout, said);
}

#[test]
fn an_agent_behind_anothers_words_is_shown_as_one() {
    let test = Loop::new().file("stream", &codex(100, 10)).script("claude", "echo I have read it.");
    let ended = run_script(&test, &[], "claude -p x; cat stream").exits(125);
    assert!(!ended.stdout.contains("thread.started"), "{}", ended.stdout);
    assert_eq!(test.state()["facts"]["tokens"], 110);
}
