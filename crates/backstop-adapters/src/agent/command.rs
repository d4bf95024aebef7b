//! Which agent a command starts.

mod container;

use std::ffi::OsStr;

use super::Agent;
use container::in_container;

/// An agent that a command starts.
struct Started {
    agent: Agent,
    /// Its own words, beginning with its name.
    words: Vec<String>,
    /// How many words of the command there are from its name on, or from the line on that it stands in.
    left: usize,
    /// It stands in a line, as a shell's, which may start several.
    is_in_line: bool,
}

/// The agent that a command starts first, seen through the programs that only start another one.
pub(super) fn agent(command: &[impl AsRef<OsStr>]) -> Option<Agent> {
    started(&words(command), DEEPEST).first().map(|started| started.agent)
}

/// The same with the agent's own words, beginning with its name.
pub(super) fn first(command: &[impl AsRef<OsStr>]) -> Option<(Agent, Vec<String>)> {
    let first = started(&words(command), DEEPEST).into_iter().next();
    first.map(|started| (started.agent, started.words))
}

/// Whether the agent that a command starts first is Amp.
pub(super) fn is_amp(command: &[impl AsRef<OsStr>]) -> bool {
    let started = started(&words(command), DEEPEST);
    let name = started.first().and_then(|started| started.words.first());
    name.is_some_and(|name| program(name) == "amp" || name.starts_with("@sourcegraph/amp"))
}

/// Whether a command is an agent's own, and not that of a shell, which may start several.
pub(super) fn is_agents(command: &[impl AsRef<OsStr>]) -> bool {
    started(&words(command), DEEPEST).first().is_some_and(|started| !started.is_in_line)
}

/// Whether a command asks for JSON, all agents that it starts: `--output-format stream-json`,
/// `-o json`, `--json` and the like.
pub(super) fn asks_for_records(command: &[impl AsRef<OsStr>]) -> bool {
    let asks = |words: &[String]| {
        words.iter().any(|word| {
            let value = word.rsplit_once('=').map_or(word.as_str(), |(_, value)| value);
            RECORDS.contains(&value)
        })
    };
    let words = words(command);
    let started = started(&words, DEEPEST);
    // It may be a program of the user's own that starts one.
    if started.is_empty() { asks(&words) } else { started.iter().all(|one| asks(&one.words)) }
}

pub(super) fn words(command: &[impl AsRef<OsStr>]) -> Vec<String> {
    command.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect()
}

/// The agents that a command starts.
fn started(words: &[String], depth: usize) -> Vec<Started> {
    let Some((depth, (first, rest))) = depth.checked_sub(1).zip(words.split_first()) else {
        return Vec::new();
    };
    let one = |words: &[String], agent: Option<Agent>| {
        let (words, left) = (words.to_vec(), words.len());
        let one = agent.map(|agent| Started { agent, words, left, is_in_line: false });
        one.into_iter().collect()
    };
    let program = program(first);
    if let Some(agent) = of_program(&program) {
        return one(words, Some(agent));
    }
    match program.as_str() {
        "env" => by_env(rest, depth),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => by_shell(rest, depth),
        "npx" | "bunx" | "pnpx" | "uvx" => {
            let rest = after_options(rest, PACKAGE_OPTIONS);
            one(rest, of_package(rest))
        }
        "npm" | "pnpm" | "yarn" | "bun" | "pipx" | "uv" => {
            let rest = rest.strip_prefix(&["tool".to_owned()]).unwrap_or(rest);
            match rest.split_first() {
                Some((verb, rest)) if ["exec", "x", "dlx", "run"].contains(&verb.as_str()) => {
                    let rest = after_options(rest, PACKAGE_OPTIONS);
                    one(rest, of_package(rest))
                }
                _ => Vec::new(),
            }
        }
        "node" | "deno" => {
            let rest = after_options(rest, &[]);
            one(rest, of_script(rest))
        }
        _ if program.starts_with("python") => match rest {
            [option, rest @ ..] if option == "-m" => {
                one(rest, rest.first().and_then(|module| of_program(module)))
            }
            _ => {
                let rest = after_options(rest, &[]);
                one(rest, of_script(rest))
            }
        },
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" => {
            started(in_container(rest).unwrap_or_default(), depth)
        }
        // The time limit itself stands between its options and the command.
        "timeout" | "gtimeout" => {
            let rest = after_options(rest, &["-k", "-s", "--kill-after", "--signal"]);
            started(rest.get(1..).unwrap_or_default(), depth)
        }
        _ => {
            let starter = STARTERS.iter().find(|(name, _)| *name == program);
            let rest = starter.map(|(_, with_value)| after_options(rest, with_value));
            started(after_assignments(rest.unwrap_or_default()), depth)
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

/// A script of an agent's package, by the folder that it is installed in, else by its own name. A
/// checkout of the same name may have any scripts in it.
fn of_script(words: &[String]) -> Option<Agent> {
    let script = words.first()?;
    let folders: Vec<&str> = script.split(['/', '\\']).collect();
    let installed = folders.windows(2).find_map(|pair| match pair {
        ["@anthropic-ai", "claude-code"] | ["@sourcegraph", "amp"] => Some(Agent::Claude),
        ["@openai", "codex"] => Some(Agent::Codex),
        ["@google", "gemini-cli"] => Some(Agent::Gemini),
        ["node_modules", "opencode-ai"] => Some(Agent::OpenCode),
        ["@mariozechner", "pi-coding-agent"] => Some(Agent::Pi),
        _ => None,
    });
    installed.or_else(|| {
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

fn by_env(words: &[String], depth: usize) -> Vec<Started> {
    if let [option, lines @ ..] = words
        && (option == "-S" || option == "--split-string")
    {
        return by_line(lines, depth);
    }
    let words = after_options(words, &["-u", "-C", "--unset", "--chdir"]);
    started(after_assignments(words), depth)
}

fn after_assignments(words: &[String]) -> &[String] {
    &words[words.iter().take_while(|word| is_assignment(word)).count()..]
}

/// By the command line of a shell, if there is one: a script says nothing.
fn by_shell(words: &[String], depth: usize) -> Vec<Started> {
    let is_option =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = words.iter().position(is_option).map_or(words.len(), |at| at + 1);
    by_line(&words[at..], depth)
}

/// By the commands of the line that these words begin with.
fn by_line(words: &[String], depth: usize) -> Vec<Started> {
    let Some(line) = words.first() else { return Vec::new() };
    let line = &line[..line.floor_char_boundary(LONGEST_LINE)];
    let of_command = |command: &Vec<String>| started(without_preamble(command), depth);
    let in_line = |one: Started| Started { left: words.len(), is_in_line: true, ..one };
    commands(line).iter().flat_map(of_command).map(in_line).collect()
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
    let first = started(command, DEEPEST).into_iter().next()?;
    let from_name = &command[command.len() - first.left..];
    let (name, arguments) = match first.is_in_line {
        false => from_name.split_first()?,
        true => (command.first()?, from_name),
    };
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

/// What asks for records, by itself or as a value.
const RECORDS: &[&str] = &[
    "--json",
    "--experimental-json",
    "--stream-json",
    "--stream-json-thinking",
    "json",
    "stream-json",
    "jsonl",
];

/// Programs that start another one, and their options that take a value.
const STARTERS: &[(&str, &[&str])] = &[
    (
        "sudo",
        &[
            "-u",
            "-g",
            "-h",
            "-p",
            "-C",
            "-D",
            "-R",
            "-T",
            "-U",
            "-r",
            "-t",
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--chdir",
            "--chroot",
            "--command-timeout",
            "--role",
            "--type",
        ],
    ),
    ("doas", &["-u", "-C"]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "-p", "--class", "--classdata"]),
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
    #[case(&["sudo", "--user", "bot", "A=1", "claude"], Some(Agent::Claude))]
    #[case(&["timeout", "-k", "5", "10", "codex"], Some(Agent::Codex))]
    #[case(&["timeout", "--kill-after", "5", "--signal", "INT", "10", "codex"], Some(Agent::Codex))]
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
    #[case(&["node", "/lib/node_modules/opencode-ai/bin/x.js"], Some(Agent::OpenCode))]
    #[case(&["node", "gemini-cli/loop.js"], None)]
    #[case(&["docker", "run", "--rm", "-it", "-v", "a:b", "image", "claude", "-p"], Some(Agent::Claude))]
    #[case(&["podman", "exec", "-u", "bot", "box", "sh", "-c", "codex exec"], Some(Agent::Codex))]
    #[case(&["docker", "compose", "-f", "c.yml", "run", "--rm", "web", "gemini"], Some(Agent::Gemini))]
    #[case(&["docker-compose", "exec", "-T", "web", "aider"], Some(Agent::Aider))]
    #[case(&["docker", "run", "--name", "claude", "image"], None)]
    #[case(&["docker", "run", "--net", "host", "--log-driver", "none", "i", "claude"], Some(Agent::Claude))]
    #[case(&["podman", "run", "--pids-limit", "99", "--secret", "key", "i", "codex"], Some(Agent::Codex))]
    #[case(&["docker", "compose", "exec", "--index", "2", "web", "gemini"], Some(Agent::Gemini))]
    #[case(&["docker", "--log-level", "warn", "run", "--cpuset-cpus", "0", "i", "aider"], Some(Agent::Aider))]
    #[case(&["docker", "build", "claude"], None)]
    #[case(&["docker", "run"], None)]
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

    #[rstest]
    #[case(&["claude", "-p", "x"], true)]
    #[case(&["timeout", "10", "npx", "-y", "@openai/codex@latest", "exec"], true)]
    #[case(&["sh", "-c", "claude -p x; codex exec y"], false)]
    #[case(&["env", "sh", "-c", "codex exec y"], false)]
    #[case(&["sh", "loop.sh", "claude"], false)]
    #[case(&["docker", "run", "--rm", "-e", "A=b", "image", "claude", "-p", "x"], true)]
    #[case(&["docker", "exec", "claude", "sh", "-c", "claude -p a; codex exec --json b"], false)]
    #[case(&["docker", "run", "-w", "/src/codex", "img", "sh", "-c", "claude -p a"], false)]
    #[case(&["sudo", "-u", "claude", "bash", "-c", "claude -p a; codex exec b"], false)]
    #[case(&["docker", "exec", "claude", "claude", "-p", "a"], true)]
    #[case(&["env", "-S", "codex exec y", "codex"], false)]
    #[case(&["python3", "-m", "aider", "--yes"], true)]
    #[case(&["node", "/lib/@anthropic-ai/claude-code/cli.js", "-p"], true)]
    fn a_shell_may_start_several(#[case] command: &[&str], #[case] expected: bool) {
        assert_eq!(is_agents(command), expected);
    }

    #[rstest]
    #[case("docker run --rm ghcr.io/me/claude claude -p 'say ALL DONE'", Some(&["-p", "say ALL DONE"][..]))]
    #[case("docker run --rm me/claude sh -c 'claude -p x'", Some(&["claude -p x"][..]))]
    #[case("sudo -u codex claude -p x", Some(&["-p", "x"][..]))]
    #[case("A=1 npx -y @openai/codex exec x", Some(&["exec", "x"][..]))]
    #[case("sh -c 'codex exec x'", Some(&["codex exec x"][..]))]
    #[case("Claude -p x", None)]
    #[case("echo claude", None)]
    fn what_an_agent_is_told_stands_behind_its_own_name(
        #[case] line: &str,
        #[case] expected: Option<&[&str]>,
    ) {
        let words = &commands(line)[0];
        let told = arguments(words).map(|words| words.iter().map(String::as_str).collect());
        assert_eq!(told, expected.map(<[_]>::to_vec), "{line}");
    }

    #[rstest]
    #[case(&["amp", "-x", "y"], true)]
    #[case(&["sh", "-c", "cd x && npx @sourcegraph/amp@latest -x y"], true)]
    #[case(&["claude", "-p", "amp"], false)]
    #[case(&["echo", "amp"], false)]
    fn amp_is_told_from_claude(#[case] command: &[&str], #[case] expected: bool) {
        assert_eq!(is_amp(command), expected);
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

    #[rstest]
    #[case(&["claude", "-p", "x", "--output-format", "stream-json"], true)]
    #[case(&["claude", "-p", "x", "--output-format=json"], true)]
    #[case(&["codex", "exec", "--json", "x"], true)]
    #[case(&["gemini", "-o", "json", "-p", "x"], true)]
    #[case(&["claude", "-p", "explain --output-format json"], false)]
    #[case(&["aider", "--yes"], false)]
    #[case(&["amp", "-x", "y", "--stream-json"], true)]
    #[case(&["amp", "-x", "y", "--stream-json-thinking"], true)]
    #[case(&["sh", "-c", "echo x; claude -p 'y' --output-format json; echo z"], true)]
    #[case(&["docker", "exec", "box", "sh", "-c", "cd x && codex exec --json y | jq ."], true)]
    #[case(&["env", "-S", "A=1 claude --output-format=json -p"], true)]
    #[case(&["sh", "-c", "claude -p 'explain --output-format json'; jq json"], false)]
    #[case(&["sh", "-c", "claude -p x --output-format json; codex exec y"], false)]
    #[case(&["my-agent", "--output-format", "json"], true)]
    fn it_is_known_whether_records_are_asked_for(#[case] command: &[&str], #[case] asks: bool) {
        assert_eq!(asks_for_records(command), asks);
    }
}
