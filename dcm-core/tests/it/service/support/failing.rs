//! A synchronizer of which one call fails, before it has taken effect or after.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::{AppContext, Generation};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{
    Condition, Error, Issued, Removal, Results, StatusStream, Synchronizer, Tombstone,
};
use dcm_core::status::{ContextStatus, LaneStatus};
use dcm_store::memory::Fault;

use super::unavailable;

pub(crate) struct Failing {
    inner: Arc<dyn Synchronizer>,
    /// How many changing calls go well before one fails.
    fault: Mutex<Option<(usize, Fault)>>,
}

impl Failing {
    pub(crate) fn new(inner: Arc<dyn Synchronizer>) -> Self {
        Self { inner, fault: Mutex::new(None) }
    }

    /// Lets the changing call after this many fail.
    pub(crate) fn fail_after(&self, calls: usize, fault: Fault) {
        *self.fault.lock().unwrap() = Some((calls, fault));
    }

    pub(crate) fn fault_is_pending(&self) -> bool {
        self.fault.lock().unwrap().is_some()
    }

    fn due(&self) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap();
        match fault.take()? {
            (0, fault) => Some(fault),
            (calls, later) => {
                *fault = Some((calls - 1, later));
                None
            }
        }
    }

    async fn make<T>(&self, call: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
        match self.due() {
            None => call.await,
            Some(Fault::NotWritten) => Err(unavailable().into()),
            Some(Fault::Unanswered) => {
                drop(call.await);
                Err(unavailable().into())
            }
        }
    }
}

#[async_trait]
impl Synchronizer for Failing {
    async fn identity(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error> {
        self.inner.identity(cluster).await
    }

    async fn apply_on(&self, context: &AppContext, condition: &Condition) -> Result<Generation, Error> {
        self.make(self.inner.apply_on(context, condition)).await
    }

    async fn remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error> {
        self.make(self.inner.remove(id, removal)).await
    }

    async fn look_again(&self, id: &ContextId) -> Result<(), Error> {
        self.make(self.inner.look_again(id)).await
    }

    async fn reconcile(&self, id: &ContextId) -> Result<Generation, Error> {
        self.make(self.inner.reconcile(id)).await
    }

    async fn stop(&self, id: &ContextId, limit: Duration) -> Result<(), Error> {
        self.make(self.inner.stop(id, limit)).await
    }

    async fn stop_cluster(&self, cluster: &ClusterId, limit: Duration) -> Result<(), Error> {
        self.make(self.inner.stop_cluster(cluster, limit)).await
    }

    async fn resume_cluster(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.make(self.inner.resume_cluster(cluster)).await
    }

    async fn stopped_clusters(&self) -> Result<BTreeSet<ClusterId>, Error> {
        self.inner.stopped_clusters().await
    }

    async fn resume(&self, id: &ContextId) -> Result<(), Error> {
        self.make(self.inner.resume(id)).await
    }

    async fn forget(&self, id: &ContextId) -> Result<(), Error> {
        self.make(self.inner.forget(id)).await
    }

    async fn discard(&self, id: &ContextId, removal: Removal) -> Result<(), Error> {
        self.make(self.inner.discard(id, removal)).await
    }

    async fn tombstones(&self, cluster: &ClusterId) -> Result<Vec<Tombstone>, Error> {
        self.inner.tombstones(cluster).await
    }

    async fn drop_tombstones(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.make(self.inner.drop_tombstones(cluster)).await
    }

    async fn status(&self, id: &ContextId) -> Result<Option<ContextStatus>, Error> {
        self.inner.status(id).await
    }

    async fn lane(&self, id: &ContextId, cluster: &ClusterId) -> Result<Option<LaneStatus>, Error> {
        self.inner.lane(id, cluster).await
    }

    async fn results(&self, id: &ContextId) -> Result<Results, Error> {
        self.inner.results(id).await
    }

    async fn result(
        &self,
        id: &ContextId,
        cluster: &ClusterId,
        request: &str,
    ) -> Result<Option<Issued>, Error> {
        self.inner.result(id, cluster, request).await
    }

    async fn watch(&self, id: &ContextId) -> Result<StatusStream, Error> {
        self.inner.watch(id).await
    }
}
