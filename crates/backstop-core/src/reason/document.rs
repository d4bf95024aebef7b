//! The registry as a reference page. The same registry always gives the same text.

use std::fmt::Write as _;

use super::{Reason, all};

/// All reasons as one Markdown table, grouped by family, each linked to its page's heading.
pub fn markdown_table() -> String {
    let mut table = String::from(
        "| family | code | aliases | exit code | title | auto-resumable | next step |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for reason in all() {
        table.push_str(&row(reason));
    }
    table
}

/// The whole of `docs/reference/reasons.md`: the table, then every page.
pub fn reference() -> String {
    let mut text = format!("{HEADER}\n{}", markdown_table());
    for reason in all() {
        text.push('\n');
        text.push_str(&demoted(reason.page));
    }
    text
}

fn row(reason: &Reason) -> String {
    let aliases: Vec<String> = reason.aliases.iter().map(|alias| format!("`{alias}`")).collect();
    let mut row = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        row,
        "| {family} | [`{code}`](#{code}) | {aliases} | {exit_code} | {title} | {resumable} | \
         `{next_step}` |",
        family = reason.family,
        code = reason.code,
        aliases = aliases.join(", "),
        exit_code = reason.exit_code,
        title = reason.title,
        resumable = if reason.auto_resumable { "yes" } else { "no" },
        next_step = reason.next_step,
    );
    row
}

/// A page with each heading one level lower. A `#` inside a fence is a comment, not a heading.
fn demoted(page: &str) -> String {
    let mut inside_fence = false;
    let mut text = String::with_capacity(page.len() + 8);
    for line in page.lines() {
        if line.starts_with("```") {
            inside_fence = !inside_fence;
        }
        if line.starts_with('#') && !inside_fence {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

const HEADER: &str = "\
<!-- Generated from the registry by `cargo xtask generate`. Edit the pages in \
crates/backstop-core/src/reason/pages instead. -->

# Stop reasons

Every verdict other than `continue` carries one of these. `backstop` exits with the reason's exit \
code, so a script can tell why a run ended. Codes and aliases are accepted in any case. A policy \
may add reasons of its own with exit codes 60 to 63 and 79 to 99. The codes 64 to 78 are kept for \
faults of backstop itself.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_in_a_fence_is_no_heading() {
        assert_eq!(
            demoted("# one\n\n## two\n```toml policy\n# a comment\n```\n## three\n"),
            "## one\n\n### two\n```toml policy\n# a comment\n```\n### three\n"
        );
    }

    #[test]
    fn a_row_shows_every_column() {
        assert_eq!(
            row(crate::reason::ReasonCode::Stalled.reason()),
            "| resource_limit | [`stalled`](#stalled) | `stagnation`, `no_progress`, \
             `stalled_timeout` | 126 | Run stalled (no progress) | yes | `prompt` |\n"
        );
    }

    #[test]
    fn the_table_has_a_row_for_each_reason_and_the_reference_each_page() {
        assert_eq!(markdown_table().lines().count(), all().len() + 2);
        let text = reference();
        for reason in all() {
            assert_eq!(text.matches(&format!("\n## {}\n", reason.code)).count(), 1);
        }
        assert_eq!(text, reference());
    }
}
