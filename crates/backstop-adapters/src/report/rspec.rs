//! What RSpec prints, as text and as JSON.

mod documentation;
mod failures;

use backstop_core::event::TestCounts;
use documentation::Documentation;
use failures::Failures;
use serde::Deserialize;

use super::jest_json::documents;
use super::recognise::Found;
use super::runs::Runs;
use super::text::{leading_number, lines};
use super::{Case, Format, Status, TestReport, lenient};

pub(super) fn read(text: &str) -> Option<Found> {
    let mut report = TestReport::new(Format::Rspec);
    let mut totals: Option<TestCounts> = None;
    // The figures alone are all that is left where somebody kept the last line only.
    let mut has_time = text.trim().lines().count() == 1;
    let mut told = Documentation::default();
    let mut failures = Failures::default();
    // Every example is named then, and one that fails must not be called otherwise than before.
    let mut is_documented = false;
    let mut is_interrupted = false;
    let mut timed_at = 0;
    let mut runs = Runs::default();
    let mut at = 0;
    for line in lines(text) {
        told.line(line.text);
        failures.line(line.text);
        if SHUTTING_DOWN.iter().any(|words| line.text.starts_with(words)) {
            is_interrupted = true;
        } else if line.text.starts_with("Finished in ") {
            has_time = true;
            timed_at = line.begin;
        } else if let Some(figures) = Figures::read(line.text).filter(|_| has_time) {
            has_time = false;
            at = line.end;
            let stopped = std::mem::take(&mut is_interrupted).then(|| INTERRUPTED.to_owned());
            let broken = stopped.or_else(|| figures.broken());
            runs.push(timed_at..at, figures.counts.failed, broken.as_deref());
            let totals = totals.get_or_insert_default();
            totals.passed = totals.passed.saturating_add(figures.counts.passed);
            totals.failed = totals.failed.saturating_add(figures.counts.failed);
            totals.skipped = totals.skipped.saturating_add(figures.counts.skipped);
            let examples = told.examples(figures.counts);
            is_documented = !examples.is_empty();
            for case in examples {
                let has_failed = case.status == Status::Failed;
                let said = if has_failed { failures.next_of(&case.name) } else { None };
                report.push(case.saying(said.as_deref()));
            }
            if let Some(broken) = broken {
                report.mark_broken(broken);
            }
        } else if let Some(failed) = line.text.strip_prefix("rspec ") {
            // `rspec ./spec/sum_spec.rb:12 # Sum adds`; the number changes with every edit above.
            if let Some((place, title)) = failed.split_once(" # ")
                && !is_documented
            {
                // Quoted for the shell, where a bracket stands in it.
                let place = place.trim_matches('\'');
                let file = place.split([':', '[']).next().unwrap_or(place);
                let case = Case::new(&format!("{file} > {title}"), Status::Failed);
                report.push(case.saying(failures.next_of(title).as_deref()));
            }
        }
    }
    report.settle(totals?);
    Some(Found { report, at, runs })
}

pub(super) fn read_json(text: &str) -> Option<Found> {
    let whole = ["\"examples\"", "\"summary_line\""];
    // The figures come last, so one that is cut off has none.
    let cut_off = ["\"version\"", "\"examples\"", "\"full_description\""];
    documents(text, Format::RspecJson, &whole, Root::tell).or_else(|| {
        documents(text, Format::RspecJson, &cut_off, |root: Root, report| {
            report.broken.is_some() && root.tell(report)
        })
    })
}

impl Root {
    fn tell(self, report: &mut TestReport) -> bool {
        let Some(examples) = self.examples else { return false };
        examples.into_iter().for_each(|example| report.push(example.case()));
        // Older versions have the figure in the line alone.
        let line = self.summary_line.as_deref().and_then(Figures::read);
        let in_line = line.map_or(0, |figures| figures.errors_outside);
        let errors = self.summary.errors_outside_of_examples_count.unwrap_or(0.0);
        if errors > 0.0 || in_line > 0 {
            let errors = if errors > 0.0 { errors.to_string() } else { in_line.to_string() };
            report.mark_broken(format!("{errors} errors occurred outside of examples"));
        }
        true
    }
}

/// `5 examples, 1 failure, 1 pending, 2 errors occurred outside of examples`.
struct Figures {
    counts: TestCounts,
    errors_outside: u64,
}

impl Figures {
    fn broken(&self) -> Option<String> {
        let errors = self.errors_outside;
        (errors > 0).then(|| format!("{errors} errors occurred outside of examples"))
    }

    fn read(line: &str) -> Option<Self> {
        let mut figures = line.trim().split(", ");
        let (examples, word) = leading_number(figures.next()?)?;
        if !matches!(word, " examples" | " example") {
            return None;
        }
        let mut read = Self { counts: TestCounts::default(), errors_outside: 0 };
        let mut has_failures = false;
        for figure in figures {
            let (count, word) = leading_number(figure)?;
            match word {
                " failure" | " failures" => {
                    read.counts.failed = count;
                    has_failures = true;
                }
                " pending" => read.counts.skipped = count,
                _ if word.contains("outside of examples") => read.errors_outside = count,
                _ => return None,
            }
        }
        let counts = &mut read.counts;
        counts.passed = examples.saturating_sub(counts.failed).saturating_sub(counts.skipped);
        has_failures.then_some(read)
    }
}

#[derive(Deserialize)]
struct Root {
    #[serde(default)]
    examples: Option<Vec<Example>>,
    #[serde(default, deserialize_with = "lenient::text")]
    summary_line: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    summary: Summary,
}

#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default, deserialize_with = "lenient::number")]
    errors_outside_of_examples_count: Option<f64>,
}

#[derive(Deserialize)]
struct Example {
    #[serde(default, deserialize_with = "lenient::text")]
    full_description: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    file_path: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient::number")]
    run_time: Option<f64>,
    #[serde(default, deserialize_with = "lenient::text")]
    pending_message: Option<String>,
    #[serde(default)]
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(default, deserialize_with = "lenient::text")]
    message: Option<String>,
}

impl Example {
    fn case(self) -> Case {
        let file = self.file_path.unwrap_or_default();
        let title = self.full_description.unwrap_or_default();
        let name = if file.is_empty() { title } else { format!("{file} > {title}") };
        let status = match self.status.as_deref() {
            Some("passed") => Status::Passed,
            Some("failed") => Status::Failed,
            _ => Status::Skipped,
        };
        let said = self.exception.and_then(|exception| exception.message).or(self.pending_message);
        Case::new(&name, status).saying(said.as_deref()).taking(self.run_time)
    }
}

/// What is said to who interrupts a run, now and in older versions. The figures follow.
const SHUTTING_DOWN: [&str; 2] = ["RSpec is shutting down", "Exiting... Interrupt again"];

const INTERRUPTED: &str = "the run was interrupted";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_interrupted_is_no_proof() {
        let figures =
            "Finished in 1.2 seconds (files took 0.1 seconds to load)\n2 examples, 0 failures\n";
        for said in [
            "RSpec is shutting down and will print the summary report... Interrupt again to force quit",
            "Exiting... Interrupt again to exit immediately.",
        ] {
            let text = format!("..^C\n{said}\n\n\n{figures}");
            let report = read(&text).expect("a report").report;
            assert_eq!(report.broken.as_deref(), Some("the run was interrupted"));
            assert_eq!(report.counts().passed, 2);
        }
        assert_eq!(read(&format!("..\n\n{figures}")).expect("a report").report.broken, None);
    }

    #[test]
    fn text_has_figures_and_names_what_failed() {
        let text = "..F*\n\nFinished in 0.01 seconds (files took 0.2 seconds to load)\n\
                    4 examples, 1 failure, 1 pending\n\nFailed examples:\n\n\
                    rspec ./spec/sum_spec.rb:12 # Sum adds\n";
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 1 });
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["./spec/sum_spec.rb > Sum adds"]
        );
    }

    #[test]
    fn places_may_be_quoted() {
        let text = "Finished in 1 minute 2.3 seconds\n1 example, 1 failure\n\n\
                    rspec './spec/a_spec.rb[1:2:1]' # A is good\n";
        let report = read(text).expect("a report").report;
        assert_eq!(
            report.names(Status::Failed).collect::<Vec<_>>(),
            ["./spec/a_spec.rb > A is good"]
        );
    }

    #[test]
    fn the_last_line_is_enough_if_it_is_all() {
        let report = read("3 examples, 1 failure\n").expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 2, failed: 1, skipped: 0 });
        assert!(read("It said:\n3 examples, 1 failure\n").is_none());
        assert!(read("3 examples, 1 failure is what it says\n").is_none());
        assert!(read("3 examples, and all are good\n").is_none());
    }

    #[test]
    fn documentation_names_what_passed() {
        let text = "\
Calculator
  adds
  divides (FAILED - 1)
  waits (PENDING: Not yet implemented)
  #pow
    squares

Other
  works

Pending: (Failures listed here are expected and do not affect your suite's status)

  1) Calculator waits
     # Not yet implemented

Failures:

  1) Calculator divides
     Failure/Error: expect(1).to eq 2

Finished in 0.01 seconds (files took 0.1 seconds to load)
5 examples, 1 failure, 1 pending

Failed examples:

rspec ./spec/calc_spec.rb:7 # Calculator divides
";
        let report = read(text).expect("a report").report;
        let names = |report: &TestReport, status| -> Vec<String> {
            report.names(status).map(str::to_owned).collect()
        };
        assert_eq!(
            names(&report, Status::Passed),
            ["Calculator adds", "Calculator#pow squares", "Other works"]
        );
        assert_eq!(names(&report, Status::Skipped), ["Calculator waits"]);
        assert_eq!(names(&report, Status::Failed), ["Calculator divides"]);
        assert_eq!(report.last_error(), Some("Failure/Error: expect(1).to eq 2"));
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 1 });
        // Something else between the lines: nobody knows which of them are examples.
        let mixed = text.replace("  adds\n", "  adds\n  a word of the test's own\n");
        let report = read(&mixed).expect("a report").report;
        assert_eq!(names(&report, Status::Passed), Vec::<String>::new());
        assert_eq!(names(&report, Status::Failed), ["./spec/calc_spec.rb > Calculator divides"]);
        assert_eq!(report.last_error(), Some("Failure/Error: expect(1).to eq 2"));
        assert_eq!(report.counts(), TestCounts { passed: 3, failed: 1, skipped: 1 });
    }

    #[test]
    fn json_names_every_example() {
        let text = r#"{"version":"3.13","examples":[
            {"full_description":"Sum adds","file_path":"./spec/sum_spec.rb","status":"passed","run_time":0.1},
            {"full_description":"Sum carries","file_path":"./spec/sum_spec.rb","status":"failed",
             "exception":{"class":"X","message":"\nexpected: 1"}},
            {"full_description":"Sum waits","status":"pending","pending_message":"later"}],
            "summary":{"example_count":3},"summary_line":"3 examples, 1 failure, 1 pending, 1 error occurred outside of examples"}"#;
        let report = read_json(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(report.last_error(), Some("expected: 1"));
        assert!(report.broken.is_some());
    }

    #[test]
    fn errors_outside_of_examples_break_the_report_wherever_they_are_told() {
        let text = |summary: &str| {
            format!(
                r#"{{"examples":[{{"full_description":"a","status":"passed"}}],"summary":{summary},
                "summary_line":"1 example, 0 failures"}}"#
            )
        };
        let read = |summary| read_json(&text(summary)).expect("a report").report;
        let report = read(r#"{"example_count":1,"errors_outside_of_examples_count":1}"#);
        assert_eq!(report.broken.as_deref(), Some("1 errors occurred outside of examples"));
        assert_eq!(read(r#"{"errors_outside_of_examples_count":0}"#).broken, None);
        assert_eq!(read("null").broken, None);
    }

    #[test]
    fn json_that_is_cut_off_shows_what_is_whole() {
        let whole = r#"{"version":"3.13.0","examples":[
            {"full_description":"Sum adds","status":"passed","file_path":"./a_spec.rb"},
            {"full_description":"Sum carries","status":"failed","file_path":"./a_spec.rb","exception":"#;
        let report = read_json(whole).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(report.broken.as_deref(), Some("the JSON is cut off"));
        let other = format!("{whole}null}}]}}");
        assert!(read_json(&other).is_none(), "whole, but without figures");
    }
}
