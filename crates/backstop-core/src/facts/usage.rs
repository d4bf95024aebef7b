//! What the run has used: tokens, money, context, and the provider's usage windows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::errors::shortened;
use crate::event::{Context, Quota, Usage, UsageBasis};
use crate::time::{Moment, Timestamp};

/// Tokens and money spent so far, and whether anybody reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    #[serde(flatten)]
    settled: Amounts,
    /// What the agent of this iteration let be seen, until it says at its end what it really was.
    #[serde(default)]
    live: Amounts,
    /// Somebody has told a cost, of some of it at least.
    #[serde(rename = "cost_known")]
    pub(crate) cost_told: bool,
    /// Iterations of whose tokens nobody told what they cost.
    #[serde(default)]
    pub(crate) unpriced: u64,
    /// An iteration has ended and nobody had reported any tokens.
    pub(crate) tokens_silent: bool,
    /// An iteration has ended and nobody had reported what it cost.
    pub(crate) cost_silent: bool,
    /// It is not known whether the iteration that told no tokens would have told them: a stop has
    /// killed it.
    #[serde(default)]
    tokens_cut_short: bool,
    /// The same of what it cost.
    #[serde(default)]
    cost_cut_short: bool,
    usage_in_iteration: bool,
    cost_in_iteration: bool,
    /// Tokens were reported in this iteration, for good, and not what they cost.
    #[serde(default)]
    unpriced_in_iteration: bool,
    /// What they cost was reported by itself in this iteration.
    #[serde(default)]
    cost_apart_in_iteration: bool,
    /// Tokens were let be seen in this iteration, and neither their price nor their end.
    #[serde(default)]
    live_unpriced: bool,
    /// Tokens were told since an iteration has ended, for good or not, whether or not one began
    /// meanwhile.
    #[serde(default)]
    tokens_in_iteration: bool,
    /// What the last iteration left open of its cost.
    #[serde(default)]
    pub(crate) cost_gap: Option<CostGap>,
    /// How many iterations in a row were interrupted and told no tokens.
    #[serde(default)]
    pub(crate) interrupted_without_tokens: u64,
    /// How many iterations in a row were interrupted and told neither tokens nor a cost.
    #[serde(default)]
    pub(crate) interrupted_without_cost: u64,
}

/// What is known of an iteration whose cost is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostGap {
    /// Its tokens, and what none of them cost.
    Tokens,
    /// Its tokens, and what some of them cost.
    Part,
}

/// How an iteration ended, as far as its meters are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It could work, so that it had something to report.
    Worked,
    /// By something that passes, such as a lost connection: it may have used nothing.
    Interrupted,
    /// The provider let it not work at all.
    Refused,
}

/// Tokens of each kind, and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Amounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    /// In billionths of a dollar, so that ten times ten cents are a dollar.
    pub(crate) cost: u64,
}

impl Amounts {
    fn of(usage: &Usage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            cost: usage.cost_usd.map_or(0, nano_dollars),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cost: self.cost.saturating_add(other.cost),
        }
    }
}

impl Spent {
    pub(crate) fn apply(&mut self, usage: &Usage) {
        let amounts = Amounts::of(usage);
        match usage.basis {
            None => self.settled = self.settled.plus(amounts),
            Some(UsageBasis::Live) => self.live = self.live.plus(amounts),
            Some(UsageBasis::Final) => {
                self.live = Amounts::default();
                self.settled = self.settled.plus(amounts);
            }
        }
        self.usage_in_iteration = true;
        self.tokens_silent = false;
        let has_tokens = amounts != Amounts { cost: amounts.cost, ..Amounts::default() };
        self.tokens_in_iteration |= has_tokens;
        if usage.cost_usd.is_some() {
            self.cost_told = true;
            self.cost_in_iteration = true;
            self.cost_silent = false;
            self.cost_apart_in_iteration |= !has_tokens;
        } else if has_tokens && usage.basis != Some(UsageBasis::Live) {
            self.unpriced_in_iteration = true;
        }
        match usage.basis {
            Some(UsageBasis::Live) => {
                self.live_unpriced |= has_tokens && usage.cost_usd.is_none();
            }
            Some(UsageBasis::Final) => self.live_unpriced = false,
            None => {}
        }
    }

    /// What was seen of an earlier launch stands, since nothing better will come.
    pub(crate) fn iteration_started(&mut self) {
        if self.live_unpriced && !self.cost_in_iteration {
            self.unpriced = self.unpriced.saturating_add(1);
        }
        self.live_unpriced = false;
        self.settled = self.amounts();
        self.live = Amounts::default();
    }

    pub(crate) fn amounts(&self) -> Amounts {
        self.settled.plus(self.live)
    }

    /// Takes the tokens as they were given from outside.
    pub(crate) fn set_tokens(&mut self, tokens: Amounts) {
        let cost = self.amounts().cost;
        self.live = Amounts::default();
        self.settled = Amounts { cost, ..tokens };
    }

    /// Takes in the end of an iteration, and whether somebody's wish to stop has killed it.
    pub(crate) fn iteration_finished(&mut self, ending: Ending, by_stop: bool) {
        // Of two agents only one may have told.
        let unpriced = self.unpriced_in_iteration && !self.cost_apart_in_iteration;
        let has_unpriced = unpriced || self.live_unpriced && !self.cost_in_iteration;
        if has_unpriced {
            self.unpriced = self.unpriced.saturating_add(1);
        }
        if ending != Ending::Refused {
            let was_interrupted = ending == Ending::Interrupted;
            self.cost_gap = has_unpriced.then_some(match self.cost_in_iteration {
                true => CostGap::Part,
                false => CostGap::Tokens,
            });
            let told = self.usage_in_iteration;
            let row = in_a_row(&mut self.interrupted_without_tokens, was_interrupted && !told);
            if row == 0 || row > MOST_EXCUSED {
                self.tokens_silent = !told;
                self.tokens_cut_short = by_stop;
            }
            let told = self.cost_in_iteration && !unpriced;
            // Who has told tokens has spent money, too.
            let is_lost = was_interrupted && !self.cost_in_iteration && !self.tokens_in_iteration;
            let row = in_a_row(&mut self.interrupted_without_cost, is_lost);
            if row == 0 || row > MOST_EXCUSED {
                self.cost_silent = !told;
                self.cost_cut_short = by_stop;
            }
        }
        self.usage_in_iteration = false;
        self.cost_in_iteration = false;
        self.unpriced_in_iteration = false;
        self.cost_apart_in_iteration = false;
        self.tokens_in_iteration = false;
        self.live_unpriced = false;
    }

    /// Whoever has killed the work by a stop knows that it could not tell what it had used. What it
    /// has told counts on, and the next iteration is to tell of itself.
    pub(crate) fn stop_was_seen(&mut self) {
        self.tokens_silent &= !self.tokens_cut_short;
        self.cost_silent &= !self.cost_cut_short;
    }

    /// Whether all that was spent is known.
    pub(crate) fn is_cost_known(&self) -> bool {
        self.cost_told && self.unpriced == 0
    }

    #[expect(clippy::cast_precision_loss, reason = "sums below nine million dollars are exact")]
    pub(crate) fn cost_usd(&self) -> f64 {
        self.amounts().cost as f64 / 1e9
    }

    pub(crate) fn set_cost(&mut self, amount: f64) {
        self.live.cost = 0;
        self.settled.cost = nano_dollars(amount);
    }

    /// Cache reads are cheap and many, so they count only where a condition says so.
    pub(crate) fn tokens(&self, cache_reads: bool) -> u64 {
        let Amounts { input, output, cache_read, cache_write, .. } = self.amounts();
        let counted = input.saturating_add(output).saturating_add(cache_write);
        counted.saturating_add(if cache_reads { cache_read } else { 0 })
    }
}

/// Counts one more, or begins anew.
fn in_a_row(count: &mut u64, goes_on: bool) -> u64 {
    *count = if goes_on { count.saturating_add(1) } else { 0 };
    *count
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast holds what is too large at the largest; amounts are not negative"
)]
fn nano_dollars(amount: f64) -> u64 {
    (amount * 1e9).round() as u64
}

/// The share of the context window that is in use; none where its size is unknown.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
pub(crate) fn context_share(context: &Context) -> Option<f64> {
    if context.full {
        return Some(1.0);
    }
    (context.limit > 0).then(|| context.used as f64 / context.limit as f64)
}

/// The provider's usage windows, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quotas {
    windows: BTreeMap<String, Window>,
    updates: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Window {
    used: f64,
    resets_at: Option<Timestamp>,
    /// Which update this was, so that the oldest is known.
    updated: u64,
}

impl Quotas {
    pub(crate) fn apply(&mut self, quota: &Quota) {
        self.updates = self.updates.saturating_add(1);
        let name = shortened(&quota.window);
        if self.windows.len() >= MOST_WINDOWS && !self.windows.contains_key(name) {
            // Invented windows must not keep out one that a limit waits for.
            let oldest = self.windows.iter().min_by_key(|(_, window)| window.updated);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.windows.remove(&oldest);
            }
        }
        let window = Window { used: quota.used, resets_at: quota.resets_at, updated: self.updates };
        self.windows.insert(name.to_owned(), window);
    }

    /// How full a window is now: a reading is worth nothing once the window has been reset.
    pub(crate) fn used(&self, window: &str, now: Moment) -> f64 {
        self.windows.get(window).map_or(0.0, |window| window.used_at(now))
    }

    pub(crate) fn resets_at(&self, window: &str) -> Option<Timestamp> {
        self.windows.get(window)?.resets_at
    }

    pub(crate) fn iter(&self, now: Moment) -> impl Iterator<Item = (&str, f64)> {
        self.windows.iter().map(move |(name, window)| (name.as_str(), window.used_at(now)))
    }
}

impl Window {
    fn used_at(&self, now: Moment) -> f64 {
        if self.resets_at.is_some_and(|reset| reset <= now.at) { 0.0 } else { self.used }
    }
}

/// How many iterations in a row may be interrupted without a word before a meter is taken for
/// silent. One more is where three errors in a row, which stop a run unless its policy says
/// otherwise, have come.
const MOST_EXCUSED: u64 = 2;

/// A provider has a handful; the bound is against a reporter that invents them.
const MOST_WINDOWS: usize = 64;

#[cfg(test)]
mod tests {
    use super::Ending::{Interrupted, Refused, Worked};
    use super::*;

    #[test]
    fn cache_reads_count_only_when_asked_for() {
        let mut spent = Spent::default();
        spent.apply(&Usage {
            input_tokens: 1,
            output_tokens: 10,
            cache_read_tokens: 100,
            cache_write_tokens: 1000,
            ..Usage::default()
        });
        assert_eq!((spent.tokens(false), spent.tokens(true)), (1011, 1111));
        spent.apply(&Usage { input_tokens: u64::MAX, ..Usage::default() });
        assert_eq!(spent.tokens(true), u64::MAX);
    }

    #[test]
    fn final_figures_replace_the_live_ones_of_their_iteration() {
        let mut spent = Spent::default();
        let mut apply = |basis, input_tokens, cost_usd| {
            spent.apply(&Usage { input_tokens, cost_usd, basis, ..Usage::default() });
            (spent.tokens(false), spent.cost_usd())
        };
        assert_eq!(apply(None, 5, None), (5, 0.0));
        assert_eq!(apply(Some(UsageBasis::Live), 10, None), (15, 0.0));
        assert_eq!(apply(Some(UsageBasis::Live), 10, Some(0.5)), (25, 0.5));
        assert_eq!(apply(Some(UsageBasis::Final), 7, Some(0.25)), (12, 0.25));
        assert_eq!(apply(Some(UsageBasis::Live), 3, None), (15, 0.25));
        spent.iteration_started();
        spent.apply(&Usage { basis: Some(UsageBasis::Final), ..Usage::default() });
        assert_eq!(spent.tokens(false), 15);
    }

    #[test]
    fn ten_times_ten_cents_are_a_dollar() {
        let mut spent = Spent::default();
        for _ in 0..10 {
            spent.apply(&Usage { cost_usd: Some(0.1), ..Usage::default() });
        }
        assert_eq!(spent.cost_usd(), 1.0);
        spent.apply(&Usage { cost_usd: Some(f64::MAX), ..Usage::default() });
        assert!(spent.cost_usd().is_finite());
    }

    #[test]
    fn a_meter_is_silent_after_an_iteration_without_a_word() {
        let mut spent = Spent::default();
        assert!(!spent.tokens_silent && !spent.cost_silent);
        spent.apply(&Usage { input_tokens: 1, ..Usage::default() });
        spent.iteration_finished(Worked, false);
        assert!(!spent.tokens_silent && spent.cost_silent && !spent.is_cost_known());
        spent.iteration_finished(Refused, false);
        assert!(!spent.tokens_silent);
        spent.iteration_finished(Worked, false);
        assert!(spent.tokens_silent);
    }

    #[test]
    fn interruptions_without_a_word_are_excused_until_there_are_too_many_in_a_row() {
        let tokens = Usage { input_tokens: 1, ..Usage::default() };
        let live = Usage { basis: Some(UsageBasis::Live), ..tokens.clone() };
        let priced = Usage { cost_usd: Some(0.5), ..tokens.clone() };
        let nothing = Usage::default();
        let none = (None, Interrupted);
        type Ends<'a> = &'a [(Option<&'a Usage>, Ending)];
        let table: &[(Ends<'_>, bool, bool)] = &[
            (&[none; 1], false, false),
            (&[none; 2], false, false),
            (&[none; 3], true, true),
            (&[none, (None, Refused), none, none], true, true),
            (&[none, none, (Some(&priced), Interrupted)], false, false),
            (&[none, (None, Worked)], true, true),
            (&[(None, Worked), none], true, true),
            (&[(Some(&tokens), Interrupted)], false, true),
            (&[(Some(&live), Interrupted)], false, true),
            (&[(Some(&live), Interrupted), (Some(&priced), Worked)], false, false),
            (&[(Some(&live), Worked)], false, true),
            (&[(Some(&nothing), Interrupted)], false, false),
        ];
        for (ends, tokens, cost) in table {
            let mut spent = Spent::default();
            for (usage, ending) in *ends {
                usage.iter().for_each(|usage| spent.apply(usage));
                spent.iteration_finished(*ending, false);
            }
            assert_eq!((spent.tokens_silent, spent.cost_silent), (*tokens, *cost), "{ends:?}");
        }
    }

    #[test]
    fn what_has_no_price_makes_the_cost_of_the_run_unknown() {
        let tokens = Usage { input_tokens: 1, ..Usage::default() };
        let priced = Usage { cost_usd: Some(0.5), ..tokens.clone() };
        let live = Usage { basis: Some(UsageBasis::Live), ..tokens.clone() };
        let last = Usage { basis: Some(UsageBasis::Final), ..priced.clone() };
        let apart = Usage { cost_usd: Some(0.5), ..Usage::default() };
        let table = [
            (vec![&priced], None, true),
            (vec![&live, &last], None, true),
            (vec![&tokens, &apart], None, true),
            (vec![&live], Some(CostGap::Tokens), false),
            (vec![&tokens], Some(CostGap::Tokens), false),
            (vec![&tokens, &priced], Some(CostGap::Part), false),
        ];
        for (reported, gap, is_known) in table {
            let mut spent = Spent::default();
            spent.apply(&priced);
            spent.iteration_finished(Worked, false);
            reported.iter().for_each(|usage| spent.apply(usage));
            spent.iteration_finished(Worked, false);
            assert_eq!((spent.cost_gap, spent.is_cost_known()), (gap, is_known), "{reported:?}");
            spent.apply(&priced);
            spent.iteration_finished(Worked, false);
            assert_eq!(spent.is_cost_known(), is_known, "what comes later does not tell it");
        }
        let mut spent = Spent::default();
        spent.apply(&priced);
        spent.iteration_finished(Worked, false);
        spent.apply(&live);
        assert!(spent.is_cost_known(), "it may tell yet");
        spent.iteration_started();
        assert!(!spent.is_cost_known(), "it was cut off");
    }

    #[test]
    fn a_cost_that_is_told_of_some_tokens_only_is_not_known() {
        let tokens = Usage { input_tokens: 1, ..Usage::default() };
        let live = Usage { basis: Some(UsageBasis::Live), ..tokens.clone() };
        let priced = Usage { cost_usd: Some(0.5), ..tokens.clone() };
        let apart = Usage { cost_usd: Some(0.5), ..Usage::default() };
        let table = [
            (vec![&priced, &tokens], true),
            (vec![&tokens, &priced], true),
            (vec![&live, &priced], false),
            (vec![&tokens, &apart], false),
            (vec![&apart, &tokens], false),
            (vec![&priced], false),
        ];
        for (reported, is_silent) in table {
            let mut spent = Spent::default();
            reported.iter().for_each(|usage| spent.apply(usage));
            spent.iteration_finished(Worked, false);
            assert_eq!(spent.cost_silent, is_silent, "{reported:?}");
            spent.apply(&priced);
            spent.iteration_finished(Worked, false);
            assert!(!spent.cost_silent, "the next iteration told all");
        }
    }

    #[test]
    fn a_window_that_was_reset_is_empty() {
        let reset = Timestamp::from_nanos(100);
        let mut quotas = Quotas::default();
        quotas.apply(&Quota { window: "5h".into(), used: 0.9, resets_at: Some(reset) });
        let now =
            |nanoseconds| Moment { at: Timestamp::from_nanos(nanoseconds), ..Moment::default() };
        assert_eq!(quotas.used("5h", now(99)), 0.9);
        assert_eq!(quotas.used("5h", now(100)), 0.0);
        assert_eq!(quotas.used("weekly", now(0)), 0.0);
    }
}
