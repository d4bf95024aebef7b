//! Reports to runs, when few and when many are open.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::load::{Requests, Round, Until, ask, drive, post};
use super::process::{Server, Store};
use crate::measure::{median, quantile};
use crate::targets::Target;

/// Reports in turn to all runs of a service that has few, and of one that has many.
pub fn run(program: &Path, place: &Path) -> anyhow::Result<Vec<Target>> {
    let servers = [("few", FEW), ("many", MANY)].map(|(name, count)| {
        let server = Server::backstop(program, place.join(name), &Store::Embedded)?;
        let reports = open(&server, count)?;
        anyhow::Ok((server, reports))
    });
    let [few, many] = servers;
    let servers = [few?, many?];
    let (mut highs, mut rates) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    let mut memory = 0f64;
    for round in 0..ROUNDS {
        for place in [round % 2, (round + 1) % 2] {
            let (server, reports) = &servers[place];
            let Round { each_second, waits } =
                drive(server.address, reports, Until::Passed(ROUND))?;
            highs[place].extend(quantile(&waits, 0.99));
            rates[place].push(each_second);
        }
        memory = memory.max(servers[1].0.memory().unwrap_or(f64::INFINITY));
    }
    println!("\nreports to open runs");
    for (place, (_, reports)) in servers.iter().enumerate() {
        println!(
            "{:<28} {:>8.0} each second {:>8.2} ms at the 99th percentile",
            format!("{} runs", reports.len()),
            median(rates[place].clone()).unwrap_or_default(),
            median(highs[place].clone()).unwrap_or_default(),
        );
    }
    println!(
        "{:<28} {memory:>8.1} MiB, at most {:.1} MiB",
        "memory with many",
        servers[1].0.peak_memory().unwrap_or_default()
    );
    let [few, many] = highs;
    let growth = median(many.iter().zip(&few).map(|(many, few)| many / few).collect());
    Ok(vec![
        Target::at_most("memory with 10,000 open runs", Some(memory), Some(200.0), "MiB"),
        Target::at_most("p99 with 10,000 open runs beside 100", growth, Some(1.5), "x"),
    ])
}

/// Begins runs, and gives a report to each.
fn open(server: &Server, count: usize) -> anyhow::Result<Requests> {
    let begin = Requests::new([post("POST", "/v1/runs", "application/json", "{}")]);
    drive(server.address, &begin, Until::Asked(count))?;
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/runs?limit={PAGE}{cursor}");
        let page = ask(server.address, &super::load::get(&path))?;
        let page: serde_json::Value = serde_json::from_str(&page)?;
        let runs = page["runs"].as_array().context("a page of runs")?;
        names.extend(runs.iter().filter_map(|run| Some(run["run_id"].as_str()?.to_owned())));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    anyhow::ensure!(names.len() == count, "{} runs are open, not {count}", names.len());
    let body = json!({ "type": "progress", "kind": "task", "note": "a step" }).to_string();
    Ok(Requests::new(
        names.iter().map(|name| {
            post("POST", &format!("/v1/runs/{name}/events"), "application/json", &body)
        }),
    ))
}

const FEW: usize = 100;
const MANY: usize = 10_000;
const PAGE: usize = 100;
const ROUND: Duration = Duration::from_secs(2);
const ROUNDS: usize = 7;
