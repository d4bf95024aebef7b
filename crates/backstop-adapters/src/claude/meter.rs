//! What a launch has used: counted live, message by message, and put right by its result.

mod context;
mod tokens;

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use backstop_core::event::UsageBasis;

use super::wire::{Counts, Line, ModelCounts};
use crate::{Heard, Listener};
use context::Window;
use tokens::Tokens;

/// Counts tokens and money of one launch after another.
#[derive(Debug, Default)]
pub(super) struct Meter {
    messages: Seen,
    /// What the last message told that has no id: Amp gives none, and each of its records is one.
    unnamed: Option<Tokens>,
    /// The main loop's messages since the last result.
    main: Tokens,
    /// All messages since the last result, sub-agents' too.
    all: Tokens,
    /// The main loop's model, for those who know what it costs where a result does not.
    model: String,
    /// What the last result said, and of which session.
    last: Option<(String, Claim)>,
    /// A launch has begun since the last result, so its totals most likely begin at nothing.
    fresh: bool,
    pub window: Window,
}

/// What a result says of its process so far.
#[derive(Clone, Debug, Default)]
struct Claim {
    /// What all models have used; older versions do not say.
    models: Option<Tokens>,
    /// What each of them has, where all is known.
    by_model: BTreeMap<String, Tokens>,
    /// What the main loop has used, in a way that depends on the version.
    usage: Tokens,
    cost: Option<f64>,
    /// What it added to the cost, and what its messages used.
    added: Option<f64>,
    used: Tokens,
}

impl Claim {
    fn of(line: &Line<'_>) -> Self {
        let models: Vec<(&String, ModelCounts)> = line
            .model_usage
            .0
            .iter()
            .flatten()
            .filter_map(|(name, counts)| Some((name, counts.0?)))
            .collect();
        let tokens = models.iter().map(|(_, counts)| Tokens::from(*counts));
        let total = tokens.fold(Tokens::default(), Tokens::plus);
        // A sum of which one part is unknown is no total.
        let known = !total.is_nothing() && models.iter().all(|(_, counts)| counts.is_sound());
        let costs = [line.total_cost_usd, line.cost_usd, line.total_cost];
        let named = models.iter().filter(|_| known).take(MOST_MODELS);
        Self {
            models: known.then_some(total),
            by_model: named.map(|(name, counts)| ((*name).clone(), (*counts).into())).collect(),
            usage: line.usage.0.map(Tokens::from).unwrap_or_default(),
            cost: costs.iter().find_map(|cost| cost.amount()),
            ..Self::default()
        }
    }
}

impl Meter {
    /// Another launch begins. It may repeat the ids of the one before, as a capture that was read
    /// twice does, and what it uses is its own.
    pub fn launch(&mut self, listener: &mut dyn Listener) {
        // A launch without a result has no better figures than these, and those of the next one must
        // not stand in their place.
        let all = std::mem::take(&mut self.all);
        if !all.is_nothing() {
            tell(all, None, Some(&self.model), listener);
        }
        self.messages = Seen::default();
        self.unnamed = None;
        self.main = Tokens::default();
        self.window.launch();
        self.fresh = true;
    }

    /// A message tells its usage. Several records share one message and repeat it; only its output
    /// can grow from one to the next.
    pub fn message(
        &mut self,
        id: &str,
        model: &str,
        main_loop: bool,
        counts: Counts,
        listener: &mut dyn Listener,
    ) {
        let tokens = Tokens::from(counts);
        if tokens.is_nothing() {
            return;
        }
        let more = if !id.is_empty() {
            self.messages.news(id, tokens)
        } else if self.unnamed.replace(tokens) == Some(tokens) {
            Tokens::default()
        } else {
            tokens
        };
        if more.is_nothing() {
            return;
        }
        self.all = self.all.plus(more);
        if main_loop {
            self.main = self.main.plus(more);
            if !model.is_empty() {
                model.clone_into(&mut self.model);
            }
        }
        listener.hear(Heard::Event(more.usage(None, Some(model), UsageBasis::Live).into()));
        if main_loop && more.taken_in() > 0 {
            self.window.fill(model, tokens.taken_in(), listener);
        }
    }

    /// The result's figures stand in the place of the live ones.
    pub fn result(&mut self, line: &Line<'_>, session: &str, listener: &mut dyn Listener) {
        let claim = Claim::of(line);
        let before = self.goes_on(&claim, session).cloned();
        let (main, all) = (std::mem::take(&mut self.main), std::mem::take(&mut self.all));
        let usage = Some(claim.usage).filter(|usage| !usage.is_nothing());
        let mut cost = claim.cost;
        if let (Some(now), Some(then)) = (cost, before.as_ref().and_then(|before| before.cost)) {
            cost = Some((now - then).max(0.0));
        }
        let tokens = match (claim.models, before.as_ref().and_then(|before| before.models)) {
            (Some(now), Some(then)) => now.minus(then),
            (Some(now), None) => now,
            (None, _) => without_totals(usage, main, all),
        };
        // After a crash the result may be all zeros, and the messages are all that is known.
        let blank = claim.models.is_none() && usage.is_none() && claim.cost.unwrap_or(0.0) == 0.0;
        let (tokens, cost) = if blank && !all.is_nothing() { (all, None) } else { (tokens, cost) };
        // Something for nothing: a subscription, or a backend whose prices it does not know.
        let is_unpriced = claim.cost == Some(0.0) && !tokens.is_nothing();
        let cost = cost.filter(|_| !is_unpriced);
        match cost {
            Some(_) => tell(tokens, cost, None, listener),
            None => self.unpriced(&claim, before.as_ref(), tokens, listener),
        }
        // A result's own tokens are no measure of what its cost is for: see `without_totals`.
        let used = if all.is_nothing() { Tokens::default() } else { tokens };
        self.last = Some((session.to_owned(), Claim { added: cost, used, ..claim }));
        self.fresh = false;
        if let Some(models) = &line.model_usage.0 {
            self.window.learn(models, listener);
        }
    }

    /// Tells what each model has used, for those who know what it costs; all that is told, and no
    /// more, adds up to `tokens`.
    fn unpriced(
        &self,
        claim: &Claim,
        before: Option<&Claim>,
        tokens: Tokens,
        listener: &mut dyn Listener,
    ) {
        let mut rest = tokens;
        for (model, now) in &claim.by_model {
            let then = before.and_then(|before| before.by_model.get(model)).copied();
            let used = now.minus(then.unwrap_or_default());
            if !used.is_nothing() && rest.covers(used) {
                rest = rest.minus(used);
                tell(used, None, Some(model.trim_end_matches(context::LARGE_MARK)), listener);
            }
        }
        if !rest.is_nothing() || tokens.is_nothing() {
            tell(rest, None, Some(&self.model), listener);
        }
    }

    /// Whether no message has been told since the last result.
    pub fn is_idle(&self) -> bool {
        self.all.is_nothing()
    }

    /// Whether this result's figures go on from those of the last one, as those of one process do.
    pub fn is_running(&self, line: &Line<'_>, session: &str) -> bool {
        self.goes_on(&Claim::of(line), session).is_some()
    }

    /// The conversation was cleared: totals begin anew.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// The last claim, if this one contains it: same session, nothing falls, and what was added has
    /// room for what was used since. A process that resumes the session begins at nothing, so its
    /// total has room for its own messages only. Where every turn begins like a launch, only totals
    /// of models can show that it is none, or, in older versions, a cost that what was used since
    /// does not come to by itself.
    fn goes_on(&self, claim: &Claim, session: &str) -> Option<&Claim> {
        let (of, last) = self.last.as_ref()?;
        if of != session || claim.cost < last.cost {
            return None;
        }
        match (claim.models, last.models) {
            (Some(now), Some(then)) => {
                let since = if self.all.is_nothing() { claim.usage } else { self.all };
                let room = now.minus(then).taken_in();
                let enough = if self.fresh {
                    room >= since.taken_in()
                } else {
                    // A message may be told that was not paid for.
                    room.saturating_mul(10) >= since.taken_in().saturating_mul(9)
                };
                (now.covers(then) && enough).then_some(last)
            }
            (None, None) => (!self.fresh || self.adds_to(claim, last)).then_some(last),
            (None, Some(_)) => None,
            (Some(_), None) => (!self.fresh).then_some(last),
        }
    }

    /// Whether the cost goes on from the last one rather than from nothing: by what the last result's
    /// messages added for their tokens, those since then come nearer to what lies between the two.
    fn adds_to(&self, claim: &Claim, last: &Claim) -> bool {
        let (Some(now), Some(then), Some(added)) = (claim.cost, last.cost, last.added) else {
            return false;
        };
        let before = last.used.relative_price();
        if before == 0.0 || self.all.is_nothing() {
            return false;
        }
        let usage = Some(claim.usage).filter(|usage| !usage.is_nothing());
        let used = without_totals(usage, self.main, self.all).relative_price();
        let expected = added * used / before;
        (now - then - expected).abs() < (now - expected).abs()
    }
}

/// What was used, by a result without totals of models. Older versions give the last call's input or
/// twice all of it, so only the output is taken from them; where no message was seen there is nothing
/// better. None of them tells of sub-agents, whose messages are all that is known.
fn without_totals(usage: Option<Tokens>, main: Tokens, all: Tokens) -> Tokens {
    let of_main = match usage {
        Some(usage) if usage.output > 0 && main.taken_in() > 0 => {
            Tokens { output: usage.output, ..main }
        }
        Some(usage) if main.taken_in() == 0 => usage,
        Some(_) | None => main,
    };
    of_main.plus(all.minus(main))
}

fn tell(tokens: Tokens, cost: Option<f64>, model: Option<&str>, listener: &mut dyn Listener) {
    listener.hear(Heard::Event(tokens.usage(cost, model, UsageBasis::Final).into()));
}

/// The newest messages, by a hash of their ids, and the output that was counted for each.
#[derive(Debug, Default)]
struct Seen {
    outputs: BTreeMap<u64, u64>,
    order: VecDeque<u64>,
}

impl Seen {
    /// What of the usage has not been counted yet.
    fn news(&mut self, id: &str, tokens: Tokens) -> Tokens {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(output) = self.outputs.get_mut(&key) {
            let more = tokens.output.saturating_sub(*output);
            *output += more;
            return Tokens { output: more, ..Tokens::default() };
        }
        if self.order.len() >= MOST_MESSAGES
            && let Some(oldest) = self.order.pop_front()
        {
            self.outputs.remove(&oldest);
        }
        self.order.push_back(key);
        self.outputs.insert(key, tokens.output);
        tokens
    }
}

/// The records of a message come close to one another.
const MOST_MESSAGES: usize = 4096;
const MOST_MODELS: usize = 64;
