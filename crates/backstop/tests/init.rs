//! `backstop init`: a policy that fits the directory.

mod support;

use support::Test;

/// Writes the policy, and makes sure that it has neither errors nor warnings.
fn written(test: &Test) -> String {
    let ended = test.run(["init"]).exits(0);
    assert!(ended.stdout.starts_with("wrote backstop.toml\n"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let checked = test.run(["policy", "check", "--strict"]).exits(0);
    assert_eq!(checked.stderr, "");
    let text = test.read("backstop.toml");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    text
}

#[test]
fn an_empty_directory_gets_limits_and_comments() {
    let text = written(&Test::new());
    insta::assert_snapshot!(text, @r##"
    # When this project's loops stop. `backstop policy check` looks for mistakes,
    # `backstop policy explain` says every rule in plain words.

    [limits]                  # shorthand for the usual rules
    iterations = 50           # how often the command may run
    duration = "8h"           # active time: sleep, holds and waits don't count
    # tokens = 1_000_000      # cache reads don't count
    # cost_usd = 20.0         # holds the run if nobody reports what it costs

    # What "done" means: a rule with `then = "complete"`, such as
    # [[rule]]
    # when = { type = "output_pattern", pattern = "ALL DONE", in = "result" }
    # then = "complete"

    [[rule]]                  # a loop that changes nothing is not working
    when = { type = "no_progress", iterations = 3 }
    then = "stop"

    [[rule]]                  # nor is one that only fails
    when = { type = "consecutive_errors", count = 3 }
    then = "stop"

    [[rule]]                  # the agent repeats itself: say so, but let it go on
    when = { type = "repetition" }
    then = "warn"

    [loop]
    iteration_timeout = "1h"  # past it: worker_timeout
    idle_timeout = "15m"      # no output and no work for so long
    # stdin = "PROMPT.md"     # fed to every iteration
    # agent = "auto"          # whose output is read

    # [verify]                # tells whether the work is good
    # command = "make test"
    # timeout = "10m"

    [progress]
    files = true              # files changed under this directory
    # tasks = "PLAN.md"       # a list of check boxes

    # [guards]                # in a git repository: what the work must not touch
    # deny = ["**/*.pem"]

    # [notify]
    # on = ["halted", "asked", "held"]
    # command = ["notify-send", "backstop"]
    "##);
}

#[test]
fn a_cargo_project_in_a_repository_gets_all_that_was_found() {
    let test = Test::new()
        .file("Cargo.toml", "[package]\nname = \"x\"\n")
        .file("Cargo.lock", "")
        .file("CLAUDE.md", "")
        .file("PROMPT.md", "go on")
        .file("PLAN.md", "- [ ] first\n")
        .folder(".git");
    let text = written(&test);
    for line in [
        "command = \"cargo test\"",
        "agent = \"claude\"",
        "stdin = \"PROMPT.md\"",
        "tasks = \"PLAN.md\"",
        "git = true",
        "lockfiles = \"deny\"        # Cargo.lock",
        "when = { type = \"all_tests_pass\" }",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}\n{text}");
    }
    let summary = test.run(["init", "--force"]).exits(0).stdout;
    insta::assert_snapshot!(summary, @r##"
    wrote backstop.toml
      tests       cargo test
      agent       claude
      prompt      PROMPT.md
      tasks       PLAN.md
      lock files  Cargo.lock
    next: backstop policy explain
          git add backstop.toml && git commit -m "Add a policy"
    "##);
}

#[test]
fn test_commands_fit_the_project() {
    let script = r#"{"scripts": {"test": "vitest"}}"#;
    let stand_in = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    for (files, expected) in [
        (&[("Cargo.toml", "")][..], Some("cargo test")),
        (&[("package.json", script)], Some("npm test")),
        (&[("package.json", script), ("pnpm-lock.yaml", "")], Some("pnpm test")),
        (&[("package.json", script), ("yarn.lock", "")], Some("yarn test")),
        (&[("package.json", stand_in)], None),
        (&[("package.json", "{\"name\": \"test\"}")], None),
        (&[("package.json", "not json \"test\"")], None),
        (&[("pyproject.toml", "")], Some("pytest")),
        (&[("go.mod", "module x"), ("go.sum", "")], Some("go test ./...")),
        (&[("Makefile", "all:\n\ntest: all\n\t./t\n")], Some("make test")),
        (&[("Makefile", "all:\n\t./test\n")], None),
    ] {
        let test = files.iter().fold(Test::new(), |test, (name, text)| test.file(name, text));
        let text = written(&test);
        let found = text.lines().find_map(|line| line.strip_prefix("command = "));
        assert_eq!(found, expected.map(|command| format!("\"{command}\"")).as_deref(), "{files:?}");
    }
}

#[test]
fn a_file_that_is_there_is_kept_unless_forced() {
    let test = Test::new().file("backstop.toml", "# mine\n");
    test.run(["init"]).refused(73, &["backstop.toml", "--force"]);
    assert_eq!(test.read("backstop.toml"), "# mine\n");
    let printed = test.run(["init", "--print"]).exits(0).stdout;
    assert_eq!(test.read("backstop.toml"), "# mine\n");
    test.run(["init", "--force"]).exits(0);
    assert_eq!(test.read("backstop.toml"), printed);
}

#[test]
fn a_folder_of_that_name_cannot_be_replaced() {
    let test = Test::new().folder("backstop.toml");
    test.run(["init", "--force"]).refused(73, &["can't create `backstop.toml`"]);
}
