//! What a logical cloud leaves behind on real API servers: nothing of its own, and everything of others.
//!
//! The tests take turns, as each looks at everything that the servers hold.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::confined::Confined;
use common::installation::{CLUSTERS, Installation, kubectl, make, registered, timeout};
use common::inventory::{
    assert_same, everything, everything_at_rest, objects_of, traces, with_any_version_of,
};
use common::somebody;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The label that is on everything of ours.
const OWNER: &str = "dcm.internal/owner";

/// Held by the test whose turn it is.
static TURN: Mutex<()> = Mutex::const_new(());

/// What stays of a cloud `vanishing` that makes everything that can be made. Requests for certificates are answered and
/// cleared away by then.
const MADE: [&str; 12] = [
    "/api/v1 namespaces /vanishing",
    "/api/v1 configmaps vanishing/settings",
    "/api/v1 limitranges vanishing/dcm-defaults",
    "/api/v1 resourcequotas vanishing/compute",
    "/api/v1 serviceaccounts vanishing/ci-e1-",
    "/apis/networking.k8s.io/v1 networkpolicies vanishing/closed",
    "/apis/rbac.authorization.k8s.io/v1 roles vanishing/look",
    "/apis/rbac.authorization.k8s.io/v1 roles bystander/dcm-default-vanishing-next-door-",
    "/apis/rbac.authorization.k8s.io/v1 rolebindings vanishing/look",
    "/apis/rbac.authorization.k8s.io/v1 rolebindings bystander/dcm-default-vanishing-next-door-",
    "/apis/rbac.authorization.k8s.io/v1 clusterroles /dcm-default-vanishing-everywhere-",
    "/apis/rbac.authorization.k8s.io/v1 clusterrolebindings /dcm-default-vanishing-everywhere-",
];

fn look(name: &str) -> Value {
    json!({"name": name, "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]})
}

/// Something of every kind that a logical cloud can make.
fn everything_that_can_be_made() -> Value {
    let (mut everywhere, mut next_door) = (look("everywhere"), look("next-door"));
    everywhere["clusterWide"] = true.into();
    next_door["namespace"] = "bystander".into();
    json!({
        "level": "privileged",
        "labels": {"example.com/team": "t"},
        "users": [{"name": "ann"}, {"name": "ci", "type": "token"}],
        "permissions": [look("look"), everywhere, next_door],
        "quotas": [{"name": "compute", "hard": {"limits.cpu": 2, "pods": 10}}],
        "manifests": [
            {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "closed"},
             "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}},
        ],
    })
}

/// A user who may look.
fn a_look() -> Value {
    json!({"users": [{"name": "ann"}], "permissions": [look("look")]})
}

/// A user who may look, in a namespace that may be there already.
fn an_adopted_look() -> Value {
    let mut spec = a_look();
    spec["objectPolicies"] = json!({"Namespace": {"existing": "adopt"}});
    spec
}

/// What carries our label and is this cloud's, or nobody's: a test that failed may have left another cloud's.
async fn ours(cluster: &Cluster, cloud: &str) -> Vec<String> {
    let mut labelled = everything(cluster, Some(OWNER)).await;
    labelled.retain(|_, object| {
        let of = object["metadata"]["labels"]["dcm.internal/logical-cloud"].as_str();
        of.is_none_or(|of| of == cloud)
    });
    labelled.into_keys().collect()
}

async fn namespace(cluster: &Cluster, name: &str) -> Option<Value> {
    objects_of(cluster, "/api/v1", "namespaces", None).await.remove(&place_of(name))
}

/// Where a namespace is in an inventory.
fn place_of(namespace: &str) -> String {
    format!("/api/v1 namespaces /{namespace}")
}

#[tokio::test]
async fn terminate_leaves_nothing_in_any_resource_and_touches_nothing_that_was_there() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "vanishing", Confined::Privileged);
    for cluster in installation.clusters() {
        somebody::settle(cluster, "bystander").await;
    }
    let before = everything_at_rest(installation.clusters()).await;

    installation.apply(&installation.document("vanishing", everything_that_can_be_made())).done();
    for cluster in installation.clusters() {
        let ours = ours(cluster, "vanishing").await;
        let missing = MADE.iter().filter(|made| !ours.iter().any(|place| place.starts_with(**made)));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new(), "{ours:#?}");
    }

    installation.terminate("vanishing").done();
    for cluster in installation.clusters() {
        assert_eq!(ours(cluster, "vanishing").await, Vec::<String>::new());
        let all = everything(cluster, None).await;
        let named = all.iter().filter(|(_, object)| object.to_string().contains("vanishing"));
        assert_eq!(named.collect::<Vec<_>>(), Vec::new());
    }
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
}

#[tokio::test]
async fn a_namespace_that_was_there_is_refused_and_nothing_in_it_changes() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "taken");
    for cluster in installation.clusters() {
        somebody::settle(cluster, "taken").await;
    }
    let before = everything_at_rest(installation.clusters()).await;

    let ran = installation.apply(&installation.document("taken", a_look()));
    assert_eq!((ran.code, ran.out.contains("failed while instantiating  0/3")), (5, true), "{ran:#?}");
    let (_, tree) = ran.err.split_once("taken (project default)  failed while instantiating").unwrap();
    let foreign = "foreign: it was there before, and is not ours; action required";
    assert_eq!(tree.matches(foreign).count(), CLUSTERS, "{tree}");
    for cluster in installation.clusters() {
        let cause = &installation.lane("taken", cluster)["cause"];
        let (reason, object) = (&cause["reason"], &cause["object"]);
        assert_eq!(
            (reason, &object["kind"], &object["name"]),
            (&"foreign".into(), &"Namespace".into(), &"taken".into())
        );
    }
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
    installation.terminate("taken").done();
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
}

#[tokio::test]
async fn an_adopted_namespace_is_used_and_given_back_as_it_was() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "adopted", Confined::Unguarded);
    for cluster in installation.clusters() {
        somebody::settle(cluster, "adopted").await;
    }
    let before = everything_at_rest(installation.clusters()).await;

    let mut spec = an_adopted_look();
    spec["labels"] = json!({"team": "blue", "example.com/tier": "gold"});
    installation.apply(&installation.document("adopted", spec)).done();
    for cluster in installation.clusters() {
        let used = namespace(cluster, "adopted").await.unwrap();
        assert_eq!(used["metadata"]["labels"]["example.com/tier"], "gold");
        assert!(!traces(&used).is_empty());
        let object = &installation.lane("adopted", cluster)["objects"][0];
        assert_eq!((&object["kind"], &object["state"]), (&"Namespace".into(), &"adopted".into()));
    }

    // Also what others do with a delete that is allowed to take contents along: it is not ours to delete.
    installation.person.run(["terminate", "adopted", "--delete-contents", "--timeout", &timeout()]).done();
    let after = everything_at_rest(installation.clusters()).await;
    for cluster in &after {
        assert_eq!(traces(&cluster[&place_of("adopted")]), Vec::<String>::new());
    }
    let [before, after] = [before, after].map(|all| with_any_version_of(&place_of("adopted"), all));
    assert_same(&before, &after);
}

#[tokio::test]
async fn what_others_say_of_an_adopted_namespace_is_never_overwritten() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "contested", Confined::Unguarded);
    for cluster in installation.clusters() {
        somebody::settle(cluster, "contested").await;
    }
    let before = everything_at_rest(installation.clusters()).await;
    let mut spec = an_adopted_look();
    spec["labels"] = json!({"team": "red"});
    let ran = installation.apply(&installation.document("contested", spec));
    let conflict = "field-conflict: a-person manages .metadata.labels.team (update): take the field out";
    assert!(ran.code == 5 && ran.err.contains(conflict), "{ran:#?}");
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
    installation.terminate("contested").done();
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
}

#[tokio::test]
async fn a_role_of_a_permissions_name_is_refused_in_an_adopted_namespace_and_stays() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "namesake", Confined::Unguarded);
    for cluster in installation.clusters() {
        somebody::settle(cluster, "namesake").await;
    }
    let before = everything_at_rest(installation.clusters()).await;
    let mut spec = an_adopted_look();
    spec["permissions"] = json!([look("namesake")]);
    let ran = installation.apply(&installation.document("namesake", spec));
    let refused =
        "Role.rbac.authorization.k8s.io namesake/namesake  pending\n│  │  └─ foreign: it was there before";
    assert_eq!((ran.code, ran.err.matches(refused).count()), (5, CLUSTERS), "{ran:#?}");
    installation.terminate("namesake").done();
    let after = everything_at_rest(installation.clusters()).await;
    let [before, after] = [before, after].map(|all| with_any_version_of(&place_of("namesake"), all));
    assert_same(&before, &after);
}

/// Has a tenant put no object into the namespace on the first cluster, one on the second, two on the third.
fn put_contents(installation: &Installation<'_>, namespace: &str) {
    for (count, cluster) in installation.clusters().iter().enumerate() {
        for number in 0..count {
            let name = format!("tenants-{number}");
            kubectl(cluster, &["create", "configmap", &name, "--namespace", namespace]);
        }
    }
}

#[tokio::test]
async fn a_namespace_with_contents_is_kept_and_given_up_and_the_command_counts_them() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "kept");
    installation.apply(&installation.document("kept", a_look())).done();
    put_contents(&installation, "kept");

    let ran = installation.terminate("kept");
    assert!(ran.code == 0 && ran.out.contains("terminated  3/3"), "{ran:#?}");
    for (count, cluster) in installation.clusters().iter().enumerate() {
        let message = format!("kept: it holds {count} objects of others");
        let said = format!("{}: Namespace kept has-contents: {message}", registered(cluster));
        let kept = namespace(cluster, "kept").await;
        assert_eq!((ran.err.contains(&said), kept.is_some()), (count > 0, count > 0), "{}", ran.err);
        assert_eq!(ours(cluster, "kept").await, Vec::<String>::new());
        let Some(kept) = kept else { continue };
        assert_eq!(traces(&kept), Vec::<String>::new());
        let object = &installation.lane("kept", cluster)["objects"][0];
        let (state, cause) = (&object["state"], &object["cause"]);
        assert_eq!((state, &cause["reason"]), (&"kept".into(), &"has-contents".into()));
        assert_eq!(cause["message"], message);
        let tenants = kubectl(cluster, &["get", "configmaps", "-n", "kept", "-o", "name"]);
        assert_eq!(tenants.matches("configmap/tenants-").count(), count, "{tenants}");
    }
}

#[tokio::test]
async fn a_namespace_with_contents_is_deleted_when_that_is_asked_for() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "emptied");
    let before = everything_at_rest(installation.clusters()).await;
    installation.apply(&installation.document("emptied", a_look())).done();
    put_contents(&installation, "emptied");
    let ran = installation.person.run(["terminate", "emptied", "--delete-contents", "--timeout", &timeout()]);
    assert!(ran.code == 0 && !ran.err.contains("kept"), "{ran:#?}");
    assert_same(&before, &everything_at_rest(installation.clusters()).await);
}

/// What controllers put into every namespace, and its owner's mark where it has one.
fn of_controllers(namespace: &str) -> Value {
    let rbac = "rbac.authorization.k8s.io";
    let of = |version: &str, kind: &str, name: &str, more: Value| {
        let mut object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let bundle = json!({"metadata": {"name": "roots", "namespace": namespace, "labels": {"trust.cert-manager.io/bundle": "roots"}}});
    let binding = json!({
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": namespace}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        of("v1", "ConfigMap", "istio-ca-root-cert", json!({"data": {"root-cert.pem": ""}})),
        of("v1", "ConfigMap", "openshift-service-ca.crt", json!({})),
        of("v1", "ServiceAccount", "builder", json!({})),
        of("v1", "ServiceAccount", "deployer", json!({})),
        of("v1", "Secret", "builder-dockercfg-x7k2p", json!({})),
        of("rbac.authorization.k8s.io/v1", "RoleBinding", "system:deployers", binding),
        of("v1", "ResourceQuota", "gke-resource-quotas", json!({"spec": {"hard": {"pods": "1500"}}})),
        of("v1", "ConfigMap", "roots", bundle),
    ]})
}

#[tokio::test]
async fn a_namespace_with_what_controllers_put_into_every_one_goes_and_with_more_than_that_it_stays() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    for (cloud, more, goes) in [("written-into", None, true), ("written-into-and-used", Some("mine"), false)]
    {
        let installation = Installation::new(&environment, cloud);
        installation.apply(&installation.document(cloud, json!({"users": [{"name": "ann"}]}))).done();
        for cluster in installation.clusters() {
            make(cluster, &of_controllers(cloud));
            if let Some(name) = more {
                kubectl(cluster, &["create", "configmap", name, "-n", cloud]);
            }
        }
        let terminated = installation.terminate(cloud);
        for cluster in installation.clusters() {
            let found = kubectl(cluster, &["get", "namespace", cloud, "--ignore-not-found", "-o", "name"]);
            assert_eq!(found.is_empty(), goes, "{cloud}: {terminated:?}");
        }
    }
    for cluster in environment.clusters() {
        kubectl(cluster, &["delete", "namespace", "written-into-and-used"]);
    }
    // A plan names what is not counted.
    let installation = Installation::new(&environment, "written-into-plan");
    let mut document = installation.document("written-into-plan", json!({"users": [{"name": "ann"}]}));
    installation.apply(&document).done();
    make(&installation.clusters()[0], &of_controllers("written-into-plan"));
    document["spec"]["clusters"] = json!([]);
    let plan = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string()).done();
    assert!(plan.contains("not counted: ConfigMap istio-ca-root-cert"), "{plan}");
    installation.terminate("written-into-plan").done();
    // An own list takes the place of the default.
    let installation = Installation::new(&environment, "written-into-by-us");
    let cloud = "written-into-by-us";
    installation.apply(&installation.document(cloud, json!({"users": [{"name": "ann"}]}))).done();
    for cluster in installation.clusters() {
        kubectl(cluster, &["create", "configmap", "ours-1", "-n", cloud]);
    }
    let arguments = ["terminate", cloud, "--timeout", &timeout(), "--ignored-contents", "ConfigMap/ours-*"];
    installation.person.run(arguments).done();
    for cluster in installation.clusters() {
        assert_eq!(kubectl(cluster, &["get", "namespace", cloud, "--ignore-not-found", "-o", "name"]), "");
    }
    let said = installation.person.run(["get", "--ignored-contents", "Secret/*"]);
    assert!(said.code == 2 && said.err.contains("KIND[.GROUP]/NAME"), "{said:?}");
}

#[tokio::test]
async fn a_namespace_that_was_kept_is_taken_back_by_the_same_cloud_and_no_other_one() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let cloud = "taken-back";
    let installation = Installation::new(&environment, cloud);
    let document = installation.document(cloud, json!({"users": [{"name": "ann"}]}));
    let uid =
        |cluster: &Cluster| kubectl(cluster, &["get", "namespace", cloud, "-o", "jsonpath={.metadata.uid}"]);
    let uids = || installation.clusters().iter().map(uid).collect::<Vec<_>>();
    installation.apply(&document).done();
    let first = uids();
    for cluster in installation.clusters() {
        kubectl(cluster, &["create", "configmap", "mine", "-n", cloud]);
    }
    installation.terminate(cloud).done();
    // Another cloud does not get it, and does not come between.
    let mut other = installation.document("taken-by-another", json!({"users": [{"name": "ann"}]}));
    other["spec"]["namespace"] = cloud.into();
    installation.apply(&other).ended_with(5);
    installation.terminate("taken-by-another").done();
    let plan = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string()).done();
    assert!(plan.contains("it was kept when this cloud was taken off, and is taken back"), "{plan}");
    // The guard lets the engine into no namespace without its label, which a kept one has lost.
    let denied = installation.apply(&document);
    assert!(
        denied.code == 5 && denied.err.contains("a namespace must have the engine's label"),
        "{denied:#?}"
    );
    for cluster in installation.clusters() {
        kubectl(cluster, &["label", "namespace", cloud, "dcm.internal/owner=dcm"]);
    }
    installation.apply(&document).done();
    assert_eq!(uids(), first);
    for cluster in installation.clusters() {
        assert_eq!(
            kubectl(cluster, &["get", "configmap", "mine", "-n", cloud, "-o", "name"]),
            "configmap/mine\n"
        );
    }
    installation.terminate(cloud).done();
    // One of its name that somebody makes instead is not ours.
    for cluster in installation.clusters() {
        kubectl(cluster, &["delete", "namespace", cloud]);
        kubectl(cluster, &["create", "namespace", cloud]);
    }
    installation.apply(&document).ended_with(5);
    installation.terminate(cloud).done();
    for cluster in installation.clusters() {
        kubectl(cluster, &["delete", "namespace", cloud]);
    }
}

#[tokio::test]
async fn a_namespace_that_was_kept_is_taken_back_by_the_next_apply_where_no_guard_is_in_force() {
    let _turn = TURN.lock().await;
    let environment = Environment::group("nothing_left", CLUSTERS).await.unwrap();
    let cloud = "taken-back-unguarded";
    let installation = Installation::confined(&environment, cloud, Confined::Unguarded);
    let document = installation.document(cloud, json!({"users": [{"name": "ann"}]}));
    let uid =
        |cluster: &Cluster| kubectl(cluster, &["get", "namespace", cloud, "-o", "jsonpath={.metadata.uid}"]);
    let uids = || installation.clusters().iter().map(uid).collect::<Vec<_>>();
    installation.apply(&document).done();
    let first = uids();
    for cluster in installation.clusters() {
        kubectl(cluster, &["create", "configmap", "mine", "-n", cloud]);
    }
    installation.terminate(cloud).done();
    installation.apply(&document).done();
    assert_eq!(uids(), first);
    installation.terminate(cloud).done();
    for cluster in installation.clusters() {
        kubectl(cluster, &["delete", "namespace", cloud]);
    }
}
