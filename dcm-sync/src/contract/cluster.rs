//! Promises about the cluster as a whole: who it is, what it lets us do, what lies in a namespace, tokens.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Access, Error};
use dcm_core::port::trial::{ClientCredential, Trial};
use dcm_core::secret::Secret;
use serde_json::json;

use super::subject::{Subject, config_map, key, must, proofs, service_account};

/// The UID is that of `kube-system`, each time.
pub async fn the_uid_is_that_of_kube_system_and_stays(subject: &Subject) {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}});
    let namespace = subject.there(&body).await;
    for _ in 0..2 {
        let uid = must(subject.cluster.uid(&subject.call).await, "uid");
        assert_eq!(uid.0, namespace.uid);
    }
}

/// The version is one of Kubernetes, such as `v1.36.3`.
pub async fn the_server_tells_its_version(subject: &Subject) {
    let info = must(subject.cluster.server_info(&subject.call).await, "server_info");
    assert!(info.version.starts_with("v1."), "{info:?}");
}

/// The kinds of what is in namespaces are told, each once, and no others.
pub async fn the_server_tells_the_kinds_of_namespaced_objects(subject: &Subject) {
    let kinds = must(subject.cluster.kinds(&subject.call).await, "kinds").known;
    let count =
        |name: &str| kinds.iter().filter(|kind| &*kind.kind == name && kind.version == "v1".into()).count();
    assert_eq!([count("ConfigMap"), count("Role"), count("Namespace"), count("ClusterRole")], [1, 1, 0, 0]);
}

/// There is one answer for each access, in the order asked; an administrator may do all.
pub async fn a_review_answers_each_access_in_order(subject: &Subject) {
    let access =
        |verb: &str, group: &str, resource: &str, subresource: &str, namespace: Option<&str>| Access {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: "".into(),
            namespace: namespace.map(Into::into),
        };
    let accesses = [
        access("create", "", "namespaces", "", None),
        access("bind", "rbac.authorization.k8s.io", "roles", "", Some("default")),
        access("update", "certificates.k8s.io", "certificatesigningrequests", "approval", None),
    ];
    assert_eq!(must(subject.cluster.review(&subject.call, &accesses).await, "review"), [true; 3]);
    assert_eq!(must(subject.cluster.review(&subject.call, &[]).await, "review"), [false; 0]);
}

/// Waits until Kubernetes has made what it makes in each namespace.
async fn furnished(subject: &Subject, namespace: &str) {
    let account = service_account(namespace, "default");
    let root = config_map(namespace, "kube-root-ca.crt", &json!({}));
    subject
        .until("what Kubernetes makes in a namespace", || async {
            let (account, root) = (subject.get(&account).await, subject.get(&root).await);
            account.and(root)
        })
        .await;
}

/// Only what is neither Kubernetes' own nor of this context counts, and is named.
pub async fn contents_leave_out_what_kubernetes_made_and_what_is_ours(subject: &Subject) {
    let namespace = subject.namespace("contents").await;
    furnished(subject, &namespace).await;
    let ours = subject.create(&config_map(&namespace, "ours", &json!({}))).await;
    let contents =
        must(subject.cluster.contents(&subject.call, &namespace, Some(&proofs())).await, "contents");
    assert_eq!((contents.count, contents.sample), (0, Vec::new()));
    let theirs = config_map(&namespace, "theirs", &json!({}));
    must(subject.other.create(&theirs).await, "a creation by somebody else");
    let contents =
        must(subject.cluster.contents(&subject.call, &namespace, Some(&proofs())).await, "contents");
    assert_eq!((contents.count, contents.sample), (1, vec![key(&theirs)]));
    // Marks that are copied from another object prove nothing.
    let mut forged = config_map(&namespace, "forged", &json!({}));
    let metadata = &ours.body["metadata"];
    for member in ["labels", "annotations"] {
        forged["metadata"][member] = metadata[member].clone();
    }
    must(subject.other.create(&forged).await, "a creation by somebody else");
    let contents =
        must(subject.cluster.contents(&subject.call, &namespace, Some(&proofs())).await, "contents");
    assert_eq!((contents.count, contents.sample), (2, vec![key(&forged), key(&theirs)]));
    assert_eq!(contents.bindings, [] as [Arc<str>; 0]);
    let unproved = must(subject.cluster.contents(&subject.call, &namespace, None).await, "contents");
    assert_eq!(unproved.count, 3, "without a key nothing is ours");
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "bound", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "any"}, "subjects": []});
    must(subject.other.create(&binding).await, "a creation by somebody else");
    let contents =
        must(subject.cluster.contents(&subject.call, &namespace, Some(&proofs())).await, "contents");
    assert_eq!((contents.count, contents.bindings), (3, vec!["bound".into()]));
    subject.clean_up("contents").await;
}

/// What another object in the namespace owns does not count.
pub async fn contents_leave_out_what_another_object_owns(subject: &Subject) {
    let namespace = subject.namespace("contents-owned").await;
    let owner = config_map(&namespace, "owner", &json!({}));
    must(subject.other.create(&owner).await, "a creation by somebody else");
    let uid = subject.there(&owner).await.uid;
    let mut owned = config_map(&namespace, "owned", &json!({}));
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": &*uid}]);
    must(subject.other.create(&owned).await, "a creation by somebody else");
    let contents =
        must(subject.cluster.contents(&subject.call, &namespace, Some(&proofs())).await, "contents");
    assert_eq!((contents.count, contents.sample), (1, vec![key(&owner)]));
    subject.clean_up("contents-owned").await;
}

/// The token is a text that ends in the future, no later than was asked for.
pub async fn a_token_is_issued_for_a_service_account(subject: &Subject) {
    let namespace = subject.namespace("token").await;
    subject.create(&service_account(&namespace, "user")).await;
    let lifetime = Duration::from_secs(600);
    let request = TokenRequest {
        namespace: namespace.as_str().into(),
        service_account: "user".into(),
        lifetime_seconds: Some(600),
    };
    let token = must(subject.cluster.issue_token(&subject.call, &request).await, "issue_token");
    assert!(!token.token.expose().is_empty());
    if let Some(now) = must(subject.cluster.server_info(&subject.call).await, "server_info").time {
        let left = token.expires.duration_since(now);
        assert!(left.is_positive() && left.unsigned_abs() <= lifetime + Duration::from_secs(1), "{left:?}");
    }
    subject.clean_up("token").await;
}

/// A token is accepted as long as its ServiceAccount is there; a text that the cluster did not issue is refused.
pub async fn a_token_is_accepted_while_its_service_account_is_there(subject: &Subject) {
    let namespace = subject.namespace("token-tried").await;
    let account = service_account(&namespace, "user");
    subject.create(&account).await;
    let request = TokenRequest {
        namespace: namespace.as_str().into(),
        service_account: "user".into(),
        lifetime_seconds: Some(600),
    };
    let token = must(subject.cluster.issue_token(&subject.call, &request).await, "issue_token").token;
    let accepts = async |token: &Secret| {
        let credential = ClientCredential::Token(token.clone());
        must(subject.cluster.try_credential(&subject.call, &credential).await, "try_credential")
    };
    assert_eq!(accepts(&token).await, Trial::Accepted);
    assert_eq!(accepts(&Secret::new("not-a-token")).await, Trial::Refused);
    subject.delete(&account).await;
    // API servers keep for some seconds what they know of a token.
    subject.until("a refusal", || async { (accepts(&token).await == Trial::Refused).then_some(()) }).await;
    subject.clean_up("token-tried").await;
}

/// Without the ServiceAccount it is `NotFound`.
pub async fn a_token_needs_its_service_account(subject: &Subject) {
    let namespace = subject.namespace("token-nobody").await;
    let request = TokenRequest {
        namespace: namespace.as_str().into(),
        service_account: "nobody".into(),
        lifetime_seconds: None,
    };
    let error = subject.cluster.issue_token(&subject.call, &request).await.err();
    assert!(matches!(error, Some(Error::NotFound)), "{error:?}");
    subject.clean_up("token-nobody").await;
}
