//! A command line that can be run, and shown in the form in which a person would repeat it.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::Context as _;

/// A program with its arguments and the variables set for it.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    words: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl CommandLine {
    pub fn cargo(arguments: &[&str]) -> Self {
        let words = std::iter::once("cargo").chain(arguments.iter().copied());
        Self { words: words.map(str::to_owned).collect(), variables: Vec::new() }
    }

    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.words.push(argument.into());
        self
    }

    pub fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs it in a directory, with the terminal's own input and output.
    pub fn run(&self, directory: &Path) -> anyhow::Result<ExitStatus> {
        self.command(directory).status().with_context(|| format!("cannot run `{self}`"))
    }

    /// Whether it runs and succeeds; what it prints is dropped.
    pub fn succeeds(&self, directory: &Path) -> bool {
        self.command(directory).output().is_ok_and(|output| output.status.success())
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(directory);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        let words: Vec<_> = self.words.iter().map(|word| quoted(word)).collect();
        formatter.write_str(&words.join(" "))
    }
}

fn quoted(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_=./:+,".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_so_that_a_shell_reads_the_same_words() {
        let line = CommandLine::cargo(&["doc", "it's"]).variable("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'");
    }
}
