//! A small language to tell runs in.

use backstop_core::repetition::{
    Detector, Reading, Sensitivity, Signal, Step, StepKind, Thresholds, judge,
};

/// A run told step by step. Each step comes a second after the one before.
pub struct Run {
    pub detector: Detector,
    pub active_ms: u64,
    cost_usd: f64,
    turn: Option<u64>,
}

impl Run {
    pub fn new() -> Self {
        Self { detector: Detector::new(), active_ms: 0, cost_usd: 0.0, turn: None }
    }

    fn step(mut self, kind: StepKind, action: &str, result: Option<&str>, failed: bool) -> Self {
        if self.turn.is_none() {
            self.active_ms += 1000;
        }
        self.detector.observe(&Step {
            kind,
            action: action.as_bytes(),
            result: result.map(str::as_bytes),
            failed,
            active_ms: self.active_ms,
            cost_usd: self.cost_usd,
            turn: self.turn,
        });
        self
    }

    pub fn act(self, action: &str, result: &str) -> Self {
        self.step(StepKind::Action, action, Some(result), false)
    }

    pub fn act_blind(self, action: &str) -> Self {
        self.step(StepKind::Action, action, None, false)
    }

    pub fn fail(self, action: &str, error: &str) -> Self {
        self.step(StepKind::Action, action, Some(error), true)
    }

    pub fn say(self, text: &str) -> Self {
        self.step(StepKind::Message, text, None, false)
    }

    pub fn say_nothing(self) -> Self {
        self.step(StepKind::Empty, "", None, false)
    }

    pub fn chant(self, phrase: &str) -> Self {
        self.step(StepKind::Chant, phrase, None, false)
    }

    pub fn condense(self) -> Self {
        self.step(StepKind::Compaction, "", None, false)
    }

    pub fn told(self, text: &str) -> Self {
        self.step(StepKind::User, text, None, false)
    }

    pub fn null(self) -> Self {
        self.step(StepKind::Action, "", None, false)
    }

    pub fn person_speaks(self) -> Self {
        self.step(StepKind::Person, "do it again", None, false)
    }

    pub fn launch(mut self) -> Self {
        self.detector.launched();
        self
    }

    pub fn progress(mut self) -> Self {
        self.detector.progress();
        self
    }

    pub fn error(mut self, message: &str) -> Self {
        self.detector.observe_error(message.as_bytes());
        self
    }

    pub fn after_ms(mut self, pause: u64) -> Self {
        self.active_ms += pause;
        self
    }

    pub fn costing(mut self, usd: f64) -> Self {
        self.cost_usd += usd;
        self
    }

    pub fn in_turn(mut self, turn: usize) -> Self {
        self.turn = Some(turn as u64);
        self.active_ms += 1000;
        self
    }

    pub fn times(mut self, count: usize, each: impl Fn(Self, usize) -> Self) -> Self {
        for index in 0..count {
            self = each(self, index);
        }
        self
    }

    pub fn judged(&self, sensitivity: Sensitivity) -> Option<Signal> {
        judge(&self.reading(), &Thresholds::for_sensitivity(sensitivity))
    }

    pub fn stuck(&self) -> Option<Signal> {
        self.judged(Sensitivity::Normal)
    }

    pub fn nudged(&self) -> Option<Signal> {
        self.judged(Sensitivity::High)
    }

    pub fn reading(&self) -> Reading {
        self.detector.reading()
    }

    pub fn sentence(&self) -> String {
        self.detector.evidence().sentence
    }
}

/// Words that differ in more than digits and look like nothing else.
pub fn word(index: usize) -> &'static str {
    const WORDS: [&str; 32] = [
        "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india",
        "juliett", "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo",
        "sierra", "tango", "uniform", "victor", "whiskey", "xray", "yankee", "zulu", "apple",
        "banana", "cherry", "damson", "elder", "fig",
    ];
    WORDS[index % WORDS.len()]
}
