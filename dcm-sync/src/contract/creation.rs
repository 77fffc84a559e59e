//! Promises about `create` and `get`.

use std::collections::BTreeMap;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Deletion, Error, Selection};
use dcm_core::port::listing::list_all;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::subject::{Subject, config_map, key, kind, must};
use super::watching::LONG;

/// The answer to `create`, and what `get` finds then, is the object with our marks.
pub async fn create_makes_the_object_with_its_marks(subject: &Subject) {
    let namespace = subject.namespace("create").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let stamped = subject.stamped(&body);
    let made = must(subject.cluster.create(&subject.call, &stamped).await, "create");
    let found = subject.there(&body).await;
    for object in [&made, &found] {
        assert_eq!((&object.kind, &object.key), (&kind(&body), &key(&body)));
        assert_eq!(object.marks.as_ref(), Some(&stamped.marks));
        assert_eq!(object.body["data"], json!({"color": "red"}));
        assert_eq!(object.deleting, None);
    }
    assert!(!made.uid.is_empty() && !made.resource_version.is_empty());
    assert_eq!((made.uid, made.resource_version), (found.uid, found.resource_version));
    subject.clean_up("create").await;
}

/// A second `create` is `AlreadyExists`, and what is there stays as it was, whoever made it.
pub async fn create_never_changes_what_is_there(subject: &Subject) {
    let namespace = subject.namespace("create-twice").await;
    let ours = config_map(&namespace, "ours", &json!({"color": "red"}));
    let theirs = config_map(&namespace, "theirs", &json!({"color": "red"}));
    subject.create(&ours).await;
    must(subject.other.create(&theirs).await, "a creation by somebody else");
    for body in [ours, theirs] {
        let before = subject.there(&body).await;
        let mut again = body.clone();
        again["data"]["color"] = "blue".into();
        let error = subject.cluster.create(&subject.call, &subject.stamped(&again)).await.err();
        assert!(matches!(error, Some(Error::AlreadyExists)), "{error:?}");
        let after = subject.there(&body).await;
        assert_eq!((after.resource_version, &after.body), (before.resource_version, &before.body));
    }
    subject.clean_up("create-twice").await;
}

/// A namespaced object whose namespace is missing is `NotFound`.
pub async fn create_into_a_missing_namespace_is_not_found(subject: &Subject) {
    let body = config_map(&subject.name("nowhere"), "c", &json!({}));
    let error = subject.cluster.create(&subject.call, &subject.stamped(&body)).await.err();
    assert!(matches!(error, Some(Error::NotFound)), "{error:?}");
}

/// What breaks a rule of its kind is `Invalid`, and nothing is made.
pub async fn create_refuses_what_breaks_a_rule(subject: &Subject) {
    let namespace = subject.namespace("invalid").await;
    let bad_name = config_map(&namespace, "Not_A_Name", &json!({}));
    let mut bad_label = config_map(&namespace, "c", &json!({}));
    bad_label["metadata"]["labels"] = json!({"a": "no label value"});
    let quota = json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"hard": {"limits.cpu": "-1"}},
    });
    for body in [bad_name, bad_label, quota] {
        let error = subject.cluster.create(&subject.call, &subject.stamped(&body)).await.err();
        assert!(matches!(error, Some(Error::Invalid { .. })), "{}: {error:?}", key(&body));
        assert!(subject.get(&body).await.is_none(), "{} was made", key(&body));
    }
    subject.clean_up("invalid").await;
}

/// Another UID is another object, whatever its name.
pub async fn an_object_made_again_has_another_uid(subject: &Subject) {
    let namespace = subject.namespace("again").await;
    let body = config_map(&namespace, "c", &json!({}));
    let first = subject.create(&body).await;
    assert_eq!(subject.delete(&body).await, Deletion::Gone);
    let second = subject.create(&body).await;
    assert_ne!(first.uid, second.uid);
    assert_ne!(first.resource_version, second.resource_version);
    subject.clean_up("again").await;
}

/// `get` of what is not there is `None`, in a namespace that is not there too.
pub async fn a_missing_object_is_none(subject: &Subject) {
    let namespace = subject.namespace("missing").await;
    for namespace in [namespace, subject.name("nowhere")] {
        let body = config_map(&namespace, "missing", &json!({}));
        assert!(subject.get(&body).await.is_none());
    }
    subject.clean_up("missing").await;
}

/// A list has the objects of one kind, whoever made them, in one namespace or in all.
pub async fn a_list_has_every_object_of_its_kind_and_namespace(subject: &Subject) {
    let (one, other) = (subject.namespace("list-one").await, subject.namespace("list-other").await);
    let bodies = [(&one, "ours"), (&one, "theirs"), (&other, "elsewhere")];
    let [ours, theirs, elsewhere] =
        bodies.map(|(namespace, name)| config_map(namespace, name, &json!({"color": "red"})));
    subject.create(&ours).await;
    subject.create(&elsewhere).await;
    must(subject.other.create(&theirs).await, "a creation by somebody else");
    let listed = async |namespace: Option<&str>| {
        let listed = list_all(&*subject.cluster, &subject.call, &kind(&ours), namespace, Some).await;
        must(listed, "a list")
            .into_iter()
            .map(|object| (object.key.clone(), object))
            .collect::<BTreeMap<_, _>>()
    };
    let (in_one, in_all) = (listed(Some(&one)).await, listed(None).await);
    assert!(in_one.contains_key(&key(&ours)) && in_one.contains_key(&key(&theirs)), "{in_one:?}");
    assert!(in_one.keys().all(|key| key.namespace.as_deref() == Some(&*one)), "{in_one:?}");
    assert!([&ours, &theirs, &elsewhere].iter().all(|body| in_all.contains_key(&key(body))), "{in_all:?}");
    assert_eq!(in_one[&key(&theirs)].body["data"]["color"], "red");
    subject.clean_up("list-one").await;
    subject.clean_up("list-other").await;
}

/// A list has pages, each of which names the next one, and each object is on one of them.
pub async fn a_long_list_comes_in_pages(subject: &Subject) {
    let namespace = subject.namespace("list-pages").await;
    let bodies: Vec<_> =
        (0..LONG).map(|n| config_map(&namespace, &format!("c{n}"), &json!({"color": "red"}))).collect();
    for body in &bodies {
        subject.create(body).await;
    }
    let (kind, mut listed, mut next) = (kind(&bodies[0]), Vec::new(), None);
    loop {
        let page = subject.cluster.list(&subject.call, &kind, Some(&namespace), next.as_ref()).await;
        let page = must(page, "a page");
        listed.extend(page.objects.into_iter().filter(|object| object.body["data"]["color"] == "red"));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let mut listed: Vec<_> = listed.into_iter().map(|object| object.key).collect();
    listed.sort();
    assert_eq!(listed, bodies.iter().map(key).collect::<Vec<_>>());
    subject.clean_up("list-pages").await;
}

/// A kind that the cluster does not serve is `UnknownKind`, for each method that takes one.
pub async fn a_kind_that_is_not_served_is_unknown(subject: &Subject) {
    let namespace = subject.namespace("unknown-kind").await;
    let unknown = GroupVersionKind::new("contract.dcm.internal", "v1", "Nothing");
    let body = json!({
        "apiVersion": unknown.api_version(),
        "kind": "Nothing",
        "metadata": {"name": "n", "namespace": namespace},
    });
    let (cluster, call) = (&subject.cluster, &subject.call);
    let key = key(&body);
    let selection = Selection { kind: unknown.clone(), owner: call.owner.clone() };
    let watched = match cluster.watch(call, &selection).await {
        Err(error) => Some(error),
        Ok(mut watch) => watch.next().await.and_then(Result::err),
    };
    let errors = [
        cluster.get(call, &unknown, &key).await.err(),
        cluster.create(call, &subject.stamped(&body)).await.err(),
        watched,
    ];
    for error in errors {
        assert!(matches!(&error, Some(Error::UnknownKind { kind }) if *kind == unknown), "{error:?}");
    }
    subject.clean_up("unknown-kind").await;
}

fn quota_and_range(namespace: &str) -> [Value; 2] {
    let metadata = json!({"name": "d", "namespace": namespace});
    let hard =
        json!({"limits.cpu": "1000m", "requests.cpu": "0.5", "limits.memory": "1024Mi", "pods": "1000"});
    let quota =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}});
    let limit =
        json!({"type": "Container", "max": {"cpu": "2000m"}, "min": {"cpu": "0.1", "memory": "1024Ki"}});
    let range =
        json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}});
    [quota, range]
}

/// The API server stores quantities in their canonical form, and limits with those that follow from them: a comparison
/// with a manifest must know both, and the simulation must agree with the truth.
pub async fn quantities_and_limits_are_written_as_kubernetes_does(subject: &Subject) {
    let namespace = subject.namespace("quantities").await;
    let [quota, range] = quota_and_range(&namespace);
    let quota = subject.create(&quota).await;
    let hard = json!({"limits.cpu": "1", "requests.cpu": "500m", "limits.memory": "1Gi", "pods": "1k"});
    assert_eq!(quota.body["spec"]["hard"], hard);
    let range = subject.create(&range).await;
    let filled = json!({
        "type": "Container",
        "max": {"cpu": "2"},
        "min": {"cpu": "100m", "memory": "1Mi"},
        "default": {"cpu": "2"},
        "defaultRequest": {"cpu": "2", "memory": "1Mi"},
    });
    assert_eq!(range.body["spec"]["limits"], json!([filled]));
    subject.clean_up("quantities").await;
}

/// The API server fills in what a manifest leaves out: the group of subjects, the label with a namespace's name.
pub async fn defaults_are_filled_in_as_kubernetes_does(subject: &Subject) {
    let namespace = subject.namespace("defaults").await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "d", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": namespace}],
    });
    let binding = subject.create(&binding).await;
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"});
    let account = json!({"kind": "ServiceAccount", "name": "s", "namespace": namespace});
    assert_eq!(binding.body["subjects"], json!([user, account]));
    let made = subject.there(&subject.namespace_body("defaults")).await;
    assert_eq!(made.body["metadata"]["labels"]["kubernetes.io/metadata.name"], namespace.as_str());
    subject.clean_up("defaults").await;
}

/// A list or map that is empty is not written, or null: a comparison must not see a difference there.
pub async fn what_is_empty_is_written_as_kubernetes_does(subject: &Subject) {
    let namespace = subject.namespace("empty").await;
    let rbac = |kind: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "e", "namespace": namespace},
        })
    };
    let (mut role, mut binding) = (rbac("Role"), rbac("RoleBinding"));
    role["rules"] = json!([]);
    binding["subjects"] = json!([]);
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "e"});
    assert_eq!(subject.create(&role).await.body["rules"], Value::Null);
    assert_eq!(subject.create(&binding).await.body.get("subjects"), None);
    let map = subject.create(&config_map(&namespace, "e", &json!({}))).await;
    assert_eq!(map.body.get("data"), None);
    subject.clean_up("empty").await;
}
