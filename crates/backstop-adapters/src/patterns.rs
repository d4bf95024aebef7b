//! Words that a policy waits for.

use backstop_core::condition::{Condition, OutputPattern, OutputSource, Since};
use backstop_core::event::Matched;
use backstop_core::policy::Policy;
use regex::{Regex, RegexBuilder};

/// The output patterns of a policy, looked for in whole messages and lines.
///
/// What was found is not looked for again until the next launch, or ever, as the policy says.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    wanted: Vec<Wanted>,
    /// Nobody can tell whose words they are.
    is_unclaimed: bool,
}

#[derive(Clone, Debug)]
struct Wanted {
    key: String,
    pattern: OutputPattern,
    /// None: the text itself is looked for.
    expression: Option<Regex>,
    found: bool,
}

impl Patterns {
    pub fn new(policy: &Policy) -> Self {
        let wanted = policy.asked().into_iter().filter_map(|condition| match condition {
            Condition::OutputPattern(pattern) => Wanted::new(condition.key(), pattern),
            _ => None,
        });
        Self { wanted: wanted.collect(), is_unclaimed: false }
    }

    /// For output in which nobody's own words can be told: what is looked for in those where there
    /// are any is looked for in all of it.
    #[must_use]
    pub fn unclaimed(self) -> Self {
        Self { is_unclaimed: true, ..self }
    }

    /// A launch begins.
    pub fn begin(&mut self) {
        for wanted in &mut self.wanted {
            wanted.found &= wanted.pattern.since == Since::Run;
        }
    }

    /// Whether anything is still looked for in such output.
    pub fn are_wanted_in(&self, source: OutputSource) -> bool {
        self.wanted.iter().any(|wanted| wanted.is_wanted_in(source, self.is_unclaimed))
    }

    /// What is found for the first time.
    pub fn find(&mut self, source: OutputSource, text: &str) -> Vec<Matched> {
        let is_unclaimed = self.is_unclaimed;
        let wanted =
            self.wanted.iter_mut().filter(|wanted| wanted.is_wanted_in(source, is_unclaimed));
        wanted.filter_map(|wanted| wanted.find(source, text)).collect()
    }
}

impl Wanted {
    /// A pattern that can't be compiled was refused when the policy was loaded.
    fn new(key: String, pattern: &OutputPattern) -> Option<Self> {
        let text = &pattern.pattern.0;
        let expression = match pattern.is_regex {
            true => Some(RegexBuilder::new(text).size_limit(LARGEST_EXPRESSION).build().ok()?),
            false => None,
        };
        Some(Self { key, pattern: pattern.clone(), expression, found: false })
    }

    fn is_wanted_in(&self, source: OutputSource, is_unclaimed: bool) -> bool {
        let wanted = match self.pattern.r#in {
            OutputSource::Auto if is_unclaimed => OutputSource::Any,
            // Whoever can tell the agent's words has recognised it.
            OutputSource::Auto => OutputSource::Assistant,
            named => named,
        };
        !self.found && wanted == source
    }

    fn find(&mut self, source: OutputSource, text: &str) -> Option<Matched> {
        let pattern = &self.pattern.pattern.0;
        let at = match &self.expression {
            Some(expression) => expression.find(text)?.start(),
            None => text.find(pattern.as_str())?,
        };
        self.found = true;
        let stream = match source {
            OutputSource::Any => "stdout",
            OutputSource::Assistant | OutputSource::Auto => "assistant",
            OutputSource::Result => "result",
        };
        Some(Matched {
            key: self.key.clone(),
            pattern: pattern.clone(),
            stream: stream.to_owned(),
            excerpt: around(text, at).to_owned(),
        })
    }
}

/// The line of a place in a text; of a long one, what lies around it.
fn around(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let begin = text.ceil_char_boundary(begin.max(at.saturating_sub(BEFORE)));
    let end = text.floor_char_boundary(end.min(begin + LONGEST_EXCERPT));
    text[begin..end].trim()
}

/// As in the check of the policy.
const LARGEST_EXPRESSION: usize = 10 << 20;
const BEFORE: usize = 80;
const LONGEST_EXCERPT: usize = 200;

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;

    use super::*;

    fn patterns() -> Patterns {
        let policy = r#"
            [[rule]]
            when = { type = "output_pattern", pattern = "ALL DONE" }
            then = "complete"
            [[rule]]
            when = { type = "output_pattern", pattern = "give\\s+up", is_regex = true, in = "assistant", since = "run" }
            then = "stop"
        "#;
        Patterns::new(&Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy)
    }

    #[test]
    fn where_there_is_an_agent_only_its_words_count() {
        let policy = "[[rule]]\nwhen = { type = 'output_pattern', pattern = 'ALL DONE', in = 'auto' }\n\
                      then = 'complete'\n";
        let policy = Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy;
        let mut patterns = Patterns::new(&policy);
        assert_eq!(patterns.find(OutputSource::Any, "ALL DONE"), []);
        assert_eq!(patterns.find(OutputSource::Assistant, "ALL DONE")[0].stream, "assistant");
        let mut patterns = Patterns::new(&policy).unclaimed();
        assert!(patterns.are_wanted_in(OutputSource::Any));
        assert_eq!(patterns.find(OutputSource::Assistant, "ALL DONE"), []);
        assert_eq!(patterns.find(OutputSource::Any, "ALL DONE")[0].stream, "stdout");
    }

    #[test]
    fn each_is_looked_for_in_its_own_source() {
        let mut patterns = patterns();
        assert_eq!(patterns.find(OutputSource::Assistant, "ALL DONE"), []);
        let found = patterns.find(OutputSource::Any, "one\n  it is ALL DONE now\nthree");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pattern, "ALL DONE");
        assert_eq!(found[0].excerpt, "it is ALL DONE now");
        assert_eq!(patterns.find(OutputSource::Assistant, "I give \t up")[0].stream, "assistant");
    }

    #[test]
    fn what_was_found_is_found_again_only_in_another_launch() {
        let mut patterns = patterns();
        assert!(patterns.are_wanted_in(OutputSource::Any));
        assert_eq!(patterns.find(OutputSource::Any, "ALL DONE").len(), 1);
        assert!(!patterns.are_wanted_in(OutputSource::Any));
        assert_eq!(patterns.find(OutputSource::Any, "ALL DONE").len(), 0);
        assert_eq!(patterns.find(OutputSource::Assistant, "give up").len(), 1);
        patterns.begin();
        assert_eq!(patterns.find(OutputSource::Any, "ALL DONE").len(), 1);
        assert_eq!(patterns.find(OutputSource::Assistant, "give up").len(), 0);
    }

    #[test]
    fn an_excerpt_of_a_long_line_holds_what_was_found() {
        let text = format!("{}ALL DONE{}", "ä".repeat(5_000), "ö".repeat(5_000));
        let found = patterns().find(OutputSource::Any, &text);
        assert!(found[0].excerpt.contains("ALL DONE") && found[0].excerpt.len() <= 200);
    }
}
