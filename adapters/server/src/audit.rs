//! The audit log of a deployment: what goes through no service is kept here, and what is old is deleted.

use std::time::Duration;

use async_trait::async_trait;
use dcm_core::audit::{AuditedError, StoredAudit, Told, kept};
use dcm_core::port::audit::{AuditLog, Decision, Ending, EntryId, Outcome};
use dcm_core::port::store;
use tracing::field::display;

use crate::deployment::Deployment;

/// How many days entries of the audit log are kept, unless the configuration says otherwise: a year, which is what common
/// rules for such logs ask for.
pub const AUDIT_DAYS: u16 = 366;

/// How often old entries are looked for. They go by whole days.
const LOOK_INTERVAL: Duration = Duration::from_secs(6 * 3600);

impl Deployment {
    /// Makes a decision that goes through no service between the two halves of its entry.
    pub(crate) async fn kept<T: Told, E: AuditedError>(
        &self,
        decision: Decision,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        kept(&Logged(self.audit().clone()), &**self.clock(), decision, call).await
    }
}

/// Tells the log of each decision what the audit log is told: with the ids that lead from the span of a request to the spans
/// of lanes, which are app context and generation.
pub(crate) struct Logged(pub(crate) StoredAudit);

#[async_trait]
impl AuditLog for Logged {
    async fn begin(&self, decision: &Decision) -> Result<EntryId, store::Error> {
        let entry = self.0.begin(decision).await?;
        let Decision { who, request_id, action, about, context, .. } = decision;
        let cloud = about.cloud.as_ref().map(display);
        let context = context.as_ref().map(display);
        tracing::info!(entry = %entry.path(), who, request_id, ?action, cloud, context, "asked");
        Ok(entry)
    }

    async fn end(&self, entry: &EntryId, ending: &Ending) -> Result<(), store::Error> {
        let entry_path = entry.path();
        match &ending.outcome {
            Outcome::Accepted { generation } => {
                let generation = generation.map(|generation| generation.0);
                tracing::info!(entry = %entry_path, generation, "accepted");
            }
            Outcome::Unchanged => tracing::info!(entry = %entry_path, "unchanged"),
            Outcome::Refused { message: why } => tracing::info!(entry = %entry_path, why, "refused"),
            Outcome::Failed { message: why } => tracing::warn!(entry = %entry_path, why, "failed"),
        }
        let ended = self.0.end(entry, ending).await;
        if let Err(error) = &ended {
            tracing::warn!(entry = %entry_path, %error, "the audit log could not be told of the end of this entry");
        }
        ended
    }
}

/// Deletes entries that have been kept long enough, again and again. Never ends by itself; ending it anywhere is safe.
pub(crate) async fn keep_bounded(deployment: Deployment) {
    loop {
        let horizon = StoredAudit::horizon(deployment.clock().now(), deployment.audit_days());
        match deployment.audit().delete_before(horizon).await {
            Ok(0) => {}
            Ok(deleted) => tracing::info!(deleted, %horizon, "old entries of the audit log deleted"),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "old entries of the audit log can't be deleted");
            }
        }
        deployment.clock().sleep(LOOK_INTERVAL).await;
    }
}
