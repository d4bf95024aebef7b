//! What repetition looks like, and from when on it counts as being stuck.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reading::Reading;

/// A kind of repetition. Declared in the order in which [`judge`] prefers them: those that explain
/// themselves best come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The same action with the same result.
    RepeatPair,
    /// The same action, whatever its result.
    RepeatAction,
    /// The same action failing, or the same error whatever the action.
    RepeatError,
    /// A sequence of 2 to 8 actions with their results, over and over.
    Cycle,
    /// Messages without any action.
    Monologue,
    /// Empty answers.
    Empty,
    /// One phrase over and over in an answer.
    ContentChant,
    /// The context is condensed again and again, and nothing succeeds between.
    CompactionLoop,
    /// The last steps brought nothing that was not there before.
    Novelty,
    /// The same action with the same result, slowly: a wait that has become too long or too dear.
    Poll,
    /// The sum of the evidence over the steps.
    Cusum,
}

impl Signal {
    pub const ALL: [Self; 11] = [
        Self::RepeatPair,
        Self::RepeatAction,
        Self::RepeatError,
        Self::Cycle,
        Self::Monologue,
        Self::Empty,
        Self::ContentChant,
        Self::CompactionLoop,
        Self::Novelty,
        Self::Poll,
        Self::Cusum,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RepeatPair => "repeat_pair",
            Self::RepeatAction => "repeat_action",
            Self::RepeatError => "repeat_error",
            Self::Cycle => "cycle",
            Self::Monologue => "monologue",
            Self::Empty => "empty",
            Self::ContentChant => "content_chant",
            Self::CompactionLoop => "compaction_loop",
            Self::Novelty => "novelty",
            Self::Poll => "poll",
            Self::Cusum => "cusum",
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Signal {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|signal| signal.as_str() == name)
            .ok_or_else(|| UnknownName { what: "repetition signal", name: name.to_owned() })
    }
}

/// How soon repetition counts as being stuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    Low,
    #[default]
    Normal,
    /// The level at which a warning or a nudge is due.
    High,
}

impl Sensitivity {
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::High];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Sensitivity {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|sensitivity| sensitivity.as_str() == name)
            .ok_or_else(|| UnknownName { what: "sensitivity", name: name.to_owned() })
    }
}

/// A name that stands for nothing here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`")]
pub struct UnknownName {
    pub what: &'static str,
    pub name: String,
}

/// From when on each signal counts. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Equal actions with equal results in a row.
    pub repeat_pair: u32,
    /// Equal actions in a row.
    pub repeat_action: u32,
    /// Equal actions that fail, or equal errors, in a row.
    pub repeat_error: u32,
    /// Full periods of a cycle.
    pub cycle: u32,
    /// Messages in a row without an action, whatever they say.
    pub monologue: u32,
    /// Equal messages in a row without an action.
    pub monologue_equal: u32,
    /// Empty answers in a row.
    pub empty: u32,
    /// Answers that say one phrase over and over, with no action between.
    pub content_chant: u32,
    /// Condensations with no successful action between.
    pub compaction: u32,
    /// The share of the last steps that had been there before.
    pub novelty: f64,
    /// The sum of the evidence.
    pub score: f64,
    /// How long one wait may last.
    pub max_wait: Duration,
    /// What one wait may cost, in US dollars.
    pub max_wait_cost: f64,
}

impl Thresholds {
    pub const fn for_sensitivity(sensitivity: Sensitivity) -> Self {
        match sensitivity {
            Sensitivity::Low => Self {
                repeat_pair: 6,
                repeat_action: 8,
                repeat_error: 6,
                cycle: 5,
                monologue: 6,
                monologue_equal: 4,
                empty: 5,
                content_chant: 3,
                compaction: 20,
                novelty: 1.0,
                score: 4.0,
                max_wait: Duration::from_secs(2 * 60 * 60),
                max_wait_cost: 20.0,
            },
            Sensitivity::Normal => Self {
                repeat_pair: 4,
                repeat_action: 5,
                repeat_error: 4,
                cycle: 3,
                monologue: 3,
                monologue_equal: 3,
                empty: 3,
                content_chant: 2,
                compaction: 10,
                novelty: 1.0,
                score: 2.5,
                max_wait: Duration::from_secs(30 * 60),
                max_wait_cost: 5.0,
            },
            Sensitivity::High => Self {
                repeat_pair: 3,
                repeat_action: 4,
                repeat_error: 3,
                cycle: 2,
                monologue: 3,
                monologue_equal: 2,
                empty: 2,
                content_chant: 1,
                compaction: 5,
                novelty: 0.875,
                score: 1.5,
                max_wait: Duration::from_secs(10 * 60),
                max_wait_cost: 1.0,
            },
        }
    }

    fn met(&self, signal: Signal, reading: &Reading) -> bool {
        match signal {
            Signal::RepeatPair => reading.pair_streak >= self.repeat_pair,
            Signal::RepeatAction => reading.action_streak >= self.repeat_action,
            Signal::RepeatError => reading.error_streak >= self.repeat_error,
            Signal::Cycle => reading.cycle.periods >= self.cycle,
            Signal::Monologue => {
                reading.messages >= self.monologue || reading.equal_messages >= self.monologue_equal
            }
            Signal::Empty => reading.empties >= self.empty,
            Signal::ContentChant => reading.chants >= self.content_chant,
            Signal::CompactionLoop => reading.compactions >= self.compaction,
            Signal::Novelty => reading.repeated_share >= self.novelty,
            Signal::Poll => {
                reading.polling.count > 0
                    && (u128::from(reading.polling.elapsed_ms) >= self.max_wait.as_millis()
                        || reading.polling.cost_usd >= self.max_wait_cost)
            }
            // The nudge comes at 2.0, and from 2.5 on the score counts only if it is still there
            // two steps later. The detector need not know when somebody nudged: it counts the
            // steps since the score last came to 2.0 and stayed, and three of them are the step of
            // the nudge and two more.
            Signal::Cusum => {
                reading.score >= self.score
                    && (self.score < STOP_SCORE || reading.nudged_steps >= NUDGED_STEPS)
            }
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self::for_sensitivity(Sensitivity::Normal)
    }
}

/// The first signal, in the order of [`Signal`], that is at its threshold.
pub fn judge(reading: &Reading, thresholds: &Thresholds) -> Option<Signal> {
    Signal::ALL.into_iter().find(|&signal| thresholds.met(signal, reading))
}

/// From this threshold on the score must have held since a nudge.
const STOP_SCORE: f64 = 2.5;
const NUDGED_STEPS: u32 = 3;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::reading::{Cycle, Polling};
    use super::*;

    type Counted = fn(u32) -> Reading;

    fn none() -> Reading {
        Reading::default()
    }

    fn waited(elapsed_ms: u64, cost_usd: f64) -> Reading {
        Reading { polling: Polling { count: 2, elapsed_ms, cost_usd }, ..none() }
    }

    #[rstest]
    #[case(Signal::RepeatPair, 4, |n: u32| Reading { pair_streak: n, ..none() })]
    #[case(Signal::RepeatAction, 5, |n: u32| Reading { action_streak: n, ..none() })]
    #[case(Signal::RepeatError, 4, |n: u32| Reading { error_streak: n, ..none() })]
    #[case(Signal::Cycle, 3, |n: u32| Reading { cycle: Cycle { period: 2, periods: n }, ..none() })]
    #[case(Signal::Monologue, 3, |n: u32| Reading { messages: n, ..none() })]
    #[case(Signal::Monologue, 3, |n: u32| Reading { equal_messages: n, ..none() })]
    #[case(Signal::Empty, 3, |n: u32| Reading { empties: n, ..none() })]
    #[case(Signal::ContentChant, 2, |n: u32| Reading { chants: n, ..none() })]
    #[case(Signal::CompactionLoop, 10, |n: u32| Reading { compactions: n, ..none() })]
    #[case(Signal::Novelty, 8, |n: u32| Reading { repeated_share: f64::from(n) / 8.0, ..none() })]
    #[case(Signal::Poll, 30, |n: u32| waited(u64::from(n) * 60_000, 0.0))]
    #[case(Signal::Poll, 5, |n: u32| waited(0, f64::from(n)))]
    #[case(Signal::Cusum, 25, |n: u32| {
        Reading { score: f64::from(n) / 10.0, nudged_steps: 3, ..none() }
    })]
    #[case(Signal::Cusum, 3, |n: u32| Reading { score: 9.0, nudged_steps: n, ..none() })]
    fn below_at_and_above(
        #[case] signal: Signal,
        #[case] threshold: u32,
        #[case] counted: Counted,
    ) {
        let judged = |count| judge(&counted(count), &Thresholds::default());
        assert_eq!(judged(threshold - 1), None);
        assert_eq!(judged(threshold), Some(signal));
        assert_eq!(judged(threshold + 1), Some(signal));
    }

    #[test]
    fn nothing_is_judged_stuck_at_the_start() {
        for sensitivity in Sensitivity::ALL {
            let thresholds = Thresholds::for_sensitivity(sensitivity);
            assert_eq!(judge(&Reading::default(), &thresholds), None);
        }
    }

    #[test]
    fn a_warning_needs_no_nudge_before_it() {
        let reading = Reading { score: 1.5, ..Reading::default() };
        let high = Thresholds::for_sensitivity(Sensitivity::High);
        assert_eq!(judge(&reading, &high), Some(Signal::Cusum));
    }

    #[test]
    fn what_explains_itself_comes_first() {
        let reading = Reading { score: 9.0, nudged_steps: 9, pair_streak: 9, ..Reading::default() };
        assert_eq!(judge(&reading, &Thresholds::default()), Some(Signal::RepeatPair));
    }

    #[test]
    fn names_round_trip() {
        for signal in Signal::ALL {
            assert_eq!(signal.as_str().parse(), Ok(signal));
            assert_eq!(serde_json::to_value(signal).unwrap(), signal.as_str());
        }
        for sensitivity in Sensitivity::ALL {
            assert_eq!(sensitivity.as_str().parse(), Ok(sensitivity));
        }
        let error = "cyle".parse::<Signal>().unwrap_err();
        assert_eq!(error.to_string(), "unknown repetition signal `cyle`");
    }
}
