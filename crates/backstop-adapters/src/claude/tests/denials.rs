//! What nobody allowed, or paid for.

use super::traps::{DONE, INIT, answer, assistant, call, lines};
use crate::{FaultKind, Outcome};

fn denied(ids: &[&str]) -> String {
    let denials: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(
                r#"{{"tool_name":"Bash","tool_use_id":"{id}","tool_input":{{"command":"git push"}}}}"#
            )
        })
        .collect();
    DONE.replace(
        "\"duration_ms\":1",
        &format!("\"num_turns\":2,\"permission_denials\":[{}]", denials.join(",")),
    )
}

#[test]
fn a_launch_that_was_allowed_nothing_needs_a_person() {
    let push = assistant("m1", &call("t1", "git push"));
    let refused = answer("t1", "This command requires approval", true);
    let read = assistant("m2", &call("t2", "x").replace("Bash", "Read"));
    let seen = answer("t2", "text", false);
    let needed = ["permission is needed for Bash `git push`"];
    assert_eq!(lines(&[INIT, &push, &refused, &denied(&["t1"])]).blocked, needed);
    // Looking around is no way out where something was to be changed.
    let edit = push.replace("Bash", "Edit");
    let wants_edit = denied(&["t1"]).replace("Bash", "Edit");
    let told = lines(&[INIT, &edit, &refused, &read, &seen, &wants_edit]);
    assert_eq!((told.blocked.len(), told.outcome), (1, Some(Outcome::Succeeded)));
    assert!(told.blocked[0].starts_with("permission is needed for Edit"), "{:?}", told.blocked);
    // A single result without a stream: as many denials as calls.
    assert_eq!(lines(&[&denied(&["t1"])]).blocked, needed);
}

#[test]
fn a_denial_that_the_agent_got_round_needs_nobody() {
    let push = assistant("m1", &call("t1", "git push"));
    let refused = answer("t1", "This command requires approval", true);
    let edit = assistant("m2", &call("t2", "x").replace("Bash", "Edit"));
    let shell = assistant("m2", &call("t2", "git bundle"));
    let done = answer("t2", "done", false);
    for after in [&edit, &shell] {
        let told = lines(&[INIT, &push, &refused, after, &done, &denied(&["t1"])]);
        assert!(told.blocked.is_empty());
    }
    // It has done something before: the next launch may, too.
    for before in [&edit, &shell] {
        let told = lines(&[INIT, before, &done, &push, &refused, &denied(&["t1"])]);
        assert!(told.blocked.is_empty());
    }
    // A review that may not run the tests is a review still.
    let read = assistant("m2", &call("t2", "x").replace("Bash", "Read"));
    let told = lines(&[INIT, &read, &done, &push, &refused, &denied(&["t1"])]);
    assert!(told.blocked.is_empty());
    let told = lines(&[INIT, &push, &answer("t1", "ok", false), &denied(&[])]);
    assert!(told.blocked.is_empty());
    // In a single result, other calls than the denied one.
    let several = denied(&["t1"]).replace("\"num_turns\":2", "\"num_turns\":4");
    assert!(lines(&[&several]).blocked.is_empty());
}

#[test]
fn a_budget_that_allows_nothing_is_no_cap_of_one_launch() {
    let refused = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"session_id":"s1","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"errors":[]}"#;
    assert_eq!(lines(&[INIT, refused]).fault_kinds(), [FaultKind::SpendCap]);
    let spent = refused.replace("\"total_cost_usd\":0", "\"total_cost_usd\":0.5");
    assert_eq!(
        lines(&[INIT, &assistant("m1", ""), &spent]).fault_kinds(),
        [FaultKind::BudgetLimit]
    );
}
