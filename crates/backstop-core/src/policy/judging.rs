//! Who judges the work: the sections of verification, review and drift.

use std::time::Duration;

use super::settings::Settings;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Table, Value};
use crate::field::{Command, Count, Findings, Period, Text, choices, record};

record! {
    /// Commands that tell whether the work is good.
    pub struct VerifySettings {
        /// A string is run by `sh -c`, a list as it is. It runs after all tiers.
        optional command: Command,
        /// How long it may take; left out: 10m.
        optional timeout: Period,
        /// Where the test results are: `auto` or a format for the output (`libtest`, …), with
        /// `:PATH` for files (`auto:out/*`, `junit:PATH`, `ctrf:PATH`, …); left out: auto.
        optional report: Text,
        /// Commands that run before it, cheap ones first; the first that does not pass ends the
        /// verification.
        optional tiers: Vec<VerifyTier>,
    }
}

record! {
    /// One of several commands that verify the work.
    pub struct VerifyTier {
        /// How it is called in reports; left out: its command.
        optional name: Text,
        /// A string is run by `sh -c`, a list as it is.
        required command: Command,
        /// How long it may take; left out: the `timeout` of `[verify]`.
        optional timeout: Period,
        /// Where the test results are; left out: auto.
        optional report: Text,
    }
}

impl VerifySettings {
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

    /// All commands in the order in which they run, each with its time-out.
    pub fn stages(&self) -> Vec<VerifyTier> {
        let timeout = self.timeout.unwrap_or(Period(Self::DEFAULT_TIMEOUT));
        let tiers = self.tiers.iter().flatten().cloned();
        let last = self.command.clone().map(|command| VerifyTier {
            name: None,
            command,
            timeout: None,
            report: self.report.clone(),
        });
        let with_timeout =
            |tier: VerifyTier| VerifyTier { timeout: tier.timeout.or(Some(timeout)), ..tier };
        tiers.chain(last).map(with_timeout).collect()
    }

    /// Who names commands on the command line means all of them: those of a file do not run too.
    pub(crate) fn without_commands(self) -> Self {
        Self { command: None, tiers: None, ..self }
    }
}

impl VerifyTier {
    /// Its name, else its command.
    pub fn title(&self) -> String {
        match (&self.name, &self.command) {
            (Some(name), _) => name.0.clone(),
            (None, Command::Shell(line)) => line.trim().to_owned(),
            (None, Command::Program(words)) => words.join(" "),
        }
    }
}

record! {
    /// Who reviews the work.
    pub struct ReviewSettings {
        /// A command that prints what it thinks of the work.
        optional command: Command,
        /// A file under the working directory in which a reviewer says it.
        optional file: Text,
        /// How long the command may take; left out: 10m.
        optional timeout: Period,
        /// After so many reviews in a row that ask for the same the run stops; left out: 3.
        optional same_rounds: Count,
        /// After every iteration, or only when the work would be complete; left out: every.
        optional when: ReviewTime,
    }
}

/// When the work is reviewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewTime {
    #[default]
    Every,
    Complete,
}

choices! {
    ReviewTime {
        "every" => Every,
        "complete" => Complete,
    }
}

impl ReviewSettings {
    pub fn time_limit(&self) -> Duration {
        self.timeout.map_or(Duration::from_secs(600), |timeout| timeout.0)
    }

    pub fn most_same_rounds(&self) -> Count {
        self.same_rounds.unwrap_or(Count(3))
    }
}

record! {
    /// How it is measured how far the work has drifted from what was asked for.
    pub struct DriftSettings {
        /// A command that prints a number from 0 to 1; left out: the words are compared.
        optional command: Command,
        /// Measured after every so many iterations; left out: 1.
        optional every: Count,
        /// How long the command may take; left out: 1m.
        optional timeout: Period,
    }
}

impl DriftSettings {
    pub fn time_limit(&self) -> Duration {
        self.timeout.map_or(Duration::from_secs(60), |timeout| timeout.0)
    }
}

impl Settings {
    /// Whether there is anything to measure the drift by.
    pub fn measures_drift(&self) -> bool {
        self.drift.as_ref().is_some_and(|drift| drift.command.is_some())
            || self.work.as_ref().is_some_and(|work| work.requirements.is_some())
    }
}

/// Refuses sections that name nobody who could judge, and what is said of somebody who is not there.
/// It looks at what is written, so that it is told together with whatever else is wrong.
pub(super) fn refuse_without_judge(table: &Table, findings: &mut Findings) {
    if let Some(verify) = Section::of(table, "verify")
        && !verify.has("command")
    {
        let is_empty = |value: &Value| matches!(value, Value::List(items) if items.is_empty());
        if verify.value("tiers").is_none_or(is_empty) {
            verify.refuse(None, "`verify` needs `command` or `tiers`", findings);
        } else if verify.has("report") {
            verify.refuse(Some("report"), NO_COMMAND_REPORTS, findings);
        }
    }
    if let Some(review) = Section::of(table, "review") {
        if !review.has("command") && !review.has("file") {
            review.refuse(None, "`review` needs `command` or `file`", findings);
        } else if !review.has("command") && review.has("timeout") {
            review.refuse(Some("timeout"), NO_COMMAND_TIMED, findings);
        }
        if let Some(Value::String(path)) = review.value("file")
            && leaves(path)
        {
            review.refuse(Some("file"), FILE_OUTSIDE, findings);
        }
    }
    if let Some(drift) = Section::of(table, "drift")
        && !drift.has("command")
    {
        let asked_for = Section::of(table, "work").is_some_and(|work| work.has("requirements"));
        if !asked_for {
            drift.refuse(None, NOTHING_TO_COMPARE, findings);
        } else if drift.has("timeout") {
            drift.refuse(Some("timeout"), NO_COMMAND_TIMED, findings);
        }
    }
}

/// A section as it is written.
struct Section<'a> {
    table: &'a Table,
    span: &'a Span,
}

impl<'a> Section<'a> {
    fn of(policy: &'a Table, name: &str) -> Option<Self> {
        let node = &policy.get(name)?.node;
        match &node.value {
            Value::Table(table) => Some(Self { table, span: &node.span }),
            _ => None,
        }
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key).map(|entry| &entry.node.value).filter(|value| **value != Value::Null)
    }

    fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Underlines a key, or the whole section.
    fn refuse(&self, key: Option<&str>, why: &str, findings: &mut Findings) {
        let within = key.and_then(|key| self.table.get(key)).map(|entry| &entry.node.span);
        findings.push(Diagnostic::error(why, within.unwrap_or(self.span).clone()));
    }
}

/// Whether a path leads out of the directory that it starts in.
fn leaves(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|step| step == "..")
}

const NO_COMMAND_REPORTS: &str =
    "`report` is that of `command`, which is missing; each of `tiers` has its own";
const NO_COMMAND_TIMED: &str = "`timeout` is that of `command`, which is missing";
const FILE_OUTSIDE: &str = "`file` must lie under the working directory";
const NOTHING_TO_COMPARE: &str = "`drift` needs `command`, or `requirements` in `[work]`";

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::document::Syntax;
    use crate::policy::Policy;

    use super::*;

    fn load(text: &str) -> Result<Policy, Vec<Diagnostic>> {
        Policy::load(text.as_bytes(), Syntax::Toml).map(|loaded| loaded.policy)
    }

    #[rstest]
    #[case("[verify]\ntimeout = '1m'", "`verify` needs `command` or `tiers`", "[verify]")]
    #[case("[verify]\ntiers = []", "`verify` needs `command` or `tiers`", "[verify]")]
    #[case("[[verify.tiers]]\nname = 'lint'", "`tiers` needs `command`", "[[verify.tiers]]")]
    #[case("[review]\nsame_rounds = 2", "`review` needs `command` or `file`", "[review]")]
    #[case("[review]\nfile = 'R.md'\nsame_rounds = 0", "`same_rounds` must be at least 1", "0")]
    #[case("[review]\nfile = 'R.md'\nwhen = 'often'", "`when`", "'often'")]
    #[case(
        "[verify]\nreport = 'tap'\n[[verify.tiers]]\ncommand = 'x'",
        "`report` is that of",
        "'tap'"
    )]
    #[case("[review]\nfile = 'R.md'\ntimeout = '1s'", "`timeout` is that of", "'1s'")]
    #[case("[review]\nfile = 'a/../../R.md'", "`file` must lie under", "'a/")]
    #[case("[review]\nfile = '/R.md'", "`file` must lie under", "'/R")]
    #[case("[drift]\nevery = 2", "`drift` needs `command`, or `requirements`", "[drift]")]
    #[case("[work]\nrequirements = 'S'\n[drift]\ntimeout = '1s'", "`timeout` is that of", "'1s'")]
    #[case("[drift]\ncommand = 'd'\nevery = 0", "`every` must be at least 1", "0")]
    #[case("[drift]\ncommand = ['']", "`command` names no program", "''")]
    #[case("[drift]\ncommand = ''", "`command` must not be empty", "''")]
    #[case("[review]\ncommand = [' ', 'x']", "`command` names no program", "' '")]
    #[case("[verify]\ncommand = \"\\n\"", "`command` must not be empty", "\"")]
    #[case("[verify]\ntiers = [{ command = [''] }]", "`command` names no program", "''")]
    #[case("[notify]\ncommand = []", "`command` must not be empty", "[]")]
    #[case("[notify]\ncommand = ['', 'x']", "`command` names no program", "''")]
    fn what_could_judge_nothing_is_refused_at_its_place(
        #[case] text: &str,
        #[case] message: &str,
        #[case] place: &str,
    ) {
        let findings = load(text).unwrap_err();
        assert!(findings[0].message.contains(message), "{findings:?}");
        let span = findings[0].span.clone().unwrap();
        assert!(text[span.clone()].starts_with(place), "{:?}", &text[span]);
    }

    #[test]
    fn the_command_is_the_last_stage_and_gives_its_time_to_others() {
        let text = "[verify]\ncommand = ['make', 'e2e']\ntimeout = '1m'\nreport = 'tap'\n\
                    [[verify.tiers]]\nname = 'lint'\ncommand = ' ruff '\n\
                    [[verify.tiers]]\ncommand = ' pytest -q '\ntimeout = '5s'\nreport = 'junit:r.xml'\n";
        let stages = load(text).unwrap().settings.verify.unwrap().stages();
        let told: Vec<_> = stages
            .iter()
            .map(|stage| {
                let report = stage.report.as_ref().map(|report| report.0.as_str());
                (stage.title(), stage.timeout.unwrap().0.as_secs(), report)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("lint".to_owned(), 60, None),
                ("pytest -q".to_owned(), 5, Some("junit:r.xml")),
                ("make e2e".to_owned(), 60, Some("tap")),
            ]
        );
    }

    #[test]
    fn a_policy_with_tiers_can_be_written_and_read_again() {
        let text = "[verify]\n[[verify.tiers]]\nname = 'a'\ncommand = 'x'\n[review]\nfile = 'R'\n\
                    when = 'complete'\n[drift]\ncommand = 'd'\nevery = 2\n";
        let policy = load(text).unwrap();
        assert_eq!(load(&policy.to_toml()).unwrap().hash(), policy.hash());
    }
}
