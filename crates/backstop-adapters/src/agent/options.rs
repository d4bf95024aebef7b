//! What a command asks of the agent that it starts.

use std::ffi::OsStr;

use super::Agent;
use super::command::{agent, commands};

/// The options of a command that matter to whoever listens to its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentOptions {
    /// The model that is wished for.
    pub model: Option<String>,
    /// Each step is printed as JSON as soon as it is taken.
    pub streams_json: bool,
}

impl AgentOptions {
    /// A word counts only where it stands alone: a prompt may speak of options too.
    pub fn of_command(command: &[impl AsRef<OsStr>]) -> Self {
        let words = command.iter().map(|word| word.as_ref().to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let mut options = Self::of_words(&words);
        // The command line of a shell is a word by itself.
        let lines = words.windows(2).filter(|pair| takes_a_line(&pair[0])).map(|pair| &pair[1]);
        for line in lines {
            for inner in commands(line).iter().map(|words| Self::of_words(words)) {
                options.model = options.model.or(inner.model);
                options.streams_json |= inner.streams_json;
            }
        }
        options
    }

    fn of_words(words: &[String]) -> Self {
        let mut options = Self::default();
        let agent = agent(words);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let (name, given) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word.as_str(), None),
            };
            match name {
                "--json" | "--experimental-json" => options.streams_json = true,
                "--output-format" | "-o" | "-m" | "--model" => {
                    let value = given.or_else(|| rest.as_slice().first().map(String::as_str));
                    match (name, value) {
                        ("--output-format" | "-o", value) => {
                            options.streams_json |= value == Some("stream-json");
                        }
                        (_, value) => options.model = value.map(str::to_owned),
                    }
                }
                // Settings, of which the model is one.
                "-c" | "--config" if agent == Some(Agent::Codex) => {
                    let value = given.or_else(|| rest.as_slice().first().map(String::as_str));
                    if let Some(model) = value.and_then(|value| value.strip_prefix("model=")) {
                        options.model = Some(model.trim_matches(['"', '\'']).to_owned());
                    }
                }
                _ if matches!(agent, Some(Agent::Codex | Agent::Gemini)) => {
                    let attached = word.strip_prefix("-m").filter(|model| !model.is_empty());
                    options.model = attached.map(str::to_owned).or(options.model);
                }
                _ => {}
            }
        }
        options
    }
}

/// Whether a command line follows this option: `-c`, `-lc`, `-S`.
fn takes_a_line(option: &str) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.ends_with(['c', 'S'])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["codex", "exec", "--json", "-m", "gpt-5-codex", "go on"], Some("gpt-5-codex"), true)]
    #[case(&["codex", "exec", "add a --json flag"], None, false)]
    #[case(&["claude", "-p", "x", "--output-format", "stream-json", "--verbose"], None, true)]
    #[case(&["claude", "-p", "x", "--output-format=json", "--model=opus"], Some("opus"), false)]
    #[case(&["gemini", "-o", "stream-json", "-m", "gemini-2.5-pro"], Some("gemini-2.5-pro"), true)]
    #[case(&["sh", "-c", "cat P.md | claude -p 'use --json' --model opus"], Some("opus"), false)]
    #[case(&["sh", "-c", "cd x && codex exec --json go"], None, true)]
    #[case(&["codex", "exec", "claude -p --output-format stream-json fails"], None, false)]
    #[case(&["codex", "exec", "-mgpt-5", "go on"], Some("gpt-5"), false)]
    #[case(&["codex", "exec", "--model=gpt-5", "go on"], Some("gpt-5"), false)]
    #[case(&["codex", "-c", "model=gpt-5", "exec", "go on"], Some("gpt-5"), false)]
    #[case(&["codex", "exec", "--config=model=\"gpt-5\"", "go on"], Some("gpt-5"), false)]
    #[case(&["codex", "exec", "-c", "model_reasoning_effort=high", "go on"], None, false)]
    #[case(&["sh", "-c", "codex exec -mgpt-5 go"], Some("gpt-5"), false)]
    #[case(&["python", "-mpytest"], None, false)]
    #[case(&["gcc", "-march=native"], None, false)]
    #[case(&["make", "-c", "model=x"], None, false)]
    #[case(&["make", "-m"], None, false)]
    fn a_command_and_what_it_asks_for(
        #[case] command: &[&str],
        #[case] model: Option<&str>,
        #[case] streams_json: bool,
    ) {
        let expected = AgentOptions { model: model.map(str::to_owned), streams_json };
        assert_eq!(AgentOptions::of_command(command), expected);
    }
}
