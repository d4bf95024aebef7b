//! The fuzz targets on their seeds and on a few thousand mutations of them, the same each time.

use std::path::Path;

use backstop_core::testing::{fuzz, smoke};

#[test]
fn policies_are_loaded_or_refused() {
    smoke("policy", fuzz::policy, 1_500);
}

#[test]
fn events_are_decoded_or_refused() {
    smoke("events", fuzz::events, 1_500);
}

#[test]
fn expressions_are_compiled_or_refused() {
    smoke("expression", fuzz::expression, 4_000);
}

#[test]
fn normalising_twice_changes_nothing() {
    smoke("normalise", fuzz::normalise, 4_000);
}

/// Runs a target on the seeds of its corpus and on mutations of them.
fn smoke(name: &str, target: fn(&[u8]), mutations: usize) {
    let seeds = seeds(name);
    assert!(seeds.len() >= 4, "the corpus of {name} is missing");
    smoke::run(&seeds, mutations, target);
}

fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let entries = folder.read_dir().expect("the corpus lies beside the tests");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), read(&path))).collect()
}

#[expect(clippy::disallowed_methods, reason = "the fence is around the core, not its tests")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a seed can be read")
}
