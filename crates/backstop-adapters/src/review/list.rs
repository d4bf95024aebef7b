//! Lists in Markdown: what is asked for, item by item.

/// The items of a list, each with all its lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Items(pub(super) Vec<String>);

impl Items {
    /// The open items of all lists in some lines; those with a ticked box are done.
    pub(super) fn of<L: AsRef<str>>(lines: &[L]) -> Self {
        let mut items = Vec::new();
        let mut fence: Option<Fence> = None;
        let mut open: Option<Open> = None;
        let mut after_gap = false;
        for line in lines {
            let line = line.as_ref();
            let indent = line.len() - line.trim_start().len();
            let in_code = Fence::holds(&mut fence, line);
            if line.trim().is_empty() && !in_code {
                after_gap = true;
                continue;
            }
            let is_inside = open.as_ref().is_some_and(|open| indent > open.indent);
            match (item(line).filter(|_| !in_code), &mut open) {
                (Some(text), _) if !is_inside => {
                    items.extend(open.take().and_then(Open::close));
                    open = Some(Open { indent, text: text.to_owned() });
                }
                (_, Some(_)) if !in_code && ends_list(line, is_inside, after_gap) => {
                    items.extend(open.take().and_then(Open::close));
                }
                (_, Some(open)) => open.add(line),
                (_, None) => {}
            }
            after_gap = false;
        }
        items.extend(open.and_then(Open::close));
        Self(items)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An item that may have more lines.
struct Open {
    indent: usize,
    text: String,
}

impl Open {
    fn add(&mut self, line: &str) {
        if self.text.len() < LONGEST_ITEM {
            self.text.push('\n');
            self.text.push_str(line.trim());
        }
    }

    /// What is asked for; nothing where its box is ticked.
    fn close(self) -> Option<String> {
        let text = self.text.trim();
        let ticked = ["[x]", "[X]"].iter().any(|tick| text.starts_with(tick));
        let text = text.strip_prefix("[ ]").unwrap_or(text).trim();
        (!ticked && !text.is_empty()).then(|| text.to_owned())
    }
}

/// A heading, or text after an empty line that is not indented, is no part of the item before.
fn ends_list(line: &str, is_inside: bool, after_gap: bool) -> bool {
    !is_inside && (after_gap || line.trim_start().starts_with('#'))
}

/// What stands behind the mark of a list item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix(['-', '*', '+', '•']) {
        Some(rest) => rest,
        None => {
            let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
            let digits = line.len() - rest.len();
            if digits == 0 || digits > MOST_DIGITS {
                return None;
            }
            rest.strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

/// The marks around a block of code.
#[derive(Debug)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Whether a line is code, or opens or closes a block of it.
    pub(super) fn holds(open: &mut Option<Self>, line: &str) -> bool {
        let line = line.trim();
        match open {
            Some(fence) => {
                let rest = line.trim_start_matches(fence.mark);
                if rest.is_empty() && line.len() >= fence.length {
                    *open = None;
                }
                true
            }
            None => {
                // A block of code may be all that a list item has.
                *open = Self::opened_by(item(line).unwrap_or(line));
                open.is_some()
            }
        }
    }

    fn opened_by(line: &str) -> Option<Self> {
        ['`', '~'].into_iter().find_map(|mark| {
            let rest = line.trim_start_matches(mark);
            let length = line.len() - rest.len();
            (length >= 3 && (mark == '~' || !rest.contains('`'))).then_some(Self { mark, length })
        })
    }
}

const MOST_DIGITS: usize = 4;
const LONGEST_ITEM: usize = 2_000;
