//! What a directory tells about the project in it.

use std::fs;
use std::path::Path;

use crate::report::hanging;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The command that runs its tests.
    pub test_command: Option<&'static str>,
    /// Lock files of package managers.
    pub lock_files: Vec<&'static str>,
    /// The agent that has left its files here.
    pub agent: Option<&'static str>,
    /// A prompt to feed to every iteration.
    pub prompt: Option<&'static str>,
    /// A list of check boxes.
    pub tasks: Option<&'static str>,
    pub is_repository: bool,
}

impl Project {
    pub fn look_at(folder: &Path) -> Self {
        let exists = |name: &str| folder.join(name).exists();
        let first = |known: &[(&str, &'static str)]| {
            known.iter().find(|(name, _)| exists(name)).map(|(_, what)| *what)
        };
        let present = |known: &[&'static str]| -> Vec<&'static str> {
            known.iter().copied().filter(|name| exists(name)).collect()
        };
        Self {
            test_command: test_command(folder).or_else(|| first(TEST_COMMANDS)),
            lock_files: present(LOCK_FILES),
            agent: first(AGENTS),
            prompt: present(PROMPTS).first().copied(),
            tasks: present(TASK_LISTS).into_iter().find(|name| has_check_boxes(&folder.join(name))),
            is_repository: folder
                .canonicalize()
                .is_ok_and(|folder| folder.ancestors().any(|folder| folder.join(".git").exists())),
        }
    }

    /// What was found, a line each.
    pub fn summary(&self) -> String {
        let lock_files = self.lock_files.join(", ");
        let found = [
            ("tests", self.test_command),
            ("agent", self.agent),
            ("prompt", self.prompt),
            ("tasks", self.tasks),
            ("lock files", Some(&*lock_files).filter(|names| !names.is_empty())),
        ];
        let lines = found.iter().filter_map(|(what, name)| Some((what, (*name)?)));
        lines.map(|(what, name)| hanging(&format!("  {what:<12}"), name)).collect()
    }
}

/// Tests whose command depends on what a file says.
fn test_command(folder: &Path) -> Option<&'static str> {
    if has_test_script(&folder.join("package.json")) {
        let manager =
            [("pnpm-lock.yaml", "pnpm test"), ("yarn.lock", "yarn test"), ("bun.lock", "bun test")];
        let known = manager.iter().find(|(lock, _)| folder.join(lock).exists());
        return Some(known.map_or("npm test", |(_, command)| command));
    }
    let names_a_test_target = |line: &str| line.starts_with("test:");
    let makefile = fs::read_to_string(folder.join("Makefile")).unwrap_or_default();
    makefile.lines().any(names_a_test_target).then_some("make test")
}

/// Whether a package has a test script other than the stand-in that `npm init` writes.
fn has_test_script(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let script = package.pointer("/scripts/test").and_then(serde_json::Value::as_str);
    script.is_some_and(|script| !script.trim().is_empty() && !script.contains("no test specified"))
}

fn has_check_boxes(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| {
        text.lines()
            .map(str::trim_start)
            .any(|line| line.starts_with("- [ ]") || line.starts_with("- [x]"))
    })
}

const TEST_COMMANDS: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("pytest.ini", "pytest"),
    ("pyproject.toml", "pytest"),
    ("setup.py", "pytest"),
    ("tox.ini", "tox"),
    (".rspec", "bundle exec rspec"),
    ("Gemfile", "bundle exec rake test"),
    ("pom.xml", "mvn -q test"),
    ("build.gradle.kts", "./gradlew test"),
    ("build.gradle", "./gradlew test"),
    ("mix.exs", "mix test"),
    ("Package.swift", "swift test"),
    ("deno.json", "deno test"),
    ("composer.json", "vendor/bin/phpunit"),
];

const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "pdm.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "gradle.lockfile",
    "flake.lock",
];

const AGENTS: &[(&str, &str)] = &[
    (".claude", "claude"),
    ("CLAUDE.md", "claude"),
    (".codex", "codex"),
    (".gemini", "gemini"),
    ("GEMINI.md", "gemini"),
    ("opencode.json", "opencode"),
    (".opencode", "opencode"),
    (".aider.conf.yml", "aider"),
    ("AGENTS.md", "codex"),
];

const PROMPTS: &[&str] = &["PROMPT.md", "prompt.md"];

const TASK_LISTS: &[&str] = &["PLAN.md", "TODO.md", "TASKS.md", "fix_plan.md", "plan.md"];
