//! Conditions on what tests say.

use super::budgets::raise_count;
use super::kind::Kind;
use super::measure::{Measure, Scene, share};
use super::output::value_span;
use super::words::{counted, quoted};
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::event::LimitValue;
use crate::facts::{Streak, Streaks, Watch};
use crate::field::{Count, Findings, SetOf, Text, record};
use crate::reason::ReasonCode;

record! {
    /// Test runs in a row that had a failure.
    pub struct TestFailureStreak {
        /// How many.
        required count: Count,
    }
}

impl Kind for TestFailureStreak {
    const TYPE: &'static str = "test_failure_streak";
    const EXAMPLE: &'static str = r#"{ type = "test_failure_streak", count = 5 }"#;
    const PROGRESS: &'static str = "test runs / `count`";
    const PRIORITY: i32 = 70;
    const WATCHES: Watch = Watch::TESTS;
    const STREAKS: Streaks = Streaks::of(Streak::TestFailures);

    fn describe(&self) -> String {
        format!("after {} with a failure in a row", counted(self.count.0, "test run", "test runs"))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        Measure::count(scene.facts.tests.failure_streak, self.count.0)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let streak = scene.facts.tests.failure_streak;
        if measure.truth.is_met() {
            format!("{} in a row had failures", counted(streak, "test run", "test runs"))
        } else {
            format!("{streak}/{} failures", self.count.0)
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::TestFailureStreak
    }

    fn raise(&mut self, value: LimitValue) {
        raise_count(&mut self.count, value);
    }
}

record! {
    /// The last test run has at least one pass and no failure.
    pub struct AllTestsPass {}
}

impl Kind for AllTestsPass {
    const TYPE: &'static str = "all_tests_pass";
    const EXAMPLE: &'static str = r#"{ type = "all_tests_pass" }"#;
    const PROGRESS: &'static str = "passed / (passed + failed)";
    const PRIORITY: i32 = 60;
    const WATCHES: Watch = Watch::TESTS;

    fn describe(&self) -> String {
        "when all tests pass".to_owned()
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 tests")]
    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let counts = scene.facts.tests.counts;
        let total = counts.passed.saturating_add(counts.failed);
        let met = counts.passed > 0 && counts.failed == 0;
        Measure {
            progress: if total == 0 { 0.0 } else { share(counts.passed as f64, total as f64) },
            value: Some(counts.passed as f64),
            threshold: Some(total as f64),
            ..Measure::plain(met)
        }
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let counts = scene.facts.tests.counts;
        match counts.passed.saturating_add(counts.failed) {
            0 => "No tests have run".to_owned(),
            1 if measure.truth.is_met() => "The only test passes".to_owned(),
            total if measure.truth.is_met() => {
                format!("All {} pass", counted(total, "test", "tests"))
            }
            total => format!("{}/{} tests pass", counts.passed, total),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}

record! {
    /// Each of these tests passed in the last test run.
    pub struct SpecificTestsPass {
        /// The tests' names.
        required tests: SetOf<Text>,
    }
}

impl SpecificTestsPass {
    fn missing<'a>(&'a self, scene: &'a Scene<'_>) -> impl Iterator<Item = &'a str> {
        self.tests
            .0
            .iter()
            .map(|test| test.0.as_str())
            .filter(|test| !scene.facts.tests.has_passed(test))
    }
}

impl Kind for SpecificTestsPass {
    const TYPE: &'static str = "specific_tests_pass";
    const EXAMPLE: &'static str =
        r#"{ type = "specific_tests_pass", tests = ["login", "logout"] }"#;
    const PROGRESS: &'static str = "those that passed / all named";
    const PRIORITY: i32 = 60;
    const WATCHES: Watch = Watch::TESTS;

    fn prepare(&mut self, node: &Node, findings: &mut Findings) {
        if self.tests.0.is_empty() {
            findings.push(
                Diagnostic::error("`tests` must name at least one test", value_span(node, "tests"))
                    .label("with none it would be met at once"),
            );
        }
    }

    fn describe(&self) -> String {
        match self.tests.0.as_slice() {
            [test] => format!("when the test {} passes", quoted(&test.0)),
            tests => format!("when {} named tests pass", tests.len()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 tests")]
    fn measure(&self, scene: &Scene<'_>) -> Measure {
        let total = self.tests.0.len();
        let passed = total - self.missing(scene).count();
        Measure::figures(passed == total, passed as f64, total as f64)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let total = self.tests.0.len();
        if measure.truth.is_met() {
            return format!("All {total} named tests pass");
        }
        let missing: Vec<_> = self.missing(scene).collect();
        let named = missing.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let more = if missing.len() > 3 {
            format!(" and {} more", missing.len() - 3)
        } else {
            String::new()
        };
        format!("{}/{total} named tests pass, missing: {named}{more}", total - missing.len())
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }
}
