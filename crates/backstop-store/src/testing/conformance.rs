//! What every engine must do. Each case gets a way to open a store that is empty at first; opening
//! again gives another handle on the same one, as another process would have it.
//!
//! An engine's tests call [`conformance_cases!`](crate::conformance_cases).

mod audits;
mod checks;
mod journals;
mod leases;
mod messages;
mod requests;
mod runs;
mod services;
mod unsupervised;

use std::sync::Arc;

use crate::Store;
use crate::lease::Lease;
use crate::record::Run;
use crate::testing::sample;

pub use audits::*;
pub use checks::*;
pub use journals::*;
pub use leases::*;
pub use messages::*;
pub use requests::*;
pub use runs::*;
pub use services::*;
pub use unsupervised::*;

/// One `#[tokio::test]` for every case. The expression gives a fresh opener each time: an async
/// closure that opens the store, and owns what has to live as long as it.
#[macro_export]
macro_rules! conformance_cases {
    ($opener:expr) => {
        $crate::conformance_cases! { @each $opener;
            policies_are_kept_by_hash,
            a_run_reads_back_as_it_was_written,
            a_run_needs_its_policy_and_a_name_of_its_own,
            runs_are_listed_newest_first,
            runs_are_found_by_prefix,
            runs_are_filtered_by_directory_status_and_labels,
            what_is_not_there_is_none,
            a_journal_reads_back_in_order_and_in_pages,
            an_event_that_does_not_follow_is_refused,
            journals_of_other_runs_stay_apart,
            a_batch_is_written_whole,
            a_batch_is_all_or_nothing,
            a_snapshot_replaces_the_one_before,
            another_handle_sees_what_was_acknowledged,
            old_journals_are_pruned_and_runs_stay,
            health_counts_and_finds_nothing,
            epochs_count_up,
            a_held_lease_is_refused_with_its_holder,
            a_dead_holder_can_be_named,
            an_expired_lease_can_be_taken,
            a_lease_of_no_run_is_refused,
            of_many_contenders_one_wins,
            a_holder_that_was_replaced_can_write_no_more,
            a_released_lease_writes_nothing,
            a_later_holder_is_not_released_by_an_earlier_one,
            messages_wait_for_an_answer,
            a_message_to_no_run_is_refused,
            an_unsupervised_append_sees_snapshot_and_later_events,
            an_unsupervised_append_is_refused_while_somebody_supervises,
            an_unsupervised_append_fences_a_holder_that_slept,
            unsupervised_appends_of_many_are_never_lost,
            unsupervised_appends_fail_each_for_itself,
            audit_rows_read_back_in_a_chain,
            what_an_audit_row_can_not_keep_does_not_break_the_chain,
            audit_rows_are_filtered_and_paged,
            audit_analytics_count_the_last_week,
            audit_halts_are_counted_by_their_reasons,
            audit_rows_of_a_batch_are_all_or_nothing,
            audits_of_many_make_one_chain,
            policies_are_listed_newest_first,
            the_last_policy_put_in_force_is_in_force,
            tokens_are_found_by_hash_until_revoked,
            failures_are_kept_once_and_listed_in_order,
            failures_of_a_check_are_numbered_as_they_come,
            failures_of_a_check_at_once_get_a_number_each,
            a_check_that_passes_outdates_how_it_failed_before,
            a_delivery_is_taken_once,
            a_delivery_that_was_left_unfinished_is_taken_anew,
            orders_to_halt_are_in_force_until_released,
            a_service_attends_until_it_ends_or_is_not_heard_of,
            a_request_is_taken_in_once,
            an_unsupervised_request_is_taken_in_once,
            a_message_with_a_key_is_left_once,
            messages_are_left_together_or_not_at_all,
            questions_and_answers_are_told_apart,
            who_waits_is_told_of_what_others_write,
        }
    };
    (@each $opener:expr; $($case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                $crate::testing::conformance::$case($opener).await;
            }
        )*
    };
}

/// A store with one run, for which this holds the lease.
async fn with_lease(store: &Arc<dyn Store>) -> Lease {
    let run = with_run(store, 0).await;
    store.lease_acquire(run.id, &sample::holder(1), HOUR, None).await.unwrap()
}

async fn with_run(store: &Arc<dyn Store>, n: u32) -> Run {
    store.policy_put(&sample::policy()).await.unwrap();
    let run = sample::run(n);
    store.run_create(&run).await.unwrap();
    run
}

/// The sequence numbers of a run's journal.
async fn seqs(store: &Arc<dyn Store>, run: backstop_core::id::RunId) -> Vec<u64> {
    let events = store.event_list(run, 0, u32::MAX).await.unwrap();
    events.iter().map(|event| event.seq).collect()
}

const HOUR: std::time::Duration = std::time::Duration::from_secs(3_600);
