//! Captures of real agents through the real binary. The figures in the table were worked out from
//! the raw files by other means: results, models' usage, calls by their ids, statistics of runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::Test;

/// Where captures are, if they are at hand.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");

#[test]
fn captures_are_read_as_they_were_worked_out() {
    if !Path::new(FOLDER).exists() {
        println!("skipped: no captures");
        return;
    }
    let mut wrong = Vec::new();
    for line in include_str!("captures.txt").lines().skip(1) {
        let expected: Vec<&str> = line.split_whitespace().collect();
        let path = format!("{FOLDER}/{}", expected[0]);
        let object = Test::new().run(["replay", &path, "--json"]).exits(0).json();
        let found = row(&object);
        let agrees =
            found.iter().zip(&expected[1..]).all(|(found, expected)| is_same(found, expected));
        if !agrees || found.len() != expected.len() - 1 {
            wrong.push(format!(
                "{}\n  expected {:?}\n  found    {found:?}",
                expected[0],
                &expected[1..]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Costs, which alone have a point in them, are compared to a hundredth of a cent.
fn is_same(found: &str, expected: &str) -> bool {
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(cost)) if expected.contains('.') => (found - cost).abs() < 1.5e-4,
        _ => found == expected,
    }
}

fn row(object: &Json) -> Vec<String> {
    let facts = &object["facts"];
    let mut row = vec![text(&object["agent"]), text(&object["outcome"])];
    row.extend(["launches", "actions"].map(|name| object[name].to_string()));
    let kinds = ["input", "output", "cache_read", "cache_write"];
    row.extend(kinds.map(|kind| facts["tokens_by"][kind].to_string()));
    let cost = facts["cost_usd"].as_f64().expect("a number");
    row.push(match facts["cost_known"].as_bool() {
        Some(true) => format!("{cost:.4}"),
        // Launches that were cut off have not told theirs.
        _ if cost > 0.0 => format!("{cost:.4}+"),
        _ => "-".to_owned(),
    });
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for error in object["errors"].as_array().expect("a list") {
        let is_limit = error["rate_limited"] == true;
        let name = if is_limit { "rate_limited".to_owned() } else { text(&error["category"]) };
        *errors.entry(name).or_default() += 1;
    }
    let errors: Vec<_> = errors.iter().map(|(name, count)| format!("{name}*{count}")).collect();
    row.push(if errors.is_empty() { "-".to_owned() } else { errors.join(",") });
    row
}

fn text(value: &Json) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Folders of trajectories say whether an agent went round in circles.
#[test]
fn loops_are_noticed_and_nothing_else_is() {
    for (folder, loops) in [("loop", true), ("alternating", true), ("no-loop", false)] {
        let folder = Path::new(FOLDER).join("trajectories/swe-agent").join(folder);
        let Ok(entries) = folder.read_dir() else {
            println!("skipped: no trajectories");
            return;
        };
        for path in entries.map(|entry| entry.expect("can be listed").path()) {
            let path = path.to_str().expect("UTF-8");
            let object = Test::new().run(["replay", path, "--json"]).exits(0).json();
            let decisions = object["decisions"].as_array().expect("a list");
            let noticed = decisions.iter().any(|decision| decision["reason"] == "repetition");
            assert_eq!(noticed, loops, "{path}");
        }
    }
}
