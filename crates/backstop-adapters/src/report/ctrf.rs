//! CTRF: one JSON object for a whole run.

use serde::Deserialize;

use super::jest_json::documents;
use super::origin::Origin;
use super::recognise::Found;
use super::{Case, Format, Status, TestReport, lenient};
use crate::lenient::Lenient;

pub(super) fn read(text: &str) -> Option<Found> {
    // Reports from before the format had a name are known by what every one of them has.
    let old = ["\"results\"", "\"tool\"", "\"summary\"", "\"tests\""];
    let new = ["\"reportFormat\"", "\"results\""];
    documents(text, Format::Ctrf, &new, tell).or_else(|| documents(text, Format::Ctrf, &old, tell))
}

/// Reads what somebody says is a report of this format, though little in it does.
pub(super) fn read_given(text: &str) -> Option<Found> {
    let marks = ["\"results\"", "\"tests\""];
    documents(text, Format::Ctrf, &marks, |root: Root, report| {
        let Some(results) = root.results else { return false };
        results.tell(report);
        true
    })
}

fn tell(root: Root, report: &mut TestReport) -> bool {
    let is_named = root.report_format.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("ctrf"));
    let Some(results) = root
        .results
        .filter(|results| is_named || (results.tool.is_some() && results.summary.is_some()))
    else {
        return false;
    };
    results.tell(report);
    true
}

#[derive(Deserialize)]
struct Root {
    #[serde(rename = "reportFormat", default, deserialize_with = "lenient::text")]
    report_format: Option<String>,
    #[serde(default)]
    results: Option<Results>,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    tool: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    summary: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    tests: Vec<Lenient<Test>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default, deserialize_with = "lenient::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    /// In milliseconds.
    #[serde(default, deserialize_with = "lenient::number")]
    duration: Option<f64>,
    #[serde(default, deserialize_with = "lenient::text")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    trace: Option<String>,
    #[serde(default, deserialize_with = "lenient::number")]
    retries: Option<f64>,
    #[serde(default, deserialize_with = "lenient::truth")]
    flaky: bool,
    /// A string in older reports, a list in newer ones.
    #[serde(default)]
    suite: serde_json::Value,
    #[serde(default, deserialize_with = "lenient::text")]
    file_path: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    browser: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    device: Option<String>,
}

impl Results {
    fn tell(self, report: &mut TestReport) {
        for test in self.tests.into_iter().filter_map(|test| test.0) {
            test.tell(report);
        }
    }
}

impl Test {
    fn tell(self, report: &mut TestReport) {
        let suite = match &self.suite {
            serde_json::Value::String(suite) => suite.clone(),
            serde_json::Value::Array(parts) => {
                let parts: Vec<_> = parts.iter().filter_map(|part| part.as_str()).collect();
                parts.join(" > ")
            }
            _ => String::new(),
        };
        let origin =
            Origin::default().within((&suite, &self.file_path, &self.browser, &self.device));
        let name = self.name.unwrap_or_default();
        let group = if suite.is_empty() { self.file_path.unwrap_or_default() } else { suite };
        let name = if group.is_empty() { name } else { format!("{group} > {name}") };
        let told = self.status.unwrap_or_default();
        let status = match told.to_ascii_lowercase().as_str() {
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            // The last is something that only its runner understands: it did not fail.
            "skipped" | "pending" | "other" => Status::Skipped,
            _ => {
                report.mark_broken(format!("`{name}` has the unknown status `{told}`"));
                Status::Skipped
            }
        };
        let retries = self.retries.unwrap_or(0.0).clamp(0.0, 1e6);
        report.push(Case {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to what fits"
            )]
            attempts: retries as u32 + 1,
            flaky: self.flaky,
            ..Case::new(&name, status)
                .from(origin)
                .saying(self.message.as_deref().or(self.trace.as_deref()))
                .taking(self.duration.map(|duration| duration / 1000.0))
        });
    }
}

#[cfg(test)]
mod tests {
    use backstop_core::event::TestCounts;
    use rstest::rstest;

    use super::*;

    #[test]
    fn cases_are_counted_and_totals_are_not() {
        let text = r#"{"reportFormat":"CTRF","results":{"tool":{"name":"x"},
            "summary":{"tests":99,"passed":99,"failed":0},
            "tests":[{"name":"a","status":"passed","duration":1500,"flaky":true,"retries":2},
                     {"name":"b","status":"failed","message":"boom","suite":["S","T"]},
                     {"name":"c","status":"pending","suite":"S"}]}}"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["S > T > b"]);
        assert_eq!((report.cases[0].seconds, report.cases[0].attempts), (Some(1.5), 3));
    }

    #[test]
    fn older_reports_do_not_name_their_format() {
        let text = r#"{"results":{"tool":{"name":"jest"},"summary":{"tests":2},
            "tests":[{"name":"a","status":"passed"},{"name":"b","status":"failed"}]}}"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        let bare = r#"{"results":{"tests":[{"name":"a","status":"passed"}]},"tool":1,"summary":2}"#;
        assert!(read(bare).is_none());
        assert!(read_given(bare).expect("a report").report.succeeded());
    }

    #[test]
    fn a_document_that_is_cut_off_is_broken() {
        let text =
            r#"{"reportFormat":"CTRF","results":{"tool":{"name":"x"},"summary":{},"tests":[{"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.broken.as_deref(), Some("the JSON is cut off"));
    }

    #[test]
    fn what_is_cut_off_shows_what_is_whole() {
        let text = r#"{"reportFormat":"CTRF","results":{"tests":[
            {"name":"a","status":"passed"},{"name":"b","status":"failed"},{"na"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.names(Status::Failed).collect::<Vec<_>>(), ["b"]);
        assert_eq!(report.broken.as_deref(), Some("the JSON is cut off"));
    }

    #[test]
    fn one_part_that_makes_no_sense_does_not_lose_the_others() {
        let text = r#"{"reportFormat":"CTRF","results":{"tests":[null,5,
            {"name":"a \ud83d","status":"passed","duration":1e400,"retries":"2","flaky":"yes"},
            {"name":"b","status":"failed","duration":2000}]}}"#;
        let report = read(text).expect("a report").report;
        assert_eq!(report.counts(), TestCounts { passed: 1, failed: 1, skipped: 0 });
        let told: Vec<_> = report.cases.iter().map(|case| (case.seconds, case.attempts)).collect();
        assert_eq!(told, [(None, 3), (Some(2.0), 1)]);
    }

    #[rstest]
    #[case("\"Passed\"", Status::Passed, None)]
    #[case("\"FAILED\"", Status::Failed, None)]
    #[case("\"other\"", Status::Skipped, None)]
    #[case("\"timedOut\"", Status::Skipped, Some("`a` has the unknown status `timedOut`"))]
    #[case("1", Status::Skipped, Some("`a` has the unknown status ``"))]
    fn a_status_that_is_not_known_is_no_success(
        #[case] told: &str,
        #[case] status: Status,
        #[case] broken: Option<&str>,
    ) {
        let text = format!(
            r#"{{"reportFormat":"CTRF","results":{{"tests":[{{"name":"a","status":{told}}}]}}}}"#
        );
        let report = read(&text).expect("a report").report;
        assert_eq!((report.cases[0].status, report.broken.as_deref()), (status, broken));
    }

    #[rstest]
    #[case::browser(r#""browser":"chromium""#, r#""browser":"firefox""#, 1)]
    #[case::device(r#""device":"phone""#, r#""device":"tablet""#, 1)]
    #[case::suite(r#""suite":"one""#, r#""suite":"two""#, 1)]
    #[case::file(r#""suite":"s","filePath":"a.ts""#, r#""suite":"s","filePath":"b.ts""#, 1)]
    #[case::the_same(
        r#""suite":"s","filePath":"a.ts","browser":"b""#,
        r#""suite":"s","filePath":"a.ts","browser":"b""#,
        0
    )]
    fn the_same_name_elsewhere_is_no_other_attempt(
        #[case] first: &str,
        #[case] second: &str,
        #[case] failed: u64,
    ) {
        let text = format!(
            r#"{{"reportFormat":"CTRF","results":{{"tests":[
            {{"name":"a","status":"failed",{first}}},{{"name":"a","status":"passed",{second}}}]}}}}"#
        );
        let report = read(&text).expect("a report").report;
        assert_eq!(report.counts_at_last().failed, failed);
    }
}
