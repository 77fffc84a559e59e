//! Registered kubeconfigs that lead to another server than before, which may have copied the UID of the cluster.

use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Error as Failure, Synchronizer as _};
use dcm_core::secret::Secret;
use dcm_core::service::{Error, RegisteredCluster, Registration};
use serde_json::Value;

use crate::service::support::{World, admin_kubeconfig, cluster, name, registration};

fn uid(text: &str) -> ClusterUid {
    ClusterUid(text.into())
}

/// A world in which the engine has reached the cluster `one`.
async fn reached() -> World {
    let world = World::new(true).await;
    world.engine.reach(&cluster("one"), &uid("u"));
    world
}

async fn one(world: &World) -> RegisteredCluster {
    world.clusters.get(&cluster("one")).await.unwrap()
}

async fn is_moved(world: &World) -> bool {
    let RegisteredCluster { registration, is_moved, .. } = one(world).await;
    assert_eq!(world.clusters.moves(&registration).await.unwrap(), is_moved);
    is_moved
}

/// The kubeconfig of the cluster `one` with another credential.
fn renewed() -> Secret {
    Secret::new(admin_kubeconfig("one").expose().replace("admin-token", "renewed-token"))
}

/// Whether a kubeconfig would move the cluster `one`.
async fn moves(world: &World, kubeconfig: &Secret) -> bool {
    let registration = Registration::new(cluster("one"), kubeconfig.clone());
    world.clusters.moves(&registration).await.unwrap()
}

#[tokio::test]
async fn another_server_is_stored_and_not_accepted_where_the_engine_knows_the_cluster() {
    let world = reached().await;
    let elsewhere = admin_kubeconfig("elsewhere");
    assert!(!is_moved(&world).await);
    assert!(!moves(&world, &renewed()).await && moves(&world, &elsewhere).await);
    world.replace_kubeconfig("one", elsewhere.clone()).await.unwrap();
    assert!(is_moved(&world).await);
    assert_eq!(one(&world).await.registration.kubeconfig, elsewhere);
    // What else is changed accepts nothing, and neither does a second change.
    world.relabel("one", &[("tier", "core")]).await.unwrap();
    assert!(is_moved(&world).await);
    world.replace_kubeconfig("one", admin_kubeconfig("third")).await.unwrap();
    assert!(is_moved(&world).await);
    let listed = world.clusters.list(None, None).await.unwrap().clusters;
    let moved = listed.iter().filter(|one| one.is_moved).map(|one| &one.registration.id);
    assert_eq!(moved.collect::<Vec<_>>(), [&cluster("one")]);
    world.replace_kubeconfig("one", renewed()).await.unwrap();
    assert!(!is_moved(&world).await);
}

#[tokio::test]
async fn another_credential_is_used_at_once() {
    let world = reached().await;
    world.replace_kubeconfig("one", renewed()).await.unwrap();
    assert!(!is_moved(&world).await);
}

#[tokio::test]
async fn another_server_is_accepted_where_the_engine_has_never_been() {
    let world = World::new(true).await;
    world.replace_kubeconfig("one", admin_kubeconfig("elsewhere")).await.unwrap();
    assert!(!is_moved(&world).await);
    assert!(!world.clusters.moves(&registration("absent", &[])).await.unwrap());
    world.engine.reach(&cluster("one"), &uid("u"));
    assert!(!is_moved(&world).await);
    world.replace_kubeconfig("one", admin_kubeconfig("one")).await.unwrap();
    assert!(is_moved(&world).await);
}

#[tokio::test]
async fn what_was_looked_at_is_accepted_and_nothing_that_was_registered_since() {
    let world = reached().await;
    world.replace_kubeconfig("one", admin_kubeconfig("elsewhere")).await.unwrap();
    let seen = one(&world).await;
    world.replace_kubeconfig("one", admin_kubeconfig("third")).await.unwrap();
    let error = world.clusters.accept_endpoint(&seen.registration, &uid("u")).await.unwrap_err();
    assert!(matches!(error, Error::Contended { .. }), "{error}");
    assert!(is_moved(&world).await);

    let seen = one(&world).await;
    for _ in 0..2 {
        world.clusters.accept_endpoint(&seen.registration, &uid("u")).await.unwrap();
        assert_eq!(one(&world).await, RegisteredCluster { is_moved: false, ..seen.clone() });
    }
    let absent = world.clusters.accept_endpoint(&registration("absent", &[]), &uid("v")).await;
    assert!(matches!(absent, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_cluster_that_is_registered_under_another_name_is_not_accepted() {
    let world = reached().await;
    world.engine.hold_identity(&cluster("two"), &uid("v")).await.unwrap();
    world.replace_kubeconfig("one", admin_kubeconfig("two")).await.unwrap();
    let error = world.clusters.accept_endpoint(&one(&world).await.registration, &uid("v")).await.unwrap_err();
    assert!(matches!(error, Error::Synchronizer(Failure::SameCluster { .. })), "{error}");
    assert!(is_moved(&world).await);
}

#[tokio::test]
async fn a_registration_of_an_earlier_version_is_accepted_at_the_server_that_it_has() {
    let world = reached().await;
    let path = Path::new("clusters/sim/one").unwrap();
    let entry = world.memory.get(&path).await.unwrap().unwrap();
    let mut document: Value = entry.document.read().unwrap();
    document.as_object_mut().unwrap().remove("acceptedEndpoint").unwrap();
    let document = Document::from_value(&document).unwrap();
    world.memory.write_one(Write::Update { path, version: entry.version, document }).await.unwrap();
    assert!(!is_moved(&world).await);
    world.replace_kubeconfig("one", admin_kubeconfig("elsewhere")).await.unwrap();
    assert!(is_moved(&world).await);
}

#[tokio::test]
async fn no_user_is_given_a_kubeconfig_that_leads_to_a_server_that_is_not_accepted() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.reach(&cluster("one"), &uid("u"));
    world.replace_kubeconfig("one", admin_kubeconfig("elsewhere")).await.unwrap();
    let given = async |reference| {
        let reference = Some(name(reference));
        world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&name("ann")), reference.as_ref()).await
    };
    let error = given("r1").await.unwrap_err();
    assert!(matches!(error, Error::Moved { .. }), "{error}");
    given("r2").await.unwrap();
    world.clusters.accept_endpoint(&one(&world).await.registration, &uid("u")).await.unwrap();
    given("r1").await.unwrap();
}
