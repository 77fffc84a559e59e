//! Attack l, without an attacker: controllers of Kubernetes copy the labels of our objects onto their own, and the engine deletes those.

use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER};
use dcm_core::port::proof::ANNOTATION_PROOF;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::victims::{OWNER, cloud, context, terminate_with_contents};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, until};

/// An address that no cluster uses: it is reserved for documentation.
const ADDRESS: &str = "192.0.2.1";

/// What a controller makes in the namespace of a cloud.
struct Copied {
    resource: &'static str,
    /// The label that the controller puts on it.
    selector: &'static str,
}

const ENDPOINTS: Copied =
    Copied { resource: "endpoints", selector: "endpoints.kubernetes.io/managed-by=endpoint-controller" };

const SLICES: Copied = Copied {
    resource: "endpointslices",
    selector: "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io",
};

const MIRRORED: Copied = Copied {
    resource: "endpointslices",
    selector: "endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io",
};

impl Copied {
    /// Waits for the object of the controller, and reads it.
    async fn made(&self, cluster: &Cluster, cloud: &str) -> Value {
        let arguments = ["get", self.resource, "-n", cloud, "-l", self.selector, "-o", "json"];
        until("what the controller makes", async || {
            let mut list: Value = serde_json::from_str(&kubectl(cluster, &arguments)).unwrap();
            list["items"].get_mut(0).map(Value::take)
        })
        .await
    }
}

fn port() -> Value {
    json!({"name": "http", "port": 80, "protocol": "TCP"})
}

/// A Service without a selector: controllers make no endpoints for it.
fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [port()]}})
}

/// A Service with a selector that no pod has.
fn selecting_service(name: &str) -> Value {
    let mut service = service(name);
    service["spec"]["selector"] = json!({"app": name});
    service
}

fn endpoints(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name},
           "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": [port()]}]})
}

fn slice(name: &str) -> Value {
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": name},
           "addressType": "IPv4", "ports": [port()],
           "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": true}}]})
}

/// A cloud with these manifests, which has the engine follow their kinds, is applied twice; with a running worker or without one. What a
/// controller makes of them has our labels, and stays. Returns that.
async fn is_left_alone(cloud_name: &str, copied: &Copied, manifests: &[Value], is_served: bool) -> Value {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let document = |pods| cloud(&installation, cloud_name, pods, manifests);
    let since = installation.moment();
    let worker = if is_served { Some(installation.served(&document(10)).await) } else { None };
    installation.apply(&document(10)).done();
    let made = copied.made(cluster, cloud_name).await;
    let labels = &made["metadata"]["labels"];
    assert_eq!(
        (&labels[LABEL_OWNER], &labels[LABEL_CONTEXT]),
        (&json!(OWNER), &json!(context(cluster, cloud_name)))
    );

    installation.apply(&document(11)).done();
    let writes = installation.writes(&since).swap_remove(0);
    let deletion = format!("delete {} ", copied.resource);
    assert!(!writes.iter().any(|write| write.starts_with(&deletion)), "{writes:#?}");
    let still = copied.made(cluster, cloud_name).await;
    assert_eq!(still["metadata"]["uid"], made["metadata"]["uid"]);

    terminate_with_contents(&installation, cloud_name);
    if let Some(worker) = worker {
        worker.stop();
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_l_endpoints_that_a_controller_makes_with_our_labels_stay_with_a_worker() {
    let manifests = [selecting_service("web"), service("fixed"), endpoints("fixed")];
    let made = is_left_alone("attack-l-served", &ENDPOINTS, &manifests, true).await;
    assert_eq!(made["metadata"]["name"], "web");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_l_endpoint_slices_that_a_controller_makes_with_our_labels_stay_without_a_worker() {
    let manifests = [selecting_service("web"), slice("own")];
    is_left_alone("attack-l-alone", &SLICES, &manifests, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_l_endpoint_slices_that_mirror_endpoints_with_their_proof_stay_with_a_worker() {
    let manifests = [service("fixed"), endpoints("fixed"), slice("own")];
    let made = is_left_alone("attack-l-mirrored", &MIRRORED, &manifests, true).await;
    assert!(made["metadata"]["annotations"][ANNOTATION_PROOF].is_string(), "{made:#}");
}
