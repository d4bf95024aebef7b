//! Where the results of a verification are: the policy's `report`.

use std::str::FromStr;

use super::format::UnknownFormat;
use super::{Format, Pattern, TestReport, recognise};

/// Where to find a test report.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the command's output, in whatever format it is.
    Auto,
    /// In files, in this format or in whatever they are; the path may hold wildcards.
    Files { path: String, format: Option<Format> },
    /// In the command's output, in this format.
    Output(Format),
    /// In the command's output, as a pattern says.
    Pattern(Pattern),
}

/// Why a `report` can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("no path after `{name}:`; write it like `{name}:target/report.xml`")]
    NoPath { name: String },
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    #[error("the pattern can't be used: {0}")]
    Pattern(String),
}

impl Source {
    /// The report in a command's output, or in one of the files, which are read elsewhere.
    pub fn read(&self, bytes: &[u8]) -> Option<TestReport> {
        match self {
            Self::Auto => recognise(bytes, None),
            Self::Files { format, .. } => recognise(bytes, *format),
            Self::Output(format) => recognise(bytes, Some(*format)),
            Self::Pattern(pattern) => pattern.read(bytes),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("regex:") {
            return Ok(Self::Pattern(pattern.parse()?));
        }
        let is_auto = |name: &str| name.eq_ignore_ascii_case("auto");
        if let Some((name, path)) = text.split_once(':') {
            let (name, path) = (name.trim(), path.trim());
            let format = if is_auto(name) { None } else { Some(name.parse()?) };
            return if path.is_empty() {
                Err(SourceError::NoPath { name: name.to_owned() })
            } else {
                Ok(Self::Files { path: path.to_owned(), format })
            };
        }
        if is_auto(text) {
            return Ok(Self::Auto);
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
        for (text, wanted, at) in [
            (" junit: out/*.xml ", Some(Format::Junit), "out/*.xml"),
            ("ctrf:out/*.json", Some(Format::Ctrf), "out/*.json"),
            ("go-json:go.out", Some(Format::GoJson), "go.out"),
            ("Auto:C:/out/*", None, "C:/out/*"),
        ] {
            match text.parse() {
                Ok(Source::Files { path, format }) => {
                    assert_eq!((path.as_str(), format), (at, wanted))
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        // Every format that is read can be read from files.
        for format in Format::readable() {
            let parsed = format!("{format}:a").parse();
            assert!(matches!(parsed, Ok(Source::Files { format: Some(it), .. }) if it == format));
        }
        assert!(matches!("junit".parse(), Ok(Source::Output(Format::Junit))));
        assert!(matches!("tap".parse(), Ok(Source::Output(Format::Tap))));
        assert!(matches!(r"regex:(?<passed>\d+) ok".parse(), Ok(Source::Pattern(_))));
    }

    #[rstest]
    #[case("junit:", "no path after `junit:`; write it like `junit:target/report.xml`")]
    #[case("auto: ", "no path after `auto:`; write it like `auto:target/report.xml`")]
    #[case("ctf:a.json", "unknown report format `ctf`; did you mean `ctrf`?")]
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
