//! The agent wants to stop: may it, must it, or is something still missing?

use backstop_adapters::hook::{Act, Answer, HookAgent, markers, matches};
use backstop_core::condition::Condition;
use backstop_core::event::{
    Event, EventKind, IterationFinished, Review, ReviewOutcome, Verification, VerificationOutcome,
};
use backstop_core::policy::{Policy, ReviewTime};
use backstop_core::verdict::Verdict;
use backstop_runner::clock::wall_time;
use backstop_runner::guards::session::Checked;
use backstop_runner::loading::{self, Loaded};
use backstop_runner::proof::Proof;
use backstop_runner::unsupervised::Outcome;
use backstop_store::Run;
use serde_json::Value as Json;

use super::failure::Failure;
use super::own_run::{OwnRun, guarded, halt_of, turn_started};
use super::session::Notes;
use super::transcripts;
use super::world::{Reviewed, World};

pub fn judge(own: &OwnRun<'_>, run: &Run) -> Result<Answer, Failure> {
    let hook = own.hook;
    let message = hook.input.last_message();
    let loaded = own.opened.wait(loading::load(&*own.opened.store, run.id))?;
    let policy = loaded.engine.policy().clone();
    let is_over = run.status.is_halted();
    // Scripts and the verification take their time, so other hooks are not made to wait for them.
    let mut seen: Vec<EventKind> = Vec::new();
    let mut verification = None;
    let mut reviewed = Reviewed::default();
    let mut checked = Checked::default();
    let mut is_claimed = false;
    if !is_over {
        let world = World::new(&own.opened, run, &policy);
        let Notes { iteration, acted, .. } = own.place.peek();
        checked = world.check_guards(iteration);
        seen.extend(checked.events.iter().cloned());
        seen.extend(matches(&policy, message).into_iter().map(EventKind::from));
        seen.extend(markers(&policy, message).into_iter().map(EventKind::from));
        seen.extend(world.look());
        let settings = &policy.settings;
        let is_judged = settings.verify.is_some() || settings.review.is_some();
        is_claimed = claims_completion(loaded, &seen);
        let claims = is_judged && is_claimed;
        if claims {
            verification = world.verify(iteration);
        }
        let failed = verification.as_ref().is_some_and(|verification| !passed(verification));
        // A turn in which nothing was done leaves nothing to review.
        let is_due = claims || (acted && reviews_every_turn(&policy));
        if is_due && !failed {
            reviewed = world.review(iteration);
        }
    }
    let mut session = own.lock()?;
    if is_over {
        session.notes.forget_turn();
    }
    let mut events = own.overdue(&policy, &mut session.notes);
    if !is_over {
        events.extend(turn_started(&mut session.notes));
    }
    events.extend(hook.input.events(hook.agent, &hook.moment()));
    events.extend(transcripts::awaited_news(hook, &policy, &mut session.notes));
    events.extend(seen.iter().cloned());
    events.extend(verification.clone().map(EventKind::from));
    events.extend(reviewed.events());
    match transcripts::owes_figures(hook, &policy, &session.notes) {
        _ if is_over => {}
        // The answer is on its way to the transcript: whether there are figures is asked again at the
        // next step.
        true if !is_claimed => session.notes.stopped_at = Some(wall_time()),
        is_open => {
            events.extend(is_open.then(transcripts::nothing_used));
            events.extend(own.turn_ended(&mut session.notes, 0));
        }
    }
    let proof = Proof {
        verification: verification.as_ref().map(|verification| verification.outcome),
        review: reviewed.review.as_ref().map(|review| review.outcome),
    };
    let outcome = own.take_in(run, events, proof)?;
    let answer = if outcome.state.run_status.is_halted() {
        // Another hook may want to keep the agent at it; this is the one answer that it can't undo.
        halt_of(run, &outcome).into()
    } else {
        let missing = missing(&policy, &outcome, &seen, verification.as_ref(), &reviewed);
        send_back(own, &policy, &mut session.notes, missing)
    };
    own.save(&session)?;
    guarded(answer, checked)
}

fn reviews_every_turn(policy: &Policy) -> bool {
    let settings = policy.settings.review.as_ref();
    settings.is_some_and(|set| set.when.unwrap_or_default() == ReviewTime::Every)
}

/// Whether the policy would call the work done, if that were all it took.
fn claims_completion(loaded: Loaded, seen: &[EventKind]) -> bool {
    let (mut engine, now) = (loaded.engine, wall_time());
    let ended = IterationFinished { exit_code: Some(0), ..IterationFinished::default() };
    // The turn's figures are read later, and a meter is not silent for that.
    for event in seen.iter().cloned().chain([transcripts::nothing_used(), ended.into()]) {
        engine.handle_event(&Event { at: Some(now), ..Event::new(event) }, now);
    }
    let moment = engine.moment(now);
    engine.decide(moment).verdict == Verdict::Complete
}

/// Lets the agent stop, or sends it back to what is missing. It is not sent back without end, not
/// for what it did nothing about the last time, and not while others work for it.
fn send_back(
    own: &OwnRun<'_>,
    policy: &Policy,
    notes: &mut Notes,
    missing: Option<String>,
) -> Answer {
    let Some(missing) = missing else { return Answer::default() };
    let input = own.hook.input;
    let given_up = input.was_sent_back() && !notes.acted;
    if notes.sent_back >= most_blocks(policy, own.hook.agent) || given_up {
        let notice = format!(
            "backstop lets the agent stop after sending it back {} in a row. {missing}",
            times(notes.sent_back)
        );
        return Answer { act: Act::Nothing, notice: Some(notice) };
    }
    if input.waits_for_others() {
        return Answer::default();
    }
    notes.sent_back += 1;
    notes.acted = false;
    Act::SendBack(format!(
        "{missing}\nGo on until it is done. If you can't, say what stops you and stop again."
    ))
    .into()
}

/// What the policy still waits for to call the work done; nothing where it waits for nothing.
fn missing(
    policy: &Policy,
    outcome: &Outcome,
    seen: &[EventKind],
    verification: Option<&Verification>,
    reviewed: &Reviewed,
) -> Option<String> {
    if let Some(review) = reviewed.review.as_ref().filter(|review| !approves(review)) {
        let words = match review.outcome {
            ReviewOutcome::Rejected => "the review rejected it",
            _ => "the review asks for changes",
        };
        let requests = review.requests.iter().flatten().map(|request| format!("\n- {request}"));
        let requests: String = requests.collect();
        return Some(format!("The work is not done yet: {words}:{requests}"));
    }
    let progress = outcome.answer.get("progress").and_then(Json::as_array);
    let note = |index: usize| {
        let entries = progress?.iter();
        let mut of_rule = entries
            .filter(|entry| entry.get("rule").and_then(Json::as_u64) == u64::try_from(index).ok());
        of_rule.next()?.get("note")?.as_str()
    };
    let waited_for: Vec<&str> = policy
        .all_rules()
        .enumerate()
        .filter(|(_, rule)| rule.then == Verdict::Complete && !rule.shadow)
        .filter(|(_, rule)| can_come_true(&rule.when, seen))
        .filter_map(|(index, _)| note(index))
        .filter(|note| !note.is_empty())
        .collect();
    if waited_for.is_empty() {
        return None;
    }
    if let Some(verification) = verification.filter(|verification| !passed(verification)) {
        let detail = verification.detail.as_deref().unwrap_or("it did not pass");
        return Some(format!("The work is not done yet: the verification failed: {detail}"));
    }
    if let Some(why) = reviewed.unheard.first() {
        return Some(format!("The work is not done yet: {why}"));
    }
    Some(format!("The work is not done yet: {}.", waited_for.join("; or ")))
}

fn approves(review: &Review) -> bool {
    review.outcome == ReviewOutcome::Approved
}

fn passed(verification: &Verification) -> bool {
    verification.outcome == VerificationOutcome::Passed
}

/// Whether anybody looks at what a condition is about, so that the agent's work can make it true.
fn can_come_true(when: &Condition, seen: &[EventKind]) -> bool {
    match when {
        Condition::FileCreated(_)
        | Condition::FileContains(_)
        | Condition::CustomScript(_)
        | Condition::OutputPattern(_) => true,
        Condition::TasksDone(_) => seen.iter().any(|event| matches!(event, EventKind::Tasks(_))),
        Condition::All(parts) => parts.iter().all(|part| can_come_true(part, seen)),
        Condition::Any(parts) => parts.iter().any(|part| can_come_true(part, seen)),
        Condition::Not(part) => can_come_true(part, seen),
        _ => false,
    }
}

/// As often as the policy says, and not more often than the agent bears: what it does not hear is not
/// said, and the record stays true.
fn most_blocks(policy: &Policy, agent: HookAgent) -> u64 {
    let set = policy.settings.hooks.as_ref().and_then(|hooks| hooks.most_blocks);
    let wanted = set.map_or(DEFAULT_MOST_BLOCKS, |count| count.0);
    if agent != HookAgent::ClaudeCode {
        return wanted;
    }
    let set = std::env::var(CLAUDE_CAP).ok().and_then(|text| text.trim().parse().ok());
    match set.unwrap_or(DEFAULT_CLAUDE_CAP) {
        0 => wanted,
        cap => wanted.min(cap),
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

const DEFAULT_MOST_BLOCKS: u64 = 6;
/// After so many Claude Code lets its agent go, whatever a hook says; with 0 after none.
const CLAUDE_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
const DEFAULT_CLAUDE_CAP: u64 = 8;
