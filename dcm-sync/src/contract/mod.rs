//! What every implementation of the `Cluster` port must do (feature `contract`).
//!
//! One function for each promise; its name is the promise. The same functions run on the simulated clusters and on
//! real API servers, so that the simulation can't drift from the truth. They ask for no more than the port promises: an
//! object that controllers also write is written again after a [`Conflict`](dcm_core::port::cluster::Error::Conflict),
//! and where the port leaves a choice of errors, each is right.
//!
//! [`contract_tests!`](crate::contract_tests) makes a test of each function:
//!
//! ```
//! async fn subject() -> dcm_sync::contract::Subject {
//!     todo!("connect to the cluster under test")
//! }
//!
//! dcm_sync::contract_tests!(subject);
//! # fn main() {}
//! ```
//!
//! # What the cluster under test needs
//! - The rights of an administrator, also for the calls of the engine.
//! - The controllers for namespaces, ServiceAccounts, the root CA's ConfigMap and the signing of requests for
//!   `kubernetes.io/kube-apiserver-client`.
//! - The functions make cluster-scoped objects whose names begin with [`Subject::prefix`], and leave them behind when
//!   they fail.
//!
//! # Panics
//! All functions panic, with what they saw, when the promise is not kept.

mod certificates;
mod cluster;
mod creation;
mod deletion;
mod namespaces;
mod parts;
mod rehearsal;
mod release;
mod subject;
mod update;
mod watching;

pub use certificates::*;
pub use cluster::*;
pub use creation::*;
pub use deletion::*;
pub use namespaces::*;
pub use parts::*;
pub use rehearsal::*;
pub use release::*;
pub use subject::{OTHER_MANAGER, Other, OtherError, PREFIX_MAX, Subject};
pub use update::*;
pub use watching::*;

/// Makes a test of each function of the [contract](crate::contract).
///
/// The first argument is the path of an async function that makes a new [`Subject`](crate::contract::Subject), the
/// second the attribute of the tests; `#[tokio::test]` when it is left out.
#[macro_export]
macro_rules! contract_tests {
    ($subject:path) => {
        $crate::contract_tests!($subject, #[tokio::test]);
    };
    ($subject:path, #[$attribute:meta]) => {
        $crate::contract_tests!(@each $subject, #[$attribute],
            the_uid_is_that_of_kube_system_and_stays,
            the_server_tells_its_version,
            the_server_tells_the_kinds_of_namespaced_objects,
            a_review_answers_each_access_in_order,
            contents_leave_out_what_kubernetes_made_and_what_is_ours,
            contents_leave_out_what_another_object_owns,
            a_token_is_issued_for_a_service_account,
            a_token_needs_its_service_account,
            a_token_is_accepted_while_its_service_account_is_there,
            create_makes_the_object_with_its_marks,
            create_never_changes_what_is_there,
            create_into_a_missing_namespace_is_not_found,
            create_refuses_what_breaks_a_rule,
            an_object_made_again_has_another_uid,
            a_missing_object_is_none,
            a_list_has_every_object_of_its_kind_and_namespace,
            a_long_list_comes_in_pages,
            a_kind_that_is_not_served_is_unknown,
            quantities_and_limits_are_written_as_kubernetes_does,
            defaults_are_filled_in_as_kubernetes_does,
            what_is_empty_is_written_as_kubernetes_does,
            update_brings_the_object_to_the_manifest,
            update_needs_the_observed_state,
            update_makes_nothing,
            update_removes_a_quota_key_that_an_earlier_manifest_said,
            update_removes_a_label_that_an_earlier_manifest_said,
            update_removes_a_verb_that_an_earlier_manifest_said,
            update_keeps_what_others_wrote,
            update_leaves_what_another_changed,
            update_leaves_what_was_shared_with_another,
            update_without_force_reports_the_other_manager,
            update_with_force_takes_over,
            update_refuses_what_can_not_be_changed,
            a_rehearsal_answers_as_the_write_would_and_changes_nothing,
            a_rehearsal_is_refused_as_the_write_would_be,
            release_takes_our_marks_off_and_leaves_the_rest,
            release_gives_up_what_we_wrote,
            release_leaves_what_was_adopted_as_it_was,
            release_ignores_the_origin_on_the_object,
            release_needs_the_observed_state,
            set_part_replaces_the_subjects_and_leaves_the_rest,
            set_part_replaces_a_text_and_leaves_the_rest,
            set_part_needs_the_observed_state,
            delete_removes_the_object,
            delete_needs_the_observed_state,
            delete_waits_for_finalizers,
            a_deleted_namespace_is_pending_and_then_gone,
            nothing_is_made_in_a_namespace_that_goes,
            a_watch_begins_with_what_is_there,
            a_watch_tells_a_long_list_in_pages,
            a_watch_tells_later_changes,
            a_watch_sees_its_owner_only,
            an_approved_request_gets_its_certificate,
            a_certificate_is_accepted_if_the_cluster_trusts_its_authority,
            approving_again_changes_nothing,
            approval_needs_the_observed_state,
        );
    };
    (@each $subject:path, #[$attribute:meta], $($promise:ident,)*) => {
        $(
            #[$attribute]
            async fn $promise() {
                $crate::contract::$promise(&$subject().await).await;
            }
        )*
    };
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
