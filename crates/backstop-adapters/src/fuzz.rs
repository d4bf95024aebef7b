//! The bodies of the fuzz targets: any bytes go in, and what must always hold is asserted.

use backstop_core::engine::Engine;
use backstop_core::event::{Event, EventKind};
use backstop_core::policy::{Policy, Preset};
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;

use crate::report::Format;
use crate::{
    Adapter, Agent, Exit, Framer, Heard, JsonlMapping, Moment, Outcome, Record, Translator,
};
use crate::{Jsonl, report, trajectory};

/// An adapter reads any bytes. It tells the same however they are cut, and only what can be kept in
/// a journal; a bad exit is never a success.
///
/// # Panics
/// Where that does not hold.
pub fn agent(agent: Agent, data: &[u8]) {
    let (whole, outcome) = told(agent, data, data.len().max(1), None);
    let (in_pieces, pieces_outcome) = told(agent, data, 7, None);
    assert_eq!((&whole, outcome), (&in_pieces, pieces_outcome), "cuts change what is told");
    let failed = Exit { code: Some(1), signal: None };
    assert_ne!(told(agent, data, data.len().max(1), Some(failed)).1, Outcome::Succeeded);
    keep_and_decide(whole);
}

/// A trajectory is recognised or not, and read without harm.
///
/// # Panics
/// Where that does not hold.
pub fn trajectory(data: &[u8]) {
    let Some(kind) = trajectory::recognise(data) else { return };
    let mut translator = Translator::default();
    let mut events = Vec::new();
    kind.read(data, &moment(), &mut |heard: Heard<'_>| events.extend(translator.events(heard)));
    keep_and_decide(events);
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

fn told(agent: Agent, data: &[u8], piece: usize, exit: Option<Exit>) -> (Vec<EventKind>, Outcome) {
    let mut adapter: Box<dyn Adapter> = match agent {
        Agent::Jsonl => Box::new(Jsonl::new(mapping())),
        agent => agent.adapter(),
    };
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
    Moment { now: Timestamp::default(), zone: TimeZone::UTC, zone_named: |_| None }
}
