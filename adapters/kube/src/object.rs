//! Objects as the API tells them, and as the port does.

use std::sync::Arc;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Error, Marks, Object};
use serde_json::Value;

use crate::failure::UNREADABLE;

/// Longest name, UID or resource version: more than a name may have, and so than what servers make up themselves. All of an
/// object may be dropped but these.
const TEXT_BYTES_MAX: usize = 512;

/// Most finalizers that are kept of an object.
const FINALIZERS_MAX: usize = 100;

/// Takes an object of this kind as the API told it. Items of a list don't repeat their kind; it is put in.
///
/// # Errors
/// [`Error::Server`] when name, UID or resource version is missing or too long.
pub(crate) fn read(kind: &GroupVersionKind, mut body: Value) -> Result<Object, Error> {
    let metadata = &body["metadata"];
    let is_right = |text: &&str| (1..=TEXT_BYTES_MAX).contains(&text.len());
    let text = |name: &str| metadata[name].as_str().filter(is_right).map(Arc::<str>::from);
    let (Some(name), Some(uid), Some(resource_version)) =
        (text("name"), text("uid"), text("resourceVersion"))
    else {
        let message = format!("it told a {} without name, UID or resource version", kind.kind);
        return Err(Error::Server { code: UNREADABLE, message: message.into() });
    };
    let key = ObjectKey::new(kind.group.clone(), kind.kind.clone(), text("namespace"), name);
    let marks = Marks::read(&body);
    let deleting = (!metadata["deletionTimestamp"].is_null()).then(|| finalizers(kind, &body));
    if let Value::Object(members) = &mut body {
        members.entry("apiVersion").or_insert_with(|| kind.api_version().into());
        members.entry("kind").or_insert_with(|| (&*kind.kind).into());
    }
    Ok(Object { kind: kind.clone(), key, uid, resource_version, marks, deleting, body: Arc::new(body) })
}

/// What holds an object back. A namespace has finalizers of its own in its specification, for its contents.
fn finalizers(kind: &GroupVersionKind, body: &Value) -> Vec<Arc<str>> {
    let own = body["metadata"]["finalizers"].as_array();
    let of_contents = body["spec"]["finalizers"].as_array().filter(|_| kind.is_namespace());
    let all = own.into_iter().chain(of_contents).flatten().filter_map(Value::as_str);
    all.filter(|name| name.len() <= TEXT_BYTES_MAX).take(FINALIZERS_MAX).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_read_whole() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let body = json!({"metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "7"}});
        let object = read(&kind, body).unwrap();
        assert_eq!(object.key.to_string(), "Deployment.apps n/d");
        assert_eq!((&*object.uid, &*object.resource_version), ("u", "7"));
        assert_eq!(object.deleting, None);
        assert_eq!(object.marks, None);
        assert_eq!(object.body["apiVersion"], "apps/v1");
        assert_eq!(object.body["kind"], "Deployment");
    }

    #[test]
    fn a_deleted_object_names_its_finalizers() {
        let kind = GroupVersionKind::new("", "v1", "Namespace");
        let body = json!({"spec": {"finalizers": ["kubernetes"]}, "metadata": {
            "name": "n", "uid": "u", "resourceVersion": "7", "finalizers": ["a"],
            "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let object = read(&kind, body).unwrap();
        assert_eq!(object.deleting, Some(vec!["a".into(), "kubernetes".into()]));
    }

    #[test]
    fn an_object_without_identity_is_an_error() {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        for metadata in [json!({}), json!({"name": "c", "uid": "", "resourceVersion": "7"}), json!(null)] {
            assert!(matches!(read(&kind, json!({"metadata": metadata})), Err(Error::Server { .. })));
        }
        let long = "u".repeat(TEXT_BYTES_MAX + 1);
        let metadata = json!({"name": "c", "uid": long, "resourceVersion": "7"});
        assert!(matches!(read(&kind, json!({"metadata": metadata})), Err(Error::Server { .. })));
    }
}
