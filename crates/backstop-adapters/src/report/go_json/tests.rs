use backstop_core::event::TestCounts;
use rstest::rstest;

use super::*;

fn report(text: &str) -> TestReport {
    read(text).expect("a report").report
}

fn counts(passed: u64, failed: u64) -> TestCounts {
    TestCounts { passed, failed, skipped: 0 }
}

/// What a test or a benchmark tells, from its start on.
fn told(test: &str, outputs: &[&str]) -> String {
    let run = format!(r#"{{"Action":"run","Package":"m","Test":"{test}"}}"#);
    let outputs = outputs.iter().map(|output| {
        format!(r#"{{"Action":"output","Package":"m","Test":"{test}","Output":"{output}"}}"#)
    });
    std::iter::once(run).chain(outputs).map(|line| line + "\n").collect()
}

const PASS: &str = "{\"Action\":\"pass\",\"Package\":\"m\",\"Elapsed\":1.2}\n";
const FAIL: &str = "{\"Action\":\"fail\",\"Package\":\"m\",\"Elapsed\":1.2}\n";

#[rstest]
#[case::in_one(&[r"BenchmarkA-8   \t 5000000\t  220 ns/op\n"])]
#[case::its_figures_later(&[r"BenchmarkA-8   \t", r" 5000000\t  220 ns/op\n"])]
#[case::in_three(&[r"BenchmarkA \t", r" 5000000", r"\t  220 ns/op\t 0 B/op\n"])]
#[case::hidden_by_what_it_printed(&[r"BenchmarkA-8 \thello\n", r" 5000000\t  220 ns/op\n"])]
#[case::nothing(&[])]
fn a_benchmark_that_ran_has_passed(#[case] outputs: &[&str]) {
    let report = report(&(told("BenchmarkA", outputs) + PASS));
    assert_eq!((report.counts(), report.broken.as_deref()), (counts(1, 0), None));
    assert_eq!(report.cases[0].name, "m.BenchmarkA");
}

#[test]
fn a_benchmark_of_several_is_only_what_they_are() {
    let parts = told("BenchmarkA", &[r"BenchmarkA\n"])
        + &told("BenchmarkA/x", &[r"BenchmarkA/x-8   \t", r" 5000000\t  220 ns/op\n"])
        + &told("BenchmarkA/y", &[]);
    let whole = report(&(parts.clone() + PASS));
    assert_eq!(
        whole.names(Status::Passed).collect::<Vec<_>>(),
        ["m.BenchmarkA/x", "m.BenchmarkA/y"]
    );
    assert_eq!((whole.counts(), whole.broken), (counts(2, 0), None));
    let failed = report(&(parts + FAIL));
    assert_eq!(failed.names(Status::Failed).collect::<Vec<_>>(), ["m.BenchmarkA/y"]);
    assert_eq!(failed.broken.as_deref(), Some("m.BenchmarkA/y did not finish"));
}

#[rstest]
#[case::the_package_failed("BenchmarkA", FAIL)]
#[case::cut_off("BenchmarkA", "")]
#[case::not_the_name_of_a_benchmark("Benchmarked", PASS)]
fn what_has_no_end_did_not_finish(#[case] test: &str, #[case] end: &str) {
    let report = report(&(told(test, &[]) + end));
    assert_eq!(report.counts(), counts(0, 1));
    assert!(report.broken.is_some());
}

#[rstest]
#[case("1e400", None)]
#[case("\"0.1\"", Some(0.1))]
#[case("null", None)]
fn a_time_that_makes_no_sense_does_not_lose_the_end(
    #[case] elapsed: &str,
    #[case] seconds: Option<f64>,
) {
    let end = format!(r#"{{"Action":"fail","Package":"m","Test":"TestA","Elapsed":{elapsed}}}"#);
    let report = report(&(told("TestA", &[]) + &end + "\n" + &FAIL.replace("1.2", elapsed)));
    assert_eq!((report.counts(), report.broken.as_deref()), (counts(0, 1), None));
    assert_eq!(report.cases[0].seconds, seconds);
}

#[test]
fn an_event_need_not_have_a_line_of_its_own() {
    let text = told("TestA", &[])
        + "stderr {\"Action\":\"output\",\"Package\":\"m\",\"Test\":\"TestA\",\"Output\":\"x\"}"
        + "{\"Action\":\"pass\",\"Package\":\"m\",\"Test\":\"TestA\"}\n";
    let report = report(&format!("{text}go: downloading x v1.0.0 {PASS}"));
    assert_eq!((report.counts(), report.broken.as_deref()), (counts(1, 0), None));
}
