//! One run as commands look at it: where it stands, what is known, and what its journal ends with.

use backstop_core::decision::Decision;
use backstop_core::event::{Event, EventKind, Note};
use backstop_core::id::RunId;
use backstop_core::state::RunState;
use backstop_core::time::Timestamp;
use backstop_runner::loading::Loaded;
use backstop_runner::view::{OpenQuestion, Seen};
use backstop_store::Run;

use crate::error::Error;
use crate::report::{Card, verified};
use crate::store::Opened;

/// A run and all that there is to say about it.
#[derive(Debug)]
pub struct Look {
    pub run: Run,
    pub loaded: Loaded,
    pub state: RunState,
    /// What the policy says now; for a halted run, what halted it where that still holds.
    pub decision: Decision,
    pub interrupted: bool,
    /// What a person is asked now.
    pub question: Option<OpenQuestion>,
    pub now: Timestamp,
    kept: Option<String>,
    verification: Option<String>,
}

impl Look {
    /// Looks at a run. A halt that a crash has cut short is finished first.
    pub fn at(opened: &Opened, run: RunId) -> Result<Self, Error> {
        let mut look = Self::of(opened.wait(Seen::look(&*opened.store, &opened.home, run))?);
        let (after, limit) = look.end_of_journal();
        for stored in opened.wait(opened.store.event_list(run, after, limit))? {
            if let Ok(event) = Event::from_json(stored.body.as_bytes()) {
                look.hear(event.kind);
            }
        }
        Ok(look)
    }

    /// A run as it was seen. The end of its journal has more to say.
    pub fn of(seen: Seen) -> Self {
        let question = seen.question();
        let Seen { run, loaded, state, decision, interrupted, now } = seen;
        let (kept, verification) = (None, None);
        Self { run, loaded, state, decision, interrupted, question, now, kept, verification }
    }

    /// After which event, and how many, the last words of the journal are looked for.
    pub fn end_of_journal(&self) -> (u64, u32) {
        (self.loaded.last_seq.saturating_sub(END), u32::try_from(END).unwrap_or(u32::MAX))
    }

    /// Takes in what facts do not hold: which ref keeps the work, and what the verification said.
    pub fn hear(&mut self, kind: EventKind) {
        match kind {
            EventKind::Noted(noted) if noted.what == Note::Kept => self.kept = Some(noted.detail),
            EventKind::Verification(last) => {
                let detail = last.detail.filter(|detail| !detail.is_empty());
                let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
                self.verification = Some(format!("{}{detail}", verified(last.outcome)));
            }
            _ => {}
        }
    }

    pub fn card(&self) -> Card<'_> {
        let reason = self.state.stop_reason.as_ref().map(|reason| reason.code.as_str());
        Card {
            state: &self.state,
            decision: (reason == self.decision.reason.as_deref()).then_some(&self.decision),
            engine: &self.loaded.engine,
            question: self.question.as_ref().map(|question| (question, self.now)),
            kept: self.kept.as_deref(),
            verification: self.verification.as_deref(),
            interrupted: self.interrupted,
            supervised: self.run.supervised,
            pruned: self.run.pruned,
            without: None,
        }
    }
}

/// How far back the last words of a journal are looked for.
const END: u64 = 200;
