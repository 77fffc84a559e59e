//! The words for a request of a step that a cluster refused: the request, and what a person can do. They name no object, so that equal causes
//! of many objects are equal: the object stands beside the words in a cause.

use dcm_core::manifest::GroupVersionKind;
use dcm_core::plan::{Step, Work};
use dcm_core::port::cluster::Error;

/// What to do about a request that is not allowed.
const RIGHT: &str = "give the engine the right (dcm cluster check shows which are missing), or change the policy that refuses this";

/// The words of an error, with the request and what to do.
pub(super) fn worded(words: &str, step: &Step, error: &Error) -> String {
    let about = format!("{words} ({})", deed(&step.work));
    match remedy(&step.work, error) {
        Some(remedy) => format!("{about}: {remedy}"),
        None => about,
    }
}

/// The words of an error of a watch, with the kind that it follows and what to do.
pub(super) fn worded_of_watch(words: &str, kind: &GroupVersionKind, error: Option<&Error>) -> String {
    let about = format!("watching {kind}: {words}");
    match error {
        Some(Error::Forbidden { .. }) => format!("{about}: {RIGHT}"),
        _ => about,
    }
}

/// The request, in a word.
fn deed(work: &Work) -> &'static str {
    match work {
        Work::Create { .. } => "create",
        Work::Update { .. } => "update",
        Work::Delete { .. } => "delete",
        Work::Release { .. } => "release",
        Work::Edit { .. } => "edit",
        Work::Count { .. } => "count its contents",
        Work::Request { .. } => "issue a credential",
        Work::Look
        | Work::Forget
        | Work::RecordEdit { .. }
        | Work::Unrecord
        | Work::Await(_)
        | Work::Blocked(_) => "read",
    }
}

/// What a person can do; none where the words have it, or the engine tries again by itself.
fn remedy(work: &Work, error: &Error) -> Option<&'static str> {
    let is_of_document = matches!(work, Work::Create { .. } | Work::Update { .. });
    match error {
        Error::Forbidden { message } if message.rule().is_none() => Some(RIGHT),
        Error::UnknownKind { .. } if is_of_document => {
            Some("define the kind on the cluster, or take the manifest out of the document")
        }
        Error::FieldConflict { .. } if is_of_document => {
            Some("take the field out of the document, or have it overwritten by an object policy")
        }
        Error::Invalid { .. } if is_of_document => Some("change the document"),
        _ => None,
    }
}
