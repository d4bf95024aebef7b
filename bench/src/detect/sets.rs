//! The runs that detectors are tried on, by what is known of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Run, Step};

/// Runs by their labels.
#[derive(Debug, Default)]
pub struct Sets {
    /// Four equal steps in a row, or more.
    pub looping: Vec<Run>,
    /// Two steps in turn, over and over.
    pub alternating: Vec<Run>,
    /// One action again and again, with other results.
    pub scattered: Vec<Run>,
    /// Submitted, and nothing repeated.
    pub healthy: Vec<Run>,
    pub unlabelled: Vec<Run>,
}

impl Sets {
    /// The captured trajectories beside the project; without them, a few of our own.
    pub fn load() -> anyhow::Result<Self> {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fixtures/trajectories");
        if !folder.is_dir() {
            println!("no captured trajectories beside the project: made-up ones stand in\n");
            return Ok(Self::made_up());
        }
        let labelled = |label: &str| runs_in(&folder.join("swe-agent").join(label));
        let mut unlabelled = labelled("vendor")?;
        for agent in ["mini-swe-agent", "openhands"] {
            unlabelled.extend(runs_in(&folder.join(agent))?);
        }
        Ok(Self {
            looping: labelled("loop")?,
            alternating: labelled("alternating")?,
            scattered: labelled("repeats-scattered")?,
            healthy: labelled("no-loop")?,
            unlabelled,
        })
    }

    fn made_up() -> Self {
        let numbered = |index: usize| (format!("edit file_{index}.rs"), format!("line {index}"));
        let first_steps = || (0..6).map(numbered);
        let then = |repeated: &dyn Fn(usize) -> (String, String)| {
            vec![made_up_run(first_steps().chain((0..12).map(repeated)))]
        };
        let step = |action: &str, result: &str| (action.to_owned(), result.to_owned());
        Self {
            looping: then(&|_| step("cargo build", "error[E0502]: cannot borrow")),
            alternating: then(&|index| {
                if index % 2 == 0 { step("open a.rs", "fn a") } else { step("open b.rs", "fn b") }
            }),
            scattered: then(&|index| step("scroll_down", &format!("page {index}"))),
            healthy: vec![made_up_run((0..12).map(numbered))],
            unlabelled: Vec::new(),
        }
    }
}

fn made_up_run(steps: impl Iterator<Item = (String, String)>) -> Run {
    let step = |(action, result)| Step {
        kind: "bash".to_owned(),
        action,
        result: Some(result),
        ..Step::default()
    };
    Run { steps: steps.map(step).collect(), cost_usd: 3.0 }
}

fn runs_in(folder: &Path) -> anyhow::Result<Vec<Run>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {folder:?}"))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    let mut runs = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).with_context(|| format!("cannot read {path:?}"))?;
        runs.extend(Run::all_of(&bytes));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::ours;

    #[test]
    fn our_detector_tells_made_up_runs_apart() {
        let sets = Sets::made_up();
        let normal = &ours::detectors().unwrap()[0];
        let alarm = |runs: &[Run]| (normal.alarm)(&runs[0].steps);
        assert_eq!(alarm(&sets.looping), Some(10));
        assert_eq!(alarm(&sets.alternating), Some(12));
        assert_eq!(alarm(&sets.scattered), Some(11));
        assert_eq!(alarm(&sets.healthy), None);
    }
}
