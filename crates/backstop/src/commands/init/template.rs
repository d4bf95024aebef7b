//! The text of a new policy.

use super::project::Project;

/// A policy for the project: what was found is set, what was not stands in comments.
pub fn policy(project: &Project) -> String {
    [
        HEAD.to_owned(),
        completion(project),
        RULES.to_owned(),
        loop_section(project),
        verify_section(project),
        progress_section(project),
        guards_section(project),
        TAIL.to_owned(),
    ]
    .join("\n")
}

const HEAD: &str = r#"# When this project's loops stop. `backstop policy check` looks for mistakes,
# `backstop policy explain` says every rule in plain words.

[limits]                  # shorthand for the usual rules
iterations = 50           # how often the command may run
duration = "8h"           # active time: sleep, holds and waits don't count
# tokens = 1_000_000      # cache reads don't count
# cost_usd = 20.0         # holds the run if nobody reports what it costs
"#;

fn completion(project: &Project) -> String {
    let when = match (project.test_command, project.tasks) {
        (Some(_), _) => "all_tests_pass",
        (None, Some(_)) => "tasks_done",
        (None, None) => {
            return String::from(
                r#"# What "done" means: a rule with `then = "complete"`, such as
# [[rule]]
# when = { type = "output_pattern", pattern = "ALL DONE", in = "result" }
# then = "complete"
"#,
            );
        }
    };
    format!(
        "[[rule]]                  # what \"done\" means\nwhen = {{ type = \"{when}\" }}\nthen = \"complete\"\n"
    )
}

const RULES: &str = r#"[[rule]]                  # a loop that changes nothing is not working
when = { type = "no_progress", iterations = 3 }
then = "stop"

[[rule]]                  # nor is one that only fails
when = { type = "consecutive_errors", count = 3 }
then = "stop"

[[rule]]                  # the agent repeats itself: say so, but let it go on
when = { type = "repetition" }
then = "warn"
"#;

fn loop_section(project: &Project) -> String {
    let stdin = match project.prompt {
        Some(prompt) => commented(&format!("stdin = \"{prompt}\""), "fed to every iteration"),
        None => commented("# stdin = \"PROMPT.md\"", "fed to every iteration"),
    };
    let agent = match project.agent {
        Some(agent) => commented(&format!("agent = \"{agent}\""), "whose output is read"),
        None => commented("# agent = \"auto\"", "whose output is read"),
    };
    format!(
        "[loop]\niteration_timeout = \"1h\"  # past it: worker_timeout\nidle_timeout = \"15m\"      # no output and no work for so long\n{stdin}\n{agent}\n"
    )
}

fn verify_section(project: &Project) -> String {
    match project.test_command {
        Some(command) => format!(
            "[verify]                  # tells whether the work is good\ncommand = \"{command}\"\ntimeout = \"10m\"\n"
        ),
        None => "# [verify]                # tells whether the work is good\n# command = \"make test\"\n# timeout = \"10m\"\n".to_owned(),
    }
}

fn progress_section(project: &Project) -> String {
    let tasks = match project.tasks {
        Some(tasks) => commented(&format!("tasks = \"{tasks}\""), "a list of check boxes"),
        None => commented("# tasks = \"PLAN.md\"", "a list of check boxes"),
    };
    let (git, why) = if project.is_repository {
        ("git = true", "a commit, or a state of the tree not seen before")
    } else {
        ("files = true", "files changed under this directory")
    };
    format!("[progress]\n{}\n{tasks}\n", commented(git, why))
}

/// A setting and, in the column where all of them stand, what it means.
fn commented(setting: &str, meaning: &str) -> String {
    format!("{setting:<25} # {meaning}")
}

fn guards_section(project: &Project) -> String {
    if !project.is_repository {
        return "# [guards]                # in a git repository: what the work must not touch\n# deny = [\"**/*.pem\"]\n".to_owned();
    }
    let lockfiles = match project.lock_files.as_slice() {
        [] => "# lockfiles = \"deny\"      # lock files of package managers".to_owned(),
        found => format!("lockfiles = \"deny\"        # {}", found.join(", ")),
    };
    format!(
        "[guards]                  # what the work must not touch\nrequire_clean = true      # start from a clean work tree\n{lockfiles}\n# protect = [\"tests/**\"]  # what judges the work may not be changed by it\n# deny = [\"**/*.pem\"]\n"
    )
}

const TAIL: &str = r#"# [notify]
# on = ["halted", "asked", "held"]
# command = ["notify-send", "backstop"]
"#;
