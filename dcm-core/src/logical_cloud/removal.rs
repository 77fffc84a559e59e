//! How a logical cloud is taken off clusters.

use crate::port::synchronizer::{Disposal, Removal};
use crate::refusal::{Checks, Path};

use super::draft::RemovalDraft;
use super::limits::{DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN};

/// Checks what a draft says; what it does not say is left to whoever takes the cloud off.
pub(super) fn check(draft: &RemovalDraft, at: &Path, checks: &mut Checks) -> Option<Removal> {
    let objects = disposal(draft.objects.as_deref(), &at.field("objects"), checks);
    let deadline = deadline(draft.deadline_seconds, &at.field("deadlineSeconds"), checks);
    // Rights end with the cloud, whatever is kept: nobody could take them away any more.
    let bindings = Some(Disposal::Delete);
    Some(Removal { objects: objects?, bindings, deadline_seconds: deadline?, ..Removal::default() })
}

/// The outer none is a refusal, the inner one an absent text.
fn disposal(text: Option<&str>, at: &Path, checks: &mut Checks) -> Option<Option<Disposal>> {
    match text.unwrap_or("") {
        "" => Some(None),
        "delete" => Some(Some(Disposal::Delete)),
        "keep" => Some(Some(Disposal::Keep)),
        other => {
            checks.refuse(at, other, "must be delete or keep");
            None
        }
    }
}

/// The outer none is a refusal, the inner one an absent deadline.
fn deadline(seconds: Option<i64>, at: &Path, checks: &mut Checks) -> Option<Option<u32>> {
    let Some(seconds) = seconds else { return Some(None) };
    let legal = (DEADLINE_SECONDS_MIN..=DEADLINE_SECONDS_MAX).contains(&seconds);
    if let Some(seconds) = u32::try_from(seconds).ok().filter(|_| legal) {
        return Some(Some(seconds));
    }
    let rule = format!("must be from {DEADLINE_SECONDS_MIN} to {DEADLINE_SECONDS_MAX}");
    checks.refuse(at, &seconds.to_string(), rule);
    None
}

/// What a removal is as a draft; none when it says nothing.
pub(super) fn draft(removal: Removal) -> Option<RemovalDraft> {
    let text = |objects| match objects {
        Disposal::Delete => "delete".to_owned(),
        Disposal::Keep => "keep".to_owned(),
    };
    let draft = RemovalDraft {
        objects: removal.objects.map(text),
        deadline_seconds: removal.deadline_seconds.map(i64::from),
    };
    (draft != RemovalDraft::default()).then_some(draft)
}
