//! The documents, executed: every command, policy, event and fact in them is run or read.
//!
//! With `BACKSTOP_WRITE_DOCUMENTS=1` the output in `console` blocks is written anew instead. A document
//! whose commands use `$SERVER` finds a service there that listens for it alone; one that uses
//! `$DATABASE` finds an empty database of PostgreSQL, and is left out where that is not installed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use backstop_core::condition::Condition;
use backstop_core::document::{Syntax, parse, to_value};
use backstop_core::event::{Event, EventKind};
use backstop_core::expression::FACT_NAMES;
use backstop_core::facts::GivenFacts;
use backstop_core::policy::Policy;
use backstop_store::testing::postgres::{self, Database};

#[test]
fn every_command_prints_what_the_documents_show() {
    let mut wrong = Vec::new();
    for document in documents() {
        let Some(sandbox) = Sandbox::for_document(&document) else { continue };
        let mut text = document.text.clone();
        for block in document.blocks().filter(|block| block.language == "console") {
            let printed = sandbox.run(&block.text);
            if comparable(&printed) != comparable(&block.text) {
                wrong.push(format!(
                    "{}:{}\n--- shown ---\n{}--- printed ---\n{printed}",
                    document.name, block.line, block.text
                ));
                let shown = format!("```console\n{}```", block.text);
                text = text.replacen(&shown, &format!("```console\n{printed}```"), 1);
            }
        }
        if std::env::var_os("BACKSTOP_WRITE_DOCUMENTS").is_some() && text != document.text {
            fs::write(root().join(&document.name), text).unwrap();
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nhint: BACKSTOP_WRITE_DOCUMENTS=1 cargo test -p backstop --test documents",
        wrong.join("\n")
    );
}

#[test]
fn every_block_says_what_it_is_and_holds_it() {
    let mut wrong = Vec::new();
    for document in documents() {
        for block in document.blocks() {
            if let Err(why) = block.check() {
                wrong.push(format!("{}:{}: {why}\n{}", document.name, block.line, block.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_guide_shows_every_event_and_names_every_fact() {
    let guide = fs::read_to_string(root().join("docs/guide/events-and-facts.md")).unwrap();
    for name in EventKind::TYPE_NAMES {
        let shown = format!("\"type\": \"{name}\"");
        assert!(guide.contains(&shown), "event `{name}` has no example");
    }
    for name in FACT_NAMES {
        assert!(guide.contains(&format!("\"{name}\":")), "fact `{name}` is not in the list");
    }
}

#[test]
fn every_example_can_be_used_as_it_stands() {
    let mut seen = 0;
    for path in files_below(&root().join("examples")) {
        let bytes = fs::read(&path).unwrap();
        let name = path.display().to_string();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        seen += 1;
        match extension {
            "jsonl" => {
                let text = String::from_utf8(bytes).unwrap();
                events(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
            }
            "json" if GivenFacts::from_json(&bytes).is_ok() => {}
            "toml" | "yaml" | "json" => {
                let syntax = Syntax::from_extension(extension).unwrap();
                let has_mistakes = name.contains("/mistakes/");
                match Policy::load(&bytes, syntax) {
                    Ok(loaded) => {
                        assert!(!has_mistakes, "{name} should have mistakes");
                        assert_eq!(loaded.lints(), [], "{name}");
                    }
                    Err(findings) => assert!(has_mistakes, "{name}: {findings:?}"),
                }
            }
            _ => {}
        }
    }
    assert!(seen >= 12, "only {seen} examples were found");
}

#[test]
fn generated_pages_are_as_the_code_would_write_them() {
    let schema = serde_json::to_string_pretty(&backstop_core::policy::schema()).unwrap() + "\n";
    for (name, wanted) in [
        ("docs/reference/cli.md", backstop::reference()),
        ("docs/reference/conditions.md", backstop_core::condition::reference()),
        ("docs/reference/events.md", backstop_core::event::reference()),
        ("docs/reference/policy.schema.json", schema),
    ] {
        let found = fs::read_to_string(root().join(name)).unwrap_or_default();
        let same = found.lines().zip(wanted.lines()).take_while(|(one, other)| one == other);
        assert!(
            found == wanted,
            "{name}:{} is not as it would be written\nhint: run `cargo xtask generate`",
            same.count() + 1
        );
    }
}

/// A file of Markdown.
struct Document {
    name: String,
    text: String,
}

/// A fenced block.
struct Block {
    /// The first word behind the fence.
    language: String,
    /// What it is: the second word.
    role: String,
    text: String,
    line: usize,
}

impl Document {
    fn blocks(&self) -> impl Iterator<Item = Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut inside = false;
        for (line, content) in (1..).zip(self.text.lines()) {
            match content.strip_prefix("```") {
                Some(_) if inside => inside = false,
                Some(information) => {
                    let mut words = information.split_whitespace().map(str::to_owned);
                    let language = words.next().unwrap_or_default();
                    let role = words.next().unwrap_or_default();
                    blocks.push(Block { language, role, text: String::new(), line });
                    inside = true;
                }
                None if inside => {
                    let block = blocks.last_mut().expect("a block was opened");
                    block.text.push_str(content);
                    block.text.push('\n');
                }
                None => {}
            }
        }
        blocks.into_iter()
    }
}

impl Block {
    fn check(&self) -> Result<(), String> {
        match (self.language.as_str(), self.role.as_str()) {
            ("toml" | "yaml" | "json", "policy") => {
                let syntax = Syntax::from_extension(&self.language).expect("one of the three");
                Policy::load(self.text.as_bytes(), syntax)
                    .map(|_| ())
                    .map_err(|findings| format!("is no policy: {findings:?}"))
            }
            ("toml", "condition") => {
                let document = format!("when = {}", self.text);
                let node = parse(document.as_bytes(), Syntax::Toml)
                    .map_err(|findings| format!("is no TOML: {findings:?}"))?;
                let when = to_value(&node).expect("numbers are finite")["when"].clone();
                Condition::from_json(&when)
                    .map(|_| ())
                    .map_err(|findings| format!("is no condition: {findings:?}"))
            }
            ("jsonl", "events") => events(&self.text),
            ("json", "facts") => GivenFacts::from_json(self.text.as_bytes())
                .map(|_| ())
                .map_err(|error| format!("does not hold facts: {error}")),
            // Commands are run; expressions are asked by the tests of the core; the rest is text.
            ("console" | "cel" | "cel-refused" | "sh" | "sql" | "text", "") => Ok(()),
            (language, role) => Err(format!("nobody checks a block of `{language} {role}`")),
        }
    }
}

fn events(lines: &str) -> Result<(), String> {
    for line in lines.lines().filter(|line| !line.is_empty()) {
        Event::from_json(line.as_bytes()).map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}

/// What is the same on every machine and at every time: without names of runs, times and the blanks
/// that line them up.
fn comparable(text: &str) -> String {
    let mut same = String::new();
    for line in text.lines() {
        // What stands in quotes is looked at by itself, as in JSON.
        let words = line
            .split_whitespace()
            .map(|word| word.split('"').map(comparable_word).collect::<Vec<_>>().join("\""));
        same.push_str(&words.collect::<Vec<_>>().join(" "));
        same.push('\n');
    }
    same
}

fn comparable_word(word: &str) -> &str {
    match word {
        _ if is_run(word) => "RUN",
        _ if is_time(word) || is_date(word) || word == "now" => "TIME",
        _ if !word.is_empty() && word.chars().all(|letter| letter == '─') => "─",
        "cgroup" | "sub-reaper" => "CONTAINMENT",
        other => other,
    }
}

/// `1M7FQDQEY570K`, or the part of it that people type.
fn is_run(word: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    matches!(word.len(), 8..=13) && word.starts_with('1') && word.bytes().all(is_name)
}

/// `12ms`, `3s`, `2m`.
fn is_time(word: &str) -> bool {
    let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    unit.len() < word.len() && matches!(unit, "ms" | "s" | "m" | "us")
}

/// `2026-05-04T10:08:00Z`, unless the document itself has said what time it is.
fn is_date(word: &str) -> bool {
    let is_shaped = |byte: u8| byte.is_ascii_digit() || b"-:.TZ".contains(&byte);
    word.len() > 20 && word.ends_with('Z') && word.bytes().all(is_shaped)
}

/// A folder with the examples in it, where commands may write what they like.
struct Sandbox {
    folder: tempfile::TempDir,
    service: Option<Service>,
    database: Option<Database<'static>>,
}

/// A service that listens for one document.
struct Service {
    process: Child,
    url: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Sandbox {
    /// What the commands of a document need; none where this machine does not have it.
    fn for_document(document: &Document) -> Option<Self> {
        let asks_for = |name: &str| {
            let mut console = document.blocks().filter(|block| block.language == "console");
            console.any(|block| block.text.contains(name))
        };
        let mut sandbox = Self::new();
        if asks_for("$DATABASE") {
            sandbox.database = Some(postgres::shared()?.database());
        }
        if asks_for("$SERVER") {
            sandbox.service = Some(sandbox.serve());
        }
        Some(sandbox)
    }

    fn serve(&self) -> Service {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstop"));
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        self.prepare(&mut command).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("`backstop serve` runs");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("listening on ").expect("where it listens").to_owned();
        Service { process, url }
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for a while");
        let examples = root().join("examples");
        for path in files_below(&examples) {
            let copy = folder
                .path()
                .join("examples")
                .join(path.strip_prefix(&examples).expect("it was found there"));
            fs::create_dir_all(copy.parent().expect("a file has a folder")).expect("a folder");
            fs::copy(path, copy).expect("a copy");
        }
        Self { folder, service: None, database: None }
    }

    /// Runs each `$ command` and answers with the block as it should be.
    fn run(&self, block: &str) -> String {
        let mut printed = String::new();
        let mut status = 0;
        for command in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("exec 2>&1\n(exit {status})\n{command}"));
            let output = self.prepare(&mut shell).output().expect("`sh` runs");
            status = output.status.code().unwrap_or(-1);
            printed.push_str(&format!("$ {command}\n{}", String::from_utf8_lossy(&output.stdout)));
            if !printed.ends_with('\n') {
                printed.push('\n');
            }
        }
        printed
    }

    fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some(service) = &self.service {
            command.env("SERVER", &service.url);
        }
        if let Some(database) = &self.database {
            command.env("DATABASE", database.url());
        }
        command
            .current_dir(self.folder.path())
            .env("PATH", path_with_backstop())
            .env("NO_COLOR", "1")
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null())
            .env_remove("BACKSTOP_STORE")
            .env_remove("DEPLOY_ENV")
            .env_remove("GITHUB_ACTIONS")
    }
}

fn path_with_backstop() -> std::ffi::OsString {
    let own =
        Path::new(env!("CARGO_BIN_EXE_backstop")).parent().expect("a file has a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path)))
        .expect("no colon in it")
}

/// The documents that are written by hand, and those that are generated but for the reasons, whose
/// pages are executed by the tests of the core.
fn documents() -> Vec<Document> {
    let root = root();
    let mut paths: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)).to_vec();
    paths.extend(files_below(&root.join("docs")));
    paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| !path.ends_with("reference/reasons.md"))
        .map(|path| Document {
            name: path.strip_prefix(&root).expect("it was found there").display().to_string(),
            text: fs::read_to_string(&path).expect("a text"),
        })
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
