//! Which model a command asks its agent for.

use std::ffi::OsStr;

use super::Agent;
use super::command;

/// The model that a command asks the agent for that it starts first. A word counts only where it stands
/// alone: a prompt may speak of options too.
pub(super) fn of_command(command: &[impl AsRef<OsStr>]) -> Option<String> {
    match command::first(command) {
        Some((agent, words)) => of_words(Some(agent), &words),
        // It may be a program of the user's own that starts one.
        None => of_words(None, &command::words(command)),
    }
}

fn of_words(agent: Option<Agent>, words: &[String]) -> Option<String> {
    let mut model = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, given) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word.as_str(), None),
        };
        let value = || given.or_else(|| rest.as_slice().first().map(String::as_str));
        match name {
            "--model" => model = value().map(str::to_owned),
            // Of other programs it may be anything.
            "-m" if agent.is_some() => model = value().map(str::to_owned),
            // Settings, of which the model is one.
            "-c" | "--config" if agent == Some(Agent::Codex) => {
                if let Some(named) = value().and_then(|value| value.strip_prefix("model=")) {
                    model = Some(named.trim_matches(['"', '\'']).to_owned());
                }
            }
            _ if matches!(agent, Some(Agent::Codex | Agent::Gemini)) => {
                let attached = word.strip_prefix("-m").filter(|model| !model.is_empty());
                model = attached.map(str::to_owned).or(model);
            }
            _ => {}
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["codex", "exec", "--json", "-m", "gpt-5-codex", "go on"], Some("gpt-5-codex"))]
    #[case(&["codex", "exec", "add a --json flag"], None)]
    #[case(&["claude", "-p", "x", "--output-format", "stream-json", "--verbose"], None)]
    #[case(&["claude", "-p", "x", "--output-format=json", "--model=opus"], Some("opus"))]
    #[case(&["gemini", "-o", "stream-json", "-m", "gemini-2.5-pro"], Some("gemini-2.5-pro"))]
    #[case(&["sh", "-c", "cat P.md | claude -p 'use --json' --model opus"], Some("opus"))]
    #[case(&["sh", "-c", "cd x && codex exec --json go"], None)]
    #[case(&["codex", "exec", "claude -p --output-format stream-json fails"], None)]
    #[case(&["codex", "exec", "-mgpt-5", "go on"], Some("gpt-5"))]
    #[case(&["codex", "exec", "--model=gpt-5", "go on"], Some("gpt-5"))]
    #[case(&["codex", "-c", "model=gpt-5", "exec", "go on"], Some("gpt-5"))]
    #[case(&["codex", "exec", "--config=model=\"gpt-5\"", "go on"], Some("gpt-5"))]
    #[case(&["codex", "exec", "-c", "model_reasoning_effort=high", "go on"], None)]
    #[case(&["sh", "-c", "codex exec -mgpt-5 go"], Some("gpt-5"))]
    #[case(&["python", "-mpytest"], None)]
    #[case(&["gcc", "-march=native"], None)]
    #[case(&["make", "-c", "model=x"], None)]
    #[case(&["make", "-m"], None)]
    #[case(&["make", "-m", "4"], None)]
    #[case(&["./loop.sh", "--model", "gpt-5"], Some("gpt-5"))]
    #[case(&["sh", "-c", "python3 -m pytest -q; codex exec --json -m gpt-5 go"], Some("gpt-5"))]
    #[case(&["sh", "-c", "git commit -m wip; codex exec --json go"], None)]
    #[case(&["docker", "run", "-m", "4g", "image", "codex", "exec", "--json", "go"], None)]
    #[case(&["docker", "run", "-m", "4g", "image", "codex", "exec", "-m", "gpt-5"], Some("gpt-5"))]
    fn a_command_and_the_model_that_it_asks_for(
        #[case] command: &[&str],
        #[case] model: Option<&str>,
    ) {
        assert_eq!(of_command(command).as_deref(), model);
    }
}
