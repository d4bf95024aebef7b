//! The help of every command: examples that parse, in lines that fit.

use clap::Command;

mod support;

use support::Test;

/// Every command with its words, subcommands included.
fn commands() -> Vec<(Vec<String>, Command)> {
    fn add(words: &[String], command: &Command, all: &mut Vec<(Vec<String>, Command)>) {
        all.push((words.to_vec(), command.clone()));
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            add(&[words, &[sub.get_name().to_owned()]].concat(), sub, all);
        }
    }
    let mut all = Vec::new();
    add(&[], &backstop::command(), &mut all);
    all
}

#[test]
fn every_command_has_examples_that_parse() {
    assert_eq!(commands().len(), 58);
    for (words, _) in commands() {
        let call = words.iter().map(String::as_str).chain(["--help"]);
        let help = Test::new().run(call).exits(0);
        assert_eq!(help.stderr, "");
        let (_, examples) = help.stdout.split_once("\nExamples:\n").expect("examples");
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{}", help.stdout);
        let mut parsed = 0;
        for line in examples.lines().filter(|line| line.starts_with("  backstop ")) {
            // What comes after two blanks, a redirection or a pipe is not the command's.
            let line = line.trim_start().split("  ").next().unwrap();
            let line = line.split(" > ").next().unwrap();
            let line = line.split(" | ").next().unwrap();
            let found = backstop::command().try_get_matches_from(line.split_whitespace());
            assert!(found.is_ok(), "{line}: {}", found.unwrap_err());
            parsed += 1;
        }
        assert!(parsed > 0, "{words:?} has no example");
    }
}

#[test]
fn short_help_long_help_and_the_help_command_agree() {
    for (words, _) in commands() {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let long = Test::new().run(words.iter().copied().chain(["--help"])).exits(0).stdout;
        let asked =
            Test::new().run(["help"].into_iter().chain(words.iter().copied())).exits(0).stdout;
        assert_eq!(long, asked);
    }
}

#[test]
fn the_version_is_the_crates() {
    let expected = format!("backstop {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Test::new().run(["--version"]).exits(0).stdout, expected);
}
