//! Whether the rest of every budget can pay for one more iteration.

use std::time::Duration;

use super::{Engine, render};
use crate::condition::{Condition, words};
use crate::decision::Decision;
use crate::facts::Taken;
use crate::time::Moment;
use crate::verdict::Verdict;

impl Engine {
    /// Before an iteration: the decision not to start it, where `[limits] preflight` is on and the
    /// rest of a budget will likely not pay for it.
    pub fn preflight(&mut self, now: Moment) -> Option<Decision> {
        if self.policy.limits.preflight != Some(true) {
            return None;
        }
        self.decide(now);
        let short = (0..self.conditions.len()).find_map(|rule| self.shortfall(rule));
        short.map(|(rule, words)| render::foreseen(self, rule, words))
    }

    /// The words for a budget that is too small for one more iteration.
    fn shortfall(&self, rule: usize) -> Option<(usize, String)> {
        let own = self.policy.all_rules().nth(rule)?;
        if own.shadow || !matches!(own.then, Verdict::Stop | Verdict::Kill | Verdict::Fail) {
            return None;
        }
        let budget = Budget::of(&self.conditions[rule])?;
        let likely = self.facts.spending.likely(budget.figure)?;
        let measure = self.measure(rule);
        let left = measure.threshold? - measure.value.unwrap_or(0.0);
        (likely > left).then(|| {
            let words = format!(
                "The next iteration will likely take {} (of the last {}, nine in ten stayed within that), and {} of {} is left",
                (budget.words)(likely),
                self.facts.spending.known(),
                (budget.words)(left.max(0.0)),
                (budget.words)(measure.threshold.unwrap_or(0.0)),
            );
            (rule, words)
        })
    }
}

/// What a limit is measured in.
struct Budget {
    figure: fn(&Taken) -> f64,
    words: fn(f64) -> String,
}

#[expect(clippy::cast_precision_loss, reason = "a guess needs no more than 53 bits")]
impl Budget {
    fn of(condition: &Condition) -> Option<Self> {
        Some(match condition {
            Condition::MaxTokens(limit) if limit.cache_reads => {
                Self { figure: |taken| taken.tokens_with_cache_reads as f64, words: tokens }
            }
            Condition::MaxTokens(_) => Self { figure: |taken| taken.tokens as f64, words: tokens },
            Condition::MaxCost(_) => Self {
                figure: |taken| taken.cost_usd,
                words: |usd| words::dollars(usd).to_string(),
            },
            Condition::MaxDuration(_) => {
                Self { figure: |taken| taken.active.as_secs_f64() * 1e3, words: milliseconds }
            }
            _ => return None,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
fn tokens(count: f64) -> String {
    words::counted(count.round() as u64, "token", "tokens").to_string()
}

fn milliseconds(count: f64) -> String {
    words::duration(Duration::from_secs_f64((count / 1e3).clamp(0.0, 1e12))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::event::{Event, IterationFinished, IterationStarted, Usage};
    use crate::policy::Policy;
    use crate::time::Timestamp;

    fn engine(policy: &str, costs: &[f64]) -> Engine {
        let policy = Policy::load(policy.as_bytes(), Syntax::Toml).unwrap().policy;
        let mut engine = Engine::new(policy);
        let at = Timestamp::default();
        for cost in costs {
            engine.handle_event(&Event::new(IterationStarted::default()), at);
            let usage = Usage { cost_usd: Some(*cost), input_tokens: 10, ..Usage::default() };
            engine.handle_event(&Event::new(usage), at);
            engine.handle_event(&Event::new(IterationFinished::default()), at);
        }
        engine
    }

    const POLICY: &str = "[limits]\ncost_usd = 10.0\npreflight = true\n";

    #[test]
    fn an_iteration_that_the_rest_cannot_pay_for_is_not_started() {
        let decision = engine(POLICY, &[1.8; 5]).preflight(Moment::default()).unwrap();
        assert_eq!(decision.verdict, Verdict::Stop);
        assert_eq!(decision.reason.as_deref(), Some("cost_limit"));
        assert!(decision.message.contains("$1.80"), "{}", decision.message);
        assert!(decision.message.contains("$1.00 of $10.00"), "{}", decision.message);
    }

    #[test]
    fn one_that_just_fits_is_started() {
        assert_eq!(engine(POLICY, &[1.25; 6]).preflight(Moment::default()), None);
        assert_eq!(engine(POLICY, &[2.0; 4]).preflight(Moment::default()), None, "too few known");
    }

    #[test]
    fn it_is_off_unless_set() {
        let policy = "[limits]\ncost_usd = 10.0\n";
        assert_eq!(engine(policy, &[1.8; 5]).preflight(Moment::default()), None);
    }
}
