//! The bodies of the fuzz targets: any bytes go in, and what must always hold is asserted.

use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind, Review, ReviewOutcome};
use backstop_core::policy::{Policy, Preset};
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

use crate::hook::{
    Act, Answer, HookAgent, HookEvent, HookInput, Transcript, TranscriptReader, markers, matches,
    may_write_unnamed, targets,
};
use crate::report::{Format, Pattern};
use crate::review::Said;
use crate::{
    Adapter, Agent, Auto, Exit, Export, Framer, Heard, JsonlMapping, Moment, Outcome, Record,
    Telemetry, Translator,
};
use crate::{Jsonl, closed, report, trajectory};

/// An adapter reads any bytes. It tells the same however they are cut, and only what can be kept in
/// a journal; a bad exit is never a success.
///
/// # Panics
/// Where that does not hold.
pub fn agent(agent: Agent, data: &[u8]) {
    adapter(data, || match agent {
        Agent::Jsonl => Box::new(Jsonl::new(mapping())),
        agent => agent.adapter(),
    });
}

/// The same where nobody says whose output it is: it is found out, and may be that of several.
///
/// # Panics
/// Where that does not hold.
pub fn agent_auto(data: &[u8]) {
    adapter(data, || Box::new(Auto::new()));
}

fn adapter(data: &[u8], new: impl Fn() -> Box<dyn Adapter>) {
    let (whole, outcome) = told(new(), data, data.len().max(1), None);
    let (in_pieces, pieces_outcome) = told(new(), data, 7, None);
    assert_eq!((&whole, outcome), (&in_pieces, pieces_outcome), "cuts change what is told");
    let failed = Exit { code: Some(1), signal: None };
    assert_ne!(told(new(), data, data.len().max(1), Some(failed)).1, Outcome::Succeeded);
    keep_and_decide(whole);
}

/// A trajectory is recognised or not, and read without harm; so is what is whole of one that was
/// cut off.
///
/// # Panics
/// Where that does not hold.
pub fn trajectory(data: &[u8]) {
    let whole = closed(data);
    let last = trajectory::recognise(data).and_then(|kind| kind.with_last_closed(data));
    for data in [Some(data), whole.as_deref(), last.as_deref()].into_iter().flatten() {
        let Some(kind) = trajectory::recognise(data) else { continue };
        let mut translator = Translator::default();
        let mut events = Vec::new();
        kind.read(data, &moment(), &mut |heard: Heard<'_>| events.extend(translator.events(heard)));
        keep_and_decide(events);
    }
}

/// A test report is read or refused. What is read holds together.
///
/// # Panics
/// Where that does not hold.
pub fn report(format: Format, data: &[u8]) {
    let Some(report) = report::recognise(data, Some(format)) else { return };
    assert_eq!(report::recognise(data, Some(format)), Some(report.clone()), "it is read the same");
    assert!(report.broken.is_none() || !report.succeeded(), "a broken report is no success");
    keep_and_decide(vec![report.event().into()]);
}

/// A pattern is refused or finds something in the lines below it, which can be kept.
///
/// # Panics
/// Where that does not hold.
pub fn report_pattern(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (pattern, output) = data.split_at(end);
    let Ok(pattern) = String::from_utf8_lossy(pattern).parse::<Pattern>() else { return };
    let Some(report) = pattern.read(output) else { return };
    assert_eq!(report.format, Format::Regex);
    keep_and_decide(vec![report.event().into()]);
}

/// What an agent sends to a hook is understood or refused. What is understood can be kept in a
/// journal, and whatever is answered is one JSON object that its event takes.
///
/// # Panics
/// Where that does not hold.
pub fn hook(data: &[u8]) {
    let Ok(input) = HookInput::read(data) else { return };
    assert!(!input.event_name().is_empty(), "what was read says what it is about");
    assert!(targets(&input).iter().all(|path| !path.is_empty()), "a file has a name");
    let policy = Policy::preset(Preset::Ralph);
    let found = matches(&policy, input.last_message()).into_iter().map(EventKind::from);
    let marked = markers(&policy, input.last_message()).into_iter().map(EventKind::from);
    let mut events: Vec<EventKind> = found.chain(marked).collect();
    for agent in HookAgent::ALL {
        let told = input.events(agent, &moment());
        let expected = usize::from(input.event() != HookEvent::Other);
        assert!(told.len() <= expected, "one call tells of one thing");
        events.extend(told);
    }
    keep_and_decide(events);
    let why = || format!("{}: {}", input.tool_name(), input.last_message());
    let acts = [Act::Deny(why()), Act::Halt(why()), Act::SendBack(why()), Act::Tell(why())];
    for act in acts {
        let notice = may_write_unnamed(&input).then(why);
        let Some(answer) = (Answer { act, notice }).render(input.event()) else { continue };
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        assert!(answer.is_object(), "an answer is one object");
    }
}

/// A transcript is read on from where it was left. It tells the same however it is cut, never reads
/// beyond its end, and what is remembered of it can be kept.
///
/// # Panics
/// Where that does not hold.
pub fn hook_transcript(data: &[u8]) {
    for agent in HookAgent::ALL {
        let read = |state: Transcript, piece: usize, data: &[u8]| {
            let mut reader = TranscriptReader::new(agent, state, "", &moment());
            data.chunks(piece).for_each(|piece| reader.push(piece));
            reader.finish()
        };
        let (state, events) = read(Transcript::default(), data.len().max(1), data);
        let pieces = read(Transcript::default(), 7, data);
        assert_eq!((&state, &events), (&pieces.0, &pieces.1), "cuts change what is told");
        let rest = usize::try_from(state.offset).ok().and_then(|offset| data.get(offset..));
        let rest = rest.unwrap_or_else(|| panic!("{} bytes of {}", state.offset, data.len()));
        assert!(!rest.contains(&b'\n'), "only the last line may be unfinished");
        let kept = serde_json::to_string(&state).unwrap_or_default();
        let again: Option<Transcript> = serde_json::from_str(&kept).ok();
        assert_eq!(again.as_ref(), Some(&state), "a session can't keep it: {kept}");
        keep_and_decide(events);
    }
}

/// An export of telemetry is read or refused, and tells only what can be kept.
///
/// # Panics
/// Where that does not hold.
pub fn telemetry(data: &[u8]) {
    let Ok(export) = Export::read(data) else { return };
    let (mut telemetry, mut translator) = (Telemetry::default(), Translator::default());
    let mut events = Vec::new();
    // The second time it is one that an exporter has sent again.
    let mut hear = |heard: Heard<'_>| events.extend(translator.events(heard));
    for _ in 0..2 {
        telemetry.hear(&export, &moment(), &mut hear);
        let corrected = telemetry.corrected().into_iter().flatten();
        corrected.for_each(|usage| hear(Heard::Event(usage.into())));
        assert_eq!(telemetry.corrected(), None, "what was corrected is right");
        telemetry.iteration_started();
    }
    telemetry.tell_refused(&mut hear);
    keep_and_decide(events);
}

/// What a reviewer says has a verdict or none. Who approves asks for nothing.
///
/// # Panics
/// Where that does not hold.
pub fn review(data: &[u8]) {
    let Some(said) = Said::read(data) else { return };
    let approved = said.outcome == ReviewOutcome::Approved;
    assert!(!approved || said.requests.is_empty(), "an approval asks for nothing");
    keep_and_decide(vec![Review::from(said).into()]);
}

fn told(
    mut adapter: Box<dyn Adapter>,
    data: &[u8],
    piece: usize,
    exit: Option<Exit>,
) -> (Vec<EventKind>, Outcome) {
    let mut translator = Translator::default();
    let mut events = Vec::new();
    let mut hear = |heard: Heard<'_>| events.extend(translator.events(heard));
    let moment = moment();
    let mut framer = Framer::new();
    let mut read = |record: Record<'_>| adapter.record(record, &moment, &mut hear);
    for piece in data.chunks(piece) {
        framer.push(piece, &mut read);
    }
    framer.finish(&mut read);
    let outcome = adapter.finish(exit, &moment, &mut hear);
    (events, outcome)
}

fn keep_and_decide(events: Vec<EventKind>) {
    let mut engine = Engine::new(Policy::preset(Preset::Ralph));
    for kind in events {
        let event = Event::new(kind);
        let written = event.to_json();
        let again = Event::from_json(written.as_bytes());
        assert_eq!(again.as_ref(), Ok(&event), "a journal can't keep it: {written}");
        engine.handle_event(&event, Timestamp::default());
        engine.decide(engine.moment(Timestamp::default()));
    }
}

fn mapping() -> JsonlMapping {
    let fields = r#"{"input_tokens":"usage.in","output_tokens":"usage.out","cost_usd":"usd",
        "message":"text","error":"error","model":"model","totals":true}"#;
    serde_json::from_str(fields).unwrap_or_default()
}

fn moment() -> Moment {
    Moment {
        now: Timestamp::default(),
        is_known: true,
        is_live: false,
        zone: TimeZone::UTC,
        zone_named: |_| None,
    }
}
