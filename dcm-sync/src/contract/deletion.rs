//! Promises about `delete`.

use dcm_core::port::cluster::{Deletion, Error};
use serde_json::json;

use super::subject::{Subject, config_map, of_another_object, refused_as_another_state};

/// A finalizer of the suite's own.
pub(super) const FINALIZER: &str = "contract.dcm.internal/held";

/// What nothing holds back is `Gone`, and then it is not there; deleting it again is `NotFound`.
pub async fn delete_removes_the_object(subject: &Subject) {
    let namespace = subject.namespace("delete").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let made = subject.create(&body).await;
    assert_eq!(subject.delete(&body).await, Deletion::Gone);
    assert!(subject.get(&body).await.is_none());
    let again = subject.cluster.delete(&subject.call, &made.kind, &made.key, &made.precondition()).await;
    assert!(matches!(again, Err(Error::NotFound)), "{again:?}");
    subject.clean_up("delete").await;
}

/// With another state than the object's it is a `Conflict`, for another object perhaps `NotFound`, and it stays.
pub async fn delete_needs_the_observed_state(subject: &Subject) {
    let namespace = subject.namespace("delete-state").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let made = subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let before = subject.there(&body).await;
    for observed in [made.precondition(), of_another_object(&before)] {
        let result = subject.cluster.delete(&subject.call, &made.kind, &made.key, &observed).await;
        refused_as_another_state(&result, &observed, &before);
        let after = subject.there(&body).await;
        assert_eq!((after.resource_version, after.deleting), (before.resource_version.clone(), None));
    }
    subject.clean_up("delete-state").await;
}

/// With a finalizer it is `Pending`; the object says what holds it back, and goes when that is taken off.
pub async fn delete_waits_for_finalizers(subject: &Subject) {
    let namespace = subject.namespace("finalizer").await;
    let mut body = config_map(&namespace, "c", &json!({"color": "red"}));
    body["metadata"]["finalizers"] = json!([FINALIZER]);
    subject.create(&body).await;
    assert_eq!(subject.delete(&body).await, Deletion::Pending);
    let held = subject.there(&body).await;
    assert_eq!(held.deleting, Some(vec![FINALIZER.into()]));
    subject.edit(&body, json!({"metadata": {"finalizers": null}})).await;
    subject
        .until("the object to go", || async {
            if subject.get(&body).await.is_none() { Some(()) } else { None }
        })
        .await;
    subject.clean_up("finalizer").await;
}
