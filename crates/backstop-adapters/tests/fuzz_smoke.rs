//! The fuzz targets on their seeds and on mutations of them, the same each time.

use std::path::Path;

use backstop_adapters::report::Format;
use backstop_adapters::{Agent, fuzz};
use backstop_core::testing::smoke;

#[test]
fn adapters_read_anything() {
    let seeds = seeds("agents");
    for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::Generic) {
        let own = of(&seeds, agent.name());
        smoke::run(&own, 400, |data| fuzz::agent(agent, data));
        // What others print is no less strange to it than noise.
        smoke::run(&seeds, 100, |data| fuzz::agent(agent, data));
    }
}

#[test]
fn output_of_whomever_is_read() {
    let seeds = seeds("agents");
    smoke::run(&seeds, 400, fuzz::agent_auto);
    // One behind the other, and the second in the line that the first has left.
    let pairs: Vec<_> = seeds
        .iter()
        .zip(seeds.iter().cycle().skip(1))
        .flat_map(|((first, one), (second, other))| {
            let glued = [&one[..one.len() / 2], other].concat();
            let both = [&one[..], b"\n", other].concat();
            [(format!("{first}, {second}"), both), (format!("{first} glued to {second}"), glued)]
        })
        .collect();
    smoke::run(&pairs, 100, fuzz::agent_auto);
}

#[test]
fn patterns_are_read_or_refused() {
    smoke::run(&seeds("patterns"), 800, fuzz::report_pattern);
}

#[test]
fn trajectories_are_read_or_refused() {
    smoke::run(&seeds("trajectories"), 1_500, fuzz::trajectory);
}

#[test]
fn hooks_understand_or_refuse() {
    smoke::run(&seeds("hooks"), 1_500, fuzz::hook);
}

#[test]
fn exports_and_reviews_are_read_or_refused() {
    smoke::run(&seeds("telemetry"), 800, fuzz::telemetry);
    smoke::run(&seeds("reviews"), 800, fuzz::review);
}

#[test]
fn transcripts_are_read_on() {
    let agents = seeds("agents").into_iter();
    let transcripts: Vec<_> = agents
        .filter(|(name, _)| name.contains("transcript") || name.contains("rollout"))
        .collect();
    smoke::run(&transcripts, 800, fuzz::hook_transcript);
}

#[test]
fn reports_are_read_or_refused() {
    let seeds = seeds("reports");
    for format in Format::readable() {
        let own = of(&seeds, &format.name().replace('-', "_"));
        smoke::run(&own, 300, |data| fuzz::report(format, data));
        smoke::run(&seeds, 50, |data| fuzz::report(format, data));
    }
}

/// The seeds whose names begin with this one and end there.
fn of(seeds: &[(String, Vec<u8>)], name: &str) -> Vec<(String, Vec<u8>)> {
    let is_own =
        |file: &str| file.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '-']));
    let own: Vec<_> = seeds.iter().filter(|(file, _)| is_own(file)).cloned().collect();
    assert!(!own.is_empty(), "{name} has no seed");
    own
}

fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let entries = folder.read_dir().expect("the corpus lies beside the tests");
    let mut seeds: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("the corpus can be listed").path();
            (path.file_name().expect("a file").to_string_lossy().into_owned(), read(&path))
        })
        .collect();
    seeds.sort();
    seeds
}

#[expect(clippy::disallowed_methods, reason = "the fence is around the adapters, not their tests")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a seed can be read")
}
