//! Lints that look around the policy: at its scripts, its prompt, its repository.

use std::path::{Path, PathBuf};

use backstop_core::condition::{ClockTime, Condition, OutputPattern, WallClock};
use backstop_core::diagnostic::{Diagnostic, Span};
use backstop_core::policy::{Policy, Rule};
use backstop_core::verdict::Verdict;
use backstop_runner::clock::wall_time;

use crate::commands::run::phrases::is_met_by_echo;

/// What will surprise where the policy file lies.
pub fn lints(policy: &Policy, file_name: &str) -> Vec<Diagnostic> {
    let folder = folder_of(file_name);
    let mut lints = Vec::new();
    for rule in &policy.rules {
        lints.extend(met_already(rule, &folder));
        for asked in rule.when.asked() {
            match asked {
                Condition::CustomScript(script) => {
                    lints.extend(missing_script(&script.script.0, rule, &folder));
                }
                Condition::OutputPattern(pattern) => {
                    lints.extend(phrase_in_prompt(pattern, rule, policy, &folder));
                }
                _ => {}
            }
        }
    }
    lints.extend(no_repository(policy, &folder));
    lints
}

/// What the clock or the files say is met before anything has happened. That the work is done already
/// is no surprise.
fn met_already(rule: &Rule, folder: &Path) -> Option<Diagnostic> {
    let why = match &rule.when {
        _ if rule.then == Verdict::Complete => return None,
        Condition::WallClock(WallClock { at: ClockTime::At(at) }) if *at <= wall_time() => {
            "that time is past".to_owned()
        }
        Condition::FileCreated(file) if folder.join(&file.path.0).exists() => {
            format!("`{}` is there already", file.path.0)
        }
        Condition::FileContains(file) if contains(&folder.join(&file.path.0), &file.content.0) => {
            format!("`{}` contains it already", file.path.0)
        }
        _ => return None,
    };
    let message = format!("`{}` is met before the first iteration", rule.name());
    Some(Diagnostic::lint(message, rule.span.clone()).label(why))
}

fn contains(path: &Path, content: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(content))
}

fn missing_script(script: &str, rule: &Rule, folder: &Path) -> Option<Diagnostic> {
    // A bare name is looked up in PATH when it runs.
    if !script.contains('/') || folder.join(script).exists() {
        return None;
    }
    let lint = Diagnostic::lint(format!("the script `{script}` does not exist"), rule.span.clone());
    Some(lint.label("until it does, this can't be evaluated"))
}

/// A completion phrase that the prompt itself contains is met as soon as the prompt is echoed.
fn phrase_in_prompt(
    pattern: &OutputPattern,
    rule: &Rule,
    policy: &Policy,
    folder: &Path,
) -> Option<Diagnostic> {
    let prompt = policy.settings.loop_.as_ref()?.stdin.as_ref()?;
    let text = std::fs::read_to_string(folder.join(&prompt.0)).ok()?;
    let phrase = &pattern.pattern.0;
    is_met_by_echo(rule, pattern, &text).then(|| {
        let message = format!("the prompt `{}` contains `{phrase}` too", prompt.0);
        Diagnostic::lint(message, rule.span.clone())
            .label("an echoed prompt would complete the run; say `in = \"result\"`")
    })
}

fn no_repository(policy: &Policy, folder: &Path) -> Option<Diagnostic> {
    let guards = policy.settings.guards.as_ref()?;
    let inside = folder.ancestors().any(|folder| folder.join(".git").exists());
    if inside || guards.require_clean == Some(false) {
        return None;
    }
    let lint = Diagnostic::lint("`[guards]` needs a git repository", None::<Span>);
    Some(lint.hint("run `git init`, or say `require_clean = false`"))
}

fn folder_of(file_name: &str) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.join(file_name).parent().map(Path::to_owned).unwrap_or(here)
}
