//! The marks that JavaScript's runners put before a case.

use super::text::leading_number;
use super::{Format, Status};

/// Takes the mark from the beginning of a line.
pub(super) fn ticked(text: &str) -> Option<(Status, &str)> {
    MARKS.iter().find_map(|(status, marks)| {
        let rest = marks.iter().find_map(|mark| text.strip_prefix(mark))?;
        let rest = rest.strip_prefix(' ')?.trim();
        (!rest.is_empty()).then_some((*status, rest))
    })
}

/// Takes the pointer from the title of a block in which a case failed.
pub(super) fn pointed(text: &str) -> Option<&str> {
    ["❯", "Γ¥»", "ÔØ»", "â\u{9d}¯"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_prefix(' '))
}

/// Takes the duration from the end of a case's line: `adds numbers (5 ms)`, `adds numbers 5ms`.
pub(super) fn timed(text: &str) -> (&str, Option<f64>) {
    let parenthesised = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let seconds = |text: &str| {
        let is_time = text.ends_with('s') && text.starts_with(|first: char| first.is_ascii_digit());
        is_time.then(|| super::text::seconds(text)).flatten()
    };
    if let Some((name, time)) = parenthesised
        && let Some(time) = seconds(time)
    {
        return (name.trim_end(), Some(time));
    }
    match text.rsplit_once(' ') {
        Some((name, time)) if seconds(time).is_some() => (name.trim_end(), seconds(time)),
        _ => (text, None),
    }
}

/// Whose run ends with this line, of those that tell their cases by a mark or a number, indented. What
/// is told before it is nobody else's.
pub(super) fn ending(line: &str) -> Option<Format> {
    let text = line.trim_start();
    let counted = leading_number(text).map_or("", |(_, rest)| rest);
    if line.starts_with("Tests: ") && line.contains(" total") {
        Some(Format::Jest)
    } else if text.starts_with("Tests  ") && line.ends_with(')') {
        Some(Format::Vitest)
    } else if line.starts_with("ℹ duration_ms ") {
        Some(Format::Node)
    } else if line.starts_with("  ") && counted.starts_with(" passing (") {
        Some(Format::Mocha)
    } else if counted.starts_with(" example") && counted.contains(" failure") {
        Some(Format::Rspec)
    } else {
        None
    }
}

/// Takes from the end of a case's line how often it was tried again after a failure, and how often
/// it was to be repeated: `adds 5ms (retry x1) (repeat x2)`.
pub(super) fn retried(mut text: &str) -> (&str, u32) {
    let mut retries = 0;
    loop {
        let count = |word: &str| {
            let (rest, count) = text.strip_suffix(')')?.rsplit_once(word)?;
            Some((rest, count.parse::<u32>().ok()?))
        };
        if let Some((rest, count)) = count(" (retry x") {
            (text, retries) = (rest, count);
        } else if let Some((rest, _)) = count(" (repeat x") {
            text = rest;
        } else {
            return (text, retries);
        }
    }
}

/// Takes the bullet from jest's heading of a failed case.
pub(super) fn bulleted(text: &str) -> Option<&str> {
    ["●", "ΓùÅ", "ÔùÅ"].iter().find_map(|bullet| text.strip_prefix(bullet)?.strip_prefix(' '))
}

/// The parts of a name, between pointers to the right.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let pointer =
        [" › ", " ΓÇ║ ", " ÔÇ║ ", " â€º ", " > "].into_iter().find(|it| text.contains(it));
    match pointer {
        Some(pointer) => text.split(pointer).map(str::trim).collect(),
        None => vec![text.trim()],
    }
}

/// Each mark as it is, and as it looks when its bytes were taken for those of an old code page.
const MARKS: [(Status, &[&str]); 3] = [
    (
        Status::Passed,
        &["✓", "Γ£ô", "Ô£ô", "âœ“", "✔", "Γ£ö", "Ô£ö", "âœ”", "√", "ΓêÜ", "ÔêÜ", "âˆš"],
    ),
    (
        Status::Failed,
        &[
            "✕", "Γ£ò", "Ô£ò", "âœ•", "✗", "Γ£ù", "Ô£ù", "âœ—", "✘", "Γ£ÿ", "Ô£ÿ", "✖", "Γ£û",
            "Ô£û", "âœ–", "×", "├ù", "Ã—",
        ],
    ),
    (
        Status::Skipped,
        &[
            "○", "Γùï", "Ôùï", "â—‹", "↓", "Γåô", "Ôåô", "â†“", "✎", "Γ£Ä", "Ô£Ä", "âœŽ", "□",
            "Γûí", "Ôûí", "â–¡",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_known_garbled_too() {
        assert_eq!(ticked("✓ adds"), Some((Status::Passed, "adds")));
        assert_eq!(ticked("Γ£ô adds"), Some((Status::Passed, "adds")));
        assert_eq!(ticked("├ù divides"), Some((Status::Failed, "divides")));
        assert_eq!(ticked("□ todo"), Some((Status::Skipped, "todo")));
        assert_eq!(pointed("Γ¥» math (2)"), Some("math (2)"));
        assert_eq!(ticked("○ skipped waits"), Some((Status::Skipped, "skipped waits")));
        assert_eq!(ticked("x adds"), None);
        assert_eq!(ticked("✓"), None);
    }

    #[test]
    fn runs_end_with_their_figures() {
        for (line, format) in [
            ("Tests:       1 failed, 1 passed, 2 total", Some(Format::Jest)),
            ("      Tests  1 failed | 1 passed (2)", Some(Format::Vitest)),
            ("ℹ duration_ms 50.1", Some(Format::Node)),
            ("  12 passing (34ms)", Some(Format::Mocha)),
            ("2 examples, 1 failure", Some(Format::Rspec)),
            ("  passing (34ms)", None),
            ("Tests: they pass", None),
        ] {
            assert_eq!(ending(line), format, "{line}");
        }
    }

    #[test]
    fn attempts_are_no_part_of_a_name() {
        assert_eq!(retried("adds 5ms (retry x1)"), ("adds 5ms", 1));
        assert_eq!(retried("adds 5ms (retry x2) (repeat x3)"), ("adds 5ms", 2));
        assert_eq!(retried("adds (repeat x)"), ("adds (repeat x)", 0));
        assert_eq!(retried("adds (retry x1) twice"), ("adds (retry x1) twice", 0));
    }

    #[test]
    fn durations_are_no_part_of_a_name() {
        assert_eq!(timed("adds (5 ms)"), ("adds", Some(0.005)));
        assert_eq!(timed("adds 46ms"), ("adds", Some(0.046)));
        assert_eq!(timed("adds (all of them)"), ("adds (all of them)", None));
        assert_eq!(timed("adds 4 numbers"), ("adds 4 numbers", None));
    }
}
