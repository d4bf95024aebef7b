//! What the next iteration should be told: what was tried, what people said, why it starts afresh.

use serde::{Deserialize, Serialize};

use crate::event::{
    Action, Answer, Answered, Recovered, RecoveryKind, Resumed, Verification, VerificationOutcome,
};

/// What is handed from one iteration to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandOff {
    /// The last few things that the agent did, oldest first.
    actions: Vec<String>,
    /// What people had to say, oldest first.
    notes: Vec<String>,
    /// What the run recovered from since the last iteration ended.
    causes: Vec<RecoveryKind>,
    /// Why the last claim to be done was not believed.
    refusal: Option<String>,
    /// What the last verification found wrong.
    unverified: Option<String>,
    /// The next iteration is to be told.
    due: bool,
    /// What the iteration that runs was told.
    told: Told,
}

/// How much of it an iteration was told when it began: the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    notes: usize,
    causes: usize,
    refusal: bool,
    anything: bool,
}

impl HandOff {
    /// The last few things that the agent did, oldest first.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.actions.iter().map(String::as_str)
    }

    /// What people had to say, oldest first.
    pub fn notes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }

    /// Whether the next iteration starts afresh for this reason.
    pub fn is_for(&self, cause: RecoveryKind) -> bool {
        self.causes.contains(&cause)
    }

    /// Why the last claim to be done was not believed.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// What the last verification found wrong.
    pub fn unverified(&self) -> Option<&str> {
        self.unverified.as_deref()
    }

    /// Whether the next iteration is to be told anything.
    pub fn is_due(&self) -> bool {
        self.due || self.told.anything
    }

    /// The action that most of the last few were, if one was.
    pub fn repeated_action(&self) -> Option<&str> {
        let times = |action: &String| self.actions.iter().filter(|other| *other == action).count();
        self.actions.iter().find(|action| times(action) * 2 > RECENT).map(String::as_str)
    }

    pub(super) fn acted(&mut self, action: &Action) {
        if self.actions.len() == RECENT {
            self.actions.remove(0);
        }
        self.actions.push(start_of(&action.signature, LONGEST_ACTION).to_owned());
    }

    pub(super) fn recovered(&mut self, recovered: &Recovered) {
        if !self.causes.contains(&recovered.kind) {
            self.causes.push(recovered.kind);
        }
        self.due = true;
    }

    pub(super) fn answered(&mut self, answered: &Answered) {
        self.noted(answered.note.as_deref());
        self.due |= answered.answer == Answer::Fix;
    }

    pub(super) fn resumed(&mut self, resumed: &Resumed) {
        // What backstop notes when it goes on by itself is no word of a person's.
        if resumed.by.as_deref() != Some(BY_ITSELF) {
            self.noted(resumed.note.as_deref());
        }
    }

    pub(super) fn verified(&mut self, verification: &Verification) {
        let failed = verification.outcome != VerificationOutcome::Passed;
        let detail = verification.detail.as_deref().filter(|_| failed);
        self.unverified = detail.map(|detail| start_of(detail, LONGEST_NOTE).to_owned());
    }

    /// Who said that it was done and was wrong must hear so, or says it again.
    pub(super) fn claim_refused(&mut self, why: &str) {
        self.refusal = Some(start_of(why, LONGEST_NOTE).to_owned());
        self.told.refusal = false;
        self.due = true;
    }

    /// An iteration begins, and is told all there is.
    pub(super) fn iteration_started(&mut self) {
        self.told = Told {
            notes: self.notes.len(),
            causes: self.causes.len(),
            refusal: self.refusal.is_some(),
            anything: self.is_due(),
        };
        self.due = false;
    }

    /// Whoever was told has had its time. What was said meanwhile is for the next one.
    pub(super) fn iteration_finished(&mut self) {
        let told = std::mem::take(&mut self.told);
        self.notes.drain(..told.notes);
        self.causes.drain(..told.causes);
        if told.refusal {
            self.refusal = None;
        }
    }

    fn noted(&mut self, note: Option<&str>) {
        let Some(note) = note.map(str::trim).filter(|note| !note.is_empty()) else { return };
        if self.notes.len() == MOST_NOTES {
            self.notes.remove(0);
            self.told.notes = self.told.notes.saturating_sub(1);
        }
        self.notes.push(start_of(note, LONGEST_NOTE).to_owned());
        self.due = true;
    }
}

fn start_of(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// Who resumes a run that may do so alone.
pub(super) const BY_ITSELF: &str = "backstop";
/// How many actions tell whether an agent does the same over and over.
const RECENT: usize = 5;
const LONGEST_ACTION: usize = 200;
const MOST_NOTES: usize = 5;
const LONGEST_NOTE: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(signatures: &[&str]) -> HandOff {
        let mut handoff = HandOff::default();
        for signature in signatures {
            let action = Action { signature: (*signature).to_owned(), ..Action::default() };
            handoff.acted(&action);
        }
        handoff
    }

    #[test]
    fn an_action_is_repeated_when_most_of_the_last_five_are_it() {
        for (signatures, repeated) in [
            (&["a", "a", "a"][..], Some("a")),
            (&["a", "b", "a", "b", "a"], Some("a")),
            (&["a", "a"], None),
            (&["a", "b", "c", "a", "b"], None),
            (&["a", "a", "a", "b", "c", "d"], None),
            (&[], None),
        ] {
            assert_eq!(after(signatures).repeated_action(), repeated, "{signatures:?}");
        }
    }

    #[test]
    fn a_note_is_handed_over_once() {
        let mut handoff = HandOff::default();
        assert!(!handoff.is_due());
        let note = Some("use the other cache".to_owned());
        handoff.resumed(&Resumed { by: Some("ann".to_owned()), note });
        assert!(handoff.is_due());
        assert_eq!(handoff.notes().collect::<Vec<_>>(), ["use the other cache"]);
        handoff.iteration_started();
        assert!(handoff.is_due(), "one that dies has not had its time");
        handoff.iteration_finished();
        assert!(!handoff.is_due() && handoff.notes().len() == 0);
    }

    #[test]
    fn what_is_said_while_an_iteration_runs_is_for_the_next_one() {
        let mut handoff = HandOff::default();
        let said = |note: &str| Answered {
            question: String::new(),
            answer: Answer::Fix,
            note: Some(note.to_owned()),
            by: None,
        };
        handoff.answered(&said("for the first"));
        handoff.claim_refused("no proof");
        handoff.iteration_started();
        handoff.answered(&said("for the second"));
        handoff.iteration_finished();
        assert!(handoff.is_due() && handoff.refusal().is_none());
        assert_eq!(handoff.notes().collect::<Vec<_>>(), ["for the second"]);
        handoff.iteration_started();
        for number in 0..MOST_NOTES {
            handoff.answered(&said(&number.to_string()));
        }
        handoff.claim_refused("still no proof");
        handoff.iteration_finished();
        assert_eq!(handoff.notes().len(), MOST_NOTES);
        assert_eq!(handoff.refusal(), Some("still no proof"));
    }

    #[test]
    fn what_backstop_notes_of_itself_is_not_handed_over() {
        let mut handoff = HandOff::default();
        let note = Some("resumption 1 of 3".to_owned());
        handoff.resumed(&Resumed { by: Some(BY_ITSELF.to_owned()), note });
        assert!(!handoff.is_due());
    }

    #[test]
    fn an_answer_to_go_on_tells_the_next_iteration_nothing() {
        let mut handoff = HandOff::default();
        let answered = |answer| Answered { question: String::new(), answer, note: None, by: None };
        handoff.answered(&answered(Answer::Continue));
        assert!(!handoff.is_due());
        handoff.answered(&answered(Answer::Fix));
        assert!(handoff.is_due());
    }
}
