//! The last of what an agent itself said in an iteration, in a fixed amount of memory.

/// Keeps the end of what it is told.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    text: String,
}

impl LastWords {
    pub fn hear(&mut self, words: &str) {
        let words = &words[words.ceil_char_boundary(words.len().saturating_sub(MOST))..];
        // An agent's result is its last message over again.
        if self.text.trim_end().ends_with(words.trim_end()) {
            return;
        }
        self.text.push_str(words);
        self.text.push('\n');
        // Cut seldom, so that much said in small pieces is not moved again and again.
        if self.text.len() > 2 * MOST {
            self.cut();
        }
    }

    /// What was kept; nothing is left.
    pub fn take(&mut self) -> String {
        self.cut();
        std::mem::take(&mut self.text)
    }

    fn cut(&mut self) {
        let from = self.text.ceil_char_boundary(self.text.len().saturating_sub(MOST));
        self.text.drain(..from);
    }
}

const MOST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_kept_and_a_result_is_not_kept_twice() {
        let mut words = LastWords::default();
        words.hear("first");
        words.hear("done");
        words.hear("done");
        assert_eq!(words.take(), "first\ndone\n");
        assert_eq!(words.take(), "");
    }

    #[test]
    fn no_more_is_kept_than_fits() {
        let mut words = LastWords::default();
        for number in 0..100_000 {
            words.hear(&format!("word {number} é"));
        }
        words.hear(&"é".repeat(MOST));
        let kept = words.take();
        assert!(kept.len() <= MOST && kept.ends_with("é\n"), "{}", kept.len());
    }
}
