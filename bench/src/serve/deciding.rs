//! Decisions a second, beside the bare handler.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use backstop_store::testing::postgres;
use serde_json::json;

use super::load::{Requests, Until, ask, drive, get, post};
use super::process::{Server, Store};
use crate::measure::{median, quantile};
use crate::targets::Target;

/// Decisions of which nothing is kept.
pub fn stateless(program: &Path, place: PathBuf) -> anyhow::Result<Vec<Target>> {
    let contest = Contest::new(program, place, &Store::Embedded)?;
    let measured = contest.measure("POST /v1/decide", &Requests::new([question()]))?;
    Ok(vec![Target::at_least("a decision, requests beside bare", measured.rate, Some(0.7), "x")])
}

/// Decisions on record, in the embedded database.
pub fn on_sqlite(program: &Path, place: PathBuf) -> anyhow::Result<Vec<Target>> {
    let contest = Contest::new(program, place, &Store::Embedded)?;
    let measured = contest.measure("stop-decision, SQLite", &stop_questions())?;
    Ok(vec![
        Target::at_least(
            "on record in SQLite, requests beside bare",
            measured.rate,
            Some(0.35),
            "x",
        ),
        Target::at_most("on record in SQLite, p99 beside bare", measured.high, Some(10.0), "x"),
    ])
}

/// Decisions on record, with a database server.
pub fn on_postgres(program: &Path, place: PathBuf) -> anyhow::Result<Vec<Target>> {
    let server = postgres::Server::start().context("PostgreSQL must be installed")?;
    let url = server.database().url();
    let contest = Contest::new(program, place, &Store::Server(url))?;
    let measured = contest.measure("stop-decision, PostgreSQL", &stop_questions())?;
    let promise = "on record in PostgreSQL, requests beside bare";
    Ok(vec![
        Target::at_least(promise, measured.rate, Some(0.15), "x"),
        Target::at_most("on record in PostgreSQL, p99 beside bare", measured.high, Some(10.0), "x"),
    ])
}

/// The service and the bare handler, each in a process of its own.
struct Contest {
    backstop: Server,
    bare: Server,
}

/// Ours beside the bare one's: medians over the rounds.
struct Measured {
    rate: Option<f64>,
    high: Option<f64>,
}

impl Contest {
    fn new(program: &Path, place: PathBuf, store: &Store) -> anyhow::Result<Self> {
        let answers = ["decision", "stop_decision"].map(|name| place.join(name));
        let backstop = Server::backstop(program, place, store)?;
        // The same bytes from both.
        for (path, request) in answers.iter().zip([question(), stop_question(1)]) {
            fs::write(path, ask(backstop.address, &request)?)?;
        }
        let bare = Server::bare(&answers[0], &answers[1])?;
        Ok(Self { backstop, bare })
    }

    fn measure(&self, title: &str, requests: &Requests) -> anyhow::Result<Measured> {
        let servers = [&self.backstop, &self.bare];
        for server in servers {
            drive(server.address, requests, Until::Passed(WARMING))?;
        }
        let [mut rates, mut middles, mut highs] = [(); 3].map(|()| [const { Vec::new() }; 2]);
        for round in 0..ROUNDS {
            for place in [round % 2, (round + 1) % 2] {
                let round = drive(servers[place].address, requests, Until::Passed(ROUND))?;
                rates[place].push(round.each_second);
                middles[place].push(quantile(&round.waits, 0.5).unwrap_or_default());
                highs[place].push(quantile(&round.waits, 0.99).unwrap_or_default());
            }
        }
        println!("\n{title}");
        for (place, name) in ["backstop serve", "a bare handler"].into_iter().enumerate() {
            let middle = |values: &[Vec<f64>; 2]| median(values[place].clone()).unwrap_or_default();
            println!(
                "{name:<28} {:>8.0} each second {:>8.3} ms {:>8.3} ms at the 99th percentile",
                middle(&rates),
                middle(&middles),
                middle(&highs)
            );
        }
        let [rate, high] = [rates, highs].map(|[ours, bare]| {
            median(ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect())
        });
        println!(
            "{:<28} {:>8.2} x {:>8.2} x at the 99th percentile",
            "the one beside the other",
            rate.unwrap_or_default(),
            high.unwrap_or_default()
        );
        Ok(Measured { rate, high })
    }
}

/// A run in good health, about which all ten rules have something to say.
fn question() -> Vec<u8> {
    let facts = json!({
        "iterations": 42, "active_ms": 10_800_000, "tokens": 400_000, "cost_usd": 7.25,
        "context": { "used": 90_000, "limit": 200_000 },
        "units": { "total": 40, "attempted": 23, "approved": 20, "rejected": 3 },
        "ended": 42, "errored": 4, "consecutive_errors": 1, "progress_age_ms": 240_000,
        "cycles": 6, "improvement": 0.25,
    });
    post("POST", "/v1/decide", "application/json", &json!({ "facts": facts }).to_string())
}

fn stop_questions() -> Requests {
    Requests::new((1..=1_000).map(stop_question))
}

fn stop_question(number: u64) -> Vec<u8> {
    get(&format!(
        "/api/github/prs/{number}/checks/stop-decision?owner=octo-org&repo=hello&\
         currentJobAttempts=1&totalPrAttempts=2&runId={}&failureClass=flaky&\
         previousFailureSignals=a1b2c3,d4e5f6",
        9_000_000 + number
    ))
}

const WARMING: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 9;
