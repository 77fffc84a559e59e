//! What is told of a status: it is written once for all who follow.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use dcm_core::logical_cloud::LogicalCloudUid;
use dcm_core::service::CloudStatus;
use serde_json::Value;

use super::merge_patch;

/// A status that is told.
pub(super) struct Told {
    /// How many different ones were told before.
    number: u64,
    /// Of which cloud it is.
    pub(super) uid: LogicalCloudUid,
    status: Value,
    /// The event with the whole of it; written when somebody needs it.
    whole: OnceLock<Bytes>,
    /// The event with what changed since the one before; none for the first.
    change: Option<Bytes>,
}

impl Told {
    /// The one that follows another; the same one where nothing is new.
    pub(super) fn after(before: Option<Arc<Self>>, status: &CloudStatus) -> Arc<Self> {
        let now = serde_json::to_value(status).unwrap_or_default();
        let (number, change) = match before {
            None => (0, None),
            Some(before) => {
                let Some(patch) = merge_patch::between(&before.status, &now) else { return before };
                let number = before.number + 1;
                (number, Some(event(Some(number), "change", &patch.to_string())))
            }
        };
        Arc::new(Self { number, uid: status.uid, status: now, whole: OnceLock::new(), change })
    }

    /// The event for who knows none.
    pub(super) fn whole(&self) -> Bytes {
        let write = || event(Some(self.number), "status", &self.status.to_string());
        self.whole.get_or_init(write).clone()
    }

    /// The event for who knows an earlier one; none where nothing has changed since. Only for who missed some between it is written anew.
    pub(super) fn since(&self, earlier: &Self) -> Option<Bytes> {
        match self.number.saturating_sub(earlier.number) {
            0 => None,
            1 => self.change.clone(),
            _ => {
                let patch = merge_patch::between(&earlier.status, &self.status)?;
                Some(event(Some(self.number), "change", &patch.to_string()))
            }
        }
    }
}

/// A server-sent event. JSON has no line ends outside of its texts, and there they are escaped.
pub(super) fn event(number: Option<u64>, kind: &str, data: &str) -> Bytes {
    let id = number.map(|number| format!("id: {number}\n")).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {data}\n\n").into()
}
