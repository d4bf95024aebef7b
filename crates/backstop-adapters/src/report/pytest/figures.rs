//! The last line of a session: `1 failed, 104 passed, 7 skipped in 8.45s`.

use backstop_core::event::TestCounts;

use crate::report::text::{leading_number, seconds};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub counts: TestCounts,
    /// There was nothing to run, or tests were only collected.
    pub ran_nothing: bool,
    /// Between signs, as one ends that also says how it begins. The others are quiet.
    pub is_ruled: bool,
    /// Plugins have given some tests results of their own.
    pub has_others: bool,
}

impl Figures {
    pub fn read(line: &str) -> Option<Self> {
        // One that is indented is quoted.
        if line.starts_with([' ', '\t']) {
            return None;
        }
        let is_ruled = line.starts_with('=');
        let line = line.trim_matches(['=', ' ']);
        let (figures, time) = line.rsplit_once(" in ")?;
        let time = time.split_once(" (").map_or(time, |(time, _)| time);
        seconds(time).filter(|_| time.ends_with('s'))?;
        let mut read = Self { is_ruled, ..Self::default() };
        let mut has_result = false;
        let mut has_warned = false;
        for figure in figures.split(", ") {
            if figure == "no tests ran" || is_collected(figure) {
                read.ran_nothing = true;
                has_result = true;
                continue;
            }
            let (count, word) = leading_number(figure)?;
            let counts = &mut read.counts;
            let counted = match word.strip_prefix(' ')? {
                "passed" | "xpassed" => &mut counts.passed,
                "failed" | "error" | "errors" => &mut counts.failed,
                "skipped" | "xfailed" => &mut counts.skipped,
                "deselected" | "warning" | "warnings" | "pytest-warnings" | "rerun" | "reruns"
                | "retried" | "subtests passed" | "subtests failed" | "snapshots passed" => {
                    has_result |= word == " deselected";
                    has_warned |= word.contains("warning");
                    continue;
                }
                // Plugins add figures of their own.
                _ if is_ruled => {
                    read.has_others = true;
                    continue;
                }
                _ => return None,
            };
            *counted = counted.saturating_add(count);
            has_result = true;
        }
        // Others count their warnings, too, but not between such signs.
        if !has_result && has_warned && is_ruled {
            read.ran_nothing = true;
            has_result = true;
        }
        has_result.then_some(read)
    }

    /// How many tests came to a result.
    pub fn all(&self) -> u64 {
        let TestCounts { passed, failed, skipped } = self.counts;
        passed.saturating_add(failed).saturating_add(skipped)
    }
}

/// `2 tests collected`, `1/2 tests collected (1 deselected)`, `no tests collected (2 deselected)`.
fn is_collected(figure: &str) -> bool {
    let figure = match figure.split_once(" (") {
        Some((figure, rest)) if rest.ends_with(" deselected)") => figure,
        _ => figure,
    };
    let count =
        figure.strip_suffix(" tests collected").or_else(|| figure.strip_suffix(" test collected"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    count.is_some_and(|count| count == "no" || count.split('/').all(is_number))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("=== 1 failed, 104 passed, 7 skipped, 5 xfailed, 2 xpassed, 3 errors, 6 warnings in 8.45s ===", Some((106, 4, 12)))]
    #[case("1 passed in 0.01s", Some((1, 0, 0)))]
    #[case("== 2 passed, 1 warning in 65.12s (0:01:05) ==", Some((2, 0, 0)))]
    #[case("===== 3 passed in 0.12 seconds =====", Some((3, 0, 0)))]
    #[case("no tests ran in 0.01s", Some((0, 0, 0)))]
    #[case("=== 2 tests collected in 0.00s ===", Some((0, 0, 0)))]
    #[case("1 test collected in 0.00s", Some((0, 0, 0)))]
    #[case("== 1/2 tests collected (1 deselected) in 0.01s ==", Some((0, 0, 0)))]
    #[case("== no tests collected (2 deselected) in 0.01s ==", Some((0, 0, 0)))]
    #[case("== 2 tests collected, 1 error in 0.07s ==", Some((0, 1, 0)))]
    #[case("== 1 warning in 0.01s ==", Some((0, 0, 0)))]
    #[case("=== 1 failed, 10 passed, 2 pytest-warnings in 0.51 seconds ===", Some((10, 1, 0)))]
    #[case("=== 1 passed, 1 snapshot updated in 0.02s ===", Some((1, 0, 0)))]
    #[case("1 passed, 1 snapshot updated in 0.02s", None)]
    #[case("=== 1 snapshot updated in 0.02s ===", None)]
    #[case("=== 1 passed, and more in 0.02s ===", None)]
    #[case("many tests collected in 0.01s", None)]
    #[case("5 passed yesterday in Berlin", None)]
    #[case("we had 5 passed, and it took place in 3s", None)]
    #[case("6 warnings in 1.0s", None)]
    #[case("    5 passed in 0.10s", None)]
    #[case("\t== 5 passed in 0.10s ==", None)]
    fn the_last_line_is_read(#[case] line: &str, #[case] expected: Option<(u64, u64, u64)>) {
        let counts = Figures::read(line).map(|figures| figures.counts);
        assert_eq!(counts.map(|counts| (counts.passed, counts.failed, counts.skipped)), expected);
    }
}
