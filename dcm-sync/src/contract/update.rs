//! Promises about `update`.

use dcm_core::port::cluster::{Error, Marks};
use serde_json::{Value, json};

use super::subject::{OTHER_MANAGER, Subject, config_map, must, of_another_object};

/// The object is then as the manifest says, with the marks of its generation; it is the same object in another state.
pub async fn update_brings_the_object_to_the_manifest(subject: &Subject) {
    let namespace = subject.namespace("update").await;
    let made = subject.create(&config_map(&namespace, "c", &json!({"color": "red"}))).await;
    let body = config_map(&namespace, "c", &json!({"color": "blue", "size": "2"}));
    let stamped = subject.stamped_in(2, &body);
    let observed = made.precondition();
    let updated = must(subject.cluster.update(&subject.call, &stamped, &observed, false).await, "update");
    assert_eq!(updated.body["data"], json!({"color": "blue", "size": "2"}));
    assert_eq!(updated.marks, Some(stamped.marks));
    assert_eq!(updated.uid, made.uid);
    assert_ne!(updated.resource_version, made.resource_version);
    let found = subject.there(&body).await;
    assert_eq!(
        (found.resource_version, &found.body["data"]),
        (updated.resource_version, &updated.body["data"])
    );
    subject.clean_up("update").await;
}

/// With another UID or `resourceVersion` than the object's it is a `Conflict`, for another UID perhaps `NotFound`, with
/// force too, and changes nothing.
pub async fn update_needs_the_observed_state(subject: &Subject) {
    let namespace = subject.namespace("update-state").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let made = subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let before = subject.there(&body).await;
    for (observed, force) in [(made.precondition(), true), (of_another_object(&before), true)] {
        let wanted = subject.stamped(&config_map(&namespace, "c", &json!({"color": "green"})));
        let error = subject.cluster.update(&subject.call, &wanted, &observed, force).await.err();
        let other_uid = observed.uid != before.uid;
        let is_right =
            matches!(&error, Some(Error::Conflict)) || other_uid && matches!(&error, Some(Error::NotFound));
        assert!(is_right, "{error:?}");
        assert_eq!(subject.there(&body).await.resource_version, before.resource_version);
    }
    subject.clean_up("update-state").await;
}

/// An object that is gone is `NotFound`, perhaps `Conflict`, and is not made.
pub async fn update_makes_nothing(subject: &Subject) {
    let namespace = subject.namespace("update-gone").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let made = subject.create(&body).await;
    subject.delete(&body).await;
    let result =
        subject.cluster.update(&subject.call, &subject.stamped(&body), &made.precondition(), true).await;
    assert!(matches!(result, Err(Error::NotFound | Error::Conflict)), "{result:?}");
    assert!(subject.get(&body).await.is_none(), "it was made");
    subject.clean_up("update-gone").await;
}

/// Makes the first, updates to the second and back and to the second again: what only the first says is gone.
async fn first_then_second(subject: &Subject, first: &Value, second: &Value) -> Value {
    subject.create(first).await;
    for body in [second, first, second] {
        must(subject.update(body, false).await, "update");
    }
    (*subject.there(second).await.body).clone()
}

/// A key of a quota that the manifest doesn't say any more is gone.
pub async fn update_removes_a_quota_key_that_an_earlier_manifest_said(subject: &Subject) {
    let namespace = subject.namespace("quota").await;
    let quota = |hard: Value| {
        json!({
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": namespace},
            "spec": {"hard": hard},
        })
    };
    let (first, second) = (quota(json!({"pods": "5", "secrets": "3"})), quota(json!({"pods": "6"})));
    let body = first_then_second(subject, &first, &second).await;
    assert_eq!(body["spec"]["hard"], json!({"pods": "6"}));
    subject.clean_up("quota").await;
}

/// A label or annotation that the manifest doesn't say any more is gone.
pub async fn update_removes_a_label_that_an_earlier_manifest_said(subject: &Subject) {
    let namespace = subject.namespace("label").await;
    let mut first = config_map(&namespace, "c", &json!({"color": "red"}));
    let second = first.clone();
    first["metadata"]["labels"] = json!({"team": "a"});
    first["metadata"]["annotations"] = json!({"note": "b"});
    let body = first_then_second(subject, &first, &second).await;
    assert_eq!(body["metadata"]["labels"].get("team"), None);
    assert_eq!(body["metadata"]["annotations"].get("note"), None);
    assert_eq!(Marks::read(&body), Some(subject.stamped(&second).marks));
    subject.clean_up("label").await;
}

/// A verb that the manifest doesn't say any more is gone.
pub async fn update_removes_a_verb_that_an_earlier_manifest_said(subject: &Subject) {
    let namespace = subject.namespace("verb").await;
    let role = |verbs: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "r", "namespace": namespace},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
        })
    };
    let (first, second) = (role(json!(["get", "list"])), role(json!(["get"])));
    let body = first_then_second(subject, &first, &second).await;
    assert_eq!(body["rules"], second["rules"]);
    subject.clean_up("verb").await;
}

/// Labels, annotations and members that others added stay, also when what lies beside them goes.
pub async fn update_keeps_what_others_wrote(subject: &Subject) {
    let namespace = subject.namespace("others").await;
    let body = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    subject.create(&body).await;
    let metadata = json!({"labels": {"theirs": "a"}, "annotations": {"theirs": "b"}});
    subject.edit(&body, json!({"metadata": metadata, "data": {"theirs": "c"}})).await;
    let updated =
        must(subject.update(&config_map(&namespace, "c", &json!({"color": "blue"})), false).await, "update");
    assert_eq!(updated.body["data"], json!({"color": "blue", "theirs": "c"}));
    assert_eq!(updated.body["metadata"]["labels"]["theirs"], "a");
    assert_eq!(updated.body["metadata"]["annotations"]["theirs"], "b");
    subject.clean_up("others").await;
}

/// What another changed since is theirs, and stays when the manifest doesn't say it any more.
pub async fn update_leaves_what_another_changed(subject: &Subject) {
    let namespace = subject.namespace("changed").await;
    let body = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let without = config_map(&namespace, "c", &json!({"size": "2"}));
    let updated = must(subject.update(&without, false).await, "update");
    assert_eq!(updated.body["data"], json!({"color": "blue", "size": "2"}));
    subject.clean_up("changed").await;
}

/// What another wrote and the manifest said too, with the same value, stays when the manifest doesn't say it any more.
pub async fn update_leaves_what_was_shared_with_another(subject: &Subject) {
    let namespace = subject.namespace("shared").await;
    let body = config_map(&namespace, "c", &json!({"size": "1"}));
    subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let both = config_map(&namespace, "c", &json!({"color": "blue", "size": "1"}));
    must(subject.update(&both, false).await, "an update to what the other wrote");
    let updated = must(subject.update(&body, false).await, "update");
    assert_eq!(updated.body["data"], json!({"color": "blue", "size": "1"}));
    subject.clean_up("shared").await;
}

/// A field that another manager holds with another value is a `FieldConflict` that names both, and nothing changes;
/// with the same value there is no conflict.
pub async fn update_without_force_reports_the_other_manager(subject: &Subject) {
    let namespace = subject.namespace("held").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    match subject.update(&body, false).await {
        Err(Error::FieldConflict { manager, field }) => {
            assert_eq!(manager, OTHER_MANAGER);
            assert!(field.contains("color"), "{field}");
        }
        other => panic!("not a field conflict: {other:?}"),
    }
    assert_eq!(subject.there(&body).await.body["data"]["color"], "blue");
    let same = config_map(&namespace, "c", &json!({"color": "blue"}));
    must(subject.update(&same, false).await, "an update to what the other wrote");
    subject.clean_up("held").await;
}

/// With force the field becomes ours: it changes, and goes when the manifest doesn't say it any more.
pub async fn update_with_force_takes_over(subject: &Subject) {
    let namespace = subject.namespace("force").await;
    let body = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    let updated = must(subject.update(&body, true).await, "update with force");
    assert_eq!(updated.body["data"]["color"], "red");
    let without = config_map(&namespace, "c", &json!({"size": "1"}));
    let updated = must(subject.update(&without, false).await, "update");
    assert_eq!(updated.body["data"], json!({"size": "1"}));
    subject.clean_up("force").await;
}

/// A change of what is immutable is `Invalid`, and changes nothing.
pub async fn update_refuses_what_can_not_be_changed(subject: &Subject) {
    let namespace = subject.namespace("immutable").await;
    let binding = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "b", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"}],
        })
    };
    subject.create(&binding("one")).await;
    let result = subject.update(&binding("two"), true).await;
    assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
    assert_eq!(subject.there(&binding("one")).await.body["roleRef"]["name"], "one");
    subject.clean_up("immutable").await;
}
