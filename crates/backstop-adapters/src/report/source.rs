//! Where the results of a verification are: the policy's `report`.

use std::str::FromStr;

use super::format::UnknownFormat;
use super::{Format, Pattern, TestReport, recognise};

/// Where to find a test report.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the command's output, in whatever format it is.
    Auto,
    /// In JUnit files; the path may hold wildcards.
    JunitFiles(String),
    /// In the command's output, in this format.
    Output(Format),
    /// In the command's output, as a pattern says.
    Pattern(Pattern),
}

/// Why a `report` can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("no path after `junit:`; write it like `junit:target/junit.xml`")]
    NoPath,
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    #[error("the pattern can't be used: {0}")]
    Pattern(String),
}

impl Source {
    /// The report in a command's output; files are read elsewhere.
    pub fn read(&self, bytes: &[u8]) -> Option<TestReport> {
        match self {
            Self::Auto => recognise(bytes, None),
            Self::JunitFiles(_) => recognise(bytes, Some(Format::Junit)),
            Self::Output(format) => recognise(bytes, Some(*format)),
            Self::Pattern(pattern) => pattern.read(bytes),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        if let Some(path) = text.strip_prefix("junit:") {
            let path = path.trim();
            return if path.is_empty() {
                Err(SourceError::NoPath)
            } else {
                Ok(Self::JunitFiles(path.to_owned()))
            };
        }
        if let Some(pattern) = text.strip_prefix("regex:") {
            return Ok(Self::Pattern(pattern.parse()?));
        }
        Ok(Self::Output(text.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_form_is_read() {
        assert!(matches!("auto".parse(), Ok(Source::Auto)));
        assert!(
            matches!(" junit: out/*.xml ".parse(), Ok(Source::JunitFiles(path)) if path == "out/*.xml")
        );
        assert!(matches!("junit".parse(), Ok(Source::Output(Format::Junit))));
        assert!(matches!("tap".parse(), Ok(Source::Output(Format::Tap))));
        assert!(matches!(r"regex:(?<passed>\d+) ok".parse(), Ok(Source::Pattern(_))));
    }

    #[rstest]
    #[case("junit:", "no path after `junit:`; write it like `junit:target/junit.xml`")]
    #[case("libtst", "unknown report format `libtst`; did you mean `libtest`?")]
    #[case("regex:(", "the pattern can't be used: unclosed group")]
    #[case(
        "regex:ok",
        "the pattern can't be used: it names none of the groups `passed`, `failed`, `skipped`, or `name` with `status`"
    )]
    fn what_can_not_be_used_is_refused(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<Source>().expect_err("refused").to_string(), expected);
    }
}
