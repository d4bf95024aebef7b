//! `cargo xtask fuzz`: cargo-fuzz over the targets in fuzz/, each for a limited time.

use anyhow::{Context as _, bail};

use crate::command::CommandLine;
use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// One target; without it each in turn
    target: Option<String>,
    /// How long to fuzz each target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

/// Fuzzes, and stops at the first target that finds something.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let known = targets(&workspace.read("fuzz/Cargo.toml")?)?;
    let chosen = choose(&known, arguments.target.as_deref())?;
    // Fuzzing needs the compiler's sanitizers, which only nightly offers.
    if !CommandLine::cargo(&["+nightly", "fuzz", "--version"]).succeeds(workspace.root()) {
        bail!(
            "`cargo +nightly fuzz` does not run\n\n\
             hint: `rustup toolchain install nightly`, then `cargo install cargo-fuzz`"
        );
    }
    for target in chosen {
        // What is found goes into the first folder; the second is only read.
        let found = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(workspace.root().join(&found))
            .with_context(|| format!("cannot make {found}"))?;
        let line = CommandLine::cargo(&["+nightly", "fuzz", "run", "--fuzz-dir=fuzz", target])
            .argument(found)
            .argument(seeds(target))
            .argument("--")
            .argument(format!("-max_total_time={}", arguments.seconds));
        println!("==> {target}: {line}");
        let status = line.run(workspace.root())?;
        if !status.success() {
            bail!("fuzzing `{target}` failed ({status}); the input is in fuzz/artifacts/{target}/");
        }
    }
    Ok(())
}

/// The names of the binaries that fuzz/Cargo.toml declares.
fn targets(manifest: &str) -> anyhow::Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("fuzz/Cargo.toml is not valid TOML")?;
    let binaries = manifest.get("bin").and_then(toml::Value::as_array);
    let names = binaries.into_iter().flatten().filter_map(|binary| binary.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// The folder of inputs that a target begins with: those that each test run tries, too.
fn seeds(target: &str) -> String {
    let (owner, folder) = match target {
        "hook" => ("adapters", "hooks"),
        "review" => ("adapters", "reviews"),
        "telemetry" => ("adapters", "telemetry"),
        "trajectory" => ("adapters", "trajectories"),
        "hook_transcript" => ("adapters", "agents"),
        "report_pattern" => ("adapters", "patterns"),
        _ if target.starts_with("agent_") => ("adapters", "agents"),
        _ if target.starts_with("report_") => ("adapters", "reports"),
        of_the_core => ("core", of_the_core),
    };
    format!("crates/backstop-{owner}/tests/corpus/{folder}")
}

fn choose<'a>(known: &'a [String], wanted: Option<&str>) -> anyhow::Result<Vec<&'a str>> {
    let chosen: Vec<_> = known
        .iter()
        .map(String::as_str)
        .filter(|target| wanted.is_none_or(|wanted| wanted == *target))
        .collect();
    match wanted {
        Some(wanted) if chosen.is_empty() => {
            bail!("unknown fuzz target `{wanted}`\n\nhint: one of {}", known.join(", "))
        }
        _ => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_declared_target_has_its_file_and_each_file_is_declared() {
        let workspace = Workspace::here();
        let mut declared = targets(&workspace.read("fuzz/Cargo.toml").unwrap()).unwrap();
        declared.sort();
        let mut files: Vec<_> = std::fs::read_dir(workspace.root().join("fuzz/fuzz_targets"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(declared, files);
    }

    #[test]
    fn each_target_begins_with_seeds() {
        let workspace = Workspace::here();
        for target in targets(&workspace.read("fuzz/Cargo.toml").unwrap()).unwrap() {
            let folder = workspace.root().join(seeds(&target));
            let seeds = folder.read_dir().unwrap_or_else(|_| panic!("{target} has no seeds"));
            assert!(seeds.count() > 0, "{target} has no seeds");
        }
    }

    #[test]
    fn an_unknown_target_is_answered_with_the_known_ones() {
        let known = ["policy".to_owned(), "events".to_owned()];
        assert_eq!(choose(&known, None).unwrap(), ["policy", "events"]);
        assert_eq!(choose(&known, Some("events")).unwrap(), ["events"]);
        let error = choose(&known, Some("polcy")).unwrap_err().to_string();
        assert_eq!(error, "unknown fuzz target `polcy`\n\nhint: one of policy, events");
    }
}
