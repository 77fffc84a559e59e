//! Cluster providers.

use std::sync::Arc;

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::ClusterProviderName;
use dcm_core::refusal::{Checks, Path};
use dcm_core::secret::Secret;
use dcm_core::service::{EditOutcome, Error, Kind, OwnerPage, Precondition, Registration, Remains};
use tokio::task::yield_now;

use crate::service::support::{World, admin_kubeconfig, cluster, name, registration};

fn provider(text: &str) -> MetadataDraft {
    MetadataDraft { name: "sim".into(), description: text.into(), ..MetadataDraft::default() }
}

#[tokio::test]
async fn a_cluster_brings_its_provider_which_stays_as_it_was_written() {
    let world = World::empty(true);
    world.register("one", &[]).await;
    let sim: ClusterProviderName = name("sim");
    assert_eq!(world.providers.get(&sim).await.unwrap().metadata.description, "");
    let (described, outcome) = world.providers.put(&world.caller, provider("in the shops")).await.unwrap();
    assert_eq!(outcome, EditOutcome::Changed);
    world.register("two", &[]).await;
    assert_eq!(world.providers.get(&sim).await.unwrap(), described);
    let OwnerPage { owners, next, .. } = world.providers.list(None, None).await.unwrap();
    assert_eq!((owners, next), (vec![described], None));
}

#[tokio::test]
async fn only_a_provider_without_clusters_is_deleted() {
    let world = World::empty(true);
    world.register("one", &[]).await;
    let sim: ClusterProviderName = name("sim");
    let before = world.providers.get(&sim).await.unwrap();
    let error = world.providers.delete(&world.caller, &sim).await.unwrap_err();
    assert_eq!(error.to_string(), "cluster provider sim has clusters, such as one; remove them first");
    assert_eq!(world.providers.get(&sim).await.unwrap(), before);
    world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap();
    world.providers.delete(&world.caller, &sim).await.unwrap();
    let error = world.providers.delete(&world.caller, &sim).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::Provider, .. }), "{error}");
    assert!(world.paths(&["cluster-providers", "clusters"]).await.is_empty());
}

#[tokio::test]
async fn clusters_are_listed_by_their_provider() {
    let world = World::empty(true);
    for id in ["core/a", "edge/a", "edge/b", "edge/c", "far/a"] {
        let registration = Registration { id: id.parse().unwrap(), ..registration("any", &[]) };
        world.clusters.add(&world.caller, registration).await.unwrap();
    }
    let edge: ClusterProviderName = name("edge");
    let list = async |after: Option<&str>| {
        let after = after.map(name);
        let page = world.clusters.list_of(&edge, after.as_ref(), Some(2)).await.unwrap();
        let names = page.clusters.into_iter().map(|cluster| cluster.registration.id.to_string());
        (names.collect::<Vec<_>>(), page.next.map(|next| next.to_string()))
    };
    assert_eq!(list(None).await, (vec!["edge/a".to_owned(), "edge/b".to_owned()], Some("edge/b".to_owned())));
    assert_eq!(list(Some("b")).await, (vec!["edge/c".to_owned()], None));
    let error = world.clusters.list_of(&name("absent"), None, None).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::Provider, .. }), "{error}");
}

#[tokio::test]
async fn a_provider_that_is_deleted_while_a_cluster_is_registered_is_there_afterwards() {
    /// By how many steps one begins before the other.
    const SHIFTS: usize = 12;
    let (mut gone, mut kept) = (0, 0);
    for shift in 0..SHIFTS {
        for register_first in [true, false] {
            let world = World::empty(false);
            world.providers.put(&world.caller, provider("")).await.unwrap();
            let later = async |steps: usize| {
                for _ in 0..steps {
                    yield_now().await;
                }
            };
            let register = async {
                later(if register_first { 0 } else { shift }).await;
                world.clusters.add(&world.caller, registration("one", &[])).await
            };
            let sim: ClusterProviderName = name("sim");
            let delete = async {
                later(if register_first { shift } else { 0 }).await;
                world.providers.delete(&world.caller, &sim).await
            };
            let (registered, deleted) = tokio::join!(register, delete);
            registered.unwrap();
            world.providers.get(&sim).await.unwrap();
            match deleted {
                Ok(()) => gone += 1,
                Err(error) => {
                    assert!(matches!(error, Error::NotEmpty { .. } | Error::Contended { .. }), "{error}");
                    kept += 1;
                }
            }
        }
    }
    assert!(gone > 0 && kept > 0, "both come about: {gone} and {kept}");
}

#[tokio::test]
async fn whoever_has_read_a_cluster_changes_it_only_as_it_was_read() {
    let world = World::empty(true);
    world.register("one", &[]).await;
    let one = cluster("one");
    let read = world.clusters.get(&one).await.unwrap();
    let known = Precondition { known: Some(vec![read.revision.clone()]), ..Precondition::default() };
    let describe = |old: Registration| {
        let mut new = old;
        new.notes.description = "in the shop".into();
        new.id = "other/name".parse().unwrap();
        new
    };
    let (changed, outcome) = world.clusters.edit(&world.caller, &one, &known, describe).await.unwrap();
    assert_eq!(outcome, EditOutcome::Changed);
    assert_eq!(changed, world.clusters.get(&one).await.unwrap());
    assert_eq!((&*changed.registration.notes.description, &changed.registration.id), ("in the shop", &one));
    let error = world.clusters.edit(&world.caller, &one, &known, |old| old).await.unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { kind: Kind::Cluster, .. }), "{error}");
    let long = |old: Registration| {
        let mut new = old;
        new.notes.user_data1 = "x".repeat(513);
        new
    };
    let error = world.clusters.edit(&world.caller, &one, &Precondition::default(), long).await.unwrap_err();
    assert!(error.to_string().starts_with("userData1: must be at most 512 characters long"), "{error}");
}

#[tokio::test]
async fn a_kubeconfig_that_stays_is_not_refused_to_who_might_not_have_registered_it() {
    let world = World::empty(true);
    world.register("one", &[]).await;
    let refuse = |_: &Secret| {
        let mut checks = Checks::default();
        checks.refuse(&Path::root().field("kubeconfig"), "", "runs a program");
        checks.finish(Some(()))
    };
    let strict = world.clusters.clone().checked_by(Arc::new(refuse));
    let (one, any) = (cluster("one"), Precondition::default());
    let relabel = |old: Registration| Registration { labels: [("a".into(), "b".into())].into(), ..old };
    assert_eq!(strict.edit(&world.caller, &one, &any, relabel).await.unwrap().1, EditOutcome::Changed);
    let move_it = |old: Registration| Registration { kubeconfig: admin_kubeconfig("elsewhere"), ..old };
    for error in [
        strict.edit(&world.caller, &one, &any, move_it).await.unwrap_err(),
        strict.add(&world.caller, registration("two", &[])).await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "kubeconfig: runs a program");
    }
}
