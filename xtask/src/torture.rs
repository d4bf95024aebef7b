//! `cargo xtask torture`: the kill test of the supervisor, for as many trials as one has patience for.

use anyhow::bail;

use crate::command::CommandLine;
use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many supervisors to kill
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    trials: u64,
    /// Repeat the trials of an earlier call, which has printed its seed
    #[arg(long)]
    seed: Option<u64>,
    /// With the optimised build, which is killed at other instants
    #[arg(long)]
    release: bool,
}

/// Runs the trials, and stops at the first that fails.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let line = line(arguments);
    println!("==> {line}");
    let status = line.run(workspace.root())?;
    if !status.success() {
        bail!("a trial failed ({status}); its seed is above");
    }
    Ok(())
}

fn line(arguments: &Arguments) -> CommandLine {
    let test = ["test", "--package", "backstop", "--features", "testing", "--test", "torture"];
    let mut line =
        CommandLine::cargo(&test).variable("BACKSTOP_TORTURE_TRIALS", arguments.trials.to_string());
    if let Some(seed) = arguments.seed {
        line = line.variable("BACKSTOP_TORTURE_SEED", seed.to_string());
    }
    if arguments.release {
        line = line.argument("--release");
    }
    line.argument("--").argument("--nocapture")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_and_seed_reach_the_test() {
        let arguments = Arguments { trials: 7, seed: Some(9), release: false };
        assert_eq!(
            line(&arguments).to_string(),
            "BACKSTOP_TORTURE_TRIALS=7 BACKSTOP_TORTURE_SEED=9 cargo test --package backstop \
             --features testing --test torture -- --nocapture"
        );
    }
}
