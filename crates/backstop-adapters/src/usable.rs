//! What a policy says about agents and tests that only their readers can judge.

use backstop_core::policy::{AgentName, Policy, VerifySettings};

use crate::JsonlMapping;
use crate::report::{Source, SourceError};

/// Why a policy can't be used, in words for its writer.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("`[verify] report`: {0}")]
    Report(#[from] SourceError),
    #[error("`[jsonl]`: {0}")]
    Mapping(#[from] serde_json::Error),
    #[error(
        "`agent = \"jsonl\"` needs a `[jsonl]` table that says where the figures are, such as \
         `input_tokens = \"usage.input\"`"
    )]
    NoMapping,
}

/// Whether everything in it can be read.
///
/// # Errors
/// The first thing that can't.
pub fn usable(policy: &Policy) -> Result<(), Unusable> {
    let settings = &policy.settings;
    let stages = settings.verify.iter().flat_map(VerifySettings::stages);
    for report in stages.filter_map(|stage| stage.report) {
        report.0.parse::<Source>()?;
    }
    if let Some(mapping) = &settings.jsonl {
        JsonlMapping::try_from(mapping)?;
    }
    let agent = settings.loop_.as_ref().and_then(|set| set.agent);
    if agent == Some(AgentName::Jsonl) && settings.jsonl.is_none() {
        return Err(Unusable::NoMapping);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("[verify]\ncommand = \"x\"\nreport = \"junti\"", Some("unknown report format `junti`"))]
    #[case(
        "[[verify.tiers]]\ncommand = \"x\"\nreport = \"tpa\"",
        Some("unknown report format `tpa`")
    )]
    #[case("[jsonl]\ntotals = true", Some("nothing is mapped"))]
    #[case("[jsonl]\ninput_tokens = \"a..b\"", Some("`[jsonl]`"))]
    #[case("[loop]\nagent = \"jsonl\"", Some("needs a `[jsonl]` table"))]
    #[case("[loop]\nagent = \"jsonl\"\n[jsonl]\ninput_tokens = \"usage.in\"", None)]
    fn what_cannot_be_read_is_refused(#[case] text: &str, #[case] problem: Option<&str>) {
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        let said = usable(&policy).err().map(|error| error.to_string());
        match (said, problem) {
            (Some(said), Some(problem)) => assert!(said.contains(problem), "{said}"),
            (said, problem) => assert_eq!(said.as_deref(), problem),
        }
    }
}
