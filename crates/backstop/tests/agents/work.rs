//! How the work goes: steps that are alike, waiting, and an agent that needs a person.

use serde_json::Value as Json;

use crate::support::looping::Loop;
use crate::{MISBEHAVE, agent, support};

const REPETITION: &str = "[limits]\niterations = 3\n[[rule]]\nwhen = { type = 'repetition' }\n\
                          then = 'kill'\n";

#[test]
fn f19_a_batch_of_steps_that_are_alike_is_no_loop() {
    let test = Loop::new().file("p.toml", REPETITION);
    let flags = ["--policy", "p.toml", "--once"];
    test.run(agent(&flags, &["--messages", "60"])).exits(0);
    assert_eq!(test.events("action").len(), 60);
    // The same step over and over is one.
    let over_and_over = ["--messages", "500", "--delay-ms", "10", "--repeat"];
    test.run(agent(&flags, &over_and_over)).exits(48);
    assert!(test.events("action").len() < 100);
    test.leaves_nothing();
}

#[test]
fn f19_waiting_for_something_is_no_loop() {
    let test = Loop::new().file("p.toml", REPETITION);
    let flags = ["--policy", "p.toml", "--once"];
    // What would be a loop without the pauses.
    let polls = ["--messages", "6", "--repeat", "--answer", "the job is pending", "--delay-ms"];
    test.run(agent(&flags, &[&polls[..], &["20"]].concat())).exits(48);
    test.run(agent(&flags, &[&polls[..], &["5200"]].concat())).exits(0);
}

#[test]
fn f21_an_agent_that_needs_a_person_holds_the_run() {
    let script = format!(
        "\"$BACKSTOP\" emit worker --status blocked --detail 'needs the API key'\n\
         exec {MISBEHAVE} agent --messages 2"
    );
    let test = Loop::new().script("agent.sh", &script).variable("BACKSTOP", support::BINARY);
    let ended = test.run(["run", "--max-iterations", "20", "--", "./agent.sh"]).exits(30);
    let state = test.state();
    assert_eq!(state["run_status"], "held");
    assert_eq!(state["facts"]["iterations"], 1);
    assert!(ended.stderr.contains("needs the API key"), "{}", ended.stderr);
    assert_eq!(test.events("error"), Vec::<Json>::new());
}
