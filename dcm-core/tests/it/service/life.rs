//! Terminating, pausing, resuming and deleting.

use dcm_core::logical_cloud::life_cycle::{Reason as LifeReason, Refused};
use dcm_core::port::synchronizer::{Error as Failure, Removal, STOP_LIMIT};
use dcm_core::service::{Agenda, Departure, Error, Kind, News, Precondition, Remains};
use dcm_core::status::{Intent, Reason};
use futures::StreamExt as _;

use crate::service::support::{World, cluster, draft, name};

async fn stop(world: &World) -> Result<(), Error> {
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await
}

async fn resume(world: &World) -> Result<(), Error> {
    world.clouds.resume(&world.caller, &world.project, &name("shop")).await
}

#[tokio::test]
async fn a_cloud_goes_through_its_life() {
    let world = World::new(false).await;
    world.put(draft()).await.unwrap();
    assert_eq!(world.state("shop").await, "created");
    world.apply("shop").await.unwrap();
    assert_eq!(world.state("shop").await, "instantiating");
    world.engine.finish();
    assert_eq!(world.state("shop").await, "instantiated");
    let error = world.delete("shop").await.unwrap_err();
    let text = "can't delete a logical cloud that is instantiated: it is on clusters; terminate it first";
    assert_eq!(error.to_string(), text);
    world.terminate("shop").await.unwrap();
    assert_eq!(world.state("shop").await, "terminating");
    let error = world.delete("shop").await.unwrap_err();
    assert!(error.to_string().contains("it is being terminated"), "{error}");
    world.engine.finish();
    assert_eq!(world.state("shop").await, "terminated");
    world.engine.calls();
    world.delete("shop").await.unwrap();
    assert_eq!(world.engine.calls(), ["forget"]);
    assert!(world.engine.held().is_empty());
    assert!(world.cloud_paths().await.is_empty());
    let error = world.delete("shop").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::LogicalCloud, .. }));
}

#[tokio::test]
async fn what_was_decided_about_its_clusters_is_remembered() {
    let world = World::new(false).await;
    let history = async || {
        let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
        let told = status.history.iter().map(|one| {
            assert_eq!(one.change.by, "tester");
            format!("{}{}{}", one.number, if one.paused { " paused while " } else { " " }, one.work)
        });
        told.collect::<Vec<_>>()
    };
    world.put(draft()).await.unwrap();
    assert!(history().await.is_empty());
    world.apply("shop").await.unwrap();
    stop(&world).await.unwrap();
    stop(&world).await.unwrap();
    resume(&world).await.unwrap();
    world.engine.finish();
    world.apply("shop").await.unwrap();
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&name("ann"))).await.unwrap();
    let mut edited = draft();
    edited["spec"]["labels"] = serde_json::json!({});
    world.put(edited).await.unwrap();
    world.apply("shop").await.unwrap();
    world.terminate("shop").await.unwrap();
    world.terminate("shop").await.unwrap();
    stop(&world).await.unwrap();
    let told = [
        "1 instantiating",
        "2 paused while instantiating",
        "3 updating",
        "4 terminating",
        "5 paused while terminating",
    ];
    assert_eq!(history().await, told);
    world.apply("shop").await.unwrap();
    assert_eq!(history().await[5], "6 instantiating");
    for _ in 0..20 {
        stop(&world).await.unwrap();
        resume(&world).await.unwrap();
        world.terminate("shop").await.unwrap();
        world.engine.finish();
        world.apply("shop").await.unwrap();
    }
    let told = history().await;
    assert_eq!((told.len(), told[31].as_str()), (32, "66 instantiating"), "the oldest are forgotten");
}

#[tokio::test]
async fn a_cloud_that_was_never_applied_is_deleted_and_not_terminated() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let error = world.terminate("shop").await.unwrap_err();
    let text = "can't terminate a logical cloud that is created: it was never applied and is on no cluster; apply or \
                delete it";
    assert_eq!(error.to_string(), text);
    world.delete("shop").await.unwrap();
    assert_eq!(world.engine.calls(), Vec::<String>::new());
    assert!(world.cloud_paths().await.is_empty());
}

async fn leave(world: &World) -> Result<Departure, Error> {
    let shop = name("shop");
    let (removal, any) = (Removal::default(), Precondition::default());
    world.clouds.delete_when_off(&world.caller, &world.project, &shop, removal, &any).await
}

/// What a worker's round tells of deletions.
async fn deleted_in_a_round(world: &World) -> bool {
    let round = world.clouds.tend(&world.caller, &mut Agenda::default()).await.unwrap();
    round.events.iter().any(|event| matches!(event.what, News::Deleted))
}

#[tokio::test]
async fn a_cloud_on_clusters_leaves_them_and_is_deleted_then_as_by_who_asked() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    let mut departures = world.clouds.departures().await.unwrap();
    assert_eq!(leave(&world).await.unwrap(), Departure::Leaving);
    assert!(departures.next().await.is_some());
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!(status.state.to_string(), "terminating");
    assert_eq!(status.leaving.unwrap().by, world.caller.who());
    assert!(!deleted_in_a_round(&world).await);
    world.engine.finish();
    assert!(deleted_in_a_round(&world).await);
    assert!(world.cloud_paths().await.is_empty());
    assert!(matches!(leave(&world).await.unwrap_err(), Error::NotFound { .. }));
}

#[tokio::test]
async fn a_wish_to_delete_of_which_the_synchronizer_was_not_told_is_told_by_a_worker() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    leave(&world).await.unwrap_err();
    assert!(!deleted_in_a_round(&world).await);
    world.engine.finish();
    assert!(deleted_in_a_round(&world).await);
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn a_wish_to_delete_holds_only_for_what_the_caller_knows() {
    let world = World::new(true).await;
    let known = world.put(draft()).await.unwrap().id();
    world.apply("shop").await.unwrap();
    let mut edited = draft();
    edited["metadata"]["description"] = "edited".into();
    world.put(edited).await.unwrap();
    let before = world.documents().await;
    let condition = Precondition { known: Some(vec![known]), ..Precondition::default() };
    let (clouds, caller, shop) = (&world.clouds, &world.caller, &name("shop"));
    let leaving = clouds.delete_when_off(caller, &world.project, shop, Removal::default(), &condition).await;
    assert!(matches!(leaving.unwrap_err(), Error::PreconditionFailed { .. }));
    assert_eq!(world.documents().await, before);
}

#[tokio::test]
async fn a_cloud_that_is_on_no_cluster_leaves_at_once() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    assert_eq!(leave(&world).await.unwrap(), Departure::Deleted);
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn a_cloud_that_is_applied_again_before_it_has_left_stays() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    leave(&world).await.unwrap();
    world.engine.finish();
    world.apply("shop").await.unwrap();
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    assert!(!deleted_in_a_round(&world).await);
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!((status.state.to_string().as_str(), status.leaving), ("terminated", None));
}

#[tokio::test]
async fn terminate_may_be_repeated_also_to_delete_contents_after_all() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    let document = world.documents().await["logical-clouds/retail/shop"].clone();
    assert_eq!(document["terminated"]["by"], "tester");
    world.terminate("shop").await.unwrap();
    assert_eq!(world.documents().await["logical-clouds/retail/shop"], document);
    assert!(!world.engine.only().removal.delete_contents);
    let everything = Removal { delete_contents: true, ..Removal::default() };
    world.clouds.terminate(&world.caller, &world.project, &name("shop"), everything).await.unwrap();
    let held = world.engine.only();
    assert_eq!((held.intent, held.removal), (Intent::Absent, everything));
}

#[tokio::test]
async fn stop_and_resume_say_who_paused_it() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    assert!(matches!(stop(&world).await, Err(Error::WrongState(_))), "nothing is under way");
    world.apply("shop").await.unwrap();
    stop(&world).await.unwrap();
    stop(&world).await.unwrap();
    assert_eq!(world.state("shop").await, "stopped while instantiating");
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!(status.stopped.unwrap().by, "tester");
    resume(&world).await.unwrap();
    resume(&world).await.unwrap();
    assert_eq!(world.state("shop").await, "instantiating");
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.stopped.is_none());
    assert_eq!(world.engine.calls(), ["apply", "stop", "stop", "resume", "look_again"]);
    world.engine.finish();
    assert!(matches!(stop(&world).await, Err(Error::WrongState(_))), "nothing is under way");
}

#[tokio::test]
async fn terminate_ends_a_pause() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    stop(&world).await.unwrap();
    world.terminate("shop").await.unwrap();
    assert!(!world.engine.only().paused);
    stop(&world).await.unwrap();
    assert_eq!(world.state("shop").await, "stopped while terminating");
    world.terminate("shop").await.unwrap();
    assert!(!world.engine.only().paused);
    assert_eq!(world.state("shop").await, "terminating");
}

#[tokio::test]
async fn what_could_not_be_taken_off_all_clusters_is_not_deleted() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish_in(&cluster("one"));
    world.engine.hinder(&cluster("two"), Reason::Denied, "no rights");
    assert_eq!(world.state("shop").await, "failed while terminating");
    let error = world.delete("shop").await.unwrap_err();
    assert!(
        matches!(error, Error::WrongState(Refused { reason: LifeReason::LeftOnClusters, .. })),
        "{error}"
    );
    assert_eq!(world.state("shop").await, "failed while terminating");
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
}

#[tokio::test]
async fn a_cloud_whose_cluster_was_given_up_is_terminated_and_its_cluster_not_removed_by_the_way() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish_in(&cluster("one"));
    world.engine.abandon(&cluster("two"));
    assert_eq!(world.state("shop").await, "terminated");
    world.delete("shop").await.unwrap();
    let refused = world.clusters.remove(&world.caller, &cluster("two"), Remains::Refuse).await.unwrap_err();
    assert!(
        refused.to_string().contains("left on cluster sim/two, which is cleared when it returns"),
        "{refused}"
    );
    let left = world.clusters.remove(&world.caller, &cluster("two"), Remains::LeaveBehind).await.unwrap();
    assert_eq!(left.len(), 1);
    assert!(matches!(world.clusters.get(&cluster("two")).await, Err(Error::NotFound { .. })));
    world.clusters.remove(&world.caller, &cluster("one"), Remains::Refuse).await.unwrap();
}

#[tokio::test]
async fn errors_of_the_synchronizer_are_passed_on_as_they_are() {
    let world = World::new(true).await;
    world.instantiated().await;
    for call in ["terminate", "terminate again"] {
        world.engine.fail_next(Failure::Contended { id: name("any") });
        let error = world.terminate("shop").await.unwrap_err();
        assert!(error.is_retryable(), "{call}");
        assert!(matches!(&error, Error::Synchronizer(Failure::Contended { .. })), "{call}: {error}");
        assert_eq!(world.engine.only().intent, Intent::Present, "{call}");
    }
    assert_eq!(world.state("shop").await, "instantiated", "what is on clusters is never called gone");
    world.terminate("shop").await.unwrap();
    assert_eq!(world.state("shop").await, "terminating");
}
