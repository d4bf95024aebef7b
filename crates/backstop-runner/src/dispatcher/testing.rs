//! What tests say, run by run.

use backstop_adapters::report::{self, TestReport};
use backstop_adapters::{Agent, Framer, Record, TestHistory};
use backstop_core::facts::Watch;
use backstop_core::verdict::Verdict;

use super::Dispatcher;
use crate::capture::Summary;
use crate::capture::log::LogReader;
use crate::report::Remark;

impl Dispatcher {
    /// Takes in the results of a test run, and remembers what became of every test.
    pub(super) fn tested(&mut self, report: &TestReport) {
        let path = self.folder.test_history();
        let mut history: TestHistory = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        history.add(report);
        let written = serde_json::to_vec(&history)
            .map_err(std::io::Error::from)
            .and_then(|bytes| self.folder.write_whole(&path, &bytes));
        if let Err(error) = written {
            self.remark(&Remark::Warning(format!("can't keep what tests said: {error}")));
        }
        self.reported(report.event().into());
    }

    /// A run that goes on until tests pass, and never sees any, goes on for nothing.
    pub(super) fn warn_of_missing_tests(&mut self) {
        let policy = self.engine.policy();
        let waiting = policy.all_rules().find(|rule| {
            rule.then == Verdict::Complete && rule.when.watches().intersects(Watch::TESTS)
        });
        let Some(rule) = waiting else { return };
        if self.engine.facts().has_test_results() || self.tests_noted {
            return;
        }
        let how = match &policy.settings.verify {
            Some(_) => "say where they are with `[verify] report`",
            None => {
                "name a command that prints them with `--verify`, and where they are, if not in \
                 its output, with `[verify] report`"
            }
        };
        let warning =
            format!("no test results were seen, and `{}` waits for some: {how}", rule.name());
        self.tests_noted = true;
        self.remark(&Remark::Warning(warning));
    }

    /// Without a verification, the command itself may be what tests: then its output tells. An
    /// agent's words about tests are not read for results, and neither is what its tools print: of
    /// an agent that speaks in records, what comes behind them is the command's own.
    pub(super) fn look_for_test_results(&mut self, iteration: u64, summary: &Summary) {
        let policy = self.engine.policy();
        let is_wanted = policy.settings.verify.is_none()
            && (summary.agent.is_none() || summary.only_records)
            && policy.all_rules().any(|rule| rule.when.watches().intersects(Watch::TESTS));
        if !is_wanted {
            return;
        }
        let Ok(mut log) = LogReader::new(self.folder.output()).open(iteration) else { return };
        let mut output = Vec::new();
        let is_read = std::io::Read::read_to_end(&mut log, &mut output).is_ok();
        if summary.agent.is_some() {
            output = behind_records(&output);
        }
        if is_read && let Some(report) = report::recognise(&output, None) {
            self.tested(&report);
        }
    }
}

/// The lines behind the last record of an agent. What tests said before says nothing of its work,
/// and may be the prompt, which scripts like to print.
fn behind_records(output: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut keep = |record: Record<'_>| match record {
        Record::Text(line) => {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
        Record::Json(_) if Agent::of_first_record(&record).is_some() => lines.clear(),
        Record::Json(_) => {}
    };
    let mut framer = Framer::new();
    framer.push(output, &mut keep);
    framer.finish(&mut keep);
    lines
}
