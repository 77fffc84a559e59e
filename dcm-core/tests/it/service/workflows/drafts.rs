//! The logical clouds that workflows write.

use serde_json::{Value, json};

use crate::service::support::{draft, permission, user};

/// A small cloud: each of its documents is a write that fails.
pub(super) fn first() -> Value {
    let mut first = draft();
    for part in ["labels", "quotas", "keyValues", "manifests"] {
        first["spec"].as_object_mut().unwrap().remove(part);
    }
    first
}

/// Other users, another permission and another cluster.
pub(super) fn edited() -> Value {
    let mut edited = first();
    edited["spec"]["users"] = json!([user("bot"), user("eve"), user("zoe")]);
    edited["spec"]["permissions"] = json!([permission("other")]);
    edited["spec"]["clusters"][1]["cluster"] = "three".into();
    edited
}

/// Another permission alone.
pub(super) fn with_more_rights() -> Value {
    let mut edited = first();
    edited["spec"]["permissions"] = json!([permission("read"), permission("more")]);
    edited
}

/// Without the one who has certificates.
pub(super) fn without_ann() -> Value {
    let mut without = first();
    without["spec"]["users"].as_array_mut().unwrap().remove(0);
    without
}

/// With credentials that live for 600 seconds.
pub(super) fn short_lived() -> Value {
    let mut short = first();
    for user in short["spec"]["users"].as_array_mut().unwrap() {
        user["lifetimeSeconds"] = 600.into();
    }
    short
}

/// On whichever clusters are at the edge.
pub(super) fn selecting() -> Value {
    let mut selecting = first();
    selecting["spec"]["clusters"] = json!([]);
    selecting["spec"]["clusterSelector"] = json!({"matchLabels": {"tier": "edge"}});
    selecting
}

/// With a service mesh.
pub(super) fn woven() -> Value {
    let mut woven = first();
    woven["spec"]["serviceMesh"] = json!({});
    woven
}

/// With a service mesh on other clusters, and with other keys.
pub(super) fn woven_elsewhere() -> Value {
    let mut woven = woven();
    woven["spec"]["serviceMesh"]["key"] = "rsa-2048".into();
    woven["spec"]["clusters"] = json!([{"name": "r3", "provider": "sim", "cluster": "three"}]);
    woven
}

/// With a service mesh and without users, so that nothing else is due.
pub(super) fn woven_for_nobody() -> Value {
    let mut woven = woven();
    for list in ["users", "permissions"] {
        woven["spec"].as_object_mut().unwrap().remove(list);
    }
    woven
}

/// Another cloud in the same namespace.
pub(super) fn rival() -> Value {
    let mut rival = first();
    rival["metadata"]["name"] = "rival".into();
    rival
}
