//! Lets a test see what an adapter told, one line for each thing.

use backstop_core::event::EventKind;
use jiff::tz::TimeZone;

use crate::{Adapter, Exit, Framer, Heard, Moment, Outcome, Record, Shown, Voice};

pub(crate) fn moment() -> Moment {
    Moment {
        now: "2026-07-12T00:00:00Z".parse().unwrap(),
        zone: TimeZone::UTC,
        is_known: true,
        is_live: false,
        zone_named: |_| None,
    }
}

pub(crate) const FAILED: Option<Exit> = Some(Exit { code: Some(1), signal: None });

/// What was told of a whole stream, and how it ended. That it is a launch goes without saying.
pub(crate) fn read(
    adapter: &mut dyn Adapter,
    stream: &[u8],
    exit: Option<Exit>,
) -> (Vec<String>, Outcome) {
    let mut told = Vec::new();
    let mut listener = |heard: Heard<'_>| told.extend(in_words(&heard));
    let moment = moment();
    let mut framer = Framer::new();
    let mut emit = |record: Record<'_>| adapter.record(record, &moment, &mut listener);
    framer.push(stream, &mut emit);
    framer.finish(&mut emit);
    let outcome = adapter.finish(exit, &moment, &mut listener);
    if told.first().is_some_and(|first| first == "launched") {
        told.remove(0);
    }
    (told, outcome)
}

/// As [`read`], for a stream that is told apart from its end.
pub(crate) fn told(adapter: &mut dyn Adapter, stream: &str) -> Vec<String> {
    read(adapter, stream.as_bytes(), None).0
}

pub(crate) fn in_words(heard: &Heard<'_>) -> Option<String> {
    Some(match heard {
        Heard::Event(EventKind::Noted(_)) => return None,
        Heard::Event(EventKind::Usage(usage)) => {
            let cost = usage.cost_usd.map_or(String::new(), |cost| format!(" ${cost:.4}"));
            let model = usage.model.as_ref().map_or(String::new(), |model| format!(" {model}"));
            format!(
                "usage {} {} {} {}{cost}{model}",
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens
            )
        }
        Heard::Event(EventKind::Action(action)) => match &action.result_signature {
            Some(result) => format!("{} {} => {result}", action.kind, action.signature),
            None => format!("{} {}", action.kind, action.signature),
        },
        Heard::Event(EventKind::Context(context)) => {
            format!("context {} of {}", context.used, context.limit)
        }
        Heard::Event(EventKind::Tasks(tasks)) => format!("tasks {} of {}", tasks.done, tasks.total),
        Heard::Event(EventKind::Quota(quota)) => format!("quota {} {}", quota.window, quota.used),
        Heard::Event(other) => format!("event {}", other.type_name()),
        Heard::Fault(fault) => {
            let at = fault.retry_at.map_or(String::new(), |at| format!(" until {at}"));
            format!("fault {:?}: {}{at}", fault.kind, fault.message)
        }
        Heard::Said(Voice::Assistant, words) => format!("said {words}"),
        Heard::Said(Voice::Result, words) => format!("result {words}"),
        Heard::Shown(Shown::Notice(notice)) => format!("notice {notice}"),
        Heard::Shown(_) | Heard::At(_) => return None,
        Heard::Launched => "launched".to_owned(),
        Heard::Ended(outcome) => format!("ended {outcome:?}"),
    })
}
