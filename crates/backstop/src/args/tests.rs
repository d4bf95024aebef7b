//! Flags of `backstop tests`.

use backstop_adapters::report::Format;
use clap::Args;

/// Flags of `backstop tests`.
#[derive(Debug, Args)]
pub struct TestsArguments {
    /// Reports, or what a test runner printed; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The format, where it shall not be recognised: junit, libtest, pytest, go, tap, …
    #[arg(long, value_name = "NAME")]
    pub format: Option<Format>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub const TESTS_EXAMPLES: &str = "\
The format is recognised by the content. Several files are one test run.
Exits 0 if everything passed, 10 if a test failed, 65 for a file that is broken or no report.

Examples:
  backstop tests target/nextest/ci/junit.xml
  backstop tests build/test-results/*.xml --json
  pytest -v 2>&1 | backstop tests -
  go test -json ./... | backstop tests - --format go-json";
