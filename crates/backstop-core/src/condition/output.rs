//! Conditions on what the world shows: output, files, scripts. Others look; they answer by events.

use std::path::{Component, Path};
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

use super::kind::Kind;
use super::measure::{Measure, Scene, Truth};
use super::words::quoted;
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value, canonical_json, sha256_hex, to_value};
use crate::facts::{ProbeAnswer, Watch, bare};
use crate::field::{Findings, Period, Text, choices, record};
use crate::reason::ReasonCode;

/// Whose output a pattern is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    Any,
    Assistant,
    Result,
    /// The agent's words where there is an agent, and all output where there is none.
    Auto,
}

choices! {
    OutputSource {
        "any" => Any,
        "assistant" => Assistant,
        "result" => Result,
        "auto" => Auto,
    }
}

/// Since when output counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    Iteration,
    Run,
}

choices! {
    Since {
        "iteration" => Iteration,
        "run" => Run,
    }
}

record! {
    /// A pattern in the output.
    pub struct OutputPattern {
        /// A text, or a regular expression.
        required pattern: Text,
        /// Whether the pattern is a regular expression.
        default is_regex: bool = false,
        /// Where to look: all output, only what the agent itself says, or only its final result;
        /// `auto` is what the agent says where one is recognised, and all output where none is.
        default r#in: OutputSource = OutputSource::Any,
        /// Whether output of earlier iterations counts too.
        default since: Since = Since::Iteration,
        derived key: AnswerKey,
    }
}

impl OutputPattern {
    fn found(&self, scene: &Scene<'_>) -> bool {
        let patterns = &scene.facts.patterns;
        let whole_run = self.since == Since::Run;
        self.key
            .names()
            .chain([self.pattern.0.as_str()])
            .any(|key| patterns.has_matched(key, whole_run))
            || patterns.recent_output.as_deref().is_some_and(|output| self.matches(output))
    }

    /// Whether it is found in a text.
    pub fn matches(&self, output: &str) -> bool {
        if self.is_regex {
            regex(&self.pattern.0).is_ok_and(|regex| regex.is_match(output))
        } else {
            output.contains(&self.pattern.0)
        }
    }
}

impl Kind for OutputPattern {
    const TYPE: &'static str = "output_pattern";
    const EXAMPLE: &'static str =
        r#"{ type = "output_pattern", pattern = "ALL DONE", in = "result" }"#;
    const PRIORITY: i32 = 50;
    const WATCHES: Watch = Watch::MATCHED;

    fn prepare(&mut self, node: &Node, findings: &mut Findings) {
        self.key = AnswerKey::new(self, node);
        if !self.is_regex {
            return;
        }
        // Compiled to be checked, and not kept: output is matched by those who read it, and ten
        // thousand compiled patterns would take gigabytes.
        if let Err(error) = regex(&self.pattern.0) {
            let refused = |message| Diagnostic::error(message, value_span(node, "pattern"));
            findings.push(match error {
                regex::Error::CompiledTooBig(_) => {
                    refused("`pattern` is too large a regular expression")
                        .label("it would take more than 10 MiB of memory")
                }
                other => refused("`pattern` is not a regular expression")
                    .label(last_line(&other.to_string())),
            });
        }
    }

    fn describe(&self) -> String {
        let verb = if self.is_regex { "matches" } else { "contains" };
        let place = match self.r#in {
            OutputSource::Any | OutputSource::Auto => "output",
            OutputSource::Assistant => "what the agent says",
            OutputSource::Result => "the agent's result",
        };
        format!("when {place} {verb} {}", quoted(&self.pattern.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::plain(self.found(scene))
    }

    fn note(&self, _: &Scene<'_>, measure: &Measure) -> String {
        let words = match (measure.truth.is_met(), self.is_regex) {
            (true, true) => "matches",
            (true, false) => "contains",
            (false, true) => "does not match",
            (false, false) => "does not contain",
        };
        format!("Output {words} {}", quoted(&self.pattern.0))
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

record! {
    /// A file or directory exists.
    pub struct FileCreated {
        /// Its path, from the working directory.
        required path: Text,
        /// Whether the path may leave the working directory.
        default outside: bool = false,
        derived key: AnswerKey,
    }
}

impl Kind for FileCreated {
    const TYPE: &'static str = "file_created";
    const EXAMPLE: &'static str = r#"{ type = "file_created", path = "DONE.md" }"#;
    const PRIORITY: i32 = 40;
    const WATCHES: Watch = Watch::PROBES;

    fn prepare(&mut self, node: &Node, findings: &mut Findings) {
        self.key = AnswerKey::new(self, node);
        check_path(&self.path.0, self.outside, node, findings);
    }

    fn describe(&self) -> String {
        format!("when {} exists", quoted(&self.path.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        probed(&self.key, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let path = quoted(&self.path.0);
        match measure.truth {
            Truth::Yes => format!("{path} exists"),
            Truth::No if answered(&self.key, scene).is_none() => {
                format!("Nobody has looked for {path} yet")
            }
            Truth::No => format!("{path} does not exist"),
            Truth::Unknown => could_not(&format!("look for {path}"), &self.key, scene),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

record! {
    /// A file's bytes contain a text.
    pub struct FileContains {
        /// Its path, from the working directory.
        required path: Text,
        /// What it contains.
        required content: Text,
        /// Whether the path may leave the working directory.
        default outside: bool = false,
        derived key: AnswerKey,
    }
}

impl Kind for FileContains {
    const TYPE: &'static str = "file_contains";
    const EXAMPLE: &'static str =
        r#"{ type = "file_contains", path = "PLAN.md", content = "all done" }"#;
    const PRIORITY: i32 = 40;
    const WATCHES: Watch = Watch::PROBES;

    fn prepare(&mut self, node: &Node, findings: &mut Findings) {
        self.key = AnswerKey::new(self, node);
        check_path(&self.path.0, self.outside, node, findings);
    }

    fn describe(&self) -> String {
        format!("when {} contains {}", quoted(&self.path.0), quoted(&self.content.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        probed(&self.key, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let (path, content) = (quoted(&self.path.0), quoted(&self.content.0));
        match measure.truth {
            Truth::Yes => format!("{path} contains {content}"),
            Truth::No if answered(&self.key, scene).is_none() => {
                format!("Nobody has looked into {path} yet")
            }
            Truth::No => format!("{path} does not contain {content}"),
            Truth::Unknown => could_not(&format!("read {path}"), &self.key, scene),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

record! {
    /// A script exits 0.
    pub struct CustomScript {
        /// The script, from the working directory or absolute.
        required script: Text,
        /// Its arguments.
        default args: Vec<String> = Vec::<String>::new(),
        /// How long it may take.
        default timeout: Period = Period(Duration::from_secs(5)),
        /// How often it runs inside an iteration; left out: only at the start and at iteration ends.
        optional every: Period,
        derived key: AnswerKey,
    }
}

impl CustomScript {
    /// The line that a shell is given, where that is all that is run.
    pub fn shell_line(&self) -> Option<&str> {
        match self.args.as_slice() {
            [flag, line] if flag == "-c" && SHELLS.contains(&self.script.0.as_str()) => Some(line),
            _ => None,
        }
    }

    /// What is run, in words.
    fn what(&self) -> String {
        match self.shell_line() {
            Some(line) => quoted(line),
            None => format!("the script {}", quoted(&self.script.0)),
        }
    }
}

impl Kind for CustomScript {
    const TYPE: &'static str = "custom_script";
    const EXAMPLE: &'static str = r#"{ type = "custom_script", script = "./check.sh" }"#;
    const PRIORITY: i32 = 30;
    const WATCHES: Watch = Watch::PROBES;

    fn prepare(&mut self, node: &Node, _: &mut Findings) {
        self.key = AnswerKey::new(self, node);
    }

    fn describe(&self) -> String {
        format!("when {} succeeds", self.what())
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        probed(&self.key, scene)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let mut begins = self.what();
        begins[..1].make_ascii_uppercase();
        let named = quoted(self.shell_line().unwrap_or(&self.script.0));
        match measure.truth {
            Truth::Yes => format!("{begins} succeeded"),
            Truth::No if answered(&self.key, scene).is_none() => {
                format!("Nobody has run {named} yet")
            }
            Truth::No => format!("{begins} has not succeeded"),
            Truth::Unknown => could_not(&format!("run {named}"), &self.key, scene),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

/// The keys by which others may answer a condition: the hash of its canonical JSON, and that of
/// what its author wrote, where defaults were written out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerKey {
    own: String,
    written: Option<String>,
}

impl AnswerKey {
    fn new<K: Kind>(kind: &K, node: &Node) -> Self {
        let hash = |condition: &Json| bare(&sha256_hex(&canonical_json(condition))).to_owned();
        let own = hash(&super::json_of(kind));
        let written = to_value(node).ok().filter(Json::is_object).map(|written| hash(&written));
        Self { written: written.filter(|written| *written != own), own }
    }

    /// Each key without the name of its hash, the usual one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.own.as_str()).chain(self.written.as_deref())
    }
}

/// What a probe answered. One that has not answered yet says no; one that could not says unknown.
fn probed(key: &AnswerKey, scene: &Scene<'_>) -> Measure {
    match answered(key, scene).map(|answer| answer.met) {
        Some(Some(met)) => Measure::plain(met),
        Some(None) => Measure::unknown(),
        None => Measure::plain(false),
    }
}

fn answered<'a>(key: &AnswerKey, scene: &Scene<'a>) -> Option<&'a ProbeAnswer> {
    key.names().find_map(|key| scene.facts.probes.answer(key))
}

fn could_not(what: &str, key: &AnswerKey, scene: &Scene<'_>) -> String {
    match answered(key, scene).and_then(|answer| answer.detail.as_deref()) {
        Some(detail) if !detail.is_empty() => {
            format!("Could not {what}: {}", super::words::first_line(detail))
        }
        _ => format!("Could not {what}"),
    }
}

fn check_path(path: &str, outside: bool, node: &Node, findings: &mut Findings) {
    let leaves = |component: Component<'_>| {
        matches!(component, Component::ParentDir | Component::RootDir | Component::Prefix(_))
    };
    if !outside && Path::new(path).components().any(leaves) {
        findings.push(
            Diagnostic::error(
                format!("`{path}` leaves the working directory"),
                value_span(node, "path"),
            )
            .label("say `outside = true` if that is meant"),
        );
    }
}

/// Where the value under a key of a table stands.
pub(super) fn value_span(node: &Node, key: &str) -> crate::diagnostic::Span {
    match &node.value {
        Value::Table(table) => {
            table.get(key).map_or(node.span.clone(), |entry| entry.node.span.clone())
        }
        _ => node.span.clone(),
    }
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned()
}

fn regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(LARGEST_REGEX).build()
}

/// Shells that take a line behind `-c`.
const SHELLS: [&str; 2] = ["/bin/sh", "sh"];

/// Enough for any pattern written by hand; more would let one rule take all memory.
const LARGEST_REGEX: usize = 10 << 20;
