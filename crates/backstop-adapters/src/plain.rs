//! Output without a format: the agent's words, and nothing else.

/// The latest lines of a text, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Words {
    text: String,
}

impl Words {
    pub fn push(&mut self, line: &str) {
        if self.text.len() + line.len() > 2 * KEPT {
            let start = self.text.len().saturating_sub(KEPT);
            self.text.drain(..self.text.ceil_char_boundary(start));
        }
        let start = line.ceil_char_boundary(line.len().saturating_sub(KEPT));
        self.text.push_str(&line[start..]);
        self.text.push('\n');
    }

    pub fn clear(&mut self) {
        self.text = String::new();
    }

    pub fn text(&self) -> &str {
        self.text.trim()
    }

    /// The one line that this is, if it is one.
    pub fn only_line(&self) -> Option<&str> {
        Some(self.text()).filter(|text| !text.is_empty() && !text.contains('\n'))
    }

    /// The first line, if hardly any follows.
    pub fn first_of_few(&self) -> Option<&str> {
        let mut lines = self.text().lines();
        let first = lines.next()?.trim();
        (lines.count() < FEW).then_some(first)
    }

    pub fn last_line(&self) -> Option<&str> {
        self.text().lines().next_back().map(str::trim)
    }
}

/// What an agent says last counts most.
const KEPT: usize = 1024 * 1024;
const FEW: usize = 3;
