//! What tests say, run by run.

use std::io::{self, Read};

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
            .map_err(io::Error::from)
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
        let output = match summary.agent {
            Some(_) => behind_records(&mut log),
            None => {
                let mut output = Vec::new();
                log.read_to_end(&mut output).map(|_| output)
            }
        };
        if let Ok(output) = output
            && let Some(report) = report::recognise(&output, None)
        {
            self.tested(&report);
        }
    }
}

/// The lines behind the last record of an agent. What tests said before says nothing of its work,
/// and may be the prompt, which scripts like to print.
fn behind_records(output: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    let mut keep = |record: Record<'_>| {
        let line = match record {
            Record::Json(_) if Agent::of_first_record(&record).is_some() => return lines.clear(),
            // There are test runners that print records of their own.
            Record::Json(bytes) => bytes,
            Record::Text(line) => line.as_bytes(),
        };
        lines.extend_from_slice(line);
        lines.push(b'\n');
    };
    let mut framer = Framer::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match output.read(&mut piece)? {
            0 => break,
            length => framer.push(&piece[..length], &mut keep),
        }
    }
    framer.finish(&mut keep);
    Ok(lines)
}
