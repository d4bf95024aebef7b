//! Several may tell of the same work: the agent's output, what it exports, and its hooks. Nothing
//! of it counts twice.

use std::collections::BTreeMap;

use backstop_adapters::Agent;
use backstop_core::event::{EventKind, Usage, UsageBasis};

use super::Dispatcher;

/// Who tells. A later one of these goes before the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Teller {
    Hook,
    Telemetry,
    Output,
}

/// Who told what in the current iteration.
#[derive(Debug, Default)]
pub(super) struct Tellers {
    by_type: BTreeMap<&'static str, Teller>,
    /// Whether the agent prints what it does as it does it, so that its hooks tell nothing new;
    /// none before it has printed anything of its own.
    streams: Option<bool>,
    /// Why a turn died, as a hook told it.
    died_of: Option<EventKind>,
    /// What the telemetry says that it cost so far, where it counts.
    exported_cost: Option<f64>,
    /// The output tells what it costs, so that the telemetry's figure does not count.
    output_prices: bool,
}

impl Tellers {
    /// The agent has printed a record of its own.
    pub(super) fn printed(&mut self, agent: Agent) {
        // Lines with a mapping of one's own may tell of tokens and nothing else.
        if agent != Agent::Jsonl {
            self.streams.get_or_insert(true);
        }
    }
}

impl Dispatcher {
    /// The agent's output tells this. Usage that others have told of the iteration is taken back:
    /// the output tells it again, from the beginning. Only a cost that the telemetry tells and the
    /// output does not yet stays; it is what is to be told again when the event was taken in.
    pub(super) fn told_by_output(&mut self, event: &mut EventKind) -> Option<f64> {
        let tellers = &mut self.told.tellers;
        let before = tellers.by_type.insert(event.type_name(), Teller::Output);
        let EventKind::Usage(usage) = event else { return None };
        let is_live = usage.basis == Some(UsageBasis::Live);
        if is_live && tellers.exported_cost.is_some() {
            // Who has told what it costs on the way tells all of it until the last figure.
            usage.cost_usd = None;
        }
        let exported = tellers.exported_cost;
        if usage.cost_usd.is_some() {
            tellers.output_prices = true;
            tellers.exported_cost = None;
        }
        let is_priced = tellers.output_prices;
        match usage.basis {
            Some(UsageBasis::Live) => tellers.streams = Some(true),
            // It has ended. The next one may print nothing before its own last figures.
            Some(UsageBasis::Final) => tellers.streams = Some(false),
            None => {}
        }
        // The last figure takes back what was told on the way by itself.
        let is_last = usage.basis == Some(UsageBasis::Final);
        let is_told_twice = exported.is_some() && is_priced && !is_last;
        let is_first = matches!(before, Some(Teller::Hook | Teller::Telemetry));
        if is_first || is_told_twice {
            self.take_back_usage();
        }
        let owed = exported.filter(|_| !is_priced && (is_first || is_last));
        if before == Some(Teller::Telemetry) {
            self.note_that_output_goes_first(owed.is_some());
        }
        owed
    }

    /// What it costs on the way, by itself.
    pub(super) fn tell_cost(&mut self, cost: Option<f64>) {
        if cost.is_some() {
            let basis = Some(UsageBasis::Live);
            self.take(Usage { cost_usd: cost, basis, ..Usage::default() });
        }
    }

    /// What the telemetry tells of a cost. Where the output tells tokens alone, this counts beside
    /// them.
    pub(super) fn cost_beside_output(&mut self, event: &EventKind) -> Option<f64> {
        let tellers = &mut self.told.tellers;
        let EventKind::Usage(usage) = event else { return None };
        let cost = usage.cost_usd.filter(|_| !tellers.output_prices)?;
        tellers.exported_cost = Some(tellers.exported_cost.unwrap_or_default() + cost);
        Some(cost)
    }

    /// Whether what somebody tells beside the output counts. Usage goes to the one who knows best;
    /// of anything else, the first who tells it tells all of it.
    pub(super) fn counts_beside_output(&mut self, teller: Teller, event: &EventKind) -> bool {
        let tellers = &mut self.told.tellers;
        let known = tellers.by_type.get(event.type_name()).copied();
        let is_usage = matches!(event, EventKind::Usage(_));
        let counts = match known {
            None => true,
            Some(before) if is_usage => before <= teller,
            Some(before) => before == teller,
        };
        if counts {
            tellers.by_type.insert(event.type_name(), teller);
            if is_usage && known.is_some_and(|before| before < teller) {
                self.take_back_usage();
            }
        }
        counts
    }

    /// Takes back what the telemetry has told of usage, if that is what counts.
    pub(super) fn takes_back_exported(&mut self) -> bool {
        let tellers = &mut self.told.tellers;
        let counts = tellers.by_type.get(USAGE) == Some(&Teller::Telemetry);
        if counts {
            tellers.exported_cost = None;
            self.take_back_usage();
        }
        counts
    }

    /// A hook of the agent tells this. What it read of tokens is a figure on the way: the
    /// supervised side adds to what is counted, and only the output takes anything back.
    pub(super) fn hooked(&mut self, mut event: EventKind) {
        match &mut event {
            EventKind::Usage(usage) => usage.basis = Some(UsageBasis::Live),
            EventKind::Action(_) if self.told.tellers.streams == Some(true) => return,
            // The agent is about to say the same, if it prints what can be understood.
            EventKind::ErrorSeen(_) | EventKind::Worker(_) => {
                self.told.tellers.died_of = Some(event);
                return;
            }
            _ => {}
        }
        if self.counts_beside_output(Teller::Hook, &event) {
            self.reported(event);
        }
    }

    /// The iteration's output has ended: what a hook told of its failure counts if nobody else has
    /// told of one.
    pub(super) fn tell_what_it_died_of(&mut self) {
        let died_of = self.told.tellers.died_of.take();
        let is_told = self.told.error || self.engine.facts().is_rate_limited();
        if let Some(event) = died_of.filter(|_| !is_told) {
            self.reported(event);
        }
    }

    fn take_back_usage(&mut self) {
        self.take(Usage { basis: Some(UsageBasis::Final), ..Usage::default() });
    }
}

/// The type of the events that tell it.
const USAGE: &str = "usage";
