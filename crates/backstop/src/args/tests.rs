//! Flags of `backstop tests`.

use backstop_adapters::report::Source;
use clap::Args;

/// Flags of `backstop tests`.
#[derive(Debug, Args)]
pub struct TestsArguments {
    /// Reports, or what a test runner printed; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The format, where it shall not be recognised: junit, libtest, pytest, go, tap, … or a pattern
    /// of one's own, as in `[verify] report`: regex:…
    #[arg(long, value_name = "NAME", default_value = "auto", hide_default_value = true, value_parser = format)]
    pub format: Source,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A policy's `report` may name files, too; here they are the arguments.
fn format(text: &str) -> Result<Source, String> {
    match text.parse() {
        Ok(Source::Files { .. }) => Err("a format is named without a path".to_owned()),
        Ok(source) => Ok(source),
        Err(error) => Err(error.to_string()),
    }
}

pub const TESTS_EXAMPLES: &str = "\
The format is recognised by the content. Several files are one test run. Exits 0
if everything passed, 10 if a test failed, 65 for a file that is broken or no
report.

Examples:
  backstop tests target/nextest/ci/junit.xml
  backstop tests build/test-results/*.xml --json
  pytest -v 2>&1 | backstop tests -
  go test -json ./... | backstop tests - --format go-json
  make check | backstop tests - --format 'regex:(?<passed>\\d+) ok, (?<failed>\\d+) bad'";
