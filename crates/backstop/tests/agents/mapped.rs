//! An agent that backstop does not know, read as the policy says; and names that nobody knows.

use serde_json::json;

use crate::play;
use crate::support::looping::Loop;

const POLICY: &str = "[limits]\niterations = 1\n[loop]\nagent = 'jsonl'\n[jsonl]\n\
    input_tokens = 'usage.in'\noutput_tokens = 'usage.out'\ncost_usd = 'price'\nmodel = 'by'\n\
    message = 'says'\nerror = 'problem'\ncontext_used = 'window.used'\ncontext_limit = 'window.size'\n";

const LINES: &str = r#"{"usage":{"in":100,"out":5},"price":0.25,"by":"mine-1","window":{"used":105,"size":1000}}
{"says":"I have begun."}
{"other":true}
{"usage":{"in":200,"out":7},"price":0.5,"by":"mine-1","window":{"used":312,"size":1000}}
{"says":"IT IS DONE"}
"#;

#[test]
fn figures_and_words_are_found_where_the_policy_says() {
    let rule = "[[rule]]\nwhen = { type = 'output_pattern', pattern = 'IT IS DONE', \
                in = 'assistant' }\nthen = 'complete'\n";
    let test = Loop::new().file("p.toml", &format!("{POLICY}{rule}")).file("stream", LINES);
    let ended = test.run(play(&["--policy", "p.toml"], "stream")).exits(0);
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(312), &json!(0.75)));
    assert_eq!(facts["context"], json!({"used": 312, "limit": 1000}));
    assert!(ended.stdout.contains("I have begun.\n"), "{}", ended.stdout);
    let usage = test.events("usage");
    assert_eq!((usage.len(), &usage[0]["model"]), (2, &json!("mine-1")));
}

#[test]
fn totals_are_not_added_up() {
    let test =
        Loop::new().file("p.toml", &format!("{POLICY}totals = true\n")).file("stream", LINES);
    test.run(play(&["--policy", "p.toml"], "stream")).exits(125);
    let facts = &test.state()["facts"];
    assert_eq!((&facts["tokens"], &facts["cost_usd"]), (&json!(207), &json!(0.5)));
}

#[test]
fn what_it_calls_a_problem_is_told_apart() {
    for (says, code) in [("invalid api key", 13), ("overloaded", 125), ("rate limit reached", 33)] {
        let policy = POLICY.replace("iterations = 1", "iterations = 2");
        let policy = format!("{policy}[wait]\nmax_per_wait = '500ms'\n");
        let line = json!({"problem": {"message": says}}).to_string();
        let test = Loop::new().file("p.toml", &policy).file("stream", &line);
        test.run(play(&["--policy", "p.toml"], "stream")).exits(code);
    }
}

#[test]
fn a_limit_fires_on_mapped_figures_in_the_middle() {
    let lines = LINES.repeat(200);
    let test = Loop::new().file("p.toml", POLICY).file("stream", &lines);
    let flags = ["--policy", "p.toml", "--max-tokens", "1000", "--finish-within", "0s"];
    let slowly = [play(&flags, "stream"), vec!["--delay-ms", "20"]].concat();
    test.run(slowly).exits(127);
    assert!(test.events("usage").len() < 200);
    test.leaves_nothing();
}

#[test]
fn a_mapping_that_cannot_be_used_is_refused() {
    for (mapping, words) in [
        ("[jsonl]\ntotals = true\n", "nothing is mapped"),
        ("[jsonl]\ninput_tokens = 'a..b'\n", "jsonl"),
        ("[jsonl]\ninput_tokens = ''\n", "input_tokens"),
        ("[jsonl]\ncontext_used = 'a'\n", "context_limit"),
        ("[jsonl]\ninput_tokns = 'a'\n", "input_tokens"),
        ("[loop]\nagent = 'jsonl'\n", "[jsonl]"),
        ("[loop]\nagent = 'cluade'\n", "claude"),
        ("[prices.m]\ninput = -1\noutput = 1\n", "input"),
        ("[prices.'a*b']\ninput = 1\noutput = 1\n", "a*b"),
        ("[verify]\ncommand = 'true'\nreport = 'junti'\n", "junit"),
        ("[verify]\ncommand = 'true'\nreport = 'regex:('\n", "unclosed group"),
        ("[wait]\nmax_total = 'soon'\n", "max_total"),
    ] {
        let test = Loop::new().file("p.toml", mapping);
        let ended = test.run(["run", "--policy", "p.toml", "--", "touch", "ran"]);
        ended.refused(78, &[words]);
        assert!(!test.exists("ran"));
    }
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest_name() {
    let test = Loop::new();
    let ended = test.run(["run", "--agent", "cluade", "--", "touch", "ran"]);
    ended.refused(64, &["`cluade`", "did you mean `claude`?"]);
    test.run(["run", "--agent", "jsonl", "--", "touch", "ran"]).refused(78, &["[jsonl]"]);
    assert!(!test.exists("ran"));
}
