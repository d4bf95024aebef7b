//! Several may tell of the same work: the agent's output, what it exports, and its hooks. Nothing of
//! it counts twice.

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
    /// Whether the agent prints what it does as it does it, so that its hooks tell nothing new; none
    /// before it has printed anything of its own.
    streams: Option<bool>,
    /// Why a turn died, as a hook told it.
    died_of: Option<EventKind>,
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
    /// The agent's output tells this. Usage that others have told of the iteration is taken back: the
    /// output tells it again, from the beginning.
    pub(super) fn told_by_output(&mut self, event: &EventKind) {
        let tellers = &mut self.told.tellers;
        let before = tellers.by_type.insert(event.type_name(), Teller::Output);
        let EventKind::Usage(usage) = event else { return };
        match usage.basis {
            Some(UsageBasis::Live) => tellers.streams = Some(true),
            // It has ended. The next one may print nothing before its own last figures.
            Some(UsageBasis::Final) => tellers.streams = Some(false),
            None => {}
        }
        match before {
            None | Some(Teller::Output) => {}
            Some(Teller::Hook) => self.take_back_usage(),
            Some(Teller::Telemetry) => {
                self.take_back_usage();
                self.note_that_output_goes_first();
            }
        }
    }

    /// Whether what somebody tells beside the output counts. Usage goes to the one who knows best; of
    /// anything else, the first who tells it tells all of it.
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

    /// A hook of the agent tells this. What it read of tokens is a figure on the way: the supervised
    /// side adds to what is counted, and only the output takes anything back.
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
