//! What others see of a run while its agent works.

use rustix::process::Signal;
use serde_json::json;

use crate::agent;
use crate::support::looping::{Loop, wait_for};

#[test]
fn f32_status_and_meters_come_from_the_same_journal() {
    let test = Loop::new();
    let session = ["--messages", "2000", "--delay-ms", "20", "--input", "1000", "--output", "0"];
    let running = test.start(agent(&["--grace", "1s"], &session));
    let (mut before, mut rises) = (0, 0);
    wait_for("the figures to rise three times", || {
        let ended = test.run(["show", "latest", "--json"]);
        // The run may not be there yet.
        let Ok(state) = serde_json::from_str::<serde_json::Value>(&ended.stdout) else {
            return false;
        };
        let tokens = state["facts"]["tokens"].as_u64().unwrap_or_default();
        if tokens > before {
            rises += 1;
            before = tokens;
            assert_eq!(state["run_status"], "running", "while the spend climbs");
            assert_eq!(state["statistics"]["tokens"], json!(tokens));
            assert_eq!(tokens % 1000, 0);
        }
        rises == 3
    });
    let journalled = test.events("usage").len();
    assert!(journalled as u64 * 1000 >= before, "{journalled} messages, {before} tokens shown");
    running.signal(Signal::TERM);
    running.ends().exits(143);
    let usage = test.events("usage").len();
    let state = test.state();
    assert_eq!(state["run_status"], "stopped");
    assert_eq!(state["facts"]["tokens"], json!(1000 * usage));
    test.leaves_nothing();
}
