//! What a decision tells the runner to do.

use serde::{Deserialize, Serialize};

/// What to do next, from nothing to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Continue,
    Warn,
    Retry,
    Recover,
    Ask,
    Hold,
    Stop,
    Kill,
    Fail,
    Complete,
}

impl Verdict {
    /// Every verdict that a rule may lead to, mildest first.
    pub const OF_RULES: [Self; 9] = [
        Self::Warn,
        Self::Retry,
        Self::Recover,
        Self::Ask,
        Self::Hold,
        Self::Stop,
        Self::Complete,
        Self::Kill,
        Self::Fail,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Warn => "warn",
            Self::Retry => "retry",
            Self::Recover => "recover",
            Self::Ask => "ask",
            Self::Hold => "hold",
            Self::Stop => "stop",
            Self::Kill => "kill",
            Self::Fail => "fail",
            Self::Complete => "complete",
        }
    }

    /// How strongly it interferes: the higher one wins, so that a hold can never hide a kill.
    ///
    /// `complete` stands above `stop`, so that the last allowed iteration may still be a success.
    pub const fn severity(self) -> u8 {
        match self {
            Self::Continue => 0,
            Self::Warn => 1,
            Self::Retry | Self::Recover => 2,
            Self::Ask | Self::Hold => 3,
            Self::Stop => 4,
            Self::Complete => 5,
            Self::Kill | Self::Fail => 6,
        }
    }

    /// Whether a rule that can't be evaluated must not be taken for "not met".
    pub const fn ends_the_run(self) -> bool {
        matches!(self, Self::Stop | Self::Kill | Self::Fail)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl std::str::FromStr for Verdict {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::OF_RULES.into_iter().find(|verdict| verdict.as_str() == text).ok_or(())
    }
}
