//! What is done about failed jobs of pull requests on GitHub.

use serde_json::{Value as Json, json};

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::failure_class::{self, Class, OwnPatterns};
use crate::field::{Field, Findings, Text, record};

record! {
    /// What is done about failed jobs of pull requests.
    #[derive(Default)]
    pub struct GithubSettings {
        /// Whether failed jobs are run again where the decision allows it; left out: false.
        optional act: bool,
        /// Whether decisions are told in a comment on the pull request; left out: false.
        optional comment: bool,
        /// Patterns that sort failures, tried in this order and before those that are built in.
        optional class: Vec<ClassPattern>,
    }
}

impl GithubSettings {
    pub fn acts(&self) -> bool {
        self.act.unwrap_or(false)
    }

    pub fn comments(&self) -> bool {
        self.comment.unwrap_or(false)
    }

    /// The patterns, ready for use.
    ///
    /// # Errors
    /// Each is fine, but they are too large together.
    pub fn patterns(&self) -> Result<OwnPatterns, regex::Error> {
        let own = self.class.iter().flatten();
        OwnPatterns::new(own.map(|own| (own.pattern.0.as_str(), own.class)))
    }
}

record! {
    /// A pattern that sorts failures.
    pub struct ClassPattern {
        /// A regular expression that is looked for in the last part of a failed job's log.
        required pattern: LogPattern,
        /// What a failure with it is.
        required class: Class,
    }
}

/// A regular expression that is matched against logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPattern(pub String);

impl Field for LogPattern {
    fn read(node: &Node, key: &str, findings: &mut Findings) -> Option<Self> {
        let Text(text) = Text::read(node, key, findings)?;
        let refusal = match failure_class::set(&[&text]) {
            Ok(set) if set.is_match("") => {
                Diagnostic::error(format!("`{key}` is found in every log"), node.span.clone())
                    .label("it matches even where there is nothing")
            }
            Ok(_) => return Some(Self(text)),
            Err(regex::Error::CompiledTooBig(_)) => Diagnostic::error(
                format!("`{key}` is too large a regular expression"),
                node.span.clone(),
            )
            .label("it would take more than 8 MiB of memory"),
            Err(error) => {
                let message = error.to_string();
                let why = message.lines().last().unwrap_or_default().trim().to_owned();
                Diagnostic::error(format!("`{key}` is not a regular expression"), node.span.clone())
                    .label(why)
            }
        };
        findings.push(refusal);
        None
    }

    fn write(&self) -> Json {
        self.0.as_str().into()
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1, "format": "regex" })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::document::Syntax;
    use crate::policy::Policy;

    #[test]
    fn a_section_is_read_and_written() {
        let text = "preset = \"rerun\"\n[github]\nact = true\ncomment = true\n\
                    [[github.class]]\npattern = \"licen[cs]e server\"\nclass = \"infra transient\"\n";
        let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        let github = policy.settings.github.as_ref().unwrap();
        assert!(github.acts() && github.comments());
        let own = github.patterns().unwrap();
        assert_eq!(
            failure_class::classify("", "The LICENSE server is down", &own),
            Class::InfraTransient
        );
        let again = Policy::load(policy.to_toml().as_bytes(), Syntax::Toml).unwrap().policy;
        assert_eq!((again.hash(), again.settings), (policy.hash(), policy.settings));
    }

    #[rstest]
    #[case("pattern = \"(\"\nclass = \"unknown\"", "`pattern` is not a regular expression")]
    #[case("pattern = \"x*\"\nclass = \"unknown\"", "`pattern` is found in every log")]
    #[case("pattern = \"(x{1000}){1000}\"\nclass = \"unknown\"", "too large a regular expression")]
    #[case("pattern = \"x\"\nclass = \"lint eror\"", "unknown `class`: `lint eror`")]
    #[case("pattern = \"x\"", "needs `class`")]
    fn what_is_wrong_is_named(#[case] class: &str, #[case] message: &str) {
        let text = format!("[[github.class]]\n{class}\n");
        let findings = Policy::load(text.as_bytes(), Syntax::Toml).unwrap_err();
        assert!(findings.iter().any(|one| one.message.contains(message)), "{findings:?}");
    }
}
