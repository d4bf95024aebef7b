//! Remembers runs: their journals, decisions, policies and leases.
//!
//! [`Store`] is the one interface; an engine behind it passes the conformance suite. What was
//! acknowledged is on disk. Nobody but the holder of a run's lease writes its journal.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use backstop_core::id::RunId;
use backstop_core::time::Timestamp;

use self::access::TokenRecord;
use self::audit::{AuditFilter, AuditHead, AuditRow, Count, HaltCount, Hash, NewAuditRow};

pub mod access;
pub mod audit;
mod checksum;
mod clock;
mod copy;
mod encode;
mod error;
mod halting;
mod home;
mod journal;
mod lease;
mod location;
mod postgres;
mod record;
mod reruns;
mod row;
mod scope;
mod sqlite;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod unique;

pub use copy::{Copied, CopyError, copy};
pub use error::StoreError;
pub use halting::HaltOrder;
pub use home::{Home, RunFolder};
pub use journal::{Entry, Journal};
pub use lease::{Holder, Lease, LeaseRecord};
pub use location::{Location, open, open_existing};
pub use postgres::{PostgresStore, ServerUrl};
pub use record::{
    Batch, DecisionRecord, Health, InboxMessage, Intervention, NewEvent, Receipt, Run, RunFilter,
    RunUpdate, Snapshot, StoredEvent, StoredPolicy, Unsupervised, Writer,
};
pub use reruns::{CheckFailure, CheckPass, Delivery, FailureSignal, PullRequest};
pub use scope::{Activation, PastActivation, PolicyScope, is_repository_name};
pub use sqlite::SqliteStore;
pub use table::{Cell, Kind, RawRow, TABLES, Table};

/// Where runs are remembered.
///
/// Methods put the resource first, so that one search finds every operation on a thing.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Keeps a policy by its hash. The same one again changes nothing.
    ///
    /// Like a run's creation, leases and messages it survives the death of the process at once, but
    /// a power cut only with the next append: without one it means nothing.
    async fn policy_put(&self, policy: &StoredPolicy) -> Result<(), StoreError>;

    async fn policy_fetch(&self, hash: &str) -> Result<Option<StoredPolicy>, StoreError>;

    /// Policies, the newest first: those put before another one, or the newest of all.
    async fn policy_list(
        &self,
        before: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, StoreError>;

    /// Puts a policy in force for a scope, or takes back what is. Never forgotten.
    async fn policy_activate(&self, activation: &Activation) -> Result<(), StoreError>;

    /// What was put in force last, for each of these scopes that ever had something, in this order.
    async fn policy_active(&self, scopes: &[PolicyScope]) -> Result<Vec<Activation>, StoreError>;

    /// What was ever put in force, the newest first: what has a smaller number than this, or all.
    async fn policy_history(
        &self,
        scope: Option<&PolicyScope>,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<PastActivation>, StoreError>;

    /// Creates a run. Its policy must be there.
    async fn run_create(&self, run: &Run) -> Result<(), StoreError>;

    async fn run_fetch(&self, run: RunId) -> Result<Option<Run>, StoreError>;

    /// Runs that a filter lets through, newest first.
    async fn run_list(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError>;

    /// Takes the lease on a run: the next epoch. Refused with [`StoreError::LeaseHeld`] while
    /// another holder's is valid, unless `even_if_held_by` names the epoch of a holder that the
    /// caller knows to be dead.
    async fn lease_acquire(
        &self,
        run: RunId,
        holder: &Holder,
        duration: Duration,
        even_if_held_by: Option<u64>,
    ) -> Result<Lease, StoreError>;

    /// Prolongs a lease; [`StoreError::Fenced`] if another epoch has begun.
    async fn lease_renew(&self, lease: &Lease, duration: Duration) -> Result<(), StoreError>;

    /// Gives a lease back. Harmless if another epoch has begun.
    async fn lease_release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// The last lease of a run. Its end is told in the clock of whoever asks.
    async fn lease_fetch(&self, run: RunId) -> Result<Option<LeaseRecord>, StoreError>;

    /// Appends to a journal, and whatever goes with it, in one transaction that is on disk when
    /// this returns. All or nothing. [`StoreError::Fenced`] if the writer's epoch is over. Events
    /// are numbered from 1 without a gap; what does not follow the last one is refused.
    async fn append(&self, batch: &Batch) -> Result<(), StoreError>;

    /// Appends to the journal of a run that has no supervisor, in one transaction or as a part of one
    /// that several share, which is undone alone:
    /// reads the run, its snapshot and the events after it, lets `decide` say what follows, writes.
    /// [`StoreError::LeaseHeld`] if somebody supervises the run.
    async fn append_unsupervised(
        &self,
        run: RunId,
        decide: Box<dyn FnOnce(Unsupervised) -> Batch + Send>,
    ) -> Result<(), StoreError>;

    /// Events after a sequence number, in order and without a gap.
    async fn event_list(
        &self,
        run: RunId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// The last snapshot of a run's facts.
    async fn snapshot_fetch(&self, run: RunId) -> Result<Option<Snapshot>, StoreError>;

    /// Decisions of a run, oldest first.
    async fn decision_list(&self, run: RunId) -> Result<Vec<DecisionRecord>, StoreError>;

    /// Questions to people, the oldest first: of one run or of all, and only those without an
    /// answer if so wished.
    async fn intervention_list(
        &self,
        run: Option<RunId>,
        only_open: bool,
    ) -> Result<Vec<Intervention>, StoreError>;

    /// What was answered to a request with this key, if it was taken in already.
    async fn receipt_fetch(&self, run: RunId, key: &str) -> Result<Option<String>, StoreError>;

    /// Returns when a run's journal may hold more than this event, or has an inbox with something
    /// new; at the latest when the time is over. A wake-up for nothing is harmless.
    async fn changed(&self, run: RunId, after: u64, at_most: Duration) -> Result<(), StoreError>;

    /// Leaves messages for a run's supervisor, for those who can't reach its socket: all of them or
    /// none. Answers with what lies there, in their order. Under a key that was used before that is
    /// what was left first, as far as it goes, and nothing is added.
    async fn inbox_post_all(
        &self,
        run: RunId,
        key: Option<&str>,
        bodies: &[String],
    ) -> Result<Vec<InboxMessage>, StoreError>;

    /// The same for one message. Answers with its number.
    async fn inbox_post(
        &self,
        run: RunId,
        key: Option<&str>,
        body: &str,
    ) -> Result<i64, StoreError> {
        let posted = self.inbox_post_all(run, key, &[body.to_owned()]).await?;
        let first = posted.first().map(|message| message.number);
        first.ok_or_else(|| StoreError::Write("no number was given".to_owned()))
    }

    /// Messages that have no answer yet, oldest first.
    async fn inbox_list(&self, lease: &Lease) -> Result<Vec<InboxMessage>, StoreError>;

    async fn inbox_answer(&self, message: i64, answer: &str) -> Result<(), StoreError>;

    /// The answer to a message; none as long as there is none.
    async fn inbox_answer_fetch(&self, message: i64) -> Result<Option<String>, StoreError>;

    /// Appends to the audit, in one transaction that is on disk when this returns. Answers with the
    /// last row's place.
    async fn audit_append(&self, rows: &[NewAuditRow]) -> Result<AuditHead, StoreError>;

    async fn audit_list(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError>;

    /// How many rows after the first of these, up to the other, tell of runs that were halted or
    /// held, by their reasons.
    async fn audit_halts(&self, range: (u64, u64)) -> Result<Vec<HaltCount>, StoreError>;

    /// How often what was decided in the last seven days.
    async fn audit_analytics(&self) -> Result<Vec<Count>, StoreError>;

    async fn token_put(&self, token: &TokenRecord) -> Result<(), StoreError>;

    /// All of them, the oldest first, those that are over included.
    async fn token_list(&self) -> Result<Vec<TokenRecord>, StoreError>;

    async fn token_fetch(&self, hash: &Hash) -> Result<Option<TokenRecord>, StoreError>;

    /// False if there is no such token, or if it was revoked before.
    async fn token_revoke(&self, id: &str, at: Timestamp) -> Result<bool, StoreError>;

    /// Remembers what a failed attempt looked like.
    async fn signal_put(&self, signal: &FailureSignal) -> Result<(), StoreError>;

    /// Remembers how a check failed: the next time in its suite, unless this very failure is known.
    /// Answers which time it was, from 1.
    async fn signal_put_check(&self, failure: &CheckFailure) -> Result<u64, StoreError>;

    /// How a check failed in a suite before it passed says nothing of it any more.
    async fn signal_outdate(&self, passed: &CheckPass) -> Result<(), StoreError>;

    /// The last failures of a pull request, of one job or of all, the oldest first.
    async fn signal_list(
        &self,
        pull_request: &PullRequest,
        job: Option<&str>,
        limit: u32,
    ) -> Result<Vec<FailureSignal>, StoreError>;

    /// Takes a delivery for a service to work on, if nobody else has. One that a service took long
    /// ago which has not finished it, and is not heard of any more, is taken anew.
    async fn delivery_take(
        &self,
        id: &str,
        by: &str,
        at: Timestamp,
    ) -> Result<Delivery, StoreError>;

    /// Remembers for good that a delivery was worked on.
    async fn delivery_done(&self, id: &str) -> Result<(), StoreError>;

    /// Forgets a delivery that could not be worked on, so that it can be sent again.
    async fn delivery_forget(&self, id: &str) -> Result<(), StoreError>;

    /// Gives an order to halt; its number is the store's. On disk when this returns.
    async fn halt_order(&self, order: &HaltOrder) -> Result<HaltOrder, StoreError>;

    /// The orders in force, the oldest first.
    async fn halt_list(&self) -> Result<Vec<HaltOrder>, StoreError>;

    /// Takes back the orders with exactly these labels, or all of them. Answers with how many.
    async fn halt_release(
        &self,
        labels: Option<&BTreeMap<String, String>>,
        by: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError>;

    /// A service answers for this store, and goes on for so long unless it says otherwise; no time
    /// at all when it ends.
    async fn service_attend(&self, id: &str, duration: Duration) -> Result<(), StoreError>;

    /// Whether a service answers for this store, so that what is asked there is seen: one beside this
    /// one, if it is named.
    async fn service_attends(&self, beside: Option<&str>) -> Result<bool, StoreError>;

    /// Removes the journals of runs that halted before a time, and answers with their names. What
    /// is known of the runs themselves stays.
    async fn run_prune(&self, halted_before: Timestamp) -> Result<Vec<RunId>, StoreError>;

    /// Rows of a table as they are kept, in the order of their keys and after one of them; for
    /// [`copy()`](crate::copy()).
    async fn rows_export(
        &self,
        table: &'static Table,
        after: Option<&RawRow>,
        limit: u32,
    ) -> Result<Vec<RawRow>, StoreError>;

    /// Adds rows as they were kept elsewhere, all or none; for [`copy()`](crate::copy()). What the
    /// engine fills by itself with them is emptied.
    async fn rows_import(&self, table: &'static Table, rows: &[RawRow]) -> Result<(), StoreError>;

    /// Looks the whole store over.
    async fn health(&self) -> Result<Health, StoreError>;
}
