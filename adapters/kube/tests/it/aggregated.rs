//! A real API server with an API that another server is to serve, which is down. It is in the way of more than the test
//! that makes it, so it has a server of its own.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::time::Duration;

use crate::common::*;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Cluster, Error};
use dcm_testenv::Environment;
use dcm_testenv::effort::patience;
use serde_json::json;

const GROUP: &str = "down.example.org";

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_server_is_down_is_told_and_hides_no_other_but_contents_are_not_known() {
    let environment = Environment::group("aggregated", 1).await.unwrap();
    let server = &environment.clusters()[0];
    let (cluster, call) = (administrator(server).await, call("aggregated"));
    namespace(&cluster, &call, "aggregated").await;
    cluster.contents(&call, "aggregated", None).await.unwrap();
    let service = json!({"name": "nobody", "namespace": "default"});
    let spec = json!({
        "group": GROUP, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
        "insecureSkipTLSVerify": true, "service": service,
    });
    let registered = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{GROUP}")}, "spec": spec});
    kubectl(server, &["create", "-f", "-"], &registered.to_string());
    let found = async {
        loop {
            let found = cluster.kinds(&call).await.unwrap();
            if !found.unseen.is_empty() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let found = tokio::time::timeout(patience(), found).await.unwrap();
    assert_eq!(found.unseen.keys().map(|group| &**group).collect::<Vec<_>>(), [GROUP]);
    for (group, version, kind) in [("", "v1", "ConfigMap"), ("policy", "v1", "PodDisruptionBudget")] {
        assert!(found.known.contains(&GroupVersionKind::new(group, version, kind)), "{kind}");
    }
    let error = cluster.contents(&call, "aggregated", None).await.unwrap_err();
    assert!(
        matches!(&error, Error::Server { message, .. } if message.contains(GROUP)),
        "what may be in the namespace is not known: {error}"
    );
}
