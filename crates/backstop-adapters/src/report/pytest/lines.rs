//! What single lines say, each for itself.

use crate::report::{Case, Status};

/// The words between the signs of `==== FAILURES ====`.
pub(super) fn heading(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("==")?.strip_suffix("==")?;
    Some(inside.trim_matches(['=', ' ']))
}

/// Whether a session says that it was stopped: `!!!! KeyboardInterrupt !!!!`. One that stops at so
/// many failures comes to the end that was asked for.
pub(super) fn is_interruption(line: &str) -> bool {
    is_stop(line) && !line.contains(" stopping after ")
}

/// What a test, or who sat at the debugger, said when leaving:
/// `!!!! _pytest.outcomes.Exit: enough !!!!`.
pub(super) fn exit(line: &str) -> Option<&str> {
    let words = line.trim_matches(['!', ' ']);
    let raised = words.split([':', ' ']).next().unwrap_or(words);
    let is_exit = raised == "KeyboardInterrupt" || raised.ends_with(".Exit") || raised == "Exit";
    (is_exit && is_stop(line)).then_some(words)
}

/// Whether a session says why it goes no further. Such a line is ruled at both ends; what a test
/// prints may begin like one.
pub(super) fn is_stop(line: &str) -> bool {
    line.starts_with("!!!") && line.trim_end().ends_with("!!!") && line.contains(' ')
}

/// Why a session did not even begin.
pub(super) fn refusal(line: &str) -> Option<&str> {
    let is_usage = line.starts_with("ERROR: usage: ") && line.contains(" [file_or_dir] ");
    let is_import = line.starts_with("ImportError while loading conftest '");
    is_usage.then_some("its arguments can't be used").or_else(|| is_import.then_some(line))
}

/// The file in `____ ERROR collecting test_a.py ____`.
pub(super) fn uncollected(line: &str) -> Option<&str> {
    line.strip_prefix('_')?.trim_matches(['_', ' ']).strip_prefix("ERROR collecting ")
}

/// `FAILED path::name - what went wrong`, from the short summary.
pub(super) fn summary_case(line: &str) -> Option<Case> {
    // `SUBFAILED[message] (i=1) path::name - what went wrong`.
    if let Some(rest) = line.strip_prefix("SUBFAILED") {
        let (named, message) = split_message(rest);
        let (part, name) = named.rsplit_once(' ')?;
        return Some(Case::new(&part_name(name, part), Status::Failed).saying(message));
    }
    let (word, rest) = line.split_once(' ')?;
    let status = match word {
        // Until version 3.
        "FAIL" => Status::Failed,
        word => status(word)?,
    };
    // Skipped tests are told by their place, several at once.
    if word == "SKIPPED" && rest.starts_with('[') {
        return None;
    }
    let (name, message) = split_message(rest);
    (!name.is_empty()).then(|| Case::new(name, status).saying(message))
}

/// `path::name PASSED [ 10%]`, or with several workers `[gw0] [ 10%] PASSED path::name`.
pub(super) fn verbose_case(line: &str) -> Option<Case> {
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.split_once("%] ")?;
        let (word, name) = rest.split_once(' ')?;
        return Some(Case::new(name, status(word)?));
    }
    if !line.contains("::") || line.starts_with(' ') {
        return None;
    }
    if let Some((name, part)) = line.split_once(" SUBFAILED") {
        return Some(Case::new(&part_name(name, without_progress(part)), Status::Failed));
    }
    let words = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
    words.into_iter().find_map(|word| {
        let (name, rest) = line.rsplit_once(word)?;
        let name = name.strip_suffix(' ')?.trim_end();
        let rest = rest.trim();
        let is_end = rest.is_empty() || rest.starts_with('[') || rest.starts_with('(');
        let is_name = name.contains("::") && (name.contains('[') || !name.contains(' '));
        (is_end && is_name).then(|| {
            let reason = rest.strip_prefix('(').and_then(|rest| rest.rsplit_once(')'));
            status(word)
                .map(|status| Case::new(name, status).saying(reason.map(|(reason, _)| reason)))
        })?
    })
}

/// The line without ` [ 10%]` at its end, which is left away with `-s`.
fn without_progress(line: &str) -> &str {
    let progress = line.rsplit_once(" [").filter(|(_, progress)| {
        let percent = progress.strip_suffix("%]").map(str::trim_start);
        percent.is_some_and(|percent| percent.parse::<u8>().is_ok())
    });
    progress.map_or(line, |(line, _)| line)
}

/// Whether a line is `path.py::name` and nothing else.
pub(super) fn is_test_name(line: &str) -> bool {
    let name = line.trim_end();
    name.contains(".py::") && (name.ends_with(']') || !name.contains(' ')) && !line.starts_with(' ')
}

/// The name in `path::name RERUN [ 10%]`, or with several workers `[gw0] [ 10%] RERUN path::name`.
/// The plugin that repeats what failed says so before each further attempt.
pub(super) fn rerun(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("[gw") {
        return rest.split_once("%] RERUN ").map(|(_, name)| name.trim_end());
    }
    let (name, rest) = line.rsplit_once(" RERUN")?;
    let rest = rest.trim();
    let is_end = rest.is_empty() || rest.starts_with('[');
    (is_end && !line.starts_with(' ') && name.contains("::")).then(|| name.trim_end())
}

/// `path.py::name and what the test printed without an endPASSED`, with `-s`.
pub(super) fn hidden_case(line: &str) -> Option<Case> {
    let (name, rest) = line.split_once(' ')?;
    let words = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
    let word = words.into_iter().find(|word| rest.ends_with(word))?;
    name.contains(".py::").then(|| status(word).map(|status| Case::new(name, status)))?
}

/// The name of a part of a test. Only those that failed are counted among the cases.
fn part_name(test: &str, part: &str) -> String {
    format!("{} {}", test.trim(), part.trim())
}

pub(super) fn status(word: &str) -> Option<Status> {
    Some(match word {
        "PASSED" | "XPASS" => Status::Passed,
        "FAILED" | "ERROR" => Status::Failed,
        "SKIPPED" | "XFAIL" => Status::Skipped,
        _ => return None,
    })
}

/// Parts a name from what was said of it. Parameters may hold the sign that parts them.
fn split_message(text: &str) -> (&str, Option<&str>) {
    let begin = match (text.find('['), text.find("] - ")) {
        (Some(open), Some(close)) if open < close && !text[..open].contains(" - ") => close + 1,
        (Some(open), None) if text.ends_with(']') && !text[..open].contains(" - ") => text.len(),
        _ => 0,
    };
    match text[begin..].find(" - ") {
        Some(at) => (text[..begin + at].trim(), Some(&text[begin + at + 3..])),
        None => (text.trim(), None),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("t.py::test_p[x - y]", ("t.py::test_p[x - y]", None))]
    #[case("t.py::test_p[x - y] - boom", ("t.py::test_p[x - y]", Some("boom")))]
    #[case("t.py::test_p[x] - a - b", ("t.py::test_p[x]", Some("a - b")))]
    #[case("t.py::test_a - assert [1 - 2]", ("t.py::test_a", Some("assert [1 - 2]")))]
    #[case("t.py::test_a", ("t.py::test_a", None))]
    fn a_message_is_parted_from_its_name(
        #[case] text: &str,
        #[case] expected: (&str, Option<&str>),
    ) {
        assert_eq!(split_message(text), expected);
    }
}
