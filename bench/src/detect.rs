//! Our detector of repetition beside the rules of other tools, on trajectories of which it is known
//! whether they loop.

mod others;
mod ours;
mod run;
mod sets;

use std::fmt;

use run::{Run, Step};
use sets::Sets;

use crate::targets::Target;

/// Prints how every detector fares; the answer is whether ours reaches its targets.
pub fn run() -> anyhow::Result<bool> {
    let sets = Sets::load()?;
    let mut detectors = ours::detectors()?;
    detectors.extend(others::detectors());
    let scores: Vec<_> = detectors.iter().map(|detector| Score::of(detector, &sets)).collect();
    print_table(&scores, &sets);
    let normal = &scores[0];
    let targets = [
        Target::at_least(
            "loops that our detector catches",
            Some(normal.looping as f64),
            Some(sets.looping.len() as f64),
            "runs",
        ),
        Target::at_most(
            "its false alarms where nothing loops",
            Some(normal.healthy as f64),
            Some(0.0),
            "runs",
        ),
    ];
    println!("\ntargets");
    targets.iter().for_each(|target| println!("{target}"));
    Ok(targets.iter().all(Target::reached))
}

/// Something that raises an alarm, once, after one of a run's steps.
pub struct Detector {
    pub name: &'static str,
    pub alarm: Box<Alarm>,
}

/// The number of the step after which there is an alarm.
type Alarm = dyn Fn(&[Step]) -> Option<usize>;

impl fmt::Debug for Detector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// How one detector fares: on how many runs of each set it raised an alarm, and what that gains.
struct Score {
    name: &'static str,
    looping: usize,
    alternating: usize,
    scattered: usize,
    healthy: usize,
    unlabelled: usize,
    /// The step of the alarm in the middle of all that were right.
    median_step: Option<usize>,
    saved_usd: f64,
    saved_share: f64,
}

impl Score {
    fn of(detector: &Detector, sets: &Sets) -> Self {
        let alarms =
            |runs: &[Run]| runs.iter().filter(|run| (detector.alarm)(&run.steps).is_some()).count();
        let stuck = || sets.looping.iter().chain(&sets.alternating).chain(&sets.scattered);
        let (mut steps, mut saved_usd) = (Vec::new(), 0.0);
        for run in stuck() {
            if let Some(step) = (detector.alarm)(&run.steps) {
                steps.push(step);
                saved_usd += run.cost_after(step);
            }
        }
        steps.sort_unstable();
        Self {
            name: detector.name,
            looping: alarms(&sets.looping),
            alternating: alarms(&sets.alternating),
            scattered: alarms(&sets.scattered),
            healthy: alarms(&sets.healthy),
            unlabelled: alarms(&sets.unlabelled),
            median_step: steps.get(steps.len() / 2).copied(),
            saved_usd,
            saved_share: saved_usd / stuck().map(|run| run.cost_usd).sum::<f64>(),
        }
    }
}

fn print_table(scores: &[Score], sets: &Sets) {
    println!("alarms on runs that loop, alternate, repeat with other results, do not loop,");
    println!("and are not labelled; the median step of the right ones; spend after them\n");
    println!(
        "{:<27} {:>5} {:>5} {:>5} {:>5} {:>6} {:>5} {:>14}",
        "detector", "loop", "alt.", "scat.", "none", "others", "step", "saved"
    );
    println!(
        "{:<27} {:>5} {:>5} {:>5} {:>5} {:>6}",
        "  of",
        sets.looping.len(),
        sets.alternating.len(),
        sets.scattered.len(),
        sets.healthy.len(),
        sets.unlabelled.len(),
    );
    for score in scores {
        println!(
            "{:<27} {:>5} {:>5} {:>5} {:>5} {:>6} {:>5} {:>8} {:>4.0}%",
            score.name,
            score.looping,
            score.alternating,
            score.scattered,
            score.healthy,
            score.unlabelled,
            score.median_step.map_or("–".to_owned(), |step| step.to_string()),
            format!("${:.2}", score.saved_usd),
            score.saved_share * 100.0,
        );
    }
}
