//! One line per halt, for those who collect logs.

use std::fs::OpenOptions;
use std::io::Write as _;

use backstop_core::state::RunState;
use backstop_core::time::Timestamp;
use backstop_store::RunFolder;

/// The line for a run that has halted.
pub fn run_halted(state: &RunState, at: Timestamp) -> String {
    let (code, message) = state
        .stop_reason
        .as_ref()
        .map_or(("", ""), |reason| (reason.code.as_str(), reason.message.as_str()));
    let figures = &state.statistics;
    format!(
        "{at} WARN event=run_halted run={} status={} reason={code} message={} iterations={} \
         tokens={} cost_usd={} active_ms={} units_attempted={} units_approved={} \
         units_rejected={} units_failed={} total_attempts={} retry_rate={} reject_rate={} \
         consecutive_fails={}\n",
        state.run_id,
        state.run_status,
        serde_json::Value::from(message),
        figures.iterations,
        figures.tokens,
        figures.cost_usd,
        figures.active_ms,
        figures.units_attempted,
        figures.units_approved,
        figures.units_rejected,
        figures.units_failed,
        figures.total_attempts,
        figures.retry_rate,
        figures.reject_rate,
        figures.consecutive_fails,
    )
}

/// Adds a line to the log of all runs. Answers with what went wrong, if anything did.
pub fn append(folder: &RunFolder, line: &str) -> Option<String> {
    let path = folder.log_of_all_runs();
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    written.err().map(|error| format!("can't write `{}`: {error}", path.display()))
}
