//! Asking a person: the question goes to every open channel, and the first answer counts.

use std::time::Duration;

use backstop_core::decision::Decision;
use backstop_core::event::{Answer, Answered, Asked, Note};
use backstop_core::policy::{Occasion, OnTimeout};
use backstop_core::verdict::Verdict;

use super::between::Next;
use super::{Dispatcher, Happening, Order, RunError, halt};
use crate::keyboard::Keyboard;
use crate::prompt::{Choice, Matter, Prompt, question_of};
use crate::report::Phase;
use crate::socket::Reply;
use crate::view::open_question;

/// A question that is open.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(super) prompt: Prompt,
    /// The rule that wants to know.
    rule: Option<usize>,
    /// On the timers' clock; none to wait for as long as it takes.
    until: Option<Duration>,
    pub(super) keyboard: Option<Keyboard>,
}

/// What a person said to the last question.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    choice: Choice,
    pub(super) by: String,
}

impl Dispatcher {
    /// Whether anybody would see a question: the terminal, a service that shows it, somebody who
    /// watches, or whoever is notified. A command that could be given, if somebody knew of the
    /// question, is no channel.
    pub(super) fn can_ask(&self) -> bool {
        self.can_ask_directly() || self.served.is_some_and(|(_, served)| served)
    }

    fn can_ask_directly(&self) -> bool {
        self.has_keyboard
            || self.watchers.receiver_count() > 0
            || self.telling.notifier.reaches_somebody(Occasion::Asked)
    }

    /// Finds out whether a service answers for the store, if it is of interest and was not found
    /// out just now.
    pub(super) async fn look_for_service(&mut self) {
        let now = self.timers.active();
        let is_known = self.served.is_some_and(|(at, _)| now < at + SERVED_FOR);
        if is_known || self.can_ask_directly() {
            return;
        }
        // A store that does not answer shows nobody a question.
        let served = self.store.service_attends(None).await.unwrap_or(false);
        self.served = Some((now, served));
    }

    /// Puts the question of a rule that wants a person's decision. Asked again while it is open,
    /// nothing happens.
    pub(super) fn put_question(&mut self, decision: &Decision) {
        if self.asking.is_some() {
            return;
        }
        // After a crash it is still the same question, and is not asked a second time.
        let question = match self.engine.facts().question() {
            Some(open) => open.to_owned(),
            None => {
                let question = question_of(decision, self.engine.facts());
                self.take(Asked { question: question.clone(), unheard: false });
                self.tell(Occasion::Asked, decision);
                question
            }
        };
        self.said = None;
        let rule = decision.rule.as_ref().map(|rule| rule.index);
        let asked_at = self.engine.facts().asked_at();
        let waited = asked_at.map_or(Duration::ZERO, |asked| self.clock.now().at.since(asked));
        let within = self.answer_timeout().saturating_sub(waited);
        self.ask(Matter::Question, question, rule, Some(within));
    }

    pub(super) fn ask(
        &mut self,
        matter: Matter,
        question: String,
        rule: Option<usize>,
        within: Option<Duration>,
    ) {
        let keyboard = self.has_keyboard.then(Keyboard::open).flatten();
        let until = within.map(|within| self.timers.active() + within);
        self.asking = Some(Asking { prompt: Prompt::new(matter, question), rule, until, keyboard });
    }

    fn answer_timeout(&self) -> Duration {
        open_question::answer_timeout(self.engine.policy().settings.intervention.as_ref())
    }

    fn on_timeout(&self) -> OnTimeout {
        open_question::on_timeout(self.engine.policy().settings.intervention.as_ref())
    }

    /// Shows the question where the run's phase is shown.
    pub(super) fn show_question(&mut self) {
        let Some(asking) = &self.asking else { return };
        let then = match (asking.prompt.matter, self.on_timeout()) {
            (Matter::Turn, _) => "",
            (Matter::Question, OnTimeout::Hold) => "holds",
            (Matter::Question, OnTimeout::Stop) => "stops",
        };
        self.phase = Phase::Asking {
            prompt: asking.prompt.clone(),
            left: asking.until.map(|until| until.saturating_sub(self.timers.active())),
            then,
        };
    }

    /// Keys were pressed while a question is open.
    pub(super) fn typed(&mut self, bytes: &[u8]) {
        let Some(asking) = &mut self.asking else { return };
        if let Some((choice, note)) = asking.prompt.typed(bytes) {
            // The prompt offers only what fits its matter.
            let _fits = self.said_by_a_person(choice, note, "terminal".to_owned());
        }
        self.show_question();
    }

    /// Takes an answer from wherever it comes. The first one counts; the others are told.
    pub(super) fn said_by_a_person(
        &mut self,
        choice: Choice,
        note: Option<String>,
        by: String,
    ) -> Reply {
        let Some(asking) = &self.asking else {
            return Reply::error(match &self.said {
                Some(Said { choice, by }) => format!("it was answered already: {choice}, by {by}"),
                None => "no question is open".to_owned(),
            });
        };
        let (matter, rule) = (asking.prompt.matter, asking.rule);
        if !matter.choices().contains(&choice) {
            let names: Vec<_> = matter.choices().iter().map(|choice| choice.as_str()).collect();
            return Reply::error(format!(
                "`{choice}` is no answer to \"{}\"; answer with {}",
                asking.prompt.question,
                names.join(", ")
            ));
        }
        let has_note = note.as_deref().is_some_and(|note| !note.trim().is_empty());
        if choice == Choice::Fix && !has_note {
            return Reply::error("`fix` needs a note that says what to do: --note \"…\"");
        }
        if has_note && matter == Matter::Turn {
            return Reply::error(format!("a note goes with `fix`, not with `{choice}`"));
        }
        let question = self.asking.take().map(|asking| asking.prompt.question);
        self.said = Some(Said { choice, by: by.clone() });
        let answer = match choice {
            Choice::Fix => Answer::Fix,
            Choice::Continue => Answer::Continue,
            Choice::Abort => Answer::Abort,
            Choice::Go | Choice::Skip | Choice::Stop => {
                self.turn = Some(choice);
                return self.done();
            }
        };
        let question = question.unwrap_or_default();
        let seq = self.take(Answered { question, answer, note, by: Some(by) });
        if answer == Answer::Abort {
            self.ordered = self.ordered.max(Some(Order::Kill));
        } else {
            self.let_changes_stay(rule);
            self.set_aside(rule);
        }
        Reply::done(Some(seq))
    }

    /// A rule that a person has seen and let pass does not count until the next iteration has ended,
    /// though what it looks at is as it was. Others, which nobody was shown, do.
    pub(super) fn set_aside(&mut self, rule: Option<usize>) {
        self.engine.decide(self.clock.now());
        let Some(rule) = rule.filter(|rule| self.engine.measure(*rule).truth.is_met()) else {
            return;
        };
        self.engine.refuse_claim(rule);
        self.let_pass.push(rule);
        let name = self.engine.policy().all_rules().nth(rule).map(|rule| rule.name().to_owned());
        self.note(Note::SetAside, name.unwrap_or_default());
    }

    /// Between two iterations: waits until the question is answered, or its time is over.
    pub(super) async fn intervene(&mut self, decision: Decision) -> Result<Next, RunError> {
        self.look_for_service().await;
        if !self.can_ask() && self.asking.is_none() {
            // It is told what was asked, and can be answered while the run is held.
            let question = question_of(&decision, self.engine.facts());
            self.take(Asked { question, unheard: true });
            return Ok(Next::Halt(Box::new(decision)));
        }
        self.put_question(&decision);
        self.clock.pause();
        let next = self.until_answered(decision).await;
        self.clock.run_on();
        next
    }

    async fn until_answered(&mut self, decision: Decision) -> Result<Next, RunError> {
        // Stagnation is asked about too, where recovering would not help.
        let wanted = self.decide();
        loop {
            let Some(asking) = &self.asking else { return Ok(Next::Decide) };
            let until = asking.until;
            if until.is_some_and(|until| self.timers.active() >= until) {
                self.asking = None;
                let verdict = match self.on_timeout() {
                    OnTimeout::Hold => Verdict::Hold,
                    OnTimeout::Stop => Verdict::Stop,
                };
                let end = halt::unanswered(decision, verdict, &self.engine);
                self.record(&end);
                return Ok(Next::Halt(Box::new(end)));
            }
            self.show_question();
            self.hear(until).await?;
            let verdict = self.decide();
            // What ends the run ends the question too; what has ceased needs no answer.
            if self.asking.is_some() && (self.ordered.is_some() || verdict != wanted) {
                // A machine that shuts down answers nothing: it is asked when the run goes on.
                match self.engine.facts().is_terminated() {
                    true => self.asking = None,
                    false => self.withdraw_question(),
                }
                return Ok(Next::Decide);
            }
        }
    }

    /// A question that is of no interest any more is closed, so that nobody answers it.
    pub(super) fn withdraw_question(&mut self) {
        // One that was open when the last supervisor ended is nobody's any more, either.
        let is_turn = |asking: Asking| asking.prompt.matter == Matter::Turn;
        if self.asking.take().is_some_and(is_turn) {
            return;
        }
        if let Some(question) = self.engine.facts().question().map(str::to_owned) {
            self.note(Note::Withdrawn, question);
        }
    }

    /// Hears the next thing while nothing runs.
    pub(super) async fn hear(&mut self, until: Option<Duration>) -> Result<(), RunError> {
        match self.next(None, until).await? {
            Happening::Asked(request) => self.answer(request).await,
            Happening::Signalled(signal) => self.signalled(signal).await,
            Happening::Answered(answers) => self.take_all(answers),
            Happening::Typed(bytes) => self.typed(&bytes),
            Happening::Due | Happening::Captured(_) | Happening::Exited(_) => {}
        }
        Ok(())
    }
}

/// How long it is believed that a service answers, or that none does.
const SERVED_FOR: Duration = Duration::from_secs(5);
