//! The contract of the port, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common;
use crate::common::administrator;
use async_trait::async_trait;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::clock::Clock;
use dcm_sync::contract::{OTHER_MANAGER, Other, OtherError, Subject};
use dcm_testenv::effort::patience;
use dcm_testenv::{Environment, Route};
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use serde_json::Value;

/// Somebody with another client.
struct Somebody(kube::Client);

impl Somebody {
    fn api(&self, kind: &GroupVersionKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = kube::core::GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
        let resource = ApiResource::from_gvk(&kind);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        }
    }
}

#[async_trait]
impl Other for Somebody {
    async fn create(&self, body: &Value) -> Result<(), OtherError> {
        let object: DynamicObject = serde_json::from_value(body.clone())?;
        let kind = dcm_core::manifest::kind_of(body)?;
        let api = self.api(&kind, object.metadata.namespace.as_deref());
        let parameters = PostParams { field_manager: Some(OTHER_MANAGER.into()), ..PostParams::default() };
        api.create(&parameters, &object).await?;
        Ok(())
    }

    async fn edit(&self, kind: &GroupVersionKind, key: &ObjectKey, patch: &Value) -> Result<(), OtherError> {
        let parameters = PatchParams { field_manager: Some(OTHER_MANAGER.into()), ..PatchParams::default() };
        let api = self.api(kind, key.namespace.as_deref());
        api.patch(&key.name, &parameters, &Patch::Merge(patch)).await?;
        Ok(())
    }
}

/// The time that the servers live in.
struct RealTime;

impl Clock for RealTime {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A subject of its own for each test, with a prefix of its own, on the one cluster of the process.
async fn subject() -> Subject {
    static SUBJECTS: AtomicU32 = AtomicU32::new(0);
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let kubeconfig: Kubeconfig = Kubeconfig::from_yaml(&server.admin_kubeconfig(Route::Direct)).unwrap();
    let prefix = format!("contract-{}", SUBJECTS.fetch_add(1, Ordering::Relaxed));
    Subject {
        cluster: Arc::new(administrator(server).await),
        other: Arc::new(Somebody(kube::Client::try_from(kubeconfig).unwrap())),
        clock: Arc::new(RealTime),
        call: common::call("contract"),
        prefix,
        patience: patience(),
    }
}

dcm_sync::contract_tests!(subject);
