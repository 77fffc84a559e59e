//! Promises about namespaces that go.

use dcm_core::port::cluster::{Deletion, Error};
use serde_json::json;

use super::deletion::FINALIZER;
use super::subject::{Subject, config_map, key, kind};
use super::watching::Follower;

/// Deleting a namespace is `Pending`; it says so itself while it goes, its watch tells when it is gone, and what was
/// in it is gone too.
pub async fn a_deleted_namespace_is_pending_and_then_gone(subject: &Subject) {
    let namespace = subject.namespace("going").await;
    let body = subject.namespace_body("going");
    let inside = config_map(&namespace, "c", &json!({"color": "red"}));
    subject.create(&inside).await;
    let mut follower = Follower::new(subject, kind(&body)).await;
    follower.until("the namespace", |known| known.contains_key(&key(&body))).await;
    assert_eq!(subject.delete(&body).await, Deletion::Pending);
    follower
        .until("the namespace to say that it goes", |known| {
            known.get(&key(&body)).is_none_or(|object| object.deleting.is_some())
        })
        .await;
    follower.until("the namespace to go", |known| !known.contains_key(&key(&body))).await;
    assert!(subject.get(&body).await.is_none());
    assert!(subject.get(&inside).await.is_none());
}

/// While a namespace goes, a `create` in it is `Forbidden`; it goes when nothing in it is held back any more.
pub async fn nothing_is_made_in_a_namespace_that_goes(subject: &Subject) {
    let namespace = subject.namespace("closing").await;
    let body = subject.namespace_body("closing");
    let mut held = config_map(&namespace, "held", &json!({}));
    held["metadata"]["finalizers"] = json!([FINALIZER]);
    subject.create(&held).await;
    assert_eq!(subject.delete(&body).await, Deletion::Pending);
    let late = config_map(&namespace, "late", &json!({}));
    let error = subject.cluster.create(&subject.call, &subject.stamped(&late)).await.err();
    assert!(matches!(error, Some(Error::Forbidden { .. })), "{error:?}");
    subject.edit(&held, json!({"metadata": {"finalizers": null}})).await;
    subject
        .until("the namespace to go", || async {
            if subject.get(&body).await.is_none() { Some(()) } else { None }
        })
        .await;
}
