//! Waiting until an API server's RBAC has seen everything that was written before.
//!
//! It follows roles and bindings by watches, each of which tells of changes in their order. So when the last role and the
//! last binding of both kinds are in force, every earlier one is, and none that went is any more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dcm_testenv::effort::patience;
use http::{Request, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use crate::rights::caller::Caller;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Names of barriers.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Waits until RBAC has seen everything, as the administrator.
pub(crate) async fn wait(administrator: &Caller) {
    let name = format!("barrier-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    for (kind, resource) in [("Role", "configmaps"), ("ClusterRole", "nodes")] {
        make(administrator, kind, &role(&name, resource)).await;
        make(administrator, &format!("{kind}Binding"), &binding(kind, &name)).await;
    }
    let seen = async {
        for path in ["/api/v1/namespaces/default/configmaps/barrier", "/api/v1/nodes/barrier"] {
            while is_forbidden(administrator, &name, path).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    tokio::time::timeout(patience(), seen).await.unwrap();
}

fn role(name: &str, resource: &str) -> Value {
    let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
    json!({"metadata": {"name": name}, "rules": [rule]})
}

fn binding(kind: &str, name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name}],
    })
}

async fn make(administrator: &Caller, kind: &str, object: &Value) {
    let place = if kind.starts_with("Cluster") { "" } else { "/namespaces/default" };
    let uri = format!("/apis/{RBAC}/v1{place}/{}s", kind.to_lowercase());
    let body = Body::from(object.to_string().into_bytes());
    let request = Request::post(uri).header("Content-Type", "application/json").body(body).unwrap();
    let (code, body) = administrator.send(request).await;
    assert_eq!(code, StatusCode::CREATED, "{}", String::from_utf8_lossy(&body));
}

async fn is_forbidden(administrator: &Caller, user: &str, path: &str) -> bool {
    let request = Request::get(path).header("Impersonate-User", user).body(Body::empty()).unwrap();
    administrator.send(request).await.0 == StatusCode::FORBIDDEN
}
