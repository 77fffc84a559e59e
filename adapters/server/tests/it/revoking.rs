//! What others bound to a name that was revoked is found wherever the cluster lets us look.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;

use crate::common::slow::Slow;
use crate::common::{World, everything, spec};
use dcm_core::causes::Reader;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::Object;
use dcm_core::port::synchronizer::Removal;
use dcm_core::service::{
    BoundName, Clearing, Lapsed, OtherBindings, OtherBindingsReport, OthersOnCluster, Revoked, Unseen,
};
use dcm_server::Installation as _;
use dcm_sync::engine::Acquire;
use dcm_sync::planning::LOOKS_AT_ONCE_MAX;
use dcm_sync::sim::{Identity, Link, Rights, cluster_id};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A cloud of which a user was revoked, and whom others had bound in its namespace, in another one and in the cluster.
async fn revoked() -> (World, Revoked) {
    revoked_in(World::new(1).await).await
}

async fn revoked_in(world: World) -> (World, Revoked) {
    let engine = world.deployment.engine(Acquire::All);
    let mut spec = spec(&everything());
    spec["permissions"].as_array_mut().unwrap().push(json!({
        "name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "namespace": "named",
    }));
    for namespace in ["named", "elsewhere"] {
        world.make(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
    }
    world.put(spec).await;
    world.apply().await;
    world.done().await;
    let clouds = world.deployment.clouds();
    let ann = "ann".parse().unwrap();
    let revoked = clouds.revoke(&world.caller, &world.project, &world.cloud, &ann).await.unwrap();
    world.done().await;
    engine.shutdown().await;
    let name = revoked.earlier.iter().find_map(|earlier| match earlier {
        BoundName::User { name } => Some(name.clone()),
        BoundName::ServiceAccount { .. } => None,
    });
    let subject = json!({"apiGroup": RBAC, "kind": "User", "name": name});
    for namespace in [Some("c"), Some("named"), Some("elsewhere"), None] {
        world.make(binding("theirs", namespace, &subject)).await;
    }
    world.make(binding("of-another", Some("c"), &json!({"kind": "User", "name": "eve"}))).await;
    (world, revoked)
}

fn binding(name: &str, namespace: Option<&str>, subject: &Value) -> Value {
    let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "bindings"}, "subjects": [subject],
    })
}

/// From now on we may list bindings in these namespaces and nothing else; none: in the whole cluster.
async fn may_list_in(world: &World, namespaces: &[Option<&str>]) {
    let rules = json!([{"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": ["list"]}]);
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": "bindings"}, "rules": rules});
    world.make(role).await;
    for namespace in namespaces {
        world.make(binding("ours", *namespace, &json!({"kind": "User", "name": "engine"}))).await;
    }
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.set_rights(Rights::Of(Identity::user("engine"))));
}

/// What is found, and what was not looked through.
async fn others(world: &World, revoked: &Revoked) -> (Vec<String>, Vec<Unseen>) {
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let proofs = world.deployment.contexts().proof_key().await.unwrap();
    let (lapsed, call) = (revoked.lapsed(), world.deployment.call());
    let others = lapsed.other_bindings(&*cluster, &call, proofs.as_ref(), Clearing::List).await;
    let OtherBindings { found, unseen, .. } = others.unwrap();
    let mut found: Vec<_> =
        found.iter().map(|key| key.namespace.as_deref().unwrap_or("the cluster").to_owned()).collect();
    found.sort();
    (found, unseen)
}

#[tokio::test(start_paused = true)]
async fn bindings_of_others_are_found_in_every_namespace() {
    let (world, revoked) = revoked().await;
    let everywhere = ["c", "elsewhere", "named", "the cluster"].map(str::to_owned).to_vec();
    assert_eq!(others(&world, &revoked).await, (everywhere, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn where_only_rolebindings_may_be_listed_it_is_told_that_clusterrolebindings_were_not() {
    let (world, revoked) = revoked().await;
    may_list_in(&world, &[None]).await;
    let found = ["c", "elsewhere", "named"].map(str::to_owned).to_vec();
    assert_eq!(others(&world, &revoked).await, (found, vec![Unseen::ClusterRoleBindings]));
}

#[tokio::test(start_paused = true)]
async fn where_not_all_namespaces_may_be_listed_those_of_the_cloud_are_and_the_rest_is_told() {
    let (world, revoked) = revoked().await;
    may_list_in(&world, &[Some("c")]).await;
    let unseen = vec![
        Unseen::ClusterRoleBindings,
        Unseen::OtherNamespaces,
        Unseen::Namespace("named".parse().unwrap()),
    ];
    assert_eq!(others(&world, &revoked).await, (vec!["c".to_owned()], unseen));
}

#[tokio::test(start_paused = true)]
async fn bindings_of_others_are_looked_for_on_many_clusters_at_once_and_on_no_more_than_the_limit() {
    let clusters = LOOKS_AT_ONCE_MAX + 2;
    let mut slow = None;
    let world = World::with(clusters, |fleet| slow.insert(Arc::new(Slow::new(fleet))).clone());
    let (world, mut revoked) = revoked_in(world.await).await;
    revoked.clusters = world.fleet.ids().cloned().collect();
    world.fleet.cluster(&cluster_id(2)).unwrap().set_link(Link::Cut);
    let found = world.deployment.other_bindings(&revoked.lapsed()).await;
    assert_eq!(slow.unwrap().opening_max(), LOOKS_AT_ONCE_MAX);
    assert_eq!(found.len(), clusters);
    assert_eq!(found[&cluster_id(1)].as_ref().unwrap().found.len(), 4);
    let unknown: Vec<_> = found.iter().filter(|(_, found)| found.is_err()).map(|(id, _)| id).collect();
    assert_eq!(unknown, [&cluster_id(2)]);
}

/// What became of the bindings of others that name an identity of the cloud, when it is removed from them.
async fn removed(world: &World) -> OthersOnCluster {
    let named = (&world.project, &world.cloud);
    let report = world
        .deployment
        .remove_other_bindings(&world.caller, named, None, Reader::PlatformAdmin)
        .await
        .unwrap();
    let OtherBindingsReport { mut clusters } = report;
    clusters.remove(&cluster_id(1)).unwrap()
}

fn places(keys: &[ObjectKey]) -> Vec<String> {
    let mut places: Vec<_> = keys
        .iter()
        .map(|key| format!("{}/{}", key.namespace.as_deref().unwrap_or_default(), key.name))
        .collect();
    places.sort();
    places
}

/// The names of the subjects of a RoleBinding; none where it does not exist.
fn subjects(world: &World, namespace: &str, name: &str) -> Option<Vec<String>> {
    let kind = GroupVersionKind::new(RBAC, "v1", "RoleBinding");
    let key = ObjectKey::of_kind(&kind, Some(namespace), name);
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let body = cluster.server(|server| server.object(&kind, &key).unwrap())?.body;
    let subjects = body["subjects"].as_array().into_iter().flatten();
    Some(subjects.map(|subject| subject["name"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_revoked_identity_is_removed_from_bindings_of_others_and_the_other_subjects_stay() {
    let (world, revoked) = revoked().await;
    let ann = revoked.earlier.iter().find_map(|earlier| match earlier {
        BoundName::User { name } => Some(json!({"apiGroup": RBAC, "kind": "User", "name": name})),
        BoundName::ServiceAccount { .. } => None,
    });
    let mut shared = binding("shared", Some("elsewhere"), &json!({"kind": "User", "name": "eve"}));
    shared["subjects"].as_array_mut().unwrap().insert(0, ann.unwrap());
    world.make(shared).await;
    let others = removed(&world).await;
    let expected = ["/theirs", "c/theirs", "elsewhere/shared", "elsewhere/theirs", "named/theirs"];
    assert_eq!(
        (places(&others.bindings_removed), others.bindings),
        (expected.map(str::to_owned).to_vec(), vec![])
    );
    assert_eq!(subjects(&world, "elsewhere", "shared"), Some(vec!["eve".to_owned()]));
    assert_eq!(subjects(&world, "elsewhere", "theirs"), None);
    assert_eq!(subjects(&world, "c", "of-another"), Some(vec!["eve".to_owned()]));
    assert_eq!(removed(&world).await, OthersOnCluster::default(), "a second call finds nothing");
}

#[tokio::test(start_paused = true)]
async fn a_binding_of_others_that_may_not_be_changed_is_reported_with_the_reason() {
    let (world, _) = revoked().await;
    let engine = json!({"kind": "User", "name": "engine"});
    let rules = json!([
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        {"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": ["get"]},
    ]);
    let metadata = json!({"name": "uid"});
    world.make(json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules})).await;
    let mut uid = binding("uid", None, &engine);
    uid["roleRef"]["name"] = "uid".into();
    world.make(uid).await;
    may_list_in(&world, &[None]).await;
    let others = removed(&world).await;
    assert_eq!(places(&others.bindings), ["c/theirs", "elsewhere/theirs", "named/theirs"]);
    let reason = others.bindings_refused.unwrap();
    assert!(reason.contains("cannot delete rolebindings"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_where_it_is_unknown_which_bindings_are_ours() {
    let (world, _) = revoked().await;
    may_list_in(&world, &[None]).await;
    let others = removed(&world).await;
    assert!(others.bindings_unknown.is_some(), "the UID of the cluster can't be read: {others:?}");
    assert!(subjects(&world, "c", "theirs").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_our_binding_with_its_proved_marks_is_no_exception_once_the_cloud_is_terminated() {
    let world = World::new(1).await;
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    world.done().await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let is_ours =
        |object: &Object| &*object.key.kind == "RoleBinding" && object.key.namespace.as_deref() == Some("c");
    let ours = cluster.server(|server| server.objects().find(is_ours)).unwrap();
    let clouds = world.deployment.clouds();
    clouds.terminate(&world.caller, &world.project, &world.cloud, Removal::default()).await.unwrap();
    world.done().await;
    engine.shutdown().await;
    world.make(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c"}})).await;
    let mut copy = (*ours.body).clone();
    copy["metadata"]
        .as_object_mut()
        .unwrap()
        .retain(|member, _| ["name", "namespace", "labels", "annotations"].contains(&member.as_str()));
    cluster.server(|server| server.create_as("person", &ours.kind, &ours.key, &copy)).unwrap();
    assert_eq!(removed(&world).await.bindings_removed, [ours.key]);
}

#[tokio::test(start_paused = true)]
async fn of_a_terminated_cloud_every_identity_has_lapsed_and_of_an_applied_one_none_that_is_in_use() {
    let world = World::new(1).await;
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    world.done().await;
    let clouds = world.deployment.clouds();
    let applied = clouds.lapsed(&world.project, &world.cloud, None).await.unwrap();
    assert_eq!(applied.names, []);
    clouds.terminate(&world.caller, &world.project, &world.cloud, Removal::default()).await.unwrap();
    world.done().await;
    let ended = clouds.lapsed(&world.project, &world.cloud, None).await.unwrap();
    let names =
        |ended: &Lapsed| ended.names.iter().filter(|name| matches!(name, BoundName::User { .. })).count();
    assert_eq!((names(&ended) > 0, ended.clusters.len()), (true, 1), "{ended:?}");
    engine.shutdown().await;
}
