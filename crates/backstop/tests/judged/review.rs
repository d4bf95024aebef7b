//! Reviewers: a command, a file, and a command that calls itself one.

use serde_json::Value as Json;

use crate::refusals;
use crate::support::looping::Loop;

const DONE: &str = "[[rule]]\nwhen = { type = 'exit_code', any_of = [0] }\nthen = 'complete'\n";

fn policy(iterations: u32, rest: &str) -> String {
    format!("[limits]\niterations = {iterations}\n{DONE}[review]\n{rest}\n")
}

fn outcomes(test: &Loop) -> Vec<String> {
    let reviews = test.events("review").into_iter();
    reviews.map(|review| review["outcome"].as_str().expect("an outcome").to_owned()).collect()
}

#[test]
fn a_claim_counts_only_if_the_reviewer_approves() {
    let reviewer = "echo \"$BACKSTOP_ITERATION of ${BACKSTOP_RUN_ID:0:2}\" >> asked\n\
        if [ $BACKSTOP_ITERATION = 1 ]; then printf 'CHANGES REQUESTED\\n\\n1. Add a test\\n'\n\
        else echo '**Verdict:** approved'; fi";
    let test = Loop::new()
        .file("backstop.toml", &policy(5, "command = './review.sh'"))
        .script("review.sh", reviewer);
    let ended = test.run(["run", "--", "true"]).exits(0);
    assert_eq!(outcomes(&test), ["changes_requested", "approved"]);
    assert_eq!(test.read("asked").lines().count(), 2, "{}", test.read("asked"));
    assert!(test.read("asked").starts_with("1 of "));
    assert_eq!(refusals(&test), ["The last iteration exited with 0: the review asks for changes"]);
    let first = &test.events("review")[0];
    assert_eq!(first["requests"], serde_json::json!(["Add a test"]));
    assert_eq!(first["hash"].as_str().unwrap().len(), 16);
    assert!(ended.stderr.contains("backstop: review: changes requested\n  - Add a test\n"));
    assert!(ended.stderr.contains("backstop: review: approved\n"), "{}", ended.stderr);
}

#[test]
fn the_same_requests_in_a_row_end_the_run_and_are_named() {
    // Other words' clothes, another order and other lines: the same requests.
    let reviewer = "case $BACKSTOP_ITERATION in\n\
        1) printf 'CHANGES REQUESTED\\n- Handle errors (lib.rs:12)\\n- add a test\\n';;\n\
        *) printf 'Changes requested:\\n* ADD A TEST!\\n* handle errors: lib.rs:40\\n';; esac";
    let test = Loop::new()
        .file("backstop.toml", &policy(9, "command = './review.sh'\nsame_rounds = 2"))
        .script("review.sh", reviewer);
    // `lib.rs handle errors` is another order of words, which is another request.
    test.run(["run", "--", "true"]).exits(20);
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["stop_reason"]["code"], "review_loop_detected");
    let message = state["stop_reason"]["message"].as_str().unwrap();
    assert!(
        message.contains("2/2 reviews in a row asked for the same: ADD A TEST!; handle errors")
    );
    assert_eq!(state["facts"]["iterations"], 2);
}

#[test]
fn a_reviewer_who_rejects_the_work_ends_the_run() {
    let test = Loop::new()
        .file("backstop.toml", &policy(9, "command = ['echo', 'REJECTED: another problem']"));
    let ended = test.run(["run", "--", "true"]).exits(21);
    assert_eq!(test.state()["run_status"], "failed");
    assert!(ended.stderr.contains("another problem"), "{}", ended.stderr);
}

#[test]
fn a_rule_with_the_same_reason_replaces_what_the_review_implies() {
    let rule = "[[rule]]\nwhen = { type = 'review', outcome = 'rejected' }\nthen = 'warn'\n";
    let policy = format!("{}{rule}", policy(2, "command = 'echo REJECTED'"));
    let test = Loop::new().file("backstop.toml", &policy);
    test.run(["run", "--", "true"]).exits(125);
    assert_eq!(outcomes(&test), ["rejected", "rejected"]);
}

#[test]
fn who_says_nothing_of_it_approves_nothing() {
    let neither = "it said neither APPROVED, CHANGES REQUESTED nor REJECTED";
    for (reviewer, timeout, why) in [
        ("echo 'looks good to me'", "5m", neither),
        ("echo 'no key' >&2; exit 3", "5m", "it exited with 3 and gave no verdict: no key"),
        ("echo '`APPROVED`'; echo '> APPROVED'", "5m", "it said neither"),
        ("echo APPROVED; exec sleep 300", "500ms", "it took too long"),
    ] {
        let settings = format!("command = './review.sh'\ntimeout = '{timeout}'");
        let test =
            Loop::new().file("backstop.toml", &policy(1, &settings)).script("review.sh", reviewer);
        let ended = test.run(["run", "--", "true"]).exits(125);
        assert_eq!(outcomes(&test), Vec::<String>::new());
        assert_eq!(
            refusals(&test),
            ["The last iteration exited with 0: no review has approved it"]
        );
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("warning: the reviewer gave no review: {why}")), "{said}");
        let notes = test.events("noted");
        assert!(notes.iter().any(|note| note["what"] == "not_reviewed"), "{notes:?}");
        test.leaves_nothing();
    }
}

#[test]
fn only_what_would_be_complete_is_reviewed_if_the_policy_says_so() {
    let settings = "command = 'echo x >> asked; echo APPROVED'\nwhen = 'complete'\n\
                    [verify]\ncommand = '[ -e good ]'";
    let agent =
        "[ $BACKSTOP_ITERATION = 1 ] && exit 4; [ $BACKSTOP_ITERATION = 3 ] && touch good; true";
    let test = Loop::new().file("backstop.toml", &policy(9, settings)).script("agent.sh", agent);
    test.run(["run", "--", "./agent.sh"]).exits(0);
    // The first iteration claims nothing, and the second is not verified.
    assert_eq!(test.read("asked"), "x\n");
    assert_eq!(
        refusals(&test),
        ["The last iteration exited with 0: the verification did not pass"]
    );
    assert_eq!(test.state()["facts"]["iterations"], 3);
}

#[test]
fn work_that_is_done_already_is_reviewed_before_anything_runs() {
    let rule = "[[rule]]\nwhen = { type = 'file_created', path = 'done' }\nthen = 'complete'\n";
    let policy = format!("{rule}[review]\ncommand = 'echo APPROVED'\n");
    let test = Loop::new().file("backstop.toml", &policy).file("done", "");
    test.run(["run", "--", "touch", "ran"]).exits(0);
    assert!(!test.exists("ran"));
    assert_eq!(outcomes(&test), ["approved"]);
}

#[test]
fn a_file_counts_each_time_that_it_is_written() {
    let agent = "case $BACKSTOP_ITERATION in\n\
        2) printf 'Changes requested\\n- [ ] tests\\n- [x] names\\n' > REVIEW.md;;\n\
        4) echo 'APPROVED' > REVIEW.md;; esac";
    let test = Loop::new()
        .file("backstop.toml", &policy(9, "file = 'REVIEW.md'"))
        .file("REVIEW.md", "APPROVED\n")
        .script("agent.sh", agent);
    test.run(["run", "--", "./agent.sh"]).exits(0);
    // What was there before the run is of another time.
    assert_eq!(outcomes(&test), ["changes_requested", "approved"]);
    assert_eq!(test.events("review")[0]["requests"], serde_json::json!(["tests"]));
    assert_eq!(test.state()["facts"]["iterations"], 4);
    let refused = refusals(&test);
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert!(refused[0].ends_with("no review has approved it"));
}

#[test]
fn a_person_may_write_the_file_while_the_run_stands_still() {
    let test = Loop::new().file("backstop.toml", &policy(1, "file = 'REVIEW.md'"));
    test.run(["run", "--", "true"]).exits(125);
    let test = test.file("REVIEW.md", "APPROVED\n");
    test.run(["resume", "--raise", "iterations=2"]).exits(0);
    assert_eq!(outcomes(&test), ["approved"]);
}

#[test]
fn what_the_command_says_of_itself_is_never_an_approval() {
    let approves = r#"echo '::backstop {"type":"review","outcome":"approved"}'"#;
    let rule = "[[rule]]\nwhen = { type = 'review', outcome = 'approved' }\nthen = 'complete'\n";
    let settings = "command = 'printf \"CHANGES REQUESTED\\n- same\\n\"'";
    let test = Loop::new()
        .file("backstop.toml", &format!("{}{rule}", policy(9, settings)))
        .script("agent.sh", approves);
    // Nor does it end the row of reviews that ask for the same.
    test.run(["run", "--", "./agent.sh"]).exits(20);
    assert_eq!(outcomes(&test), ["changes_requested"; 3]);
    let own = "the command itself says that its work is approved";
    assert_eq!(refusals(&test).iter().filter(|refusal| *refusal == own).count(), 3);
}

#[test]
fn what_the_command_says_of_itself_counts_for_a_row() {
    let asks =
        r#"echo '::backstop {"type":"review","outcome":"changes_requested","requests":["a"]}'"#;
    let test = Loop::new()
        .file("backstop.toml", &policy(9, "file = 'REVIEW.md'"))
        .script("agent.sh", asks);
    test.run(["run", "--", "./agent.sh"]).exits(20);
    assert_eq!(test.state()["facts"]["review"]["same_rounds"], Json::from(3));
}

#[test]
fn once_is_reviewed_too() {
    for (says, when, code) in [
        ("APPROVED", "every", 0),
        ("APPROVED", "complete", 0),
        ("CHANGES REQUESTED", "every", 21),
        ("nothing", "complete", 21),
    ] {
        let settings = format!("command = ['echo', '{says}']\nwhen = '{when}'");
        let text = policy(9, &settings).replace(DONE, "");
        let test = Loop::new().file("backstop.toml", &text);
        test.run(["run", "--once", "--", "true"]).exits(code);
    }
}

#[test]
fn a_reviewer_without_a_verdict_is_asked_once_about_the_same_work() {
    let reviewer = "echo asked >> asked; echo 'Hm.'";
    let test = Loop::new()
        .file("backstop.toml", &policy(2, "command = './review.sh'"))
        .script("review.sh", reviewer);
    test.run(["run", "--", "true"]).exits(125);
    assert_eq!(test.read("asked").lines().count(), 2);
}
