//! What the service is compared with: handlers of the same library that read the same requests and
//! always say the same.

use std::fs;
use std::future::ready;
use std::io::Write as _;
use std::path::Path;

use axum::extract::{self, Query};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::TcpListener;

/// Listens until it is killed, on a runtime like that of the service, and says where in the same
/// words.
pub fn answer_constantly(decision: &Path, stop_decision: &Path) -> anyhow::Result<()> {
    let decision: &'static str = fs::read_to_string(decision)?.leak();
    let stop_decision: &'static str = fs::read_to_string(stop_decision)?.leak();
    let router = Router::new()
        .route(
            "/v1/decide",
            post(move |question: Json<Question>| {
                drop(question);
                ready(json(decision))
            }),
        )
        .route(
            "/api/github/prs/{number}/checks/stop-decision",
            get(move |path: extract::Path<u64>, query: Query<StopQuestion>| {
                drop((path, query));
                ready(json(stop_decision))
            }),
        );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("listening on http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        Ok(axum::serve(listener, router).await?)
    })
}

fn json(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
struct Question {
    facts: Facts,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "they are only read")]
struct Facts {
    iterations: u64,
    active_ms: u64,
    tokens: u64,
    cost_usd: f64,
    context: Context,
    units: Units,
    ended: u64,
    errored: u64,
    consecutive_errors: u64,
    progress_age_ms: u64,
    cycles: u64,
    improvement: f64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
struct Context {
    used: u64,
    limit: u64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "they are only read")]
struct Units {
    total: u64,
    attempted: u64,
    approved: u64,
    rejected: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is only read")]
struct StopQuestion {
    owner: String,
    repo: String,
    current_job_attempts: u64,
    total_pr_attempts: u64,
    run_id: Option<u64>,
    failure_class: Option<String>,
    previous_failure_signals: Option<String>,
}
