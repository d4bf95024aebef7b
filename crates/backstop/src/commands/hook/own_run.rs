//! A session that nobody supervises: a run of its own, which its hooks write.

use std::collections::BTreeMap;
use std::path::Path;

use backstop_adapters::hook::{Act, Answer, HookEvent, may_write_unnamed, targets};
use backstop_core::event::{EventKind, IterationFinished, IterationStarted, Note, Noted};
use backstop_core::policy::Policy;
use backstop_core::state::RunStatus;
use backstop_core::time::millis;
use backstop_core::verdict::Verdict;
use backstop_runner::clock::wall_time;
use backstop_runner::guards::session::Checked;
use backstop_runner::launch::Launch;
use backstop_runner::loading;
use backstop_runner::proof::Proof;
use backstop_runner::unsupervised::{self, Outcome, PinnedPolicy};
use backstop_store::{Run, RunFilter};

use super::failure::{self, Failure};
use super::session::{Notes, Place, Session};
use super::world::World;
use super::{Hook, halted, stopping, transcripts, tree_path};
use crate::error::Error;
use crate::input;
use crate::store::{Opened, caller};

/// Takes in what the agent tells, and decides.
pub fn judge(hook: &Hook<'_>) -> Result<Answer, Failure> {
    if hook.input.session().is_empty() {
        let message = "the input has no `session_id`".to_owned();
        return Err(Error::BadData { place: "<stdin>".to_owned(), message }.into());
    }
    let opened = Opened::new(&hook.arguments.store)?;
    let place = Place::new(&opened.home, hook.agent, hook.input.session());
    let own = OwnRun { hook, opened, place };
    let run = own.attach()?;
    match hook.event {
        HookEvent::SessionStart => own.session_start(&run),
        HookEvent::UserPromptSubmit => own.prompt(&run),
        HookEvent::PreToolUse => own.before_tool(&run),
        HookEvent::Stop => stopping::judge(&own, &run),
        HookEvent::SessionEnd => own.session_end(&run),
        _ => own.report(&run),
    }
}

/// The run of a session.
pub struct OwnRun<'a> {
    pub hook: &'a Hook<'a>,
    pub opened: Opened,
    pub place: Place,
}

impl OwnRun<'_> {
    /// The session's run; one is begun where there is none, or where the last one is complete and
    /// somebody wants more.
    fn attach(&self) -> Result<Run, Failure> {
        if let Some(run) = self.noted(&self.place.peek())? {
            return Ok(run);
        }
        let mut session = self.lock()?;
        // Another hook may have been faster.
        if let Some(run) = self.noted(&session.notes)? {
            return Ok(run);
        }
        let known = match session.notes.run {
            Some(_) => None,
            None => self.labelled()?,
        };
        let goes_on = matches!(self.hook.input.source(), "resume" | "fork");
        let run = match known {
            Some(run) => run,
            // A later run of the same session finds the work of the earlier one.
            None => self.begin(session.notes.run.is_none() && !goes_on)?,
        };
        let is_new = session.notes.transcripts.is_empty();
        if is_new && goes_on {
            transcripts::skip(self.hook, &mut session.notes);
        }
        let Notes { transcripts, model, .. } = std::mem::take(&mut session.notes);
        session.notes = Notes { run: Some(run.id), transcripts, model, ..Notes::default() };
        self.save(&session)?;
        self.place.tidy();
        Ok(run)
    }

    /// The run that the notes name, if it is the one to go on with.
    fn noted(&self, notes: &Notes) -> Result<Option<Run>, Failure> {
        let Some(id) = notes.run else { return Ok(None) };
        let run = self.opened.wait(self.opened.store.run_fetch(id))?;
        let wants_more =
            matches!(self.hook.event, HookEvent::SessionStart | HookEvent::UserPromptSubmit);
        Ok(run.filter(|run| !(wants_more && run.status == RunStatus::Completed)))
    }

    /// The session's run by its labels, should the notes be lost.
    fn labelled(&self) -> Result<Option<Run>, Failure> {
        let filter = RunFilter { labels: self.labels(), limit: Some(1), ..RunFilter::default() };
        let found = self.opened.wait(self.opened.store.run_list(&filter))?;
        Ok(found.into_iter().find(|run| run.status != RunStatus::Completed && !run.supervised))
    }

    fn begin(&self, is_first: bool) -> Result<Run, Failure> {
        let hook = self.hook;
        let named = failure::named(hook.arguments.policy.as_deref(), &hook.cwd());
        let source = match input::policy(Some(&named)) {
            Ok(Ok(source)) => source,
            Ok(Err(refused)) => return Err(Failure::Policy(refused.render(false))),
            Err(error) => return Err(Failure::Policy(error.to_string())),
        };
        let pinned = PinnedPolicy {
            policy: source.loaded.policy,
            text: source.text,
            name: source.name,
            put_by: caller(),
        };
        let launch = Launch {
            // What is shown: nobody starts it from here.
            command: vec![hook.agent.name().to_owned()],
            cwd: hook.cwd(),
            labels: self.labels(),
            policy_file: input::policy_path(Some(&named)),
            ..Launch::default()
        };
        let (store, home) = (&*self.opened.store, &self.opened.home);
        let id = self.opened.wait(unsupervised::begin(store, home, &pinned, &launch))?;
        let run = self.opened.wait(store.run_fetch(id))?;
        let run = run.ok_or(backstop_store::StoreError::NoRun(id))?;
        let world = World::new(&self.opened, &run, &pinned.policy);
        world.first_look();
        let guards = world.guards();
        let checked = guards.map(|guards| self.opened.wait(guards.begin(store, is_first)));
        let checked = checked.unwrap_or_default();
        if checked.events.is_empty() {
            return Ok(run);
        }
        self.take_in(&run, checked.events, Proof::default())?;
        if let Some(why) = checked.unchecked {
            return Err(Failure::Unguarded(why));
        }
        let run = self.opened.wait(store.run_fetch(id))?;
        Ok(run.ok_or(backstop_store::StoreError::NoRun(id))?)
    }

    /// What is left to check of a turn that was broken off; what is there then is none of the next
    /// one's doing.
    fn turn_guards(&self, run: &Run, policy: &Policy, notes: &Notes) -> Result<Checked, Failure> {
        let world = World::new(&self.opened, run, policy);
        let Some(guards) = world.guards() else { return Ok(Checked::default()) };
        let checked = match notes.is_working() {
            true => self.opened.wait(guards.check(notes.iteration)),
            false => Checked::default(),
        };
        self.opened.wait(guards.begin_turn()).map_err(Failure::Unguarded)?;
        Ok(checked)
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let session: String = self.hook.input.session().chars().take(LONGEST_LABEL).collect();
        let labels = [("agent", self.hook.agent.name().to_owned()), ("session", session)];
        labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn session_start(&self, run: &Run) -> Result<Answer, Failure> {
        let model = self.hook.input.model();
        if !model.is_empty() {
            let mut session = self.lock()?;
            model.clone_into(&mut session.notes.model);
            self.save(&session)?;
        }
        let act = if is_blocked(run.status) { stored_halt(run) } else { Default::default() };
        let notice = match &act {
            Act::Halt(why) => Some(why.clone()),
            _ => None,
        };
        Ok(Answer { act, notice })
    }

    fn prompt(&self, run: &Run) -> Result<Answer, Failure> {
        if is_blocked(run.status) {
            return Ok(stored_halt(run).into());
        }
        let policy = self.policy(run)?;
        let mut session = self.lock()?;
        let checked = self.turn_guards(run, &policy, &session.notes)?;
        let mut events = checked.events.clone();
        events.extend(transcripts::news(self.hook, &policy, &mut session.notes));
        // A turn that a person broke off has no end of its own, and did not fail.
        events.extend(self.turn_cut_off(&policy, &mut session.notes, 0));
        events.extend(self.hook.input.events(self.hook.agent, &self.hook.moment()));
        events.extend(turn_started(&mut session.notes));
        (session.notes.sent_back, session.notes.acted) = (0, false);
        let outcome = self.take_in(run, events, Proof::default())?;
        self.save(&session)?;
        guarded(answer_of(run, &outcome), checked)
    }

    fn before_tool(&self, run: &Run) -> Result<Answer, Failure> {
        if is_blocked(run.status) {
            return Ok(stored_halt(run).into());
        }
        let mut loaded = self.opened.wait(loading::load(&*self.opened.store, run.id))?;
        let moment = loaded.engine.moment(wall_time());
        let verdict = loaded.engine.decide(moment).verdict;
        // Time alone may have decided since the last hook.
        if run.status != RunStatus::Completed && is_blocked(RunStatus::after(verdict)) {
            let outcome = self.take_in(run, Vec::new(), Proof::default())?;
            return Ok(answer_of(run, &outcome));
        }
        let cwd = self.hook.cwd();
        let Some(why) = refused(self.hook, loaded.engine.policy(), Path::new(&run.cwd), &cwd)
        else {
            return Ok(Answer::default());
        };
        let noted = Noted { what: Note::Refused, detail: why.clone() };
        self.take_in(run, vec![noted.into()], Proof::default())?;
        Ok(Act::Deny(why).into())
    }

    /// What needs no judgement but the policy's.
    fn report(&self, run: &Run) -> Result<Answer, Failure> {
        let (hook, event) = (self.hook, self.hook.event);
        let policy = self.policy(run)?;
        let is_call = matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure);
        let is_over = run.status.is_halted();
        // A look takes its time, so other hooks are not made to wait for it.
        let checked = match is_call && !is_over && may_write_unnamed(hook.input) {
            true => {
                let iteration = self.place.peek().iteration;
                World::new(&self.opened, run, &policy).check_guards(iteration)
            }
            false => Checked::default(),
        };
        let mut session = self.lock()?;
        if is_over {
            session.notes.forget_turn();
        }
        let mut events = self.overdue(&policy, &mut session.notes);
        if !is_over && (is_call || event == HookEvent::StopFailure) {
            events.extend(turn_started(&mut session.notes));
            session.notes.acted |= is_call;
        }
        events.extend(hook.input.events(hook.agent, &hook.moment()));
        events.extend(transcripts::news(hook, &policy, &mut session.notes));
        events.extend(checked.events.iter().cloned());
        if event == HookEvent::StopFailure {
            events.extend(self.turn_cut_off(&policy, &mut session.notes, 1));
        }
        if events.is_empty() {
            return Ok(Answer::default());
        }
        let outcome = self.take_in(run, events, Proof::default())?;
        self.save(&session)?;
        match event {
            HookEvent::SubagentStop | HookEvent::StopFailure => Ok(Answer::default()),
            _ => guarded(answer_of(run, &outcome), checked),
        }
    }

    fn session_end(&self, run: &Run) -> Result<Answer, Failure> {
        let policy = self.policy(run)?;
        let mut session = self.lock()?;
        if run.status.is_halted() {
            session.notes.forget_turn();
        }
        let mut events = transcripts::news(self.hook, &policy, &mut session.notes);
        // A turn that the end of the session breaks off has no stop of its own.
        if session.notes.is_working() {
            let world = World::new(&self.opened, run, &policy);
            events.extend(world.check_guards(session.notes.iteration).events);
        }
        events.extend(self.turn_cut_off(&policy, &mut session.notes, 0));
        if !events.is_empty() {
            self.take_in(run, events, Proof::default())?;
        }
        let (store, home) = (&*self.opened.store, &self.opened.home);
        self.opened.wait(unsupervised::end(store, home, run.id, caller()))?;
        self.save(&session)?;
        Ok(Answer::default())
    }

    pub fn policy(&self, run: &Run) -> Result<Policy, Failure> {
        Ok(self.opened.policy(run)?)
    }

    pub fn lock(&self) -> Result<Session, Failure> {
        Ok(Session::lock(&self.place).map_err(Error::from)?)
    }

    pub fn save(&self, session: &Session) -> Result<(), Failure> {
        Ok(session.save().map_err(Error::from)?)
    }

    pub fn take_in(
        &self,
        run: &Run,
        events: Vec<EventKind>,
        proof: Proof,
    ) -> Result<Outcome, Failure> {
        let (store, home) = (&*self.opened.store, &self.opened.home);
        let taken = unsupervised::take_in(store, home, run.id, events, proof);
        Ok(self.opened.wait(taken)?)
    }

    /// The turn that is under way is over.
    pub fn turn_ended(&self, notes: &mut Notes, exit_code: i32) -> Option<EventKind> {
        let since = notes.turn_since.take()?;
        let until = notes.stopped_at.take().unwrap_or_else(wall_time);
        let ended = IterationFinished {
            iteration: Some(notes.iteration),
            exit_code: Some(exit_code),
            duration_ms: millis(until.since(since)),
            ..IterationFinished::default()
        };
        Some(ended.into())
    }

    /// The agent has stopped, and it was left open what its turn has used: what the transcript tells by
    /// now is all.
    pub fn overdue(&self, policy: &Policy, notes: &mut Notes) -> Vec<EventKind> {
        if notes.stopped_at.is_none() {
            return Vec::new();
        }
        let mut events = transcripts::news(self.hook, policy, notes);
        events.extend(self.turn_ended(notes, 0));
        events
    }

    /// The turn that is under way is over, and the agent did not end it: it died, or a person broke it
    /// off. Then a transcript without figures says that there is nothing to count.
    fn turn_cut_off(&self, policy: &Policy, notes: &mut Notes, exit_code: i32) -> Vec<EventKind> {
        let is_unused = notes.is_working() && transcripts::owes_figures(self.hook, policy, notes);
        let unused = is_unused.then(transcripts::nothing_used);
        unused.into_iter().chain(self.turn_ended(notes, exit_code)).collect()
    }
}

/// A turn begins, unless one is under way.
pub fn turn_started(notes: &mut Notes) -> Option<EventKind> {
    if notes.turn_since.is_some() {
        return None;
    }
    notes.turn_since = Some(wall_time());
    notes.metered = false;
    notes.iteration += 1;
    Some(IterationStarted { iteration: Some(notes.iteration) }.into())
}

/// Why a tool may not write what it names.
pub fn refused(hook: &Hook<'_>, policy: &Policy, root: &Path, cwd: &Path) -> Option<String> {
    let guards = policy.settings.guards.as_ref()?;
    targets(hook.input).into_iter().find_map(|named| {
        let path = tree_path::within(root, cwd, named)?;
        let guarded = guards.violated_by(&path)?;
        let path = String::from_utf8_lossy(&path);
        Some(format!("backstop: `{path}` may not be written: {}", guarded.why))
    })
}

/// What is answered where no answer of the decision's own is wanted: nothing, unless the run ended.
/// A run that is complete ends when the agent stops, and not in the middle of its last words.
fn answer_of(run: &Run, outcome: &Outcome) -> Answer {
    if is_blocked(outcome.state.run_status) {
        halt_of(run, outcome).into()
    } else {
        Answer::default()
    }
}

/// The answer, with what the guards' user should know. A guard that can't be checked is not taken
/// for one that holds.
pub fn guarded(answer: Answer, checked: Checked) -> Result<Answer, Failure> {
    if let Some(why) = checked.unchecked {
        return Err(Failure::Unguarded(why));
    }
    let notices = answer.notice.iter().cloned().chain(checked.notices);
    let notices: Vec<String> = notices.collect();
    let notice = (!notices.is_empty()).then(|| notices.join("\n"));
    Ok(Answer { notice, ..answer })
}

/// Why the run has just ended, or had ended before.
pub fn halt_of(run: &Run, outcome: &Outcome) -> Act {
    let reason = outcome.state.stop_reason.as_ref();
    let code = reason.map(|reason| reason.code.as_str()).or(outcome.answer.reason());
    let message = reason.map_or(outcome.answer.message(), |reason| reason.message.as_str());
    if outcome.state.run_status == RunStatus::Completed {
        return Act::Halt(format!("backstop: run {} is complete: {message}", run.id));
    }
    let is_held = outcome.state.run_status == RunStatus::Held;
    halted(run.id.as_str(), is_held, code, message)
}

/// Why a run had ended before.
pub fn stored_halt(run: &Run) -> Act {
    let field = |path: &str| run.state.pointer(path).and_then(serde_json::Value::as_str);
    let message = field("/stop_reason/message").unwrap_or("it has ended");
    let is_held = run.status == RunStatus::Held;
    halted(run.id.as_str(), is_held, field("/stop_reason/code"), message)
}

/// Whether an agent may do nothing more for a run.
pub fn is_blocked(status: RunStatus) -> bool {
    status.is_halted() && status != RunStatus::Completed
}

/// Whether a verdict ends what the agent does now.
pub fn ends_now(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Stop | Verdict::Kill | Verdict::Fail | Verdict::Hold)
}

const LONGEST_LABEL: usize = 200;
