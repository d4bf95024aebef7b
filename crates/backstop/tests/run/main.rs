//! Every flag of `backstop run` and `backstop resume` takes effect, and what a run is told while it
//! goes on does too. Real processes, a real store.

mod bad_values;
mod done;
mod inside;
mod limits;
mod operated;
mod resumed;
mod shown;
mod standing;
mod surroundings;
mod telemetry;
mod times;

#[path = "../support/mod.rs"]
mod support;

const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");

/// The command for `backstop run`: the program that misbehaves, with these words.
fn run_of<'a>(flags: &[&'a str], misbehaviour: &[&'a str]) -> Vec<&'a str> {
    [&["run"], flags, &["--", MISBEHAVE], misbehaviour].concat()
}

/// A line that reports what was used.
fn usage(tokens: u64, cost: &str) -> String {
    format!(r#"echo '::backstop {{"type":"usage","input_tokens":{tokens},"cost_usd":{cost}}}'"#)
}
