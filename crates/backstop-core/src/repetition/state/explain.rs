//! The counts in plain words.

use std::time::Duration;

use super::State;
use crate::repetition::evidence::{Evidence, Excerpt, step_list};
use crate::repetition::signal::Signal;
use crate::repetition::streak::{RECENT, Streak};

impl State {
    pub fn evidence_for(&self, signal: Signal) -> Evidence {
        let (counts, memory) = (&self.counts, &self.memory);
        let action = memory.action.as_str();
        match signal {
            Signal::RepeatPair => told(signal, &counts.pair, &memory.action, |times, steps| {
                format!("`{action}` gave the same result {times} in a row ({steps})")
            }),
            Signal::RepeatAction => told(signal, &counts.action, &memory.action, |times, steps| {
                format!("`{action}` was done {times} in a row ({steps})")
            }),
            Signal::RepeatError => self.error_evidence(),
            Signal::Cycle => self.cycle_evidence(),
            Signal::Monologue => {
                let (count, equal) = (counts.messages.count, counts.equal_messages.count);
                // Each launch begins with no message, and says the same again.
                if equal > count {
                    return told(
                        signal,
                        &counts.equal_messages,
                        &memory.message,
                        |times, steps| {
                            format!("the agent gave the same message {times} in a row ({steps})")
                        },
                    );
                }
                told(signal, &counts.messages, &memory.message, |_, steps| {
                    let same = if equal > 1 {
                        format!(", the last {equal} of them the same")
                    } else {
                        String::new()
                    };
                    format!("{count} messages without any action{same} ({steps})")
                })
            }
            Signal::Empty => told(signal, &counts.empties, &Excerpt::EMPTY, |times, steps| {
                format!("the agent answered with nothing {times} in a row ({steps})")
            }),
            Signal::ContentChant => {
                let phrase = memory.chant.as_str();
                told(signal, &counts.chants, &memory.chant, |_, steps| {
                    format!("the agent said `{phrase}` over and over ({steps})")
                })
            }
            Signal::CompactionLoop => {
                told(signal, &counts.compactions, &Excerpt::EMPTY, |times, steps| {
                    format!(
                        "the context was condensed {times} with no successful action between \
                         ({steps})"
                    )
                })
            }
            Signal::Poll => {
                let polling = counts.wait.polling();
                let elapsed = Duration::from_secs(polling.elapsed_ms / 1000);
                let elapsed = humantime::format_duration(elapsed);
                let cost = polling.cost_usd;
                told(signal, &counts.wait.steps, &memory.action, |times, steps| {
                    format!(
                        "`{action}` gave the same result {times} over {elapsed} and ${cost:.2} \
                         ({steps})"
                    )
                })
            }
            Signal::Novelty | Signal::Cusum => {
                let share = counts.seen.count_ones();
                let score = counts.score;
                let mut evidence =
                    told(signal, &counts.repeated, &memory.action, |_, steps| match signal {
                        Signal::Novelty => format!(
                            "{share} of the last 8 steps had been there before ({steps}), the \
                             last `{action}`"
                        ),
                        _ => format!(
                            "steps keep repeating earlier ones, score {score:.2} ({steps}), the \
                             last `{action}`"
                        ),
                    });
                evidence.first_step = counts.repeated_first;
                evidence
            }
        }
    }

    fn error_evidence(&self) -> Evidence {
        let (counts, memory) = (&self.counts, &self.memory);
        let signal = Signal::RepeatError;
        let action = memory.action.as_str();
        let most = counts.failing.count.max(counts.error.count).max(counts.declared.count);
        if counts.failing.count == most {
            told(signal, &counts.failing, &memory.action, |times, steps| {
                format!("`{action}` failed {times} in a row ({steps})")
            })
        } else if counts.error.count == most {
            told(signal, &counts.error, &memory.action, |times, steps| {
                format!("the same error came {times} in a row ({steps}), the last from `{action}`")
            })
        } else {
            let error = memory.declared.as_str();
            told(signal, &counts.declared, &memory.declared, |times, _| {
                format!("the error `{error}` was reported {times} in a row")
            })
        }
    }

    fn cycle_evidence(&self) -> Evidence {
        let (cycle, first) = self.counts.cycles.best(&self.memory.ring);
        let mut steps: Vec<u64> = self.memory.ring.recent(RECENT).map(|entry| entry.step).collect();
        steps.reverse();
        steps.retain(|&step| step >= first);
        let last = steps.last().copied().unwrap_or(first);
        let action = self.memory.action.as_str();
        Evidence {
            signal: Some(Signal::Cycle),
            sentence: format!(
                "the same {} steps came {} (steps {first}–{last}), the last `{action}`",
                cycle.period,
                times(cycle.periods),
            ),
            first_step: first,
            steps,
            excerpt: action.to_owned(),
        }
    }
}

fn told(
    signal: Signal,
    streak: &Streak,
    excerpt: &Excerpt,
    sentence: impl FnOnce(&str, &str) -> String,
) -> Evidence {
    let steps = step_list(streak.first, streak.count, streak.steps());
    Evidence {
        signal: Some(signal),
        sentence: sentence(&times(streak.count), &steps),
        first_step: streak.first,
        steps: streak.steps().to_vec(),
        excerpt: excerpt.as_str().to_owned(),
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}
