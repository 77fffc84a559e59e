//! The suite that every backend passes, ours or yours: functions for each rule of the store's
//! [contract](dcm_core::port::store), named after it, in the contract's order.
//!
//! [`conformance!`](crate::conformance!) makes a test of each. It asks for a function that gives a [`Subject`], and for
//! `tokio` with `macros` and `rt-multi-thread` among the development dependencies:
//!
//! ```
//! # use dcm_core::port::store::Store;
//! mod my_store {
//!     # use dcm_store::open as open_my_store;
//!     use dcm_store::conformance::Subject;
//!
//!     async fn subject() -> Subject {
//!         Subject::new(open_my_store("memory:").await.unwrap())
//!     }
//!
//!     dcm_store::conformance!(subject);
//! }
//! ```
//!
//! A store that is durable or shared is opened once more, as another process would; the backend of one that has a server goes away
//! and comes back, and of one that others can write to a document is damaged, if it is said how:
//!
//! ```
//! # use std::sync::Arc;
//! # use dcm_core::port::store::Store;
//! # use dcm_store::conformance::Subject;
//! # use dcm_store::open as open_my_store;
//! async fn subject() -> Subject {
//!     let open = async || open_my_store("memory:").await.unwrap();
//!     Subject::new(open().await).opened_by(open).disturbed_by(async || {
//!         // Kill the server here, and start it again.
//!     }).damaged_by(async |path| {
//!         // Overwrite what is kept of this document with what the store can't read.
//!     })
//! }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async { subject().await; });
//! ```
//!
//! Each rule works in a folder of its own with a random name, so that a server with other documents in it will do, and
//! leaves its documents there. A rule that does not hold panics with what was expected. But for
//! what it does itself, the suite wants a backend at rest: a watch that says `Lost` fails most rules.

mod batches;
mod damage;
mod lists;
mod outages;
mod processes;
mod races;
mod subject;
mod watches;
mod writes;

pub use batches::*;
pub use damage::*;
pub use lists::*;
pub use outages::*;
pub use processes::*;
pub use races::*;
pub use subject::Subject;
pub use watches::*;
pub use writes::*;

/// Makes one `#[tokio::test]` of each rule. The argument names a function, `async fn() -> Subject`.
#[macro_export]
macro_rules! conformance {
    ($subject:path) => {
        $crate::conformance!(@rules $subject:
            // Paths.
            a_missing_document_is_none,
            a_document_is_read_as_it_was_written,
            paths_of_any_text_are_different_documents,
            // Versions.
            versions_grow_and_are_never_used_again,
            // No blind writes.
            create_needs_that_there_is_none,
            update_needs_the_version_that_it_names,
            delete_needs_the_version_that_it_names,
            one_creator_wins,
            compare_and_swap_has_one_winner_per_round,
            no_update_is_lost,
            // Batches.
            a_batch_gives_the_version_of_each_write,
            a_failed_batch_says_what_stays,
            a_refused_batch_changes_nothing,
            an_empty_batch_does_nothing,
            two_writes_of_one_path_are_refused,
            batches_of_an_atomic_store_are_never_seen_in_part,
            // Reads.
            reads_see_what_was_written_before,
            // Lists.
            lists_come_in_bytewise_order,
            lists_come_in_pages_without_gaps_or_repeats,
            a_page_goes_on_after_a_path_that_is_gone,
            a_page_of_nothing_is_refused,
            a_prefix_holds_what_is_below_its_folder_only,
            a_list_neither_misses_nor_repeats_what_stays_while_others_write,
            // Watches.
            a_watch_sees_every_later_change,
            a_watch_sees_its_own_folder_only,
            a_watch_tells_nothing_older_than_itself,
            each_watch_is_told_on_its_own,
            a_watch_never_goes_back_and_ends_at_the_truth,
            a_list_after_a_watch_loses_nothing,
            a_reader_who_falls_behind_is_told_all_or_that_it_lost,
            // Unknown outcome.
            a_write_without_an_answer_happened_or_not_and_can_be_told_by_reading,
            // Reconnecting.
            a_store_whose_backend_was_away_is_the_same_when_it_is_back,
            a_watch_whose_backend_was_away_tells_all_or_that_it_lost,
            // Crashes.
            a_cut_list_of_batches_is_finished_by_the_next,
            // Damage.
            a_damaged_document_hides_no_other_and_says_so,
            a_content_that_can_not_be_read_is_refused,
            // Limits.
            the_largest_document_is_held_and_a_larger_one_refused,
            the_largest_batch_is_applied_and_a_larger_one_refused,
            the_heaviest_batch_is_applied_and_a_heavier_one_refused,
            a_page_has_at_most_the_maximum,
            // Capabilities.
            what_was_acknowledged_is_there_when_it_is_opened_again,
            another_handle_reads_and_watches_what_one_writes,
            of_many_who_take_a_lease_one_has_it,
            clear_secrets_are_held_or_refused_by_capability,
        );
    };
    (@rules $subject:path: $($rule:ident),* $(,)?) => {
        $(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                $crate::conformance::$rule(&$subject().await).await;
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    /// Every rule is in the macro: one that is not would be held by nobody.
    #[test]
    fn the_macro_makes_a_test_of_each_rule() {
        let macro_text = include_str!("mod.rs");
        let rules = [
            include_str!("batches.rs"),
            include_str!("damage.rs"),
            include_str!("lists.rs"),
            include_str!("outages.rs"),
            include_str!("processes.rs"),
            include_str!("races.rs"),
            include_str!("watches.rs"),
            include_str!("writes.rs"),
        ];
        let names = rules.iter().flat_map(|text| text.split("\npub async fn ").skip(1));
        let names: Vec<&str> = names.filter_map(|rest| rest.split('(').next()).collect();
        assert_eq!(names.len(), 44);
        for name in names {
            assert!(macro_text.contains(&format!("            {name},\n")), "{name} is not in the macro");
        }
    }
}
