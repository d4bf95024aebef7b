//! Task lists: the check boxes of Markdown files.

use std::io;
use std::path::PathBuf;

use backstop_core::event::{Phase, Tasks};

use crate::regular_file;

/// Markdown files with check boxes, taken together.
#[derive(Debug)]
pub(super) struct TaskLists {
    files: Vec<PathBuf>,
    told: Option<Tasks>,
    current: Option<String>,
    has_warned: bool,
}

impl TaskLists {
    pub(super) fn new(files: impl Iterator<Item = PathBuf>) -> Self {
        Self { files: files.collect(), told: None, current: None, has_warned: false }
    }

    /// The list as it is now, if it is not what was last told; also says once what can't be read.
    /// A list that isn't there, or has no boxes yet, is not an empty list of tasks.
    pub(super) async fn look(&mut self) -> (Option<Tasks>, Option<String>) {
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut boxes = Boxes::default();
            let mut trouble = None;
            for path in files {
                match regular_file::read_up_to(&path, LARGEST_LIST) {
                    Ok(bytes) => boxes.add(&String::from_utf8_lossy(&bytes)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        let path = path.display();
                        trouble = Some(format!("the task list `{path}` can't be read: {error}"));
                    }
                }
            }
            (boxes, trouble)
        });
        let Ok((boxes, trouble)) = read.await else { return (None, None) };
        let trouble = trouble.filter(|_| !std::mem::replace(&mut self.has_warned, true));
        self.current = boxes.first_open.clone().or_else(|| boxes.first_improvement.clone());
        let Some(tasks) = boxes.tasks() else { return (None, trouble) };
        if self.told.as_ref() == Some(&tasks) {
            return (None, trouble);
        }
        self.told = Some(tasks.clone());
        (Some(tasks), trouble)
    }

    pub(super) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }
}

/// The check boxes of some texts.
#[derive(Debug, Default, PartialEq)]
struct Boxes {
    total: u64,
    done: u64,
    first_open: Option<String>,
    /// Boxes under a heading that names improvements.
    improvements: u64,
    open_improvements: u64,
    first_improvement: Option<String>,
}

impl Boxes {
    /// The tasks that these are; none where there are none. When all primary ones are done, the
    /// improvements are what is worked on.
    fn tasks(&self) -> Option<Tasks> {
        let improves = self.improvements > 0;
        let phase = match improves && self.done == self.total {
            true => Phase::Improvement,
            false => Phase::Primary,
        };
        (self.total + self.improvements > 0).then(|| Tasks {
            total: self.total,
            done: self.done,
            queued: self.total - self.done,
            phase,
            improvements: improves.then_some(self.open_improvements),
        })
    }

    fn add(&mut self, text: &str) {
        let mut fence: Option<Fence<'_>> = None;
        // The level of the heading under which improvements stand.
        let mut improvements: Option<usize> = None;
        for line in text.lines() {
            let line = unquoted(line);
            if let Some(open) = &fence {
                if open.is_closed_by(line) {
                    fence = None;
                }
            } else if let Some(opened) = Fence::opened_by(line) {
                fence = Some(opened);
            } else if let Some((level, title)) = heading(line) {
                if title.to_lowercase().contains("improvement") {
                    improvements = Some(level);
                } else if improvements.is_some_and(|above| level <= above) {
                    improvements = None;
                }
            } else if let Some((is_done, text)) = check_box(line) {
                if improvements.is_some() {
                    self.improvements += 1;
                    if !is_done {
                        self.open_improvements += 1;
                        self.first_improvement.get_or_insert_with(|| text.to_owned());
                    }
                    continue;
                }
                self.total += 1;
                if is_done {
                    self.done += 1;
                } else {
                    self.first_open.get_or_insert_with(|| text.to_owned());
                }
            }
        }
    }
}

/// The marks around a block of code.
struct Fence<'a>(&'a str);

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        // A block of code may be all that a list item has.
        let line = item(line).unwrap_or(line);
        ['`', '~'].into_iter().find_map(|mark| {
            let rest = line.trim_start_matches(mark);
            let marks = &line[..line.len() - rest.len()];
            (marks.len() >= 3 && (mark == '~' || !rest.contains('`'))).then_some(Self(marks))
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        line.strip_prefix(self.0)
            .is_some_and(|rest| rest.trim().chars().all(|mark| self.0.starts_with(mark)))
    }
}

/// A line without its indentation and its marks of quotation.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches(|character: char| character == '>' || character.is_whitespace())
}

/// The level of a heading, and what it says.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with([' ', '\t'])).then(|| (level, title.trim()))
}

/// What stands behind the mark of a list item.
fn item(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
            let digits = line.len() - rest.len();
            if digits == 0 || digits > 9 {
                return None;
            }
            rest.strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// Whether a line's box is ticked, and what it says.
fn check_box(line: &str) -> Option<(bool, &str)> {
    let inside = item(line)?.strip_prefix('[')?;
    let (is_done, rest) = match inside.split_at_checked(1)? {
        (" ", rest) => (false, rest),
        ("x" | "X", rest) => (true, rest),
        _ => return None,
    };
    let text = rest.strip_prefix(']')?;
    // `[x](link)` is a link.
    (text.is_empty() || text.starts_with([' ', '\t'])).then(|| (is_done, text.trim()))
}

/// A list that people tick by hand is far smaller.
const LARGEST_LIST: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(text: &str) -> (u64, u64, Option<String>) {
        let mut boxes = Boxes::default();
        boxes.add(text);
        (boxes.total, boxes.done, boxes.first_open)
    }

    #[test]
    fn boxes_are_found_in_every_kind_of_list() {
        let text = "# Plan\n- [x] a\n* [X] b\n+ [ ] c **bold**\n1. [ ] d\n2) [x] e\n    - [ ] nested\n\
                    > - [x] quoted\n- [ ]\n";
        assert_eq!(boxes(text), (8, 4, Some("c **bold**".to_owned())));
    }

    #[test]
    fn boxes_below_a_heading_that_names_them_are_improvements() {
        let tasks = |text: &str| {
            let mut boxes = Boxes::default();
            boxes.add(text);
            boxes.tasks().map(|tasks| {
                let phase = tasks.phase == Phase::Improvement;
                (tasks.total, tasks.done, tasks.queued, phase, tasks.improvements)
            })
        };
        assert_eq!(tasks("# Plan\n"), None);
        assert_eq!(tasks("- [x] a\n- [ ] b\n"), Some((2, 1, 1, false, None)));
        let plan = "# Plan\n- [x] a\n## Possible improvements\n- [ ] b\n### Later\n- [x] c\n\
                    ## Rest\n- [ ] d\n";
        assert_eq!(tasks(plan), Some((2, 1, 1, false, Some(1))));
        let done = plan.replace("[ ] d", "[x] d");
        assert_eq!(tasks(&done), Some((2, 2, 0, true, Some(1))));
        assert_eq!(tasks(&done.replace("[ ]", "[x]")), Some((2, 2, 0, true, Some(0))));
        assert_eq!(tasks("#improvements\n- [ ] a\n"), Some((1, 0, 1, false, None)));
        assert_eq!(tasks("```\n# Improvements\n```\n- [ ] a\n"), Some((1, 0, 1, false, None)));
    }

    #[test]
    fn what_only_looks_like_a_box_is_none() {
        for text in [
            "[ ] no list",
            "-[ ] no space",
            "- [y] else",
            "- [x](link)",
            "- [] empty",
            "- [xx] b",
            "-",
            "- [",
            "1 [ ] a",
            "1234567890. [ ] a",
            "- [é] a",
            "text - [ ] a",
        ] {
            assert_eq!(boxes(text).0, 0, "{text}");
        }
    }

    #[test]
    fn boxes_in_code_do_not_count() {
        let text = "```md\n- [ ] a\n~~~\n- [ ] b\n``` not the end\n- [ ] c\n````\n- [x] real\n\
                    ~~~~\n~~~\n- [ ] d\n~~~~\n- ```\n  - [ ] e\n  ```\n`` - [ ] no fence\n\
                    ```a`b\n- [x] real\n```\n- [ ] f, open to the end\n";
        assert_eq!(boxes(text), (2, 2, None));
    }
}
