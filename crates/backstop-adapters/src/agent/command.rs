//! Which agent a command starts.

use std::ffi::OsStr;

use super::Agent;

/// The agent that a command starts, seen through the programs that only start another one.
pub(super) fn agent(command: &[impl AsRef<OsStr>]) -> Option<Agent> {
    let words: Vec<String> =
        command.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    of_words(&words, DEEPEST)
}

fn of_words(words: &[String], depth: usize) -> Option<Agent> {
    let depth = depth.checked_sub(1)?;
    let (first, rest) = words.split_first()?;
    let program = program(first);
    if let Some(agent) = of_program(&program) {
        return Some(agent);
    }
    match program.as_str() {
        "env" => of_env(rest, depth),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => of_shell(rest, depth),
        "npx" | "bunx" | "pnpx" | "uvx" => of_package(after_options(rest, PACKAGE_OPTIONS)),
        "npm" | "pnpm" | "yarn" | "bun" | "pipx" | "uv" => {
            let rest = rest.strip_prefix(&["tool".to_owned()]).unwrap_or(rest);
            let (verb, rest) = rest.split_first()?;
            let runs = ["exec", "x", "dlx", "run"].contains(&verb.as_str());
            if runs { of_package(after_options(rest, PACKAGE_OPTIONS)) } else { None }
        }
        "node" | "deno" => of_script(after_options(rest, &[])),
        _ if program.starts_with("python") => match rest {
            [option, module, ..] if option == "-m" => of_program(module),
            _ => of_script(after_options(rest, &[])),
        },
        // The time limit itself stands between its options and the command.
        "timeout" | "gtimeout" => of_words(after_options(rest, &["-k", "-s"]).get(1..)?, depth),
        _ => {
            let (_, with_value) = STARTERS.iter().find(|(name, _)| *name == program)?;
            of_words(after_options(rest, with_value), depth)
        }
    }
}

/// The name of a program without its folder and ending.
fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    for ending in [".cmd", ".exe", ".bat", ".ps1"] {
        if let Some(name) = name.strip_suffix(ending) {
            return name.to_owned();
        }
    }
    name
}

fn of_program(name: &str) -> Option<Agent> {
    Some(match name {
        // Amp prints what Claude prints.
        "claude" | "amp" => Agent::Claude,
        "codex" => Agent::Codex,
        "gemini" => Agent::Gemini,
        "opencode" => Agent::OpenCode,
        "aider" => Agent::Aider,
        "cursor-agent" => Agent::Cursor,
        "goose" => Agent::Goose,
        "pi" => Agent::Pi,
        _ => return None,
    })
}

/// Whether a shell says in this line that an agent is not installed.
pub(crate) fn is_missing_agent(line: &str) -> bool {
    let (before, name) = match line.rsplit_once(": command not found: ") {
        Some((shell, name)) => (shell, name),
        None => {
            let Some((before, "command not found" | "not found" | "No such file or directory")) =
                line.rsplit_once(": ")
            else {
                return false;
            };
            before.rsplit_once(": ").unwrap_or(("", before))
        }
    };
    let name = name.trim_matches(['\'', '"', '‘', '’']);
    !before.is_empty() && of_program(&program(name)).is_some()
}

/// The package, with or without a version, that a package runner is to run.
fn of_package(words: &[String]) -> Option<Agent> {
    let package = words.first()?;
    let version = package.get(1..)?.find('@').map_or(package.len(), |at| at + 1);
    let name = &package[..version];
    Some(match name {
        "@anthropic-ai/claude-code" | "@sourcegraph/amp" => Agent::Claude,
        "@openai/codex" => Agent::Codex,
        "@google/gemini-cli" => Agent::Gemini,
        "opencode-ai" => Agent::OpenCode,
        "aider-chat" => Agent::Aider,
        "@mariozechner/pi-coding-agent" => Agent::Pi,
        name => return of_program(name),
    })
}

/// A script of a package, by the folder that it is in.
fn of_script(words: &[String]) -> Option<Agent> {
    let script = words.first()?;
    let mut folders = script.split(['/', '\\']);
    folders
        .find_map(|folder| match folder {
            "claude-code" => Some(Agent::Claude),
            "gemini-cli" => Some(Agent::Gemini),
            "opencode-ai" => Some(Agent::OpenCode),
            "pi-coding-agent" => Some(Agent::Pi),
            _ => None,
        })
        .or_else(|| {
            let name = program(script);
            let name = name.strip_suffix(".js").or(name.strip_suffix(".mjs")).unwrap_or(&name);
            of_program(name)
        })
}

/// What follows options. Those of `with_value` take the next word, too.
fn after_options<'w>(words: &'w [String], with_value: &[&str]) -> &'w [String] {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return &words[at + 1..];
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        at += if with_value.contains(&word.as_str()) { 2 } else { 1 };
    }
    words.get(at..).unwrap_or_default()
}

fn of_env(words: &[String], depth: usize) -> Option<Agent> {
    if let [option, text, ..] = words
        && (option == "-S" || option == "--split-string")
    {
        return of_line(text, depth);
    }
    let words = after_options(words, &["-u", "-C", "--unset", "--chdir"]);
    let variables = words.iter().take_while(|word| is_assignment(word)).count();
    of_words(&words[variables..], depth)
}

/// The command line of a shell, if there is one: a script says nothing.
fn of_shell(words: &[String], depth: usize) -> Option<Agent> {
    let at = words
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    of_line(words.get(at + 1)?, depth)
}

/// The first agent among the commands of a line.
fn of_line(line: &str, depth: usize) -> Option<Agent> {
    let line = &line[..line.floor_char_boundary(LONGEST_LINE)];
    commands(line).iter().find_map(|command| of_words(without_preamble(command), depth))
}

/// A shell's command from its program on.
fn without_preamble(command: &[String]) -> &[String] {
    let skipped = command
        .iter()
        .take_while(|word| is_assignment(word) || KEYWORDS.contains(&word.as_str()))
        .count();
    &command[skipped..]
}

/// What a shell's command tells the agent that it starts; none where it starts none. Programs are
/// not written in capitals.
pub(super) fn arguments(command: &[String]) -> Option<&[String]> {
    let command = without_preamble(command);
    of_words(command, DEEPEST)?;
    let names = |word: &String| {
        of_program(&program(word)).or_else(|| of_package(std::slice::from_ref(word))).is_some()
    };
    let at = command.iter().position(names);
    // Otherwise it is in the words of another shell.
    let (name, arguments) = command[at.unwrap_or(0)..].split_first()?;
    let arguments = if at.is_some() { arguments } else { command.get(2..)? };
    (!name.starts_with(char::is_uppercase)).then_some(arguments)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

/// A line of a shell as its commands and their words, as far as quotes and separators go. What a
/// variable or a substitution stands for is not known, and does not matter here.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
            command.push(word);
        }
    };
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some('\''), character) => word.get_or_insert_default().push(character),
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), character) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(character);
            }
            (None, ';' | '|' | '&' | '\n' | '(' | ')') => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            (None, character) if character.is_whitespace() => end_word(&mut word, &mut commands),
            (None, character) => word.get_or_insert_default().push(character),
        }
    }
    end_word(&mut word, &mut commands);
    commands
}

/// Programs that start another one, and their options that take a value.
const STARTERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    ("doas", &["-u", "-C"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("chrt", &[]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("unbuffer", &[]),
    ("time", &["-f", "-o"]),
    ("caffeinate", &["-t", "-w"]),
    ("command", &[]),
    ("exec", &["-a"]),
];

const PACKAGE_OPTIONS: &[&str] =
    &["-p", "--package", "--from", "--with", "--python", "-c", "--call", "--spec"];

/// Words that may stand before a command.
const KEYWORDS: &[&str] = &["if", "then", "else", "while", "until", "do", "!", "{", "time"];

/// How many programs may start one another.
const DEEPEST: usize = 8;
const LONGEST_LINE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["claude", "-p", "x"], Some(Agent::Claude))]
    #[case(&["/usr/local/bin/codex", "exec", "--json"], Some(Agent::Codex))]
    #[case(&[r"C:\npm\gemini.cmd"], Some(Agent::Gemini))]
    #[case(&["CLAUDE.EXE"], Some(Agent::Claude))]
    #[case(&["amp", "-x"], Some(Agent::Claude))]
    #[case(&["cursor-agent", "-p"], Some(Agent::Cursor))]
    #[case(&["env", "-u", "CI", "A=1", "B=2", "goose", "run"], Some(Agent::Goose))]
    #[case(&["env", "-S", "A=1 pi --mode json"], Some(Agent::Pi))]
    #[case(&["npx", "-y", "@anthropic-ai/claude-code@2.1.0", "-p"], Some(Agent::Claude))]
    #[case(&["npx", "--package", "x", "opencode-ai@latest"], Some(Agent::OpenCode))]
    #[case(&["bunx", "@openai/codex"], Some(Agent::Codex))]
    #[case(&["uvx", "--from", "aider-chat", "aider"], Some(Agent::Aider))]
    #[case(&["uv", "tool", "run", "aider"], Some(Agent::Aider))]
    #[case(&["npm", "exec", "--", "@google/gemini-cli"], Some(Agent::Gemini))]
    #[case(&["sudo", "-u", "bot", "-H", "claude"], Some(Agent::Claude))]
    #[case(&["timeout", "-k", "5", "10", "codex"], Some(Agent::Codex))]
    #[case(&["nice", "-n", "10", "aider"], Some(Agent::Aider))]
    #[case(&["nice", "-10", "aider"], Some(Agent::Aider))]
    #[case(&["stdbuf", "-oL", "gemini"], Some(Agent::Gemini))]
    #[case(&["sh", "-c", "claude -p \"$(cat PROMPT.md)\" --output-format stream-json"], Some(Agent::Claude))]
    #[case(&["bash", "-lc", "cd 'my dir' && A=b codex exec"], Some(Agent::Codex))]
    #[case(&["sh", "-ec", "cat PROMPT.md | timeout 10m opencode run"], Some(Agent::OpenCode))]
    #[case(&["sudo", "sh", "-c", "env X=1 nohup 'claude' -p"], Some(Agent::Claude))]
    #[case(&["sh", "-c", "while ! claude -p; do sleep 1; done"], Some(Agent::Claude))]
    #[case(&["python3", "-m", "aider", "--message", "x"], Some(Agent::Aider))]
    #[case(&["node", "/lib/node_modules/@anthropic-ai/claude-code/cli.js"], Some(Agent::Claude))]
    #[case(&["./loop.sh"], None)]
    #[case(&["sh", "loop.sh", "claude"], None)]
    #[case(&["echo", "claude"], None)]
    #[case(&["sh", "-c", "echo 'claude'"], None)]
    #[case(&["vim", "claude"], None)]
    #[case(&["npx", "claude-flow"], None)]
    #[case(&["timeout"], None)]
    #[case(&[], None)]
    fn a_command_tells_the_agent(#[case] command: &[&str], #[case] expected: Option<Agent>) {
        assert_eq!(agent(command), expected);
    }

    proptest! {
        #[test]
        fn nothing_panics(words in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    "env", "sh", "-c", "-lc", "sudo", "-u", "npx", "timeout", "uv", "tool", "run",
                    "python", "-m", "node", "--", "-", "", "@", "A=1", "env -S env",
                ]).prop_map(str::to_owned),
                ".{0,12}",
            ],
            0..12,
        )) {
            let _ = agent(&words);
        }
    }
}
