//! Why a run did not simply go on: the registry of stop reasons, and a policy's own beside it.
//!
//! Each reason is declared once, in `reason/registry.rs`; its page is `reason/pages/<code>.md`.
//! Everything that shows a reason reads it from here: the command line, the reference page, the
//! JSON schema and the dashboard.
//!
//! Every page ends in an example that can be run: a fence `toml policy`, at most one fence
//! `json facts` or `jsonl events`, an optional line `Decided at: <RFC 3339>` where time matters,
//! a line `Verdict: <verdict> <code>` and a line `Exit code: <number>`.

mod any;
mod custom;
mod document;
mod family;
mod lookup;
mod registry;
mod values;

use serde::{Deserialize, Serialize};

pub use any::AnyReason;
pub use custom::{CustomReason, Problem};
pub use document::{markdown_table, reference};
pub use family::{Family, UnknownFamily};
pub use lookup::{UnknownReason, find, limit_code, limit_name, nearest};
pub(crate) use lookup::{names, normalised};
pub use registry::{ReasonCode, all};
pub use values::Values;

/// One entry of the registry.
///
/// Codes are for ever: a reason that is renamed keeps its old code as an alias.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// `lower_snake_case`; says what was observed, never what to do.
    pub code: &'static str,
    /// A heading of a few words.
    pub title: &'static str,
    pub family: Family,
    /// What `backstop` exits with. Lies in the family's range.
    pub exit_code: u8,
    /// Other codes that mean this reason.
    pub aliases: &'static [&'static str],
    /// Whether `--auto-resume` may go on without a person.
    pub auto_resumable: bool,
    pub next_step: NextStep,
    /// One sentence: what was observed.
    pub summary: &'static str,
    /// What it means and which flag or key helps; a template for [`Reason::diagnosis_with`].
    pub diagnosis: &'static str,
    /// At most three commands; templates for [`Reason::next_commands_with`].
    pub next_commands: &'static [&'static str],
    /// The whole page, in Markdown.
    pub page: &'static str,
    /// The version that brought it.
    pub since: &'static str,
}

impl Reason {
    /// The diagnosis with a run's own values in it. A value that is missing reads as plain words.
    pub fn diagnosis_with(&self, values: &Values) -> String {
        values.fill_prose(self.diagnosis)
    }

    /// The commands to offer. A value that is missing is left to the reader, as in `--raise
    /// iterations=N`.
    pub fn next_commands_with(&self, values: &Values) -> Vec<String> {
        self.next_commands.iter().map(|command| values.fill_command(command)).collect()
    }
}

/// Who has to do something before going on makes sense.
///
/// `Prompt` is for what an agent can mend once it is told. `FixRequired` is for what stays broken
/// until somebody repairs it outside the loop: a key, a guard, a dirty tree. `Wait` is for what
/// passes by itself. All else is `ManualReview`: budgets, because only a person may raise them,
/// and also `completed`, because nothing is left to mend and somebody has to read the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// Ask the agent to fix it.
    Prompt,
    /// A person looks and decides.
    ManualReview,
    /// Something must be repaired first.
    FixRequired,
    /// Time solves it.
    Wait,
}

impl NextStep {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::ManualReview => "manual_review",
            Self::FixRequired => "fix_required",
            Self::Wait => "wait",
        }
    }
}

impl std::fmt::Display for NextStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_step_is_written_as_it_is_named() {
        for step in
            [NextStep::Prompt, NextStep::ManualReview, NextStep::FixRequired, NextStep::Wait]
        {
            let json = serde_json::to_value(step).unwrap();
            assert_eq!(json, step.as_str());
            assert_eq!(serde_json::from_value::<NextStep>(json).unwrap(), step);
        }
    }

    #[test]
    fn values_reach_diagnosis_and_commands() {
        let reason = ReasonCode::MaxIterations.reason();
        let values = Values::new()
            .with("run", "4K7Q")
            .with("value", 50)
            .with("threshold", 50)
            .with("raised", 100);
        assert!(reason.diagnosis_with(&values).contains("50 of 50 iterations"));
        assert!(
            reason
                .next_commands_with(&values)
                .contains(&"backstop resume 4K7Q --raise iterations=100".to_owned())
        );
        assert!(
            reason
                .next_commands_with(&Values::new())
                .contains(&"backstop resume RUN --raise iterations=N".to_owned())
        );
    }
}
