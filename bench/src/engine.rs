//! The comparison: one process, one run, the same ten rules for everybody.

use std::hint::black_box;
use std::path::Path;

use anyhow::ensure;
use cel::Context;

use crate::cedar::Policies;
use crate::cel_programs::{Programs, bind};
use crate::figures::Figures;
use crate::measure::{Contestant, Measurements};
use crate::ours::Rules;
use crate::targets::Target;
use crate::{allocations, ifs, ours, start};

/// Measures everything and prints it; the answer is whether all targets are reached.
pub fn run(backstop: &Path) -> anyhow::Result<bool> {
    let mut targets = decisions()?;
    targets.push(allocation()?);
    targets.push(many_rules()?);
    targets.push(replay()?);
    targets.push(start_to_exit(backstop));
    println!("\ntargets");
    for target in &targets {
        println!("{target}");
    }
    Ok(targets.iter().all(Target::reached))
}

/// One decision of each contestant, side by side.
fn decisions() -> anyhow::Result<Vec<Target>> {
    let figures = Figures::healthy();
    let root = Context::default();
    let programs = Programs::compile()?;
    let bound = bind(&root, &figures);
    let policies = Policies::parse()?;
    let request = policies.request(&figures)?;
    for figures in Figures::at_each_threshold().iter().chain([&figures]) {
        let expected = ifs::decide(figures);
        ensure!(programs.decide(&bind(&root, figures))? == expected, "CEL disagrees with the ifs");
        ensure!(
            policies.decide(&policies.request(figures)?)? == expected,
            "Cedar disagrees with the ifs"
        );
        ensure!(ours::decision(figures)? == expected, "our engine disagrees with the ifs");
    }

    let contestants = vec![
        (IFS, Contestant::new(|| ifs::decide(black_box(&figures)))),
        (CEL, Contestant::new(|| programs.decide(&bind(&root, black_box(&figures))))),
        (CEL_BOUND, Contestant::new(|| programs.decide(black_box(&bound)))),
        (CEDAR, Contestant::new(|| policies.decide(&policies.request(black_box(&figures))?))),
        (CEDAR_BUILT, Contestant::new(|| policies.decide(black_box(&request)))),
        (OURS, ours::decide()?),
        (OURS_ANEW, ours::decide_anew()?),
        (OURS_FOLDED, ours::fold_and_decide()?),
    ];
    let measured = Measurements::take(contestants);
    print_table("one decision over ten rules", &measured, IFS);

    let engines = [CEL, CEL_BOUND, CEDAR, CEDAR_BUILT];
    let fastest = engines.into_iter().min_by(|one, other| {
        let time = |name| measured.nanoseconds(name).unwrap_or(f64::INFINITY);
        time(one).total_cmp(&time(other))
    });
    let ifs = measured.nanoseconds(IFS);
    Ok(vec![
        Target::at_most(
            "decide, with the progress of all rules: 12 x the ifs or 60 ns",
            measured.nanoseconds(OURS),
            ifs.map(|ifs| (12.0 * ifs).max(60.0)),
            "ns",
        ),
        Target::at_least(
            "decide: as many times faster than the faster of CEL and Cedar",
            fastest.and_then(|engine| measured.ratio(engine, OURS)),
            Some(30.0),
            "x",
        ),
        Target::at_most(
            "fold one usage event and decide, beside the ifs",
            measured.ratio(OURS_FOLDED, IFS),
            Some(35.0),
            "x",
        ),
    ])
}

/// What folding an event and deciding allocates once everything has its place.
fn allocation() -> anyhow::Result<Target> {
    let mut contestant = ours::fold_and_decide()?;
    contestant.run(1_000);
    let count = allocations::during(|| contestant.run(10_000)) as f64;
    Ok(Target::at_most(
        "fold one usage event and decide, 10,000 times",
        Some(count),
        Some(0.0),
        "allocations",
    ))
}

/// An event that touches one rule, in a small policy and in a large one.
fn many_rules() -> anyhow::Result<Target> {
    let measured = Measurements::take(vec![
        (OURS_FEW, ours::touch_one_of(Rules::Ten)?),
        (OURS_MANY, ours::touch_one_of(Rules::Thousand)?),
    ]);
    print_table("an event that touches one rule", &measured, OURS_FEW);
    let ratio = measured.ratio(OURS_MANY, OURS_FEW);
    Ok(Target::at_most("1,000 rules beside 10", ratio, Some(3.0), "x"))
}

/// A journal in memory: decoded only, and replayed.
fn replay() -> anyhow::Result<Target> {
    let measured =
        Measurements::take(vec![(OURS_DECODE, ours::decode()), (OURS_REPLAY, ours::replay()?)]);
    print_table("a journal in memory", &measured, OURS_DECODE);
    let ratio = measured.ratio(OURS_REPLAY, OURS_DECODE);
    Ok(Target::at_most("replay beside decoding alone", ratio, Some(2.0), "x"))
}

fn start_to_exit(backstop: &Path) -> Target {
    println!("\nfrom start to exit");
    let ratio = match start::measure(backstop) {
        Ok(starts) => {
            println!("{:<44} {:>9.0} µs", "/bin/true", starts.nothing);
            println!("{:<44} {:>9.0} µs", "backstop check", starts.backstop);
            Some(starts.backstop / starts.nothing)
        }
        Err(error) => {
            println!("not measured: {error:#}");
            None
        }
    };
    Target::at_most("backstop check beside /bin/true", ratio, Some(5.0), "x")
}

fn print_table(title: &str, measured: &Measurements, base: &str) {
    println!("\n{title}");
    for name in measured.names() {
        if let Some((time, ratio)) = measured.nanoseconds(name).zip(measured.ratio(name, base)) {
            println!("{name:<44} {time:>9.1} ns {ratio:>9.1} x");
        }
    }
}

const IFS: &str = "ifs";
const CEL: &str = "CEL, variables bound per decision";
const CEL_BOUND: &str = "CEL, variables bound before";
const CEDAR: &str = "Cedar, request built per decision";
const CEDAR_BUILT: &str = "Cedar, request built before";
const OURS: &str = "ours, decide";
const OURS_ANEW: &str = "ours, every rule looked at again";
const OURS_FOLDED: &str = "ours, fold a usage event and decide";
const OURS_FEW: &str = "ours, 10 rules";
const OURS_MANY: &str = "ours, 1,000 rules";
const OURS_DECODE: &str = "ours, decode";
const OURS_REPLAY: &str = "ours, replay";
