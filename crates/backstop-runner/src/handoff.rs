//! The hand-off: what an iteration that starts afresh is told in a file.

use std::fmt::Write as _;
use std::path::Path;

use backstop_core::event::RecoveryKind;
use backstop_core::facts::Facts;
use backstop_core::policy::WorkSettings;

use crate::git::Repository;
use crate::regular_file;
use crate::tree::Tree;

/// Everything that the hand-off tells of.
#[derive(Debug)]
pub struct HandOff<'a> {
    pub facts: &'a Facts,
    pub work: Option<&'a WorkSettings>,
    pub cwd: &'a Path,
    /// The first open box of the task list.
    pub open_task: Option<&'a str>,
    /// What the last review asked for.
    pub requests: &'a [String],
    /// The last commits, newest first.
    pub commits: Vec<String>,
}

impl HandOff<'_> {
    /// The file's text, in Markdown.
    pub fn text(&self) -> String {
        let mut text = String::from("# Hand-off\n");
        let handoff = self.facts.handoff();
        for (cause, words) in CAUSES {
            if handoff.is_for(cause) {
                let _ = write!(text, "\n{words}\n");
            }
        }
        let task = self.work.and_then(|work| work.task.as_ref()).map(|task| task.0.as_str());
        section(&mut text, "Current task", task.or(self.open_task));
        section(&mut text, "Acceptance criteria", self.criteria().as_deref());
        section(&mut text, "Not done yet", handoff.refusal());
        section(&mut text, "What the verification found", handoff.unverified());
        list(&mut text, "Notes from the operator", handoff.notes());
        list(
            &mut text,
            "Changes that the review asks for",
            self.requests.iter().map(String::as_str),
        );
        list(&mut text, "What was tried last", handoff.actions());
        if let Some(action) = handoff.repeated_action() {
            let _ = write!(text, "\n`{action}` was done again and again. Try another way.\n");
        }
        section(&mut text, "Last error", self.facts.last_error());
        let failed = self.facts.failed_tests();
        list(&mut text, "Failing tests", failed.iter().take(MOST_TESTS).map(String::as_str));
        if failed.len() > MOST_TESTS {
            let _ = writeln!(text, "- and {} more", failed.len() - MOST_TESTS);
        }
        list(&mut text, "Last commits", self.commits.iter().map(String::as_str));
        text
    }

    /// The part of the requirements that says when the work is good; else their beginning.
    fn criteria(&self) -> Option<String> {
        let path = self.work?.requirements.as_ref()?;
        let bytes = regular_file::read_up_to(&self.cwd.join(&path.0), LARGEST_FILE).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let part = criteria_in(&text).unwrap_or(&text);
        Some(part[..part.floor_char_boundary(LONGEST_CRITERIA)].trim().to_owned())
    }
}

/// The last three commits in a line each, newest first; none outside a repository.
pub async fn last_commits(cwd: &Path, tree: &Tree) -> Vec<String> {
    let Ok(Some(repository)) = Repository::find(cwd, tree).await else { return Vec::new() };
    let words = ["log", "-3", "--no-decorate", "--format=%h %s"];
    match repository.ask(tree, &words, &[]).await {
        Ok(log) => log.lines().map(str::to_owned).collect(),
        // A repository without commits has none to tell of.
        Err(_) => Vec::new(),
    }
}

/// The prompt with the hand-off after it, for programs that read standard input.
pub fn appended(prompt: &[u8], handoff: &str) -> Vec<u8> {
    let mut whole = prompt.to_vec();
    if !whole.is_empty() && !whole.ends_with(b"\n") {
        whole.push(b'\n');
    }
    if !whole.is_empty() {
        whole.push(b'\n');
    }
    whole.extend_from_slice(handoff.as_bytes());
    whole
}

fn section(text: &mut String, title: &str, body: Option<&str>) {
    if let Some(body) = body.map(str::trim).filter(|body| !body.is_empty()) {
        let _ = write!(text, "\n## {title}\n\n{body}\n");
    }
}

fn list<'a>(text: &mut String, title: &str, items: impl Iterator<Item = &'a str>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        let _ = write!(text, "\n## {title}\n\n");
        for item in items {
            let _ = writeln!(text, "- {}", item.replace('\n', "\n  "));
        }
    }
}

/// The section whose heading speaks of acceptance, up to the next heading of its level.
fn criteria_in(text: &str) -> Option<&str> {
    let mut section: Option<(usize, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        if level > 0 && line[level..].starts_with(' ') {
            let title = line[level..].to_lowercase();
            match section {
                Some((start, of)) if level <= of => return Some(&text[start..offset]),
                None if CRITERIA.iter().any(|word| title.contains(word)) => {
                    section = Some((offset + line.len(), level));
                }
                _ => {}
            }
        }
        offset += line.len();
    }
    section.map(|(start, _)| &text[start..])
}

const CRITERIA: [&str; 4] = ["acceptance", "criteria", "definition of done", "done when"];
const CAUSES: [(RecoveryKind, &str); 3] = [
    (RecoveryKind::Context, "The context of the last session was full. You start afresh."),
    (RecoveryKind::Stagnation, "Nothing came of the last attempts. Go about it in another way."),
    (RecoveryKind::Error, "Nothing came of the last attempts. You start afresh."),
];
const MOST_TESTS: usize = 20;
const LARGEST_FILE: u64 = 1 << 20;
const LONGEST_CRITERIA: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criteria_end_where_the_next_section_begins() {
        let text =
            "# Cache\nFast.\n## Acceptance criteria\n- hits\n### Limits\n- 1 GiB\n## Later\nx\n";
        assert_eq!(criteria_in(text), Some("- hits\n### Limits\n- 1 GiB\n"));
        assert_eq!(criteria_in("## Definition of Done\nall"), Some("all"));
        assert_eq!(criteria_in("#Acceptance\nno heading"), None);
    }

    #[test]
    fn a_prompt_keeps_its_end() {
        assert_eq!(appended(b"do it", "# Hand-off\n"), b"do it\n\n# Hand-off\n");
        assert_eq!(appended(b"do it\n", "x"), b"do it\n\nx");
        assert_eq!(appended(b"", "x"), b"x");
    }
}
