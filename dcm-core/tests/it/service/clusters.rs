//! Registered clusters.

use std::sync::Arc;

use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{Error as Failure, Synchronizer as _};
use dcm_core::refusal::{Refusal, Refusals};
use dcm_core::secret::Secret;
use dcm_core::service::{EditOutcome, Error, Precondition, RegisteredClusters, Registration, Remains};
use serde_json::json;

use crate::service::editing::refusals;
use crate::service::support::{World, admin_kubeconfig, cluster, draft, name, registration};

#[tokio::test]
async fn a_cluster_is_registered_once_read_listed_and_removed() {
    let world = World::empty(true);
    let one = registration("one", &[("tier", "edge")]);
    let added = world.clusters.add(&world.caller, one.clone()).await.unwrap();
    let read = world.clusters.get(&cluster("one")).await.unwrap();
    assert_eq!(added, (read.clone(), EditOutcome::Created));
    let added = world.clusters.add(&world.caller, one.clone()).await.unwrap();
    assert_eq!(added, (read, EditOutcome::Unchanged));
    let other = registration("one", &[("tier", "core")]);
    let error = world.clusters.add(&world.caller, other).await.unwrap_err();
    assert_eq!(error.to_string(), "there is a cluster sim/one already");
    world.clusters.add(&world.caller, registration("two", &[])).await.unwrap();

    let read = world.clusters.get(&cluster("one")).await.unwrap();
    assert_eq!((read.registration, read.created.by.as_str()), (one, "tester"));
    let page = world.clusters.list(None, Some(1)).await.unwrap();
    assert_eq!(page.clusters[0].registration.id, cluster("one"));
    let page = world.clusters.list(page.next.as_ref(), Some(1)).await.unwrap();
    assert_eq!((page.clusters[0].registration.id.clone(), page.next), (cluster("two"), None));

    world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap();
    assert!(matches!(
        world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(world.clusters.get(&cluster("one")).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn kubeconfig_labels_and_namespace_are_replaced() {
    let world = World::new(true).await;
    let moved = admin_kubeconfig("elsewhere");
    let one = cluster("one");
    let replace = || world.replace_kubeconfig("one", moved.clone());
    assert_eq!(replace().await.unwrap(), EditOutcome::Changed);
    assert_eq!(replace().await.unwrap(), EditOutcome::Unchanged);
    assert_eq!(world.clusters.get(&cluster("one")).await.unwrap().registration.kubeconfig, moved);
    let tenants = |old| Registration { namespace: Some(name("tenants")), ..old };
    let replace = || world.edit_cluster("one", tenants);
    assert_eq!(replace().await.unwrap(), EditOutcome::Changed);
    assert_eq!(replace().await.unwrap(), EditOutcome::Unchanged);
    let registration = world.clusters.get(&one).await.unwrap().registration;
    assert_eq!((registration.namespace, registration.kubeconfig), (Some(name("tenants")), moved.clone()));
    let absent = world.replace_kubeconfig("nine", moved.clone()).await;
    assert!(matches!(absent, Err(Error::NotFound { .. })));
    let refused = world.relabel("one", &[("a b", "")]).await.unwrap_err();
    assert_eq!(refusals(refused).as_slice()[0].path, r#"labels["a b"]"#);
}

#[tokio::test]
async fn kubeconfigs_are_checked_by_us_and_by_whoever_wires_the_services() {
    let world = World::empty(true);
    let mut bad = registration("one", &[]);
    bad.kubeconfig = Secret::new("secret: [");
    let refused = refusals(world.clusters.add(&world.caller, bad.clone()).await.unwrap_err());
    assert!(refused.to_string().starts_with("kubeconfig: "), "{refused}");
    assert!(!refused.to_string().contains("secret"), "{refused}");
    let no_programs = |_: &Secret| {
        let (path, rule) = ("kubeconfig.users[0].user.exec".to_owned(), "must not run programs".to_owned());
        Err(Refusals::from(Refusal { path, value: String::new(), rule }))
    };
    let strict = RegisteredClusters::new(
        world.memory.clone(),
        world.engine.clone(),
        world.clock.clone(),
        Arc::new(no_programs),
    );
    // What can't be read is refused once, by us.
    let refused = refusals(strict.add(&world.caller, bad).await.unwrap_err());
    assert_eq!(refused.as_slice().len(), 1, "{refused}");
    let refused = strict.add(&world.caller, registration("one", &[])).await.unwrap_err();
    assert_eq!(refused.to_string(), "kubeconfig.users[0].user.exec: must not run programs");
    assert!(world.documents().await.is_empty());
}

#[tokio::test]
async fn a_cluster_is_not_removed_while_clouds_refer_to_it_in_documents_or_on_clusters() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut other = draft();
    other["metadata"]["name"] = "second".into();
    other["spec"]["namespace"] = "second".into();
    world.put(other).await.unwrap();
    let error = world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap_err();
    let text = "cluster sim/two is used by retail/second, retail/shop; take it out of them, apply them and wait until it is cleared";
    assert_eq!(error.to_string(), text);
    world.delete("second").await.unwrap();

    let mut fewer = draft();
    fewer["spec"]["clusters"].as_array_mut().unwrap().remove(1);
    world.put(fewer).await.unwrap();
    let error = world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap_err();
    assert!(error.to_string().contains("used by retail/shop;"), "still applied: {error}");
    world.apply("shop").await.unwrap();
    let error = world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap_err();
    assert!(error.to_string().contains("used by retail/shop;"), "still being cleared: {error}");
    world.engine.finish();
    world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_a_selector_selected_is_in_use() {
    let world = World::new(true).await;
    let mut selecting = draft();
    selecting["spec"]["clusters"] = json!([]);
    selecting["spec"]["clusterSelector"] = json!({"matchLabels": {"name": "three"}});
    world.put(selecting).await.unwrap();
    world.apply("shop").await.unwrap();
    assert!(matches!(
        world.clusters.remove(&world.caller, &cluster("three"), Remains::Refuse).await,
        Err(Error::ClusterInUse { .. })
    ));
    world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap();
    world.terminate("shop").await.unwrap();
    let error = world.clusters.remove(&world.caller, &cluster("three"), Remains::Refuse).await.unwrap_err();
    assert!(matches!(error, Error::ClusterInUse { .. }), "what is there could not be cleared without it");
    world.engine.finish();
    world.clusters.remove(&world.caller, &cluster("three"), Remains::Refuse).await.unwrap();
    world.delete("shop").await.unwrap();
}

#[tokio::test]
async fn a_cluster_that_was_taken_out_of_a_terminated_cloud_is_removed() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    let mut without = draft();
    without["spec"]["clusters"].as_array_mut().unwrap().retain(|reference| reference["cluster"] != "two");
    world.put(without).await.unwrap();
    world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap();
    let error = world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap_err();
    assert!(matches!(error, Error::ClusterInUse { .. }), "{error}");
}

#[tokio::test]
async fn a_removal_looks_at_the_one_cluster_in_each_logical_cloud() {
    let world = World::new(true).await;
    let names = ["e", "b", "d", "a", "c"];
    for cloud in names {
        let mut one = draft();
        one["metadata"]["name"] = cloud.into();
        one["spec"]["namespace"] = cloud.into();
        world.put(one).await.unwrap();
        world.apply(cloud).await.unwrap();
    }
    world.engine.finish();
    let error = world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap_err();
    let Error::ClusterInUse { clouds, .. } = error else { panic!("it is in use: {error}") };
    assert_eq!(clouds, ["retail/a", "retail/b", "retail/c", "retail/d", "retail/e"]);
    world.engine.reads();
    world.clusters.remove(&world.caller, &cluster("three"), Remains::Refuse).await.unwrap();
    assert_eq!(world.engine.reads(), ["lane"; 5]);
}

fn uid(text: &str) -> ClusterUid {
    ClusterUid(text.into())
}

/// True where a cluster is refused as the one of this name.
fn is_refused_as(error: &Error, first: &str) -> bool {
    matches!(error, Error::Synchronizer(Failure::SameCluster { first: named, .. }) if *named == cluster(first))
}

#[tokio::test]
async fn a_cluster_that_was_looked_at_is_refused_under_a_second_name_until_the_first_is_removed() {
    let world = World::empty(true);
    let add =
        async |name| world.clusters.add_seen(&world.caller, registration(name, &[]), Some(&uid("u"))).await;
    add("one").await.unwrap();
    assert_eq!(add("one").await.unwrap().1, EditOutcome::Unchanged);
    let error = add("two").await.unwrap_err();
    assert!(is_refused_as(&error, "one"), "{error}");
    assert!(matches!(world.clusters.get(&cluster("two")).await, Err(Error::NotFound { .. })));

    world.clusters.add_seen(&world.caller, registration("two", &[]), Some(&uid("v"))).await.unwrap();
    let (two, condition) = (cluster("two"), Precondition::default());
    let seen = uid("u");
    let next = |old| Registration { kubeconfig: admin_kubeconfig("three"), ..old };
    let edited = world.clusters.edit_seen(&world.caller, &two, &condition, Some(&seen), next).await;
    assert!(is_refused_as(&edited.unwrap_err(), "one"));
    assert_eq!(world.clusters.get(&two).await.unwrap().registration, registration("two", &[]));

    world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap();
    add("three").await.unwrap();
}

#[tokio::test]
async fn what_is_held_for_a_name_that_is_not_registered_keeps_no_other_name_from_its_cluster() {
    let world = World::empty(true);
    world.engine.hold_identity(&cluster("one"), &uid("u")).await.unwrap();
    world.clusters.add_seen(&world.caller, registration("two", &[]), Some(&uid("u"))).await.unwrap();
    let error =
        world.clusters.add_seen(&world.caller, registration("one", &[]), Some(&uid("u"))).await.unwrap_err();
    assert!(is_refused_as(&error, "two"), "{error}");
}
