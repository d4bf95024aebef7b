//! Reasons that a policy declares for itself, in `[[reason]]`.

use serde::{Deserialize, Serialize};

use super::{Family, ReasonCode, Values, find};

/// A reason of a policy's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomReason {
    pub code: String,
    pub title: String,
    pub exit_code: u8,
    pub diagnosis: String,
}

impl CustomReason {
    /// Whether it can stand beside the built-in reasons; else the first thing that is wrong.
    pub fn check(&self) -> Result<(), Problem> {
        if !is_lower_snake_case(&self.code) {
            return Err(Problem::CodeSpelling { code: self.code.clone() });
        }
        if let Some(built_in) = find(&self.code) {
            return Err(Problem::CodeTaken { code: self.code.clone(), built_in });
        }
        if self.title.trim().is_empty() {
            return Err(Problem::TitleMissing { code: self.code.clone() });
        }
        if SYSEXITS.contains(&self.exit_code) {
            return Err(Problem::ExitCodeReserved { exit_code: self.exit_code });
        }
        if !Family::Custom.contains(self.exit_code) {
            return Err(Problem::ExitCodeOutOfRange { exit_code: self.exit_code });
        }
        Ok(())
    }

    /// The diagnosis with a run's own values in it.
    pub fn diagnosis_with(&self, values: &Values) -> String {
        values.fill_prose(&self.diagnosis)
    }
}

/// Why a policy's own reason is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("reason code `{code}` must be lower_snake_case: letters a to z, digits and `_`")]
    CodeSpelling { code: String },
    #[error("reason code `{code}` is built in{}", as_alias(.code, *.built_in))]
    CodeTaken { code: String, built_in: ReasonCode },
    #[error("reason `{code}` needs a title")]
    TitleMissing { code: String },
    #[error(
        "exit code {exit_code} is reserved: 64 to 78 are the sysexits codes, which tell that \
         backstop itself failed; use 60 to 63 or 79 to 99"
    )]
    ExitCodeReserved { exit_code: u8 },
    #[error(
        "exit code {exit_code} is not free for a reason of one's own; use 60 to 63 or 79 to 99"
    )]
    ExitCodeOutOfRange { exit_code: u8 },
}

impl Problem {
    /// The key of `[[reason]]` that holds the mistake, so that a document can point at it.
    pub fn key(&self) -> &'static str {
        match self {
            Self::CodeSpelling { .. } | Self::CodeTaken { .. } => "code",
            Self::TitleMissing { .. } => "title",
            Self::ExitCodeReserved { .. } | Self::ExitCodeOutOfRange { .. } => "exit_code",
        }
    }
}

fn is_lower_snake_case(code: &str) -> bool {
    code.starts_with(|letter: char| letter.is_ascii_lowercase())
        && code.split('_').all(|word| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

fn as_alias(code: &str, built_in: ReasonCode) -> String {
    if code == built_in.as_str() {
        String::new()
    } else {
        format!(", as another name of `{built_in}`")
    }
}

const SYSEXITS: std::ops::RangeInclusive<u8> = 64..=78;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn reason(code: &str, exit_code: u8) -> CustomReason {
        CustomReason {
            code: code.to_owned(),
            title: "The owner said no".to_owned(),
            exit_code,
            diagnosis: "Ask again after {iterations} iterations.".to_owned(),
        }
    }

    #[rstest]
    #[case(0, false)]
    #[case(1, false)]
    #[case(59, false)]
    #[case(60, true)]
    #[case(63, true)]
    #[case(64, false)]
    #[case(78, false)]
    #[case(79, true)]
    #[case(99, true)]
    #[case(100, false)]
    #[case(125, false)]
    #[case(255, false)]
    fn exit_code_must_be_free(#[case] exit_code: u8, #[case] allowed: bool) {
        let answer = reason("budget_owner_said_no", exit_code).check();
        assert_eq!(answer.is_ok(), allowed);
        if let Err(problem) = answer {
            assert_eq!(problem.key(), "exit_code");
            assert_eq!(
                problem.to_string().contains("sysexits"),
                (64..=78).contains(&exit_code),
                "{problem}"
            );
        }
    }

    #[rstest]
    #[case("owner_said_no", true)]
    #[case("no2", true)]
    #[case("step_2", true)]
    #[case("", false)]
    #[case("_no", false)]
    #[case("no_", false)]
    #[case("no__no", false)]
    #[case("2_no", false)]
    #[case("No", false)]
    #[case("said-no", false)]
    #[case("said no", false)]
    #[case("né", false)]
    fn code_must_be_lower_snake_case(#[case] code: &str, #[case] allowed: bool) {
        let answer = reason(code, 61).check();
        assert_eq!(answer.is_ok(), allowed, "{answer:?}");
        assert!(answer.err().is_none_or(|problem| problem.key() == "code"));
    }

    #[test]
    fn built_in_codes_and_aliases_are_taken() {
        assert_eq!(
            reason("timeout", 61).check().unwrap_err().to_string(),
            "reason code `timeout` is built in"
        );
        assert_eq!(
            reason("max_ticks", 61).check().unwrap_err().to_string(),
            "reason code `max_ticks` is built in, as another name of `max_iterations`"
        );
    }

    #[test]
    fn a_title_is_needed() {
        let untitled = CustomReason { title: " ".to_owned(), ..reason("said_no", 61) };
        assert_eq!(untitled.check().unwrap_err().key(), "title");
    }

    #[test]
    fn values_are_filled_in() {
        assert_eq!(
            reason("said_no", 61).diagnosis_with(&Values::new().with("iterations", 3)),
            "Ask again after 3 iterations."
        );
    }
}
