//! `cargo xtask test`: every check, in the order in which a failure is cheapest to find.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};

use crate::command::CommandLine;
use crate::workspace::Workspace;
use crate::{generate, licences, prepare, tidy};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Between two edits: fewer random cases, no clippy, no documentation
    #[arg(long)]
    fast: bool,
}

/// Runs the steps up to the first failure.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> anyhow::Result<()> {
    let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    run_steps(workspace, &steps(arguments.fast), on_ci)
}

fn run_steps(workspace: &Workspace, steps: &[Step], on_ci: bool) -> anyhow::Result<()> {
    let mut done = Vec::new();
    for step in steps {
        if let Some(component) = step.component
            && !component.installed(workspace)
        {
            if on_ci {
                bail!("{}: {}", step.name, component.missing());
            }
            println!("==> {}: left out, {}", step.name, component.missing());
            done.push((step.name, Outcome::LeftOut));
            continue;
        }
        println!("==> {}: {}", step.name, step.repeat());
        let started = Instant::now();
        let result = step.run(workspace);
        let elapsed = started.elapsed();
        if let Err(error) = result {
            println!("==> {}: FAILED after {:.1} s", step.name, elapsed.as_secs_f64());
            done.push((step.name, Outcome::Failed(elapsed)));
            print!("{}", summary(&done));
            bail!(
                "{} failed: {error:#}\n\nhint: to repeat this step: {}",
                step.name,
                step.repeat()
            );
        }
        println!("==> {}: passed in {:.1} s", step.name, elapsed.as_secs_f64());
        done.push((step.name, Outcome::Passed(elapsed)));
    }
    print!("{}", summary(&done));
    Ok(())
}

fn steps(fast: bool) -> Vec<Step> {
    let tests = CommandLine::cargo(&["test", "--workspace", "--all-features", "--quiet"]);
    let tests = if fast { tests.variable("PROPTEST_CASES", "16") } else { tests };
    let documents = CommandLine::cargo(&["doc", "--workspace", "--no-deps", "--all-features"])
        .variable("RUSTDOCFLAGS", "-D warnings");
    let clippy = CommandLine::cargo(&["clippy", "--workspace", "--all-targets", "--all-features"])
        .argument("--")
        .argument("-Dwarnings");
    let format = CommandLine::cargo(&["fmt", "--all", "--check"]);

    let mut steps = vec![
        Step::own("machine", "cargo xtask test", prepare::check),
        Step::cargo("format", format).with(&RUSTFMT),
    ];
    if !fast {
        steps.push(Step::cargo("clippy", clippy).with(&CLIPPY));
    }
    steps.push(Step::cargo("tests", tests));
    if !fast {
        steps.push(Step::cargo("documentation", documents));
    }
    steps.push(Step::own("tidy", "cargo xtask tidy", tidy::run));
    steps.push(Step::own("licences", "cargo xtask licences", licences::run));
    steps.push(Step::own("generated files", "cargo xtask generate --check", |workspace| {
        generate::run(workspace, generate::Mode::Check)
    }));
    steps
}

/// One check: a command, or a task of this program.
struct Step {
    name: &'static str,
    component: Option<&'static Component>,
    work: Work,
}

enum Work {
    Cargo(CommandLine),
    Own { repeat: &'static str, task: fn(&Workspace) -> anyhow::Result<()> },
}

impl Step {
    fn cargo(name: &'static str, line: CommandLine) -> Self {
        Self { name, component: None, work: Work::Cargo(line) }
    }

    fn own(
        name: &'static str,
        repeat: &'static str,
        task: fn(&Workspace) -> anyhow::Result<()>,
    ) -> Self {
        Self { name, component: None, work: Work::Own { repeat, task } }
    }

    fn with(self, component: &'static Component) -> Self {
        Self { component: Some(component), ..self }
    }

    fn repeat(&self) -> String {
        match &self.work {
            Work::Cargo(line) => line.to_string(),
            Work::Own { repeat, .. } => (*repeat).to_owned(),
        }
    }

    fn run(&self, workspace: &Workspace) -> anyhow::Result<()> {
        match &self.work {
            Work::Cargo(line) => {
                let status = line.run(workspace.root())?;
                if status.success() { Ok(()) } else { Err(anyhow!("{status}")) }
            }
            Work::Own { task, .. } => task(workspace),
        }
    }
}

/// A part of the Rust toolchain that a distribution may have left out.
struct Component {
    name: &'static str,
    subcommand: &'static str,
}

impl Component {
    fn installed(&self, workspace: &Workspace) -> bool {
        CommandLine::cargo(&[self.subcommand, "--version"]).succeeds(workspace.root())
    }

    fn missing(&self) -> String {
        let name = self.name;
        format!("{name} is not installed (`rustup component add {name}`)")
    }
}

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    LeftOut,
}

fn summary(done: &[(&str, Outcome)]) -> String {
    let mut text = String::from("\n");
    let mut total = Duration::ZERO;
    for (name, outcome) in done {
        let (word, elapsed) = match outcome {
            Outcome::Passed(elapsed) => ("passed", *elapsed),
            Outcome::Failed(elapsed) => ("FAILED", *elapsed),
            Outcome::LeftOut => ("left out", Duration::ZERO),
        };
        total += elapsed;
        text.push_str(&format!("{name:<16} {word:<8} {:>7.1} s\n", elapsed.as_secs_f64()));
    }
    text.push_str(&format!("{:<25} {:>7.1} s\n", "all", total.as_secs_f64()));
    text
}

const RUSTFMT: Component = Component { name: "rustfmt", subcommand: "fmt" };
const CLIPPY: Component = Component { name: "clippy", subcommand: "clippy" };

#[cfg(test)]
mod tests {
    use super::*;

    fn never(_: &Workspace) -> anyhow::Result<()> {
        panic!("a step ran after the one that failed")
    }

    #[test]
    fn stops_at_the_first_failure_with_its_name_and_command() {
        let steps = [
            Step::own("good", "cargo xtask good", |_| Ok(())),
            Step::own("bad", "cargo xtask bad", |_| Err(anyhow!("it is bad"))),
            Step::own("late", "cargo xtask late", never),
        ];
        let error = run_steps(&Workspace::here(), &steps, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bad failed: it is bad\n\nhint: to repeat this step: cargo xtask bad"
        );
    }

    #[test]
    fn a_command_that_fails_fails_its_step() {
        let steps = [Step::cargo("version", CommandLine::cargo(&["no-such-subcommand"]))];
        let error = run_steps(&Workspace::here(), &steps, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "version failed: exit status: 101\n\n\
             hint: to repeat this step: cargo no-such-subcommand"
        );
    }

    #[test]
    fn a_missing_component_is_left_out_but_not_on_ci() {
        const ABSENT: Component = Component { name: "absent", subcommand: "no-such-subcommand" };
        let steps = [Step::own("check", "cargo xtask check", never).with(&ABSENT)];
        run_steps(&Workspace::here(), &steps, false).unwrap();
        let error = run_steps(&Workspace::here(), &steps, true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "check: absent is not installed (`rustup component add absent`)"
        );
    }

    #[test]
    fn fast_leaves_out_the_slow_steps_only() {
        let names = |fast| steps(fast).iter().map(|step| step.name).collect::<Vec<_>>();
        let all = names(false);
        let left_out: Vec<_> = all.iter().filter(|name| !names(true).contains(name)).collect();
        assert_eq!(left_out, [&"clippy", &"documentation"]);
        assert_eq!(
            all,
            [
                "machine",
                "format",
                "clippy",
                "tests",
                "documentation",
                "tidy",
                "licences",
                "generated files"
            ]
        );
    }
}
