//! What became of a run's tests.

use std::fmt::Write as _;

use backstop_adapters::TestHistory;
use backstop_store::RunFolder;
use serde_json::json;

use crate::report::hanging;
use crate::sanitise::harmless;

/// What the run has kept; none where nobody has tested.
pub fn read(folder: &RunFolder) -> Option<TestHistory> {
    let bytes = std::fs::read(folder.test_history()).ok()?;
    let history: TestHistory = serde_json::from_slice(&bytes).ok()?;
    (history.runs() > 0).then_some(history)
}

pub fn to_json(history: &TestHistory) -> serde_json::Value {
    let failing = history.failing().into_iter().map(|(name, streak)| {
        json!({
            "name": name,
            "streak": streak,
            "flaky": history.is_flaky(name),
            "last_error": history.last_error(name),
        })
    });
    let change = history.last_change();
    json!({
        "runs": history.runs(),
        "newly_failing": change.newly_failing,
        "fixed": change.fixed,
        "still_failing": change.still_failing,
        "new": change.new_tests,
        "removed": change.removed,
        "flaky": change.flaky,
        "failing": failing.collect::<Vec<_>>(),
    })
}

/// The tests that want a person's eye, a few lines at most.
pub fn show(history: &TestHistory) -> String {
    let change = history.last_change();
    let runs = history.runs();
    let mut text = format!("\ntests, run {runs}\n");
    for (what, names) in [
        ("newly failing", &change.newly_failing),
        ("fixed", &change.fixed),
        ("flaky", &change.flaky),
    ] {
        if !names.is_empty() {
            text.push_str(&hanging(&format!("  {what:<14} "), &some_of(names)));
        }
    }
    let failing = history.failing();
    for (name, streak) in failing.iter().take(MOST) {
        let error = history.last_error(name).map(|error| format!(": {error}")).unwrap_or_default();
        let line = format!("{name}, {streak} in a row{error}");
        text.push_str(&hanging("  failing        ", &harmless(&line)));
    }
    if failing.len() > MOST {
        let _ = writeln!(text, "                 and {} more", failing.len() - MOST);
    }
    if failing.is_empty() {
        text.push_str("  none fails\n");
    }
    text
}

fn some_of(names: &[String]) -> String {
    let mut some: Vec<_> = names.iter().take(MOST).map(|name| harmless(name)).collect();
    if names.len() > MOST {
        some.push(format!("and {} more", names.len() - MOST));
    }
    some.join(", ")
}

const MOST: usize = 5;
