//! Ports behind a tap.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{
    self, Access, Call, Cluster, ClusterUid, Clusters, Contents, Deletion, IssuedToken, Kinds, Object,
    Origin, PageToken, Part, Precondition, Selection, ServerInfo, Stamped,
};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::resources::Resources;
use dcm_core::port::store::{
    self, BatchError, Capabilities, Entry, Page, PageRequest, Path, Prefix, Store, Version, Write,
};
use dcm_core::port::trial::{ClientCredential, Trial};
use serde_json::Value;

use super::{ClusterChange, Crossing, Tap};

/// A port (`Arc<dyn Store>` or `Arc<dyn Clusters>`) behind a tap.
pub struct Tapped<P, T> {
    port: P,
    tap: Arc<T>,
}

impl<P, T: Tap> Tapped<P, T> {
    /// Puts the tap before the port.
    pub fn new(port: P, tap: Arc<T>) -> Self {
        Self { port, tap }
    }
}

#[async_trait]
impl<T: Tap> Store for Tapped<Arc<dyn Store>, T> {
    fn capabilities(&self) -> Capabilities {
        self.port.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, store::Error> {
        self.tap.pass(Crossing::Get(path), self.port.get(path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, store::Error> {
        self.tap.pass(Crossing::Read, self.port.list(prefix, page)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.tap.pass(Crossing::Commit(batch), self.port.write(batch)).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<store::Watch, store::Error> {
        self.tap.pass(Crossing::Read, self.port.watch(prefix)).await
    }
}

#[async_trait]
impl<T: Tap> Clusters for Tapped<Arc<dyn Clusters>, T> {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, cluster::Error> {
        let port = self.tap.pass(Crossing::Read, self.port.connect(cluster)).await?;
        Ok(Arc::new(Tapped { port, tap: self.tap.clone() }))
    }
}

#[async_trait]
impl<T: Tap> Cluster for Tapped<Arc<dyn Cluster>, T> {
    async fn uid(&self, call: &Call) -> Result<ClusterUid, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.uid(call)).await
    }

    async fn server_info(&self, call: &Call) -> Result<ServerInfo, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.server_info(call)).await
    }

    async fn kinds(&self, call: &Call) -> Result<Kinds, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.kinds(call)).await
    }

    async fn resources(&self, call: &Call) -> Result<Resources, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.resources(call)).await
    }

    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.get(call, kind, key)).await
    }

    async fn list(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        page: Option<&PageToken>,
    ) -> Result<cluster::Page, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.list(call, kind, namespace, page)).await
    }

    async fn rehearse(
        &self,
        call: &Call,
        object: &Stamped,
        observed: Option<&Precondition>,
        force: bool,
    ) -> Result<Value, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.rehearse(call, object, observed, force)).await
    }

    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, cluster::Error> {
        self.tap
            .pass(Crossing::Change(call, ClusterChange::Create(object)), self.port.create(call, object))
            .await
    }

    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, cluster::Error> {
        let happens = self.port.update(call, object, observed, force);
        self.tap.pass(Crossing::Change(call, ClusterChange::Update(object)), happens).await
    }

    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        origin: Origin,
    ) -> Result<Object, cluster::Error> {
        let happens = self.port.release(call, kind, key, observed, origin);
        self.tap.pass(Crossing::Change(call, ClusterChange::Release(kind, key)), happens).await
    }

    async fn set_part(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        part: &Part,
    ) -> Result<Object, cluster::Error> {
        let happens = self.port.set_part(call, kind, key, observed, part);
        self.tap.pass(Crossing::Change(call, ClusterChange::SetPart(kind, key)), happens).await
    }

    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, cluster::Error> {
        let happens = self.port.delete(call, kind, key, observed);
        self.tap.pass(Crossing::Change(call, ClusterChange::Delete(kind, key)), happens).await
    }

    async fn watch(&self, call: &Call, selection: &Selection) -> Result<cluster::Watch, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.watch(call, selection)).await
    }

    async fn approve(
        &self,
        call: &Call,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Object, cluster::Error> {
        self.tap
            .pass(Crossing::Change(call, ClusterChange::Approve(key)), self.port.approve(call, key, observed))
            .await
    }

    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, cluster::Error> {
        let happens = async {
            let issued = self.port.issue_token(call, request).await?;
            self.tap.token_issued(&issued);
            Ok(issued)
        };
        self.tap.pass(Crossing::Change(call, ClusterChange::IssueToken(request)), happens).await
    }

    async fn try_credential(
        &self,
        call: &Call,
        credential: &ClientCredential,
    ) -> Result<Trial, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.try_credential(call, credential)).await
    }

    async fn contents(
        &self,
        call: &Call,
        namespace: &str,
        proofs: Option<&ClusterProofKey>,
    ) -> Result<Contents, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.contents(call, namespace, proofs)).await
    }

    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, cluster::Error> {
        self.tap.pass(Crossing::Read, self.port.review(call, accesses)).await
    }
}
