//! Lints that look around the policy: at its scripts, its prompt, its repository.

use std::path::{Path, PathBuf};

use backstop_core::condition::{Condition, OutputPattern};
use backstop_core::diagnostic::{Diagnostic, Span};
use backstop_core::policy::{Policy, Rule};

use crate::commands::run::phrases::is_met_by_echo;

/// What will surprise where the policy file lies.
pub fn lints(policy: &Policy, file_name: &str) -> Vec<Diagnostic> {
    let folder = folder_of(file_name);
    let mut lints = Vec::new();
    for rule in &policy.rules {
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
