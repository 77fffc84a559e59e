//! Promises about `set_part`.

use dcm_core::port::cluster::{Object, Origin, Part};
use serde_json::{Value, json};

use super::release::release;
use super::subject::{Subject, must, of_another_object, refused_as_another_state};

/// A RoleBinding of another client, which names two users.
async fn binding(subject: &Subject, namespace: &str) -> Value {
    let rbac = "rbac.authorization.k8s.io";
    let user = |name: &str| json!({"apiGroup": rbac, "kind": "User", "name": name});
    let body = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "theirs", "namespace": namespace, "labels": {"team": "a"}},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"},
        "subjects": [user("ann"), user("eve")],
    });
    must(subject.other.create(&body).await, "a binding of another client");
    body
}

/// The subjects are replaced, by none as well as by some; the role, the labels and all else stays, and our marks are not put on it.
pub async fn set_part_replaces_the_subjects_and_leaves_the_rest(subject: &Subject) {
    let namespace = subject.namespace("subjects").await;
    let body = binding(subject, &namespace).await;
    for left in [vec![body["subjects"][1].clone()], Vec::new()] {
        let before = subject.there(&body).await;
        let (call, cluster) = (&subject.call, &subject.cluster);
        let part = Part::Subjects(left.clone());
        let changed = cluster.set_part(call, &before.kind, &before.key, &before.precondition(), &part).await;
        let changed = must(changed, "new subjects");
        let after = subject.there(&body).await;
        let named = |object: &Object| object.body["subjects"].as_array().cloned().unwrap_or_default();
        assert_eq!((named(&changed), named(&after)), (left.clone(), left));
        assert_eq!((&after.uid, &after.marks), (&before.uid, &None));
        for member in ["/roleRef", "/metadata/labels", "/metadata/annotations"] {
            assert_eq!(after.body.pointer(member), before.body.pointer(member), "{member}");
        }
    }
    subject.clean_up("subjects").await;
}

/// The text of one member is replaced; other members, the labels and all else stays, and our marks are not put on it.
pub async fn set_part_replaces_a_text_and_leaves_the_rest(subject: &Subject) {
    let namespace = subject.namespace("text").await;
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": namespace, "labels": {"team": "a"}},
        "data": {"Corefile": ".:53 {\n}\n", "other": "x"},
    });
    must(subject.other.create(&body).await, "a ConfigMap of another client");
    let before = subject.there(&body).await;
    let part = Part::Text { member: "Corefile".into(), text: "# new\n.:53 {\n}\n".into() };
    let (call, cluster) = (&subject.call, &subject.cluster);
    let changed = cluster.set_part(call, &before.kind, &before.key, &before.precondition(), &part).await;
    let changed = must(changed, "a new text");
    let after = subject.there(&body).await;
    let expected = json!({"Corefile": "# new\n.:53 {\n}\n", "other": "x"});
    assert_eq!((&changed.body["data"], &after.body["data"]), (&expected, &expected));
    assert_eq!((&after.uid, &after.marks), (&before.uid, &None));
    assert_eq!(after.body["metadata"]["labels"], before.body["metadata"]["labels"]);
    // An adoption that does not name the member, and the way back, leave it as well.
    let label = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": namespace, "labels": {"tier": "gold"}}});
    let adopted = must(subject.adopt(&label).await, "adopt");
    assert_eq!(adopted.body["data"], expected);
    release(subject, &adopted, Origin::Adopted).await;
    assert_eq!(subject.there(&body).await.body["data"], expected);
    subject.clean_up("text").await;
}

/// With another state than the object's it is a `Conflict`, for another or no object perhaps `NotFound`, and changes nothing.
pub async fn set_part_needs_the_observed_state(subject: &Subject) {
    let namespace = subject.namespace("subjects-state").await;
    let body = binding(subject, &namespace).await;
    let first = subject.there(&body).await;
    subject.edit(&body, json!({"metadata": {"labels": {"team": "b"}}})).await;
    let before = subject.there(&body).await;
    for observed in [first.precondition(), of_another_object(&before)] {
        let part = Part::Subjects(Vec::new());
        let result =
            subject.cluster.set_part(&subject.call, &before.kind, &before.key, &observed, &part).await;
        refused_as_another_state(&result, &observed, &before);
        assert_eq!(subject.there(&body).await.resource_version, before.resource_version);
    }
    subject.clean_up("subjects-state").await;
}
