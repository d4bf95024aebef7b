//! What flags say, in the keys of a policy.

use backstop_core::condition::OutputSource;
use backstop_core::policy::Flags;
use serde_json::{Map, Value as Json, json};

use crate::args::RunArguments;
use crate::error::Error;

/// The layer that flags make, and how many of them there were.
#[derive(Debug)]
pub struct Said {
    pub layer: Flags,
    /// The same, to be kept with the run.
    pub kept: Json,
    pub count: usize,
}

/// Turns flags into a layer over the policy. A phrase is looked for in such output.
pub fn layer(arguments: &RunArguments, phrases_in: OutputSource) -> Result<Said, Error> {
    let limits = limits(arguments)?;
    let rules = rules(arguments, phrases_in)?;
    let times = times(arguments)?;
    let verify = verify(arguments)?;
    let count = limits.len() + rules.len() + times.len() + arguments.done.verify.len();
    let mut said = Map::new();
    // A section that says nothing is none: the policy is the one that the file has.
    for (key, values) in [("limits", limits), ("loop", times)] {
        if !values.is_empty() {
            said.insert(key.to_owned(), Json::Object(values));
        }
    }
    said.insert("rule".to_owned(), Json::Array(rules));
    if let Some(verify) = verify {
        said.insert("verify".to_owned(), verify);
    }
    // Each value was checked beside its flag; what is left concerns all of them at once.
    let kept = Json::Object(said);
    let layer = Flags::new(&kept).map_err(|findings| first(&findings, "flags"))?;
    Ok(Said { layer, kept, count })
}

/// The command that is named last is the last tier.
fn verify(arguments: &RunArguments) -> Result<Option<Json>, Error> {
    let Some((last, first)) = arguments.done.verify.split_last() else { return Ok(None) };
    let mut verify = json!({ "command": last });
    if !first.is_empty() {
        let tiers = first.iter().map(|command| json!({ "command": command }));
        verify["tiers"] = tiers.collect();
    }
    check("--verify", &json!({ "verify": verify }))?;
    Ok(Some(verify))
}

fn limits(arguments: &RunArguments) -> Result<Map<String, Json>, Error> {
    let flags = &arguments.limits;
    let mut limits = Map::new();
    let values = [
        ("iterations", "--max-iterations", flags.max_iterations.map(Json::from)),
        ("duration", "--max-duration", flags.max_duration.as_deref().map(Json::from)),
        ("tokens", "--max-tokens", flags.max_tokens.map(Json::from)),
        ("cost_usd", "--max-cost", flags.max_cost.map(Json::from)),
        ("preflight", "--preflight", flags.preflight.then_some(Json::from(true))),
        ("unmetered", "--unmetered", flags.unmetered.as_deref().map(Json::from)),
    ];
    for (key, flag, value) in values {
        let Some(value) = value else { continue };
        check(flag, &json!({ "limits": { key: value } }))?;
        limits.insert(key.to_owned(), value);
    }
    Ok(limits)
}

fn times(arguments: &RunArguments) -> Result<Map<String, Json>, Error> {
    let flags = &arguments.times;
    let mut times = Map::new();
    let values = [
        ("iteration_timeout", "--iteration-timeout", &flags.iteration_timeout),
        ("idle_timeout", "--idle-timeout", &flags.idle_timeout),
        ("finish_within", "--finish-within", &flags.finish_within),
        ("grace", "--grace", &flags.grace),
        ("delay", "--delay", &flags.delay),
        ("agent", "--agent", &arguments.agent),
    ];
    for (key, flag, value) in values {
        let Some(value) = value else { continue };
        check(flag, &json!({ "loop": { key: value } }))?;
        times.insert(key.to_owned(), value.as_str().into());
    }
    Ok(times)
}

fn rules(arguments: &RunArguments, phrases_in: OutputSource) -> Result<Vec<Json>, Error> {
    let (done, limits) = (&arguments.done, &arguments.limits);
    let mut rules = Vec::new();
    let mut add = |flag: &str, then: &str, when: Json| {
        let rule = json!({ "name": flag.trim_start_matches('-'), "when": when, "then": then });
        check(flag, &json!({ "rule": [rule] }))?;
        rules.push(rule);
        Ok::<(), Error>(())
    };
    if done.until_success {
        add("--until-success", "complete", json!({ "type": "exit_code", "any_of": [0] }))?;
    }
    if done.until_tests_pass {
        add("--until-tests-pass", "complete", json!({ "type": "all_tests_pass" }))?;
    }
    if let Some(pattern) = &done.until_output {
        let mut when =
            json!({ "type": "output_pattern", "pattern": pattern, "is_regex": done.regex });
        if phrases_in != OutputSource::Any {
            when["in"] = phrases_in.name().into();
        }
        add("--until-output", "complete", when)?;
    }
    if let Some(path) = &done.until_file {
        // Who names a path on the command line means it, wherever it lies.
        let when = json!({ "type": "file_created", "path": path, "outside": true });
        add("--until-file", "complete", when)?;
    }
    if let Some(script) = &done.until_script {
        // A name is a script; anything more is for a shell, as it is with `--verify`.
        let (program, words) = if script.contains(char::is_whitespace) {
            ("/bin/sh", vec!["-c", script.as_str()])
        } else {
            (script.as_str(), Vec::new())
        };
        let when = json!({
            "type": "custom_script",
            "script": program,
            "args": words,
            "timeout": "10m",
        });
        add("--until-script", "complete", when)?;
    }
    if let Some(time) = &limits.until_time {
        add("--until-time", "stop", json!({ "type": "wall_clock", "at": time }))?;
    }
    if let Some(iterations) = limits.no_progress {
        add("--no-progress", "stop", json!({ "type": "no_progress", "iterations": iterations }))?;
    }
    Ok(rules)
}

/// Checks what one flag says, so that an error can name it.
fn check(flag: &str, said: &Json) -> Result<(), Error> {
    Flags::new(said).map(drop).map_err(|findings| first(&findings, flag))
}

fn first(findings: &[backstop_core::diagnostic::Diagnostic], flag: &str) -> Error {
    let Some(finding) = findings.first() else { return Error::Usage(flag.to_owned()) };
    let label = finding.label.as_deref().map(|label| format!("\n\nhint: {label}"));
    Error::Usage(format!("{flag}: {}{}", finding.message, label.unwrap_or_default()))
}
