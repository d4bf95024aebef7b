//! A session inside of a run that somebody supervises: its events go to that run.

use std::path::Path;

use backstop_adapters::hook::{Act, Answer, HookEvent};
use backstop_core::event::{Event, EventKind};
use backstop_core::policy::Policy;
use backstop_core::verdict::Verdict;
use backstop_runner::socket::Answer as Decided;
use backstop_store::Run;

use super::failure::Failure;
use super::own_run::{ends_now, is_blocked, refused, stored_halt};
use super::session::{Place, Session};
use super::{Hook, halted, transcripts};
use crate::commands::emit::Way;
use crate::error::Error;
use crate::store::Opened;
use crate::terminal::Terminal;

/// Tells the supervisor, and passes its decision on. When and whether the agent is started again is
/// the supervisor's affair, so it is never sent back to its work here.
pub fn judge(hook: &Hook<'_>, run: &str, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let known = Known::find(hook, run);
    let starts = matches!(hook.event, HookEvent::PreToolUse | HookEvent::UserPromptSubmit);
    if let Some(Known { run, .. }) = &known
        && starts
        && is_blocked(run.status)
    {
        return Ok(stored_halt(run).into());
    }
    if hook.event == HookEvent::PreToolUse
        && let Some(Known { run, policy, .. }) = &known
        && let Some(why) = refused(hook, policy, Path::new(&run.cwd), &hook.cwd())
    {
        return Ok(Act::Deny(why).into());
    }
    let mut way = Way::open(None, &hook.arguments.store)?;
    let mut decided = None;
    // What the agent prints or exports too is left out by the supervisor, who alone knows.
    for event in events(hook, known.as_ref())? {
        decided = Some(way.hooked(&Event::new(event), terminal)?);
    }
    let decided = match decided {
        Some(decided) => Some(decided),
        None => way.decision()?,
    };
    Ok(decided.map(|decided| passed_on(hook, run, &decided)).unwrap_or_default())
}

fn passed_on(hook: &Hook<'_>, run: &str, decided: &Decided) -> Answer {
    let verdict = decided.verdict().and_then(|name| name.parse::<Verdict>().ok());
    let listens = !matches!(hook.event, HookEvent::SubagentStop | HookEvent::StopFailure);
    if listens && verdict.is_some_and(ends_now) {
        let is_held = verdict == Some(Verdict::Hold);
        return halted(run, is_held, decided.reason(), decided.message()).into();
    }
    Answer::default()
}

/// What the store knows of the run, where it can be read from here.
struct Known {
    opened: Opened,
    run: Run,
    policy: Policy,
}

impl Known {
    fn find(hook: &Hook<'_>, run: &str) -> Option<Self> {
        let opened = Opened::new(&hook.arguments.store).ok()?;
        let run = opened.run(run).ok()?;
        let policy = opened.policy(&run).ok()?;
        Some(Self { opened, run, policy })
    }
}

/// What the supervised side may report of this hook.
fn events(hook: &Hook<'_>, known: Option<&Known>) -> Result<Vec<EventKind>, Failure> {
    let mut events = match hook.event {
        // The prompt is the supervisor's own, and no person's word.
        HookEvent::UserPromptSubmit => Vec::new(),
        _ => hook.input.events(hook.agent, &hook.moment()),
    };
    // Without a store there is nowhere to remember how far the transcript was read, and what is
    // told once must not be told again.
    if let Some(known) = known {
        let place = Place::new(&known.opened.home, hook.agent, hook.input.session());
        let mut session = Session::lock(&place).map_err(Error::from)?;
        let goes_on = matches!(hook.input.source(), "resume" | "fork");
        if goes_on && session.notes.transcripts.is_empty() {
            transcripts::skip(hook, &mut session.notes);
        }
        events.extend(transcripts::news(hook, &known.policy, &mut session.notes));
        session.save().map_err(Error::from)?;
    }
    Ok(events)
}
