//! What became of a run's tests.

use std::fmt::Write as _;

use backstop_adapters::TestHistory;

use crate::report::hanging;
use crate::sanitise::harmless;

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
