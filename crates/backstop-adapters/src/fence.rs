//! Blocks of code in Markdown.

/// The block of code that a text is in the middle of, if it is in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The mark that opened it, and how many of them.
    opened: Option<(u8, usize)>,
}

impl Fence {
    pub fn is_open(self) -> bool {
        self.opened.is_some()
    }

    /// Passes a line. A block ends with as many marks as it began with, and nothing else. Scripts draw
    /// lines of tildes, with words in them.
    pub fn pass(&mut self, line: &str) {
        let Some(mark @ (b'`' | b'~')) = line.bytes().next() else { return };
        let count = line.bytes().take_while(|byte| *byte == mark).count();
        let behind = &line[count..];
        let opens = match mark {
            // Ticks that are closed on their own line are code amid words.
            b'`' => !behind.contains('`'),
            _ => !behind.contains('~') && behind.split_whitespace().nth(1).is_none(),
        };
        match self.opened {
            None if count >= FEWEST && opens => {
                self.opened = Some((mark, count));
            }
            Some((by, fewest)) if by == mark && count >= fewest && behind.trim().is_empty() => {
                self.opened = None;
            }
            _ => {}
        }
    }
}

const FEWEST: usize = 3;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("```json\nx", true)]
    #[case("```json\nx\n```", false)]
    #[case("~~~\nx\n```", true)]
    #[case("~~~\nx\n~~~~", false)]
    #[case("````md\n```\nx\n```", true)]
    #[case("````md\n```\nx\n```\n````  ", false)]
    #[case("```x\n```y", true)]
    #[case("```code``` amid words", false)]
    #[case("``", false)]
    #[case("words ```", false)]
    #[case("~~~~ run ~~~~", false)]
    #[case("~~~ two words", false)]
    #[case("~~~ one\nx", true)]
    #[case("", false)]
    fn a_block_ends_as_it_began(#[case] text: &str, #[case] is_open: bool) {
        let mut fence = Fence::default();
        text.lines().for_each(|line| fence.pass(line));
        assert_eq!(fence.is_open(), is_open);
    }
}
