//! What a person is asked, as those see it who look at the run from elsewhere.

use std::time::Duration;

use backstop_core::engine::Engine;
use backstop_core::policy::{InterventionSettings, OnTimeout};
use backstop_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::prompt::{Choice, Matter};

/// A question that nobody has answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    pub question: String,
    /// What may be answered.
    pub answers: Vec<Choice>,
    pub asked_at: Option<Timestamp>,
    /// When it is too late; none if it waits for as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What happens then: `hold` or `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
}

impl OpenQuestion {
    /// The question that is open by what is known of a run.
    pub fn of(engine: &Engine) -> Option<Self> {
        let facts = engine.facts();
        let asked_at = facts.asked_at();
        let (matter, question) = match (facts.question(), facts.turn()) {
            (Some(question), _) => (Matter::Question, question),
            (None, Some(turn)) => (Matter::Turn, turn),
            (None, None) => return None,
        };
        let (question, answers) = (question.to_owned(), matter.choices().to_vec());
        let open = Self { question, answers, asked_at, until: None, on_timeout: None };
        if matter == Matter::Turn {
            return Some(open);
        }
        let settings = engine.policy().settings.intervention.as_ref();
        Some(Self {
            until: asked_at.map(|asked| asked.plus(answer_timeout(settings))),
            on_timeout: Some(on_timeout(settings).name().to_owned()),
            ..open
        })
    }

    /// Whether the next iteration may start.
    pub fn is_of_turn(&self) -> bool {
        self.answers == Matter::Turn.choices()
    }

    /// The same question without a time by which it must be answered.
    #[must_use]
    pub fn without_end(self) -> Self {
        Self { until: None, on_timeout: None, ..self }
    }

    /// How long is left to answer it.
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        // Clocks of two machines differ: nobody has more time than there was.
        let now = self.asked_at.map_or(now, |asked| now.max(asked));
        self.until.map(|until| until.since(now))
    }
}

/// How long a question waits for its answer.
pub(crate) fn answer_timeout(settings: Option<&InterventionSettings>) -> Duration {
    let given = settings.and_then(|set| set.timeout.as_ref()).map(|period| period.0);
    given.unwrap_or(InterventionSettings::DEFAULT_TIMEOUT)
}

/// What becomes of a run whose question nobody answers.
pub(crate) fn on_timeout(settings: Option<&InterventionSettings>) -> OnTimeout {
    settings.and_then(|set| set.on_timeout).unwrap_or(OnTimeout::Hold)
}
