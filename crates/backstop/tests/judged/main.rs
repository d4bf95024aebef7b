//! Who judges the work: the verification in tiers, reviewers, the drift from what was asked for.
//! Real processes, a real store.

mod drift;
mod review;
mod shown;
mod verification;

#[path = "../support/mod.rs"]
mod support;

use support::looping::Loop;

/// The details of all claims that were refused.
fn refusals(test: &Loop) -> Vec<String> {
    let notes = test.events("noted").into_iter().filter(|note| note["what"] == "claim_refused");
    notes.map(|note| note["detail"].as_str().expect("words").to_owned()).collect()
}
