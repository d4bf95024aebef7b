//! What guards and progress cost after an iteration, beside `git status` on the same work tree.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::measure::median;
use crate::targets::Target;

/// Measures in a large repository, and prints; the answer is whether the target is reached.
///
/// What a run takes with guards and progress, less what it takes without, is shared out among its
/// iterations. Runs of both kinds and `git status` take turns.
pub fn run(program: &Path, disk: &Path) -> anyhow::Result<bool> {
    let folder = disk.join(format!("backstop-bench-guards-{}", std::process::id()));
    let measured = measure(program, &folder);
    // What is left is only in the way.
    let _ = fs::remove_dir_all(&folder);
    let targets = measured?;
    println!("\ntargets");
    targets.iter().for_each(|target| println!("{target}"));
    Ok(targets.iter().all(Target::reached))
}

fn measure(program: &Path, folder: &Path) -> anyhow::Result<Vec<Target>> {
    let work = folder.join("work");
    build(&work)?;
    fs::write(
        folder.join("plain.toml"),
        format!("{LIMITS}[progress]\ngit = false\nfiles = false\n"),
    )?;
    fs::write(folder.join("guarded.toml"), format!("{LIMITS}{GUARDS}"))?;
    let mut targets = Vec::new();
    println!("a repository of {FILES} files");
    for (name, agent) in AGENTS {
        let (mut statuses, mut ratios, mut each) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let status = (0..3).map(|_| status(&work)).collect::<Result<Vec<_>, _>>()?;
            let status = median(status).context("nothing was measured")?;
            let plain = supervise(program, folder, "plain.toml", agent)?;
            let guarded = supervise(program, folder, "guarded.toml", agent)?;
            // The look before the first iteration belongs to the run, not to an iteration.
            let cost = guarded.saturating_sub(plain).as_secs_f64() / f64::from(ITERATIONS + 1);
            statuses.push(status);
            each.push(cost);
            ratios.push(cost / status);
        }
        let milliseconds = |times: Vec<f64>| median(times).unwrap_or_default() * 1e3;
        println!(
            "{name:<44} {:>7.1} ms, git status {:.1} ms",
            milliseconds(each),
            milliseconds(statuses)
        );
        targets.push(Target::at_most(name, median(ratios), Some(1.2), "x git status"));
    }
    Ok(targets)
}

/// Folders in folders, with small files, all committed.
fn build(work: &Path) -> anyhow::Result<()> {
    for number in 0..FILES {
        let folder = work.join(format!("d{:03}/e{:02}", number / 1000, number / 50 % 20));
        if number % 50 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("f{number}.txt")), format!("file {number}\n").repeat(3))?;
    }
    git(work, &["init", "-q"])?;
    git(work, &["add", "-A"])?;
    git(work, &["commit", "-q", "-m", "all"])?;
    // Files that are as young as the index are read again by every status.
    std::thread::sleep(Duration::from_secs(2));
    git(work, &["status"])
}

fn git(work: &Path, words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"])
        .args(words)
        .current_dir(work)
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "git {words:?} failed: {status}");
    Ok(())
}

fn status(work: &Path) -> anyhow::Result<f64> {
    let started = Instant::now();
    git(work, &["status", "--porcelain", "-z"])?;
    Ok(started.elapsed().as_secs_f64())
}

fn supervise(program: &Path, folder: &Path, policy: &str, agent: &str) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let ended = Command::new(program)
        .args(["run", "--policy", &format!("../{policy}"), "--", "sh", "-c", agent])
        .current_dir(folder.join("work"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null())
        .output()?;
    let elapsed = started.elapsed();
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.code() == Some(125), "the run ended otherwise: {said}");
    git(&folder.join("work"), &["checkout", "-q", "."])?;
    Ok(elapsed)
}

/// What an iteration does to the repository.
const AGENTS: [(&str, &str); 2] = [
    ("an edit", "date +%N >> d005/e05/f5275.txt"),
    ("an edit, and git's index written anew", "date +%N >> d005/e05/f5275.txt; git add -A"),
];
const LIMITS: &str = "[limits]\niterations = 5\n";
const GUARDS: &str = "[progress]\ngit = true\n[guards]\nallow = ['d005/**']\ndeny = ['**/*.pem']\n\
     protect = ['d001/**']\nrequire_clean = false\n";
const ITERATIONS: u32 = 5;
const FILES: usize = 100_000;
const ROUNDS: usize = 5;
